"""Constants that a rank among people is compared with, wherever a statement reads it.

Guarantee: between two neighbouring cuts, every expression of the statement that reads the rank has one value. So any
rank between them may stand for all others. A rank that is shown, averaged or sorted by has no such cuts.

The rank is followed from its window through arithmetic with constants and through columns of subqueries, to
comparisons, and to functions that round or divide it into buckets.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from rewriter.dialects import MIRRORED
from rewriter.query.merged_subqueries import read_columns
from rewriter.statement import folded, output_name, unparenthesised

MOST_CUTS = 100
"""Values that a rank is compared with: as many quantiles may be asked for at once."""

WHOLE_RANKS = (exp.Ntile, exp.RowNumber, exp.Rank, exp.DenseRank)
"""Ranks that are whole numbers from 1."""

_WHOLE = frozenset({exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT})
_FRACTIONS = frozenset({exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL})


class _NoCuts(Exception):
    """The rank is read in another way than by comparisons."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The ranks up to ``at`` are apart from those above it; ``at`` itself is below the cut if it is ``after``."""

    at: Fraction
    after: bool
    """Whether equal ranks are below."""
    rounds: bool = False
    """Whether a function cuts here, and no comparison that was written."""
    equal: bool = False
    """Whether ranks are asked to equal it."""


def cuts_of(window: exp.Window, select: exp.Select) -> list[Cut] | None:
    """The cuts of a rank that a select list computes; None where something else than comparisons reads it."""
    found = _Cuts(whole=isinstance(window.this, WHOLE_RANKS))
    try:
        found.follow(window, Fraction(1), Fraction(0), select)
    except _NoCuts:
        return None
    return found.cuts


@dataclass(slots=True)
class _Cuts:
    whole: bool
    """Whether ranks are whole numbers: 1, 2, … in place of shares."""
    cuts: list[Cut] = field(default_factory=list)

    def follow(self, node: exp.Expr, scale: Fraction, shift: Fraction, select: exp.Select) -> None:
        """Add the cuts of a node, which is ``scale * rank + shift``. Raises :class:`_NoCuts`."""
        parent = node.parent
        if isinstance(parent, exp.Paren):
            self.follow(parent, scale, shift, select)
        elif parent is select and node.arg_key == "expressions":
            self._columns(node, scale, shift, select)
        elif isinstance(parent, exp.Alias):
            self._columns(parent, scale, shift, select)
        elif isinstance(parent, exp.Cast) and not isinstance(parent, exp.TryCast) and parent.to.this in _FRACTIONS:
            if parent.to.this is exp.DType.DECIMAL:
                raise _NoCuts
            self.follow(parent, scale, shift, select)
        elif isinstance(parent, exp.Neg):
            self.follow(parent, -scale, -shift, select)
        elif isinstance(parent, exp.Add | exp.Sub | exp.Mul | exp.Div):
            self._arithmetic(node, parent, scale, shift, select)
        else:
            self._read(node, parent, scale, shift)

    def _arithmetic(
        self, node: exp.Expr, parent: exp.Binary, scale: Fraction, shift: Fraction, select: exp.Select
    ) -> None:
        is_first = parent.this is node
        number = constant(parent.expression if is_first else parent.this)
        if number is None or (isinstance(parent, exp.Mul | exp.Div) and number == 0):
            raise _NoCuts
        if isinstance(parent, exp.Mul):
            scale, shift = scale * number, shift * number
        elif isinstance(parent, exp.Div):
            divisor = parent.expression
            if not is_first or (self.whole and _is_whole(divisor)):
                # A quotient of whole numbers is rounded towards 0.
                raise _NoCuts
            scale, shift = scale / number, shift / number
        elif isinstance(parent, exp.Add):
            shift += number
        else:
            scale, shift = (scale, shift - number) if is_first else (-scale, number - shift)
        self.follow(parent, scale, shift, select)

    def _columns(self, item: exp.Expr, scale: Fraction, shift: Fraction, select: exp.Select) -> None:
        """Follow the columns that read an item of a subquery."""
        if any(select.args.get(part) for part in ("distinct", "limit", "offset")):
            raise _NoCuts
        name = output_name(item)
        for outer, columns in _readers(select):
            for column in columns:
                if folded(column) == name:
                    self.follow(column, scale, shift, column.find_ancestor(exp.Select) or outer)

    def _read(self, node: exp.Expr, parent: exp.Expr | None, scale: Fraction, shift: Fraction) -> None:
        def add(value: Fraction, kind: type[exp.Expr], *, rounds: bool = False) -> None:
            after = kind in (exp.LTE, exp.GT)
            self.cuts.append(Cut((value - shift) / scale, after if scale > 0 else not after, rounds))
            if len(self.cuts) > 4 * MOST_CUTS:
                raise _NoCuts

        if isinstance(parent, exp.LT | exp.LTE | exp.GT | exp.GTE):
            is_first = parent.this is node
            number = constant(parent.expression if is_first else parent.this)
            if number is None:
                raise _NoCuts
            add(number, type(parent) if is_first else MIRRORED[type(parent)])
        elif isinstance(parent, exp.EQ | exp.NEQ | exp.In):
            others = parent.expressions if isinstance(parent, exp.In) else [parent.expression]
            numbers = [constant(one) for one in others]
            if parent.this is not node or not numbers:
                raise _NoCuts
            for number in numbers:
                if number is None:
                    raise _NoCuts
                at = (number - shift) / scale
                self.cuts += [Cut(at, after, equal=True) for after in (False, True)]
        elif isinstance(parent, exp.Between) and parent.this is node and not parent.args.get("symmetric"):
            low, high = constant(parent.args["low"]), constant(parent.args["high"])
            if low is None or high is None:
                raise _NoCuts
            add(low, exp.GTE)
            add(high, exp.LTE)
        elif isinstance(parent, exp.WidthBucket) and parent.this is node:
            parts = [constant(parent.args[name]) for name in ("min_value", "max_value", "num_buckets")]
            low, high, count = parts
            if low is None or high is None or count is None or not low < high or not 1 <= count <= MOST_CUTS:
                raise _NoCuts
            for place in range(int(count) + 1):
                add(low + (high - low) * place / int(count), exp.GTE, rounds=True)
        else:
            kind, offset = _rounding(parent)
            if self.whole:
                raise _NoCuts
            ends = sorted((shift, scale + shift))
            if ends[1] - ends[0] > MOST_CUTS:
                raise _NoCuts
            for whole in range(math.floor(ends[0]) - 1, math.ceil(ends[1]) + 2):
                add(whole + offset, kind, rounds=True)


