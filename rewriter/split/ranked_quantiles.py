"""Percentiles spelled by ranks: ``MIN(CASE WHEN n < 0.25 * total THEN 9999 ELSE x END)`` over numbered rows.

Where ``n`` is ``ROW_NUMBER() OVER (ORDER BY x)`` and ``total`` counts the same rows, that is the first value of which
so large a share of the rows are no greater: ``PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY x)``. A number that each row
of many people has among all of them moves with everybody; a percentile is picked. The same rank is spelled as ``SUM(1)
OVER (ORDER BY x ROWS UNBOUNDED PRECEDING)``, as CUME_DIST and as NTILE, and the row is chosen by MIN or MAX of a CASE,
by a FILTER, or by WHERE.

Proof: ROW_NUMBER in the order of x gives the k-th smallest x the number k. ``n >= p * total`` holds from the rank
⌈p · total⌉ on, whose x is the least of these: what PERCENTILE_DISC(p) is defined as, and the first value of a CUME_DIST
that is not below p. Conditions that round otherwise choose the row of a rank beside it
(:mod:`rewriter.split.numbered_rows`).
Tile j of k ends ``min(j, r) - j · r / k`` ranks beyond j/k of the rows, where r is
what the number of rows leaves when it is divided by k: 2.5 ranks at most of ten tiles. PERCENT_RANK has the lowest rank
of equal values, which may be far from a percentile's.

Guarantee: the meaning is the same for rows that have an ``x``, and a notice says where a rank beside it is meant. Rows
without one are ranked by their number and not by a percentile, and a notice says so. Anything else that is done with
such numbers is left as it is, and refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from rewriter.split.named_queries import drop_unread_queries
from rewriter.split.numbered_rows import (
    MOST_RANKS,
    Is,
    KeptRows,
    NumberedRows,
    RankTest,
    WithQueries,
    find_totals,
    folded_table,
    is_ranking,
    numbered_rows,
    partitions,
    rank_test,
    same_columns,
    with_queries,
    without_join_of_counts,
)
from rewriter.statement import (
    folded,
    grouped_item,
    has_aggregate,
    output_name,
    unparenthesised,
    walk,
)

NOTE = "percentiles that are spelled by ranks are those of the rows that have a value"
BESIDE = (
    f"percentiles that are spelled by ranks may be the value up to {MOST_RANKS} ranks beside the one that is spelled"
)
_OUTER = frozenset({"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "with_"})
_ROW = _OUTER | {"distinct"}
_CHOOSES = (exp.Min, exp.Max, exp.Avg, exp.Sum)


def plain_ranks(tree: exp.Query) -> tuple[exp.Query, tuple[str, ...]]:
    """``tree`` with such percentiles as PERCENTILE_DISC, and the notices about them.

    >>> import sqlglot
    >>> inner = "SELECT x, ROW_NUMBER() OVER (ORDER BY x) AS n, COUNT(*) OVER () AS m FROM t"
    >>> sql = f"SELECT MIN(CASE WHEN n < 0.5 * m THEN 999 ELSE x END) AS half FROM ({inner}) AS r"
    >>> print(plain_ranks(sqlglot.parse_one(sql, read="postgres"))[0].sql("postgres"))
    SELECT LEAST(PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x), 999) AS half FROM (SELECT x FROM t) AS "r"
    >>> sql = f"SELECT AVG(x) AS half FROM ({inner}) AS r WHERE n = CAST(m * 0.5 AS INT)"
    >>> print(plain_ranks(sqlglot.parse_one(sql, read="postgres"))[0].sql("postgres"))
    SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x) AS half FROM (SELECT x FROM t) AS "r"
    """
    if not any(map(is_ranking, tree.find_all(exp.Window))):
        return tree, ()
    copy: exp.Query = tree.copy()
    root = exp.Subquery(this=copy)
    notes: dict[str, None] = {}
    named = with_queries(root)
    for select in list(root.find_all(exp.Select)):
        if (found := _plain(select, named)) is not None:
            replacement, exact = found
            select.replace(replacement)
            named = with_queries(root)
            notes |= dict.fromkeys((NOTE,) if exact else (NOTE, BESIDE))
    result: exp.Query = root.this
    if not notes:
        return tree, ()
    before = {table.name.lower() for table in tree.find_all(exp.Table)}
    drop_unread_queries(root, lambda cte: cte.alias.lower() in before)
    return result.pop(), tuple(notes)


def _plain(select: exp.Select, named: WithQueries) -> tuple[exp.Select, bool] | None:
    """The SELECT with its percentiles by ranks as such, and whether they have the very ranks; None where it has none,
    or does something else with ranks."""
    if {name for name, value in select.args.items() if value} - _ROW or select.args.get("from_") is None:
        return None
    ranked = numbered_rows(select.args["from_"].this, named)
    if ranked is None:
        return None
    copy: exp.Select = select.copy()
    for item in list(copy.expressions):
        if not isinstance(item, exp.Alias):
            item.replace(exp.alias_(item.copy(), output_name(item), quoted=True))
    keys = _keys(copy, ranked, named)
    if keys is None:
        return None
    find_totals(ranked, keys)
    picks = _Picks(copy, ranked, keys)
    chosen = picks.by_case if copy.args.get("where") is None else picks.by_where
    if (copy.args.get("joins") and not picks.joined(named)) or not chosen():
        return None
    dropped = {*ranked.ranks, *ranked.totals}
    if any(folded(column) in dropped for part in _parts(copy) for column in part.find_all(exp.Column)):
        return None
    kept = [(name, node) for name, node in ranked.outputs.items() if name not in dropped]
    inner: exp.Select = ranked.rows.copy()
    inner.set("expressions", [_named(name, node) for name, node in kept] or [exp.Literal.number(1)])
    as_named = exp.TableAlias(this=exp.to_identifier(ranked.alias, quoted=True))
    copy.args["from_"].set("this", exp.Subquery(this=inner, alias=as_named))
    return copy, picks.exact


def _named(name: str, node: exp.Expr) -> exp.Expr:
    same = isinstance(node, exp.Column) and folded(node) == name
    return node.copy() if same else exp.alias_(node.copy(), name, quoted=name != name.lower(), copy=False)


@dataclass(slots=True)
class _Picks:
    """Puts percentiles in the place of what chooses a row by its rank, in a SELECT over numbered rows."""

    select: exp.Select
    ranked: NumberedRows
    keys: list[str]
    exact: bool = True

    def joined(self, named: WithQueries) -> bool:
        """Whether the counts of groups are joined, which are the numbers of rows; takes the join away."""
        totals = {
            (folded_table(column), folded(column))
            for item in self.select.expressions
            for column in item.find_all(exp.Column)
            if folded(column) not in self.ranked.outputs
        }
        if len(totals) != 1 or self.ranked.totals:
            return False
        ((table, total),) = totals
        self.ranked.totals.add(total)
        return without_join_of_counts(self.select, table, total, self.ranked.alias, self.keys, self.ranked.rows, named)

    def by_where(self) -> bool:
        """``SELECT AVG(x) … WHERE n = CAST(total * 0.25 AS INT)``."""
        found = self._test(self.select.args["where"].this)
        if found is None or self.keys or any(self.select.args.get(part) for part in ("having", "offset", "joins")):
            return False
        rank, test = found
        grouped = any(map(has_aggregate, self.select.expressions))
        one_row = test.single or (test.side is KeptRows.AT and bool(self.select.args.get("distinct")))
        if not grouped and (not one_row or self.select.args.get("group") or not _shows_a_row(self.select)):
            return False
        for item in self.select.expressions:
            if not (self._calls(item, rank, test) if grouped else self._replaced(item, rank, test)):
                return False
        self.select.set("where", None)
        self.select.set("distinct", None)
        for part in () if grouped else ("order", "limit"):
            self.select.set(part, None)
        self.exact = self.exact and test.exact
        return True

    def _calls(self, item: exp.Expr, rank: str, test: RankTest) -> bool:
        """Puts the percentile in the place of each aggregate of a select item, which is over rows at a rank."""
        calls = [node for node in walk(item) if isinstance(node, exp.AggFunc)]
        outside = [column for column in item.find_all(exp.Column) if column.find_ancestor(exp.AggFunc) is None]
        if not calls or outside or any(isinstance(call.parent, exp.Filter | exp.Window) for call in calls):
            return False
        for call in calls:
            value = self._chosen(call, call.this, rank, test)
            if value is None:
                return False
            call.replace(value)
        return True

    def _replaced(self, item: exp.Expr, rank: str, test: RankTest) -> bool:
        value = self._at(item.this, rank, test)
        if value is None:
            return False
        item.set("this", value)
        return True

    def by_case(self) -> bool:
        """``MIN(CASE WHEN n < 0.25 * total THEN 9999 ELSE x END)``, ``MAX(x) FILTER (WHERE n = …)`` and their like."""
        calls = [node for item in self.select.expressions for node in walk(item) if isinstance(node, exp.AggFunc)]
        changed = False
        for call in calls:
            filter_ = call.parent if isinstance(call.parent, exp.Filter) else None
            value = self._filtered(call, filter_) if filter_ is not None else self._cased(call)
            if value is not None:
                (filter_ or call).replace(value)
                changed = True
        return changed

    def _filtered(self, call: exp.AggFunc, filter_: exp.Filter) -> exp.Expr | None:
        found = self._test(filter_.expression.this)
        value = None if found is None else self._chosen(call, call.this, *found)
        if found is not None and value is not None:
            self.exact = self.exact and found[1].exact
        return value

    def _cased(self, call: exp.AggFunc) -> exp.Expr | None:
        case = unparenthesised(call.this) if isinstance(call.this, exp.Expr) else None
        if not isinstance(case, exp.Case) or case.this is not None or len(case.args["ifs"]) != 1:
            return None
        branch, other = case.args["ifs"][0], case.args.get("default")
        found = self._test(branch.this)
        if found is None:
            return None
        rank, test = found
        if isinstance(call, exp.Min) and test.side is KeptRows.UP_TO and isinstance(branch.this, exp.LT | exp.GT):
            most = branch.args["true"]
            if other is None or most.find(exp.Column, exp.AggFunc, exp.Query) is not None:
                return None
            exact = rank_test(_not_less(branch.this), self._is_number(rank), self.ranked.is_total)
            value = self._at(other, rank, RankTest(test.share, KeptRows.FROM, True), bare=True)
            self.exact = self.exact and exact is not None and exact.exact
            return None if value is None else exp.Least(this=value, expressions=[most.copy()])
        nothing = other is None or isinstance(unparenthesised(other), exp.Null)
        zero = isinstance(call, exp.Sum) and isinstance(other, exp.Literal) and other.name == "0"
        if not nothing and not (zero and test.side is KeptRows.AT):
            return None
        value = self._chosen(call, branch.args["true"], rank, test)
        self.exact = self.exact and (value is None or test.exact)
        return value

    def _chosen(self, call: exp.AggFunc, value: exp.Expr, rank: str, test: RankTest) -> exp.Expr | None:
        """What an aggregate makes of the rows that a condition keeps: one row's value, or the least or the greatest."""
        several = test.side is KeptRows.AT and not test.single
        if type(call) not in _CHOOSES or call.args.get("expressions") or (several and isinstance(call, exp.Sum)):
            return None
        if isinstance(value, exp.Distinct) and len(value.expressions) == 1:
            value = value.expressions[0]
        if test.side is KeptRows.AT and not self.ranked.ranks[rank].startswith("tile"):
            return self._at(value, rank, test)
        wanted = exp.Min if test.side is KeptRows.FROM else exp.Max
        if test.side is KeptRows.AT:
            # A tile has many rows: its greatest value is at the share where it ends, its least where it begins.
            return self._at(value, rank, test, bare=True) if isinstance(call, exp.Max) else None
        return self._at(value, rank, test, bare=True) if isinstance(call, wanted) else None

    def _at(self, node: exp.Expr, rank: str, test: RankTest, *, bare: bool = False) -> exp.Expr | None:
        """An expression of the row at a share of all: of the value that the rows are ranked by, and of nothing else."""
        columns = list(node.find_all(exp.Column))
        if not columns or (bare and not isinstance(unparenthesised(node), exp.Column)):
            return None
        if any(not self._is_ranked_by(column, rank) for column in columns) or node.find(exp.Query, exp.Window):
            return None
        if node.find(exp.AggFunc) is not None:
            return None
        copy = exp.Paren(this=node.copy())
        for column in list(copy.find_all(exp.Column)):
            column.replace(_percentile(test.share, column.copy()))
        inside: exp.Expr = copy.this
        return inside if isinstance(inside, exp.WithinGroup | exp.Paren) else copy

    def _is_ranked_by(self, column: exp.Column, rank: str) -> bool:
        """Whether a column holds what the rows of each group are ranked by, from the least on."""
        if folded_table(column) not in ("", self.ranked.alias):
            return False
        window, value = self.ranked.windows[rank], self.ranked.outputs.get(folded(column))
        order = window.args["order"]
        if value is None or len(order.expressions) != 1 or order.expressions[0].args.get("desc"):
            return False
        return same_columns(order.expressions[0].this, value) and partitions(
            window, self.keys, dict(self.ranked.outputs)
        )

    def _is_number(self, rank: str) -> Is:
        return lambda node: (
            isinstance(node, exp.Column) and folded(node) == rank and folded_table(node) in ("", self.ranked.alias)
        )

    def _test(self, node: exp.Expr) -> tuple[str, RankTest] | None:
        """The rank that a condition is on, and what it keeps."""
        read = {folded(column) for column in node.find_all(exp.Column)}
        ranks = [(name, kind) for name, kind in self.ranked.ranks.items() if name in read]
        if len(ranks) != 1:
            return None
        (rank, kind) = ranks[0]
        is_rank = self._is_number(rank)
        if kind == "number":
            found = rank_test(node, is_rank, self.ranked.is_total)
        elif kind == "share":
            found = _of_share(node, is_rank)
        else:
            found = _of_tile(node, is_rank, int(kind.split()[1]))
        return None if found is None else (rank, found)


