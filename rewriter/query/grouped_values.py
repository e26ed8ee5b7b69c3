"""A value of all rows of one person beside each of the rows: tests of it in WHERE as a join of groups.

Theorems: ``WHERE v.d = (SELECT MIN(w.d) FROM w WHERE w.k = v.k AND q)`` keeps a row if the group of its ``k`` has this
value: ``JOIN (SELECT w.k, MIN(w.d) AS value FROM w WHERE q GROUP BY w.k) g ON g.k = v.k AND g.value = v.d``. A row
meets one group at most. It meets none where the aggregate is of no rows: that is NULL, of which no comparison is true.
``(v.k, v.d) IN (SELECT w.k, MIN(w.d) FROM w GROUP BY w.k)`` is the same join: groups are distinct in their keys.

Put so where ``k`` may be a person's key: groups of other keys are released first, and where they are read decides how.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from sqlglot import exp

from rewriter.dialects import MIRRORED
from rewriter.query.distinct_names import Labels
from rewriter.query.lateral_subqueries import correlated, reads_outside
from rewriter.query.spread_joins import set_where
from rewriter.statement import conjuncts, has_aggregate, unaliased, unparenthesised

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_NULL_OF_NONE = (exp.Avg, exp.Sum, exp.Min, exp.Max)
_PARTS = frozenset({"expressions", "from_", "joins", "where", "group"})


def join_groups(select: exp.Select, labels: Labels, persons: Set[str]) -> bool:
    """Join the groups of one test in WHERE, in place; whether there was one."""
    where = select.args.get("where")
    joins: list[exp.Join] = select.args.get("joins") or []
    if where is None or any(join.side.upper() in ("RIGHT", "FULL") for join in joins):
        return False
    tests = list(conjuncts(where.this))
    for place, test in enumerate(tests):
        found = _of_list(test, persons) or _of_value(test, persons)
        if found is None:
            continue
        groups, pairs = found
        own = f"grouped#{len(labels)}"
        labels[own] = exp.Identifier(this="grouped", quoted=False)
        more: list[exp.Expr] = []
        for name, (kind, value) in zip([one.alias for one in groups.expressions], pairs, strict=True):
            column = exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(own, quoted=True))
            more.append(kind(this=value.copy(), expression=column))
        alias = exp.TableAlias(this=exp.to_identifier(own, quoted=True))
        join = exp.Join(this=exp.Subquery(this=groups, alias=alias), kind="CROSS")
        select.set("joins", [*joins, join])
        set_where(select, [*tests[:place], *more, *tests[place + 1 :]])
        return True
    return False


_Found = tuple[exp.Select, list[tuple[type[exp.Expr], exp.Expr]]]
"""Groups, and how the row's values are compared with each of their columns."""


def _of_list(test: exp.Expr, persons: Set[str]) -> _Found | None:
    """A row of values that is in a list of groups, of which all keys are selected."""
    test = unparenthesised(test)
    row = unparenthesised(test.this) if isinstance(test, exp.In) else None
    query = test.args.get("query") if isinstance(test, exp.In) else None
    body = query.this if isinstance(query, exp.Subquery) else None
    if not isinstance(row, exp.Tuple) or not isinstance(body, exp.Select) or not _is_plain(body):
        return None
    group = body.args.get("group")
    items = [unparenthesised(unaliased(one)) for one in body.expressions]
    if group is None or len(items) != len(row.expressions) or reads_outside(body, body):
        return None
    keys = [item for item in items if not has_aggregate(item)]
    wanted = [unparenthesised(one) for one in group.expressions]
    if len(keys) == len(items) or set(keys) != set(wanted) or len(keys) != len(wanted):
        return None
    if not any(_is_of_person(key, persons) for key in keys) or any(one.find(exp.Query) for one in row.expressions):
        return None
    return _named(body, items), [(exp.EQ, one) for one in row.expressions]


def _of_value(test: exp.Expr, persons: Set[str]) -> _Found | None:
    """A comparison with an aggregate of the rows of the same key."""
    test = unparenthesised(test)
    if not isinstance(test, _COMPARISONS):
        return None
    one, other = unparenthesised(test.this), unparenthesised(test.expression)
    kind: type[exp.Expr] = type(test)
    if isinstance(one, exp.Subquery):
        one, other, kind = other, one, MIRRORED.get(kind, kind)
    body = other.this if isinstance(other, exp.Subquery) else None
    if one.find(exp.Query) is not None or not isinstance(body, exp.Select) or not _is_plain(body):
        return None
    where, item = body.args.get("where"), unparenthesised(unaliased(body.expressions[0]))
    if where is None or len(body.expressions) != 1 or body.args.get("group") or not isinstance(item, _NULL_OF_NONE):
        return None
    inside: list[exp.Expr] = []
    ties: list[tuple[exp.Expr, exp.Expr]] = []
    for condition in conjuncts(where.this):
        if not reads_outside(body, condition):
            inside.append(condition)
        elif (pair := correlated(body, condition)) is not None:
            ties.append(pair)
        else:
            return None
    groups = body.copy()
    set_where(groups, [condition.copy() for condition in inside])
    keys = [key for key, _ in ties]
    if reads_outside(groups, groups) or len(set(keys)) < len(keys) or not any(_is_of_person(k, persons) for k in keys):
        return None
    groups.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return _named(groups, [*keys, item]), [*((exp.EQ, value) for _, value in ties), (kind, one)]


def _is_plain(body: exp.Select) -> bool:
    group = body.args.get("group")
    sets = group is not None and any(value for part, value in group.args.items() if part != "expressions")
    return not sets and not any(value for part, value in body.args.items() if part not in _PARTS)


def _is_of_person(node: exp.Expr, persons: Set[str]) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() in persons


def _named(body: exp.Select, items: list[exp.Expr]) -> exp.Select:
    """The items of a query under names that they have themselves, or are called by."""
    groups, taken = body.copy(), set[str]()
    groups.set("expressions", [_alias(item, taken) for item in items])
    return groups


def _alias(item: exp.Expr, taken: set[str]) -> exp.Alias:
    names = _names(item)
    name = next(one for one in names if one not in taken)
    taken.add(name)
    return exp.Alias(this=item.copy(), alias=exp.to_identifier(name, quoted=True))


def _names(item: exp.Expr) -> Iterator[str]:
    name = item.name.lower() if isinstance(item, exp.Column) else "value"
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1
