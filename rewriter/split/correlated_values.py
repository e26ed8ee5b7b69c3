"""Values of other rows that are looked up for each row, as joins: ``x > (SELECT AVG(y) FROM t WHERE t.k = r.k)``.

The subquery is an aggregate of the rows whose ``k`` is that of the row in question; so it is the group of that ``k``
among all groups: ``LEFT JOIN (SELECT k, AVG(y) AS a FROM t GROUP BY k) AS g ON g.k = r.k``, and ``x > g.a``. Whether
the groups are one person's, which are joined by the person, public ones, or ones that are released first
(:mod:`rewriter.split.earlier_answers`), is decided where joins are read.

Guarantee: the meaning is the same. A row meets one group at most, since these are the keys; where it meets none, the
aggregate of no rows is NULL, or 0 of a COUNT. Groups that no row could meet, by conditions on public tables alone, are
not asked for.

**Comparisons** with a row of a list are equalities with a value of it: ``(SELECT AVG(y) FROM t WHERE t.a <= l.d)`` is
``(SELECT AVG(y) FROM t JOIN (SELECT DISTINCT d FROM l) AS s ON t.a <= s.d WHERE s.d = l.d)``, since each value is there
once. Of a ``d`` that is NULL, for which no comparison of columns and numbers holds, both have no rows.

Subqueries for one value that compute with aggregates, as expressions over subqueries for one aggregate each.

Theorems: ``(SELECT e)`` without FROM is ``e``. An aggregate without GROUP BY has one row, whatever the rows are, so
that ``(SELECT f(COUNT(*), SUM(x)) FROM t WHERE q)`` is ``f`` of ``(SELECT COUNT(*) FROM t WHERE q)`` and ``(SELECT
SUM(x) FROM t WHERE q)``; other columns in ``f`` are those of the row outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.query import reads_outside
from rewriter.relations import Inside
from rewriter.release import RESERVED
from rewriter.statement import (
    conjuncts,
    from_items,
    grouped_item,
    has_aggregate,
    is_grouped,
    unaliased,
    unparenthesised,
    walk,
)

_PARTS = frozenset({"expressions", "from_", "joins", "where", "group"})
_STRICT = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Cast, exp.Literal, exp.DataType)
_OF_KNOWN = (
    *(exp.Column, exp.Identifier, exp.Interval, exp.Var, exp.DPipe, exp.Mod, exp.Abs, exp.Floor, exp.Ceil),
    *(exp.Lower, exp.Upper, exp.TimestampTrunc, exp.DateTrunc, exp.Extract),
)
"""Nodes that are NULL where an operand is, beside :data:`_STRICT`."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_NULL_OF_NONE = (exp.Avg, exp.Sum, exp.Min, exp.Max, exp.Median, exp.Stddev, exp.StddevSamp, exp.Variance)


def with_joined_values(select: exp.Select, is_public: Callable[[exp.Expr], bool]) -> exp.Select | None:
    """``select`` with such subqueries as joins; None where it has none. ``is_public`` says so of an item of FROM."""
    if select.args.get("from_") is None or next(_scalars(select), None) is None:
        return None
    copy = _with_apart(select, is_public)
    joined: dict[exp.Expr, exp.Expr] = {}
    for node in list(_scalars(copy)):
        asked = node.this
        if asked not in joined:
            correlated = _Correlated.of(node)
            if correlated is None:
                continue
            joined[asked] = correlated.join_to(copy, f"{RESERVED}group_{len(joined)}", is_public)
        node.replace(joined[asked].copy())
    return copy if joined else None


def _with_apart(select: exp.Select, is_public: Callable[[exp.Expr], bool]) -> exp.Select:
    """A copy in which subqueries that compute with correlated aggregates are expressions over these, and comparisons
    with a row are equalities with listed values."""
    copy: exp.Select = select.copy()
    waiting = list(_scalars(copy))
    for node in waiting:
        _compare_with_list(node.this, copy, is_public)
    while waiting:
        node = waiting.pop()
        value = None if _Correlated.of(node) is not None else apart(node)
        if value is not None:
            node.replace(value)
            waiting += _values(value)
    return copy


