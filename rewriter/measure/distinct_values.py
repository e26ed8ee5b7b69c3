"""How many different values one person, or everybody, can have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from rewriter.columns import BEHIND, Origin, Variable
from rewriter.declared import least
from rewriter.dialects import Dialect
from rewriter.expressions import Value
from rewriter.keys import public_keys
from rewriter.release import Key


def most_of_one_person(values: Sequence[Value], *, nulls: bool) -> int | None:
    """How many distinct combinations of values one person has, by the owner's word; None where nothing is said.

    ``nulls``: NULL is a value, too. A person has no more values of columns than rows of their table, whatever that is
    joined with.
    """
    counts = [1 if value.constant else _most(value.sql, nulls=nulls) for value in values]
    known = [count for count in counts if count is not None]
    return math.prod(known) if len(known) == len(counts) else None


def _most(node: exp.Expr, *, nulls: bool) -> int | None:
    """An expression has no more values than the columns that it reads have combinations."""
    if not nulls and isinstance(variable := BEHIND.of(node), Variable):
        return least([variable.column.max_distinct, variable.most])
    columns: dict[tuple[str, str], int | None] = {}
    _read(node, (), columns)
    known = [count for count in columns.values() if count is not None]
    return math.prod(known) if len(known) == len(columns) else None


def _read(node: exp.Expr, path: tuple[str, ...], found: dict[tuple[str, str], int | None]) -> None:
    behind = BEHIND.of(node)
    if isinstance(behind, Variable):
        declared = least([behind.column.max_distinct, behind.most])
        # Where a row may lack the column's row, NULL is one value more.
        nullable = behind.optional or behind.column.nullable
        found[".".join((*path, behind.alias)), behind.name] = declared and declared + nullable
    elif isinstance(behind, Origin):
        inside = (*path, node.args["table"].name) if isinstance(node, exp.Column) and node.args.get("table") else path
        _read(behind.sql, inside, found)
    elif isinstance(node, exp.Column | exp.Query | exp.AggFunc | exp.Window):
        found["", node.sql()] = None
    else:
        for child in node.iter_expressions():
            _read(child, path, found)


def most_of_all(
    values: Sequence[Value], filters: Sequence[Value], dialect: Dialect, *, nulls: bool
) -> tuple[int | None, bool]:
    """How many distinct combinations there can be at all, where the domains of the values are declared; and whether
    that is proved, and not the owner's word."""
    counted = values if nulls else [replace(value, nullable=False) for value in values]
    found = public_keys([Key(value, "") for value in counted], filters, dialect)
    return (None, False) if found is None else (max(found.cells, 1), found.exhaustive)