def _not_less(node: exp.Expr) -> exp.Expr:
    """The condition that holds where ``n < x`` does not."""
    if isinstance(node, exp.LT):
        return exp.GTE(this=node.this.copy(), expression=node.expression.copy())
    return exp.GTE(this=node.expression.copy(), expression=node.this.copy())


def _shows_a_row(select: exp.Select) -> bool:
    limit = select.args.get("limit")
    most = None if limit is None else limit.expression
    return limit is None or (isinstance(most, exp.Literal) and most.is_int and int(most.name) > 0)


def _of_share(node: exp.Expr, is_rank: Is) -> RankTest | None:
    """``CUME_DIST() >= 0.9``, from the first value on of which it is true. Up to a share, the last one that it is true
    of may have a much lower rank, where many rows have the next value."""
    test = unparenthesised(node)
    if isinstance(test, exp.LTE):
        test = exp.GTE(this=test.expression.copy(), expression=test.this.copy())
    left, right = (
        (unparenthesised(side) for side in (test.this, test.expression)) if type(test) is exp.GTE else (test, test)
    )
    if not is_rank(left) or not isinstance(right, exp.Literal) or right.is_string:
        return None
    share = Fraction(right.name)
    return RankTest(share, KeptRows.FROM, exact=True) if 0 < share < 1 else None


