"""The error to expect of every column of an answer, before any data is read: from plans and their noise alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np

from dpsql.accounting import Target
from dpsql.calibrate import NOMINAL_GROUP, Calibration
from dpsql.inference.estimates import Spread, estimate_of, group_noise, infer, running_margins
from dpsql.inference.intervals import half_width, quotient_ends
from dpsql.prepare import Prepared
from dpsql.releases import Additive, NoisyTable, ReleasedColumn
from dpsql.reply import AnswerColumn
from rewriter.front_door import Affine, Either, Form, Listed, Mean, Other, Quotient, Running, Shape
from rewriter.plan import Output, Plan

Sizes = Mapping[str, float]
"""How large outputs are that were released before, by the identity of their plan and their name."""


@dataclass(frozen=True, slots=True)
class ReleasedBefore:
    """Earlier releases of the groups that a statement asks about: the sizes of outputs, and by what their errors differ
    from those of a group of ``NOMINAL_GROUP`` rows (of quantiles: their errors for noise of the scale 1). ``rows`` are
    how many rows of a table count within its bounds, by its profile; ``spreads`` and ``people`` are how the values of a
    column lie, and of how many people they are, by its own.
    """

    sizes: Sizes = field(default_factory=dict)
    errors: Sizes = field(default_factory=dict)
    rows: Sizes = field(default_factory=dict)
    spreads: Mapping[tuple[str, str], Spread] = field(default_factory=dict)
    people: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """Equal for equal facts."""
        facts = self.sizes, self.errors, self.rows, self.spreads, self.people
        return tuple(tuple(sorted(one.items())) for one in facts)

    def spread(self, plan: Plan, output: str) -> Spread | None:
        """How the values lie that an output is of."""
        return next(
            (self.spreads.get((table, column)) for name, table, column in plan.of_columns if name == output), None
        )

    def group(self, plan: Plan) -> int:
        """How many rows a group is taken to have: its part of the rows of the table, if groups are declared and alike;
        else ``NOMINAL_GROUP``. Conditions leave fewer."""
        rows = self.rows_of(plan)
        return NOMINAL_GROUP if rows is None else max(1, int(rows / (plan.shown_cells or 1)))

    def rows_of(self, plan: Plan) -> float | None:
        """How many rows of a table count, by its profile; None where that does not tell how large a group is. Where no
        bound cuts rows a person counts as one: then it is the people with values in a column."""
        if plan.cells is None:
            return None
        if plan.bounded_by:
            return self.rows.get(plan.bounded_by)
        columns = ((table, column) for _, table, column in plan.of_columns)
        return next((self.people[one] for one in columns if one in self.people), None)


NOTHING = ReleasedBefore()


def expected_errors(
    prepared: Prepared, calibrations: Sequence[Calibration], known: ReleasedBefore = NOTHING
) -> tuple[float | None, ...]:
    """The 95 % half-width of every column; None for a column that is no measured number, or has no known form.

    Means, quantiles and quotients are those of the groups that were released before; where none were, of a group of the
    size that a profile tells, or of ``NOMINAL_GROUP`` rows, spread evenly where no profile says how values lie: what
    they are above and below the line follows from :func:`nominal_size`. Of several grouping sets, the one with the most
    noise.
    """
    slots = slots_of_columns(prepared, calibrations)
    return tuple(column_half_width(column.form, slots, known) for column in prepared.outer.foretold)


def expected_of_items(
    prepared: Prepared, calibrations: Sequence[Calibration], known: ReleasedBefore = NOTHING
) -> tuple[tuple[float | None, ...], ...]:
    """The same of every item of the columns that are arrays of measured numbers; nothing of others."""
    slots = slots_of_columns(prepared, calibrations)
    forms = (column.form for column in prepared.outer.foretold)
    return tuple(
        tuple(column_half_width(item, slots, known) for item in form.items) if isinstance(form, Listed) else ()
        for form in forms
    )


def nominal_size(output: Output, calibration: Calibration, group: int = NOMINAL_GROUP) -> float:
    """How large an output is in a group of so many people, by public facts.

    A count is taken for 1,000; a sum for 1,000 times half of the most that one person may add; a mean and a quantile
    for the half of its range's larger end.
    """
    return estimate_of(output.estimator).nominal_size(calibration.plan, group)


def _finite_size(value: object) -> float | None:
    """How large a number is; None of what is none, NaN and the infinities among it."""
    if not isinstance(value, int | float | Decimal):
        return None
    try:
        size = abs(float(value))
    except OverflowError:
        return None
    return size if math.isfinite(size) else None


def released_before(plans: Iterable[tuple[Plan, NoisyTable]]) -> ReleasedBefore:
    """The median size and the median error of each output over its groups, from releases in the store.

    Sizes are rounded down to powers of √2, and errors up, so that the price of a question does not follow the noise of
    its own answers.
    """
    sizes: dict[str, float] = {}
    errors: dict[str, float] = {}
    for plan, table in plans:
        for output, column in zip(plan.outputs, infer(table, plan).columns[len(plan.keys) :], strict=True):
            name = size_name(plan, output.name)
            known = [size for value in column.values if (size := _finite_size(value)) is not None]
            if median := float(np.median(known)) if known else 0.0:
                sizes[name] = 2 ** (math.floor(2 * math.log2(median)) / 2)
            found = _error_found(column, output, plan, table) if table.keys else None
            if found is not None:
                errors[name] = 2 ** (math.ceil(2 * math.log2(found)) / 2)
    return ReleasedBefore(sizes, errors)


def _error_found(column: ReleasedColumn, output: Output, plan: Plan, table: NoisyTable) -> float | None:
    """The median error of an output over its groups, against that of a nominal group with the same noise."""
    estimate = estimate_of(output.estimator)
    widths = estimate.found_errors(column)
    unit = estimate.error_unit(table.picking, group_noise(plan.blocks, table.noise), NOMINAL_GROUP)
    known = [width for width in widths if math.isfinite(width)]
    median = float(np.median(known)) if known else 0.0
    return median / unit if median and 0 < unit < math.inf else None


def excess_of(
    prepared: Prepared,
    wanted: Target,
    known: ReleasedBefore,
    calibrated: Callable[[Fraction], tuple[Calibration, ...]],
    *,
    certain: bool = False,
) -> Callable[[Fraction], float]:
    """The factor by which the widest column is wider than it may be, at a price.

    Where a column's error is not known before it is answered, the outputs of the releases stand in for it. ``certain``:
    of those columns alone whose error follows from the noise, whatever the data are.
    """

    def excess(epsilon: Fraction) -> float:
        calibrations = calibrated(epsilon)
        slots = slots_of_columns(prepared, calibrations)
        forms: list[tuple[Form, Sequence[Sequence[Calibration]]]] = [
            (branch, slots) for one in prepared.outer.foretold for branch in branches_of(one.form)
        ]
        if _unknown_columns(prepared):
            for calibration in calibrations:
                forms += [(_alone(output), [[calibration]]) for output in calibration.plan.outputs]
        ratios = [0.0]
        for form, places in forms:
            if certain and (_depends(form, places) or (wanted.relative and not _is_known(form, places, known))):
                continue
            error = column_half_width(form, places, known)
            if error is not None and (allowed := wanted.of(_size(form, places, known.sizes))):
                ratios.append(error / allowed)
        return max(ratios)

    return excess


def _depends(form: Form, slots: Sequence[Sequence[Calibration]]) -> bool:
    """Whether a column's error depends on the data: on how many people are in a group, and where their values lie."""
    if isinstance(form, Mean):
        return output_of(slots[form.term[0]][0], form.term[1]).estimator.as_sum is None
    return isinstance(form, Quotient)


