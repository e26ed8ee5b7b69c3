"""The DuckDB without files in which the outer SELECT runs."""

from dpsql.sandbox.sandbox import OuterAnswer, Sandbox

__all__ = ["OuterAnswer", "Sandbox"]
