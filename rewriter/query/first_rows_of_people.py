"""The first rows of all people's in an order, as the rows with the first numbers: ``ORDER BY s DESC LIMIT 100``.

Theorem: ``SELECT c FROM v ORDER BY d LIMIT k OFFSET o`` in FROM has the rows of ``SELECT c FROM (SELECT c, ROW_NUMBER()
OVER (ORDER BY d) AS number FROM v) WHERE number > o AND number <= o + k``: a subquery in FROM has no order, nor has a
list behind IN that reads nothing of the rows around it. Which rows of a tie they are, neither says. ``FETCH FIRST k
ROWS WITH TIES`` has the rows of ``RANK() OVER (ORDER BY d) <= o + k`` in the place of the second test: RANK is at most
that for the last of the numbered rows, and for those that equal it. ``EXISTS (… ORDER BY d LIMIT k)`` is ``EXISTS (…)``
for any k from 1 on.

Put so where the rows are people's, of one person each or of groups by one, and are aggregated above: there such numbers
become comparisons with the value at a rank (:mod:`rewriter.query.ranks_of_people`), if the order is never NULL.

The first row of each person: DISTINCT ON as the rows that are numbered 1.

Theorem: ``SELECT DISTINCT ON (k) c FROM v ORDER BY k, d`` has, of each ``k``, the row that ``ROW_NUMBER() OVER
(PARTITION BY k ORDER BY d)`` numbers 1. So it is ``SELECT c FROM (SELECT c, ROW_NUMBER() … AS number FROM v) WHERE
number = 1``, but for the order of its rows, which a subquery in FROM has none of.

Put so where ``k`` has the key of a person in a table that holds people: there rows are numbered within a person.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.counted_rows import is_never_null
from rewriter.query.distinct_names import Labels
from rewriter.query.lateral_subqueries import by_expressions, numbered_first, reads_outside
from rewriter.query.rank_cuts import constant
from rewriter.query.row_at_share import has_ties, passed_rows
from rewriter.query.windows_of_people import is_of_people
from rewriter.statement import folded, from_items, has_aggregate, is_grouped, output_name, unaliased, unparenthesised

_PARTS = ("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset")
_NAME = "limited"
_NUMBER = "row number"
_RANK = "row rank"


def number_limited(select: exp.Select, labels: Labels, catalog: Catalog) -> bool:
    """Number the rows that LIMIT cuts, of an item of FROM or of a list behind IN or ANY, in place.

    Answers whether there were any. The names are bound.
    """
    item, order = select.parent, select.args.get("order")
    if isinstance(item, exp.Exists):
        return _is_cut_in_vain(select)
    if order is None or not isinstance(item, exp.Subquery) or not _is_unordered(item):
        return False
    if any(value for part, value in select.args.items() if part not in _PARTS) or not is_of_people(item, catalog):
        return False
    if not _is_aggregated(select):
        return False
    if any(one.find(exp.Window, exp.Query) is not None for one in select.expressions):
        return False
    outputs = [(output_name(one), unaliased(one)) for one in select.expressions]
    limit, offset = select.args.get("limit"), select.args.get("offset")
    ties = has_ties(limit)
    passed = _whole(passed_rows(limit, ties=True))
    before = 0 if offset is None else _whole(offset.expression)
    if passed is None or before is None or len(dict(outputs)) < len(outputs) or {_NUMBER, _RANK} & {*dict(outputs)}:
        return False
    inside, own, along = select.copy(), f"{_NAME}#{len(labels)}", by_expressions(order, outputs)
    for part in ("order", "limit", "offset"):
        inside.set(part, None)
    if ties and len(along.expressions) > 1:
        return False
    if not _has_values(inside, along.expressions[0].this, catalog):
        return False
    labels[own] = exp.to_identifier(_NAME)
    numbers: list[tuple[str, exp.Expr]] = []
    if before or not ties:
        numbers.append((_NUMBER, exp.Window(this=exp.RowNumber(), order=along, over="OVER")))
    if ties:
        numbers.append((_RANK, exp.Window(this=exp.Rank(), order=along.copy(), over="OVER")))
    columns = [*outputs, *numbers]
    inside.set("expressions", [exp.alias_(value.copy(), name, quoted=True) for name, value in columns])

    def column(name: str) -> exp.Column:
        return exp.column(exp.Identifier(this=name, quoted=True), exp.Identifier(this=own, quoted=True))

    last = column(_RANK if ties else _NUMBER)
    tests: list[exp.Expr] = [exp.LTE(this=last, expression=exp.Literal.number(before + passed))]
    if before:
        tests.append(exp.GT(this=column(_NUMBER), expression=exp.Literal.number(before)))
    alias = exp.TableAlias(this=exp.Identifier(this=own, quoted=True))
    for part in _PARTS:
        select.set(part, None)
    select.set("expressions", [exp.alias_(column(name), name, quoted=True) for name, _ in outputs])
    select.set("from_", exp.From(this=exp.Subquery(this=inside, alias=alias)))
    select.set("where", exp.Where(this=exp.and_(*tests, copy=False)))
    return True


def _is_unordered(item: exp.Subquery) -> bool:
    """Whether a subquery stands where its rows have no order, and are the same for all rows around it."""
    around = item.parent
    if isinstance(around, exp.In | exp.Any | exp.All):
        return item.arg_key != "expressions" and not reads_outside(item.this, item.this)
    return isinstance(around, exp.From | exp.Join)


def _is_cut_in_vain(select: exp.Select) -> bool:
    """Take away what cannot change whether there is a row; whether anything was."""
    limit = select.args.get("limit")
    passed = None if limit is None else _whole(passed_rows(limit))
    if not passed or select.args.get("offset"):
        return False
    select.set("limit", None)
    select.set("order", None)
    return True


def _is_aggregated(select: exp.Select) -> bool:
    """Whether a query around it aggregates its rows; a list or a document of them is none."""
    around = select.parent_select
    while around is not None:
        if is_grouped(around):
            return not any(one.find(*_LISTS) or _is_document(one) for one in around.expressions)
        around = around.parent_select
    return False


_LISTS = (exp.ArrayAgg, exp.JSONArrayAgg, exp.JSONObjectAgg, exp.JSONBObjectAgg, exp.GroupConcat)


def _is_document(item: exp.Expr) -> bool:
    return any(one.name.lower().startswith("json") for one in item.find_all(exp.Anonymous, exp.AnonymousAggFunc))


def _has_values(rows: exp.Select, value: exp.Expr, catalog: Catalog) -> bool:
    """Whether a value of the rows that a SELECT makes is never NULL."""
    body = rows.copy()
    body.set("expressions", [exp.alias_(value.copy(), _NUMBER, quoted=True)])
    alias = exp.TableAlias(this=exp.to_identifier(_NAME))
    around = exp.Select().from_(exp.Subquery(this=body, alias=alias))
    return is_never_null(around, exp.column(exp.to_identifier(_NUMBER, quoted=True), _NAME), catalog)


def _whole(node: exp.Expr | None) -> int | None:
    found = None if node is None else constant(node)
    return int(found) if found is not None and found >= 0 and found.denominator == 1 else None


_DISTINCT_PARTS = frozenset({"expressions", "from_", "joins", "where", "order", "distinct"})


def number_first(select: exp.Select, labels: Labels, catalog: Catalog) -> bool:
    """Rewrite a DISTINCT ON, in place; whether it was one. The names are bound, and items have names of their own."""
    distinct, order = select.args.get("distinct"), select.args.get("order")
    on = None if distinct is None else distinct.args.get("on")
    if on is None or order is None or not _is_item_of_from(select):
        return False
    if any(value for part, value in select.args.items() if part not in _DISTINCT_PARTS):
        return False
    if any(has_aggregate(one) or one.find(exp.Window, exp.Query) is not None for one in select.expressions):
        return False
    outputs = [(output_name(one), unaliased(one)) for one in select.expressions]
    if len(dict(outputs)) < len(outputs):
        return False
    keys = [_key(one, dict(outputs)) for one in (on.expressions if isinstance(on, exp.Tuple) else [on])]
    wanted = by_expressions(order, outputs).expressions
    first, rest = wanted[: len(keys)], wanted[len(keys) :]
    if not rest or any(unparenthesised(one.this) not in keys for one in first) or len(set(keys)) < len(keys):
        return False
    if {unparenthesised(one.this) for one in first} != set(keys):
        return False
    if not any(_is_of_person(key, select, catalog) for key in keys):
        return False
    body = select.copy()
    body.set("distinct", None)
    body.set("order", None)
    found = numbered_first(body, outputs, keys, exp.Order(expressions=rest), labels)
    for part in _DISTINCT_PARTS:
        select.set(part, found.args.get(part))
    return True


def _is_item_of_from(select: exp.Select) -> bool:
    parent = select.parent
    return isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.From | exp.Join)


def _key(node: exp.Expr, outputs: dict[str, exp.Expr]) -> exp.Expr:
    """What DISTINCT ON keeps one row of: a name alone is an output."""
    key = unparenthesised(node)
    is_output = isinstance(key, exp.Column) and not key.table and folded(key) in outputs
    return unparenthesised(outputs[folded(key)]) if is_output else key


def _is_of_person(key: exp.Expr, select: exp.Select, catalog: Catalog) -> bool:
    if not isinstance(key, exp.Column) or key.name.lower() not in catalog.keys_of_people:
        return False
    item = next((one for one in from_items(select) if one.alias_or_name == key.text("table")), None)
    if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
        return False
    table = catalog.find(item.this.name, bool(item.this.quoted), item.db)
    return table is not None and not table.public
