"""``dpsql.over_blocks(…)``, made plain: one aggregate node that holds the expression over people, and its settings.

``dpsql.over_blocks(KURTOSIS(x), blocks => 100, low => 1, high => 20, combine => 'median')`` answers the expression in
each of so many blocks of people, and releases the mean or the median of the blocks' answers.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.expressions import in_place_of
from rewriter.refused import Refused
from rewriter.statement.identifiers import folded
from rewriter.statement.select_shape import has_aggregate, is_aggregate
from rewriter.statement.spell_regressions import number_of
from rewriter.statement.three_part_names import written

OVER_BLOCKS = "over_blocks"
LEAST_BLOCKS = 2
MOST_BLOCKS = 10_000
USUAL_BLOCKS = 100
BLOCK_FIGURES = ("entropy", "geomean", "geometric_mean", "mad")
"""Aggregates that are answered in blocks alone, and that the parser knows no node of."""
_SETTINGS = ("blocks", "low", "high", "combine")
_HINT = "write dpsql.over_blocks(CORR(y, x), blocks => 100), with low => and high => where no range follows"


def plain_blocks(tree: exp.Query) -> exp.Query:
    """``tree`` with each call as one aggregate of four settings; columns keep the names that they had.

    >>> import sqlglot
    >>> sql = "SELECT dpsql.over_blocks(AVG(x) / AVG(y), blocks => 50, high => 2) FILTER (WHERE z) FROM t"
    >>> plain_blocks(sqlglot.parse_one(sql, read="postgres")).expressions[0].alias
    'over_blocks'
    """
    if not any(_is_call(node) or _is_figure(node) for node in tree.find_all(exp.Anonymous)):
        return tree
    copy: exp.Query = tree.copy()
    for call in [node for node in copy.find_all(exp.Anonymous) if _is_call(node)]:
        around: exp.Expr = call.parent or call
        test = around.expression.this if isinstance(around, exp.Filter) else None
        whole: exp.Expr = around if test is None else around.parent or around
        _put(whole, _aggregate(call, test, _text(call, test)))
    _as_aggregates(copy)
    return copy


def _as_aggregates(root: exp.Expr) -> None:
    """Calls of figures as aggregates, in place: whoever checks aggregates over people has a word about them."""
    for call in list(filter(_is_figure, root.find_all(exp.Anonymous))):
        plain = exp.CombinedAggFunc(this=call.name, expressions=[one.copy() for one in call.expressions])
        call.replace(in_place_of(plain, call))


def _is_figure(node: exp.Expr) -> bool:
    return node.name.lower() in BLOCK_FIGURES


def _text(call: exp.Expr, test: exp.Expr | None) -> str:
    """The call as it was written."""
    text = f"dpsql.{OVER_BLOCKS}({', '.join(map(written, call.expressions))})"
    return text if test is None else f"{text} FILTER(WHERE {written(test)})"


def _is_call(node: exp.Expr) -> bool:
    """``dpsql.over_blocks(…)``; with a FILTER, the parser reads it as the column of a table."""
    if not isinstance(node, exp.Anonymous) or node.name.lower() != OVER_BLOCKS:
        return False
    around = node.parent
    if isinstance(around, exp.Dot):
        return isinstance(around.this, exp.Identifier) and folded(around.this) == "dpsql"
    column = around.parent if isinstance(around, exp.Filter) else None
    schema = column.args.get("table") if isinstance(column, exp.Column) else None
    return isinstance(schema, exp.Identifier) and folded(schema) == "dpsql"


def _aggregate(call: exp.Expr, test: exp.Expr | None, text: str) -> exp.Expr:
    if not call.expressions or isinstance(call.expressions[0], exp.Kwarg):
        raise Refused("dpsql.over_blocks needs an aggregate", hint=_HINT, sqlstate="42883")
    inner, *settings = call.expressions
    if inner.find(exp.Window, exp.Query) is not None or any(map(_is_call, inner.find_all(exp.Anonymous))):
        raise Refused("windows, subqueries and blocks are not computed in blocks", hint=_HINT)
    found: dict[str, exp.Expr] = {}
    for one in settings:
        name = one.this.name.lower() if isinstance(one, exp.Kwarg) else ""
        if name not in _SETTINGS or name in found:
            raise Refused("dpsql.over_blocks has blocks =>, low =>, high => and combine =>", hint=_HINT)
        found[name] = one.expression
    values: list[exp.Expr] = [exp.Literal.number(str(_blocks(found.get("blocks"))))]
    values += [_end(found.get(name), name) for name in ("low", "high")]
    values.append(exp.Literal.string(_combine(found.get("combine"))))
    inner = _filtered(inner.copy(), test)
    return exp.ParameterizedAgg(this=inner, expressions=values, params=[exp.Literal.string(text)])


def _blocks(node: exp.Expr | None) -> int:
    number = USUAL_BLOCKS if node is None else number_of(node)
    if number is None or number != int(number) or not LEAST_BLOCKS <= number <= MOST_BLOCKS:
        raise Refused(
            f"there are {LEAST_BLOCKS} to {MOST_BLOCKS:,} blocks", hint="write blocks => 100", sqlstate="22023"
        )
    return int(number)


def _end(node: exp.Expr | None, name: str) -> exp.Expr:
    if node is None:
        return exp.Null()
    if (number := number_of(node)) is None:
        raise Refused(f"{name} is a number that is written out", hint=_HINT, sqlstate="22023")
    return exp.Literal.string(str(number))


def _combine(node: exp.Expr | None) -> str:
    word = "mean" if node is None else node.name.lower()
    if word not in ("mean", "median") or (node is not None and not (isinstance(node, exp.Literal) and node.is_string)):
        raise Refused("blocks are combined by 'mean' or 'median'", hint="write combine => 'median'", sqlstate="22023")
    return word


def _filtered(inner: exp.Expr, test: exp.Expr | None) -> exp.Expr:
    """The expression with the condition as a FILTER of each of its aggregates, if there is one."""
    root = exp.Paren(this=inner)
    _as_aggregates(root)
    stack: list[exp.Expr] = [] if test is None else [root]
    while stack and test is not None:
        node = stack.pop()
        if not is_aggregate(node):
            stack.extend(node.iter_expressions())
        elif isinstance(node, exp.Filter):
            both = exp.and_(node.expression.this.copy(), test.copy(), copy=False)
            node.set("expression", exp.Where(this=both))
        else:
            node.replace(exp.Filter(this=node.copy(), expression=exp.Where(this=test.copy())))
    if not has_aggregate(root):
        raise Refused("dpsql.over_blocks needs an aggregate", hint=_HINT, sqlstate="42883")
    found: exp.Expr = root.this
    found.pop()
    return found


def _put(whole: exp.Expr, plain: exp.Expr) -> None:
    is_item = isinstance(whole.parent, exp.Select) and whole.arg_key == "expressions"
    whole.replace(exp.alias_(plain, OVER_BLOCKS) if is_item else plain)
