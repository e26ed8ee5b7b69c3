"""Clauses, operators and literals above releases: syntax that reads only its inputs.

Not here: whatever has no type among ours (arrays), and nodes that sqlglot spells by repeating an operand (BETWEEN
SYMMETRIC), which grow without bound when they are nested.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlglot import exp

from rewriter.declared import UTC, zone_at
from rewriter.dialects import DUCKDB
from rewriter.expressions import constant_span
from rewriter.outer import numbers, printed_texts
from rewriter.outer import provenance_rules as rules
from rewriter.outer.construct import ORDINARY, Construct, Spelling, Trait
from rewriter.refused import UNKNOWN_COLUMN, Refused
from rewriter.release import RESERVED, KeptGroups
from rewriter.statement import no_qualify

CASTS = frozenset(
    {
        exp.DType.BOOLEAN, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.DECIMAL, exp.DType.FLOAT,
        exp.DType.DOUBLE, exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.BPCHAR, exp.DType.DATE, exp.DType.TIMESTAMP,
        exp.DType.TIMESTAMPTZ, exp.DType.TIME, exp.DType.INTERVAL,
    }
)  # fmt: skip
"""Types that may be cast to; BPCHAR is PostgreSQL's name for text without a length."""

PSEUDO_COLUMNS = frozenset(
    [
        "current_catalog", "current_date", "current_schema", "current_role", "current_time", "current_timestamp",
        "current_user", "localtime", "localtimestamp", "session_user", "user", "rowid",
    ]
)  # fmt: skip
"""Names that DuckDB takes for more than columns."""

# Checks


def _check_column(node: exp.Expr) -> None:
    if not node.args.get("table") and node.name.lower() in PSEUDO_COLUMNS and not isinstance(node.this, exp.Star):
        raise Refused(f"there is no column {node.name}", hint="name a column of FROM", sqlstate=UNKNOWN_COLUMN)


def _check_join(node: exp.Expr) -> None:
    kind, side = (str(node.args.get(part) or "").upper() for part in ("kind", "side"))
    if kind not in ("", "INNER", "OUTER", "CROSS") or side not in ("", "LEFT", "RIGHT", "FULL"):
        raise Refused(f"{kind or side} JOIN is not answered", hint="use INNER, LEFT, RIGHT, FULL or CROSS JOIN")


def _check_qualify(node: exp.Expr) -> None:
    """QUALIFY is ours alone: which groups are shown, told after the windows over all of them."""
    column = node.this
    if not isinstance(column, exp.Column) or not column.name.startswith(f"{RESERVED}{KeptGroups.SHOWN}"):
        raise no_qualify(node)


def _check_cast(node: exp.Expr) -> None:
    to = node.args["to"]
    if (
        to.this is exp.DType.INTERVAL
        and isinstance(node.this, exp.Literal)
        and constant_span(node.this, DUCKDB) is None
    ):
        raise Refused(f"{node.this.name[:40]!r} is not an interval", hint="write INTERVAL '1 day'", sqlstate="22007")
    if _is_constant_value(node.this, to):
        return
    sizes = to.expressions
    if to.this not in CASTS or to.args.get("nested"):
        raise Refused(
            f"CAST to {to.sql('postgres')[:40]} is not answered", hint="cast to a number, text, date or timestamp"
        )
    if sizes and to.this is not exp.DType.DECIMAL:
        raise Refused("CAST with a length is not answered", hint="cast to TEXT, then use LEFT(x, n)")
    digits = [whole_literal(size.this) for size in sizes]
    if digits and not (len(digits) <= 2 and digits[0] is not None and 1 <= digits[0] <= 38):
        raise Refused(
            "NUMERIC has 1 to 38 digits here", hint="use NUMERIC(38, 10) or DOUBLE PRECISION", sqlstate="22023"
        )


