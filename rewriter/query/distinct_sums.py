"""Sums and means of the different values that people have, as those of groups by the value.

Theorem: ``SELECT k, SUM(DISTINCT x) FROM t GROUP BY k`` is ``SELECT k, SUM(v) FROM (SELECT k, x AS v FROM t GROUP BY k,
x) GROUP BY k``: each value of a group is there once, and NULL is added by neither. COUNT and AVG of different values
are put so beside it, where all are of one expression.

Why: one person may be all that a value hangs on, so that no sum of values has a bound beside its largest value. Which
groups there are is found out as it is of any groups: declared ones by their number of rows, others under δ. The sum is
then one of released values.

Beside other aggregates of all rows such a sum is the value of a subquery of its own, since an aggregate without GROUP
BY has one row.

Different rows of a person's windows, as different rows of a subquery that computes the windows.

Theorem: windows are computed before DISTINCT, and both before ORDER BY and LIMIT. So ``SELECT DISTINCT k, COUNT(*) OVER
(PARTITION BY k, person_id) AS n FROM t`` is ``SELECT DISTINCT k, n FROM (SELECT k, COUNT(*) OVER (PARTITION BY k,
person_id) AS n FROM t)``: the subquery has rows of one person each, and DISTINCT makes groups of its columns.

Put so where a window's partitions are one person's rows: any other one says something of many people.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.windows_of_people import is_of_people, is_of_person
from rewriter.statement import (
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
    keys = [] if group is None else [unparenthesised(grouped_item(key, select)) for key in group.expressions]
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


def sums_apart(select: exp.Select, catalog: Catalog) -> None:
    """Put each sum and mean of different values that stands beside other aggregates of all rows into a subquery of its
    own, in place. Its names are bound."""
    if {part for part, value in select.args.items() if value} - {"expressions", *_INSIDE}:
        return
    calls = [one for item in select.expressions for one in walk(item) if isinstance(one, exp.AggFunc)]
    sums = [one for one in calls if isinstance(one, exp.Sum | exp.Avg) and _is_of_different(one)]
    sums = [one for one in sums if _is_plain(one.this.expressions[0])]
    if not sums or (all(map(_is_of_different, calls)) and len({one.this.expressions[0] for one in calls}) == 1):
        return
    if not _is_asked_of_people(select, [one.this.expressions[0] for one in sums], catalog):
        return
    for node in sums:
        inner = exp.Select(expressions=[node.copy()])
        for part in _INSIDE:
            found = select.args.get(part)
            inner.set(part, [one.copy() for one in found] if isinstance(found, list) else found and found.copy())
        name, item = output_name(node), node.parent
        value = exp.Subquery(this=inner)
        node.replace(exp.alias_(value, name, quoted=True, copy=False) if item is select else value)
    if len(sums) == len(calls):
        for part in _INSIDE:
            select.set(part, None)


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
        key: exp.column(name if name and names.count(name) == 1 else f"k{place}", _OF_GROUPS, quoted=True)
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
    group = copy.args.get("group")
    keys = [] if group is None else [unparenthesised(grouped_item(key, copy)).copy() for key in group.expressions]
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


_BELOW = ("from_", "joins", "where")
_WINDOW_PARTS = frozenset({*_BELOW, "expressions", "with_", "distinct", "order", "limit", "offset"})
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
    for part in _BELOW:
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
