"""``dpsql check --data``: what a policy's bounds do to the rows that are there now, for the owner's eyes alone.

Nothing is charged, since nothing is released: the figures are exact, and stay on the owner's terminal. Whoever passes
them on, or tunes a policy by them, gives away what the budget does not count.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.text import Text
from sqlglot import exp

from dpsql.display import grid
from dpsql.engines import Rows, Way, cut_scan, differing_rows_scan, owned_rows_scan, total_scan, value_scan
from dpsql.errors import Error, OperationalError
from dpsql.interfaces.commands.what_if_report import part_of, questions_of, what_if
from dpsql.narrower_ranges import GROUPS, CutOff, NarrowRange, narrow_ranges, round_ends
from dpsql.policy import MostRows, Policy, Written, key_of, most_rows, steps_of
from dpsql.proxy import Proxy
from dpsql.releases import bar
from dpsql.what_if import (
    BAR,
    Asked,
    ErrorBeside,
    asked_under,
    error_beside,
    per_cent,
    plain,
    unreleased,
    with_range,
    with_rows,
)
from rewriter.declared import Catalog, Column, Kind, Scalar, Table
from rewriter.front_door import Select, parse, rewrite

MOST_QUESTIONS = 5
_EXACT = "Exact figures about your data: do not pass them on. Nothing is charged.\n"
_MOST_SUMS = 2
"""Sums of one table: the other questions are about groups."""
_ALMOST_UNIQUE = 0.9
_FEW = 32
"""So many whole numbers at most are the groups of a typical question, as hours, days and months are."""
_ANY = 1 << 20
"""More rows than a person has."""
_BOUND = re.compile(r": (?P<key>max_rows|max_rows_per_group): (?P<value>.+?)(, not .*)?$")
_WORTH = 0.95
"""A bound is advised that brings the errors of typical questions down to this part of them."""


@dataclass(frozen=True, slots=True)
class TypicalQuestion:
    """A typical question: its text, the error at the default price, and what bounds make of the true number."""

    sql: str
    error: float | None
    truth: float | None = None
    bounded: float | None = None

    @property
    def bias(self) -> str:
        if self.truth is None or self.bounded is None:
            return ""
        if not self.truth:
            return "0 %"
        return per_cent((self.bounded - self.truth) / abs(self.truth))


@dataclass(frozen=True, slots=True)
class GroupedQuestion:
    """A count by groups: its text, the column, and the unit of the calendar that its times are cut to."""

    sql: str
    column: str
    span: str = ""

    @property
    def key(self) -> str:
        return f"{self.span} of {self.column}" if self.span else self.column


def check_data(policy: Policy, console: Console, questions: Path | None = None, wanted: str | None = None) -> None:
    """Print what is found; of a file of ``questions``, what becomes of them, and at which price their errors are so
    many per cent, ``wanted``. Raises :class:`OperationalError` where it would not go to a terminal, and
    :class:`DataError` where there is no question."""
    if not console.is_terminal:
        raise OperationalError(
            "exact figures about people are shown on the owner's terminal alone",
            sqlstate="42501",
            hint="run dpsql check --data without a pipe or a file behind it",
        )
    if questions is not None:
        asked, error = questions_of(questions), None if wanted is None else part_of(wanted)
        console.print(Text(_EXACT, style="bold"))
        what_if(policy, asked, console, error)
        return
    proxy = Proxy.open(policy.path or "")
    try:
        checked = _Checked(proxy)
        console.print(Text(_EXACT, style="bold"))
        for table in proxy.catalog.tables.values():
            if not table.public:
                for part in checked.table(table):
                    console.print(part, highlight=False)
        console.print(Text("Typical questions at the default price", style="bold"))
        console.print(checked.simulation(), highlight=False)
    finally:
        proxy.close()


def _differing(table: str, people: tuple[str, str], ways: tuple[Way, Way], rows: Rows) -> exp.Select:
    return differing_rows_scan(rows, table, people, *ways)


class _Checked:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._engine = proxy.answering.opened.engine
        self._seconds = proxy.policy.limits.seconds
        self._rows: dict[str, int] = {}

    # Tables and columns

    def table(self, table: Table) -> Iterator[object]:
        yield Text(f"{table.name}", style="bold")
        yield from self._people(table)
        lines = [self._column(table, column) for column in table.columns.values()]
        yield grid(
            ["column", "NULL", "different", "below", "above", "not listed", "to do"],
            [[line[at] for line in lines] for at in range(7)],
            [False, True, True, True, True, True, False],
        )
        yield from map(Text, self._narrower(table))
        yield Text("")

    def _people(self, table: Table) -> Iterator[object]:
        unit = self._proxy.catalog.unit
        if unit is None:
            return
        way = steps_of(table.path)
        most = table.max_rows or table.learned_rows or 1 << 40
        found = self._engine.figures(lambda rows: owned_rows_scan(rows, table.name, unit, way, most), self._seconds)
        rows, dangling, shared, people, *spread, beyond, cut = (int(one or 0) for one in found)
        self._rows[table.name] = rows
        said = f"{rows:,} rows of {people:,} people: median {spread[0]:,}, 90 % {spread[1]:,}, 99 % {spread[2]:,}, "
        yield Text(f"{said}most {spread[3]:,}; max_rows is {self._declared(table)}")
        yield from self._in_spans(table, unit, way)
        if table.max_rows is None and table.path:
            yield Text(f"  without max_rows, COUNT and SUM are refused: max_rows: {max(1, spread[2])} keeps 99 % whole")
        elif beyond:
            part = f"{_share(beyond, people)} of the people"
            yield Text(f"  {beyond:,} people have more ({part}): {cut:,} rows ({_share(cut, rows)}) are cut off")
        elif table.path and spread[3] and 2 * spread[3] <= most and table.spans is None:
            yield Text(f"  nobody has more than {spread[3]:,}: max_rows: {spread[3]} would be less noise")
        yield from map(Text, self._profiled(table, beyond, people, cut, rows - dangling))
        if dangling:
            yield Text(f"  {dangling:,} rows ({_share(dangling, rows)}) lead to nobody, and are in no answer")
        for hop in table.ways_when:
            other = (key_of(hop), *steps_of(self._proxy.catalog.tables[hop.parent].path))
            (differing,) = self._engine.figures(partial(_differing, table.name, unit, (way, other)), self._seconds)
            yield Text(f"  {int(differing):,} rows lead to somebody else by {hop}: no join by it reads them")
        if table.path:
            yield from self._other_bounds(table)
        if shared:
            yield Text(f"  {shared:,} rows lead to several people: the key that they refer to is not unique")

    def _declared(self, table: Table) -> str:
        named = next(
            (spec for name, spec in self._proxy.policy.tables.items() if name.lower() == table.name.lower()), None
        )
        if named is not None and named.max_rows is not None and named.max_rows.per is not None:
            return f"{named.max_rows}, which is {table.max_rows:,} in all"
        return str(table.max_rows or "not declared")

    def _in_spans(self, table: Table, unit: tuple[str, str], way: Way) -> Iterator[object]:
        """How many rows people have in the spans that bounds are about; where none is, in months."""
        named = next(
            (spec for name, spec in self._proxy.policy.tables.items() if name.lower() == table.name.lower()), None
        )
        spans, time = table.spans, named.time if named is not None else None
        most = named.max_rows if named is not None else None
        bounds: dict[str, int | None] = {"month": None} if most is None or most.per is None else {most.per: most.rows}
        bounds |= {span: rows for rows, span in most.more} if most is not None else {}
        column = spans.column if spans is not None else next((one for one in table.columns if one == time), None)
        if column is None or not table.path:
            return
        for span, bound in bounds.items():
            scanned = partial(
                owned_rows_scan, table=table.name, people=unit, way=way, most=bound or 1 << 40, spans=(column, span)
            )
            found = self._engine.figures(scanned, self._seconds)
            _, _, _, people, *spread, beyond, cut = (int(one or 0) for one in found)
            said = f"  in a {span} with any: median {spread[0]:,}, 90 % {spread[1]:,}, 99 % {spread[2]:,}, "
            said += f"most {spread[3]:,}"
            if bound is None:
                yield Text(f"{said}: max_rows: {max(1, spread[2])} per {span} keeps 99 % whole")
            elif beyond:
                yield Text(f"{said}; {_share(beyond, people)} have more than {bound}, which weighs {cut:,} rows away")
            else:
                yield Text(f"{said}; nobody has more than {bound}")

    def _other_bounds(self, table: Table) -> Iterator[Text]:
        """Lines for the policy: each other bound with what it does to noise and bias together, and to the rows.

        A small bound makes little noise whatever it cuts off, so that a gain in noise alone would be bad advice. A
        bound is advised if it makes the errors of typical questions by all keys smaller, bias² and variance together,
        and that of none larger.
        """
        told = self._suggested(table)
        rows, others = [one for one in told if _BOUND.search(one)], [one for one in told if not _BOUND.search(one)]
        yield from (Text(f"  {change} would be less noise") for change in others)
        if not rows:
            return
        asked = asked_under(self._proxy.policy, [sql for sql, of, _ in self._questions() if of == table])
        yield from (Text(line) for change in rows for line in self._weighed(table, change, asked))

    def _suggested(self, table: Table) -> list[str]:
        """Changes that the noise advisor names for the first count by groups that is answered."""
        for grouped in _grouped(table):
            try:
                told = unreleased(self._proxy).explain(grouped.sql)
            except Error:
                continue
            return [one.change for one in (*told.better, *told.to_weigh) if one.by_owner]
        return []

    def _weighed(self, table: Table, change: str, asked: Sequence[Asked]) -> Iterator[str]:
        """A bound on rows with its error; of a bound on the rows of a group, also the best of a few larger ones."""
        bound = _BOUND.search(change)
        if bound is None:
            return
        key, value = bound["key"], bound["value"]
        error = self._error(table, key, most_rows(Written(value)), asked)
        if key == "max_rows":
            yield from self._advised(f"{table.name}: {change.partition(': ')[2]}", error, asked)
            if "per" not in value:
                yield self._cut(table, int(value), None)
            return
        tried = {int(value): error}
        for most in self._nearly_whole(table):
            if most not in tried:
                tried[most] = self._error(table, key, MostRows(most), asked)
        best = min(tried, key=lambda most: (not _is_gain(tried[most]), tried[most].all, most))
        for most in dict.fromkeys((int(value), best if _is_gain(tried[best]) else int(value))):
            yield from self._advised(f"{table.name}: {key}: {most}", tried[most], asked)
            yield from (self._cut(table, most, grouped) for grouped in _grouped(table))

    def _error(self, table: Table, key: str, most: MostRows, asked: Sequence[Asked]) -> ErrorBeside:
        return error_beside(with_rows(self._proxy.policy, table.name, key, most), asked)

    def _advised(self, change: str, error: ErrorBeside, asked: Sequence[Asked]) -> Iterator[str]:
        of = f"of {len(asked)} typical questions, noise and what is cut off together"
        if _is_gain(error):
            yield f"  {change} takes {100 * (1 - error.all):.0f} % from the errors {of}"
            return
        yield f"  {change} is not advised: it makes the errors {of}, {bar(error.all)} times as large"
        if error.worst > 1 / _WORTH:
            yield f"    {bar(error.worst)} times as large is that of {error.sql}"

    def _nearly_whole(self, table: Table) -> set[int]:
        """For each key, how many rows 99 % of the people in a group have at most, if a bound could be there."""
        found = {self._in_groups(table, 1, grouped)[6] for grouped in _grouped(table)}
        return {most for most in found if 0 < most < (table.max_rows or _ANY)}

    def _cut(self, table: Table, most: int, grouped: GroupedQuestion | None) -> str:
        cut = self._in_groups(table, most, grouped)[-1]
        where = "" if grouped is None else f"by {grouped.key}, "
        return (
            f"    {where}{_share(cut, self._rows.get(table.name, 0)) if cut else 'none'} of the rows would be cut off"
        )

    def _in_groups(self, table: Table, most: int, grouped: GroupedQuestion | None) -> list[int]:
        """The figures of people's rows, in the groups of a question or in all, beside a bound."""
        unit = self._proxy.catalog.unit
        if unit is None:
            return [0]
        spans = None if grouped is None else (grouped.column, grouped.span)
        scan = partial(owned_rows_scan, table=table.name, people=unit, way=steps_of(table.path), most=most, spans=spans)
        return [int(one or 0) for one in self._engine.figures(scan, self._seconds)]

    def _profiled(self, table: Table, beyond: int, people: int, cut: int, rows: int) -> Iterator[str]:
        """What the profile says of max_rows, beside the truth."""
        profiles = self._proxy.answering.profiles
        if table.name not in profiles.tables:
            return
        if (found := profiles.find(table.name)) is None:
            yield "  its profile is not bought: dpsql profile"
            return
        told = found.people_beyond or "nothing"
        yield f"  its profile says {told} of the people with more; it is {_share(beyond, people)}"
        told = found.rows_beyond or "nothing"
        yield f"  its profile says {told} of the rows beyond; it is {_share(cut, rows)}"

    def _column(self, table: Table, column: Column) -> tuple[str, ...]:
        values = [_literal(value) for value in column.values or () if value is not None]
        ends = None if column.range is None else (_literal(column.range[0]), _literal(column.range[1]))
        scan = partial(value_scan, table=table.name, column=column.name, ends=ends, values=values)
        rows, nulls, different, below, above, beside = map(int, self._engine.figures(scan, self._seconds))
        self._rows.setdefault(table.name, rows)
        known = rows - nulls
        shares = [_share(below, known), _share(above, known)] if ends else ["", ""]
        listed = _share(beside, known) if values else ""
        todo = []
        if known and (below + above) / known > 0.01:
            todo.append("widen the range, or mend the values")
        if known and beside / known > 0.01:
            todo.append("list what is missing")
        if self._identifies(table, column, known, different):
            todo.append("nearly every row has another value: leave it out if it identifies people")
        return (column.name, _share(nulls, rows), f"{different:,}", *shares, listed, "; ".join(todo))

    def _narrower(self, table: Table) -> Iterator[str]:
        """Narrower ranges for the policy, with what means of groups would err by: of each column the first that makes
        the errors of sums and means by all keys smaller, bias² and variance together, and that of none larger."""
        tried = {one.name: found for one in table.columns.values() if (found := self._narrow_ranges(table, one))}
        asked = {name: _amounts(table, table.columns[name]) for name in tried}
        every = list(chain.from_iterable(asked.values()))
        answered = {one[0]: one for one in asked_under(self._proxy.policy, every)} if every else {}
        for name, ranges in tried.items():
            known = [answered[sql] for sql in asked[name] if sql in answered]
            yield from self._first_gain(table, table.columns[name], ranges, known)

    def _first_gain(
        self, table: Table, column: Column, ranges: Sequence[NarrowRange], known: Sequence[Asked]
    ) -> Iterator[str]:
        """The lines of the first range that is a gain."""
        for one in ranges:
            error = error_beside(with_range(self._proxy.policy, table.name, column.name, one.low, one.high), known)
            if _is_gain(error):
                said = f"{table.name}.{column.name}: range: [{plain(one.low)}, {plain(one.high)}]"
                yield from self._advised(said, error, known)
                pairs = zip(GROUPS, one.errors, strict=True)
                means = (f"of {many}, ± {bar(then)}, not ± {bar(now)}" for many, (then, now) in pairs)
                yield f"    the mean of each of so many groups of one size would be off: {'; '.join(means)}"
                yield f"    {_percent(one.part)} of the values would be cut off"
                return

    def _narrow_ranges(self, table: Table, column: Column) -> tuple[NarrowRange, ...]:
        """The ranges that are worth a try, by how the values lie and what noise a mean has."""
        if not _is_amount(column) or _is_short(column) or column.step is not None or column.range is None:
            return ()
        try:
            told = unreleased(self._proxy).explain(f'SELECT AVG("{column.name}") FROM "{table.name}"')
        except Error:
            return ()
        low, high = (Fraction(str(end)) for end in column.range)
        error = told.expected[-1]
        # The error of a group that is hardly known is the half of its range, whatever the noise is.
        if error is None or not 0 < error < float(high - low) / 4:
            return ()
        digits = {Kind.DOUBLE: None, Kind.DECIMAL: column.type.scale}.get(column.type.kind, 0)
        ends = round_ends(low, high, digits)
        scan = partial(
            cut_scan, table=table.name, column=column.name, ends=[_literal(Decimal(plain(end))) for end in ends]
        )
        values, *cut = (float(one or 0) for one in self._engine.figures(scan, self._seconds))
        if not values:
            return ()

        def beyond(first: int) -> list[CutOff]:
            sides = zip(ends, cut[first::4], cut[first + 1 :: 4], strict=True)
            return [CutOff(end, count / values, far / values) for end, count, far in sides]

        return narrow_ranges(beyond(0), beyond(2), error / BAR * told.releases[0].group / values)

    def _identifies(self, table: Table, column: Column, known: int, different: int) -> bool:
        """Whether a column is as good as a name: unique values, and no key that the policy needs."""
        keys = {name for hop in table.path for name in (*hop.columns, *hop.parent_columns)}
        unit = self._proxy.catalog.unit
        is_key = (table.name, column.name) == unit or column.name in keys
        plain = column.range is None and column.values is None and column.values_from is None
        return known >= 20 and different > _ALMOST_UNIQUE * known and plain and not is_key

    # Questions

    def simulation(self) -> object:
        found: list[TypicalQuestion] = []
        for sql, table, column in self._questions():
            if len(found) < MOST_QUESTIONS and (one := self._asked(sql, table, column)) is not None:
                found.append(one)
        return grid(
            ["question", "95 % error", "true", "within bounds", "bias"],
            [
                [one.sql for one in found],
                ["" if one.error is None else f"± {bar(one.error)}" for one in found],
                ["" if one.truth is None else f"{one.truth:,.6g}" for one in found],
                ["" if one.bounded is None else f"{one.bounded:,.6g}" for one in found],
                [one.bias for one in found],
            ],
            [False, True, True, True, True],
        )

    def _questions(self) -> Iterator[tuple[str, Table, Column | None]]:
        """Counts first, then sums, then counts by a declared column."""
        people = [table for table in self._proxy.catalog.tables.values() if not table.public]
        people.sort(key=lambda table: not table.path)
        for table in people:
            yield f'SELECT COUNT(*) FROM "{table.name}"', table, None
        for table in people:
            for column in [one for one in table.columns.values() if _is_amount(one)][:_MOST_SUMS]:
                yield f'SELECT SUM("{column.name}") FROM "{table.name}"', table, column
        for table in people:
            for grouped in _grouped(table):
                yield grouped.sql, table, None

    def _asked(self, sql: str, table: Table, column: Column | None) -> TypicalQuestion | None:
        try:
            expected = unreleased(self._proxy).explain(sql).expected[-1]
        except Error:
            return None
        if "GROUP BY" in sql:
            whole = self._bounded(sql, _without_bounds(self._proxy.answering.opened.catalog))
            return TypicalQuestion(sql, expected, whole, self._bounded(sql))
        return TypicalQuestion(sql, expected, self._truth(table, column), self._bounded(sql))

    def _truth(self, table: Table, column: Column | None) -> float:
        if column is None:
            return float(self._rows.get(table.name, 0))
        scan = partial(total_scan, table=table.name, column=column.name)
        return float(self._engine.figures(scan, self._seconds)[1] or 0)

    def _bounded(self, sql: str, catalog: Catalog | None = None) -> float | None:
        """The exact number after people were bounded, in all groups together: its noise is left out, since nothing is
        released. Another ``catalog`` says other bounds."""
        statement = parse(sql)
        if not isinstance(statement, Select):
            return None
        opened = self._proxy.answering.opened
        norms = opened.accountant.accounting.norms[:1]
        program = rewrite(statement.tree, catalog or opened.catalog, opened.engine.dialect, norms=norms)
        if program.missing or len(program.plans) != 1:
            return None
        (plan,) = program.plans
        exact = opened.engine.run(plan, self._seconds)
        found: Mapping[str, int] = {name: sum(map(int, column)) for name, column in exact.statistics.items()}
        total = plan.outputs[-1].estimator.as_sum
        return None if total is None else float(sum(part * found[name] for name, part in total.terms))


