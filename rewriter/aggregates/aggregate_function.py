"""One aggregate function of SQL over people: how a call is checked, and what is known of it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from sqlglot import exp

from rewriter.declared import DOUBLE, Kind, Type
from rewriter.dialects import Dialect
from rewriter.expressions import Value, both, compile_expression
from rewriter.refused import NO_FUNCTION, TYPE_MISMATCH, Refused
from rewriter.relations import BlockScope, condition
from rewriter.release import Aggregate, AggregateKind, Wording
from rewriter.statement import only, written

PARTS = frozenset({"this", "big_int"})

_NUMBERS = {
    Kind.TEXT: "COUNT(*) with GROUP BY counts each of them; or cast them, as in x::integer",
    Kind.BOOLEAN: "cast it, as in x::integer; or ask for COUNT(*) FILTER (WHERE x)",
    Kind.DATE: "a number of it is x - DATE '2024-01-01', in days, or EXTRACT(YEAR FROM x)",
    Kind.TIMESTAMP: "a number of it is EXTRACT(EPOCH FROM x)",
    Kind.TIMESTAMPTZ: "a number of it is EXTRACT(EPOCH FROM x)",
}
"""How values of other kinds become numbers."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an aggregate: its ``node`` without FILTER, the ``test`` of its FILTER, and the whole as it was written.

    Of ``f(…) WITHIN GROUP (ORDER BY …)``, ``node`` is all of it.
    """

    node: exp.Expr
    test: Value | None
    scope: BlockScope
    dialect: Dialect
    text: str

    @property
    def argument(self) -> exp.Expr:
        argument: exp.Expr = self.node.this
        return argument

    @property
    def wording(self) -> Wording:
        called = self.node.this if isinstance(self.node, exp.WithinGroup) else self.node
        arguments = (called.this, called.args.get("expression"), *called.expressions)
        return Wording(self.text, tuple(written(one) for one in arguments if one is not None))

    @property
    def is_distinct(self) -> bool:
        return isinstance(self.argument, exp.Distinct)

    def value(self, node: exp.Expr) -> Value:
        return compile_expression(node, self.scope, self.dialect)

    def number(self, node: exp.Expr, word: str) -> Value:
        if isinstance(node, exp.Distinct):
            raise Refused(f"{word}(DISTINCT) is not answered over people", hint=f"use {word}(x)")
        value = self.value(node)
        if not value.type.numeric:
            hint = _NUMBERS.get(value.type.kind, "cast it, as in x::integer")
            raise Refused(f"{word} needs a number, not {value.type.one}", hint=hint, sqlstate=NO_FUNCTION)
        return value

    def of_distinct(self, function: AggregateFunction) -> Aggregate:
        """The call of f(DISTINCT x), which one person's rows may have, for a number x."""
        only(self.argument, frozenset({"expressions"}), f"{function.word}(DISTINCT)")
        argument, *more = self.argument.expressions
        if more:
            raise Refused(f"{function.word}(DISTINCT) has one argument", hint=f"write {function.word}(DISTINCT x)")
        return Aggregate(function, self.number(argument, function.word), self.test, True, self.wording)

    def condition(self, node: exp.Expr, what: str, sqlstate: str = TYPE_MISMATCH) -> Value:
        return condition(node, self.scope, self.dialect, what, sqlstate)

    def ordered_by(self, refusal: Refused) -> exp.Ordered:
        """The one order of WITHIN GROUP."""
        order = self.node.expression.expressions if isinstance(self.node.expression, exp.Order) else []
        if len(order) != 1 or order[0].args.get("with_fill"):
            raise refusal
        ordered: exp.Ordered = order[0]
        return ordered


@dataclass(frozen=True, slots=True)
class AggregateFunction(AggregateKind):
    """What a room that knows aggregates by this object alone asks of it.

    ``arguments`` is how many a call has; ``plain`` and ``ordered`` say whether it is called as ``f(x)`` and as
    ``f(…) WITHIN GROUP (ORDER BY x)``.
    """

    arguments: int = 1
    plain: bool = True
    ordered: bool = False

    @abstractmethod
    def asked(self, call: Call) -> Aggregate:
        """The aggregate that a call asks for. Raises :class:`Refused` for what is not answered of people."""

    def check(self, node: exp.Expr) -> None:
        """Refuse a call that has other parts than its arguments, or lacks one."""
        two = self.arguments > 1
        only(node, PARTS | {"expression"} if two else PARTS, self.word)
        if two and (node.this is None or node.args.get("expression") is None):
            raise Refused(f"{self.word} needs two arguments", hint=f"write {self.word}(y, x)", sqlstate="42883")
        if node.this is None:
            hint = f"write {self.word}(x), or COUNT(*)"
            raise Refused(f"{self.word} needs an argument", hint=hint, sqlstate="42883")

    def within(self, call: Call, *, zero: bool = False) -> Aggregate | None:
        """``f(x) FILTER (WHERE p)`` for ``f(CASE WHEN p THEN x END)``; with ELSE 0 too, where ``zero`` adds nothing.

        Where no row satisfies p, a sum is 0 and not NULL: over people it is 0 in any case, for one person it is not.
        """
        case = call.argument
        if not isinstance(case, exp.Case) or case.this is not None or len(case.args.get("ifs") or []) != 1:
            return None
        default = case.args.get("default")
        is_zero = isinstance(default, exp.Literal) and not default.is_string and default.this == "0"
        if not (default is None or isinstance(default, exp.Null) or (is_zero and zero)):
            return None
        branch = case.args["ifs"][0]
        inner = call.value(branch.args["true"])
        if not inner.type.numeric:
            return None
        where = both(call.test, call.condition(branch.this, "CASE"))
        around = call.node.parent
        filtered = f" FILTER(WHERE {written(around.expression.this)})" if isinstance(around, exp.Filter) else ""
        value = written(branch.args["true"])
        spelt = f"{self.word}({value}) FILTER(WHERE {written(branch.this)}){filtered}"
        return Aggregate(self, inner, where, False, Wording(spelt, (value,)))


@dataclass(frozen=True, slots=True)
class NumberFunction(AggregateFunction):
    """A DOUBLE that is computed of one number of each row: means and moments."""

    def asked(self, call: Call) -> Aggregate:
        value = call.number(call.argument, self.word)
        return Aggregate(self, value, call.test, False, call.wording, self.within(call))

    def output_type(self, aggregate: Aggregate) -> Type:
        return DOUBLE
