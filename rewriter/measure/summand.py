"""The argument of SUM or AVG: a value on a lattice, clipped into the range that is declared or follows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rewriter.columns import most_in_total, narrowed, open_totals
from rewriter.declared import Interval, Kind
from rewriter.expressions import Value, clip_of, clipped_once, clipped_steps, held, lattice, stays_within
from rewriter.measure.vectors import Builder
from rewriter.refused import Unbounded
from rewriter.relations import learned_ranges
from rewriter.release import Aggregate


def range_of(aggregate: Aggregate, filters: Sequence[Value]) -> tuple[Value, Interval | None]:
    """The argument of SUM or AVG, and where it lies on the rows that are counted."""
    argument = aggregate.value
    return argument, narrowed(argument, [*filters, *([aggregate.condition] if aggregate.condition is not None else [])])


def bounded(aggregate: Aggregate, filters: Sequence[Value]) -> tuple[Value, Interval, Fraction]:
    """The argument with its declared range on the lattice."""
    argument, declared = range_of(aggregate, filters)
    if declared is None:
        raise AssertionError("a sum without a range was refused")
    # A mean adds up distances from the ends of the range, a sum the values.
    learned = learned_ranges(argument.sql)
    granularity = lattice(argument.type, declared, declared.width if aggregate.kind.averages else None, learned=learned)
    interval = declared.outward(granularity)
    if learned:
        interval = held(interval, argument.type, granularity)
    if interval.width == 0:
        interval = Interval(interval.low, interval.high + granularity)
    return argument, interval, granularity


def steps_of(aggregate: Aggregate, interval: Interval, granularity: Fraction, builder: Builder) -> str:
    """The row column of the argument in steps."""
    clipped = clipped_once if aggregate.combines else clipped_steps
    declared = range_of(aggregate, builder.filters)[1] or interval
    interval = clip_of(declared, interval, granularity)
    return builder.column("v", clipped(aggregate.value, interval, granularity, builder.dialect))


def is_integer(aggregate: Aggregate) -> bool:
    return aggregate.argument is not None and aggregate.argument.type.kind is Kind.INTEGER


def unit_of(aggregate: Aggregate, granularity: Fraction) -> Fraction:
    """What a finished sum is a multiple of."""
    kind = aggregate.output_type
    return {Kind.INTEGER: Fraction(1), Kind.DECIMAL: Fraction(1, 10**kind.scale)}.get(kind.kind, granularity)


def most_rows_of(aggregate: Aggregate, interval: Interval, builder: Builder) -> Fraction | None:
    """As many of the largest values as one person's values add up to, by the owner's word; None where that is no less
    than the rows that a person has, or nothing is said."""
    argument = aggregate.value.sql
    if not builder.one_row and (lacking := open_totals(argument)):
        raise Unbounded(
            f"nothing says what {aggregate.wording.inner} of one person adds up to",
            hint="the owner can declare max_total for the column",
            missing=lacking,
            certain=lacking,
        )
    total = None if builder.one_row else most_in_total(argument, builder.rows)
    rows = None if total is None or not interval.magnitude else total / interval.magnitude
    return None if rows is None or 1 < builder.rows <= rows else rows


def note_total(aggregate: Aggregate, interval: Interval, rows: Fraction, builder: Builder) -> None:
    most = show(rows * interval.magnitude)
    note = f"one person's {aggregate.wording.inner} adds up to at most {most}, from which the noise of its sum follows"
    builder.clips = True
    if note not in builder.notes:
        builder.notes.append(note)


def note_clipping(aggregate: Aggregate, interval: Interval, builder: Builder) -> None:
    """Say where values are moved to that a row may have outside of the range."""
    declared = range_of(aggregate, builder.filters)[1] or interval
    interval = interval if declared.width else declared
    said = clipping_note(aggregate.wording.inner, aggregate.value, interval)
    note_once(aggregate.notes if aggregate.combines else said, builder)


def note_once(notes: Sequence[str], builder: Builder) -> None:
    builder.clips |= bool(notes)
    builder.notes += [note for note in notes if note not in builder.notes]


def clipping_note(name: str, value: Value, interval: Interval) -> tuple[str, ...]:
    """The notice that a value is clipped; none where no row can have a value outside of the range."""
    if stays_within(value, interval):
        return ()
    return (f"{name} is clipped into [{show(interval.low)}, {show(interval.high)}]",)


def show(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"{float(number):g}"