def _is_known(form: Form, slots: Sequence[Sequence[Calibration]], known: ReleasedBefore) -> bool:
    """Whether the sizes of all that a column is made of were released before."""
    terms = [term for term, _ in form.terms] if isinstance(form, Affine) else []
    return bool(terms) and all(size_name(slots[at][0].plan, name) in known.sizes for at, name in terms)


def target_notes(
    prepared: Prepared,
    wanted: Target,
    epsilon: Fraction,
    calibrations: Sequence[Calibration],
    known: ReleasedBefore,
    *,
    reached: bool,
) -> tuple[str, ...]:
    """The notices about a price that came from an error."""
    notes = [f"an error of {wanted} takes ε = {float(epsilon):g}"]
    if wanted.relative:
        notes = [f"{notes[0]}; it is a part of what was released before, else of a group of {NOMINAL_GROUP:,} people"]
    slots = slots_of_columns(prepared, calibrations)
    pairs = zip(prepared.columns, prepared.outer.foretold, strict=True)
    guessed = [name for (name, _), one in pairs if _depends(one.form, slots)]
    if not reached:
        notes[0] = f"an error of {wanted} may take more than the owner allows for a statement, ε = {float(epsilon):g}"
    if guessed and not known.errors:
        whose = f"in a group of {NOMINAL_GROUP:,} people with values all over the declared range"
        notes.append(f"the error of {', '.join(guessed)} depends on the data: it is foretold as {whose}")
    elif guessed:
        notes.append(f"the error of {', '.join(guessed)} is foretold from what was released of these groups before")
    if unknown := _unknown_columns(prepared):
        notes.append(f"the error of {', '.join(unknown)} is not known before, so it is that of the aggregates below")
    return tuple(notes)


