"""Rows in written bins: ``FROM sale AS s, (VALUES ('low', 0, 50), …) AS b(n, lo, hi) WHERE x >= b.lo AND x < b.hi``.

Bins that are apart hold a value once at most, and each has a lower end of its own. So the two conditions are one
equality, of the lower end and that of the bin around the value:

    b.lo = CASE WHEN s.x >= 0 AND s.x < 50 THEN 0 WHEN … END

By it a row meets one bin, as a key says, and no person counts once for each. Rows of UNION ALL that are literals are
written as VALUES are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

from rewriter.dialects import MIRRORED, Dialect
from rewriter.expressions import constant_point
from rewriter.statement import conjuncts, from_items, output_name, unaliased, unparenthesised

_MOST = 64


def plain_bins(tree: exp.Query, dialect: Dialect) -> exp.Query:
    """``tree`` with each such pair of conditions as one equality."""
    if tree.find(exp.Values) is None:
        return tree
    copy: exp.Query = tree.copy()
    for select in copy.find_all(exp.Select):
        for values in from_items(select):
            if isinstance(values, exp.Values) and len(values.expressions) <= _MOST:
                _as_equality(select, values, dialect)
    return copy


def _as_equality(select: exp.Select, values: exp.Values, dialect: Dialect) -> None:
    """In the one clause that has both conditions, in place."""
    for clause in [select.args.get("where"), *(select.args.get("joins") or ())]:
        name = "on" if isinstance(clause, exp.Join) else "this"
        if clause is None or clause.args.get(name) is None:
            continue
        tests = [part for test in conjuncts(clause.args[name]) for part in _halves(test)]
        sides = [side for test in tests if (side := _Side.of(test, values)) is not None]
        for low in (side for side in sides if side.lower):
            high = next((one for one in sides if not one.lower and one.value == low.value), None)
            equality = None if high is None else _equality(low, high, dialect)
            if high is not None and equality is not None:
                rest = [test for test in tests if test not in (low.test, high.test)]
                clause.set(name, exp.and_(equality, *rest, copy=False))
                return


def _halves(test: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(test, exp.Between) and not test.args.get("symmetric"):
        yield exp.GTE(this=test.this, expression=test.args["low"])
        yield exp.LTE(this=test.this, expression=test.args["high"])
    else:
        yield test


@dataclass(frozen=True, slots=True)
class _Side:
    """A condition that a value lies above the ends of rows, or below: those of a ``column``, row by row."""

    test: exp.Expr
    value: exp.Expr
    column: exp.Column
    ends: list[exp.Expr]
    kind: type[exp.Expr]

    @property
    def lower(self) -> bool:
        return self.kind in (exp.GTE, exp.GT)

    @property
    def closed(self) -> bool:
        return self.kind in (exp.GTE, exp.LTE)

    @classmethod
    def of(cls, test: exp.Expr, values: exp.Values) -> _Side | None:
        if type(test) not in MIRRORED:
            return None
        found, left, right = type(test), unparenthesised(test.this), unparenthesised(test.args["expression"])
        if _is_of(left, values):
            left, right, found = right, left, MIRRORED[found]
        if not isinstance(right, exp.Column) or not _is_of(right, values):
            return None
        reads = list(left.find_all(exp.Column))
        alone = bool(reads) and all(one.table and not _is_of(one, values) for one in reads)
        ends = written_values(values, right)
        if not (alone and ends) or left.find(exp.Query, exp.AggFunc, exp.Window) is not None:
            return None
        return cls(test, left, right, ends, found)


def _is_of(node: exp.Expr, values: exp.Values) -> bool:
    return isinstance(node, exp.Column) and node.table.lower() == values.alias.lower() != ""


def written_values(values: exp.Values, column: exp.Column) -> list[exp.Expr]:
    """What the rows have in a column, row by row; nothing where they have no such column, or two."""
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in values.expressions]
    alias = values.args.get("alias")
    names = [one.name.lower() for one in alias.args.get("columns") or ()] if alias is not None else []
    names += [f"column{place + 1}" for place in range(len(names), len(rows[0]))]
    if names.count(column.name.lower()) != 1 or any(len(row) != len(names) for row in rows):
        return []
    return [row[names.index(column.name.lower())] for row in rows]


def _equality(low: _Side, high: _Side, dialect: Dialect) -> exp.Expr | None:
    """The lower end of the bin around the value; None where the bins are not apart, or one of them is empty."""
    points = [[constant_point(end, dialect) for end in side.ends] for side in (low, high)]
    known = [(first[1], last[1]) for first, last in zip(*points, strict=True) if first is not None and last is not None]
    if len(known) != len(low.ends) or not _are_apart(known, closed=low.closed and high.closed):
        return None
    found = exp.Case()
    for ends in zip(low.ends, high.ends, strict=True):
        tests = [
            side.kind(this=side.value.copy(), expression=end.copy())
            for side, end in zip((low, high), ends, strict=True)
        ]
        found = found.when(exp.and_(*tests, copy=False), ends[0].copy(), copy=False)
    return exp.EQ(this=low.column.copy(), expression=found)


def _are_apart(bins: Sequence[tuple[Fraction, Fraction]], *, closed: bool) -> bool:
    """Whether no number is in two bins, and each holds one. Doubles that are nearest to two ends may be one number.

    >>> half, one = Fraction(1, 2), Fraction(1)
    >>> [_are_apart([(Fraction(0), half), (half, one)], closed=closed) for closed in (False, True)]
    [True, False]
    """
    ordered = sorted(bins)
    if any(high < low or (high == low and not closed) for low, high in ordered):
        return False
    return all(
        float(before) < float(after) if closed else before <= after for (_, before), (after, _) in pairwise(ordered)
    )


def plain_written(tree: exp.Query) -> exp.Query:
    """``tree`` with ``(SELECT 'low' AS name, 0 AS lo UNION ALL SELECT 'mid', 50) AS b`` as VALUES of these rows."""
    if tree.find(exp.Union) is None:
        return tree
    copy: exp.Query = tree.copy()
    for item in list(copy.find_all(exp.Subquery)):
        rows = _rows_of(item.this) if isinstance(item.this, exp.Union) else []
        alias = item.args.get("alias")
        if not rows or alias is None or not isinstance(item.parent, exp.From | exp.Join):
            continue
        names = [one.name for one in alias.args.get("columns") or ()]
        names += [output_name(one) for one in rows[0][len(names) :]]
        columns = [exp.to_identifier(name, quoted=True) for name in names]
        written = [exp.Tuple(expressions=[unaliased(one).copy() for one in row]) for row in rows]
        item.replace(exp.Values(expressions=written, alias=exp.TableAlias(this=alias.this.copy(), columns=columns)))
    return copy


def _rows_of(query: exp.Expr) -> list[list[exp.Expr]]:
    """The rows of a UNION ALL of SELECTs of literals alone; none of another query."""
    if isinstance(query, exp.Union):
        if query.args.get("distinct") or any(query.args.get(part) for part in ("with_", "order", "limit", "offset")):
            return []
        left, right = _rows_of(query.this), _rows_of(query.expression)
        return [*left, *right] if left and right else []
    plain = isinstance(query, exp.Select) and not any(value for name, value in query.args.items() if name not in _BARE)
    return [query.expressions] if plain and all(_is_literal(unaliased(one)) for one in query.expressions) else []


_BARE = ("expressions", "kind")


def _is_literal(node: exp.Expr) -> bool:
    while isinstance(node, exp.Neg | exp.Paren | exp.Cast):
        node = node.this
    return isinstance(node, exp.Literal | exp.Boolean | exp.Null)
