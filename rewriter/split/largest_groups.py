"""Whether an answer shows only the largest or the smallest groups of a release, and so needs no others.

``ORDER BY … LIMIT`` may stand on the SELECT that aggregates, or on one around it, as BI tools write it: ``SELECT * FROM
(SELECT item, COUNT(*) AS n FROM bought GROUP BY item) AS virtual_table ORDER BY n DESC LIMIT 10``, a WITH query that is
read once, or a chart over such a dataset, ``SELECT item, SUM(n) … GROUP BY item ORDER BY SUM(n) DESC LIMIT 10``.

What is found here only chooses how a release is measured. A SELECT between the release and the LIMIT passes when each
of its rows is a group by itself. Conditions pass that a larger group meets where a smaller one does. Whatever else is
there (other conditions, windows, joins) needs the other groups, and they are measured and sorted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.aggregates import function_of
from rewriter.dialects import MIRRORED
from rewriter.release import Query, Ranked, ReleaseColumn, aggregate_name, key_name, release_name
from rewriter.statement import alias_columns, conjuncts, nodes_of, output_name, unparenthesised

_OTHERS = ("joins", "distinct", "qualify", "windows", "laterals", "fetch")
"""What makes a SELECT need more groups than it shows, or something beside them."""

_NUMBERS = frozenset(
    {exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.DECIMAL, exp.DType.FLOAT, exp.DType.DOUBLE}
)

_Columns = tuple[tuple[str, str | None], ...]
"""Output names, each with the release's column ``k0``, ``a0``, … that it is or rises with, or None."""


def with_rankings(releases: Sequence[Query], outer: exp.Query) -> tuple[Query, ...]:
    """The releases, each with what it is ranked by where ``outer`` shows no groups but its largest or smallest ones."""
    read: dict[str, list[exp.Table]] = {}
    for table in outer.find_all(exp.Table):
        read.setdefault(table.name, []).append(table)
    found = []
    for number, query in enumerate(releases):
        tables = read.get(release_name(number), [])
        plain = (
            len(tables) == 1
            and query.keys
            and not query.sets
            and not query.others
            and query.cumulative is None
            and not query.blocks
        )
        ranked = _ranked(tables[0], query, read) if plain else None
        found.append(query if ranked is None else replace(query, ranked=ranked))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Order:
    """A release's aggregate, by its place, that rows are sorted by."""

    aggregate: int
    descending: bool


@dataclass(frozen=True, slots=True)
class _Level:
    """A SELECT over one item of FROM, whose rows are groups."""

    select: exp.Select
    alias: str
    inside: _Columns

    @property
    def outputs(self) -> _Columns:
        return tuple((output_name(item), self.origin(item)) for item in self.select.expressions)

    @property
    def is_plain(self) -> bool:
        """Whether each row is made of one row of FROM, and of nothing else."""
        parts = ("expressions", "where", "group", "having", "order", "limit", "offset")
        nodes = [node for part in parts for node in nodes_of(self.select.args.get(part))]
        unfit = (
            (exp.Window, exp.Query, exp.Subquery)
            if self._groups
            else (exp.Window, exp.Query, exp.Subquery, exp.AggFunc)
        )
        return not any(self.select.args.get(part) for part in _OTHERS) and all(
            node.find(*unfit) is None for node in nodes
        )

    @property
    def _groups(self) -> bool:
        return self.select.args.get("group") is not None

    def gathers_nothing(self, keys: int) -> bool:
        """Whether GROUP BY, where there is one, leaves every row by itself: all keys of the release are in it."""
        group = self.select.args.get("group")
        if group is None:
            return self.select.args.get("having") is None
        if any(value for part, value in group.args.items() if part != "expressions"):
            return False
        named = {
            self.origin(self._by_position(node)) or self.origin(self._by_output(node)) for node in group.expressions
        }
        return set(map(key_name, range(keys))) <= named

    def order(self, below: _Order | None) -> _Order | None:
        """The order of the rows: by its own ORDER BY, or by the one below where nothing is gathered."""
        order = self.select.args.get("order")
        if order is None:
            return None if self._groups else below
        first = order.expressions[0]
        column = ReleaseColumn.of(self.origin(self._by_output(first.this)) or "")
        if column is None or not column.is_aggregate:
            return None
        return _Order(column.place, bool(first.args.get("desc")))

    def tests(self) -> list[tuple[str | None, bool]]:
        """Its conditions: the column that each asks to be large (True) or small, or None where it is another one."""
        nodes = [self.select.args[part].this for part in ("where", "having") if self.select.args.get(part)]
        return [self._test(test) for node in nodes for test in conjuncts(node)]

    def _test(self, node: exp.Expr) -> tuple[str | None, bool]:
        node = unparenthesised(node)
        form = type(node)
        if form not in MIRRORED:
            return None, False
        left, right = node.this, node.args["expression"]
        if _is_number(left):
            left, right, form = right, left, MIRRORED[form]
        return (self.origin(left) if _is_number(right) else None), form in (exp.GT, exp.GTE)

    def origin(self, node: exp.Expr) -> str | None:
        """The column of the release that an expression is, or rises with."""
        while self._rises_with(node):
            node = node.this
        if not isinstance(node, exp.Column) or node.table not in ("", self.alias):
            return None
        found = [column for name, column in self.inside if name == output_name(node)]
        return found[0] if len(found) == 1 else None

    def _rises_with(self, node: exp.Expr) -> bool:
        """Whether an expression is what it is made of, or rises with it: SUM, too, where each group has one row."""
        if isinstance(node, exp.Cast):
            return node.to.this in _NUMBERS
        if isinstance(node, exp.Coalesce):
            return all(_is_number(other) for other in node.expressions)
        if (function := function_of(node)) is not None and function.same_of_one:
            return self._groups and not isinstance(node.this, exp.Distinct)
        return isinstance(node, exp.Alias | exp.Paren)

    def _by_output(self, node: exp.Expr) -> exp.Expr:
        """What ORDER BY means: an output's position or name come first."""
        if isinstance(node, exp.Column) and not node.table:
            named = [item for item in self.select.expressions if output_name(item) == output_name(node)]
            return named[0] if len(named) == 1 else node
        return self._by_position(node)

    def _by_position(self, node: exp.Expr) -> exp.Expr:
        items: list[exp.Expr] = self.select.expressions
        is_place = isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(items)
        return items[int(node.name) - 1] if is_place else node