def _scalars(select: exp.Select) -> Iterator[exp.Subquery]:
    """The subqueries for one value that are computed of each row: once each, also where groups are made of them."""
    where, group, having, order = (select.args.get(name) for name in ("where", "group", "having", "order"))
    parts: list[exp.Expr] = [] if where is None else [where]
    if not is_grouped(select):
        parts += select.expressions
    else:
        shown = [part for part in (*select.expressions, having, order) if part is not None]
        parts += [node for part in shown for node in walk(part) if isinstance(node, exp.AggFunc | exp.Filter)]
        keys = list(select.expressions) if select.args.get("distinct") else []
        keys += [] if group is None else [group, *(grouped_item(key, select) for key in group.expressions)]
        of_keys = {node.this for key in keys for node in _values(key)}
        parts += [node for part in (*shown, *keys) for node in _values(part) if node.this in of_keys]
    found = {id(node): node for part in parts for node in _values(part)}
    yield from found.values()


def _values(part: exp.Expr) -> Iterator[exp.Subquery]:
    """The subqueries for one value in an expression, not those inside of others."""
    for node in part.walk(prune=lambda inner: isinstance(inner, exp.Query)):
        if isinstance(node, exp.Subquery) and not isinstance(node.parent, exp.In | exp.Exists | exp.From | exp.Join):
            yield node


@dataclass(frozen=True, slots=True)
class _Correlated:
    """A ``query`` for one value: an aggregate ``item`` over the rows on which the ``own`` conditions hold, and on which
    each first expression of ``ties`` equals the other one, of the row outside."""

    query: exp.Select
    item: exp.Expr
    own: tuple[exp.Expr, ...]
    ties: tuple[tuple[exp.Expr, exp.Expr], ...]
    grouped: bool
    """Whether it is the group of its ties by its own GROUP BY: a COUNT of no rows is NULL then."""

    @classmethod
    def of(cls, node: exp.Subquery) -> _Correlated | None:
        query = node.this
        if not isinstance(query, exp.Select) or {name for name, value in query.args.items() if value} - _PARTS:
            return None
        where = query.args.get("where")
        if where is None or len(query.expressions) != 1 or not has_aggregate(query.expressions[0]):
            return None
        inside = Inside(query)
        item = unaliased(query.expressions[0])
        if not _is_known_without_rows(item) or not all(column in inside for column in _columns(item)):
            return None
        if any(reads_outside(query, join) for join in query.args.get("joins") or ()):
            return None
        own: list[exp.Expr] = []
        ties: list[tuple[exp.Expr, exp.Expr]] = []
        for test in conjuncts(where.this):
            if all(column in inside for column in _columns(test)):
                own.append(test)
                continue
            tie = _tie(test, inside)
            if tie is None:
                return None
            ties.append(tie)
        group = query.args.get("group")
        if group is not None and not _is_of_ties(group, ties):
            return None
        return cls(query, item, tuple(own), tuple(ties), group is not None) if ties else None

    def join_to(self, select: exp.Select, alias: str, is_public: Callable[[exp.Expr], bool]) -> exp.Expr:
        """Join its groups to the ``select`` that the node stands in. The group's value, to be put in its place."""
        tests = list(self.own)
        for inner, outer in self.ties:
            tests += _met_only(inner, outer, select, is_public)
        keys = [inner.copy() for inner, _ in self.ties]
        groups = self.query.copy()
        groups.set(
            "expressions",
            [
                *(exp.alias_(key, f"k{place}") for place, key in enumerate(keys)),
                exp.alias_(self.item.copy(), "a", copy=False),
            ],
        )
        groups.set("where", exp.Where(this=exp.and_(*(test.copy() for test in tests), copy=False)) if tests else None)
        groups.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        on = [
            exp.EQ(this=outer.copy(), expression=exp.column(f"k{place}", alias))
            for place, (_, outer) in enumerate(self.ties)
        ]
        item = exp.Subquery(this=groups, alias=exp.TableAlias(this=exp.to_identifier(alias)))
        value: exp.Expr = exp.column("a", alias)
        if isinstance(self.item, exp.Count) and not self.grouped:
            value = exp.Coalesce(this=value, expressions=[exp.Literal.number(0)])
        select.append("joins", exp.Join(this=item, on=exp.and_(*on, copy=False), side="LEFT"))
        return value


