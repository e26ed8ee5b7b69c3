"""A statement, prepared: all that follows from text and policy."""

from dpsql.prepare.prepared import Prepared, prepare
from dpsql.prepare.system_tables import virtual_table

__all__ = ["Prepared", "prepare", "virtual_table"]
