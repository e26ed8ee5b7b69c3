"""Rows, each owned by exactly one privacy unit."""

from rewriter.relations.from_where import (
    FIELD,
    BlockScope,
    SelectRows,
    build_block,
    condition,
    reports_in,
    resolved,
)
from rewriter.relations.lacking_bounds import lacks_of, learned_ranges, missing_ranges, unbounded_rows
from rewriter.relations.membership import Inside, Subqueries, unlimited_rows
from rewriter.relations.ownerless_rows import matches_people_alone, rows_of_nobody
from rewriter.relations.relation import MADE, UNIT, Relation, kept_of, outside, renamed, union_all
from rewriter.relations.shared_rows import is_bounded, limited_rows, of_people

__all__ = [
    "FIELD",
    "MADE",
    "UNIT",
    "BlockScope",
    "Inside",
    "Relation",
    "SelectRows",
    "Subqueries",
    "build_block",
    "condition",
    "is_bounded",
    "kept_of",
    "lacks_of",
    "learned_ranges",
    "limited_rows",
    "matches_people_alone",
    "missing_ranges",
    "of_people",
    "outside",
    "renamed",
    "reports_in",
    "resolved",
    "rows_of_nobody",
    "unbounded_rows",
    "union_all",
    "unlimited_rows",
]