def _rounding(node: exp.Expr | None) -> tuple[type[exp.Expr], Fraction]:
    """Where a function of one argument that gives whole numbers steps to the next one."""
    if isinstance(node, exp.Round | exp.Floor | exp.Ceil | exp.Trunc) and not any(
        node.args.get(name) for name in ("decimals", "truncate", "to")
    ):
        if isinstance(node, exp.Round):
            return exp.GTE, Fraction(1, 2)
        return (exp.LTE if isinstance(node, exp.Ceil) else exp.GTE), Fraction(0)
    if isinstance(node, exp.Cast) and node.to.this in _WHOLE:
        return exp.GTE, Fraction(1, 2)
    raise _NoCuts


def _readers(select: exp.Select) -> Iterator[tuple[exp.Select, list[exp.Column]]]:
    """The SELECTs that read a subquery or a WITH query, each with the columns that are of it."""
    parent = select.parent
    alias = None if parent is None else parent.args.get("alias")
    if alias is None or alias.args.get("columns"):
        raise _NoCuts
    if isinstance(parent, exp.Subquery):
        items: list[exp.Expr] = [parent]
    elif isinstance(parent, exp.CTE):
        tables = (table for table in parent.root().find_all(exp.Table) if isinstance(table.this, exp.Identifier))
        items = [table for table in tables if not table.db and folded(table.this) == folded(alias.this)]
    else:
        raise _NoCuts
    for item in items:
        within, named = item.parent, item.args.get("alias")
        outer = within.parent if isinstance(within, exp.From | exp.Join) else None
        if not isinstance(outer, exp.Select) or (named is not None and named.args.get("columns")):
            raise _NoCuts
        yield outer, read_columns(outer, item)


def constant(node: exp.Expr) -> Fraction | None:
    """The number that an expression of literals is; None where it is none, or a quotient of whole numbers.

    >>> import sqlglot
    >>> [str(constant(sqlglot.parse_one(text))) for text in ("1 - 0.2", "-(0.5)", "20 / 100.0", "1 / 5", "x")]
    ['4/5', '-1/2', '1/5', 'None', 'None']
    """
    node = unparenthesised(node)
    if isinstance(node, exp.Literal):
        try:
            return None if node.is_string else Fraction(node.name)
        except ValueError:
            return None
    if isinstance(node, exp.Cast):
        return constant(node.this) if node.to.this in _FRACTIONS and not node.to.expressions else None
    if isinstance(node, exp.Neg):
        inner = constant(node.this)
        return None if inner is None else -inner
    rule = _OF_TWO.get(type(node))
    if rule is None or (isinstance(node, exp.Div) and all(map(_is_whole, (node.this, node.expression)))):
        return None
    one, other = constant(node.this), constant(node.expression)
    if one is None or other is None or (isinstance(node, exp.Div) and other == 0):
        return None
    return rule(one, other)


def _is_whole(node: exp.Expr) -> bool:
    literals = (one for one in node.walk() if isinstance(one, exp.Literal))
    return node.find(exp.Cast) is None and all(one.is_int for one in literals)


_OF_TWO: dict[type[exp.Expr], Callable[[Fraction, Fraction], Fraction]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}
