"""Groups chosen by an aggregate over people, as dashboards ask for their largest ones.

``FROM visit JOIN (SELECT reason AS r, COUNT(*) … GROUP BY reason ORDER BY 2 DESC LIMIT 5) AS top ON reason = r`` joins
rows of people with released numbers. Where the query groups by ``reason``, the join keeps or drops whole groups, and
that is what ``HAVING reason IN (SELECT r FROM (…) AS top)`` does, above the noise.

Guarantee: the meaning is the same. A join that could repeat rows, or that reads more than keys, is left as it is, and
refused. Whether the compared expression is a grouping key is checked where HAVING is read.

Totals of chosen groups: aggregates over rows whose group was chosen by an aggregate over people.

``SELECT item, COUNT(*) FROM sale WHERE item IN (SELECT item … ORDER BY COUNT(*) DESC LIMIT 5) GROUP BY ROLLUP (item)``
counts the rows of five items, and its total is theirs. Rows of people are not compared with released numbers, and
HAVING would drop the total, which is of no item. So all groups are measured by every key, and the chosen groups are
added up above: ``SELECT c0, SUM(s0) FROM (SELECT item AS c0, COUNT(*) AS s0 FROM sale GROUP BY item) WHERE c0 IN (…)
GROUP BY ROLLUP (c0)``. The same holds where the chosen key is in no GROUP BY.

Guarantee: the meaning is the same, since counts and sums of groups add up to those of their rows. Any other question
about such rows is left as it is, and refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from sqlglot import exp

from rewriter.aggregates import AVG, COUNT, SUM, function_of
from rewriter.dialects import Fact
from rewriter.statement import (
    conjuncts,
    folded,
    grouped_item,
    is_grouped,
    null_safe,
    output_name,
    unaliased,
    unparenthesised,
    walk,
)


def joins_as_having(select: exp.Select, queries: Mapping[int, exp.Query], answers: Set[int]) -> exp.Select | None:
    """``select`` with its joins to aggregates over people moved to HAVING, or None where one cannot be moved.

    ``queries`` has the queries of FROM, by the item's identity; those in ``answers`` aggregate over people.
    """
    joins = list(select.args.get("joins") or ())
    from_ = select.args.get("from_")
    if not is_grouped(select) or from_ is None or id(from_.this) in answers:
        return None
    kept: list[exp.Expr] = []
    tests: list[exp.Expr] = []
    for join in joins:
        if id(join.this) not in answers:
            kept.append(join.copy())
            continue
        test = _membership(join, queries[id(join.this)])
        if test is None:
            return None
        tests.append(test)
    if not tests:
        return None
    moved = select.copy()
    moved.set("joins", kept)
    return over_chosen(moved, tests) if needs_totals(moved, tests) else _and_having(moved, tests)


def conditions_as_having(select: exp.Select, is_answer: Callable[[exp.Expr], bool]) -> exp.Select:
    """``select`` with ``key IN (SELECT key … aggregates over people)`` moved from WHERE to HAVING, or above all groups
    where the groups that were chosen are to be added up (:mod:`rewriter.split.top_groups_as_having`)."""
    where = select.args.get("where")
    if where is None or where.find(exp.In) is None or _CHOSEN.is_on(select):
        return select
    parts = list(conjuncts(where.this))
    moved = [part for part in parts if (query := _queried(part)) is not None and is_answer(query)]
    if not moved:
        return select
    copy: exp.Select = select.copy()
    rest = [part.copy() for part in parts if not any(part is other for other in moved)]
    copy.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    tests = [part.copy() for part in moved]
    if needs_totals(copy, tests):
        return over_chosen(copy, tests) or select
    return _and_having(copy, tests)


def _queried(node: exp.Expr) -> exp.Expr | None:
    while isinstance(node, exp.Not | exp.Paren):
        node = node.this
    return node.args.get("query") if isinstance(node, exp.In) else None


def _and_having(select: exp.Select, tests: list[exp.Expr]) -> exp.Select:
    having = select.args.get("having")
    before = [] if having is None else [exp.Paren(this=having.this.copy())]
    select.set("having", exp.Having(this=exp.and_(*before, *tests, copy=False)))
    return select


def _membership(join: exp.Join, written: exp.Query) -> exp.Expr | None:
    """The join as a condition on keys: ``key IN (SELECT column FROM …)``."""
    item = join.this
    if join.side or join.method or join.kind.upper() not in ("", "INNER") or join.args.get("on") is None:
        return None
    pairs: list[tuple[exp.Expr, exp.Column]] = []
    null_safe = False
    for test in conjuncts(join.args["on"]):
        pair, safe = equated(test, item.alias_or_name)
        if pair is None:
            return None
        null_safe = null_safe or safe
        pairs.append(pair)
    joined = {folded(column) for _, column in pairs}
    if not is_unique(written, joined) or (null_safe and len(pairs) > 1):
        return None
    outside = [one.copy() for one, _ in pairs]
    inside = [column.copy() for _, column in pairs]
    left = outside[0] if len(pairs) == 1 else exp.Tuple(expressions=outside)
    test = exp.In(this=left, query=exp.Subquery(this=_chosen(inside, item)))
    if not null_safe:
        return test
    missing = _chosen([exp.Literal.number(1)], item)
    missing.set("where", exp.Where(this=exp.Is(this=inside[0].copy(), expression=exp.Null())))
    none = exp.And(this=exp.Is(this=outside[0].copy(), expression=exp.Null()), expression=exp.Exists(this=missing))
    return exp.Paren(this=exp.or_(test, none, copy=False))


def _chosen(columns: Sequence[exp.Expr], item: exp.Expr) -> exp.Select:
    return exp.Select(expressions=list(columns)).from_(item.copy(), copy=False)


def equated(test: exp.Expr, alias: str) -> tuple[tuple[exp.Expr, exp.Column] | None, bool]:
    """The two sides of an equality, the one of people first, and whether NULL equals NULL in it."""
    found = null_safe(test)
    equal = unparenthesised(test) if found is None else found
    if found is None and not isinstance(equal, exp.EQ):
        return None, False
    sides = [unparenthesised(equal.this), unparenthesised(equal.args["expression"])]
    for other, inside in (sides, sides[::-1]):
        if not isinstance(inside, exp.Column) or not _is_of(inside, alias):
            continue
        if not any(_is_of(column, alias) for column in other.find_all(exp.Column)):
            return (other, inside), found is not None
    return None, False


def _is_of(column: exp.Column, alias: str) -> bool:
    return column.table.lower() == alias.lower()


def is_unique(query: exp.Expr, columns: set[str]) -> bool:
    """Whether a query has at most one row for each combination of ``columns``: each of its keys is one of them."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return False
    outputs = {output_name(item): item.unalias() for item in query.expressions}
    group = query.args.get("group")
    if group is None:
        return query.args.get("distinct") is not None and set(outputs) <= columns
    if any(value for part, value in group.args.items() if part != "expressions"):
        return False
    shown = [outputs[name] for name in columns if name in outputs]
    return all(grouped_item(key, query) in shown for key in group.expressions)


