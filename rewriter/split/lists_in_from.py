"""Items of a row's own list in FROM, made plain: ``person AS p, UNNEST(p.tags) AS t(tag)`` is a subquery of ``p``.

It becomes ``(SELECT p.*, UNNEST(p.tags) AS tag FROM person AS p) AS p``, and what reads ``t.tag`` reads ``p.tag``.
Nothing is changed where the list is not that of one item of FROM, for a refusal.

Above releases, rows that GENERATE_SERIES or UNNEST makes in FROM are a subquery of one column.

Series of times between two times of a row: ``generate_series(admitted, discharged, INTERVAL '1 day')``.

They become numbers from 0 to the number of steps between the two, which
:mod:`rewriter.expressions.series_of_rows` bounds, and the first time plus so many steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from rewriter.expressions import OF_TIMESTAMP, makes_rows
from rewriter.refused import NOT_ANSWERED, Refused
from rewriter.statement import folded, from_items, has_aggregate, is_grouped, output_name, unparenthesised


def made_rows(item: exp.Expr) -> exp.Subquery | None:
    """A function in FROM as a subquery; its column has the name of the table, where it is given none of its own.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT * FROM GENERATE_SERIES(1, 3) AS g", read="postgres")
    >>> made_rows(tree.args["from_"].this).sql("postgres")
    '(SELECT GENERATE_SERIES(1, 3) AS "g") AS g'
    """
    if isinstance(item, exp.Unnest) and len(item.expressions) == 1 and not item.args.get("offset"):
        made: exp.Expr = exp.Explode(this=item.expressions[0].copy())
        name = "unnest"
    elif isinstance(item, exp.Table) and isinstance(item.this, exp.ExplodingGenerateSeries):
        made, name = item.this.copy(), "generate_series"
    else:
        return None
    alias = item.args.get("alias")
    columns = alias.args.get("columns") or () if alias is not None else ()
    table = alias.this.copy() if alias is not None else exp.to_identifier(name)
    column = columns[0].name if columns else table.name
    rows = exp.Select(expressions=[exp.alias_(made, exp.to_identifier(column, quoted=True), copy=False)])
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=table))


Columns = Callable[[exp.Expr], frozenset[str] | None]


def with_lists_inside(select: exp.Select, columns_of: Columns) -> exp.Select:
    """``select`` with the items of lists as columns of the tables that have the lists.

    >>> import sqlglot
    >>> text = "SELECT t.tag, COUNT(*) FROM person AS p, UNNEST(p.tags) AS t(tag) GROUP BY t.tag"
    >>> with_lists_inside(sqlglot.parse_one(text, read="postgres"), lambda item: None).sql("postgres")
    'SELECT p.tag, COUNT(*) FROM (SELECT p.*, UNNEST(p.tags) AS "tag" FROM person AS p) AS p GROUP BY p.tag'
    """
    select = laterals_of_items(select)
    joins = select.args.get("joins") or ()
    if not any(_call_of(join.this) is not None for join in joins):
        return select
    copy = select.copy()
    for join in list(copy.args["joins"]):
        call = _call_of(join.this)
        if call is None or not _is_plain(join):
            continue
        others = [item for item in from_items(copy) if _call_of(item) is None]
        of = _owner(call, others)
        if of is not None:
            _move(copy, join, call, of, columns_of(of) or frozenset())
    return copy


def _call_of(item: object) -> exp.Expr | None:
    """The call that makes rows of a list that is a row's own: it names a column."""
    inner = item.this if isinstance(item, exp.Lateral) else item
    found: exp.Expr | None = None
    if isinstance(inner, exp.Subquery):
        found = _only_item(inner.this)
    elif isinstance(inner, exp.Unnest) and len(inner.expressions) == 1 and not inner.args.get("offset"):
        found = exp.Explode(this=inner.expressions[0].copy())
    elif isinstance(inner, exp.Table | exp.Anonymous | exp.GenerateSeries):
        found = inner.this if isinstance(inner, exp.Table) else inner
    return found if found is not None and makes_rows(found) and found.find(exp.Column) is not None else None


def _only_item(inner: exp.Expr) -> exp.Expr | None:
    """The only item of ``(SELECT generate_series(a, b) AS h)``."""
    plain = isinstance(inner, exp.Select) and not any(inner.args[name] for name in inner.args if name != "expressions")
    item = inner.expressions[0] if plain and len(inner.expressions) == 1 else None
    return item.this if isinstance(item, exp.Alias) else item


def _is_plain(join: exp.Join) -> bool:
    """Whether a join keeps all pairs: a comma, CROSS JOIN, or JOIN … ON TRUE."""
    on = join.args.get("on")
    always = on is None or (isinstance(on, exp.Boolean) and bool(on.this))
    return always and not join.side and not join.method and not join.args.get("using")


def _owner(call: exp.Expr, others: Sequence[exp.Expr]) -> exp.Expr | None:
    """The one item of FROM whose columns a call reads."""
    read = {column.table.lower() for column in call.find_all(exp.Column)}
    found = [item for item in others if item.alias_or_name.lower() in read]
    return found[0] if len(found) == 1 and len(read) == 1 else None


def _move(select: exp.Select, join: exp.Join, call: exp.Expr, of: exp.Expr, taken: frozenset[str]) -> None:
    alias = join.this.args.get("alias")
    listed = alias.args.get("columns") or () if alias is not None else ()
    table = alias.this if alias is not None else exp.to_identifier("unnest")
    inside = join.this.this if isinstance(join.this, exp.Lateral) else None
    named = exp.to_identifier(output_name(inside.this.expressions[0])) if isinstance(inside, exp.Subquery) else table
    column = listed[0] if listed else named
    name = column.name
    while name.lower() in taken:
        name += "_item"
    owner = exp.to_identifier(of.alias_or_name, quoted=_is_quoted(of))
    star = exp.Column(this=exp.Star(), table=owner.copy())
    label = exp.to_identifier(name, quoted=True)
    if is_of_times(call):
        rows = as_numbers(call, of, owner, label)
    else:
        rows = exp.Select(expressions=[star, exp.alias_(call.copy(), label, copy=False)]).from_(of.copy(), copy=False)
    join.pop()
    for node in list(select.find_all(exp.Column)):
        if _means(node, table, column, select):
            place = exp.Column(this=exp.to_identifier(name, quoted=bool(column.args.get("quoted"))), table=owner.copy())
            if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
                node.replace(place if place.name == node.name else exp.alias_(place, node.name, quoted=True))
            else:
                node.replace(place)
    of.replace(exp.Subquery(this=rows, alias=exp.TableAlias(this=owner)))


def _is_quoted(item: exp.Expr) -> bool:
    alias = item.args.get("alias")
    name = alias.this if alias is not None else item.this
    return isinstance(name, exp.Identifier) and bool(name.args.get("quoted"))


def _means(node: exp.Column, table: exp.Expr, column: exp.Expr, select: exp.Select) -> bool:
    """Whether a column is the item: by its table's name anywhere, alone in this SELECT and not in its subqueries."""
    if folded(node.this) != folded(column) if isinstance(node.this, exp.Identifier) else True:
        return False
    if node.args.get("table") is not None:
        return folded(node.args["table"]) == folded(table)
    return unparenthesised(node) is node and node.find_ancestor(exp.Query) is select


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
    apart = exp.Paren(this=exp.Sub(this=last, expression=first.copy()))
    length = OF_TIMESTAMP.on(exp.Extract(this=exp.var("epoch"), expression=apart), True)
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