def _unknown_columns(prepared: Prepared) -> list[str]:
    pairs = zip(prepared.columns, prepared.outer.foretold, strict=True)
    return [name for (name, kind), one in pairs if isinstance(one.form, Other) and kind.numeric]


def branches_of(form: Form) -> tuple[Form, ...]:
    return tuple(branch.form for branch in form.branches) if isinstance(form, Either) else (form,)


def _alone(output: Output) -> Form:
    if output.estimator.as_sum is not None:
        return Affine((((0, output.name), Fraction(1)),))
    return Mean((0, output.name))


def size_name(plan: Plan, output: str) -> str:
    return f"{plan.identity} {output}"


def _size(form: Form, slots: Sequence[Sequence[Calibration]], sizes: Sizes) -> float | None:
    """How large a column is: of its outputs as they were released before, else by :func:`nominal_size`."""

    def size(slot: int, name: str) -> float:
        calibration = slots[slot][0]
        return sizes.get(size_name(calibration.plan, name)) or nominal_size(output_of(calibration, name), calibration)

    def affine(one: Affine) -> float:
        return max((float(abs(weight)) * size(*term) for term, weight in one.terms), default=float(abs(one.constant)))

    if isinstance(form, Affine) and form.terms:
        return affine(form)
    if isinstance(form, Mean):
        return abs(float(form.factor)) * size(*form.term)
    if isinstance(form, Running):
        steps = [block.prefix.strategy.steps for block in slots[form.term[0]][0].plan.blocks if block.prefix]
        frame = form.window.frame
        groups = (max(steps, default=1) + 1) / 2 if frame is None else 1 if form.window.mean else frame.width
        return abs(float(form.factor)) * size(*form.term) * groups
    if isinstance(form, Quotient):
        return affine(form.above) / affine(form.below) if affine(form.below) else None
    return None


def slots_of_columns(prepared: Prepared, calibrations: Sequence[Calibration]) -> list[list[Calibration]]:
    """The measurements that each slot may be a row of, the noisiest first."""
    shapes = {shape.name: shape for shape in prepared.program.shapes}
    return [
        sorted(
            (calibrations[place] for name in sorted(origin) for place in _groups_of(shapes[name])),
            key=lambda one: -_size_of_noise(one),
        )
        for origin in prepared.outer.origins
    ]


def _size_of_noise(one: Calibration) -> float:
    """How far the numbers of a measurement are off, in their own units."""
    steps = {statistic.name: float(statistic.granularity) for statistic in one.plan.statistics}
    sizes = (float(noise.scale) * steps.get(name, 1.0) for name, noise in one.hidden_by.items())
    return float(one.agreement) * max(sizes, default=0.0)


def _groups_of(shape: Shape) -> tuple[int, ...]:
    """The measurements whose groups are rows; what a total leaves of them has an error of its own."""
    return shape.measurements[:1] if shape.others else shape.measurements


def output_of(calibration: Calibration, name: str) -> Output:
    return next(output for output in calibration.plan.outputs if output.name == name)


