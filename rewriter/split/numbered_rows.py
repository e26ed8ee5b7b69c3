"""Rows of people with numbers among all: a rank in the order of a value, and how many rows there are.

Guarantee: a column counts as a rank, or as the number of rows, where it is that of the very rows of an item of FROM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from rewriter.statement import folded, is_grouped, output_name, unaliased, unparenthesised

_INNER = frozenset({"expressions", "from_", "joins", "where", "group", "having"})
_ALONE = frozenset({"expressions", "from_"})
_MOST_TILES = 10

WithQueries = Mapping[str, Sequence[exp.CTE]]
"""Queries of WITH by their folded names: several may have one."""


def is_ranking(window: exp.Window) -> bool:
    return rank_kind(window) != ""


def rank_kind(node: exp.Expr | None) -> str:
    """``number``, ``share``, or ``tile 4``: what a window function numbers rows by; empty where it does not."""
    if not isinstance(node, exp.Window) or node.args.get("alias") or node.args.get("order") is None:
        return ""
    spec, call = node.args.get("spec"), node.this
    if isinstance(call, exp.RowNumber):
        return "" if spec else "number"
    if isinstance(call, exp.CumeDist):
        return "" if spec else "share"
    if isinstance(call, exp.Ntile):
        tiles = call.this
        known = isinstance(tiles, exp.Literal) and tiles.is_int and 1 < int(tiles.name) <= _MOST_TILES
        return f"tile {tiles.name}" if known and not spec else ""
    ones = (isinstance(call, exp.Sum) and isinstance(call.this, exp.Literal) and call.this.name == "1") or (
        isinstance(call, exp.Count) and counts_rows(call)
    )
    if not ones or spec is None or str(spec.args.get("kind")).upper() != "ROWS":
        return ""
    ends = tuple(str(spec.args.get(end) or "").upper() for end in ("start", "start_side", "end"))
    return "number" if ends in (("UNBOUNDED", "PRECEDING", "CURRENT ROW"), ("UNBOUNDED", "PRECEDING", "")) else ""


@dataclass(slots=True)
class NumberedRows:
    """Numbered rows, as an item of FROM: the SELECT of them and the expressions of their columns, by name.

    ``totals`` are the columns that count them; ``names`` are the names that stand for these rows in FROM.
    """

    rows: exp.Select
    alias: str
    names: frozenset[str]
    outputs: Mapping[str, exp.Expr]
    totals: set[str] = field(default_factory=set)

    @property
    def windows(self) -> dict[str, exp.Window]:
        return {name: node for name, node in self.outputs.items() if isinstance(node, exp.Window)}

    @property
    def ranks(self) -> dict[str, str]:
        found = {name: rank_kind(node) for name, node in self.outputs.items()}
        return {name: kind for name, kind in found.items() if kind}

    def is_one_value(self, name: str, named: WithQueries) -> bool:
        """Whether a column is an aggregate of a table of its own, the same on all rows: ``(SELECT MIN(x) FROM t)``."""
        node = self.outputs.get(name)
        if isinstance(node, exp.Column) and not self.rows.args.get("joins"):
            below = query_of(self.rows.args["from_"].this, named)
            items = () if below is None else below.expressions
            node = next((unaliased(item) for item in items if output_name(item) == folded(node)), None)
        select = unparenthesised(node.this) if isinstance(node, exp.Subquery) else None
        if not isinstance(select, exp.Select) or {part for part, value in select.args.items() if value} - _ALONE:
            return False
        return isinstance(unaliased(select.expressions[0]), exp.AggFunc)

    def is_total(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Column):
            return folded(node) in self.totals
        return isinstance(node, exp.Subquery) and self.counts(node)

    def counts(self, node: exp.Subquery) -> bool:
        """``(SELECT COUNT(*) FROM r)`` of the numbered rows themselves."""
        select = unparenthesised(node.this)
        if not isinstance(select, exp.Select) or {part for part, value in select.args.items() if value} - _ALONE:
            return False
        count = unaliased(select.expressions[0]) if len(select.expressions) == 1 else None
        item = select.args["from_"].this if select.args.get("from_") is not None else None
        return (
            isinstance(count, exp.Count)
            and counts_rows(count)
            and isinstance(item, exp.Table)
            and not item.db
            and item.name.lower() in self.names
        )


def numbered_rows(item: exp.Expr | None, named: WithQueries) -> NumberedRows | None:
    """The numbered rows that an item of FROM is, through a SELECT that does nothing but count them beside."""
    query = query_of(item, named)
    if item is None or query is None:
        return None
    alias = item.alias_or_name.lower()
    own = frozenset({item.name.lower()}) if isinstance(item, exp.Table) else frozenset()
    parts = {name for name, value in query.args.items() if value}
    outputs = {output_name(one): unaliased(one) for one in query.expressions}
    if any(map(rank_kind, outputs.values())):
        return None if parts - _INNER else NumberedRows(query, alias, own, outputs)
    if parts - {"expressions", "from_"} or is_grouped(query):
        return None
    inner = numbered_rows(query.args["from_"].this, named) if query.args.get("from_") is not None else None
    if inner is None:
        return None
    passed: dict[str, exp.Expr] = {}
    totals: set[str] = set()
    for name, node in outputs.items():
        if isinstance(node, exp.Column) and folded(node) in inner.outputs:
            passed[name] = inner.outputs[folded(node)]
        elif isinstance(node, exp.Subquery) and inner.counts(node):
            totals.add(name)
        else:
            return None
    return NumberedRows(inner.rows, alias, own | inner.names, passed, totals)


def find_totals(ranked: NumberedRows, keys: Sequence[str]) -> None:
    """Notes the columns of the numbered rows that count them."""
    for name, node in ranked.outputs.items():
        if counts_all(node, ranked.rows, keys, dict(ranked.outputs)) or (
            isinstance(node, exp.Subquery) and not keys and ranked.counts(node)
        ):
            ranked.totals.add(name)


def folded_table(column: exp.Column) -> str:
    return column.table.lower()


def with_queries(root: exp.Expr) -> WithQueries:
    """The WITH queries of a tree, by their folded names."""
    found: dict[str, list[exp.CTE]] = {}
    for cte in root.find_all(exp.CTE):
        found.setdefault(cte.alias.lower(), []).append(cte)
    return found


def query_of(item: exp.Expr | None, named: WithQueries) -> exp.Select | None:
    """The SELECT that a subquery is, or that the one WITH query of its name is."""
    if isinstance(item, exp.Subquery):
        return item.this if isinstance(item.this, exp.Select) else None
    if not isinstance(item, exp.Table) or item.db:
        return None
    found = named.get(item.name.lower(), [])
    if len(found) != 1 or found[0].args["alias"].args.get("columns"):
        return None
    return found[0].this if isinstance(found[0].this, exp.Select) else None


def partitions(window: exp.Window, keys: Sequence[str], outputs: dict[str, exp.Expr]) -> bool:
    """Whether a window's partitions are the groups by the keys."""
    by = [part for part in window.args.get("partition_by") or [] if not isinstance(part, exp.Literal)]
    wanted = [outputs.get(key) for key in keys]
    return len(by) == len(wanted) and all(
        any(one is not None and same_columns(part, one) for one in wanted) for part in by
    )


