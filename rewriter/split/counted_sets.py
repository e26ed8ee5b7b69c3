"""Values in sets that are only counted: ``SELECT COUNT(*) FROM (SELECT a FROM t EXCEPT SELECT a FROM u)``.

Whether a value is in a set hangs on one person where one person alone has it. So sets of values are not listed and
compared, each group shown or hidden by noise; their sizes follow from numbers of different values:

    |A - B| = |A ∪ B| - |B|,   A - B - C = A - (B ∪ C),   |A ∩ B| = |A| + |B| - |A ∪ B|,   and so on for more sets,

each of which is a ``COUNT(DISTINCT (a, …))`` over rows of people, in which NULL is a value as it is one of a set.

Guarantee: the meaning is the same. Sets with a key of a person are those of the person's own rows, and stay as they
are. What else is done with sets of groups is refused where their rows would be those of the groups that noise shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from sqlglot import exp

from rewriter.aggregates import COUNT, function_of
from rewriter.dialects import Dialect
from rewriter.keys import public_keys
from rewriter.refused import Refused
from rewriter.release import Query, release_name
from rewriter.statement import output_name, walk

_COUNTING = frozenset({"expressions", "from_", "order", "limit", "offset"})
"""Parts of a SELECT of one row that counts; the last three choose among one row."""
_MOST_SETS = 4
"""So many sets meet at most: 15 numbers of values."""
_VALUES = "dpsql_values"

Lists = Callable[[exp.Expr], bool]
"""Whether a query lists the groups of rows of people, by no key of a person, and nothing else."""


def counted_sets(tree: exp.Query, lists: Lists) -> exp.Query:
    """``tree``, with numbers of different values wherever rows of set operations are only counted.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT COUNT(*) AS n FROM (SELECT a FROM t EXCEPT SELECT a FROM u) AS s")
    >>> print(counted_sets(tree, lambda query: True).sql(pretty=True))
    SELECT
      (
        (
          SELECT
            COUNT(DISTINCT ("a", TRUE))
          FROM (
            SELECT
              a AS "a"
            FROM t
            UNION ALL
            SELECT
              a AS "a"
            FROM u
          ) AS dpsql_values
        ) - (
          SELECT
            COUNT(DISTINCT ("a", TRUE))
          FROM (
            SELECT
              a AS "a"
            FROM u
          ) AS dpsql_values
        )
      ) AS n
    """
    if tree.find(exp.SetOperation) is None:
        return tree
    root = exp.Subquery(this=tree.copy())
    changed = False
    for select in list(root.find_all(exp.Select)):
        rows = _counted(select)
        size = None if rows is None else _size(rows, lists)
        if size is not None:
            for call in _counts(select):
                call.replace(exp.Paren(this=size.copy()))
            select.set("from_", None)
            changed = True
    found: exp.Query = root.this
    return found.pop() if changed else tree


def _counted(select: exp.Select) -> exp.SetOperation | None:
    """The set operation whose rows a SELECT counts; None where it does anything else."""
    from_ = select.args.get("from_")
    item = None if from_ is None else from_.this
    if {name for name, value in select.args.items() if value} - _COUNTING or not isinstance(item, exp.Subquery):
        return None
    rows = _bare(item.this)
    if not isinstance(rows, exp.SetOperation) or not _counts(select):
        return None
    if any(item.find(exp.Query, exp.Column, exp.Window) for item in select.expressions):
        return None
    calls = [one for item in select.expressions for one in walk(item) if isinstance(one, exp.AggFunc)]
    return rows if len(calls) == len(_counts(select)) else None


def _counts(select: exp.Select) -> list[exp.AggFunc]:
    """The calls that count all rows."""
    calls = [one for item in select.expressions for one in walk(item) if isinstance(one, exp.AggFunc)]
    return [
        one
        for one in calls
        if function_of(one) == COUNT
        and (isinstance(one.this, exp.Star) or (isinstance(one.this, exp.Literal) and not one.expressions))
        and not isinstance(one.parent, exp.Filter | exp.Window)
    ]


def _size(rows: exp.Expr, lists: Lists) -> exp.Expr | None:
    """The number of rows of a set operation, by numbers of different values; None where it is no such set."""
    if not isinstance(rows, exp.SetOperation) or not _is_plain(rows) or len(_widths(rows)) > 1:
        return None
    if (alike := _union(rows, lists)) is not None:
        return _different(alike)
    if not isinstance(rows, exp.Except | exp.Intersect):
        return None
    less: list[exp.Select] = []
    node: exp.Expr = rows
    while isinstance(node, exp.Except) and _is_plain(node):
        right = _union(node.expression, lists)
        if right is None:
            return None
        less += right
        node = _bare(node.this)
    first = _union(node, lists)
    if isinstance(rows, exp.Except):
        return None if first is None else _minus(_different([*first, *less]), _different(less))
    sets = _meeting(rows, lists)
    return None if sets is None or len(sets) > _MOST_SETS else _met(sets)


def _meeting(node: exp.Expr, lists: Lists) -> list[list[exp.Select]] | None:
    """The sets whose intersection a query is, each the union of some lists."""
    node = _bare(node)
    if isinstance(node, exp.Intersect) and _is_plain(node):
        sides = [_meeting(side, lists) for side in (node.this, node.expression)]
        return None if None in sides else [one for side in sides for one in side or ()]
    known = _union(node, lists)
    return None if known is None else [known]


def _met(sets: Sequence[list[exp.Select]]) -> exp.Expr:
    """How many values are in all of some sets, by inclusion and exclusion."""
    signs: dict[int, exp.Expr] = {}
    for count in range(1, len(sets) + 1):
        for some in combinations(sets, count):
            size = _different([one for side in some for one in side])
            sign = count % 2
            signs[sign] = size if sign not in signs else exp.Add(this=signs[sign], expression=size)
    return _minus(signs[1], signs[0]) if 0 in signs else signs[1]


def _union(node: exp.Expr, lists: Lists) -> list[exp.Select] | None:
    """The lists of values whose union a query is; repeated rows change nothing within a set."""
    node = _bare(node)
    if isinstance(node, exp.Union) and _is_plain(node, repeats=True):
        sides = [_union(side, lists) for side in (node.this, node.expression)]
        return None if None in sides else [one for side in sides for one in side or ()]
    return [node] if isinstance(node, exp.Select) and _is_list(node, lists) else None


def _widths(rows: exp.Expr) -> set[int]:
    """How many columns the sides of a set operation have."""
    node = _bare(rows)
    if isinstance(node, exp.SetOperation):
        return _widths(node.this) | _widths(node.expression)
    return {len(node.expressions)}


def _is_list(select: exp.Select, lists: Lists) -> bool:
    if any(item.find(exp.AggFunc) for item in select.expressions):
        return False
    if select.args.get("distinct") or select.args.get("group"):
        return lists(select)
    return lists(select.copy().distinct(copy=False))


def _is_plain(node: exp.SetOperation, *, repeats: bool = False) -> bool:
    """Whether a set operation is one of sets, and has no parts of its own."""
    cut = any(node.args.get(part) for part in ("with_", "order", "limit", "offset", "by_name", "on", "kind", "side"))
    return not cut and (repeats or bool(node.args.get("distinct")))


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Subquery) and not node.alias and not _parts_of(node):
        node = node.this
    return node


def _parts_of(node: exp.Subquery) -> bool:
    return any(value for name, value in node.args.items() if name != "this")


def _different(lists: Sequence[exp.Select]) -> exp.Expr:
    """How many different rows some lists have together."""
    names = [output_name(item) for item in lists[0].expressions]
    if len(set(names)) < len(names):
        names = [f"c{place}" for place, _ in enumerate(names)]
    sides: list[exp.Select] = []
    for one in lists:
        side = one.copy()
        bare = [item.this if isinstance(item, exp.Alias) else item for item in side.expressions]
        named = [exp.alias_(item.copy(), name, quoted=True) for item, name in zip(bare, names, strict=True)]
        side.set("expressions", named)
        side.set("distinct", None)
        side.set("group", None)
        sides.append(side)
    rows: exp.Query = sides[0]
    for side in sides[1:]:
        rows = exp.Union(this=rows, expression=side, distinct=False)
    columns: list[exp.Expr] = [exp.column(exp.to_identifier(name, quoted=True)) for name in names]
    # A row of one value is that value, and NULLs are not counted.
    every = exp.Tuple(expressions=columns if len(columns) > 1 else [*columns, exp.true()])
    count = exp.Count(this=exp.Distinct(expressions=[every]), big_int=True)
    item = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(_VALUES)))
    return exp.Subquery(this=exp.Select(expressions=[count]).from_(item, copy=False))


def _minus(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Sub(
        **{
            side: exp.Paren(this=term) if isinstance(term, exp.Binary) else term
            for side, term in (("this", one), ("expression", other))
        }
    )


# What is left of them


def check_sets(releases: Sequence[Query], outer: exp.Query, dialect: Dialect) -> None:
    """Refuse sets of groups whose rows hang on which groups noise shows. Raises :class:`Refused`.

    A group that was left out of B is not a group that is not in B, and a number of groups that are shown is not the
    number of groups.
    """
    for node in outer.find_all(exp.Except, exp.Intersect):
        word = type(node).__name__.upper()
        sides = [
            [releases[place] for place in _read(side, outer, len(releases))] for side in (node.this, node.expression)
        ]
        if any(query.keys for side in sides for query in side) and _is_aggregated(node, outer):
            raise Refused(
                f"how many groups an {word} has depends on which of them noise shows",
                hint=f"SELECT COUNT(*) FROM (SELECT a FROM … {word} SELECT a FROM …) AS s, with nothing beside it,"
                " is answered by numbers of different values; with the key of the person on both sides, by people",
            )
        if isinstance(node, exp.Except):
            for query in sides[1]:
                if query.keys and public_keys(query.keys, query.filters, dialect) is None:
                    raise Refused(
                        f"groups by {query.keys[0].text} that few people are in are not shown, and so EXCEPT does not"
                        " take them away",
                        hint="select the key of the person on both sides, or count: SELECT COUNT(*) FROM (… EXCEPT …);"
                        f" or the owner can declare the values of {query.keys[0].text}",
                    )


def _read(side: exp.Expr, outer: exp.Query, count: int) -> Iterator[int]:
    """The releases that a side reads, through WITH queries."""
    names = {release_name(number): number for number in range(count)}
    queries = {one.alias: one.this for one in outer.find_all(exp.CTE)}
    seen: set[str] = set()
    stack = [side]
    while stack:
        for table in stack.pop().find_all(exp.Table):
            if table.name in names:
                yield names[table.name]
            elif table.name in queries and table.name not in seen:
                seen.add(table.name)
                stack.append(queries[table.name])


def _is_aggregated(node: exp.Expr, outer: exp.Query) -> bool:
    """Whether an aggregate stands over the rows of a query, or of a WITH query that it is in."""
    around: exp.Expr | None = node
    while around is not None:
        if isinstance(around, exp.Select) and any(
            isinstance(one, exp.AggFunc) for item in around.expressions for one in walk(item)
        ):
            return True
        if isinstance(around, exp.CTE):
            named = [one for one in outer.find_all(exp.Table) if one.name == around.alias]
            return any(_is_aggregated(one, outer) for one in named)
        around = around.parent
    return False
