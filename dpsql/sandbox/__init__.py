"""The DuckDB without files in which the outer SELECT runs."""

from dpsql.sandbox.sandbox import OuterAnswer, Sandbox
from dpsql.sandbox.sandbox_errors import NEGATIVE_LIMIT

__all__ = ["NEGATIVE_LIMIT", "OuterAnswer", "Sandbox"]
