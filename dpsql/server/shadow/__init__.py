"""The PostgreSQL without rows that answers catalog queries."""

from dpsql.server.shadow.shadow import Shadow
from dpsql.server.shadow.shadow_rows import ShadowAnswer
from dpsql.server.shadow.shadow_schema import SCHEMA, VIRTUAL_COMMENTS, column_comment, primary_keys, table_comment

__all__ = ["SCHEMA", "VIRTUAL_COMMENTS", "Shadow", "ShadowAnswer", "column_comment", "primary_keys", "table_comment"]
