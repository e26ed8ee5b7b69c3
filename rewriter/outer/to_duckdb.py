"""PostgreSQL's meaning in DuckDB's words, where sqlglot passes a form through that means something else there.

Each construct has its own spelling. Nothing here decides what may run: :mod:`rewriter.outer.checks` did.

Types within an outer SELECT, as far as they are needed: what a SUM adds up decides its type in PostgreSQL, and what
``'today'`` is compared with decides whether it is a time.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

from rewriter.declared import BIGINT, DATE, INTEGER, TIME, TIMESTAMP, TIMESTAMPTZ, Kind, Type
from rewriter.dialects import Fact
from rewriter.expressions import CLOCK_WORD
from rewriter.outer.allow_list import CONSTRUCTS
from rewriter.outer.construct import Columns, Spelling, Trait


def spelled(tree: exp.Query, columns: Columns) -> exp.Query:
    """A copy that DuckDB understands as PostgreSQL understands ``tree``."""
    copy: exp.Query = tree.copy()
    read_clock_words(copy, columns)
    _read_quoted_numbers(list(copy.walk()))
    nodes = list(copy.walk())
    for node in nodes:
        if isinstance(node, exp.Identifier) and not node.args.get("quoted"):
            node.set("this", node.name.lower())
    sums = [node for node in nodes if CONSTRUCTS.has(node, Trait.SUM)]
    spelling = Spelling(columns, CONSTRUCTS, summed_types(copy, sums, columns))
    for node in reversed(nodes):
        new = CONSTRUCTS.of(node).spelling(node, spelling)
        if new is not node:
            node.replace(new)
    return copy


def _read_quoted_numbers(nodes: Sequence[exp.Expr]) -> None:
    """Functions of several kinds of numbers take a quoted one for a double, in place: PostgreSQL prefers that type."""
    for node in nodes:
        if CONSTRUCTS.has(node, Trait.OF_NUMBER) and node.args.get("decimals") is None:
            value = node.this
            while isinstance(value, exp.Paren):
                value = value.this
            if isinstance(value, exp.Literal) and value.is_string:
                value.replace(exp.cast(value.copy(), exp.DType.DOUBLE))


_NUMBER: Fact[int] = Fact("number of the expression")
_TIMES = {
    exp.DType.DATE: DATE,
    exp.DType.TIME: TIME,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMPTZ,
}
_NARROW = frozenset({exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT})
_WIDE = frozenset({exp.DType.BIGINT, exp.DType.INT128})
_WORDS = {16: "smallint", 32: "int", 64: "bigint", 128: "int128"}


def summed_types(tree: exp.Expr, sums: Sequence[exp.Expr], schema: Columns) -> Mapping[int, Type]:
    """The type of the integers that each of the ``sums`` of a tree adds up, by the id of its node. What is not known is
    left out."""
    found: dict[int, Type] = {}
    for key, kind in _kinds({id(node): node.this for node in sums}, tree, schema).items():
        if kind in _NARROW | _WIDE:
            found[key] = INTEGER if kind in _NARROW else BIGINT
    return found


def read_clock_words(tree: exp.Expr, schema: Columns) -> None:
    """Give texts such as ``'today'`` the type of the times that they are compared with, in place."""
    words = [node for node in tree.find_all(exp.Literal) if CLOCK_WORD.is_on(node)]
    kinds = _kinds({id(node): _beside(node) for node in words}, tree, schema)
    for node in words:
        word, kind = CLOCK_WORD.of(node), kinds.get(id(node))
        type_ = None if kind is None else _TIMES.get(kind)
        CLOCK_WORD.off(node)
        moment = None if word is None or type_ is None else word.of_type(type_)
        if type_ is not None and isinstance(moment, datetime.date | datetime.time):
            utc = "+00" if type_.kind is Kind.TIMESTAMPTZ else ""
            spelt = moment.isoformat(" ") if isinstance(moment, datetime.datetime) else moment.isoformat()
            node.replace(exp.cast(exp.Literal.string(spelt + utc), str(type_)))


def _beside(word: exp.Expr) -> exp.Expr:
    """What a literal is compared with."""
    around = word.parent
    other = None if around is None else next((one for one in around.iter_expressions() if one is not word), None)
    return word if other is None else other


def _kinds(wanted: Mapping[int, exp.Expr], tree: exp.Expr, schema: Columns) -> Mapping[int, exp.DType]:
    """The types of some expressions of a tree, by a key of each. What is not known is left out."""
    if not wanted:
        return {}
    places: dict[int, list[int]] = {}
    for key, node in wanted.items():
        places.setdefault(id(node), []).append(key)
    keys = list(places.values())
    for number, some in enumerate(keys):
        _NUMBER.on(wanted[some[0]], number)
    scratch = tree.copy()
    for some in keys:
        _NUMBER.off(wanted[some[0]])
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
    found: dict[int, exp.DType] = {}
    for node in scratch.walk():
        place = _NUMBER.of(node)
        if place is not None and node.type is not None:
            found |= dict.fromkeys(keys[place], node.type.this)
    return found


def _word(type_: Type) -> str:
    return _WORDS[type_.bits] if type_.kind is Kind.INTEGER else str(type_)
