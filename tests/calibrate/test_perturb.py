"""What leaves perturb: fresh noise in every cell, no group below its threshold, no weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpsql.accounting import ACCOUNTINGS, Accounting
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.calibration import Calibration, calibrate
from dpsql.errors import InternalError
from dpsql.mechanisms.gaussian import Gaussian
from dpsql.mechanisms.mechanism import Draws
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.perturb import perturb
from dpsql.releases import IntegerColumn
from dpsql.releases.tables import ExactTable
from rewriter.plan import Selection
from tests.calibrate.plans import block, plan

PURE = PrivacyLoss(epsilon=Fraction(1, 100))
ZCDP = PrivacyLoss(rho=Fraction(1, 100), delta=Fraction(1, 10**15))
"""So small a delta that none of 2,000 lone people is named by chance."""


class Counting:
    """A sampler that counts up, so that each draw can be told from every other, and notes what was asked."""

    def __init__(self, log: list[str] | None = None) -> None:
        self.asked: list[tuple[str, Fraction, int]] = []
        self.next = 1
        self.log = log if log is not None else []

    def draw(self, law: Any) -> Any:
        assert isinstance(law, Draws)
        return self._draw(law.mechanism.name, law.mechanism.scale, law.count)

    def _draw(self, kind: str, scale: Fraction, count: int) -> IntegerColumn:
        self.asked.append((kind, scale, count))
        self.log.append("draw")
        self.next += count
        return IntegerColumn.of(range(self.next - count, self.next))


class Watched(Mapping[str, tuple[int, ...]]):
    """Columns that note when the statistics ``names`` are read."""

    def __init__(self, columns: dict[str, tuple[int, ...]], log: list[str]) -> None:
        self.columns, self.log = columns, log

    def __getitem__(self, name: str) -> tuple[int, ...]:
        self.log.append(name)
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def pure() -> Calibration:
    return calibrate(plan(block("a", "b"), block("c")), ACCOUNTINGS["pure"], PURE)


def zcdp() -> Calibration:
    return calibrate(plan(block("a", "b"), selection=Selection("w", Fraction(1, 64), 4)), ACCOUNTINGS["zcdp"], ZCDP)


def table(rows: int, *names: str, value: int = 0) -> ExactTable:
    return ExactTable(tuple((f"k{row}",) for row in range(rows)), dict.fromkeys(names, (value,) * rows))


def test_every_cell_has_its_own_draw_and_none_is_drawn_in_vain() -> None:
    sampler, calibration = Counting(), pure()
    noisy = perturb(table(7, "a", "b", "c"), calibration, sampler)
    drawn = [draw for column in noisy.statistics.values() for draw in column]
    assert sorted(drawn) == list(range(1, 7 * 3 + 1))
    scales = calibration.noise
    assert sampler.asked == [("laplace", scales["a"].scale, 14), ("laplace", scales["c"].scale, 7)]
    assert noisy.noise == scales


def test_six_hundred_empty_cells_do_not_look_alike() -> None:
    noisy = perturb(table(600, "a", "b", "c"), pure(), ExactSampler())
    for column in noisy.statistics.values():
        assert len(set(column)) > 200
    assert noisy.statistics["a"] != noisy.statistics["b"]


def test_two_runs_differ() -> None:
    exact = table(50, "a", "b", "c")
    assert perturb(exact, pure(), ExactSampler()) != perturb(exact, pure(), ExactSampler())


def test_integers_of_any_size_are_exact() -> None:
    sampler = Counting()
    noisy = perturb(table(3, "a", "b", "c", value=10**40), pure(), sampler)
    assert noisy.statistics["c"] == (10**40 + 7, 10**40 + 8, 10**40 + 9)


@pytest.mark.parametrize("value", [0, 1, -3])
def test_what_is_released_is_the_integer_and_its_noise_whatever_either_is(value: int) -> None:
    """Nothing is rounded, cut off or left out by what the integer is: that would be seen through the noise."""

    class Falling(Counting):
        def _draw(self, kind: str, scale: Fraction, count: int) -> IntegerColumn:
            return IntegerColumn.of([-draw for draw in super()._draw(kind, scale, count)])

    for sampler, sign in ((Counting(), 1), (Falling(), -1)):
        noisy = perturb(table(3, "a", "b", "c", value=value), pure(), sampler)
        assert noisy.statistics == {
            name: tuple(value + sign * draw for draw in draws)
            for name, draws in (("a", (1, 2, 3)), ("b", (4, 5, 6)), ("c", (7, 8, 9)))
        }


def test_a_group_is_named_exactly_when_its_noisy_weight_reaches_the_threshold() -> None:
    calibration = zcdp()
    assert calibration.selected is not None
    steps = calibration.selected.threshold.steps
    exact = ExactTable(
        (("below",), ("at",), ("above",), ("nobody",)),
        {"a": (1, 2, 3, 4), "b": (5, 6, 7, 8), "w": (steps - 2, steps - 2, steps, 0)},
    )
    sampler = Counting()
    sampler.next = 1  # noise on the weights: 1, 2, 3, 4
    noisy = perturb(exact, calibration, sampler)
    assert noisy.keys == (("at",), ("above",))
    assert noisy.statistics == {"a": (2 + 5, 3 + 6), "b": (6 + 7, 7 + 8)}
    assert set(noisy.noise) == {"a", "b"}
    assert [count for _, _, count in sampler.asked] == [4, 4]


def test_a_key_without_weight_is_not_named_by_any_noise() -> None:
    sampler = Counting()
    sampler.next = 10**9
    noisy = perturb(table(5, "a", "b", "w"), zcdp(), sampler)
    assert noisy.keys == ()
    assert noisy.statistics == {"a": (), "b": ()}


def test_lone_people_stay_unnamed_and_crowds_are_named() -> None:
    lone = perturb(table(2000, "a", "b", "w", value=64), zcdp(), ExactSampler())
    assert lone.keys == ()
    crowd = perturb(table(200, "a", "b", "w", value=64 * 200), zcdp(), ExactSampler())
    assert len(crowd.keys) == 200


@pytest.mark.parametrize("calibration", [pure(), zcdp()], ids=["pure", "zcdp"])
def test_noise_is_drawn_before_what_it_hides_is_read(calibration: Calibration) -> None:
    log: list[str] = []
    names = [statistic.name for statistic in calibration.plan.statistics] + (["w"] if calibration.selected else [])
    sampler = Counting(log)
    watched = Watched(dict.fromkeys(names, (10**6,) * 3), log)
    exact = ExactTable((("x",), ("y",), ("z",)), watched)
    log.clear()
    perturb(exact, calibration, sampler)
    first_draw = log.index("draw")
    checked, hidden = log[:first_draw], log[first_draw:]
    assert sorted(checked) == sorted(names)  # the check of types, once each, before any noise
    draws = 0
    order = [["w"]] if calibration.selected else []
    order += [[statistic.name for statistic in one.block.statistics] for one in calibration.measured]
    for entry in hidden:
        if entry == "draw":
            draws += 1
        else:
            assert entry in order[draws - 1]


def test_the_cost_of_noise_does_not_depend_on_the_values() -> None:
    small, large = Counting(), Counting()
    perturb(table(9, "a", "b", "c", value=0), pure(), small)
    perturb(table(9, "a", "b", "c", value=-(10**18)), pure(), large)
    assert small.asked == large.asked


@pytest.mark.quick
@pytest.mark.parametrize(
    "columns",
    [
        {"a": (1,), "b": (1,)},
        {"a": (1,), "b": (1,), "c": (1,), "d": (1,)},
        {"a": (1, 2), "b": (1,), "c": (1,)},
        {"a": (1.5,), "b": (1,), "c": (1,)},
        {"a": (True,), "b": (1,), "c": (1,)},
        {"a": (None,), "b": (1,), "c": (1,)},
    ],
)
def test_an_answer_to_another_plan_is_an_error_that_tells_nothing(columns: dict[str, tuple[int, ...]]) -> None:
    sampler = Counting()
    with pytest.raises(InternalError) as failed:
        perturb(ExactTable((("secret",),), columns), pure(), sampler)
    assert sampler.asked == []
    assert not any(character.isdigit() for character in str(failed.value))
    assert "secret" not in str(failed.value)


def test_more_groups_than_were_planned_for_are_not_hidden_at_all() -> None:
    """How many groups one person changes, and how long a series is, was reckoned with fewer."""
    sampler, known = Counting(), pure()
    few = replace(known, plan=replace(known.plan, cells=6))
    with pytest.raises(InternalError):
        perturb(table(7, "a", "b", "c"), few, sampler)
    assert sampler.asked == []
    assert len(perturb(table(6, "a", "b", "c"), few, sampler).keys) == 6


@pytest.mark.parametrize("accounting", [ACCOUNTINGS["zcdp"], ACCOUNTINGS["approx"]])
def test_what_selects_and_is_asked_for_is_measured_once_with_the_whole_price(accounting: Accounting) -> None:
    price = ZCDP if accounting is ACCOUNTINGS["zcdp"] else PrivacyLoss(Fraction(1), Fraction(0), Fraction(1, 10**6))
    counted = calibrate(plan(block("n"), selection=Selection("n", Fraction(1), 1)), accounting, price)
    assert counted.loss == price
    assert counted.selected is not None
    (one,) = counted.measured
    threshold = counted.selected.threshold
    assert threshold.mechanism == one.mechanism
    apart = calibrate(plan(block("n"), selection=Selection("w", Fraction(1), 1)), accounting, price)
    assert apart.selected is not None
    assert apart.measured[0].mechanism.variance > 1.9 * one.mechanism.variance
    assert apart.selected.threshold.steps > 1.3 * threshold.steps
    exact = ExactTable(
        tuple((f"k{row}",) for row in range(400)), {"n": tuple(threshold.steps + row % 9 - 4 for row in range(400))}
    )
    noisy = perturb(exact, counted, ExactSampler())
    assert all(number >= threshold.steps for number in noisy.statistics["n"]), "the number shown is what selected"
    assert len(noisy.keys) == len(noisy.statistics["n"])


def test_a_calibration_whose_count_selects_behind_other_noise_is_impossible() -> None:
    counted = calibrate(plan(block("n"), selection=Selection("n", Fraction(1), 1)), ACCOUNTINGS["zcdp"], ZCDP)
    assert counted.selected is not None
    wider = replace(counted.selected.threshold, mechanism=Gaussian(counted.measured[0].mechanism.scale * 2))
    with pytest.raises(ValueError, match="one noise"):
        replace(counted, selected=replace(counted.selected, threshold=wider))
