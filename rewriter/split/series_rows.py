"""``generate_series`` of constants in FROM, made plain: a list of values, as a subquery.

A series of dates is one of instants in PostgreSQL; months are added one after the other, so that the 31st becomes the
last day of a shorter month and stays there.
"""

from __future__ import annotations

import datetime
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import INTEGER, TIMESTAMP, TIMESTAMPTZ, Kind, Scalar, Type, instant, local
from rewriter.dialects import Dialect
from rewriter.expressions import constant_point, constant_span
from rewriter.refused import TOO_COMPLEX, UNKNOWN_TABLE, Refused
from rewriter.statement import output_name

MOST = 2_000
"""Values of one series."""
_DAY = 86_400_000_000
_SERIES = (exp.ExplodingGenerateSeries, exp.GenerateSeries)


def plain_series(tree: exp.Query, dialect: Dialect) -> exp.Query:
    """``tree`` with each series of constants in FROM as a subquery over its values."""
    if tree.find(*_SERIES) is None:
        return tree
    copy: exp.Query = tree.copy()
    for select in list(copy.find_all(exp.Select)):
        _selected(select)
    for table in list(copy.find_all(exp.Table)):
        if isinstance(table.this, _SERIES) and table.this.find(exp.Column) is None:
            table.replace(_listed(table, dialect))
    return copy


def _selected(select: exp.Select) -> None:
    """``SELECT generate_series(…)::date AS d`` with the series in FROM, in place."""
    found = [item.find(*_SERIES) for item in select.expressions]
    series = [one for one in found if one is not None]
    if len(series) != 1 or series[0].find(exp.Column) is not None or select.args.get("from_") is not None:
        return
    for item in list(select.expressions):
        if (inner := item.find(*_SERIES)) is not None:
            name = output_name(item)
            column = exp.column("value", "dpsql_series")
            alias = exp.TableAlias(this=exp.to_identifier("dpsql_series"), columns=[exp.to_identifier("value")])
            select.set("from_", exp.From(this=exp.Table(this=inner.copy(), alias=alias)))
            inner.replace(column)
            now = next(one for one in select.expressions if column in one.walk())
            if not isinstance(now, exp.Alias):
                now.replace(exp.alias_(now.copy(), name, quoted=True, copy=False))


def _listed(table: exp.Table, dialect: Dialect) -> exp.Subquery:
    only = {name for name, part in table.args.items() if part}
    if only - {"this", "alias"}:
        raise _refused("write generate_series(a, b, step) AS g(d)")
    alias = table.args.get("alias")
    name = alias.this.name if alias is not None and alias.this is not None else "generate_series"
    columns = [one.name for one in (alias.args.get("columns") or ())] if alias is not None else []
    column = columns[0] if columns else name
    kind, values = _values(table.this, dialect)
    rows = [exp.Tuple(expressions=[_literal(value, kind)]) for value in values]
    inner = exp.TableAlias(this=exp.to_identifier("dpsql_values"), columns=[exp.to_identifier("value")])
    item = exp.alias_(exp.column("value", "dpsql_values"), column, quoted=True)
    if rows:
        select = exp.Select(expressions=[item]).from_(exp.Values(expressions=rows, alias=inner), copy=False)
    else:
        nothing = exp.alias_(_literal(None, kind), column, quoted=True)
        select = exp.Select(expressions=[nothing], where=exp.Where(this=exp.false()))
    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier(name)))


