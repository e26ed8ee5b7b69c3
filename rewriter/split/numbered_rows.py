"""Rows of people with numbers among all: a rank in the order of a value, and how many rows there are.

Guarantee: a column counts as a rank, or as the number of rows, where it is that of the very rows of an item of FROM.

Conditions on the rank of a row among all rows, as the share of the rows that it stands at.

``n = CAST(total * 0.25 AS INT)`` is a quarter of the rows, and so is ``n >= total / 4.0`` at its first row. What a
condition rounds, and whether it counts from 0 or from 1, moves it by a rank or two; by more than three it is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from fractions import Fraction

from sqlglot import exp

from rewriter.dialects import MIRRORED
from rewriter.statement import conjuncts, folded, is_grouped, output_name, unaliased, unparenthesised

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


_ROUNDED = exp.Ceil | exp.Floor | exp.Round
MOST_RANKS = 3
"""So many ranks beside the share itself may a row be that a condition keeps."""


class KeptRows(Enum):
    """Which rows of those around a share a condition keeps."""

    AT = auto()
    FROM = auto()
    UP_TO = auto()


@dataclass(frozen=True, slots=True)
class RankTest:
    """A condition that keeps the rows at a ``share`` of all rows, or those on a ``side`` of it. ``exact``: with no rank
    more or less than PERCENTILE_DISC has. ``single``: it keeps one row at most."""

    share: Fraction
    side: KeptRows
    exact: bool
    single: bool = False


Is = Callable[[exp.Expr], bool]


def rank_test(node: exp.Expr, is_rank: Is, is_total: Is) -> RankTest | None:
    """The share that a condition on a rank stands for; None where it is none.

    >>> import sqlglot
    >>> def test(sql):
    ...     found = rank_test(sqlglot.parse_one(sql), lambda one: one.name == "n", lambda one: one.name == "m")
    ...     return None if found is None else (str(found.share), found.side.name, found.exact)
    >>> test("n >= 0.25 * m"), test("m / 4 < n"), test("n = CAST(m * 0.5 AS INT) + 1")
    (('1/4', 'FROM', True), ('1/4', 'FROM', False), ('1/2', 'AT', False))
    >>> test("(n = CEIL(m * 0.5) AND m > 3) OR (n = FLOOR(m * 50 / 100) AND FLOOR(m / 2) <> m / 2)")
    ('1/2', 'AT', False)
    >>> test("n = 3"), test("n = m * 0.5 OR n = m * 0.25"), test("n = m * 0.5 AND x > 3")
    (None, None, None)
    >>> test("n = FLOOR(m / 100) * 25")
    """
    node = unparenthesised(node)
    if isinstance(node, exp.Or):
        sides = [rank_test(side, is_rank, is_total) for side in (node.this, node.expression)]
        found = [side for side in sides if side is not None and side.side is KeptRows.AT]
        same = len(found) == 2 and found[0].share == found[1].share
        return RankTest(found[0].share, KeptRows.AT, False) if same else None
    if isinstance(node, exp.And):
        return _with_conditions(node, is_rank, is_total)
    if isinstance(node, exp.Between):
        ends = [_share(unparenthesised(node.args[end]), is_total) for end in ("low", "high")]
        if not is_rank(unparenthesised(node.this)) or ends[0] is None or ends[0] != ends[1]:
            return None
        return RankTest(ends[0], KeptRows.AT, False)
    if isinstance(node, exp.In) and node.args.get("expressions"):
        shares = [_share(unparenthesised(one), is_total) for one in node.expressions]
        if not is_rank(unparenthesised(node.this)) or shares[0] is None or len(set(shares)) != 1:
            return None
        return RankTest(shares[0], KeptRows.AT, False)
    return _comparison(node, is_rank, is_total)


def _with_conditions(node: exp.And, is_rank: Is, is_total: Is) -> RankTest | None:
    """A condition on a rank beside others on the number of rows alone."""
    tests = list(conjuncts(node))
    mine = [one for one in tests if any(is_rank(part) for part in one.walk())]
    rest = [one for one in tests if one not in mine]
    if len(mine) != 1 or any(not is_total(column) for one in rest for column in one.find_all(exp.Column)):
        return None
    if any(one.find(exp.Query, exp.Anonymous) for one in rest):
        return None
    found = rank_test(mine[0], is_rank, is_total)
    return None if found is None or found.side is not KeptRows.AT else RankTest(found.share, KeptRows.AT, False)


def _comparison(node: exp.Expr, is_rank: Is, is_total: Is) -> RankTest | None:
    kind = type(node)
    if kind not in (exp.EQ, *MIRRORED):
        return None
    left, right = unparenthesised(node.this), unparenthesised(node.expression)
    if is_rank(right):
        left, right, kind = right, left, MIRRORED.get(kind, kind)
    share = _share(right, is_total) if is_rank(left) else None
    if share is None:
        return None
    side = KeptRows.AT if kind is exp.EQ else KeptRows.FROM if kind in (exp.GT, exp.GTE) else KeptRows.UP_TO
    # The first row that is not below a share is PERCENTILE_DISC's, and so is the one at it, rounded up.
    exact = (kind is exp.GTE and _is_product(right)) or (
        kind is exp.EQ and isinstance(right, exp.Ceil) and _is_product(unparenthesised(right.this))
    )
    return RankTest(share, side, exact, single=side is KeptRows.AT)


def _is_product(node: exp.Expr) -> bool:
    """Whether a node is the number of rows times a fraction, and not divided by an integer, which rounds."""
    if isinstance(node, exp.Mul):
        return any(_constant(unparenthesised(side)) is not None for side in (node.this, node.expression))
    divisor = unparenthesised(node.expression) if isinstance(node, exp.Div) else None
    return isinstance(divisor, exp.Literal) and not divisor.is_int


def _share(node: exp.Expr, is_total: Is) -> Fraction | None:
    """The share of the number of rows that an expression is, up to a few ranks; it lies between 0 and 1."""
    found = _linear(node, is_total)
    if found is None or not 0 < found.slope < 1 or abs(found.start) + found.rounded > MOST_RANKS:
        return None
    return found.slope


@dataclass(frozen=True, slots=True)
class _Line:
    """``slope · total + start``, of which what it computes differs by ``rounded`` at most."""

    slope: Fraction
    start: Fraction = Fraction(0)
    rounded: Fraction = Fraction(0)

    def __add__(self, other: _Line) -> _Line:
        return _Line(self.slope + other.slope, self.start + other.start, self.rounded + other.rounded)

    def times(self, factor: Fraction) -> _Line:
        return _Line(self.slope * factor, self.start * factor, self.rounded * abs(factor))

    def to_integer(self) -> _Line:
        return _Line(self.slope, self.start, self.rounded + 1)


def _linear(node: exp.Expr, is_total: Is) -> _Line | None:
    node = unparenthesised(node)
    if is_total(node):
        return _Line(Fraction(1))
    if (number := _constant(node)) is not None:
        return _Line(Fraction(0), number)
    if isinstance(node, _ROUNDED | exp.Cast):
        inner = _linear(node.this, is_total)
        known = node.to.is_type(*_NUMBERS) if isinstance(node, exp.Cast) else not node.args.get("decimals")
        return None if inner is None or not known or isinstance(node, exp.TryCast) else inner.to_integer()
    if not isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
        return None
    left, right = _linear(node.this, is_total), _linear(node.expression, is_total)
    if left is None or right is None:
        return None
    if isinstance(node, exp.Add | exp.Sub):
        return left + (right if isinstance(node, exp.Add) else right.times(Fraction(-1)))
    if isinstance(node, exp.Mul):
        if left.slope and right.slope:
            return None
        factor, other = (right, left) if left.slope else (left, right)
        return None if factor.rounded else other.times(factor.start)
    if right.slope or right.rounded or not right.start:
        return None
    found = left.times(1 / right.start)
    divisor = unparenthesised(node.expression)
    # Of two integers, the quotient is rounded towards 0.
    return found.to_integer() if isinstance(divisor, exp.Literal) and divisor.is_int else found


_NUMBERS = (
    exp.DType.INT,
    exp.DType.BIGINT,
    exp.DType.SMALLINT,
    exp.DType.DECIMAL,
    exp.DType.DOUBLE,
    exp.DType.FLOAT,
)


def _constant(node: exp.Expr) -> Fraction | None:
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return Fraction(node.name)
    except ValueError:
        return None
