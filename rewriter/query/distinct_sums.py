"""Sums and means of the different values that people have, and the least text and the greatest, as those of groups.

Theorem: ``SELECT k, SUM(DISTINCT x) FROM t GROUP BY k`` is ``SELECT k, SUM(v) FROM (SELECT k, x AS v FROM t GROUP BY k,
x) GROUP BY k``: each value of a group is there once, and NULL is added by neither. COUNT and AVG of different values
are put so beside it, where all are of one expression.

Why: one person may be all that a value hangs on, so that no sum of values has a bound beside its largest value. Which
groups there are is found out as it is of any groups: declared ones by their number of rows, others under δ. The sum is
then one of released values.

The least and the greatest value of a group are those of its different values, too. So MIN and MAX of texts, which have
no middle to pick from, are those of the texts that are released as groups (:func:`values_apart`).

Beside other aggregates of all rows such a value is that of a subquery of its own, since an aggregate without GROUP BY
has one row. Beside those of groups it is a column of a joined subquery with the same keys: that has one row of each
group at most, and a group has the same keys in all of its rows, NULL among them.

Different rows of a person's windows, as different rows of a subquery that computes the windows.

Theorem: windows are computed before DISTINCT, and both before ORDER BY and LIMIT. So ``SELECT DISTINCT k, COUNT(*) OVER
(PARTITION BY k, person_id) AS n FROM t`` is ``SELECT DISTINCT k, n FROM (SELECT k, COUNT(*) OVER (PARTITION BY k,
person_id) AS n FROM t)``: the subquery has rows of one person each, and DISTINCT makes groups of its columns.

Put so where a window's partitions are one person's rows: any other one says something of many people.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import count

from sqlglot import exp

from rewriter.aggregates import aggregates_of
from rewriter.declared import Catalog
from rewriter.query.spread_joins import set_where
from rewriter.query.windows_of_people import is_of_people, is_of_person
from rewriter.statement import (
    conjuncts,
    folded,
    from_items,
    grouped_item,
    has_aggregate,
    is_window_function,
    output_name,
    unaliased,
    unparenthesised,
    walk,
)

_PARTS = frozenset({"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset"})
_INSIDE = ("from_", "joins", "where")
_OF_GROUPS = "distinct_values"


def sum_groups(select: exp.Select, catalog: Catalog) -> None:
    """Group by the value whose different values a SELECT over people adds, in place. Its names are bound."""
    if any(value for part, value in select.args.items() if part not in _PARTS):
        return
    calls = [one for part in _parts(select) for one in walk(part) if isinstance(one, exp.AggFunc)]
    if not any(isinstance(one, exp.Sum | exp.Avg) for one in calls) or not all(map(_is_of_different, calls)):
        return
    values = {one.this.expressions[0] for one in calls}
    group = select.args.get("group")
    keys = _keys(select)
    (value, *others) = values
    if others or not all(map(_is_plain, (value, *keys))) or not _is_asked_of_people(select, [value, *keys], catalog):
        return
    if group is not None and any(found for part, found in group.args.items() if part != "expressions"):
        return
    columns = _columns([*(key for key in dict.fromkeys(keys) if key != value), value])
    inside = _groups(select, columns)
    outside = _over_groups(select, columns, columns[value])
    if outside is None:
        return
    outside.set(
        "from_", exp.From(this=exp.Subquery(this=inside, alias=exp.TableAlias(this=exp.to_identifier(_OF_GROUPS))))
    )
    for part in _PARTS:
        select.set(part, outside.args.get(part))


def values_apart(
    select: exp.Select, is_apart: Callable[[exp.Expr], bool], persons: Set[str]
) -> tuple[exp.Select, tuple[exp.Subquery, ...]] | None:
    """``select`` with the aggregates ``is_apart`` as those of groups by the value, in subqueries, and the joined ones;
    None where it has no such form, or reads columns that tell ``persons``. An aggregate may have a FILTER, and its
    argument be DISTINCT."""
    group = select.args.get("group")
    if any(value for part, value in select.args.items() if part not in {*_PARTS, "distinct", "with_"}):
        return None
    if group is not None and any(found for part, found in group.args.items() if part != "expressions"):
        return None
    copy: exp.Select = select.copy()
    copy.set("with_", None)
    keys = _keys(copy)
    called = [one for part in _parts(copy) for one in aggregates_of(part)]
    apart = [one for one in called if is_apart(one)]
    read = (*keys, *map(_value_of, apart))
    if not all(map(_is_plain, read)) or any(
        folded(one) in persons for node in read for one in node.find_all(exp.Column)
    ):
        return None
    if group is None:
        for node in apart:
            _set_value(node, exp.Subquery(this=_of_groups(copy, [], [node])))
        if len(apart) == len(called):
            for part in _INSIDE:
                copy.set(part, None)
            if (having := copy.args.get("having")) is not None:
                copy.set("where", exp.Where(this=having.this))
                copy.set("having", None)
        return copy, ()
    copy.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return copy, _join_values(copy, keys, apart)


def _join_values(select: exp.Select, keys: list[exp.Expr], apart: list[exp.Expr]) -> tuple[exp.Subquery, ...]:
    """Join a subquery for all aggregates of the same values, in place: MIN of what is one value in a group is it."""
    taken = {item.alias_or_name.lower() for item in from_items(select)}
    names = (name for number in count() if (name := f"{_OF_GROUPS}_{number}") not in taken)
    same: dict[tuple[exp.Expr, exp.Expr | None], list[exp.Expr]] = {}
    for node in apart:
        same.setdefault((_value_of(node), _test_of(node)), []).append(node)
    joins: list[exp.Join] = []
    for nodes, name in zip(same.values(), names, strict=False):
        alias = exp.TableAlias(this=exp.to_identifier(name))
        item = exp.Subquery(this=_of_groups(select, keys, nodes), alias=alias)
        tests = [
            exp.NullSafeEQ(this=key.copy(), expression=exp.column(f"k{place}", name)) for place, key in enumerate(keys)
        ]
        joins.append(exp.Join(this=item, side="LEFT", on=exp.and_(*tests, copy=False)))
        for place, node in enumerate(nodes):
            _set_value(node, exp.Min(this=exp.column(f"a{place}", name)))
    select.set("joins", [*(select.args.get("joins") or ()), *joins])
    return tuple(join.this for join in joins)


def _of_groups(select: exp.Select, keys: list[exp.Expr], nodes: list[exp.Expr]) -> exp.Select:
    """The keys and the aggregates ``nodes``, which are of one value and one FILTER, over the groups by the value."""
    columns = _columns([*(key for key in dict.fromkeys(keys) if key != _value_of(nodes[0])), _value_of(nodes[0])])
    inside = _groups(select, columns)
    if (test := _test_of(nodes[0])) is not None:
        set_where(inside, [*(conjuncts(where.this) if (where := inside.args.get("where")) else ()), test.copy()])
    own = [columns[key] for key in keys]
    calls = [type(_call_of(node))(this=columns[_value_of(node)].copy()) for node in nodes]
    found = exp.Select(
        expressions=[
            *(exp.alias_(key.copy(), f"k{place}") for place, key in enumerate(own)),
            *(exp.alias_(call, f"a{place}") for place, call in enumerate(calls)),
        ]
    )
    alias = exp.TableAlias(this=exp.to_identifier(_OF_GROUPS))
    found.set("from_", exp.From(this=exp.Subquery(this=inside, alias=alias)))
    found.set("group", exp.Group(expressions=[key.copy() for key in own]) if own else None)
    return found


def _set_value(node: exp.Expr, value: exp.Expr) -> None:
    """Put a value in the place of an aggregate. An item of a select list keeps its name."""
    is_item = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    name = exp.to_identifier(output_name(node), quoted=True)
    node.replace(exp.Alias(this=value, alias=name) if is_item else value)


def _call_of(node: exp.Expr) -> exp.Expr:
    call: exp.Expr = node.this if isinstance(node, exp.Filter) else node
    return call


def _value_of(node: exp.Expr) -> exp.Expr:
    """What an aggregate is of."""
    value = _call_of(node).this
    return unparenthesised(value.expressions[0] if isinstance(value, exp.Distinct) else value)


def _test_of(node: exp.Expr) -> exp.Expr | None:
    return node.expression.this if isinstance(node, exp.Filter) else None


def _keys(select: exp.Select) -> list[exp.Expr]:
    """What a SELECT groups by, of outputs what they are of."""
    group = select.args.get("group")
    return [] if group is None else [unparenthesised(grouped_item(key, select)).copy() for key in group.expressions]


def _parts(select: exp.Select) -> list[exp.Expr]:
    return [*select.expressions, *(part for name in ("having", "order") if (part := select.args.get(name)) is not None)]


def _is_of_different(call: exp.AggFunc) -> bool:
    """Whether a call is SUM, AVG or COUNT of different values of one expression, over all rows of a group."""
    known = isinstance(call, exp.Sum | exp.Avg | exp.Count) and isinstance(call.this, exp.Distinct)
    whole = not isinstance(call.parent, exp.Filter) and not is_window_function(call)
    return known and whole and len(call.this.expressions) == 1


def _is_plain(node: exp.Expr) -> bool:
    inner = (exp.Query, exp.AggFunc, exp.Window, exp.Tuple, exp.Rollup, exp.Cube, exp.GroupingSets, exp.MD5)
    return node.find(exp.Column) is not None and node.find(*inner) is None


def _is_asked_of_people(select: exp.Select, read: list[exp.Expr], catalog: Catalog) -> bool:
    """Whether rows of several people are grouped: one person's values are added as they are."""
    columns = [column for key in read for column in key.find_all(exp.Column)]
    several = not any(column.name.lower() in catalog.keys_of_people for column in columns)
    return several and any(is_of_people(item, catalog) for item in from_items(select))


