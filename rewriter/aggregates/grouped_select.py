"""A SELECT with aggregates, taken apart: the aggregates that are measured, and the expressions over them.

``SELECT 2 * COUNT(*) AS n FROM patient GROUP BY sex HAVING COUNT(*) > 5`` measures COUNT(*) by sex; ``2 * a0 AS n`` and
``a0 > 5`` are post-processing. The same cut serves releases, where the rest runs over noisy tables, and per-person
aggregates, where the rest is a projection of private rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from rewriter.aggregates.aggregate_calls import compile_aggregate
from rewriter.aggregates.debiased_calls import with_filter
from rewriter.dialects import Dialect, named_table
from rewriter.expressions import compile_expression, in_place_of, position_of, typed
from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.relations import BlockScope, reports_in, resolved
from rewriter.release import Aggregate, Key, aggregate_name, key_name, mark_name
from rewriter.statement import (
    children_of,
    conjuncts,
    has_aggregate,
    is_aggregate,
    is_window_function,
    only,
    output_name,
    unparenthesised,
    walk,
    written,
)

_SELECT_PARTS = frozenset(
    {
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "offset",
        "distinct",
        "with_",
        "qualify",
    }
)
MAX_AGGREGATES = 100
MAX_SETS = 64
"""The most grouping sets of one GROUP BY: CUBE of six keys."""
_GROUP_HINT = "GROUP BY a, b, or ROLLUP (a, b), CUBE (a, b), GROUPING SETS ((a, b), (a), ())"


@dataclass(frozen=True, slots=True)
class Grouped:
    """A SELECT taken apart. ``outer`` has a select list, HAVING as WHERE, ORDER BY and LIMIT over ``table``.

    ``calls`` are the aggregates as they were written. ``sets`` are the grouping sets, as places of keys; none where
    there is one GROUP BY by all of them.
    """

    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    outer: exp.Select
    calls: tuple[exp.Expr, ...]
    sets: tuple[tuple[int, ...], ...] = ()


def aggregates_of(node: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost aggregate calls of an expression, with their FILTER; not those that a window makes."""
    stack = [node]
    while stack:
        found = stack.pop()
        if is_aggregate(found) and not is_window_function(found) and not isinstance(found, exp.Grouping):
            yield found
        elif not isinstance(found, exp.Query):
            stack.extend(children_of(found))


def check_select(select: exp.Select) -> None:
    """Refuse parts of a SELECT over people that no rule reads."""
    only(select, _SELECT_PARTS, "a SELECT over people")


def take_apart(
    select: exp.Select,
    scope: BlockScope,
    dialect: Dialect,
    table: str,
    output_names: Sequence[str],
    *,
    marked: bool = False,
    reported: Sequence[exp.Expr] = (),
) -> Grouped:
    """Replace keys and aggregates by the columns ``k0`` … and ``a0`` … of ``table``, in a copy of ``select``.

    ``marked``: the table says of each row what it adds up over, though there is one grouping set. ``reported`` are
    conditions over what people randomized: each aggregate asks them.
    """
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise Refused("DISTINCT ON is not answered over people", hint="use GROUP BY with an aggregate")
    items = [canonical(item, scope) for item in select.expressions]
    bare = [item.this if isinstance(item, exp.Alias) else item for item in items]
    group = select.args.get("group")
    grouping: list[list[exp.Expr]] = [[]]
    if group is not None:
        grouping = _grouping_sets(group, bare, scope)
    elif distinct is not None and not any(has_aggregate(item) for item in bare):
        # SELECT DISTINCT a, b is GROUP BY a, b.
        grouping, distinct = [list(bare)], None
    grouping = [[unparenthesised(key) for key in one] for one in grouping]
    if group is not None and len(grouping) == 1:
        parts = [*bare, *(part for name in ("having", "order") if (part := select.args.get(name)) is not None)]
        grouping = [[*grouping[0], *_determined(grouping[0], parts, scope)]]
    keys = list(dict.fromkeys(key for one in grouping for key in one))
    several = len(grouping) > 1
    named = {item.alias.lower() for item in items if isinstance(item, exp.Alias)}
    replacer = _Replacer(
        keys, scope, dialect, table, several or marked, [canonical(one, scope) for one in reported], named
    )
    expressions = [
        exp.alias_(replacer.replace(item), exp.to_identifier(name, quoted=True), copy=False)
        for item, name in zip(bare, output_names, strict=True)
    ]
    outer = exp.Select(expressions=expressions).from_(named_table(table), copy=False)
    if (having := select.args.get("having")) is not None:
        # Without a key there is always one group, and the condition asks whether it has a row.
        shown = not keys or _shows_rows(select)
        tests = [test.copy() for test in conjuncts(having.this) if shown or not _is_certain(test)]
        if tests:
            outer.set("where", exp.Where(this=replacer.replace(canonical(exp.and_(*tests, copy=False), scope))))
    if distinct is not None:
        outer.set("distinct", exp.Distinct())
    if (order := select.args.get("order")) is not None:
        outer.set("order", exp.Order(expressions=[_order(o, scope, replacer, output_names) for o in order.expressions]))
    for part in ("limit", "offset"):
        if (value := select.args.get(part)) is not None:
            outer.set(part, value.copy())
    return Grouped(
        tuple(_key(key, scope, dialect) for key in keys),
        replacer.aggregates(),
        outer,
        replacer.calls(),
        tuple(tuple(sorted({keys.index(key) for key in one})) for one in grouping) if several else (),
    )


