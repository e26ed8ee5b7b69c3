"""Scalar functions above releases: those of the one table of functions, with what is particular to some of them.

What could make one value grow without bound (REPEAT, LPAD, REPLACE) takes literals of limited size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from rewriter.dialects import pattern_of, printed
from rewriter.expressions import FUNCTIONS
from rewriter.outer import numbers, printed_texts
from rewriter.outer import provenance_rules as rules
from rewriter.outer.construct import ORDINARY, Construct, OuterFunction, Spelling, Trait
from rewriter.outer.outer_syntax import whole_literal
from rewriter.refused import BAD_PARAMETER, TOO_COMPLEX, Refused

MAX_PADDED = 1_000
MAX_REPLACEMENT = 20

PARTS_OF_TIME = frozenset(
    [
        "YEAR", "ISOYEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "DAYOFWEEK", "ISODOW", "DOY", "DAYOFYEAR",
        "HOUR", "MINUTE", "EPOCH", "DECADE", "CENTURY",
    ]
)  # fmt: skip
"""What EXTRACT may take; its SECOND has a fraction in PostgreSQL only."""

UNITS = frozenset(["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "DECADE", "CENTURY"])
"""What DATE_TRUNC may take."""

_FORMAT = re.compile(r"(?:%[YymdHIMSfjBbAa]|[^A-Za-z%\"])*")
"""A time format that was understood as a whole: what is left of PostgreSQL's own letters was not."""

# Checks


def _check_extract(node: exp.Expr) -> None:
    if node.this.name.upper() not in PARTS_OF_TIME:
        raise Refused(
            f"EXTRACT({node.this.name[:40]} …) is not answered", hint="extract YEAR, MONTH, DAY, HOUR, DOW or EPOCH"
        )


def _check_trunc(node: exp.Expr) -> None:
    unit = node.args.get("unit")
    if unit is None or unit.name.upper() not in UNITS:
        raise Refused("DATE_TRUNC needs a unit", hint="write DATE_TRUNC('month', x)", sqlstate=BAD_PARAMETER)


def _check_format(node: exp.Expr) -> None:
    written = node.args.get("format")
    if not isinstance(written, exp.Literal) or not written.is_string or _FORMAT.fullmatch(written.name) is None:
        raise Refused("this format is not answered", hint="use YYYY, MM, DD, HH24, MI and SS, e.g. 'YYYY-MM'")


def _check_printed(node: exp.Expr) -> None:
    written = node.args.get("format")
    if not isinstance(written, exp.Literal) or not written.is_string or pattern_of(written.name) is None:
        raise Refused(
            "this format is not answered", hint="write 'YYYY-MM', 'Dy', 'Mon' or 'IYYY-\"W\"IW'; numbers as x::text"
        )


def _check_substring(node: exp.Expr) -> None:
    start = node.args.get("start")
    if start is None or isinstance(start, exp.Neg) or (isinstance(start, exp.Literal) and start.is_string):
        raise Refused("SUBSTRING needs a position from 1", hint="use RIGHT(x, n), or REGEXP_REPLACE")


def _check_repeat(node: exp.Expr) -> None:
    times = whole_literal(node.args.get("times"))
    text = node.this
    if not isinstance(text, exp.Literal) or times is None or len(text.name) * times > MAX_PADDED:
        raise Refused(
            f"REPEAT gives at most {MAX_PADDED} characters, of literals",
            hint="a bar of n characters is LEFT(REPEAT('#', 100), n)",
            sqlstate=TOO_COMPLEX,
        )


def _check_pad(node: exp.Expr) -> None:
    length = whole_literal(node.args.get("expression"))
    if length is None or length > MAX_PADDED:
        raise Refused(f"LPAD and RPAD take a number up to {MAX_PADDED}", hint="write LPAD(x, 10)", sqlstate=TOO_COMPLEX)


def _check_replace(node: exp.Expr) -> None:
    replacement = node.args.get("replacement")
    if replacement is not None and not (
        isinstance(replacement, exp.Literal) and len(replacement.name) <= MAX_REPLACEMENT
    ):
        raise Refused(
            f"a replacement is a literal of at most {MAX_REPLACEMENT} characters",
            hint="use CASE for whole values",
            sqlstate=TOO_COMPLEX,
        )


# Spellings


def _regexp_replace(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """In PostgreSQL the dot matches a line's end too."""
    flags = node.args.get("modifiers")
    if flags is None or (isinstance(flags, exp.Literal) and not set(flags.name) - set("gi")):
        node.set("modifiers", exp.Literal.string((flags.name if flags is not None else "") + "s"))
    return printed_texts.limited(node, spelling)


def _printed(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return printed(node.this, pattern_of(node.args["format"].name) or "")


# The table

_PADDED = Construct(check=_check_pad)
_WHOLE = Construct(decimals=printed_texts.no_decimals)
_NEVER_NEGATIVE = Construct(nonnegative=rules.always)
_JOINED = Construct(spelling=printed_texts.concatenated, traits=Trait.JOINS_TEXTS)

PARTICULAR: Mapping[str, Construct] = {
    "coalesce": Construct(provenance=rules.first_not_null, nonnegative=rules.of_all, traits=Trait.OPERAND_TYPE),
    "nullif": Construct(
        provenance=rules.first,
        nonnegative=rules.of_first,
        traits=Trait.NULLIF | Trait.OPERAND_TYPE,
        repeated=frozenset({"this"}),
    ),
    "abs": Construct(nonnegative=rules.always, traits=Trait.OPERAND_TYPE),
    "floor": _WHOLE,
    "ceil": _WHOLE,
    "round": Construct(
        provenance=rules.rounded_number,
        nonnegative=rules.of_first,
        spelling=numbers.rounded,
        decimals=printed_texts.decimals,
        traits=Trait.ROUNDED,
    ),
    "trunc": Construct(decimals=printed_texts.decimals),
    "mod": Construct(traits=Trait.OPERAND_TYPE),
    "div": Construct(spelling=numbers.whole_quotient),
    "sqrt": _NEVER_NEGATIVE,
    "exp": _NEVER_NEGATIVE,
    "trim": Construct(frozenset({"this", "expression", "position"})),
    "substring": Construct(check=_check_substring),
    "replace": Construct(check=_check_replace, spelling=printed_texts.limited, traits=Trait.REPLACES_TEXT),
    "regexp_replace": Construct(
        frozenset({"this", "expression", "replacement", "modifiers", "single_replace"}),
        _check_replace,
        spelling=_regexp_replace,
        traits=Trait.REPLACES_TEXT,
    ),
    "concat": _JOINED,
    "concat_ws": _JOINED,
    "position": Construct(frozenset({"this", "substr"})),
    "split_part": Construct(repeated=frozenset({"this", "delimiter", "part_index"})),
    "lpad": _PADDED,
    "repeat": Construct(check=_check_repeat),
    "date_trunc": Construct(frozenset({"this", "unit"}), _check_trunc),
    "extract": Construct(check=_check_extract, traits=Trait.FIELD),
    "to_char": Construct(frozenset({"this", "format"}), _check_printed, spelling=_printed),
    "to_date": Construct(check=_check_format),
}
"""What is particular to a function, by its first name in the one table of functions."""

SCALARS: Sequence[OuterFunction] = tuple(
    OuterFunction(row.names, row.node, row.examples, PARTICULAR.get(row.names[0], ORDINARY), row.arguments)
    for row in FUNCTIONS
    if row.above
)
