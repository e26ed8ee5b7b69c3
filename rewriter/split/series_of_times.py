"""Series of times between two times of a row: ``generate_series(admitted, discharged, INTERVAL '1 day')``.

They become numbers from 0 to the number of steps between the two, which
:mod:`rewriter.expressions.series_of_rows` bounds, and the first time plus so many steps.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.refused import NOT_ANSWERED, Refused
from rewriter.statement import has_aggregate, is_grouped, output_name

_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": 86_400, "WEEK": 604_800}
_NUMBER, _STEPS, _ITEMS = "dpsql_step", "dpsql_steps", "dpsql_series"


def laterals_of_items(select: exp.Select) -> exp.Select:
    """``SELECT id, generate_series(a, b, '1 day')::date AS d`` with the series in FROM: itself, where it has none.

    >>> import sqlglot
    >>> text = "SELECT id, generate_series(a, b)::int AS n FROM t"
    >>> laterals_of_items(sqlglot.parse_one(text, read="postgres")).sql("postgres")
    'SELECT id, CAST(dpsql_series.value AS INT) AS n FROM t CROSS JOIN GENERATE_SERIES(a, b) AS dpsql_series(value)'
    """
    found = [one for item in select.expressions for one in item.find_all(exp.GenerateSeries) if _is_own(one, select)]
    if len(found) != 1 or is_grouped(select) or any(has_aggregate(item) for item in select.expressions):
        return select
    bare = found[0].parent is select or isinstance(found[0].parent, exp.Alias)
    if select.args.get("from_") is None or (bare and not is_of_times(found[0])):
        return select
    copy = select.copy()
    for item in list(copy.expressions):
        call = next((one for one in item.find_all(exp.GenerateSeries) if _is_own(one, copy)), None)
        if call is None:
            continue
        name = output_name(item)
        alias = exp.TableAlias(this=exp.to_identifier(_ITEMS), columns=[exp.to_identifier("value")])
        copy.append("joins", exp.Join(this=exp.Table(this=call.copy(), alias=alias), kind="CROSS"))
        column = exp.column("value", _ITEMS)
        call.replace(column)
        now = next(one for one in copy.expressions if column in one.walk())
        if not isinstance(now, exp.Alias):
            now.replace(exp.alias_(now.copy(), name, quoted=True, copy=False))
    return copy


def _is_own(call: exp.Expr, select: exp.Select) -> bool:
    return call.find(exp.Column) is not None and call.find_ancestor(exp.Query) is select


def is_of_times(call: exp.Expr) -> bool:
    """Whether the step of a series is an interval."""
    return isinstance(call, exp.GenerateSeries) and _interval(call.args.get("step")) is not None


def as_numbers(call: exp.Expr, of: exp.Expr, owner: exp.Identifier, label: exp.Identifier) -> exp.Select:
    """Rows of an item of FROM, each as often as there are times in its series, with the time as column ``label``."""
    step = _interval(call.args["step"])
    if step is None:
        raise AssertionError("the series is one of times")
    seconds = _seconds(step)
    first, last = (exp.cast(call.args[part].copy(), "timestamp") for part in ("start", "end"))
    length = exp.Extract(this=exp.var("epoch"), expression=exp.Paren(this=exp.Sub(this=last, expression=first.copy())))
    steps = exp.Floor(this=exp.Div(this=length, expression=exp.Literal.number(seconds)))
    star = exp.Column(this=exp.Star(), table=owner.copy())
    counted = exp.Select(expressions=[star, exp.alias_(exp.cast(steps, "int"), _STEPS)]).from_(of.copy(), copy=False)
    numbers = exp.ExplodingGenerateSeries(start=exp.Literal.number(0), end=exp.column(_STEPS, owner.copy()))
    inner = exp.Select(expressions=[star.copy(), exp.alias_(numbers, _NUMBER)]).from_(
        _named(counted, owner), copy=False
    )
    spelt = exp.Interval(this=exp.Literal.string(str(seconds)), unit=exp.var("SECOND"))
    added = exp.Mul(this=exp.column(_NUMBER, owner.copy()), expression=spelt)
    time = exp.alias_(exp.Paren(this=exp.Add(this=first.copy(), expression=added)), label, copy=False)
    return exp.Select(expressions=[star.copy(), time]).from_(_named(inner, owner), copy=False)


def _named(rows: exp.Select, owner: exp.Identifier) -> exp.Subquery:
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=owner.copy()))


def _interval(step: object) -> exp.Interval | None:
    if isinstance(step, exp.Cast) and step.to.this is exp.DType.INTERVAL:
        step = step.this
    if isinstance(step, exp.Literal) and step.is_string:
        number, _, unit = step.name.strip().partition(" ")
        return exp.Interval(this=exp.Literal.string(number), unit=exp.var(unit.strip().upper()))
    return step if isinstance(step, exp.Interval) else None


def _seconds(step: exp.Interval) -> int:
    number, unit = step.this, step.args.get("unit")
    count = number.name if isinstance(number, exp.Literal) else ""
    each = _SECONDS.get("" if unit is None else unit.name.upper().removesuffix("S"))
    if each is None or not count.isdigit() or not 0 < int(count) < 100_000:
        raise Refused(
            "the step of a series over a row's own times is a number of weeks, days, hours, minutes or seconds",
            hint="write INTERVAL '1 day', and DATE_TRUNC('month', d) above it",
            sqlstate=NOT_ANSWERED,
        )
    return int(count) * each
