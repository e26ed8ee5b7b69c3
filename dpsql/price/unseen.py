"""What a price cannot show, told before it is paid: how large a group has to be for its numbers to say anything.

Guarantee: text, policy, price and earlier releases alone; no row is read. A column is told of where the error of the
noise alone covers all that its number may be, in every group of a plausible size. The sizes of groups are a secret.
Plausible is what was released of these groups before; where nothing was, ``SMALL`` people in a group, and a nominal
number of people in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from dpsql.calibrate import NOMINAL_GROUP, Calibration
from dpsql.inference.estimates import estimate_of
from dpsql.prepare import Prepared
from dpsql.price.expected_error import (
    ReleasedBefore,
    branches_of,
    column_half_width,
    output_of,
    size_name,
    slots_of_columns,
)
from dpsql.releases import bar
from rewriter.front_door import Affine, Form, Mean, Quotient, Shown
from rewriter.plan import Moment, Output, Plan, Ratio, Terms

SMALL = 100
"""The people of a group that is not small, where nothing is known of groups: a price that shows no smaller ones is told
to do so."""

_ANY = 1 << 40
"""No group is as large."""

Slots = Sequence[Sequence[Calibration]]


def unseen_notes(prepared: Prepared, calibrations: Sequence[Calibration], known: ReleasedBefore) -> tuple[str, ...]:
    """One note for each column, and each list of groups, of which a price shows nothing in groups of a plausible
    size."""
    notes: dict[str, None] = {}
    for calibration in calibrations:
        if calibration.selected is not None and (calibration.threshold or 0.0) > SMALL:
            keys = ", ".join(key.text for key in calibration.plan.keys)
            notes[f"at this price, groups of {keys} show only where about {calibration.threshold:,.0f} people are"] = (
                None
            )
    slots = slots_of_columns(prepared, calibrations)
    shown = prepared.program.shown or (Shown.VALUE,) * len(prepared.columns)
    said = _told_apart([name for name, _ in prepared.columns])
    for name, (_, kind), measured, how in zip(said, prepared.columns, prepared.outer.foretold, shown, strict=True):
        for form in branches_of(measured.form) if how is Shown.VALUE else ():
            notes |= dict.fromkeys(_of_column(name, form, slots, known, numeric=kind.numeric))
    return tuple(notes)


def _told_apart(names: Sequence[str]) -> list[str]:
    """The names of columns; of those that are called alike, also which of the columns it is.

    >>> _told_apart(["region", "avg", "avg"])
    ['region', 'avg (column 2)', 'avg (column 3)']
    """
    return [f"{name} (column {at})" if names.count(name) > 1 else name for at, name in enumerate(names, 1)]


def _of_column(name: str, form: Form, slots: Slots, known: ReleasedBefore, *, numeric: bool) -> Iterator[str]:
    if isinstance(form, Mean):
        yield from _of_mean(name, form, slots, known, numeric=numeric)
    elif isinstance(form, Affine) and form.terms:
        yield from _of_sum(name, form, slots, known)
    elif isinstance(form, Quotient) and form.below.terms:
        people = _people(form.below, slots)
        if people > _plausible(form.below, slots):
            grouped = any(slots[at][0].plan.keys for (at, _), _ in form.below.terms)
            where = f"{'in groups ' if grouped else ''}of fewer than about {people:,} people"
            yield f"at this price, {name} shows nothing {where}: the error of what it is divided by is as large"


def _of_mean(name: str, form: Mean, slots: Slots, known: ReleasedBefore, *, numeric: bool) -> Iterator[str]:
    calibration = slots[form.term[0]][0]
    output = output_of(calibration, form.term[1])
    low, high = calibration.plan.limits_of(output)
    if not low < high < math.inf or low == -math.inf:
        return
    ends = sorted(float(form.factor) * end + float(form.constant) for end in (low, high))
    said = "its error bar is as wide as its range" + (f", {ends[0]:,.6g} to {ends[1]:,.6g}" if numeric else "")
    if size_name(calibration.plan, output.name) in known.errors:
        width = column_half_width(form, slots, known)
        if width is not None and 2 * width >= ends[1] - ends[0]:
            before = f"{'in groups as they were' if calibration.plan.keys else 'of rows as they were'} released before"
            yield f"at this price, {name} shows nothing {before}: {said}"
        return
    noise = calibration.expected_noise

    def covers(rows: int) -> bool:
        width = estimate_of(output.estimator).expected_half_width(noise, calibration.picks, rows)
        return width is not None and 2 * width >= high - low

    people = SMALL if calibration.plan.keys else NOMINAL_GROUP
    plausible = people * _rows_of_one(output, calibration.plan)
    if covers(plausible):
        rows = _least(lambda rows: not covers(rows), plausible)
        where = "in groups of" if calibration.plan.keys else "of"
        yield f"at this price, {name} shows nothing {where} fewer than about {rows:,} rows: {said}"


def _of_sum(name: str, form: Affine, slots: Slots, known: ReleasedBefore) -> Iterator[str]:
    width = column_half_width(form, slots, known)
    if width is None:
        return
    sizes = [known.sizes.get(size_name(slots[at][0].plan, term)) for (at, term), _ in form.terms]
    if all(sizes):
        size = max(abs(float(weight)) * (one or 0.0) for (_, weight), one in zip(form.terms, sizes, strict=True))
        if width >= size:
            yield f"at this price, {name} is ± {bar(width)}, more than it was in most groups that were released before"
        return
    people = _people(form, slots)
    if people > _plausible(form, slots):
        what = f"fewer than about {people:,} people cannot be told from nobody"
        yield f"at this price, {name} is ± {bar(width)}: {what}"


def _people(form: Affine, slots: Slots) -> int:
    """How many people it takes for a sum to be as large as its error, if each adds the most that one may add."""
    width = column_half_width(form, slots) or 0.0
    most = 0.0
    for (at, name), weight in form.terms:
        plan, total = slots[at][0].plan, output_of(slots[at][0], name).estimator.as_sum
        bounds = {statistic.name: statistic.bound for statistic in plan.statistics}
        terms = total.terms if total is not None else ()
        most = max(most, float(abs(weight) * sum(abs(part) * bounds[one] for one, part in terms)))
    return math.ceil(width / most) if most else 0


def _plausible(form: Affine, slots: Slots) -> int:
    return SMALL if any(slots[at][0].plan.keys for (at, _), _ in form.terms) else NOMINAL_GROUP


def _rows_of_one(output: Output, plan: Plan) -> int:
    """The most rows of a group that one person may have in a mean."""
    bounds = {statistic.name: statistic.bound for statistic in plan.statistics}
    estimator = output.estimator
    terms: Terms = ()
    if isinstance(estimator, Ratio):
        terms = (*estimator.above, *estimator.below)
    elif isinstance(estimator, Moment):
        terms = estimator.cells
    return max((math.ceil(abs(weight) * bounds[name]) for name, weight in terms), default=1)


def _least(is_enough: Callable[[int], bool], low: int) -> int:
    """The least number that is enough, above one that is not; where a number is enough, so is each larger one.

    >>> _least(lambda rows: rows >= 1_234, 100)
    1234
    """
    high = 2 * low
    while high < _ANY and not is_enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