def _compare_with_list(query: exp.Expr, select: exp.Select, is_public: Callable[[exp.Expr], bool]) -> None:
    """Put equalities with listed values in the place of comparisons with the rows that have them, in place: of a public
    item, or of the person whose rows the query's are by another condition."""
    if not isinstance(query, exp.Select) or query.args.get("where") is None or query.args.get("group") is not None:
        return
    where, inside = query.args["where"], Inside(query)
    own: list[exp.Expr] = []
    tied: list[exp.Expr] = []
    for test in conjuncts(where.this):
        (own if all(column in inside for column in _columns(test)) else tied).append(test)
    ties = [test for test in tied if _tie(test, inside) is not None]
    if len(ties) == len(tied) or not all(map(_is_comparison, tied)):
        return
    read = list(dict.fromkeys(one for test in tied for one in _columns(test) if one not in inside))
    tables = {one.table.lower() for one in read}
    items = [item for item in from_items(select) if item.alias_or_name.lower() in tables]
    if len(tables) != 1 or len(items) != 1:
        return
    name = _LISTED if is_public(items[0]) else ROWS_OF_PEOPLE
    if name == ROWS_OF_PEOPLE and not ties:
        return
    places = {column: exp.column(f"k{place}", name) for place, column in enumerate(read)}
    item = items[0].copy()
    item.set("alias", item.args.get("alias") or exp.TableAlias(this=exp.to_identifier(item.name)))
    values = [exp.alias_(column.copy(), place.name) for column, place in places.items()]
    listed = exp.Select(expressions=values, distinct=exp.Distinct()).from_(item, copy=False)
    for column in [one for test in tied for one in _columns(test) if one in places]:
        column.replace(places[column].copy())
    alias = exp.TableAlias(this=exp.to_identifier(name))
    query.append("joins", exp.Join(this=exp.Subquery(this=listed, alias=alias), on=exp.and_(*tied, copy=False)))
    same = [exp.EQ(this=place, expression=column.copy()) for column, place in places.items()]
    where.set("this", exp.and_(*own, *same, copy=False))


def _is_comparison(test: exp.Expr) -> bool:
    """Whether a condition compares what is computed of columns, so that it does not hold where one of them is NULL."""
    return isinstance(test, _COMPARISONS) and all(
        isinstance(node, (*_STRICT, *_OF_KNOWN)) for node in test.walk() if node is not test
    )


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    return node.find_all(exp.Column)


def _tie(test: exp.Expr, inside: Inside) -> tuple[exp.Expr, exp.Expr] | None:
    """The expressions of the subquery's row and of the outer one, where a condition is their equality."""
    if not isinstance(test, exp.EQ) or test.find(exp.Query) is not None:
        return None
    for one, other in ((test.this, test.expression), (test.expression, test.this)):
        own, outside = list(_columns(one)), list(_columns(other))
        if own and all(each in inside for each in own) and outside and not any(each in inside for each in outside):
            return unparenthesised(one), other
    return None


def _is_of_ties(group: exp.Group, ties: Sequence[tuple[exp.Expr, exp.Expr]]) -> bool:
    """Whether all rows that meet an outer row are one group: GROUP BY of nothing but columns that are tied to it."""
    plain = not any(value for name, value in group.args.items() if name != "expressions")
    tied = [column for column, _ in ties]
    return plain and bool(group.expressions) and all(unparenthesised(key) in tied for key in group.expressions)


def _is_known_without_rows(item: exp.Expr) -> bool:
    """Whether an aggregate of no rows is NULL, or a COUNT.

    >>> import sqlglot
    >>> texts = ("0.5 * SUM(x)", "COUNT(*)", "1 + COUNT(*)", "COALESCE(SUM(x), 0)")
    >>> [_is_known_without_rows(sqlglot.parse_one(text)) for text in texts]
    [True, True, False, False]
    """
    return isinstance(item, exp.Count) or _is_null_without_rows(item)


