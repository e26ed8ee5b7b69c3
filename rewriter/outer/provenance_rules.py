"""Expressions of the outer SELECT, as forms over released numbers.

Each rule is one function from a node to what is known of it. A node without a rule depends on released numbers where
one of its columns does, and nobody knows how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.outer.provenance import (
    OTHER,
    PUBLIC,
    Listed,
    Mean,
    Measured,
    add,
    divide,
    literal,
    multiply,
    rounded,
    running,
    unknown,
)
from rewriter.outer.share_of_whole import most_of
from rewriter.split import RUNNING
from rewriter.statement import LISTED


@dataclass(frozen=True, slots=True)
class TracedTable:
    """Something in FROM: its columns, what released tables its slots are of, and whether noise decides which rows it
    has.
    """

    columns: tuple[tuple[str, Measured], ...]
    origins: tuple[frozenset[str], ...] = ()
    filtered: bool = False

    @property
    def slots(self) -> int:
        return len(self.origins)

    def named(self, names: Sequence[str]) -> TracedTable:
        """The same with other names, from the first column on."""
        columns = [
            (names[place] if place < len(names) else name, one) for place, (name, one) in enumerate(self.columns)
        ]
        return replace(self, columns=tuple(columns))


Ctes = Mapping[str, TracedTable]


@dataclass(frozen=True, slots=True)
class NameScope:
    """The meaning of names in one SELECT; ``outside`` is the scope around it, ``aliases`` are the select items so far.

    ``tested``: its own conditions compare released numbers.
    """

    sources: tuple[tuple[str, TracedTable], ...]
    outside: NameScope | None = None
    aliases: Mapping[str, Measured] | None = None
    tested: bool = False

    @property
    def filtered(self) -> bool:
        return self.tested or any(table.filtered for _, table in self.sources)

    @property
    def origins(self) -> tuple[frozenset[str], ...]:
        return tuple(origin for _, table in self.sources for origin in table.origins)

    def column(self, node: exp.Column) -> Measured:
        """A column by its name, with or without its table's. What is not found may be anything."""
        wanted, table = node.name.lower(), node.table.lower()
        for alias, source in self.sources:
            for name, one in source.columns if table in ("", alias) else ():
                if name.lower() == wanted:
                    return one
        if not table and self.aliases is not None and wanted in self.aliases:
            return self.aliases[wanted]
        return OTHER if self.outside is None else unknown(self.outside.column(node))


Subquery = Callable[[exp.Expr, NameScope], TracedTable]
"""The columns of a query inside of an expression."""


def expression(node: exp.Expr, scope: NameScope, subquery: Subquery) -> Measured:
    """The provenance of an expression.

    >>> import sqlglot
    >>> from rewriter.outer.provenance import output
    >>> from rewriter.plan import Linear, Output
    >>> from rewriter.declared.types import BIGINT
    >>> n = output(0, Output("a0", BIGINT, Linear(()), "COUNT(*)"))
    >>> scope = NameScope((("r", TracedTable((("n", n), ("k", PUBLIC)))),))
    >>> read = lambda sql: expression(sqlglot.parse_one(sql), scope, lambda *_: TracedTable(()))
    >>> read("2 * n - 1").form
    Affine(terms=(((0, 'a0'), Fraction(2, 1)),), constant=Fraction(-1, 1), slack=Fraction(0, 1))
    >>> read("k"), read("SQRT(n)").form
    (Measured(form=Public(), whole=False, rounding=None, nonnegative=False, guarded=False, most=None), Other())
    """
    if isinstance(node, exp.Column):
        return scope.column(node)
    if isinstance(node, exp.Query):
        found = subquery(node, scope)
        known = OTHER if found.filtered or any(one.noisy for _, one in found.columns) else PUBLIC
        return replace(known, nonnegative=all(one.nonnegative for _, one in found.columns))
    if isinstance(node, exp.Case):
        return _case(node, scope, subquery)
    if isinstance(node, exp.Window) and (mark := RUNNING.of(node)) is not None:
        return running(expression(node.this.this, scope, subquery), mark.name, mark.window)
    if isinstance(node, exp.Paren) and LISTED.is_on(node):
        return _listed(node, scope, subquery)
    parts = [expression(part, scope, subquery) for part in node.iter_expressions()]
    if (rule := _RULES.get(type(node))) is not None:
        one = rule(node, parts)
    else:
        # How many rows there are, and which, may depend on released numbers too.
        counts_rows = isinstance(node, exp.AggFunc | exp.Window | exp.Exists) and scope.filtered
        one = OTHER if counts_rows else unknown(*parts)
    return replace(
        one,
        nonnegative=_is_nonnegative(node, parts),
        guarded=_is_guarded(node, parts),
        most=most_of(node, parts) if one.noisy else None,
    )


