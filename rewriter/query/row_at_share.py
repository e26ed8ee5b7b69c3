"""The row at a share of all rows, as the quantile: ``ORDER BY x LIMIT 1 OFFSET (SELECT COUNT(*) / 4 FROM t)``.

Theorem, of values y(1) ≤ … ≤ y(N): the row after OFFSET ⌊a N⌋ is y(⌊a N⌋ + 1), and PERCENTILE_DISC(a) is y(⌈a N⌉), the
same row or the one before it. The mean of the one or two rows in the middle, ``LIMIT 2 - MOD(N, 2)
OFFSET (N - 1) / 2``, is PERCENTILE_CONT(0.5). The number of rows is that of the same rows: what else is counted gives
no share of these.

A row whose ``x`` is NULL is counted by COUNT(*), and is in no quantile.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from rewriter.statement import from_items, output_name, unaliased

SHARE_NOTE = (
    "a row at a share of all rows is answered as the quantile of that share, in which rows without a value do not count"
)
_MANY = 10**9
"""Rows, of which a share is read."""
_BESIDE = 2
"""Rows that an offset may be beside the share."""
_LIMITS = frozenset({"with_", "expressions", "from_", "joins", "where", "order", "limit", "offset"})
_COUNTS = frozenset({"expressions", "from_", "joins", "where"})


def ask_share(select: exp.Select) -> bool:
    """Ask for the quantile in the place of a row that is chosen by its number; whether it was such a row. The names are
    bound."""
    order = _given(select, _LIMITS) and select.args.get("order")
    items = select.expressions
    if not order or len(order.expressions) != 1 or len(items) != 1 or select.args.get("offset") is None:
        return False
    [ordered], value = order.expressions, unaliased(items[0])
    if not _means(ordered.this, items[0], value):
        return False
    limit, offset = select.args.get("limit"), select.args["offset"].expression
    wanted = [_at(passed_rows(limit), select, _MANY + odd) for odd in (0, 1)]
    before = _at(offset, select, _MANY) if offset.find(exp.Select) is not None else None
    if before is None:
        return False
    share = Fraction(math.floor(before), _MANY).limit_denominator(1000)
    if not 0 < share < 1 or abs(before - share * _MANY) > _BESIDE:
        return False
    if wanted == [1, 1]:
        quantile: exp.Expr = exp.PercentileDisc(this=exp.Literal.number(str(round(float(share), 6))))
    elif set(wanted) == {1, 2} and share == Fraction(1, 2) and _is_averaged(select):
        quantile = exp.PercentileCont(this=exp.Literal.number("0.5"))
    else:
        return False
    falls = bool(ordered.args.get("desc"))
    along = exp.Order(expressions=[exp.Ordered(this=value.copy(), desc=falls, nulls_first=falls)])
    within = exp.WithinGroup(this=quantile, expression=along)
    select.set("expressions", [exp.alias_(within, output_name(items[0]), quoted=True)])
    for part in ("order", "limit", "offset"):
        select.set(part, None)
    return True


def passed_rows(limit: exp.Expr | None, *, ties: bool = False) -> exp.Expr | None:
    """The number of rows that LIMIT or FETCH lets pass, with ``ties`` beside those that equal the last; None where that
    hangs on the rows."""
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        if (has_ties(limit) and not ties) or (options is not None and options.args.get("percent")):
            return None
        return limit.args.get("count") or exp.Literal.number(1)
    return limit.expression if isinstance(limit, exp.Limit) else None


def has_ties(limit: exp.Expr | None) -> bool:
    """Whether it is FETCH FIRST … ROWS WITH TIES."""
    options = limit.args.get("limit_options") if isinstance(limit, exp.Fetch) else None
    return options is not None and bool(options.args.get("with_ties")) and not options.args.get("percent")


def _given(select: exp.Select, parts: frozenset[str]) -> bool:
    return not {name for name, value in select.args.items() if value} - parts


def _means(key: exp.Expr, item: exp.Expr, value: exp.Expr) -> bool:
    """Whether an item of ORDER BY is the only item of the select list."""
    if isinstance(key, exp.Literal):
        return not key.is_string and key.name == "1"
    return key == value or (isinstance(key, exp.Column) and not key.table and output_name(key) == output_name(item))


def _is_averaged(select: exp.Select) -> bool:
    """Whether nothing but AVG is asked of the rows of a query in FROM."""
    item = select.parent
    around = item.parent_select if isinstance(item, exp.Subquery) else None
    if around is None or not _given(around, frozenset({"expressions", "from_"})):
        return False
    shown = [unaliased(one) for one in around.expressions]
    return all(isinstance(one, exp.Avg) and isinstance(one.this, exp.Column) for one in shown)


def _at(node: exp.Expr | None, select: exp.Select, rows: int) -> Fraction | None:
    """A number that is computed of the number of rows that a SELECT reads, for so many ``rows``; None where it is
    computed of anything else."""
    if node is None:
        return None
    if isinstance(node, exp.Literal) and not node.is_string:
        return Fraction(node.name)
    if isinstance(node, exp.Paren):
        return _at(node.this, select, rows)
    if isinstance(node, exp.Subquery):
        inner = node.this
        same = isinstance(inner, exp.Select) and _given(inner, _COUNTS) and _rows(inner) == _rows(select)
        return _at(unaliased(inner.expressions[0]), select, rows) if same and len(inner.expressions) == 1 else None
    if isinstance(node, exp.Count):
        counted = node.this
        own = isinstance(counted, exp.Star | exp.Literal) or _apart(counted, node) == _apart(
            unaliased(select.expressions[0]), select.expressions[0]
        )
        return Fraction(rows) if own and not node.expressions else None
    if isinstance(node, exp.Cast):
        value = _at(node.this, select, rows)
        return None if value is None or node.to.this not in exp.DataType.INTEGER_TYPES else Fraction(round(value))
    if (step := _STEPS.get(type(node))) is not None and not node.args.get("decimals"):
        value = _at(node.this, select, rows)
        return None if value is None else Fraction(step(value))
    if (computed := _OPERATORS.get(type(node))) is not None:
        left, right = _at(node.this, select, rows), _at(node.expression, select, rows)
        divided = isinstance(node, exp.Div | exp.Mod)
        return None if left is None or right is None or (divided and not right) else computed(left, right)
    return None


_OPERATORS: dict[type[exp.Expr], Callable[[Fraction, Fraction], Fraction]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
    exp.Mod: operator.mod,
}
_STEPS: dict[type[exp.Expr], Callable[[Fraction], int]] = {exp.Floor: math.floor, exp.Ceil: math.ceil, exp.Round: round}


def _rows(select: exp.Select) -> tuple[list[str], str]:
    """The rows that a SELECT reads, however their tables are called."""
    items = from_items(select)
    where = select.args.get("where")
    tests = [join.args.get("on") for join in select.args.get("joins") or ()]
    names = [f"{one.db}.{one.name}" if isinstance(one, exp.Table) else one.sql() for one in items]
    sides = [f"{join.side} {join.kind}" for join in select.args.get("joins") or ()]
    shown = [_apart(one, select) for one in (*tests, where and where.this) if one is not None]
    return [*names, *sides], " AND ".join(one.sql() for one in shown)


def _apart(node: exp.Expr, beside: exp.Expr) -> exp.Expr:
    """An expression whose tables are told by their places in FROM."""
    select = beside if isinstance(beside, exp.Select) else beside.parent_select
    places = {
        one.alias_or_name: f"#{place}" for place, one in enumerate(from_items(select) if select is not None else ())
    }
    copy = exp.Paren(this=node.copy())
    for column in copy.find_all(exp.Column):
        if column.table in places:
            column.set("table", exp.to_identifier(places[column.table], quoted=True))
    return copy.this  # type: ignore[no-any-return]
