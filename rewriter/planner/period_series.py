"""Series: a release over a window of time, measured period by period.

Why. A release over thirty days is another one tomorrow, and is bought again as a whole. Its cells of a day that is over
will not change any more: measured by themselves they can be kept for ever, and tomorrow buys one day.

Two forms. Where a key holds the time of rows in periods, or several do together, as EXTRACT(YEAR …) and EXTRACT(MONTH
…) do, each group is in one period. Where no key does, the groups of all periods are the same, and a group's integers
are the sums of its periods': of counts and sums over rows, and of no number of different people or values, which do not
add up. Which of these groups are shown, or ranked first, is told by the sums and the noise of the sums, as by any
released numbers.

Sensitivity. Each period is a release of its own: its rows are those whose time is in the period, a unit's vector over
its groups is clipped as in any release, and the bound is that of one period: ``max_rows: 10 per month`` leaves a unit
ten rows in the spans that a day can touch, which is one month, and 31 times the bound of a day in a month. So in every
period a unit moves the integers by no more than the sensitivity of the period's plan, whatever rows it has in others,
and whenever they came.

Composition. A unit has rows in many periods: their releases compose by addition, as any releases do, and never in
parallel. What a unit pays over all periods is the sum of what was charged for each of them; nothing of a charge rests
on how few periods a unit is in, or on when it came.

Running totals. A unit may have rows in every period, up to c in each, so a running total of a series is the sum of its
periods: no factorization of the stream has a smaller error in its last total. Let A be the matrix of running totals
over T periods, and A = LR: R x is released with Gaussian noise, and L makes the totals of it.

Theorem. If the whole stream is ρ-zCDP for units with up to c rows in each period, then the total after t periods has at
least the variance (tc)²/2ρ. Independent periods, R = I, have t·T·c²/2ρ: as little as can be in the last total, and
3T/(2T + 1) < 3/2 times as much as can be on average over all totals.

Proof. A unit with c rows in each period moves R x by c·R1, so noise of variance σ² in each entry has
σ² ≥ c²·|R1|²/2ρ. Row t of A adds up to t, so t = (A1)_t = L_t·R1 ≤ |L_t|·|R1| (Cauchy, Schwarz), and the total of t
has the variance |L_t|²·σ² ≥ t²·c²/2ρ. Of R = I, |R1|² = T and |L_t|² = t. The squares of 1 to T are
(T + 1)(2T + 1)/6 on average, and t·T is T(T + 1)/2. ∎

The square root of A, best where a unit has rows in one period alone, loses here: its R1 grows faster than √T. The
errors of the last total and of all totals (root of the mean square), in units of c/√2ρ, of independent periods and of
the square root, where a unit's rows of all periods are hidden, and where those of one period are:

>>> from itertools import accumulate
>>> from math import sqrt
>>> def errors(left: list[float], moved: float) -> tuple[float, float]:
...     # Of each row of L the sum of squares, and the square of how far a unit moves R x.
...     return round(sqrt(left[-1] * moved), 1), round(sqrt(sum(left) / len(left) * moved), 1)
>>> for periods in (30, 365):
...     root = list(accumulate(range(1, periods), lambda last, j: last * (2 * j - 1) / (2 * j), initial=1.0))
...     squares = list(accumulate(one**2 for one in root))
...     days = [float(t) for t in range(1, periods + 1)]
...     every = sum(one**2 for one in accumulate(root))
...     print(errors(days, periods), errors(squares, every), errors(days, 1), errors(squares, squares[-1]))
(30.0, 21.6) (35.4, 32.8) (5.5, 3.9) (2.1, 2.0)
(365.0, 258.4) (500.0, 472.4) (19.1, 13.5) (2.9, 2.8)

The periods are those of the calendar, from the text, the declared range of the column, and nothing else. So no rows
are missing: where the column can be NULL, or is not cut to periods, there is no series.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain

from sqlglot import exp

from rewriter.columns import BEHIND, ColumnLimits, Facts, Variable, column_of, field_of_number, lattice_of
from rewriter.declared import SPANS, UTC, Catalog, Kind, Norm, Spans, measure
from rewriter.dialects import Dialect, Period, Read, letters_of, period_told, reading_of
from rewriter.expressions import BINNED, CUT, WIDTH, Value, floor_to, literal
from rewriter.once import Remember, afresh, known_by, remembering
from rewriter.plan import Plan, Series, SeriesPeriod, without_conditions, without_ways
from rewriter.planner.closed_windows import with_times
from rewriter.planner.plan_release import plan
from rewriter.planner.same_query import SameQuery, by_value
from rewriter.planner.touched_spans import touched_by
from rewriter.refused import Refused
from rewriter.release import Key, Query
from rewriter.statement import conjuncts

MOST_PERIODS = 400
"""Of a series: a day of a year, and some."""

_LONGEST = {"hour": 1 / 24, "day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
_EXACT = (exp.GTE, exp.GT, exp.LTE, exp.LT, exp.Between)
"""Comparisons whose limits say all that they do."""


def series_of(
    query: Query, norms: Sequence[Norm], catalog: Catalog, dialect: Dialect, remember: Remember[Plan] = afresh
) -> Series | None:
    """The series of a release that is asked with the bounds of all spans; None where there is none.

    A window that moves has the same periods again: their plans are ``remember``ed by the query without what all of a
    period satisfies.
    """
    found = next(chain(_keys_in_periods(query, catalog), _windows(query, catalog)), None) if _is_plain(query) else None
    if found is None:
        return None
    at, unit, subject, variable, spans = found
    periods = _periods(query, unit, variable, spans)
    if len(periods) < (2 if at is None else 1):
        return None
    inside = replace(query, cumulative=None, bound=query.bound.touching(_in_one(query, unit, spans)))
    known: dict[tuple[int, SeriesPeriod], Plan] = {}

    about = [_times_of(test, variable) for test in _about(query, variable)]
    cut = frozenset(one for one in periods if not all(_holds_in(times, one, variable) for times in about))
    times_of = [_times_of(one, variable) for one in inside.filters]
    # The rest of what is asked of a period: of which time, and how each table that is read closes.
    said = (by_value(subject), by_value(variable), by_value([catalog.tables.get(one.table) for one in query.until]))
    rests: dict[tuple[int, ...], Query] = {}
    names: dict[tuple[int, ...], SameQuery] = {}

    def of(place: int, period: SeriesPeriod) -> Plan:
        if (place, period) not in known:
            implied = tuple(number for number, times in enumerate(times_of) if _holds_in(times, period, variable))
            if implied not in rests:
                rests[implied] = _without(inside, implied)
            rest = rests[implied]

            def planned() -> Plan:
                with remembering():
                    rows = _within(rest, period, at, subject, variable, dialect)
                    return replace(plan(with_times(rows, catalog), norms[place], dialect), period=period)

            def remembered() -> Plan:
                if implied not in names:
                    names[implied] = SameQuery(rest)
                name = names[implied]
                key = (name, *said, period, at, norms[place], dialect)
                return known_by(key, planned, remember)

            known[place, period] = planned() if period in cut else remembered()
        return known[place, period]

    try:
        every = [plan(inside, norm, dialect) for norm in norms]
        whole = tuple(_whole(one, of(place, periods[-1]), unit, adds_up=at is None) for place, one in enumerate(every))
    except Refused:
        return None
    planned = (*every, *whole)
    if any(one.selection is not None or one.choices or not one.blocks for one in planned):
        return None
    if any(one.keys and not one.groups for one in planned):
        return None
    return Series(unit, periods, whole, of, at is None, cut)


def _is_plain(query: Query) -> bool:
    return not (query.sets or query.others or query.summed_with_total or query.only is not None)


def without_series(query: Query, catalog: Catalog) -> Iterator[str]:
    """Notes of times that may be NULL, which alone keep a release from being measured period by period."""
    facts = Facts.of(query.filters)
    for _, unit, _, variable, _ in _keys_in_periods(query, catalog) if _is_plain(query) else ():
        if variable.column.nullable and not facts.is_given(variable):
            name = variable.name
            yield (
                f"{variable.table.name}.{name} may be NULL, so that it is not measured {unit} by {unit}, and a closed"
                f" {unit} is bought again with the others: add {name} IS NOT NULL to WHERE, or, if it always has a"
                " value, let the owner declare it NOT NULL in the database"
            )
            return


def _whole(every: Plan, one: Plan, unit: str, *, adds_up: bool) -> Plan:
    """The groups of all periods, measured as in ``one`` period. A text of its own keeps its name apart."""
    of_all = f"added up over each {unit}: {every.sql}" if adds_up else f"and so for each {unit}: {every.groups}"
    said = "each person counts with at most "
    notes = (f"{note} in each {unit}" if note.startswith(said) else note for note in every.notes)
    return replace(
        one,
        sql=f"{one.sql} -- {of_all}",
        keys=every.keys,
        cells=every.cells,
        notes=tuple(notes),
        exhaustive=every.exhaustive,
        groups=every.groups,
        sums=every.sums,
        partials=None,
        inhabited=None,
        drill_downs=without_ways,
        by_conditions=without_conditions,
        period=None,
        times=every.times,
    )


def _keys_in_periods(
    query: Query, catalog: Catalog
) -> Iterator[tuple[tuple[int, ...], str, exp.Expr, Variable, Spans]]:
    """The keys that hold the time of a table which closes: the places of those that tell it together, their period, the
    time, its column, and the spans of it."""
    cuts = [((place,), cut) for place, key in enumerate(query.keys) if (cut := _cut_of(key)) is not None]
    for places, (unit, subject) in chain(_fields_together(query.keys), cuts):
        variable = column_of(subject, ())
        if variable is None or BEHIND.of(subject) != variable:
            continue
        for spans in query.bound.spans:
            table = catalog.tables.get(variable.table.name)
            same = (variable.alias, variable.name) == (spans.alias, spans.column)
            if same and table is not None and table.closes and not variable.optional:
                yield places, unit, subject, variable, spans


def _fields_together(keys: Sequence[Key]) -> Iterator[tuple[tuple[int, ...], tuple[str, exp.Expr]]]:
    """The fields of one time that together tell a period from all others, as EXTRACT(YEAR …) and EXTRACT(MONTH …)."""
    found: dict[Variable, dict[str, tuple[int, exp.Expr]]] = {}
    for place, key in enumerate(keys):
        field = field_of_number(key.value.sql)
        letter = None if field is None else _LETTERS.get(field.unit)
        moment = None if field is None else _as_it_is(field.moment)
        if letter is not None and moment is not None and isinstance(behind := BEHIND.of(moment), Variable):
            found.setdefault(behind, {}).setdefault(letter, (place, moment))
    for fields in found.values():
        for letters, unit in _TOLD:
            if letters <= fields.keys():
                yield tuple(fields[one][0] for one in sorted(letters)), (unit, next(iter(fields.values()))[1])
                break


def _as_it_is(node: exp.Expr) -> exp.Expr:
    """A column without the parentheses, and the conversion of a date to a timestamp, around it."""
    while BEHIND.of(node) is None and (isinstance(node, exp.Paren) or _is_timestamp(node)):
        node = node.this
    return node


def _is_timestamp(node: exp.Expr) -> bool:
    return type(node) is exp.Cast and node.to.this in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)


_LETTERS = {"year": "Y", "quarter": "q", "month": "m", "day": "d", "doy": "j", "isoyear": "G", "week": "V"}
_TOLD = tuple(
    (frozenset(letters), unit)
    for letters, unit in (
        ("Ymd", "day"),
        ("Yj", "day"),
        ("GV", "week"),
        ("Ym", "month"),
        ("Yq", "quarter"),
        ("Y", "year"),
    )
)
"""Fields that tell a period, the shortest period first."""


def _windows(query: Query, catalog: Catalog) -> Iterator[tuple[None, str, exp.Expr, Variable, Spans]]:
    """The times of tables which close that conditions compare, where all that is asked adds up over time, and rows are
    bounded by days: in these."""
    asked, where = [one.within or one for one in query.aggregates], query.rows.args.get("where")
    if where is None or query.blocks or query.bound.unique or any(one.distinct or one.over_blocks for one in asked):
        return
    columns = {
        behind: node
        for node in where.this.walk()
        if isinstance(behind := BEHIND.of(node), Variable) and not behind.picked
    }
    for spans in query.bound.spans:
        if not {"hour", "day"} & {spans.unit, *(one for one, _ in spans.more)}:
            continue
        for variable, node in columns.items():
            table = catalog.tables.get(variable.table.name)
            same = (variable.alias, variable.name) == (spans.alias, spans.column)
            if same and table is not None and table.closes and not variable.optional:
                yield None, "day", node, variable, spans


def _about(query: Query, variable: Variable) -> list[Value]:
    """The conditions that read a time."""
    return [one for one in query.filters if any(BEHIND.of(node) == variable for node in one.sql.walk())]


def _cut_of(key: Key) -> tuple[str, exp.Expr] | None:
    """The unit that a key cuts a time to, and the time: DATE_TRUNC, DATE_BIN, TO_CHAR, a cast to a date, a date as it
    is."""
    node, unit = key.value.sql, ""
    while BEHIND.of(node) is None:
        reading = reading_of(node)
        if (binned := BINNED.of(node)) is not None:
            if not (width := _BINS.get((CUT.of(node), WIDTH.of(node)))):
                return None
            unit, node = _coarser(unit, width), binned
        elif isinstance(node, exp.Paren):
            node = node.this
        elif reading is not None and reading.read is Read.PRINT and not unit:
            unit, node = period_told(letters_of(reading.pattern)) or "", reading.moment
            if unit not in SPANS:
                return None
        elif type(node) is exp.Cast and node.to.this in (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ):
            unit, node = _coarser(unit, "day") if node.to.this == exp.DType.DATE else unit, node.this
        elif reading is not None and reading.read is Read.START and reading.unit in SPANS and unit in ("", "day"):
            unit, node = _coarser(unit, reading.unit), reading.moment
        else:
            return None
    behind = BEHIND.of(node)
    if not isinstance(behind, Variable) or not behind.column.type.temporal:
        return None
    if behind.column.type.kind is Kind.DATE:
        unit = _coarser(unit, "day")
    return (unit, node) if unit else None


_BINS: Mapping[tuple[Period | None, Fraction | None], str] = {
    (Period.DAY, Fraction(1)): "day",
    (Period.HOUR, Fraction(1, 24)): "hour",
}
"""Bins of one length that are days or hours of the calendar."""


def _coarser(one: str, other: str) -> str:
    return max(one, other, key=lambda unit: SPANS.index(unit) if unit else -1)


def _periods(query: Query, unit: str, variable: Variable, spans: Spans) -> tuple[SeriesPeriod, ...]:
    """All periods that rows of the groups can be in; none where that is not known, or where they are too many."""
    facts = Facts.of(query.filters)
    if variable.column.nullable and not facts.is_given(variable):
        return ()
    limits = facts.of_column(variable)
    low = spans.low if limits.low is None else max(limits.low, spans.low)
    high = spans.high if limits.high is None else min(limits.high, spans.high)
    found: list[SeriesPeriod] = []
    # What reads an instant as it is reads the clocks of UTC; any other zone's clock would stand around it.
    zone = UTC if variable.column.type.kind is Kind.TIMESTAMPTZ else None
    begin = floor_to(unit, datetime.datetime.fromordinal(max(1, int(low)))) if unit != "hour" else _hour(low)
    while measure(begin) <= high:
        if len(found) == MOST_PERIODS:
            return ()
        try:
            end = floor_to(unit, begin + datetime.timedelta(days=_LONGEST[unit]))
        except OverflowError:
            return ()
        found.append(SeriesPeriod(begin, end, variable.table.name, zone))
        begin = end
    return tuple(found)


def _hour(low: Fraction) -> datetime.datetime:
    days, rest = divmod(low, 1)
    return datetime.datetime.fromordinal(int(days)) + datetime.timedelta(hours=int(rest * 24))


def _in_one(query: Query, unit: str, spans: Spans) -> Callable[[Spans], int | Fraction]:
    """How many of each spans one period touches."""
    others = touched_by(query)
    return lambda one: one.touched_in(unit) if one == spans else others(one)


def _without(query: Query, implied: Collection[int]) -> Query:
    """The release without conditions that all of a period satisfies, so that a period is the same release in whatever
    window it is asked for."""
    gone = {part for place in implied for part in conjuncts(query.filters[place].sql)}
    rows, where = query.rows.copy(), query.rows.args.get("where")
    kept = [] if where is None else [part.copy() for part in conjuncts(where.this) if part not in gone]
    rows.set("where", exp.Where(this=exp.and_(*kept, copy=False)) if kept else None)
    left = tuple(one for place, one in enumerate(query.filters) if place not in implied)
    return replace(query, rows=rows, filters=left, until=(), until_of=None)


def _within(
    rest: Query,
    period: SeriesPeriod,
    at: tuple[int, ...] | None,
    subject: exp.Expr,
    variable: Variable,
    dialect: Dialect,
) -> Query:
    """The release of one period's rows, on which the keys that hold the period are constant, where there are any."""
    tests = [
        _beside(subject, sign, end, variable, dialect) for sign, end in ((exp.GTE, period.begin), (exp.LT, period.end))
    ]
    rows, where = rest.rows.copy(), rest.rows.args.get("where")
    kept = [] if where is None else [part.copy() for part in conjuncts(where.this)]
    rows.set("where", exp.Where(this=exp.and_(*(one.sql.copy() for one in tests), *kept, copy=False)))
    keys = list(rest.keys)
    for place in at or ():
        keys[place] = replace(keys[place], value=replace(keys[place].value, constant=True))
    return replace(rest, rows=rows, filters=(*tests, *rest.filters), keys=tuple(keys))