def _values(series: exp.Expr, dialect: Dialect) -> tuple[Type, list[Scalar]]:
    low, high = (constant_point(_typed(series.args[part]), dialect) for part in ("start", "end"))
    step = series.args.get("step")
    if low is None or high is None:
        raise _refused("write dates or numbers, or what is computed of CURRENT_DATE")
    (kind, first), (other, last) = low, high
    if kind.kind is Kind.INTEGER and other.kind is Kind.INTEGER:
        width = Fraction(1) if step is None else _number(step, dialect)
        return INTEGER, [int(first + n * width) for n in range(_count(first, last, width))]
    if not (kind.temporal and other.temporal) or step is None:
        raise _refused("write generate_series(DATE '2025-01-01', DATE '2025-12-31', INTERVAL '1 day')")
    span = constant_span(step, dialect)
    if span is None or span == (0, 0, 0):
        raise _refused("the step is a constant interval, such as INTERVAL '1 day'")
    plain = kind.kind is other.kind is Kind.TIMESTAMP
    begins, ends_at = (local_moment(point, one, dialect.zone) for one, point in ((kind, first), (other, last)))
    times = _times(begins, ends_at, span, None if plain else dialect.zone)
    return (TIMESTAMP if plain else TIMESTAMPTZ), list(times)


def _typed(node: exp.Expr) -> exp.Expr:
    """An untyped text is an instant, beside dates and instants."""
    return exp.cast(node.copy(), "timestamp") if isinstance(node, exp.Literal) and node.is_string else node


def _number(step: exp.Expr, dialect: Dialect) -> Fraction:
    found = constant_point(step, dialect)
    if found is None or found[0].kind is not Kind.INTEGER or not found[1]:
        raise _refused("the step of numbers is a whole number other than 0")
    return found[1]


def _count(first: Fraction, last: Fraction, width: Fraction) -> int:
    return _few(max(0, int((last - first) // width) + 1))


def _few(count: int) -> int:
    if count > MOST:
        raise Refused(f"a series has more than {MOST:,} values", hint="take longer steps", sqlstate=TOO_COMPLEX)
    return count


def local_moment(point: Fraction, kind: Type, zone: str) -> datetime.datetime:
    """A time as clocks of the session's zone show it."""
    plain = moment(point)
    there = local(plain, zone) if kind.kind is Kind.TIMESTAMPTZ else plain
    return plain if there is None else there


def _times(
    there: datetime.datetime, end: datetime.datetime, span: tuple[int, int, int], zone: str | None
) -> list[datetime.datetime]:
    """Local times of a zone are added to by its calendar; what comes out are instants."""
    found: list[datetime.datetime] = []
    months, days, micros = span
    rises = months * 30 * _DAY + days * _DAY + micros > 0
    while there <= end if rises else there >= end:
        _few(len(found) + 1)
        found.append(there if zone is None else _instant(there, zone))
        there = _later(there, months, days, micros)
    return found


def _instant(there: datetime.datetime, zone: str) -> datetime.datetime:
    found = instant(there, zone)
    return there if found is None else found


def _later(there: datetime.datetime, months: int, days: int, micros: int) -> datetime.datetime:
    year, month = divmod(there.year * 12 + there.month - 1 + months, 12)
    for day in (there.day, 30, 29, 28):
        try:
            moved = there.replace(year=year, month=month + 1, day=min(day, there.day))
            return moved + datetime.timedelta(days=days, microseconds=micros)
        except ValueError:
            continue
        except OverflowError:
            break
    raise _refused("keep the series within the years 1 to 9999")


def moment(point: Fraction) -> datetime.datetime:
    """The time at a place of the number line, in the years 1 to 9999."""
    days, rest = divmod(point, 1)
    return datetime.datetime.fromordinal(int(days)) + datetime.timedelta(microseconds=int(rest * _DAY))


def _literal(value: Scalar | None, kind: Type) -> exp.Expr:
    if value is None:
        return exp.cast(exp.Null(), "timestamp" if kind == TIMESTAMP else "integer")
    if isinstance(value, datetime.datetime):
        spelt = value.isoformat(" ") + ("+00:00" if kind == TIMESTAMPTZ else "")
        return exp.cast(exp.Literal.string(spelt), "timestamptz" if kind == TIMESTAMPTZ else "timestamp")
    whole = exp.Literal.number(str(abs(int(value))))  # type: ignore[arg-type]
    return exp.Neg(this=whole) if int(value) < 0 else whole  # type: ignore[arg-type]


def _refused(hint: str) -> Refused:
    return Refused("generate_series is answered for constants", hint=hint, sqlstate=UNKNOWN_TABLE)
