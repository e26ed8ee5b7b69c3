"""Vectors of statistics and how far one row moves them."""

from rewriter.measure.conditions import signatures
from rewriter.measure.measurements import workload
from rewriter.measure.summand import clipping_note
from rewriter.measure.vectors import POINT, Addend, Cell, Credit, Vector, Workload

__all__ = ["POINT", "Addend", "Cell", "Credit", "Vector", "Workload", "clipping_note", "signatures", "workload"]
