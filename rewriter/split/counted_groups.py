"""Groups that are only counted, measured as distinct values: ``SELECT COUNT(*) FROM (SELECT DISTINCT a, b FROM t)``.

The number of groups is the number of different values that people have: ``COUNT(DISTINCT (a, b))``, in which NULL is a
value as it is a group. It is not the number of groups that a policy declares or that are large enough to be named.

Guarantee: the meaning is the same. Other counts beside it, and conditions on the groups, are put over the rows of
people; a query that does anything else with the groups is left as it is.

A list of values of people in which a released or a public value is looked up is put so as well: its groups are
released, and rows of people are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from rewriter.aggregates import COUNT, function_of
from rewriter.declared import Catalog
from rewriter.statement import folded, from_items, grouped_item, output_name, walk

_INNER = frozenset({"expressions", "from_", "joins", "where", "distinct", "group"})
_OUTER = frozenset({"expressions", "from_", "where", "group", "having", "order", "limit", "offset", "with_"})

Persons = Callable[[exp.Table], frozenset[str] | None]
"""The columns of a table of people by which they are told apart, in lower case; None where it has no rows of people."""


def persons_of(catalog: Catalog) -> Persons:
    """How the people of each table are told apart."""

    def persons(item: exp.Table) -> frozenset[str] | None:
        known = not item.catalog and isinstance(item.this, exp.Identifier)
        table = catalog.find(item.name, bool(item.this.args.get("quoted")), item.db) if known else None
        if table is None or table.public:
            return None
        own = {column.name.lower() for column in table.columns.values() if column.unique}
        unit = {catalog.unit[1].lower()} if catalog.unit is not None and catalog.is_entity(table) else set()
        return frozenset(own | unit | {hop.column.lower() for hop in table.path[:1] if not hop.also})

    return persons


def counted_groups(tree: exp.Query, persons: Persons) -> exp.Query:
    """``tree``, with distinct values counted wherever groups of people are. Groups by a person are left to the person.

    >>> import sqlglot
    >>> sql = "SELECT COUNT(*) AS n FROM (SELECT DISTINCT a, b FROM t WHERE c > 1) AS g WHERE g.a > 2"
    >>> tree = sqlglot.parse_one(sql)
    >>> print(counted_groups(tree, lambda _: frozenset()).sql())
    SELECT COUNT(DISTINCT (a, b)) AS n FROM t WHERE (c > 1) AND (a > 2)
    """
    if all(_over_rows(select, persons) is None for select in tree.find_all(exp.Select)):
        return tree
    root = exp.Subquery(this=tree.copy())
    for select in list(root.find_all(exp.Select)):
        if (found := _over_rows(select, persons)) is not None:
            select.replace(found)
    counted: exp.Query = root.this
    return counted.pop()


def groups_of_list(query: exp.Expr) -> exp.Select | None:
    """The groups of the values of ``x IN (SELECT …)``: a value is in a list however often it is listed. None for a
    query that is no such list.

    >>> import sqlglot
    >>> groups_of_list(sqlglot.parse_one("x IN (SELECT a AS b FROM t WHERE c > 1)").args["query"].this).sql()
    'SELECT a AS b FROM t WHERE c > 1 GROUP BY a'
    """
    listed = query.parent.parent if isinstance(query.parent, exp.Subquery) else query.parent
    if not isinstance(listed, exp.In) or not isinstance(query, exp.Select):
        return None
    if {name for name, value in query.args.items() if value} - {"expressions", "from_", "joins", "where"}:
        return None
    values = [item.this if isinstance(item, exp.Alias) else item for item in query.expressions]
    if not all(value.find(exp.Column) and not value.find(exp.Window, exp.Query, exp.AggFunc) for value in values):
        return None
    groups: exp.Select = query.copy()
    groups.set("group", exp.Group(expressions=[value.copy() for value in values]))
    return groups


def lists_groups(query: exp.Expr, persons: Persons) -> bool:
    """Whether a query is the groups of rows of people, and nothing else."""
    if not isinstance(query, exp.Select) or {name for name, value in query.args.items() if value} - _INNER:
        return False
    items = from_items(query)
    tables = [item for item in items if isinstance(item, exp.Table)]
    known = [columns for item in tables if (columns := persons(item)) is not None]
    if not known or len(tables) < len(items):
        return False
    bare = [item.this if isinstance(item, exp.Alias) else item for item in query.expressions]
    if any(item.find(exp.Window, exp.Query) for item in bare):
        return False
    if any(isinstance(one, exp.Column) and one.name.lower() in columns for one in bare for columns in known):
        return False
    distinct, group = query.args.get("distinct"), query.args.get("group")
    if distinct is not None:
        return not distinct.args.get("on") and group is None and not any(item.find(exp.AggFunc) for item in bare)
    if group is None or any(value for part, value in group.args.items() if part != "expressions"):
        return False
    keys = [grouped_item(key, query) for key in group.expressions]
    # What GROUP BY has and the select list has not would be counted as well.
    named = all(key in bare and key.find(exp.AggFunc) is None for key in keys)
    return named and all(item in keys or item.find(exp.AggFunc) is not None for item in bare)


def _over_rows(select: exp.Select, persons: Persons) -> exp.Select | None:
    """A SELECT that counts groups, over the rows of these; None where it does something else with them."""
    if {name for name, value in select.args.items() if value} - _OUTER:
        return None
    from_ = select.args.get("from_")
    item = None if from_ is None else from_.this
    if not isinstance(item, exp.Subquery) or not lists_groups(item.this, persons):
        return None
    inner: exp.Select = item.this
    alias = item.args.get("alias")
    given = [] if alias is None else [name.name.lower() for name in alias.args.get("columns") or ()]
    bare = [one.this if isinstance(one, exp.Alias) else one for one in inner.expressions]
    names = [*given, *(output_name(one) for one in inner.expressions[len(given) :])]
    if len(set(names)) < len(names) or any(part.find(exp.Query, exp.Window) for part in _parts(select)):
        return None
    values = {name: one for name, one in zip(names, bare, strict=True) if one.find(exp.AggFunc) is None}
    if not _counts(select):
        return None
    copy: exp.Select = select.copy()
    if not all(_substituted(part, values, item.alias_or_name.lower()) for part in _parts(copy)):
        return None
    for call in [node for part in _parts(copy) for node in walk(part) if isinstance(node, exp.AggFunc)]:
        _distinct(call, list(values.values()))
    tests = [one.args["where"].this for one in (inner, copy) if one.args.get("where") is not None]
    copy.set("from_", inner.args["from_"].copy())
    copy.set("joins", [join.copy() for join in inner.args.get("joins") or ()])
    where = [exp.Paren(this=test.copy()) if len(tests) > 1 else test.copy() for test in tests]
    copy.set("where", exp.Where(this=exp.and_(*where, copy=False)) if tests else None)
    return copy


def _parts(select: exp.Select) -> list[exp.Expr]:
    nodes = (select.args.get(part) for part in ("where", "group", "having", "order"))
    return [*select.expressions, *(node for node in nodes if node is not None)]


def _counts(select: exp.Select) -> bool:
    """Whether some groups are counted, and nothing is computed of them that repeated rows would change."""
    calls = [node for part in _parts(select) for node in walk(part) if isinstance(node, exp.AggFunc)]
    counts = [call for call in calls if function_of(call) == COUNT]
    rest = [function_of(call) for call in calls if function_of(call) != COUNT]
    where = select.args.get("where")
    bare = where is None or where.find(exp.AggFunc) is None
    return bool(counts) and bare and all(function is not None and function.repeatable for function in rest)


def _substituted(part: exp.Expr, values: Mapping[str, exp.Expr], alias: str) -> bool:
    """Put expressions over rows of people in the place of the names that their groups had; False for another name. A
    name alone is an output, in ORDER BY."""
    for column in [one for one in part.find_all(exp.Column) if one.table]:
        value = values.get(folded(column))
        if column.table.lower() != alias or value is None:
            return False
        whole: exp.Expr = value.copy() if isinstance(value, exp.Column) else exp.Paren(this=value.copy())
        if isinstance(column.parent, exp.Select) and column.arg_key == "expressions":
            whole = exp.alias_(whole, folded(column), quoted=True)
        column.replace(whole)
    return True


def _distinct(call: exp.AggFunc, keys: list[exp.Expr]) -> None:
    """COUNT over groups, as a count of distinct values of the rows of these groups."""
    if function_of(call) != COUNT or isinstance(call.this, exp.Distinct):
        return
    counted, values = call.this, [key.copy() for key in keys]
    # A row of one value is that value, and NULLs are not counted.
    every = exp.Tuple(expressions=values if len(values) > 1 else [*values, exp.true()])
    again = exp.Count(this=exp.Distinct(expressions=[every]), big_int=True)
    if isinstance(counted, exp.Star | exp.Literal):
        call.replace(again)
        return
    present = exp.Not(this=exp.Is(this=exp.Paren(this=counted.copy()), expression=exp.Null()))
    if isinstance(call.parent, exp.Filter):
        where = call.parent.expression
        where.set("this", exp.and_(where.this.copy(), present, copy=False))
        call.replace(again)
        return
    call.replace(exp.Filter(this=again, expression=exp.Where(this=present)))
