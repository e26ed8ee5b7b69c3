"""BOOL_OR, BOOL_AND and shares over people, as counts of the rows on which a condition is true, and is false.

Guarantee: nothing but counts is measured. What is said of them is above the noise and free. Without noise, and where
margins are 0, it is what SQL says, NULLs included.

BOOL_OR(p) is TRUE where the noisy count of rows with p is above its margin, FALSE where that of the rows with NOT p
is, and NULL where neither is: no row, or too few to tell. A margin is the half-width of the 95 % interval, so that
noise alone says TRUE at most 2.5 times in 100, and as rarely misses twice as many rows as the margin has. BOOL_AND(p)
is NOT BOOL_OR(NOT p). The two counts are disjoint: together they cost as much as one.

BOOL_OR(TRUE) is EXISTS: whether there is a row. One count is measured for it, of the people who have a row where a
column says who has it: one person moves that by 1, however many rows people have.

AVG(CASE WHEN p THEN 1 ELSE 0 END) beside other counts or shares is a quotient of two counts, so that all of them are
one family of counts (:mod:`rewriter.measure.overlapping_counts`); alone it is measured as any mean is, by the same two
disjoint counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates.counts import COUNT
from rewriter.aggregates.extremes import in_place
from rewriter.aggregates.grouped_select import Grouped
from rewriter.aggregates.own_values import BOOL_OR, Logical
from rewriter.declared import Kind
from rewriter.dialects import Dialect, wrap
from rewriter.expressions import Value, both, compile_expression, present
from rewriter.plan import EXISTS
from rewriter.relations import BlockScope, condition
from rewriter.release import Aggregate, Term, Wording, aggregate_name, margin_name

_INTEGERS = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})


def plain_every(tree: exp.Query) -> exp.Query:
    """``tree`` with EVERY(p), which is BOOL_AND(p) in other words, as that.

    >>> import sqlglot
    >>> plain_every(sqlglot.parse_one("SELECT every(x > 1) FROM t", read="postgres")).sql("postgres")
    'SELECT BOOL_AND(x > 1) AS "every" FROM t'
    """
    if not any(_is_every(node) for node in tree.find_all(exp.Anonymous)):
        return tree
    copy: exp.Query = tree.copy()
    for node in [found for found in copy.find_all(exp.Anonymous) if _is_every(found)]:
        plain: exp.Expr = exp.LogicalAnd(this=node.expressions[0])
        outermost = node.parent if isinstance(node.parent, exp.Filter | exp.Window) else node
        if isinstance(outermost.parent, exp.Select) and outermost.arg_key == "expressions":
            outermost.replace(exp.alias_(outermost.copy(), "every", quoted=True, copy=False))
            node = next(found for found in copy.find_all(exp.Anonymous) if _is_every(found))
        node.replace(plain)
    return copy


def _is_every(node: exp.Anonymous) -> bool:
    return isinstance(node.this, str) and node.name.upper() == "EVERY" and len(node.expressions) == 1


def as_counts(grouped: Grouped, scope: BlockScope, dialect: Dialect, *, one_row: bool = False) -> Grouped:
    """``grouped`` with counts in the place of BOOL_OR, BOOL_AND and shares, which its outer SELECT makes of them.
    ``one_row``: nobody has more than one row."""
    aggregates = grouped.aggregates
    shares = [
        _share(aggregate, call, scope, dialect) for aggregate, call in zip(aggregates, grouped.calls, strict=True)
    ]
    counted = sum(one.kind.counts and not one.distinct for one in aggregates)
    if counted + sum(share is not None for share in shares) < 2:
        known = zip(aggregates, shares, strict=True)
        aggregates = tuple(one if share is None else replace(one, terms=share.terms) for one, share in known)
        shares = [None for _ in aggregates]
    if not any(shares) and not any(isinstance(aggregate.kind, Logical) for aggregate in aggregates):
        return replace(grouped, aggregates=aggregates)
    made: dict[int, exp.Expr] = {}
    places: dict[int, int] = {}
    kept: list[Aggregate] = []
    calls: list[exp.Expr] = []
    table = grouped.outer.args["from_"].this.name
    for number, (aggregate, call, share) in enumerate(zip(aggregates, grouped.calls, shares, strict=True)):
        kind = aggregate.kind
        found: _Counts | None
        if _asks_for_a_row(aggregate):
            found = _existing(aggregate, None if one_row else _person_of(scope))
        else:
            found = _decided(aggregate, kind.telling) if isinstance(kind, Logical) else share.counts if share else None
        if found is None:
            places[number] = len(kept)
            kept.append(aggregate)
            calls.append(call)
            continue
        counts, said = found
        made[number] = said(*(exp.column(aggregate_name(len(kept) + place), table) for place in range(len(counts))))
        kept += counts
        calls += [call for _ in counts]
    outer = in_place(grouped.outer, made, places)
    return replace(grouped, aggregates=tuple(kept), calls=tuple(calls), outer=outer)


_Counts = tuple[tuple[Aggregate, ...], Callable[..., exp.Expr]]
"""Counts, and what is said of their columns."""


def _asks_for_a_row(aggregate: Aggregate) -> bool:
    """Whether it is BOOL_OR(TRUE)."""
    argument = aggregate.argument.sql if aggregate.argument is not None else None
    return aggregate.kind is BOOL_OR and isinstance(argument, exp.Boolean) and bool(argument.this)


def _person_of(scope: BlockScope) -> Value | None:
    """A column that says whose each row is; None where there is none that is never missing."""
    columns = (source.reference(name) for source in scope.sources for name in source.fields)
    return next((value for value in columns if value.unit and not value.nullable), None)


def _existing(aggregate: Aggregate, person: Value | None) -> _Counts:
    counted = Wording("the rows" if person is None else "the people who have a row", ())
    count = Aggregate(COUNT, person, aggregate.condition, person is not None, counted, decides=EXISTS)

    def said(found: exp.Column) -> exp.Expr:
        return exp.Case(ifs=[exp.If(this=_exceeds(found), true=exp.true())])

    return (count,), said


def _decided(aggregate: Aggregate, is_or: bool) -> _Counts:
    if aggregate.argument is None:
        raise AssertionError("a condition is an argument")
    telling, other = aggregate.argument, _negated(aggregate.argument)
    if not is_or:
        telling, other = other, telling
    counts = (_counted(aggregate, telling, decides=True), _counted(aggregate, other))

    def said(found: exp.Column, not_found: exp.Column) -> exp.Expr:
        yes, no = exp.Boolean(this=is_or), exp.Boolean(this=not is_or)
        return exp.Case(
            ifs=[exp.If(this=_exceeds(found), true=yes), exp.If(this=_exceeds(not_found), true=no)],
        )

    return counts, said


def _counted(aggregate: Aggregate, test: Value, *, decides: bool = False) -> Aggregate:
    said = aggregate.text if decides else ""
    return Aggregate(COUNT, None, both(aggregate.condition, test), False, aggregate.wording, decides=said)


def _negated(value: Value) -> Value:
    negated = exp.Not(this=wrap(value.sql.copy()))
    return Value.condition(negated, nullable=value.nullable, constant=value.constant)


def _exceeds(count: exp.Column) -> exp.Expr:
    """Whether a noisy count is larger than noise alone would make it; its margin stands beside it in the release."""
    margin = exp.column(margin_name(count.name), count.table)
    return exp.GT(this=count, expression=exp.Coalesce(this=margin, expressions=[exp.Literal.number(0)]))


@dataclass(frozen=True)
class _Share:
    """The rows that a share is of, and all rows; ``factor`` is what one of the first counts for."""

    held: Aggregate
    whole: Aggregate
    factor: exp.Expr

    @property
    def terms(self) -> tuple[Term, ...]:
        return Term(self.held, Fraction(self.factor.name)), Term(self.whole, Fraction(0), 1)

    @property
    def counts(self) -> _Counts:
        return (self.held, self.whole), self._said

    def _said(self, above: exp.Column, below: exp.Column) -> exp.Expr:
        top: exp.Expr = exp.cast(above, "double")
        if self.factor.name != "1":
            top = exp.Mul(this=self.factor.copy(), expression=top)
        return exp.Paren(this=exp.Div(this=top, expression=exp.Nullif(this=below, expression=exp.Literal.number(0))))


def _share(aggregate: Aggregate, call: exp.Expr, scope: BlockScope, dialect: Dialect) -> _Share | None:
    """The rows with p and all rows, of AVG(CASE WHEN p THEN 1 ELSE 0 END) and AVG(CAST(p AS INT))."""
    argument = call.this.this if isinstance(call, exp.Filter) else call.this
    if not aggregate.kind.averages:
        return None
    factor = exp.Literal.number(1)
    every: Value | None = None
    if isinstance(argument, exp.Case):
        test = _one_or_zero(argument)
        if test is None:
            return None
        held, factor = condition(test[0], scope, dialect, "CASE"), test[1]
    elif isinstance(argument, exp.Cast) and argument.to.this in _INTEGERS:
        held = compile_expression(argument.this, scope, dialect)
        every = present(held)
        if held.type.kind is not Kind.BOOLEAN:
            return None
    else:
        return None
    with_it, of_all = (Wording(f"{rows} of {aggregate.text}", ()) for rows in ("the rows with it", "the rows"))
    whole = Aggregate(COUNT, None, both(aggregate.condition, every), False, of_all)
    return _Share(replace(_counted(aggregate, held), wording=with_it), whole, factor)


def _one_or_zero(case: exp.Case) -> tuple[exp.Expr, exp.Literal] | None:
    """The condition p and the number c of CASE WHEN p THEN c ELSE 0 END."""
    ifs, default = case.args.get("ifs") or [], case.args.get("default")
    if case.this is not None or len(ifs) != 1:
        return None
    then = ifs[0].args["true"]
    if not isinstance(then, exp.Literal) or then.is_string or not isinstance(default, exp.Literal):
        return None
    is_zero = not default.is_string and default.name in ("0", "0.0")
    return (ifs[0].this, then) if is_zero else None
