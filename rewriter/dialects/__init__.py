"""How each engine spells what a checked expression needs."""

from rewriter.dialects.dialect import Dialect
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.fact import Fact, is_fact
from rewriter.dialects.local_days import ZonedDays, finer, lists, zoned_days
from rewriter.dialects.nodes import binary, call, double, duplicate, number, refuse, text, when, wrap
from rewriter.dialects.postgres import POSTGRES

__all__ = [
    "DUCKDB",
    "POSTGRES",
    "Dialect",
    "Fact",
    "ZonedDays",
    "binary",
    "call",
    "double",
    "duplicate",
    "finer",
    "is_fact",
    "lists",
    "number",
    "refuse",
    "text",
    "when",
    "wrap",
    "zoned_days",
]
