"""Rows that are made of one person's rows."""

from rewriter.per_person.person_rows import groups_of_several, of_units, output_names, selected
from rewriter.per_person.windows import has_windows, windowed

__all__ = ["groups_of_several", "has_windows", "of_units", "output_names", "selected", "windowed"]
