"""Types within an outer SELECT, as far as they are needed: what a SUM adds up decides its type in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

from rewriter.declared import BIGINT, INTEGER, Kind, Type
from rewriter.dialects import Fact
from rewriter.outer.construct import Columns

_NUMBER: Fact[int] = Fact("number of the sum")
_NARROW = frozenset({exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT})
_WIDE = frozenset({exp.DType.BIGINT, exp.DType.INT128})
_WORDS = {16: "smallint", 32: "int", 64: "bigint", 128: "int128"}


def summed_types(tree: exp.Expr, sums: Sequence[exp.Expr], schema: Columns) -> Mapping[int, Type]:
    """The type of the integers that each of the ``sums`` of a tree adds up, by the id of its node. What is not known is
    left out."""
    if not sums:
        return {}
    for number, node in enumerate(sums):
        _NUMBER.on(node, number)
    scratch = tree.copy()
    try:
        # Stars and column names are resolved in a copy alone: the query itself stays as it was written.
        known: dict[str, object] = {
            name.lower(): {c.lower(): _word(type_) for c, type_ in columns.items()} for name, columns in schema.items()
        }
        scratch = qualify(
            scratch, schema=known, dialect="duckdb", validate_qualify_columns=False, quote_identifiers=False,
            identify=False, expand_alias_refs=False,
        )  # fmt: skip
        annotate_types(scratch, schema=known, dialect="duckdb")
    except (SqlglotError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return {}
    found: dict[int, Type] = {}
    for node in scratch.walk():
        place = _NUMBER.of(node)
        if place is None:
            continue
        kind = node.this.type.this if node.this.type is not None else None
        if kind in _NARROW | _WIDE:
            found[id(sums[place])] = INTEGER if kind in _NARROW else BIGINT
    return found


def _word(type_: Type) -> str:
    return _WORDS[type_.bits] if type_.kind is Kind.INTEGER else str(type_)