def _beside(
    subject: exp.Expr, sign: type[exp.Binary], end: datetime.datetime, variable: Variable, dialect: Dialect
) -> Value:
    kind = variable.column.type
    other = literal(end.date() if kind.kind is Kind.DATE else end, kind, dialect)
    return Value.condition(sign(this=subject.copy(), expression=other.sql), nullable=True, constant=False)


def _times_of(condition: Value, variable: Variable) -> ColumnLimits | None:
    """The times at which a condition holds, and at no others; None where it is about something else, too."""
    if not all(isinstance(part, _EXACT) for part in conjuncts(condition.sql)):
        return None
    limits = Facts.of([condition]).limits
    return limits[variable] if set(limits) == {variable} else None


def _holds_in(times: ColumnLimits | None, period: SeriesPeriod, variable: Variable) -> bool:
    """Whether a condition holds at all times of a period."""
    step = lattice_of(variable.column.type)
    if times is None or not step:
        return False
    first, end = _measured(period)
    last = end - step
    return (times.low is None or times.low <= first) and (times.high is None or last <= times.high)


@functools.lru_cache(4096)
def _measured(period: SeriesPeriod) -> tuple[Fraction, Fraction]:
    """Where a period begins and ends, as numbers."""
    return measure(period.begin), measure(period.end)