def _listed(node: exp.Paren, scope: NameScope, subquery: Subquery) -> Measured:
    """The text of an array: its items, where they are shown as they were released."""
    items = [expression(one.this.this, scope, subquery) for one in node.find_all(exp.Coalesce, bfs=False)]
    means = tuple(one.form for one in items if isinstance(one.form, Mean) and one.rounding is None)
    return Measured(Listed(means)) if means and len(means) == len(items) else unknown(*items)


def _is_guarded(node: exp.Expr, parts: Sequence[Measured]) -> bool:
    """A quotient by 0 is NULL, guarded or not: ``NULLIF(b, 0)`` below the line hides nothing."""
    if isinstance(node, exp.Div) and _is_unless_zero(node.expression):
        return parts[0].guarded
    return isinstance(node, exp.Nullif) or any(part.guarded for part in parts)


def _is_unless_zero(node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return isinstance(node, exp.Nullif) and node.expression.is_int and str(node.expression) == "0"


def _is_nonnegative(node: exp.Expr, parts: Sequence[Measured]) -> bool:
    """Whether a number is never below 0 because of what it is made of."""
    if isinstance(node, _KEEPING):
        first = node.this
        return bool(parts) and isinstance(first, exp.Expr) and parts[0].nonnegative
    if isinstance(node, exp.Add | exp.Mul | exp.Div):
        return all(part.nonnegative for part in parts)
    if isinstance(node, exp.Literal):
        return not node.is_string
    if isinstance(node, exp.Coalesce):
        return all(part.nonnegative for part in parts)
    return isinstance(node, _COUNTING)


def _literal(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return PUBLIC if node.args.get("is_string") else literal(node.name)


def _inner(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return parts[0]


def _first(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    """``NULLIF(x, 0)`` and ``COALESCE(x, 0)``: x, wherever x is shown."""
    hidden = isinstance(node, exp.Coalesce) and parts[0].guarded
    return unknown(*parts) if hidden or any(part.constant is None for part in parts[1:]) else parts[0]


def _add(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return add(parts[0], parts[1])


def _subtract(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return add(parts[0], parts[1], -1)


def _multiply(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return multiply(parts[0], parts[1])


def _divide(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return divide(parts[0], parts[1])


def _negate(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return multiply(parts[0], literal("-1")) if parts[0].noisy else _negative(parts[0])


def _negative(one: Measured) -> Measured:
    constant = one.constant
    return PUBLIC if constant is None else replace(literal(str(-constant)), whole=one.whole)


def _cast(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    """To a number: rounded to its digits. NUMERIC without digits holds any."""
    to, one = node.args["to"], parts[0]
    if to.this in (exp.DType.DOUBLE, exp.DType.FLOAT) or (to.this is exp.DType.DECIMAL and not to.expressions):
        return replace(one, whole=False)
    if to.this is exp.DType.DECIMAL:
        digits = [size.this.name for size in to.expressions] + ["0"]
        return replace(rounded(one, int(digits[1])), whole=False) if digits[1].isdigit() else unknown(one)
    if to.this in (exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT):
        return replace(rounded(one, 0), whole=True)
    return unknown(one)


def _round(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    digits = parts[1].constant if len(parts) > 1 else Fraction(0)
    if len(parts) > 2 or digits is None or digits.denominator != 1 or abs(digits) > 30:
        return unknown(*parts)
    return rounded(parts[0], int(digits))


def _case(node: exp.Case, scope: NameScope, subquery: Subquery) -> Measured:
    """A guard such as ``CASE WHEN b > 0 THEN a / b END``: where it shows a number, it is that of its one branch."""
    tests = [node.this, *(branch.this for branch in node.args["ifs"])]
    shown = [node.args.get("default"), *(branch.args["true"] for branch in node.args["ifs"])]
    conditions = [expression(test, scope, subquery) for test in tests if test is not None]
    branches = [expression(one, scope, subquery) for one in shown if one is not None and not isinstance(one, exp.Null)]
    if len(branches) == 1 and branches[0].noisy:
        return replace(branches[0], guarded=True)
    return replace(unknown(*conditions, *branches), nonnegative=all(branch.nonnegative for branch in branches))


_KEEPING = (
    exp.Alias, exp.Paren, exp.Cast, exp.Round, exp.Nullif, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Window, exp.Filter,
)  # fmt: skip
"""What is not below 0 where its first part is not."""

_COUNTING = (
    exp.Count, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Abs, exp.Stddev, exp.Variance, exp.Exp, exp.Sqrt,
)  # fmt: skip
"""What is never below 0."""

_RULES: Mapping[type[exp.Expr], Callable[[exp.Expr, Sequence[Measured]], Measured]] = {
    exp.Literal: _literal,
    exp.Alias: _inner,
    exp.Paren: _inner,
    exp.Neg: _negate,
    exp.Add: _add,
    exp.Sub: _subtract,
    exp.Mul: _multiply,
    exp.Div: _divide,
    exp.Nullif: _first,
    exp.Coalesce: _first,
    exp.Cast: _cast,
    exp.Round: _round,
}
