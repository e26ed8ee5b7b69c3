"""Laws of inference where groupings cross: against dense algebra, on every path that answers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import nnls

from dpsql.inference.numeric import largest_remainder, least_squares
from dpsql.inference.numeric.groupings import Grouping, chain, checked_groupings
from dpsql.inference.numeric.interior import interior
from dpsql.inference.numeric.largest_remainder import round_lattice
from dpsql.inference.numeric.least_squares import lattice
from dpsql.inference.numeric.orthogonal import orthogonal
from dpsql.inference.numeric.projection import MANY, nonnegative_lattice
from dpsql.inference.numeric.sparse import System
from dpsql.inference.numeric.sparse import start as spread_evenly
from tests.inference.algebra import Floats, dense

Groupings = list[NDArray[np.int64]]
Lattice = tuple[Groupings, list[int], list[Floats], list[Floats]]


def matrices(groupings: Groupings, sizes: list[int]) -> list[Floats]:
    return [(np.arange(size)[:, None] == cells).astype(float) for cells, size in zip(groupings, sizes, strict=True)]


def cube(shape: tuple[int, ...], subsets: list[tuple[int, ...]]) -> tuple[Groupings, list[int]]:
    """Groupings of a full cross product by the keys at these places."""
    coordinates = np.indices(shape).reshape(len(shape), -1)
    sizes = [math.prod(shape[axis] for axis in axes) for axes in subsets]
    cells = [
        np.ravel_multi_index([coordinates[axis] for axis in axes], [shape[axis] for axis in axes])
        if axes
        else np.zeros(coordinates.shape[1], dtype=np.int64)
        for axes in subsets
    ]
    return [np.asarray(grouping, dtype=np.int64) for grouping in cells], sizes


def subsets(keys: int) -> list[tuple[int, ...]]:
    return [axes for number in range(keys + 1) for axes in itertools.combinations(range(keys), number)]


@st.composite
def lattices(draw: st.DrawFn, least: int, variances: st.SearchStrategy[float]) -> Lattice:
    """Any groupings of a few finest cells; with cells that hold nothing, and finest cells that are in none."""
    finest = draw(st.integers(1, 7))
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    groupings = [
        np.array(draw(st.lists(st.integers(least, size - 1), min_size=finest, max_size=finest)), dtype=np.int64)
        for size in sizes
    ]
    values = [np.array(draw(st.lists(st.floats(-50, 50), min_size=size, max_size=size))) for size in sizes]
    spreads = [np.array(draw(st.lists(variances, min_size=size, max_size=size))) for size in sizes]
    return groupings, sizes, values, spreads


@st.composite
def cubes(draw: st.DrawFn) -> Lattice:
    """Some groupings of a full cross product, each with a variance of its own, in any order."""
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    chosen = draw(st.lists(st.sampled_from(subsets(len(shape))), min_size=1, max_size=6))
    groupings, sizes = cube(shape, chosen)
    values = [np.array(draw(st.lists(st.floats(-50, 50), min_size=size, max_size=size))) for size in sizes]
    spreads = [np.full(size, draw(st.one_of(st.floats(0.1, 100), st.just(math.inf)))) for size in sizes]
    return groupings, sizes, values, spreads


def agrees(drawn: Lattice) -> None:
    """With dense algebra wherever that determines anything; and estimates are of one set of finest cells."""
    groupings, sizes, values, variances = drawn
    estimates, spreads = lattice(groupings, sizes, values, variances)
    expected, expected_spreads = dense(matrices(groupings, sizes), values, variances)
    for estimate, spread, want, want_spread in zip(estimates, spreads, expected, expected_spreads, strict=True):
        np.testing.assert_allclose(spread, want_spread, rtol=1e-5, atol=1e-6)
        determined = np.isfinite(want_spread)
        np.testing.assert_allclose(estimate[determined], want[determined], rtol=1e-5, atol=1e-4)
    stacked = np.vstack(matrices(groupings, sizes))
    finest = np.linalg.lstsq(stacked, np.concatenate(estimates), rcond=None)[0]
    np.testing.assert_allclose(stacked @ finest, np.concatenate(estimates), atol=1e-5)


@settings(deadline=None)
@given(lattices(-1, st.one_of(st.floats(0.1, 100), st.just(math.inf))))
def test_lattice_is_generalised_least_squares(drawn: Lattice) -> None:
    agrees(drawn)


def test_coarse_groupings_that_depend_cost_no_digits() -> None:
    """Four groupings of one cell each: conjugate gradients alone were 1e-4 off, and took themselves to be at 1e-9."""
    groupings = [[0] * 6 + [-1], [0] * 4 + [-1, 0, 0], [0] * 5 + [1, 0], [0] * 3 + [-1] + [0] * 3]
    values = [[0.0], [0.0], [0.0, 25.0, 0.0, 0.0], [1.0]]
    variances = [[0.5], [0.25], [0.5, 1.0, 1.0, 1.0], [41.0]]
    cells = [np.array(one, dtype=np.int64) for one in groupings]
    estimates, _ = lattice(cells, [1, 1, 4, 1], [np.array(one) for one in values], [np.array(one) for one in variances])
    np.testing.assert_allclose(np.concatenate(estimates), [0, 0, 0, 25, 0, 0, 1], atol=1e-7)


@pytest.mark.quick
@settings(deadline=None)
@given(lattices(-1, st.one_of(st.floats(0.1, 100), st.sampled_from([0.0, math.inf]))), st.integers(0, 2**32))
def test_known_cells_keep_what_they_are(drawn: Lattice, seed: int) -> None:
    groupings, sizes, values, variances = drawn
    finest = np.random.default_rng(seed).integers(0, 50, groupings[0].size)
    truth = [m @ finest for m in matrices(groupings, sizes)]
    values = [np.where(v == 0, t, y) for t, y, v in zip(truth, values, variances, strict=True)]
    agrees((groupings, sizes, values, variances))


@settings(deadline=None)
@given(cubes())
def test_cubes_are_generalised_least_squares(drawn: Lattice) -> None:
    measured = checked_groupings(*drawn)
    assert orthogonal(measured) is not None
    agrees(drawn)


def test_large_lattices_have_the_same_estimates_and_no_smaller_variances(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(4)
    groupings, sizes = cube((4, 3, 5), subsets(3))
    values = [generator.normal(0, 30, size) for size in sizes]
    variances = [generator.uniform(1, 30, size) for size in sizes]
    exact, spreads = lattice(groupings, sizes, values, variances)
    monkeypatch.setattr(least_squares, "DENSE", 0)
    estimates, bounds = lattice(groupings, sizes, values, variances)
    for estimate, bound, want, spread in zip(estimates, bounds, exact, spreads, strict=True):
        np.testing.assert_allclose(estimate, want, atol=1e-6)
        assert (bound >= spread - 1e-9).all()
    assert bounds[0][0] <= variances[0][0]


def test_magnitudes_cost_no_digits() -> None:
    """Numbers of 2^60 with noise of 2^12: doubles hold them, and the estimates are right to a part of the noise."""
    generator = np.random.default_rng(5)
    groupings, sizes = cube((4, 3), subsets(2))
    base = [np.full(size, 2.0**60 * 12 / size) for size in sizes]
    noise = [np.round(generator.normal(0, 2.0**12, size)) * 2**8 for size in sizes]
    for spread in ([1.0] * 4, [generator.uniform(1, 2, size) for size in sizes]):
        small, _ = lattice(groupings, sizes, noise, spread)
        large, _ = lattice(groupings, sizes, [b + n for b, n in zip(base, noise, strict=True)], spread)
        for one, other, start in zip(small, large, base, strict=True):
            np.testing.assert_allclose(other - start, one, atol=2.0**12)


def test_a_chain_is_a_tree_and_rows_that_are_not_shown_are_its_slack() -> None:
    shown = np.array([0, 0, 0, 1, 1])
    finest = np.array([2, 1, -1, 0, 3])  # the third is in group 0, and not shown
    drawn = (
        [finest, shown],
        [5, 2],
        [np.array([5.0, 6.0, 7.0, 8.0, 9.0]), np.array([30.0, 9.0])],
        [np.ones(5), np.ones(2)],
    )
    assert chain(checked_groupings(*drawn)) is not None
    agrees(drawn)
    estimates, spreads = lattice(*drawn)
    assert estimates[1].round(9).tolist() == [30.0, round(31 / 3, 9)]
    assert estimates[0].round(9).tolist() == [round(11 / 3, 9), 6.0, 7.0, round(20 / 3, 9), 0.0]
    assert spreads[0].round(9).tolist() == [round(2 / 3, 9), 1.0, 1.0, round(2 / 3, 9), 0.0]


@pytest.mark.parametrize("path", ["even", "uneven"])
def test_a_cube_is_unbiased_and_as_spread_as_it_says(path: str) -> None:
    """Estimates are linear, hence 20,000 repetitions are one matrix: column by column what one unit of noise does."""
    generator = np.random.default_rng(6)
    groupings, sizes = cube((3, 2, 2), subsets(3))
    truth = [m @ np.arange(12.0) for m in matrices(groupings, sizes)]
    variances = [np.full(size, 2.0 + size) if path == "even" else generator.uniform(1, 20, size) for size in sizes]
    ends = np.cumsum(sizes)[:-1].tolist()
    flat, spread = np.concatenate(truth), np.concatenate(variances)
    estimates, said = lattice(groupings, sizes, truth, variances)
    np.testing.assert_allclose(np.concatenate(estimates), flat, atol=1e-9)
    pulls = np.stack(
        [np.concatenate(lattice(groupings, sizes, np.split(unit, ends), variances)[0]) for unit in np.eye(flat.size)],
        axis=1,
    )
    errors = (generator.standard_normal((20_000, flat.size)) * np.sqrt(spread)) @ pulls.T
    expected = np.concatenate(said)
    assert (np.abs(errors.mean(axis=0)) <= 5 * np.sqrt(expected / 20_000)).all()
    np.testing.assert_allclose((errors**2).mean(axis=0), expected, rtol=0.06)


def misfit(drawn: Lattice, finest: Floats) -> float:
    groupings, sizes, values, variances = drawn
    fits = zip(matrices(groupings, sizes), values, variances, strict=True)
    return sum(float(((m @ finest - y) ** 2 / v)[np.isfinite(v)].sum()) for m, y, v in fits)


@settings(deadline=None)
@given(st.one_of(cubes(), lattices(-1, st.one_of(st.floats(0.1, 100), st.just(math.inf)))))
def test_nonnegative_cells_are_as_near_as_a_solver_finds_them(drawn: Lattice) -> None:
    groupings, sizes, values, variances = drawn
    finest = nonnegative_lattice(*drawn)
    assert (finest >= 0).all()
    design = np.vstack([m / np.sqrt(v)[:, None] for m, v in zip(matrices(groupings, sizes), variances, strict=True)])
    target = np.concatenate(
        [np.where(np.isinf(v), 0.0, y / np.sqrt(v)) for y, v in zip(values, variances, strict=True)]
    )
    best, _ = nnls(design, target)
    assert misfit(drawn, finest) <= misfit(drawn, best) * (1 + 1e-9) + 1e-9
    np.testing.assert_allclose(design @ finest, design @ best, atol=1e-6)


@settings(deadline=None)
@given(st.one_of(cubes(), lattices(-1, st.floats(0.1, 100))), st.floats(0, 200), st.integers(0, 2**32))
def test_nonnegative_cells_of_a_given_total_are_nearest(drawn: Lattice, total: float, seed: int) -> None:
    """By convexity, and without a solver: towards no other cells of that sum does the distance fall."""
    finest = nonnegative_lattice(*drawn, total=total)
    assert (finest >= 0).all()
    assert finest.sum() == pytest.approx(total, abs=1e-9)
    groupings, sizes, values, variances = drawn
    slope, steepest = np.zeros(finest.size), 1.0
    for m, y, v in zip(matrices(groupings, sizes), values, variances, strict=True):
        measured = np.isfinite(v)
        slopes = (m @ finest - y)[measured] / v[measured]
        slope += m[measured].T @ slopes
        steepest = max(steepest, np.abs(slopes).max(initial=0.0))
    holders = finest > 1e-5
    assert not holders.any() or slope[holders].max() <= slope.min() + max(1e-4, 1e-6 * steepest)


@settings(deadline=None)
@given(st.one_of(cubes(), lattices(-1, st.one_of(st.floats(0.1, 100), st.just(math.inf)))), st.floats(0, 200))
def test_cells_found_from_inside_are_as_near_as_a_solver_finds_them(drawn: Lattice, total: float) -> None:
    """Within a thousandth of the noise, and of any total, which is held by a row of great weight in the solver."""
    groupings, sizes, values, variances = drawn
    measured = checked_groupings(*drawn)
    everything = Grouping(np.zeros(groupings[0].size, dtype=np.int64), np.array([total]), np.zeros(1))
    system = System([*measured, everything])
    scaled = interior(system, spread_evenly(measured) / system.unit)
    assert scaled is not None
    assert (scaled >= 0).all()
    finest = scaled * system.unit
    assert finest.sum() == pytest.approx(total, abs=1e-3)
    told = [(m[np.isfinite(v)] / np.sqrt(v[np.isfinite(v)])[:, None], y[np.isfinite(v)] / np.sqrt(v[np.isfinite(v)]))
            for m, y, v in zip(matrices(groupings, sizes), values, variances, strict=True)]  # fmt: skip
    design, target = (np.concatenate(parts) for parts in zip(*told, strict=True))
    firm = 1e4 * np.ones((1, groupings[0].size))
    best, _ = nnls(np.vstack([design, firm]), np.append(target, 1e4 * total))
    np.testing.assert_allclose(design @ finest, design @ best, atol=2e-3)


@pytest.mark.parametrize("total", [None, 900.0])
def test_a_dashboard_of_many_small_cells_is_made_possible(total: float | None) -> None:
    """Three-way tables, of which most cells are below 0: by convexity, towards no other cells does the distance fall."""
    generator, shape = np.random.default_rng(38), (5, 4, 4, 3, 3)
    groupings, sizes = cube(shape, [one for one in subsets(5) if len(one) <= 3])
    truth = generator.dirichlet(np.full(math.prod(shape), 0.1)) * 1000
    values = [generator.normal(np.bincount(one, truth), 20.0) for one in groupings]
    assert sum(sizes) > MANY
    finest = nonnegative_lattice(groupings, sizes, values, [400.0] * len(sizes), total)
    assert (finest >= 0).all()
    assert total is None or finest.sum() == pytest.approx(total)
    over = [(np.bincount(one, finest) - number) / 400 for one, number in zip(groupings, values, strict=True)]
    slope = np.sum([slopes[one] for one, slopes in zip(groupings, over, strict=True)], axis=0)
    least = 0.0 if total is None else slope[finest > 0.01].max()
    assert slope.min() > least - 1e-4
    assert float(finest @ (slope - least)) == pytest.approx(0, abs=1e-2)


@pytest.mark.parametrize("seed", range(8))
def test_sums_over_groupings_that_cross_are_near_however_small_their_cells_are(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of 57 people by week and by day, of whom 17 come on one day: a small part of one in each cell. Before any unit
    moves between cells, of which there may be too many to compare."""
    monkeypatch.setattr(largest_remainder, "_MOST_WORK", 0)
    random = np.random.default_rng(seed)
    weeks, days = (random.dirichlet(np.full(size, alpha)) for size, alpha in ((150, 0.3), (300, 0.05)))
    days = 40 * days
    days[random.integers(300)] += 17
    finest = np.outer(weeks, days).ravel()
    groupings = [np.zeros(45_000, dtype=np.int64), np.repeat(np.arange(150), 300), np.tile(np.arange(300), 150)]
    rounded = np.array(round_lattice(groupings, finest))
    off = [np.abs(np.bincount(one, rounded) - np.bincount(one, finest)).max() for one in groupings]
    assert off[0] < 1
    assert off[1] <= 1
    assert off[2] < 2, "each is near, the largest too"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("mean", [0.3, 9.0])
