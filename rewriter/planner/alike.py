"""One factor for each person in all groupings of the same rows, so that a total is the sum of its parts.

Grouping sets are measured apart, each with a norm of its own: the norm of a person's rows by month is less than that of
all of them, and the same person would be clipped by more in the total than in its parts. Then no total is the sum of
its parts, and inference that makes them agree bends both. So where groupings are shown together, people are clipped by
a size that is the same in all of them:

- vectors that every row moves by at most the same amount (counts, means, moments, signed sums) by the person's number
  of rows, N/n;
- vectors without negative cells, of which each row moves one, by their own sum, C/Σ|c|: it adds up over any groups.

Either way a vector comes to lie in the ball of every grouping whose radius is that of N rows: ‖v‖₂ ≤ ‖v‖₁ for a vector
that adds up, and ‖v‖₂ ≤ n·r for a vector that a row moves by no more than r, however rows fall into groups. Where the
owner bounds the rows of one group too, the ball is smaller; there the factor is the least of both, and the grouping
adds up with others only if the database itself enforces that bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from rewriter.bound import ALL_ROWS, all_rows, deciding, reach_squared
from rewriter.declared import ContributionBound, Norm
from rewriter.keys import plain_columns
from rewriter.measure import Cell, Vector
from rewriter.planner.lineage import Alike, measured_by
from rewriter.release import Query


def together(releases: Sequence[Query]) -> tuple[Query, ...]:
    """The releases. Marked are those that measure the same of the same rows as another one, by other keys."""
    if len(releases) == 1:
        return tuple(releases)
    asked = [measured_by(query) for query in releases]
    groupings: dict[str, set[tuple[str, ...]]] = {}
    varying: set[str] = set()
    for query, one in zip(releases, asked, strict=True):
        groupings.setdefault(one.asked, set()).update(one.keys)
        varying |= set() if query.is_constant else {one.asked}
    return tuple(
        replace(query, together=True) if one.asked in varying and len(groupings[one.asked]) > 1 else query
        for query, one in zip(releases, asked, strict=True)
    )


def alike(query: Query, vectors: Sequence[Vector], norm: Norm) -> tuple[Vector, ...] | None:
    """The vectors, with the rows that clip them in all groupings; None where each grouping needs a factor of its own.

    Each needs its own where nothing bounds the rows of a person over all groups, where running sums are measured, and
    where the owner bounds a person's total of numbers with a sign.
    """
    if not query.together or query.bound.unique or query.bound.rows is None:
        return None
    found = []
    for vector in vectors:
        if vector.prefix is not None:
            return None
        if vector.distinct or vector.credit is not None or vector.rows is not None or _adds_up(vector, norm):
            found.append(vector)
        elif vector.most_rows is None and vector.most_in_group is None:
            found.append(replace(vector, rows=ALL_ROWS))
        else:
            return None
    return tuple(found)


def _adds_up(vector: Vector, norm: Norm) -> bool:
    """Whether the sum of its cells is that of any groups together, and bounds its norm as tightly as rows do."""
    return not vector.signed and (norm is Norm.L1 or vector.row_l1**2 == vector.row_l2_squared)


def said(query: Query, vectors: Sequence[Vector], norm: Norm, contribution: ContributionBound) -> Alike:
    """The numbers that clip these vectors in all groupings, and whether no others clip in that of ``contribution``."""
    rows = all_rows(query)
    found, smaller = [], False
    for vector in deciding(vectors):
        if vector.distinct or vector.credit is not None:
            continue
        counted = None if vector.rows is None else (Cell("", "", Fraction(1), (vector.rows,)),)
        most = rows.rows if counted else reach_squared(vector, Norm.L1, rows)
        found.append((counted or vector.cells, most or 0))
        smaller |= (reach_squared(vector, norm, contribution) or 0) < (reach_squared(vector, norm, rows) or 0)
    return Alike(tuple(found), not smaller or _enforced(query, contribution))


def _enforced(query: Query, contribution: ContributionBound) -> bool:
    """Whether the smaller balls of this grouping hold all data as they are: the database leaves a person one row in
    each group, and a person with no more than N of these is inside of a ball of radius √N."""
    alone = query.bound.differ_by(plain_columns(query.keys))
    return alone and contribution.rows_per_group == 1 and contribution.l2_squared == query.bound.rows
