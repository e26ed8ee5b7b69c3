"""MIN, MAX, BOOL_OR and BOOL_AND: of one person's rows they are one of the person's own values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call
from rewriter.declared import ContributionBound, Type
from rewriter.dialects import Dialect
from rewriter.expressions import Value, Values
from rewriter.refused import NO_FUNCTION, Refused
from rewriter.release import Aggregate, MeasuredBy


@dataclass(frozen=True, slots=True)
class OwnValue(AggregateFunction):
    """An aggregate that answers one of its arguments."""

    @property
    def own_value(self) -> bool:
        return True

    def output_type(self, aggregate: Aggregate) -> Type:
        return aggregate.value.type

    def of_one_person(self, aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
        argument = aggregate.value
        one = argument.carried_by(aggregate.filtered(self.node(this=argument.sql.copy()), dialect))
        # One of the person's own keys is a key of the person.
        whole = not argument.nullable and aggregate.condition is None
        nullable = not whole or not one.identifies
        domain = argument.domain if isinstance(argument.domain, Values) else None
        if domain is not None and nullable:
            domain = Values(tuple(dict.fromkeys((*domain.values, None))))
        return replace(one, nullable=nullable, constant=False, unit=one.unit and whole, domain=domain)


@dataclass(frozen=True, slots=True)
class Extreme(OwnValue):
    """MIN(x) and MAX(x): over people the ends of what is declared, or picked as the quantile ``end`` is."""

    end: Fraction = Fraction(0)

    def asked(self, call: Call) -> Aggregate:
        if call.is_distinct:
            raise Refused("DISTINCT changes nothing here", hint="leave DISTINCT out")
        return Aggregate(self, call.value(call.argument), call.test, False, call.wording, fraction=self.end)


@dataclass(frozen=True, slots=True)
class Logical(OwnValue):
    """BOOL_OR(p) and BOOL_AND(p): over people two counts, of the rows on which it is ``telling`` and of the others
    (:mod:`rewriter.aggregates.booleans_as_counts`)."""

    telling: bool = True

    def asked(self, call: Call) -> Aggregate:
        return Aggregate(self, call.condition(call.argument, self.word, NO_FUNCTION), call.test, False, call.wording)


MIN = Extreme("MIN", exp.Min, MeasuredBy.PICK, in_windows=True, same_of_one=True, repeatable=True)
MAX = Extreme("MAX", exp.Max, MeasuredBy.PICK, in_windows=True, same_of_one=True, repeatable=True, end=Fraction(1))
BOOL_OR = Logical("BOOL_OR", exp.LogicalOr, in_windows=True)
BOOL_AND = Logical("BOOL_AND", exp.LogicalAnd, in_windows=True, telling=False)