def _key(node: exp.Expr, scope: BlockScope, dialect: Dialect) -> Key:
    """A grouping expression; a column that people randomized is one only as it is."""
    if isinstance(node, exp.Column) and reports_in(node, scope):
        return Key(scope.column(node), written(node), node)
    return Key(typed(compile_expression(node, scope, dialect), dialect), written(node))


def _determined(keys: Sequence[exp.Expr], parts: Sequence[exp.Expr], scope: BlockScope) -> list[exp.Expr]:
    """The columns beside the keys that one row has of each group: of a table whose own key is grouped by.

    As in PostgreSQL: ``SELECT region.name, region.country, COUNT(*) … GROUP BY region.name``. To group by them as well
    changes nothing.
    """
    columns = [column for part in parts for column in _outside_aggregates(part, keys)]
    if not columns or not keys:
        return []
    grouped = {(key.table, key.name) for key in keys if isinstance(key, exp.Column)}
    found: dict[exp.Expr, None] = {}
    for column in columns:
        try:
            source, name = scope.resolve(column)
        except Refused:
            continue
        own = (*(frozenset({one}) for one in source.unique_columns), *source.unique_keys)
        if (source.alias, name) not in grouped and any({(source.alias, one) for one in key} <= grouped for key in own):
            found[resolved(source, name)] = None
    return list(found)


def _outside_aggregates(node: exp.Expr, keys: Sequence[exp.Expr]) -> Iterator[exp.Column]:
    """The columns that an expression reads of a group itself, beside its ``keys``."""
    stack = [node]
    while stack:
        found = stack.pop()
        if found in keys:
            continue
        if isinstance(found, exp.Column):
            yield found
        elif not isinstance(found, exp.Query) and (not is_aggregate(found) or is_window_function(found)):
            stack.extend(children_of(found))


def _is_certain(test: exp.Expr) -> bool:
    """``COUNT(1) > 0``, which Tableau adds: a group that is there has a row. A count that is not shown is not paid."""
    if not isinstance(test, exp.GT | exp.NEQ) or not _counts_rows(test.this):
        return False
    return isinstance(test.expression, exp.Literal) and test.expression.name == "0"


def _shows_rows(select: exp.Select) -> bool:
    """Whether the number of rows is measured anyway, so that groups can be left out where it is shown as 0."""
    parts = [*select.expressions, *(item for item in [select.args.get("order")] if item is not None)]
    counts = (count for part in parts for count in part.find_all(exp.Count))
    return any(_counts_rows(count) and not isinstance(count.parent, exp.Filter | exp.Window) for count in counts)


def _counts_rows(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Star | exp.Literal)


def canonical(node: exp.Expr, scope: BlockScope) -> exp.Expr:
    """A copy in which each column of FROM is written in one way, so that equal expressions are equal trees.

    Columns inside of subqueries, and names that only an output column has, stay as they are.
    """
    root = exp.Paren(this=node.copy())
    for column in [found for found in walk(root) if isinstance(found, exp.Column)]:
        try:
            source, name = scope.resolve(column)
        except Refused:
            continue
        replacement = resolved(source, name)
        in_place_of(replacement.this, column.this)
        column.replace(in_place_of(replacement, column))
    copy: exp.Expr = root.this
    copy.pop()
    return copy


