"""Nodes whose text is SQL's own, the same in every grammar: sqlglot spells them for every engine alike.

Every other node that a text of ours has is in the ``own_syntax`` of its dialect, and so known to be in that engine's
grammar; what an engine says in another way is a spelling of :mod:`rewriter.dialects.dialect`.
"""

from __future__ import annotations

from sqlglot import exp

_QUERIES: tuple[type[exp.Expr], ...] = (
    *(
        exp.Select,
        exp.Subquery,
        exp.Union,
        exp.Intersect,
        exp.Except,
        exp.Values,
        exp.With,
        exp.CTE,
        exp.From,
        exp.Join,
        exp.Where,
        exp.Group,
    ),
    *(exp.Having, exp.Order, exp.Ordered, exp.Distinct, exp.Window, exp.WindowSpec, exp.Alias, exp.TableAlias),
    *(exp.Table, exp.Column, exp.Identifier, exp.Star, exp.Tuple),
)
_OPERATORS: tuple[type[exp.Expr], ...] = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg, exp.DPipe, exp.Paren, exp.And, exp.Or, exp.Not),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Is, exp.Like, exp.Exists),
)
_VALUES: tuple[type[exp.Expr], ...] = (
    *(exp.Literal, exp.Boolean, exp.Null, exp.Case, exp.If, exp.Coalesce),
    *(exp.Cast, exp.DataType, exp.DataTypeParam),
)
_FUNCTIONS: tuple[type[exp.Expr], ...] = (
    *(exp.Anonymous, exp.Abs, exp.Sqrt, exp.RowNumber),
    *(exp.Count, exp.Sum, exp.Min, exp.Max),
)

PLAIN = frozenset((*_QUERIES, *_OPERATORS, *_VALUES, *_FUNCTIONS))