def _is_null_without_rows(item: exp.Expr) -> bool:
    """Whether an expression of aggregates and numbers is NULL where these are of no rows."""
    if isinstance(item, _NULL_OF_NONE):
        return True
    return isinstance(item, _STRICT) and all(map(_is_null_without_rows, item.iter_expressions()))


def _met_only(
    inner: exp.Expr, outer: exp.Expr, select: exp.Select, is_public: Callable[[exp.Expr], bool]
) -> list[exp.Expr]:
    """That a key is one of those that rows of the outer query can have, where a public table alone says which."""
    column = unparenthesised(outer)
    if not isinstance(column, exp.Column) or any(join.side for join in select.args.get("joins") or ()):
        return []
    items = [item for item in from_items(select) if item.alias_or_name.lower() == column.table.lower()]
    where = select.args.get("where")
    if len(items) != 1 or where is None or not isinstance(items[0], exp.Table) or not is_public(items[0]):
        return []
    tests = [test for test in conjuncts(where.this) if _reads_only(test, items[0])]
    if not tests:
        return []
    listed = exp.Select(expressions=[column.copy()]).from_(items[0].copy(), copy=False)
    listed.set("where", exp.Where(this=exp.and_(*(test.copy() for test in tests), copy=False)))
    return [exp.In(this=inner.copy(), query=exp.Subquery(this=listed))]


def _reads_only(test: exp.Expr, item: exp.Expr) -> bool:
    name = item.alias_or_name.lower()
    return test.find(exp.Query) is None and all(column.table.lower() == name for column in _columns(test))


_OF_ROWS = frozenset({"expressions", "from_", "joins", "where"})
_WORN = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Window, exp.Order)
"""Nodes around an aggregate, or in it, that say more of how it aggregates."""
_LISTED = f"{RESERVED}listed"
ROWS_OF_PEOPLE = f"{RESERVED}rows"
"""The names of the values of a list beside the rows that are compared with them: of a public one, and of a person's own
rows. Groups by these have to be that person's."""
_LARGEST = 10_000
"""Syntax nodes that a subquery becomes, at most: its FROM and WHERE stand once for each aggregate."""
_SETS = (exp.Explode, exp.Unnest, exp.GenerateSeries, exp.Window)


def apart(node: exp.Subquery) -> exp.Expr | None:
    """The expression that a subquery for one value is; None where it is none of these.

    >>> import sqlglot
    >>> for sql in ("(SELECT (SELECT r.x))", "(SELECT COUNT(*) + r.x FROM t WHERE t.k = r.k)", "(SELECT t.x FROM t)"):
    ...     found = apart(sqlglot.parse_one(sql))
    ...     print(found and found.sql())
    (r.x)
    ((SELECT COUNT(*) FROM t WHERE t.k = r.k) + r.x)
    None
    """
    query = node.this
    if not isinstance(query, exp.Select) or node.args.get("alias") or len(query.expressions) != 1:
        return None
    item = unaliased(query.expressions[0])
    parts = {name for name, value in query.args.items() if value}
    if item.is_star or isinstance(item, exp.AggFunc) or any(isinstance(part, _SETS) for part in walk(item)):
        return None
    if parts == {"expressions"}:
        if has_aggregate(item):
            return None
        inner = apart(item) if isinstance(item, exp.Subquery) else None
        return inner or exp.Paren(this=item.copy())
    if parts - _OF_ROWS or not has_aggregate(item) or item.find(*_WORN) is not None:
        return None
    value = exp.Paren(this=item.copy())
    aggregates = list(_outermost(value))
    if len(aggregates) * sum(1 for _ in query.walk()) > _LARGEST:
        return None
    found = {id(column) for one in aggregates for column in one.find_all(exp.Column)}
    inside = Inside(query)
    if any(column in inside and id(column) not in found for column in value.find_all(exp.Column)):
        return None
    for one in aggregates:
        single = query.copy()
        single.set("expressions", [one.copy()])
        one.replace(exp.Subquery(this=single))
    return value


def _outermost(node: exp.Expr) -> Iterator[exp.AggFunc]:
    """The aggregates of an expression that stand in no other one."""
    for part in node.walk(prune=lambda inner: isinstance(inner, exp.Query | exp.AggFunc)):
        if isinstance(part, exp.AggFunc):
            yield part