def error_notes(columns: Sequence[AnswerColumn], margins: Sequence[Sequence[float | None]]) -> tuple[str, ...]:
    """The notice of the errors of an answer whose price came from an error."""
    found = []
    for at, column in enumerate(columns):
        widths = [width for row in margins if (width := row[at]) is not None and math.isfinite(width)]
        if widths:
            most = f", {max(widths):.3g} at most" if len(widths) > 1 else ""
            found.append(f"{column.name} ±{float(np.median(widths)):.3g}{most}")
    return (f"the error bars are now: {'; '.join(found)}",) if found else ()


def column_half_width(
    form: Form, slots: Sequence[Sequence[Calibration]], known: ReleasedBefore = NOTHING
) -> float | None:
    if isinstance(form, Affine) and form.terms:
        joint = _joint(form, Affine(), slots)
        return half_width(tuple((noise, weight) for noise, weight, _ in joint)) + float(form.slack)
    if isinstance(form, Mean):
        width = _expected(slots[form.term[0]][0], form.term[1], known)
        return None if width is None else abs(float(form.factor)) * width
    if isinstance(form, Running):
        calibration = slots[form.term[0]][0]
        width = running_margins(calibration.plan, calibration.noise, form.window).get(form.term[1])
        return None if width is None else abs(float(form.factor)) * width
    if isinstance(form, Quotient):
        return _quotient_half_width(form, slots, known)
    if isinstance(form, Either):
        widths = [column_half_width(branch.form, slots, known) for branch in form.branches if branch.noisy]
        return None if any(width is None for width in widths) else max(filter(None, widths), default=0.0)
    return None


def _expected(calibration: Calibration, name: str, known: ReleasedBefore) -> float | None:
    """Of one output: as it was found in earlier releases, else in a nominal group."""
    estimate = estimate_of(output_of(calibration, name).estimator)
    noise = calibration.expected_noise
    if (found := known.errors.get(size_name(calibration.plan, name))) is not None:
        return found * estimate.error_unit(calibration.picking, noise, NOMINAL_GROUP)
    plan = calibration.plan
    return estimate.expected_half_width(noise, calibration.picks, known.group(plan), known.spread(plan, name))


def _quotient_half_width(form: Quotient, slots: Sequence[Sequence[Calibration]], known: ReleasedBefore) -> float | None:
    """Where both sides are of a nominal group; what would have no end has no expected error either."""
    above, below = (_nominal(side, slots, known) for side in (form.above, form.below))
    if not below:
        return None
    low, high = quotient_ends(np.array([above]), np.array([below]), _joint(form.above, form.below, slots))
    width = max(float(high[0]) - above / below, above / below - float(low[0])) + float(form.slack)
    return width if math.isfinite(width) else None


def _nominal(form: Affine, slots: Sequence[Sequence[Calibration]], known: ReleasedBefore) -> float:
    total = float(form.constant)
    for (slot, name), weight in form.terms:
        calibration = slots[slot][0]
        size = known.sizes.get(size_name(calibration.plan, name))
        group = known.group(calibration.plan)
        total += float(weight) * (size or nominal_size(output_of(calibration, name), calibration, group))
    return total


def _joint(
    above: Affine, below: Affine, slots: Sequence[Sequence[Calibration]]
) -> tuple[tuple[Additive, Fraction, Fraction], ...]:
    weights: dict[tuple[object, str], list[Fraction]] = {}
    noises: dict[tuple[object, str], Additive] = {}
    for side, form in enumerate((above, below)):
        for (slot, name), weight in form.terms:
            calibration = slots[slot][0]
            noise, factor = calibration.noise_apart, calibration.agreement
            total = output_of(calibration, name).estimator.as_sum
            # Without keys there is one row, whichever slot it is in.
            row = slot if calibration.plan.keys else calibration.plan.identity
            for statistic, part in total.terms if total is not None else ():
                noises[row, statistic] = noise[statistic]
                weights.setdefault((row, statistic), [Fraction(0), Fraction(0)])[side] += weight * part * factor
    return tuple((noises[key], pair[0], pair[1]) for key, pair in weights.items() if any(pair))
