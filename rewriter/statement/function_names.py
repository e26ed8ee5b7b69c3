"""What PostgreSQL calls functions that the parser has other names for."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewriter.expressions import FUNCTIONS

_AGGREGATES: Mapping[type[exp.Expr], str] = {
    exp.ApproxDistinct: "approx_count_distinct",
    exp.BitwiseAndAgg: "bit_and",
    exp.BitwiseOrAgg: "bit_or",
    exp.BitwiseXorAgg: "bit_xor",
    exp.GroupConcat: "string_agg",
    exp.JSONArrayAgg: "json_agg",
    exp.JSONObjectAgg: "json_object_agg",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.VariancePop: "var_pop",
}

_NAMES: Mapping[type[exp.Expr], str] = {
    **{row.node: row.names[0] for row in FUNCTIONS if row.arguments is None},
    **_AGGREGATES,
}

SPELT_AS_ANOTHER = (exp.Median,)
"""Functions that the generator spells by another function, which nobody wrote."""


def function_name(node: type[exp.Func]) -> str:
    """The name of a function by the parser's class for it, in small letters.

    >>> function_name(exp.GroupConcat), function_name(exp.ToChar), function_name(exp.Sum)
    ('string_agg', 'to_char', 'sum')
    """
    return _NAMES.get(node) or node.sql_name().lower()
