"""The allow-list of the outer SELECT: every construct that may appear, and what is said of others.

A wide list, for the service's protection and not for privacy's: the outer SELECT runs where nothing secret is. Still
it is a list of what may, since DuckDB has functions that read files, settings and clocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from rewriter.expressions import word_of
from rewriter.outer.construct import ConstructTable, OuterFunction
from rewriter.outer.outer_aggregates import AGGREGATES, WITHIN_GROUP
from rewriter.outer.outer_functions import SCALARS
from rewriter.outer.outer_syntax import SYNTAX
from rewriter.refused import BAD_PARAMETER, NOT_ANSWERED, Refused
from rewriter.statement import function_name

OUTER_FUNCTIONS: Sequence[OuterFunction] = (*SCALARS, *AGGREGATES)
"""Every function, aggregate and window function that may appear."""

NAMED: Mapping[str, OuterFunction] = {one.names[0].upper(): one for one in OUTER_FUNCTIONS if one.arguments is not None}
"""Those that the parser has no class for."""

CONSTRUCTS = ConstructTable(
    {
        **SYNTAX,
        exp.WithinGroup: WITHIN_GROUP,
        **{one.node: one.construct for one in OUTER_FUNCTIONS if one.arguments is None},
    },
    {name: one.construct for name, one in NAMED.items()},
)
"""All that may appear. A subclass of a node that may appear may not."""

_CLOCK = "write the date as a literal: DATE '2025-01-31'"
_ROWS = "join a subquery or VALUES instead"
_RANDOM = ("random numbers are not answered", "ROW_NUMBER() OVER (ORDER BY …) numbers rows")
_NO_VALUE = ("a parameter has no value", "pass one value for each")

_INSTEAD: Mapping[type[exp.Expr], tuple[str, str]] = {
    exp.CurrentDate: ("CURRENT_DATE is not answered", _CLOCK),
    exp.CurrentTimestamp: ("now() is not answered", _CLOCK),
    exp.CurrentTime: ("CURRENT_TIME is not answered", _CLOCK),
    exp.Localtime: ("LOCALTIME is not answered", _CLOCK),
    exp.Localtimestamp: ("LOCALTIMESTAMP is not answered", _CLOCK),
    exp.Rand: _RANDOM,
    exp.Uuid: _RANDOM,
    exp.Lateral: ("this LATERAL is not answered", "write LATERAL (SELECT …) AS x"),
    exp.Unnest: ("this UNNEST is not answered", "write UNNEST(ARRAY[1, 2]) AS x"),
    exp.TableSample: ("TABLESAMPLE is not answered", _ROWS),
    exp.Placeholder: _NO_VALUE,
    exp.Parameter: _NO_VALUE,
    exp.Collate: ("this COLLATE is not answered", 'texts compare by code point, as COLLATE "C" has it; use LOWER(x)'),
    exp.ParameterizedAgg: ("dpsql.over_blocks is answered over people alone", "use the aggregate itself"),
    exp.AnonymousAggFunc: ("LINREGR is answered over people alone", "use REGR_SLOPE(y, x) and REGR_INTERCEPT(y, x)"),
    exp.SimilarTo: ("this SIMILAR TO is not answered", "its pattern is a literal: x SIMILAR TO '(a|b)%'"),
}
"""What is not answered, and what would be."""


_WORDS: Mapping[type[exp.Expr], str] = {
    exp.Bracket: "a subscript",
    exp.JSON: "IS JSON",
    exp.Overlaps: "OVERLAPS",
    exp.Qualify: "QUALIFY",
}
"""The words for nodes that are none of SQL's."""


def not_answered(node: exp.Expr) -> Refused:
    """The refusal of a node that is not listed."""
    if (said := _INSTEAD.get(type(node))) is not None:
        sqlstate = BAD_PARAMETER if said is _NO_VALUE else NOT_ANSWERED
        return Refused(said[0], hint=said[1], sqlstate=sqlstate)
    if isinstance(node, exp.Func):
        name = (word_of(node) or function_name(type(node))).upper()
        return Refused(
            f"{name} is not answered above aggregates", hint="use the common functions, CASE, CAST or EXTRACT"
        )
    what = _WORDS.get(type(node)) or type(node).__name__
    return Refused(f"{what} is not answered above aggregates", hint="write it in plain SELECTs")