def _grouping_sets(group: exp.Expr, items: Sequence[exp.Expr], scope: BlockScope) -> list[list[exp.Expr]]:
    """The grouping sets of GROUP BY: one of each of its elements, in all combinations, as the SQL standard has it."""
    only(group, frozenset({"expressions"}), "GROUP BY", _GROUP_HINT)
    _check_size(group.expressions)

    def key(node: exp.Expr) -> exp.Expr:
        return _group_key(node, items, scope)

    chosen = [_flat(one) for one in product(*(_sets_of(node, key) for node in group.expressions))]
    # GROUP BY DISTINCT
    return [list(one) for one in dict.fromkeys(map(tuple, chosen))] if group.args.get("all") is False else chosen


def _check_size(elements: Sequence[exp.Expr]) -> None:
    """Count the sets before they are made."""
    if _count_sets(elements) > MAX_SETS:
        raise Refused(
            f"GROUP BY has more than {MAX_SETS} grouping sets", hint="ask for fewer at once", sqlstate=TOO_COMPLEX
        )


def _count_sets(elements: Sequence[exp.Expr]) -> int:
    total = 1
    for node in elements:
        if isinstance(node, exp.Rollup):
            total *= len(node.expressions) + 1
        elif isinstance(node, exp.Cube):
            total *= 2 ** min(len(node.expressions), 30)
        elif isinstance(node, exp.GroupingSets):
            total *= sum(_count_sets([element]) for element in node.expressions)
    return total


def _sets_of(node: exp.Expr, key: Callable[[exp.Expr], exp.Expr]) -> list[list[exp.Expr]]:
    """The grouping sets of one element of GROUP BY."""
    if isinstance(node, exp.Rollup | exp.Cube):
        only(node, frozenset({"expressions"}), type(node).__name__.upper(), _GROUP_HINT)
        parts = [_members(element, key) for element in node.expressions]
        if isinstance(node, exp.Rollup):
            return [_flat(parts[:length]) for length in range(len(parts), -1, -1)]
        return [
            _flat([part for part, taken in zip(parts, mask, strict=True) if taken])
            for mask in product((True, False), repeat=len(parts))
        ]
    if isinstance(node, exp.GroupingSets):
        only(node, frozenset({"expressions"}), "GROUPING SETS", _GROUP_HINT)
        return [one for element in node.expressions for one in _sets_of(element, key)]
    return [_members(node, key)]


def _flat(lists: Iterable[list[exp.Expr]]) -> list[exp.Expr]:
    return [key for keys in lists for key in keys]


def _members(node: exp.Expr, key: Callable[[exp.Expr], exp.Expr]) -> list[exp.Expr]:
    """The keys of one element: of ``(a, b)`` both, of ``()`` none."""
    if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
        raise Refused("this GROUP BY is not answered", hint=_GROUP_HINT)
    if isinstance(node, exp.Tuple):
        only(node, frozenset({"expressions"}), "GROUP BY", _GROUP_HINT)
        return [key(element) for element in node.expressions]
    return [key(node)]


def _group_key(node: exp.Expr, items: Sequence[exp.Expr], scope: BlockScope) -> exp.Expr:
    """An ordinal is a select item. A name is an input column: output names were resolved with all names."""
    node = unparenthesised(node)
    if isinstance(node, exp.Literal) and not node.is_string:
        if not node.is_int or not 1 <= int(node.this) <= len(items):
            raise Refused(
                f"GROUP BY position {node.this} is not in the select list",
                hint=f"its columns are counted from 1 to {len(items)}",
                sqlstate="42P10",
                position=position_of(node),
            )
        return items[int(node.this) - 1].copy()
    return canonical(node, scope)


def _order(node: exp.Expr, scope: BlockScope, replacer: _Replacer, names: Sequence[str]) -> exp.Expr:
    """ORDER BY takes output names first; anything else is an expression over keys and aggregates."""
    this = unparenthesised(node.this)
    is_output = isinstance(this, exp.Column) and not this.table and output_name(this) in names
    is_ordinal = isinstance(this, exp.Literal)
    ordered: exp.Expr = node.copy()
    if is_output:
        ordered.set("this", exp.column(exp.to_identifier(output_name(this), quoted=True)))
    elif not is_ordinal:
        ordered.set("this", replacer.replace(canonical(this, scope)))
    return ordered


