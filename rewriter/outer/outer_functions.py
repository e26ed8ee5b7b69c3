"""What the outer SELECT may consist of: syntax and functions that read only their inputs.

A wide list, for the service's protection and not for privacy's: the outer SELECT runs where nothing secret is. Still
it is a list of what may, since DuckDB has functions that read files, settings and clocks. Not on it, besides those:
whatever has no type among ours (arrays), and nodes that sqlglot spells by repeating an operand (INITCAP,
BETWEEN SYMMETRIC), which grow without bound when they are nested.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewriter.expressions import FUNCTIONS

_QUERIES = (
    exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Subquery, exp.With, exp.CTE, exp.Values, exp.Tuple,
    exp.From, exp.Join, exp.Table, exp.TableAlias, exp.Alias, exp.Identifier, exp.Column, exp.Star,
    exp.Where, exp.Group, exp.GroupingSets, exp.Rollup, exp.Cube, exp.Having, exp.Order, exp.Ordered,
    exp.Distinct, exp.Limit, exp.Offset, exp.Fetch, exp.LimitOptions, exp.Window, exp.WindowSpec,
)  # fmt: skip

_OPERATORS = (
    exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Escape,
    exp.RegexpLike, exp.RegexpILike, exp.Exists, exp.Any, exp.All, exp.Array,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Pow, exp.DPipe,
    exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot,
    exp.Case, exp.If, exp.AtTimeZone,
)  # fmt: skip

_VALUES = (
    exp.Literal, exp.ByteString, exp.Null, exp.Boolean, exp.Cast, exp.DataType, exp.DataTypeParam,
    exp.Interval, exp.Var,
)  # fmt: skip

_AGGREGATES = (
    exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance,
    exp.VariancePop, exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2,
    exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy, exp.RegrSxx, exp.RegrSxy, exp.RegrSyy, exp.GroupConcat,
    exp.LogicalAnd, exp.LogicalOr, exp.BitwiseAndAgg, exp.BitwiseOrAgg, exp.BitwiseXorAgg,
    exp.Median, exp.Mode, exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup, exp.AnyValue, exp.Grouping,
    exp.Filter, exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead,
    exp.FirstValue, exp.LastValue, exp.NthValue, exp.IgnoreNulls, exp.RespectNulls,
)  # fmt: skip

_ABOVE = [row for row in FUNCTIONS if row.above]

FORMS: frozenset[type[exp.Expr]] = frozenset(
    [*_QUERIES, *_OPERATORS, *_VALUES, *_AGGREGATES, *(row.node for row in _ABOVE if row.arguments is None)]
)
"""Every node class that may appear. A subclass of one of them may not."""

NAMED: Mapping[str, int] = {
    "EVERY": 1,
    **{row.names[0].upper(): row.arguments for row in _ABOVE if row.arguments is not None},
}
"""Functions that the parser has no class for, with their number of arguments."""

_SETS = frozenset({"this", "expression", "distinct", "with_", "order", "limit", "offset"})

PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        [
            "with_",
            "expressions",
            "distinct",
            "from_",
            "joins",
            "where",
            "group",
            "having",
            "windows",
            "order",
            "limit",
            "offset",
        ]
    ),
    exp.Union: _SETS,
    exp.Except: _SETS,
    exp.Intersect: _SETS,
    exp.Subquery: frozenset({"this", "alias"}),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.Table: frozenset({"this", "alias"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Values: frozenset({"expressions", "alias"}),
    exp.Join: frozenset({"this", "side", "kind", "method", "on", "using"}),
    exp.Group: frozenset({"expressions", "grouping_sets", "rollup", "cube"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Star: frozenset(),
    exp.Limit: frozenset({"expression"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Trim: frozenset({"this", "expression", "position"}),
    exp.TimestampTrunc: frozenset({"this", "unit"}),
    exp.DateTrunc: frozenset({"this", "unit"}),
    exp.RegexpReplace: frozenset({"this", "expression", "replacement", "modifiers", "single_replace"}),
    exp.StrPosition: frozenset({"this", "substr"}),
    exp.Mode: frozenset(),
}
"""Where a node has parts that PostgreSQL has not, or that are not carried over: the parts that may be set."""

CASTS = frozenset(
    {
        exp.DType.BOOLEAN, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.DECIMAL, exp.DType.FLOAT,
        exp.DType.DOUBLE, exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.BPCHAR, exp.DType.DATE, exp.DType.TIMESTAMP,
        exp.DType.TIMESTAMPTZ, exp.DType.INTERVAL,
    }
)  # fmt: skip
"""Types that may be cast to; BPCHAR is PostgreSQL's name for text without a length."""

PARTS_OF_TIME = frozenset(
    [
        "YEAR", "ISOYEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "DAYOFWEEK", "ISODOW", "DOY", "DAYOFYEAR",
        "HOUR", "MINUTE", "EPOCH", "DECADE", "CENTURY",
    ]
)  # fmt: skip
"""What EXTRACT may take; its SECOND has a fraction in PostgreSQL only."""

UNITS = frozenset(["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "DECADE", "CENTURY"])
"""What DATE_TRUNC may take."""

CLOCKS: Mapping[type[exp.Expr], str] = {
    exp.CurrentDate: "CURRENT_DATE",
    exp.CurrentTimestamp: "now()",
    exp.CurrentTime: "CURRENT_TIME",
    exp.Localtime: "LOCALTIME",
    exp.Localtimestamp: "LOCALTIMESTAMP",
}
"""Clocks, for a hint of their own."""

PSEUDO_COLUMNS = frozenset(
    [
        "current_catalog", "current_date", "current_schema", "current_role", "current_time", "current_timestamp",
        "current_user", "localtime", "localtimestamp", "session_user", "user", "rowid",
    ]
)  # fmt: skip
"""Names that DuckDB takes for more than columns."""
