"""A statement, prepared: all that follows from text and policy."""

from dpsql.prepare.earlier import Parsed, earlier_answer, prepare_in_stages
from dpsql.prepare.prepared import Prepared, prepare
from dpsql.prepare.rare_collections import collecting_rarely
from dpsql.prepare.system_tables import virtual_table

__all__ = [
    "Parsed",
    "Prepared",
    "collecting_rarely",
    "earlier_answer",
    "prepare",
    "prepare_in_stages",
    "virtual_table",
]