def _columns(keys: list[exp.Expr]) -> dict[exp.Expr, exp.Column]:
    """The columns of the groups, by what they are of."""
    names = [key.name if isinstance(key, exp.Column) else "" for key in keys]
    return {
        key: exp.column(name if name and names.count(name) == 1 else f"dpsql_k{place}", _OF_GROUPS, quoted=True)
        for place, (key, name) in enumerate(zip(keys, names, strict=True))
    }


def _groups(select: exp.Select, columns: dict[exp.Expr, exp.Column]) -> exp.Select:
    items = [exp.alias_(key.copy(), column.name, quoted=True) for key, column in columns.items()]
    inside = exp.Select(expressions=items)
    for part in _INSIDE:
        if (found := select.args.get(part)) is not None:
            inside.set(part, [one.copy() for one in found] if isinstance(found, list) else found.copy())
    inside.set("group", exp.Group(expressions=[key.copy() for key in columns]))
    return inside


def _over_groups(select: exp.Select, columns: dict[exp.Expr, exp.Column], value: exp.Column) -> exp.Select | None:
    """The same SELECT over the groups; None where it reads more than their columns."""
    copy: exp.Select = select.copy()
    keys = _keys(copy)
    for item in list(copy.expressions):
        if not isinstance(item, exp.Alias):
            item.replace(exp.alias_(item.copy(), output_name(item), quoted=True))
    for part in _parts(copy):
        for node in list(part.walk(prune=lambda one: one in columns or isinstance(one, exp.AggFunc | exp.Query))):
            if isinstance(node, exp.AggFunc):
                node.set("this", value.copy())
            elif node in columns:
                node.replace(columns[node].copy())
            elif isinstance(node, exp.Query) or (isinstance(node, exp.Column) and node.table):
                return None
    copy.set("group", exp.Group(expressions=[columns[key].copy() for key in keys]) if keys else None)
    copy.set("joins", None)
    copy.set("where", None)
    return copy


