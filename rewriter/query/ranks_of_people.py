"""Ranks of rows among all people's, as comparisons with quantiles of the same rows: ``NTILE(10) OVER (ORDER BY x)``.

Theorems, of values y(1) ≤ … ≤ y(N). PERCENT_RANK is the share of the other rows that come before a row: it is at most q
where x ≤ y(⌊q (N - 1)⌋ + 1). CUME_DIST is the share of the rows that do not come after it: it is less than q where
x < y(⌈q N⌉). RANK is one more than the number of rows that come before a row: it is at most k where x ≤ y(k), and
ROW_NUMBER is, but for rows of a tie. NTILE(n) is at most k where the row's number is at most k N / n, or up to n / 4
more, since its first parts have a row more. So each is compared with a constant where ``x`` is compared with y(k)
(:mod:`rewriter.statement.ranked_row`), or with PERCENTILE_DISC(q), the value y(⌈q N⌉), but for such rows, and for
rows of equal ``x``, which are on one side here. DENSE_RANK is at most k where ``x`` is at most the k-th of the distinct
values.

A rank that is compared with constants alone (:mod:`rewriter.query.rank_cuts`) steps at these constants: any value
between two of them stands for all. The quantiles are the columns of one subquery, so they are released together, and
are one stage: of one row, or of a group for each partition.

A row whose ``x`` is NULL has a rank, and is in no quantile; a row whose key is NULL meets no group. So both have to be
said never to be NULL (:mod:`rewriter.query.counted_rows`).

Ranks of groups of one person each, above these groups: ``NTILE(5) OVER (ORDER BY SUM(x)) … GROUP BY person_id``.

Theorem: windows are computed of the rows that GROUP BY and HAVING leave. So such a SELECT computes its items of the
keys and aggregates of a subquery that groups alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.counted_rows import is_never_null
from rewriter.query.distinct_names import Labels
from rewriter.query.rank_cuts import MOST_CUTS, Cut, cuts_of
from rewriter.query.windows_of_people import is_plain, same_rows, windows_across
from rewriter.statement import output_name, row_of_order, unaliased, unparenthesised, value_of_order

MOST_PARTS = MOST_CUTS
"""Parts of NTILE."""

EQUAL_NOTE = (
    "ranks are compared by quantiles: rows of equal values are on the same side of each, a row or two beside it, or at"
    " either end, may be on another side than by exact ranks, and no part of NTILE has a row more than others"
)
NUMBERED_NOTE = (
    "rows are numbered by the value at a rank, which is picked as a quantile is: rows of equal values are on the same"
    " side of it, and its own rank is off by some rows"
)
DENSE_NOTE = (
    "distinct values are numbered by the one at a rank, which is picked as a quantile is: its own rank is off by some"
    " values, and values in one step of the declared range, or beyond one end of it, are one value"
)
_NUMBERS = (exp.RowNumber, exp.Rank, exp.DenseRank)
RANKS = (exp.Ntile, exp.PercentRank, exp.CumeDist, *_NUMBERS)
MOST_RANK = 10**9
"""The greatest rank that is compared with."""
_NAME = "ends"


def is_ranked(tree: exp.Query) -> bool:
    """Whether rows may have a rank: by a function, or since a subquery has the first rows of an order."""
    limited = (one for one in tree.find_all(exp.Limit, exp.Fetch) if one.parent is not tree)
    return tree.find(*RANKS) is not None or any(limited)


def ask_ranks(select: exp.Select, labels: Labels, catalog: Catalog) -> tuple[str, ...]:
    """Put steps at quantiles in the place of ranks across people; what is to be told of these. The names are bound."""
    if isinstance(select.parent, exp.Subquery | exp.CTE):
        above = group_below(select, RANKS, labels, catalog)
        if above is not None:
            for part in PARTS:
                select.set(part, above.args.get(part))
    found = [_Steps.of(one, select, catalog) for one in windows_across(select, catalog)]
    steps = [one for one in found if one is not None]
    if not steps:
        return ()
    same: dict[tuple[exp.Expr, ...], list[_Steps]] = {}
    for one in steps:
        same.setdefault(one.keys, []).append(one)
    joins = [_joined(select, keys, group, labels) for keys, group in same.items()]
    for join in joins:
        select.append("joins", join)
    return tuple(dict.fromkeys(_note(one.window.this) for one in steps))


def _note(rank: exp.Expr) -> str:
    if isinstance(rank, exp.DenseRank):
        return DENSE_NOTE
    return NUMBERED_NOTE if isinstance(rank, _NUMBERS) else EQUAL_NOTE


@dataclass(frozen=True, slots=True)
class _Steps:
    """A rank that has the first of the ``values`` up to the first quantile, of the shares or numbers ``cuts``, and so
    on."""

    window: exp.Window
    keys: tuple[exp.Expr, ...]
    value: exp.Expr
    falls: bool
    strict: bool
    """Whether rows that equal a quantile are above it."""
    cuts: tuple[Fraction, ...]
    values: tuple[exp.Expr, ...]

    @classmethod
    def of(cls, window: exp.Window, select: exp.Select, catalog: Catalog) -> _Steps | None:
        """The steps of a window; None where it is no such rank, or its rows are not known."""
        if not isinstance(window.this, RANKS) or not is_plain(window, ordered=True):
            return None
        keys, (first, *ties) = tuple(window.args.get("partition_by") or ()), window.args["order"].expressions
        if ties and not isinstance(window.this, exp.Ntile | exp.RowNumber):
            # Rows of equal values have ranks of their own, which may be any part of all.
            return None
        if not all(is_never_null(select, one, catalog) for one in (*keys, first.this)):
            return None
        rule = _rows if isinstance(window.this, _NUMBERS) else _parts if isinstance(window.this, exp.Ntile) else _shares
        found = rule(window, select)
        if found is None or not 0 < len(found[0]) <= MOST_CUTS:
            return None
        is_strict = isinstance(window.this, exp.CumeDist)
        return cls(window, keys, first.this, bool(first.args.get("desc")), is_strict, *found)

    @property
    def quantiles(self) -> list[exp.Expr]:
        return [_quantile(self.value, self._at(cut), self.falls) for cut in self.cuts]

    def _at(self, cut: Fraction) -> exp.Expr:
        """The argument of the quantile at a cut."""
        rank = self.window.this
        if isinstance(rank, exp.DenseRank):
            return value_of_order(int(cut))
        return row_of_order(int(cut)) if isinstance(rank, _NUMBERS) else exp.Literal.number(_share(cut))

    def put(self, ends: Sequence[exp.Expr]) -> None:
        """Put the steps in the place of the window, by the columns of its quantiles, which are NULL of hardly anybody.

        Then a row has the rank of an only row: the first part, PERCENT_RANK 0, or CUME_DIST 1.
        """
        steps = list(zip(ends, self.values, strict=False) if self.strict else zip(ends, self.values[1:], strict=True))
        if not self.strict:
            steps.reverse()
        tests = [exp.If(this=self._apart(end), true=value) for end, value in steps]
        self.window.replace(exp.Case(ifs=tests, default=self.values[-1 if self.strict else 0]))

    def _apart(self, end: exp.Expr) -> exp.Expr:
        """That a row is before a quantile; or else that it is after it, where rows that equal it are not."""
        compare = exp.GT if self.falls == self.strict else exp.LT
        return compare(this=self.value.copy(), expression=end.copy())


def _parts(window: exp.Window, select: exp.Select) -> tuple[tuple[Fraction, ...], tuple[exp.Expr, ...]] | None:
    """The ends of the parts of NTILE, those alone that it is compared with, and the number of the part up to each."""
    parts = window.this.this
    if not isinstance(parts, exp.Literal) or not parts.is_int or int(parts.name) < 2:
        return None
    count = int(parts.name)
    compared = cuts_of(window, select)
    ends = range(1, count)
    below = [*ends] if compared is None else sorted({_whole_below(one) for one in compared} & {*ends})
    values = [*below, count]
    return tuple(Fraction(one, count) for one in below), tuple(map(exp.Literal.number, values))


def _rows(window: exp.Window, select: exp.Select) -> tuple[tuple[Fraction, ...], tuple[exp.Expr, ...]] | None:
    """The numbers of rows after which something is apart, and the number of the row at each."""
    compared = cuts_of(window, select)
    if compared is None:
        return None
    after = sorted({whole for one in compared if (whole := _whole_below(one)) > 0})
    if not after or after[-1] > MOST_RANK:
        return None
    return tuple(map(Fraction, after)), tuple(map(exp.Literal.number, (*after, after[-1] + 1)))


def _whole_below(cut: Cut) -> int:
    """The greatest whole number below a cut."""
    return math.floor(cut.at) if cut.after else math.ceil(cut.at) - 1


def _shares(window: exp.Window, select: exp.Select) -> tuple[tuple[Fraction, ...], tuple[exp.Expr, ...]] | None:
    """The shares that a rank is compared with, and a share between each two of them.

    The first and the last row are no quantiles: what compares ranks with 0 or 1 so that these rows alone are apart has
    none, and functions that round have these rows in the parts beside them.
    """
    compared = cuts_of(window, select)
    if compared is None or any(one.equal for one in compared):
        return None
    if any(not one.rounds and ((one.at == 0 and one.after) or (one.at == 1 and not one.after)) for one in compared):
        return None
    cuts = sorted({one.at for one in compared if 0 < one.at < 1})
    if len({_share(one) for one in cuts}) < len(cuts):
        return None
    ends = [Fraction(0), *cuts, Fraction(1)]
    between = [_between(low, high) for low, high in pairwise(ends)]
    return tuple(cuts), tuple(exp.cast(exp.Literal.number(one), exp.DType.DOUBLE) for one in between)


def _share(part: Fraction) -> str:
    """A share as a quantile has it, with six digits."""
    return f"{float(part):.6f}".rstrip("0")


def _between(low: Fraction, high: Fraction) -> str:
    """A decimal of few digits well between two numbers from 0 to 1.

    >>> _between(Fraction(0), Fraction(1, 10)), _between(Fraction(1, 8), Fraction(1, 7))
    ('0.05', '0.13')
    """
    middle, digits = (low + high) / 2, 1
    while True:
        near = Fraction(round(middle * 10**digits), 10**digits)
        if abs(near - middle) * 4 <= high - low:
            return f"{float(near):.{digits}f}"
        digits += 1


def _joined(select: exp.Select, keys: Sequence[exp.Expr], steps: Sequence[_Steps], labels: Labels) -> exp.Join:
    """The quantiles of all ``steps``, as an item to be joined, which the steps read from now on."""
    asked: dict[exp.Expr, int] = {}
    for one in steps:
        for quantile in one.quantiles:
            asked.setdefault(quantile, len(asked))
    body, values = same_rows(select, [*asked, *keys], labels)
    own, inside = values[: len(asked)], values[len(asked) :]
    columns = [exp.alias_(one, f"e{place}", quoted=True, copy=False) for place, one in enumerate(own)]
    columns += [exp.alias_(one, f"k{place}", quoted=True) for place, one in enumerate(inside)]
    body.set("expressions", columns)
    if keys:
        body.set("group", exp.Group(expressions=inside))
    name = f"{_NAME}#{len(labels)}"
    labels[name] = exp.to_identifier(_NAME)

    def column(name_of: str) -> exp.Column:
        return exp.column(exp.Identifier(this=name_of, quoted=True), exp.Identifier(this=name, quoted=True))

    for one in steps:
        one.put([column(f"e{asked[quantile]}") for quantile in one.quantiles])
    alias = exp.TableAlias(this=exp.Identifier(this=name, quoted=True))
    item = exp.Subquery(this=body, alias=alias)
    if not keys:
        return exp.Join(this=item, kind="CROSS")
    ties = [exp.EQ(this=key.copy(), expression=column(f"k{place}")) for place, key in enumerate(keys)]
    return exp.Join(this=item, on=exp.and_(*ties, copy=False), side="LEFT")


def _quantile(key: exp.Expr, share: exp.Expr, falls: bool) -> exp.Expr:
    order = exp.Order(expressions=[exp.Ordered(this=key.copy(), desc=falls or None)])
    return exp.WithinGroup(this=exp.PercentileDisc(this=share), expression=order)


PARTS = ("expressions", "from_", "joins", "where", "group", "having")
"""What such a SELECT may consist of."""
_GROUPED = "grouped"


def group_below(
    select: exp.Select, kinds: tuple[type[exp.Expr], ...], labels: Labels, catalog: Catalog
) -> exp.Select | None:
    """The SELECT over a subquery that groups by the person, where windows of some kinds stand beside GROUP BY; None
    where there are none, or an item reads something else than keys and aggregates."""
    group = select.args.get("group")
    if group is None or any(value for name, value in select.args.items() if name not in PARTS):
        return None
    keys = [unparenthesised(key) for key in group.expressions]
    sets = any(value for name, value in group.args.items() if name != "expressions")
    if sets or any(isinstance(key, exp.Literal) for key in keys):
        return None
    if not any(isinstance(key, exp.Column) and key.name.lower() in catalog.keys_of_people for key in keys):
        return None
    if not any(isinstance(one.this, kinds) for item in select.expressions for one in item.find_all(exp.Window)):
        return None
    named = {unaliased(item): output_name(item) for item in reversed(select.expressions)}
    lifted = _Lifted(keys, f"{_GROUPED}#{len(labels)}", named)
    root = exp.Tuple(expressions=[item.copy() for item in select.expressions])
    if not all(lifted.lift(item) for item in list(root.expressions)):
        return None
    labels[lifted.name] = exp.to_identifier(_GROUPED)
    inner = select.copy()
    inner.set("expressions", [exp.alias_(one, name, quoted=True) for one, name in lifted.columns.items()])
    alias = exp.TableAlias(this=exp.Identifier(this=lifted.name, quoted=True))
    names = [output_name(item) for item in select.expressions]
    items = [
        item if isinstance(item, exp.Alias) else exp.alias_(item, name, quoted=True)
        for item, name in zip(root.expressions, names, strict=True)
    ]
    return exp.Select(expressions=[one.copy() for one in items]).from_(exp.Subquery(this=inner, alias=alias))


class _Lifted:
    """Keys and aggregates as columns of a subquery of a ``name``, called as the analyst ``named`` them."""

    def __init__(self, keys: list[exp.Expr], name: str, named: dict[exp.Expr, str]) -> None:
        self.name = name
        self._named = named
        self.columns: dict[exp.Expr, str] = {}
        self._keys = keys

    def lift(self, node: exp.Expr) -> bool:
        """Put columns in the place of keys and aggregates, in place; whether nothing else is read."""
        is_function = isinstance(node.parent, exp.Window) and node.arg_key == "this"
        if node in self._keys or (isinstance(node, exp.AggFunc | exp.Filter) and not is_function):
            column = self.columns.setdefault(node.copy(), self._free(self._named.get(node) or output_name(node)))
            table = exp.Identifier(this=self.name, quoted=True)
            node.replace(exp.column(exp.Identifier(this=column, quoted=True), table))
            return True
        if isinstance(node, exp.Column | exp.Query):
            return False
        return all(self.lift(child) for child in list(node.iter_expressions()))

    def _free(self, name: str) -> str:
        """The name, with a number where another column has it."""
        used, count = set(self.columns.values()), 1
        while name in used:
            count += 1
            name = f"{name} {count}" if count == 2 else f"{name.rpartition(' ')[0]} {count}"
        return name