class _Replacer:
    """Swaps keys and aggregates for columns of the release, and collects the aggregates."""

    def __init__(
        self,
        keys: Sequence[exp.Expr],
        scope: BlockScope,
        dialect: Dialect,
        table: str,
        several: bool,
        reported: Sequence[exp.Expr],
        named: Collection[str] = (),
    ) -> None:
        """``named`` are the names that SELECT gives its items."""
        self._named = named
        self._places = {key: place for place, key in enumerate(keys)}
        self._several = several
        self._found: dict[exp.Expr, int] = {}
        self._scope = scope
        self._dialect = dialect
        self._table = table
        self._reported = reported

    def aggregates(self) -> tuple[Aggregate, ...]:
        if len(self._found) > MAX_AGGREGATES:
            raise Refused(
                f"there are more than {MAX_AGGREGATES} aggregates in one SELECT",
                hint="use GROUP BY, or several statements",
                sqlstate=TOO_COMPLEX,
            )
        return tuple(compile_aggregate(node, self._scope, self._dialect) for node in self.calls())

    def calls(self) -> tuple[exp.Expr, ...]:
        return tuple(with_filter(node, self._reported) for node in self._found)

    def replace(self, node: exp.Expr) -> exp.Expr:
        """``node`` over the release's columns. Raises :class:`Refused` where a column is neither key nor aggregated."""
        root = exp.Paren(this=node)
        self._visit(root, [node])
        result: exp.Expr = root.this
        result.pop()
        return result

    def _visit(self, root: exp.Expr, stack: list[exp.Expr]) -> None:
        while stack:
            node = stack.pop()
            name = self._column_for(node)
            if isinstance(node, exp.Grouping):
                node.replace(self._grouping(node))
            elif name is not None:
                node.replace(exp.column(name, self._table))
            elif isinstance(node, exp.Column):
                self._refuse(node)
            elif not isinstance(node, exp.Query):
                stack.extend(children_of(node))

    def _column_for(self, node: exp.Expr) -> str | None:
        if not isinstance(node, exp.Query) and node in self._places:
            return key_name(self._places[node])
        if is_aggregate(node) and not is_window_function(node) and not isinstance(node, exp.Grouping):
            return aggregate_name(self._found.setdefault(node.copy(), len(self._found)))
        return None

    def _grouping(self, node: exp.Grouping) -> exp.Expr:
        """A bit for each argument, the last one the lowest: 1 where the row adds up over that key."""
        only(node, frozenset({"expressions"}), "GROUPING")
        bits: exp.Expr = exp.Literal.number(0)
        for argument in node.expressions:
            place = self._places.get(unparenthesised(argument))
            if place is None:
                raise Refused(
                    "an argument of GROUPING is not in GROUP BY", hint="name a key of GROUP BY", sqlstate="42803"
                )
            if self._several:
                bit = exp.column(mark_name(place), self._table)
                twice = exp.Mul(this=bits, expression=exp.Literal.number(2))
                bits = bit if isinstance(bits, exp.Literal) else exp.Paren(this=exp.Add(this=twice, expression=bit))
        return bits

    def _refuse(self, node: exp.Column) -> None:
        try:
            self._scope.resolve(node)
        except Refused as unknown:
            if node.args.get("table") or node.name.lower() not in self._named:
                raise
            hint = (
                f"{node.name} is a name of SELECT, which stands only by itself in GROUP BY and ORDER BY: write its"
                " expression"
            )
            raise Refused(
                unknown.message, hint=hint, sqlstate=unknown.sqlstate, position=position_of(node.this)
            ) from None
        raise Refused(
            f"column {node.name!r} is neither in GROUP BY nor in an aggregate",
            hint=f"add {node.name} to GROUP BY, or ask for COUNT, SUM or AVG of it",
            sqlstate="42803",
            position=position_of(node.this),
        )


def parenthesised(tree: exp.Query) -> exp.Query:
    """A side of UNION; one with an order or a limit of its own keeps it to itself in parentheses."""
    own = any(tree.args.get(part) for part in ("order", "limit", "offset", "fetch", "with_"))
    return exp.Subquery(this=tree) if own else tree