def _of_tile(node: exp.Expr, is_rank: Is, tiles: int) -> RankTest | None:
    """``NTILE(4) = 1``: up to a quarter of the rows."""
    test = unparenthesised(node)
    if not isinstance(test, exp.EQ):
        return None
    left, right = unparenthesised(test.this), unparenthesised(test.expression)
    if is_rank(right):
        left, right = right, left
    if not is_rank(left) or not isinstance(right, exp.Literal) or not right.is_int or not 0 < int(right.name) < tiles:
        return None
    return RankTest(Fraction(int(right.name), tiles), KeptRows.AT, exact=False)


def _percentile(share: Fraction, value: exp.Column) -> exp.Expr:
    text = format((Decimal(share.numerator) / Decimal(share.denominator)).normalize(), "f")
    return exp.WithinGroup(
        this=exp.PercentileDisc(this=exp.Literal.number(text)),
        expression=exp.Order(expressions=[exp.Ordered(this=value)]),
    )


def _keys(select: exp.Select, ranked: NumberedRows, named: WithQueries) -> list[str] | None:
    """The columns of the rows that a SELECT groups by, but for those that are one value; None where it groups by
    something else."""
    group = select.args.get("group")
    found: list[str] = []
    for node in group.expressions if group is not None else ():
        key = unparenthesised(grouped_item(node, select))
        if not isinstance(key, exp.Column) or folded_table(key) not in ("", ranked.alias):
            return None
        if not ranked.is_one_value(folded(key), named):
            found.append(folded(key))
    return found


def _parts(select: exp.Select) -> Iterator[exp.Expr]:
    yield from select.expressions
    for name in ("where", "group", "having", "order", "joins"):
        part = select.args.get(name)
        yield from part if isinstance(part, list) else [part] if part is not None else []