def _without_bounds(catalog: Catalog) -> Catalog:
    """The same tables, where nobody has more rows than the bounds allow."""
    tables = {
        name: table
        if table.public or table.max_rows is None
        else replace(table, max_rows=_ANY, max_groups=None, max_rows_per_group=None, spans=None)
        for name, table in catalog.tables.items()
    }
    return replace(catalog, tables=tables)


def _grouped(table: Table) -> list[GroupedQuestion]:
    """Counts by months, by what is listed, and by whole numbers of which there are few, as the months of a year."""
    found: list[GroupedQuestion] = []
    for column in table.columns.values():
        name, source = f'"{column.name}"', f'"{table.name}"'
        if column.range is not None and column.type.temporal:
            sql = f"SELECT DATE_TRUNC('month', {name}), COUNT(*) FROM {source} GROUP BY 1"
            found.insert(0, GroupedQuestion(sql, column.name, "month"))
        elif column.values is not None or column.type.kind is Kind.BOOLEAN or _is_short(column):
            found.append(GroupedQuestion(f"SELECT {name}, COUNT(*) FROM {source} GROUP BY 1", column.name))
    return found


def _amounts(table: Table, column: Column) -> list[str]:
    """The total and the mean of a column, and its means by every key of typical questions."""
    name, source = f'"{column.name}"', f'"{table.name}"'
    by_keys = [one.sql.replace("COUNT(*)", f"AVG({name})") for one in _grouped(table)]
    return [f"SELECT SUM({name}) FROM {source}", f"SELECT AVG({name}) FROM {source}", *by_keys]


