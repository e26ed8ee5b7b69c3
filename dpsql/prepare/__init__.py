"""A statement, prepared: all that follows from text and policy."""

from dpsql.prepare.prepared import Prepared, draft, margin_name, prepare
from dpsql.prepare.question import Question
from dpsql.prepare.system_tables import VIRTUAL_COLUMNS, virtual_table

__all__ = ["VIRTUAL_COLUMNS", "Prepared", "Question", "draft", "margin_name", "prepare", "virtual_table"]
