"""The DuckDB without files in which the outer SELECT runs."""

from dpsql.sandbox.sandbox import Computed, Sandbox

__all__ = ["Computed", "Sandbox"]