def _ranked(table: exp.Table, query: Query, read: Mapping[str, Sequence[exp.Table]]) -> Ranked | None:
    """The groups that the first LIMIT around a release's table keeps."""
    names = [*map(key_name, range(len(query.keys))), *map(aggregate_name, range(len(query.aggregates)))]
    columns: _Columns = tuple((name, name) for name in names)
    tests: list[tuple[str | None, bool]] = []
    item: exp.Expr | None = table
    order: _Order | None = None
    while item is not None:
        select = _select_over(item)
        if select is None:
            return None
        level = _Level(select, item.alias_or_name, columns)
        if not level.is_plain or not level.gathers_nothing(len(query.keys)):
            return None
        tests += level.tests()
        order = level.order(order)
        if select.args.get("limit") is not None or select.args.get("offset") is not None:
            count = groups_wanted(select)
            alike = order is not None and all(
                test == (aggregate_name(order.aggregate), order.descending) for test in tests
            )
            if order is None or count is None or not alike:
                return None
            return Ranked(order.aggregate, count, order.descending)
        item, columns = _reader(select, read), level.outputs
    return None


def _select_over(item: exp.Expr) -> exp.Select | None:
    """The SELECT that reads an item and nothing beside it."""
    from_ = item.parent
    select = from_.parent if isinstance(from_, exp.From) else None
    return select if isinstance(select, exp.Select) else None


def _reader(select: exp.Select, read: Mapping[str, Sequence[exp.Table]]) -> exp.Expr | None:
    """The item of FROM that stands for a SELECT alone, whose columns have the names that they have there."""
    node: exp.Expr = select
    parent = node.parent
    while isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.Subquery):
        node, parent = parent, parent.parent
    items: list[exp.Expr] = [parent] if isinstance(parent, exp.Subquery) else []
    if isinstance(parent, exp.CTE):
        items += (table for name, tables in read.items() if name.lower() == parent.alias.lower() for table in tables)
    named = any(alias_columns(one.args.get("alias")) for one in (parent, *items) if one is not None)
    return items[0] if len(items) == 1 and not named else None


def groups_wanted(select: exp.Expr) -> int | None:
    """How many groups are needed: those shown and those that OFFSET passes over."""
    limit, offset = select.args.get("limit"), select.args.get("offset")
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        plain = options is None or not (options.args.get("percent") or options.args.get("with_ties"))
        shown = _whole(limit.args.get("count")) if plain else None
    elif isinstance(limit, exp.Limit) and {name for name, value in limit.args.items() if value} == {"expression"}:
        shown = _whole(limit.expression)
    else:
        return None
    passed = 0 if offset is None else _whole(offset.expression)
    return shown + passed if shown and passed is not None else None


def _whole(node: exp.Expr | None) -> int | None:
    return int(node.name) if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() else None


def _is_number(node: exp.Expr) -> bool:
    node = node.this if isinstance(node, exp.Neg) else node
    return isinstance(node, exp.Literal) and not node.is_string