def test_tables_that_share_some_keys_are_rounded_within_one(seed: int, mean: float) -> None:
    """Finest cells that nobody measured are sums of what each table says of them, so fractions go with its cells: given
    to the largest remainders, units were heaped on few cells of a table, which were 10 to 30 off."""
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(2, 7, 5).tolist())
    some = [one for one in subsets(5) if 1 <= len(one) <= 2]
    groupings, sizes = cube(shape, [some[at] for at in random.permutation(len(some))[: 2 + seed % 4]])
    told = sum(random.normal(0, 0.3, size)[one] for one, size in zip(groupings, sizes, strict=True))
    finest = mean * np.maximum(1 + np.asarray(told), 0)
    rounded = np.array(round_lattice(groupings, finest))
    assert rounded.min() >= 0
    assert rounded.sum() == round(finest.sum())
    off = [np.abs(np.bincount(one, rounded) - np.bincount(one, finest)).max() for one in groupings]
    assert max(off) <= 1 + 1e-6


@settings(deadline=None)
@given(lattices(-1, st.just(1.0)), st.lists(st.floats(0, 50), min_size=7, max_size=7), st.sampled_from([0, 70]))
def test_rounded_cells_keep_the_total_and_the_chain(drawn: Lattice, values: list[float], power: int) -> None:
    groupings, sizes, _, _ = drawn
    finest = np.array(values[: groupings[0].size]) * 2.0**power
    everything = np.zeros(finest.size, dtype=np.int64)
    rounded = round_lattice([*groupings, everything], finest)
    assert all(type(number) is int and number >= 0 for number in rounded)
    assert sum(rounded) == round(finest.sum())
    if power == 0:
        assert all(abs(integer - number) <= 3 + len(sizes) for integer, number in zip(rounded, finest, strict=True))
        coarse = [[0] * (finest.size // 2) + [1] * (finest.size - finest.size // 2)]
        halves = round_lattice([everything, np.array(coarse[0])], finest)
        assert abs(sum(halves[finest.size // 2 :]) - finest[finest.size // 2 :].sum()) <= 1.5 + 1e-9
    assert round_lattice([np.zeros(0, dtype=np.int64)], np.zeros(0)) == []