_PARTS = frozenset({"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "with_"})
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_ALIAS = "chosen"
_CHOSEN: Fact[bool] = Fact("chosen")
"""What was made here is not made again of itself: where its groups are people, its conditions are on people's rows."""


def needs_totals(select: exp.Select, tests: Sequence[exp.Expr]) -> bool:
    """Whether HAVING would not do: there are totals over the chosen key, or it is no key."""
    group = select.args.get("group")
    if group is None or group.find(*_SETS) is not None:
        return True
    keys = [grouped_item(key, select) for key in group.expressions]
    return any(_of(part, keys) is None for test in tests for part in _compared(test))


def over_chosen(select: exp.Select, tests: Sequence[exp.Expr]) -> exp.Select | None:
    """``select`` over the groups for which the ``tests`` hold, added up; None where that is not what it asks for."""
    if {name for name, value in select.args.items() if value} - _PARTS or not is_grouped(select):
        return None
    return _Levels(select, tests).outer()


def _compared(test: exp.Expr) -> Iterator[exp.Expr]:
    """The keys that a condition compares with the groups of a subquery."""
    for node in walk(test):
        if isinstance(node, exp.In):
            yield from node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]


def _of(node: exp.Expr, keys: Sequence[exp.Expr]) -> int | None:
    """The place of a key that an expression is."""
    return next((place for place, key in enumerate(keys) if key == node), None)


class _Levels:
    """The two SELECTs: groups by every key, and what is added up of them."""

    def __init__(self, select: exp.Select, tests: Sequence[exp.Expr]) -> None:
        self._select = select
        self._tests = tests
        self._keys: list[exp.Expr] = []
        self._sums: list[exp.Expr] = []

    def outer(self) -> exp.Select | None:
        select = self._select
        group = select.args.get("group")
        for node in group.expressions if group is not None else ():
            self._add_keys(node)
        for test in self._tests:
            for part in _compared(test):
                self._key(part)
        outer = exp.Select(
            expressions=[
                exp.alias_(self._above(unaliased(item)), output_name(item), quoted=True) for item in select.expressions
            ]
        )
        tests = [self._above(test) for test in self._tests]
        outer.set("where", exp.Where(this=exp.and_(*tests, copy=False)))
        if group is not None:
            outer.set("group", exp.Group(expressions=[self._grouping(node) for node in group.expressions]))
        for name in ("having", "order"):
            if (found := select.args.get(name)) is not None:
                outer.set(name, self._above(found))
        for name in ("limit", "offset", "with_"):
            if (found := select.args.get(name)) is not None:
                outer.set(name, found.copy())
        if not self._is_whole(outer):
            return None
        return _CHOSEN.on(outer, True).from_(
            exp.Subquery(this=self._inner(), alias=exp.TableAlias(this=exp.to_identifier(_ALIAS)))
        )

    def _is_whole(self, outer: exp.Select) -> bool:
        """Whether nothing is left in it of rows of people."""
        named = {output_name(item) for item in self._select.expressions}
        rest = (node for name in ("having", "order") if (node := outer.args.get(name)) is not None)
        for node in (one for part in (*outer.expressions, *rest) for one in walk(part)):
            if isinstance(node, exp.AggFunc) and not _is_ours(node):
                return False
            if isinstance(node, exp.Column) and node.table != _ALIAS and (node.table or node.name not in named):
                return False
        return True

    def _inner(self) -> exp.Select:
        named = [exp.alias_(key.copy(), f"c{n}", copy=False) for n, key in enumerate(self._keys)]
        named += [exp.alias_(one.copy(), f"s{n}", copy=False) for n, one in enumerate(self._sums)]
        inner = exp.Select(expressions=named)
        for name in ("from_", "where"):
            if (part := self._select.args.get(name)) is not None:
                inner.set(name, part.copy())
        inner.set("joins", [join.copy() for join in self._select.args.get("joins") or ()])
        inner.set("group", exp.Group(expressions=[exp.Literal.number(n + 1) for n in range(len(self._keys))]))
        return inner

    def _add_keys(self, node: exp.Expr) -> None:
        if isinstance(node, (*_SETS, exp.Tuple)):
            for element in node.expressions:
                self._add_keys(element)
        else:
            self._key(grouped_item(node, self._select))

    def _key(self, node: exp.Expr) -> exp.Column:
        place = _of(node, self._keys)
        if place is None:
            place = len(self._keys)
            self._keys.append(node)
        return exp.column(f"c{place}", _ALIAS)

    def _grouping(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, (*_SETS, exp.Tuple)):
            copy: exp.Expr = node.copy()
            copy.set("expressions", [self._grouping(element) for element in node.expressions])
            return copy
        return self._key(grouped_item(node, self._select))

    def _above(self, node: exp.Expr) -> exp.Expr:
        """An expression over the groups: keys are columns, and aggregates are sums of what groups have. A name alone is
        an output, in ORDER BY."""
        root = exp.Paren(this=node.copy())
        stack: list[exp.Expr] = [root.this]
        while stack:
            one = stack.pop()
            if isinstance(one, exp.Query) or (isinstance(one, exp.Column) and not one.table):
                continue
            place = _of(one, self._keys) if not isinstance(one, exp.Literal) else None
            if place is not None:
                one.replace(exp.column(f"c{place}", _ALIAS))
            elif (added := self._added(one)) is not None:
                one.replace(added)
            else:
                stack.extend(one.iter_expressions())
        found: exp.Expr = root.this
        found.pop()
        return found

    def _added(self, node: exp.Expr) -> exp.Expr | None:
        """COUNT, SUM and AVG of rows, with their FILTER, of the counts and sums of groups."""
        call = node.this if isinstance(node, exp.Filter) else node
        parent = node.parent
        function = function_of(call)
        if function not in (COUNT, SUM, AVG) or isinstance(call.this, exp.Distinct):
            return None
        if isinstance(parent, exp.Window) and parent.this is node:
            return None
        if function == COUNT:
            return exp.cast(exp.Coalesce(this=self._sum(node), expressions=[exp.Literal.number(0)]), "bigint")
        if function == SUM:
            return self._sum(node)
        above, below = (self._with(node, form(this=call.this.copy())) for form in (exp.Sum, exp.Count))
        mean = exp.Div(this=exp.cast(self._sum(above), "double"), expression=_unless_zero(self._sum(below)))
        return exp.Paren(this=mean)

    def _with(self, node: exp.Expr, call: exp.Expr) -> exp.Expr:
        """Another aggregate under the same FILTER."""
        return exp.Filter(this=call, expression=node.expression.copy()) if isinstance(node, exp.Filter) else call

    def _sum(self, node: exp.Expr) -> exp.Sum:
        if node not in self._sums:
            self._sums.append(node.copy())
        return exp.Sum(this=exp.column(f"s{self._sums.index(node)}", _ALIAS))


def _unless_zero(node: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=node, expression=exp.Literal.number(0))


def _is_ours(node: exp.AggFunc) -> bool:
    """A sum over groups, or what a window or GROUPING makes."""
    if isinstance(node, exp.Grouping) or isinstance(node.parent, exp.Window):
        return True
    return function_of(node) == SUM and isinstance(node.this, exp.Column) and node.this.table == _ALIAS