def same_columns(one: exp.Expr, other: exp.Expr) -> bool:
    return _bare(unparenthesised(one)) == _bare(unparenthesised(other))


def _bare(node: exp.Expr) -> exp.Expr:
    """An expression with its columns by their names alone, where that is all that it is."""
    return exp.column(folded(node)) if isinstance(node, exp.Column) else node


def counts_all(node: exp.Expr, rows: exp.Select, keys: Sequence[str], outputs: dict[str, exp.Expr]) -> bool:
    """Whether an expression counts the rows of a query: ``COUNT(*) OVER ()`` by the same keys, or the count in a
    subquery of the same FROM, where nothing but a person's key is grouped by."""
    if isinstance(node, exp.Window):
        counts = isinstance(node.this, exp.Count) and counts_rows(node.this)
        return counts and not node.args.get("order") and partitions(node, keys, outputs)
    select = unparenthesised(node.this) if isinstance(node, exp.Subquery) else None
    if not isinstance(select, exp.Select) or keys or len(select.expressions) != 1:
        return False
    count = unaliased(select.expressions[0])
    parts = {name for name, value in select.args.items() if value}
    if not isinstance(count, exp.Count) or parts - {"expressions", "from_", "where"}:
        return False
    if any(select.args.get(part) != rows.args.get(part) for part in ("from_", "where")) or rows.args.get("joins"):
        return False
    group = rows.args.get("group")
    if rows.args.get("having"):
        return False
    if group is None:
        return counts_rows(count) and not is_grouped(rows)
    of = count.this.expressions if isinstance(count.this, exp.Distinct) else []
    return len(of) == len(group.expressions) == 1 and same_columns(of[0], group.expressions[0])


def counts_rows(count: exp.Count) -> bool:
    return isinstance(count.this, exp.Star | exp.Literal)


def without_join_of_counts(
    select: exp.Select, table: str, total: str, alias: str, keys: Sequence[str], rows: exp.Select, named: WithQueries
) -> bool:
    """Takes away the join with the counts of the groups, ``(SELECT key, COUNT(*) AS total FROM … GROUP BY key)``, of
    the same rows; leaves of it that a key is not NULL. False where the join is something else."""
    joins = list(select.args.get("joins") or ())
    if len(joins) != 1 or len(keys) != 1 or joins[0].side or joins[0].args.get("on") is None:
        return False
    join = joins[0]
    query = query_of(join.this, named)
    on = unparenthesised(join.args["on"])
    name = join.this.alias_or_name.lower()
    if query is None or table not in ("", name) or not isinstance(on, exp.EQ):
        return False
    outputs = {output_name(item): unaliased(item) for item in query.expressions}
    sides = {(folded_table(side), folded(side)) for side in (on.this, on.expression) if isinstance(side, exp.Column)}
    group = query.args.get("group")
    if {name for name, value in query.args.items() if value} - {"expressions", "from_", "group"}:
        return False
    count = outputs.get(total)
    if group is None or len(group.expressions) != 1 or not isinstance(count, exp.Count) or not counts_rows(count):
        return False
    key = keys[0]
    known = outputs.get(key) is not None and same_columns(group.expressions[0], outputs[key])
    if sides != {(alias, key), (name, key)} or not known:
        return False
    if query.args["from_"].this != rows.args["from_"].this or rows.args.get("joins") or rows.args.get("where"):
        return False
    if is_grouped(rows):
        return False
    select.set("joins", [])
    present = exp.Not(this=exp.Is(this=exp.column(key, alias, quoted=True), expression=exp.Null()))
    select.where(present, copy=False)
    return True