def _is_gain(error: ErrorBeside) -> bool:
    """Whether a bound is advised: questions gain, and none of them loses."""
    return error.all < _WORTH and error.worst <= 1 / _WORTH


def _is_short(column: Column) -> bool:
    if column.range is None or column.type.kind is not Kind.INTEGER:
        return False
    low, high = (Fraction(str(end)) for end in column.range)
    return high - low < _FEW


def _is_amount(column: Column) -> bool:
    """Whether somebody may want the sum of a column: not of years, whose range is narrow and far from zero."""
    if column.range is None or not column.type.numeric:
        return False
    low, high = (Fraction(str(end)) for end in column.range)
    return low <= 0 or high - low > low / 2


def _percent(part: float) -> str:
    """A part of rows that is known as such."""
    return _share(math.ceil(part * 10**9), 10**9) if part else "none"


def _share(part: int, whole: int) -> str:
    """A part of rows.

    >>> _share(0, 10), _share(1, 100000), _share(25, 100)
    ('0', '< 0.1 %', '25 %')
    """
    if not part:
        return "0"
    share = 100 * part / max(whole, 1)
    return f"{share:.3g} %" if share >= 0.1 else "< 0.1 %"


def _literal(value: Scalar) -> exp.Expr:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, datetime.datetime):
        return exp.Cast(this=exp.Literal.string(value.isoformat(" ")), to=exp.DataType.build("timestamp"))
    if isinstance(value, datetime.date):
        return exp.Cast(this=exp.Literal.string(value.isoformat()), to=exp.DataType.build("date"))
    if isinstance(value, int | float | Decimal):
        number = exp.Literal.number(str(abs(value)))
        return exp.Neg(this=number) if value < 0 else number
    return exp.Literal.string(str(value))