_WINDOW_PARTS = frozenset({*_INSIDE, "expressions", "with_", "distinct", "order", "limit", "offset"})
_NAME = "windows"


def windows_below_distinct(select: exp.Select, catalog: Catalog) -> None:
    """Compute the windows of a SELECT DISTINCT over people in a subquery, in place. Its names are bound."""
    distinct = select.args.get("distinct")
    if (
        distinct is None
        or distinct.args.get("on")
        or {part for part, value in select.args.items() if value} - _WINDOW_PARTS
    ):
        return
    items = [unaliased(item) for item in select.expressions]
    if not _are_windows_of_people(select, items, catalog) or not _is_ordered_by_outputs(select):
        return
    inner = exp.Select(expressions=[exp.alias_(one.copy(), f"v{place}") for place, one in enumerate(items)])
    for part in _INSIDE:
        inner.set(part, select.args.get(part))
        select.set(part, None)
    columns = [exp.column(f"v{place}", _NAME) for place in range(len(items))]
    names = [output_name(item) for item in select.expressions]
    select.set("expressions", [exp.alias_(one, name, quoted=True) for one, name in zip(columns, names, strict=True)])
    alias = exp.TableAlias(this=exp.to_identifier(_NAME))
    select.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))


def _are_windows_of_people(select: exp.Select, items: list[exp.Expr], catalog: Catalog) -> bool:
    """Whether items have windows, each over rows of one person, and no aggregate."""
    if select.args.get("from_") is None or isinstance(select.parent, exp.Lateral):
        return False
    if any(has_aggregate(item) or item.is_star or item.find(exp.Query) is not None for item in items):
        return False
    windows = [node for item in items for node in walk(item) if isinstance(node, exp.Window)]
    if not windows or not all(is_of_person(window, catalog.keys_of_people) for window in windows):
        return False
    return any(is_of_people(item, catalog) for item in from_items(select))


def _is_ordered_by_outputs(select: exp.Select) -> bool:
    """Whether ORDER BY names columns of the answer alone, by name or by number."""
    order = select.args.get("order")
    keys = [] if order is None else [one.this for one in order.expressions]
    return all(isinstance(key, exp.Literal) or (isinstance(key, exp.Column) and not key.table) for key in keys)
