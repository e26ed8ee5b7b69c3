"""The partial sums per (person, group) that the SQL of a plan begins with, apart from all that is made of them.

Plans over the same rows of people may have theirs from one scan (:mod:`rewriter.planner.one_scan`).
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

Named = tuple[tuple[str, exp.Expr], ...]
"""Columns: each name with its SQL."""


@dataclass(frozen=True, slots=True, eq=False)
class PersonRows:
    """Rows of people: the ``unit`` of each, the ``keys`` of its group, ``columns``, and those ``derived`` from them."""

    source: exp.Select
    unit: exp.Expr
    keys: Named
    columns: Named
    derived: Named


@dataclass(frozen=True, slots=True, eq=False)
class PartialSums:
    """A checked tree that is made of a CTE ``partial``: the ``sums`` over the rows of each person and group, of people
    alone that ``having`` tests. Every sum over all rows of some groups is the sum of those of the groups.

    ``counts`` are the names of the sums that count rows. ``sql`` is the text of the whole ``tree``.
    """

    rows: PersonRows
    sums: Named
    counts: frozenset[str]
    having: exp.Having | None
    tree: exp.Select
    sql: str = ""
