"""Other estimates of workloads are those that they are said to be, and the guide's picture has the figures that were
measured."""

from __future__ import annotations

import re
from math import prod, sqrt
from pathlib import Path

import numpy as np
import pytest

from dpsql.inference.numeric import projection
from tests.bench.reconstruction import LEAST_SQUARES, LOCAL, SHOWN, SIZES, Estimates, Measured, compare, people, table
from tests.bench.workload import DASHBOARDS, fill
from tests.bench.workload import compare as planned
from tests.bench.workload_picture import LINES, PICTURE, figures, picture
from tests.guide.blocks import GUIDE

PRODUCT, FIFTY = DASHBOARDS["product"], DASHBOARDS["fifty counts"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("people")
    fill(made)
    return made


def test_least_squares_errs_as_planned() -> None:
    finest = np.full(prod(SIZES), 20.0)
    found = compare(PRODUCT, "1", finest, draws=200, models=0)[LEAST_SQUARES]
    estimates = Estimates(Measured.of(PRODUCT, "1"))
    deviations = [float(np.mean(estimates.deviations[one.attributes] ** 2)) for one in PRODUCT]
    assert found.error == pytest.approx(sqrt(np.mean(deviations)), rel=0.1)
    assert 0.93 < found.rates.mean() < 0.97


def test_tables_far_above_zero_are_not_moved() -> None:
    measured = Measured.of(PRODUCT, "1")
    estimates, values = Estimates(measured), measured.draw(np.full(prod(SIZES), 20.0), np.random.default_rng(1))
    plain, local = estimates.least_squares(values), estimates.locally_nonnegative(values)
    for one in measured.wanted:
        np.testing.assert_allclose(local[one], plain[one], rtol=1e-9)


def test_tables_near_zero_are_lifted_and_still_agree() -> None:
    """Also: no table that is possible is nearer to the unbiased one than the one that was found."""
    measured = Measured.of(PRODUCT, "0.1")
    estimates, values = Estimates(measured), measured.draw(np.full(prod(SIZES), 0.02), np.random.default_rng(2))
    plain, local, shown = (
        one(values) for one in (estimates.least_squares, estimates.locally_nonnegative, estimates.shown)
    )
    assert min(one.min() for one in plain.values()) < -10
    assert min(one.min() for one in local.values()) > -0.1
    finest = max(measured.wanted, key=len)
    for one in measured.wanted:
        inside = [finest.index(at) for at in one]
        sums = (
            local[finest]
            .reshape([SIZES[at] for at in finest])
            .transpose(*inside, *(at for at in range(len(finest)) if at not in inside))
        )
        np.testing.assert_allclose(sums.reshape(len(local[one]), -1).sum(axis=1), local[one], atol=1e-6)
        assert (shown[one] >= 0).all()
    assert local[()] == pytest.approx(plain[()])


def test_shown_tables_of_few_people_are_nearer() -> None:
    found = compare(PRODUCT, "0.1", np.full(prod(SIZES), 0.5), draws=20, models=0)
    assert found[SHOWN].error < found[LEAST_SQUARES].error
    assert found[LOCAL].error < found[LEAST_SQUARES].error


def test_a_table_is_the_sums_of_its_cells() -> None:
    finest = np.arange(prod(SIZES), dtype=float)
    np.testing.assert_array_equal(table((0, 2), finest), finest.reshape(SIZES).sum(axis=(1, 3, 4, 5)).ravel())


def test_fifty_counts_are_made_non_negative_from_inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the third draw, where rounding leaves the equations of the last step indefinite: guesses take minutes."""

    def guessed(*_: object) -> None:
        raise AssertionError("no solution was found from inside")

    monkeypatch.setattr(projection, "_by_guesses", guessed)
    measured, finest, drawn = Measured.of(FIFTY, "1"), people(folder), np.random.default_rng(0)
    values = [measured.draw(finest, drawn) for _ in range(3)][-1]
    assert all((one >= 0).all() for one in Estimates(measured).shown(values).values())


def test_the_picture_has_the_measured_figures() -> None:
    known = figures()
    assert PICTURE.read_text(encoding="utf-8") == picture(known)
    page = (GUIDE / "workloads.md").read_text(encoding="utf-8")
    (planned_row,) = re.findall(r"^\| fifty counts by .*$", page, re.MULTILINE)
    (compared_row,) = re.findall(r"^\| fifty counts, ε = 1 .*$", page, re.MULTILINE)
    for row, names in ((planned_row, ("alone", "together", "optimum")), (compared_row, ("shown", "local", "model"))):
        for name in names:
            assert f"{known[name]:.2f}" in row, name


def test_every_line_of_the_picture_is_in_its_legend() -> None:
    known: dict[str, float | list[list[float]]] = {one.figure: 10.0 * (at + 1) for at, one in enumerate(LINES)}
    drawn = picture({**known, "counts": [[0.0, 20.0, 10.0]]})
    for one in LINES:
        assert f"{one.said}: {known[one.figure]:.1f}</text>" in drawn
        assert drawn.count(f'stroke="{one.colour}"') == 2, "the line, and its sign in the legend"


def test_the_figures_of_the_picture_are_those_of_plans(folder: Path) -> None:
    found, known = planned("fifty counts", FIFTY, folder, 0), figures()
    assert [found.alone, found.together, found.optimum] == pytest.approx(
        [known["alone"], known["together"], known["optimum"]], rel=1e-6
    )
    assert np.array(found.counts) == pytest.approx(np.array(known["counts"]), rel=1e-6)
