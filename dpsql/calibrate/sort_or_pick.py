"""Answers of only the largest groups: whether these are picked first, or all groups are measured and sorted.

Guarantee: the choice follows from the text, the policy and the price. It compares how far the answer may be off, 95
times in 100, by either way. Two errors count: the excess of a hidden group over a shown one, and the error of the shown
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpsql.calibrate.calibration import Calibration
from dpsql.inference.intervals import ALPHA, half_width
from dpsql.releases import Additive, bar
from rewriter.plan import Linear, Plan, Sorts, Top


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to find the largest groups. ``missed`` and ``shown`` are in the units of the column."""

    calibration: Calibration
    missed: float
    shown: float

    @property
    def error(self) -> float:
        return self.missed + self.shown


def ranked(sorted_: Sequence[Calibration], picked: Sequence[Calibration]) -> Calibration:
    """The calibration with the smaller error, and what ``explain`` says of the choice."""
    one = min((_way(calibration) for calibration in picked), key=lambda way: way.error)
    top = _top(one.calibration)
    other = min((_sorted_way(calibration, top) for calibration in sorted_), key=lambda way: way.error)
    if one.error < other.error:
        return replace(one.calibration, ranking=f"{picks_note(one.calibration)}. {_instead(other, 'sorted')}")
    return replace(other.calibration, ranking=f"{_told(other, top)}. {_instead(one, 'picked')}")


def only_sorted(calibrations: Sequence[Calibration], sorts: Sorts) -> Calibration:
    """The calibration with the smaller error where no groups are picked, with what ``explain`` says of it."""
    way = min((_sorted_way(calibration, sorts) for calibration in calibrations), key=lambda way: way.error)
    text = f"{_told(way, sorts)}. Picking the groups first would be less accurate"
    return replace(way.calibration, ranking=text)


def _told(way: _Way, sorted_by: Top | Sorts) -> str:
    told = f"all groups are measured and sorted by {sorted_by.text}: a group that is not shown may have up to"
    return f"{told} {bar(way.missed)} {_more(sorted_by)} than one that is (95 %)"


def picks_note(calibration: Calibration) -> str:
    """The notice that groups were picked."""
    way, top = _way(calibration), _top(calibration)
    first = f"the {top.count} groups with the {_most(top)} {top.text} are picked first, and only they are measured"
    if top.count == 1:
        first = f"the group with the {_most(top)} {top.text} is picked first, and only it is measured"
    return f"{first}: a group that is not shown may have up to {bar(way.missed)} {_more(top)} than one that is (95 %)"


def _instead(way: _Way, what: str) -> str:
    if what == "sorted":
        return (
            f"Measuring all groups and sorting them, it would be {bar(way.missed)}, and the numbers ± {bar(way.shown)}"
        )
    return f"Picking the groups first, it would be {bar(way.missed)}, and the numbers ± {bar(way.shown)}"


def _more(top: Top | Sorts) -> str:
    return "more" if top.most else "less"


def _most(top: Top) -> str:
    return "most" if top.most else "least"


def is_as_good(released: Calibration, noise: Mapping[str, Additive], picked: Calibration) -> bool:
    """Whether sorting groups that were all released before, with this noise, is at least as accurate as picking."""
    return _sorted_way(released, _top(picked), noise).error <= _way(picked).error


def _top(calibration: Calibration) -> Top:
    if calibration.plan.top is None:
        raise AssertionError("nothing is picked")
    return calibration.plan.top


def _way(calibration: Calibration) -> _Way:
    """To pick the groups first."""
    top, plan = _top(calibration), calibration.plan
    estimator = _estimator(plan, top)
    if calibration.peeled is None:
        raise AssertionError("nothing is picked")
    step = float(sum(abs(weight) for _, weight in estimator.terms))
    missed = calibration.peeled.mechanism.missed(plan.cells or 1) * step
    return _Way(calibration, missed, _half_width(estimator, calibration.noise, ALPHA))


def _sorted_way(calibration: Calibration, top: Top | Sorts, noise: Mapping[str, Additive] | None = None) -> _Way:
    """To sort all groups: two change places where the noises of both add up, and any of so many may be."""
    noise = calibration.noise if noise is None else noise
    estimator = _estimator(calibration.plan, top)
    missed = 2 * _half_width(estimator, noise, ALPHA / (calibration.plan.cells or 1))
    return _Way(calibration, missed, _half_width(estimator, noise, ALPHA))


def _estimator(plan: Plan, top: Top | Sorts) -> Linear:
    total = next(one.estimator for one in plan.outputs if one.name == top.output).as_sum
    if total is None:
        raise AssertionError("groups are ranked by a sum")
    return total


def _half_width(estimator: Linear, noise: Mapping[str, Additive], alpha: float) -> float:
    return half_width(tuple((noise[name], weight) for name, weight in estimator.terms), alpha)
