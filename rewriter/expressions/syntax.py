"""Which syntax an expression may contain beside functions and operators: one line per class of nodes.

The second argument of a rule names the parts of the node that it looks at: a node with any other part is refused, so
that nothing an analyst writes is silently left out. Columns are the scope's.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.expressions import arithmetic, bits, casts, literals, logic, text, time
from rewriter.expressions.build import Rule, rule
from rewriter.expressions.documents import DOCUMENT_SYNTAX
from rewriter.expressions.stored_lists import LIST_SYNTAX

SYNTAX: dict[type[exp.Expr], Rule] = {
    # parts of documents and lists, and comparisons, also with ANY and ALL items of a list
    **DOCUMENT_SYNTAX,
    **LIST_SYNTAX,
    # literals
    exp.Literal: rule(literals.number_literal, "this", "is_string"),
    exp.RawString: rule(literals.text_literal),
    exp.ByteString: rule(literals.text_literal),
    exp.Boolean: rule(literals.boolean_literal),
    exp.Null: rule(literals.null_literal),
    exp.Interval: rule(literals.interval_literal, "this", "unit"),
    exp.Paren: rule(logic.parentheses),
    # comparisons and logic
    exp.NullSafeEQ: logic.comparison(exp.NullSafeEQ),
    exp.NullSafeNEQ: logic.comparison(exp.NullSafeNEQ),
    exp.Not: rule(logic.negation),
    exp.Is: rule(logic.is_test, "this", "expression", "negate"),
    exp.Between: rule(logic.between, "this", "low", "high", "symmetric"),
    exp.In: rule(logic.membership, "this", "expressions", "query"),
    exp.Subquery: rule(logic.scalar, "this"),
    exp.Exists: rule(logic.exists),
    exp.Like: rule(logic.like, "this", "expression", "negate"),
    exp.ILike: rule(logic.like, "this", "expression", "negate"),
    exp.Escape: rule(logic.escaped, "this", "expression"),
    exp.RegexpLike: text.regex(ignore_case=False),
    exp.RegexpILike: text.regex(ignore_case=True),
    # signs, choices and conversions
    exp.Neg: rule(arithmetic.negate),
    exp.BitwiseNot: rule(bits.inverted),
    exp.Case: rule(logic.case, "this", "ifs", "default"),
    exp.If: rule(logic.if_function, "this", "true", "false"),
    exp.Cast: rule(casts.cast, "this", "to"),
    exp.AtTimeZone: rule(time.at_time_zone, "this", "zone"),
}
