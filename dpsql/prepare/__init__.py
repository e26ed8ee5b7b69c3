"""A statement, prepared: all that follows from text and policy."""

from dpsql.prepare.earlier import earlier_answer, prepare_in_stages
from dpsql.prepare.prepared import Prepared, prepare
from dpsql.prepare.system_tables import virtual_table

__all__ = ["Prepared", "earlier_answer", "prepare", "prepare_in_stages", "virtual_table"]