def _is_constant_value(value: exp.Expr, to: exp.DataType) -> bool:
    """Whether a cast to a document or an array is of a constant that has that form: none of these fails on rows.

    >>> _is_constant_value(exp.Literal.string("[]"), exp.DataType.build("json"))
    True
    """
    if to.this is exp.DType.ARRAY:
        return isinstance(value, exp.Null) and all(item.this in CASTS for item in to.expressions)
    if to.this not in (exp.DType.JSON, exp.DType.JSONB):
        return False
    if isinstance(value, exp.Literal) and value.is_string:
        try:
            json.loads(value.name, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise Refused("invalid input syntax for type json", hint="write '[]' or '{}'", sqlstate="22P02") from None
        return True
    return isinstance(value, exp.Null)


def _no_constant(name: str) -> None:
    """NaN and Infinity, which Python reads, are no JSON."""
    raise ValueError(name)


def whole_literal(node: exp.Expr | None) -> int | None:
    """A whole number that is written out."""
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isascii() and node.name.isdigit():
        return int(node.name) if len(node.name) <= 9 else 10**9
    return None


def _check_like(node: exp.Expr) -> None:
    pattern = node.args["expression"]
    if isinstance(pattern, exp.Literal) and not isinstance(node.parent, exp.Escape) and _ends_escaped(pattern.name):
        raise Refused("a LIKE pattern ends with an escape", hint=r"write \\ for one", sqlstate="22025")
    if isinstance(node.args["expression"], exp.Any | exp.All | exp.Array | exp.Tuple):
        raise Refused("LIKE ANY is not answered", hint="write x LIKE 'a%' OR x LIKE 'b%'")


def _ends_escaped(pattern: str) -> bool:
    r"""Whether a backslash at the end has nothing to escape.

    >>> _ends_escaped("50%\\"), _ends_escaped(r"50\\%")
    (True, False)
    """
    return (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1


def _check_zone(node: exp.Expr) -> None:
    zone = node.args.get("zone")
    if not isinstance(zone, exp.Literal) or not zone.is_string:
        raise Refused("a time zone is a literal", hint="write AT TIME ZONE 'Europe/Berlin'")
    if zone_at(zone.name) is None:
        raise Refused("there is no such time zone", hint="write a name like 'Europe/Berlin'", sqlstate="22023")


# Spellings


def _cast(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    if node.args["to"].this is exp.DType.INTERVAL and (span := constant_span(node.this, DUCKDB)) is not None:
        return DUCKDB.interval(*span)
    printed_texts.cast_text(node, spelling)
    return numbers.cast(node, spelling)


def _like(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """PostgreSQL's LIKE has the backslash for its escape, DuckDB's has none."""
    pattern = node.args["expression"]
    if not isinstance(node.parent, exp.Escape) and not (isinstance(pattern, exp.Literal) and "\\" not in pattern.name):
        numbers.put_under(node, exp.Escape(this=exp.Null(), expression=exp.Literal.string("\\")))
    return node


def _regexp(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """In PostgreSQL the dot matches a line's end too."""
    flags = exp.Literal.string("is" if isinstance(node, exp.RegexpILike) else "s")
    return exp.RegexpLike(this=node.this, expression=node.args["expression"], flag=flags)


def _zone(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """A zone by its full name: PostgreSQL's abbreviations stand for fixed distances from UTC."""
    node.set("zone", exp.Literal.string(zone_at(node.args["zone"].name) or UTC))
    return node


def _fetch(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return exp.Limit(expression=node.args.get("count") or exp.Literal.number(1))


# Tables


def _parts(names: str) -> Construct:
    return Construct(parts=frozenset(names.split()))


_OPERAND = Construct(provenance=rules.inner, nonnegative=rules.of_first)
_LIKE = Construct(check=_check_like, spelling=_like)
_SETS = _parts("this expression distinct with_ order limit offset")

_QUERIES: Mapping[type[exp.Expr], Construct] = {
    exp.Select: _parts("with_ expressions distinct from_ joins where group having qualify windows order limit offset"),
    exp.Union: _SETS,
    exp.Except: _SETS,
    exp.Intersect: _SETS,
    exp.Subquery: _parts("this alias"),
    exp.With: _parts("expressions"),
    exp.CTE: _parts("this alias materialized"),
    exp.Values: _parts("expressions alias"),
    exp.Tuple: ORDINARY,
    exp.From: ORDINARY,
    exp.Join: Construct(frozenset({"this", "side", "kind", "on"}), _check_join),
    exp.Table: _parts("this alias"),
    exp.TableAlias: _parts("this columns"),
    exp.Alias: _OPERAND,
    exp.Identifier: ORDINARY,
    exp.Column: Construct(frozenset({"this", "table"}), _check_column),
    exp.Star: _parts(""),
    exp.Where: ORDINARY,
    exp.Group: _parts("expressions grouping_sets rollup cube"),
    exp.GroupingSets: ORDINARY,
    exp.Rollup: ORDINARY,
    exp.Cube: ORDINARY,
    exp.Having: ORDINARY,
    exp.Qualify: Construct(check=_check_qualify),
    exp.Order: ORDINARY,
    exp.Ordered: _parts("this desc nulls_first"),
    exp.Distinct: ORDINARY,
    exp.Limit: _parts("expression"),
    exp.Offset: ORDINARY,
    exp.Fetch: Construct(frozenset({"direction", "count", "limit_options"}), spelling=_fetch),
    exp.LimitOptions: _parts("rows"),
    exp.Window: Construct(nonnegative=rules.of_first),
    exp.WindowSpec: ORDINARY,
    exp.Filter: Construct(nonnegative=rules.of_first),
    exp.IgnoreNulls: ORDINARY,
    exp.RespectNulls: ORDINARY,
}

_LOGIC: Mapping[type[exp.Expr], Construct] = {
    exp.And: ORDINARY,
    exp.Or: ORDINARY,
    exp.Not: ORDINARY,
    exp.EQ: ORDINARY,
    exp.NEQ: ORDINARY,
    exp.GT: ORDINARY,
    exp.GTE: ORDINARY,
    exp.LT: ORDINARY,
    exp.LTE: ORDINARY,
    exp.NullSafeEQ: ORDINARY,
    exp.NullSafeNEQ: ORDINARY,
    exp.Is: ORDINARY,
    exp.In: _parts("this expressions query"),
    exp.Between: _parts("this low high"),
    exp.Like: _LIKE,
    exp.ILike: _LIKE,
    exp.Escape: ORDINARY,
    exp.RegexpLike: Construct(spelling=_regexp),
    exp.RegexpILike: Construct(spelling=_regexp),
    exp.Exists: ORDINARY,
    exp.Any: ORDINARY,
    exp.All: ORDINARY,
    exp.Array: Construct(check=printed_texts.check_list),
    exp.Bracket: Construct(frozenset({"this", "expressions", "offset"})),
    exp.Case: ORDINARY,
    exp.If: ORDINARY,
}

_OPERATORS: Mapping[type[exp.Expr], Construct] = {
    exp.Paren: Construct(provenance=rules.inner, nonnegative=rules.of_first, traits=Trait.OPERAND_TYPE),
    exp.Add: Construct(provenance=rules.sum_of, nonnegative=rules.of_all, traits=Trait.OPERAND_TYPE),
    exp.Sub: Construct(provenance=rules.difference, traits=Trait.OPERAND_TYPE),
    exp.Mul: Construct(provenance=rules.product, nonnegative=rules.of_all, traits=Trait.OPERAND_TYPE),
    exp.Div: Construct(
        provenance=rules.quotient,
        nonnegative=rules.of_all,
        spelling=numbers.divided,
        traits=Trait.OPERAND_TYPE | Trait.DIVIDED,
    ),
    exp.Neg: Construct(provenance=rules.negated, traits=Trait.OPERAND_TYPE),
    exp.BitwiseAnd: ORDINARY,
    exp.BitwiseOr: ORDINARY,
    exp.BitwiseXor: ORDINARY,
    exp.BitwiseNot: ORDINARY,
    exp.BitwiseLeftShift: ORDINARY,
    exp.BitwiseRightShift: ORDINARY,
    exp.DPipe: Construct(spelling=printed_texts.pipe, traits=Trait.JOINS_TEXTS),
    exp.AtTimeZone: Construct(check=_check_zone, spelling=_zone),
    exp.Cast: Construct(frozenset({"this", "to"}), _check_cast, rules.cast_number, rules.of_first, _cast),
}

_LITERALS: Mapping[type[exp.Expr], Construct] = {
    exp.Literal: Construct(provenance=rules.literal_number, nonnegative=rules.of_number),
    exp.ByteString: ORDINARY,
    exp.Null: ORDINARY,
    exp.Boolean: ORDINARY,
    exp.Interval: ORDINARY,
    exp.DataType: ORDINARY,
    exp.DataTypeParam: ORDINARY,
    exp.Var: ORDINARY,
}

SYNTAX: Mapping[type[exp.Expr], Construct] = {**_QUERIES, **_LOGIC, **_OPERATORS, **_LITERALS}
"""Every clause, operator and literal that may appear, by its node."""
