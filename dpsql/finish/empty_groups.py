"""Declared groups that are shown though nobody may be in them. Post-processing of released numbers.

SQL has no row for a group without rows; all declared groups are shown, since which of them have rows is private. All
that is measured of a group without rows is 0. So where a number is farther from 0 than noise takes any of so many
groups, once in 100 answers, its group has rows, as SQL's has. Of the others a reader is told how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpsql.finish.propagate import Sources
from dpsql.inference.estimates import decoded
from dpsql.inference.intervals import half_width
from dpsql.inference.numeric import BoolArray
from dpsql.inference.shown_groups import chance_of_each
from dpsql.releases import IntegerColumn, NoisyTable
from rewriter.front_door import Shape
from rewriter.plan import Plan


def shows_all(shape: Shape, plan: Plan) -> bool:
    """Whether all declared groups of a measurement are shown, and nothing but their numbers tells of empty ones."""
    return bool(plan.keys and plan.blocks) and plan.cells is not None and not shape.presences


def unsure_groups(plan: Plan, noisy: NoisyTable) -> BoolArray:
    """The groups of which no number tells that they have rows."""
    table = decoded(noisy, plan).table
    each = chance_of_each(len(table.keys) * len(table.noise))
    found = np.ones(len(table.keys), dtype=np.bool_)
    for name, noise in table.noise.items():
        reach = half_width(((noise, Fraction(1)),), 2 * each)
        found &= np.abs(IntegerColumn.of(table.statistics[name]).floats) <= reach
    return found


def empty_notes(sources: Sources) -> Iterator[str]:
    """How many of the groups behind an answer may have no rows. Sums over groups are right without them."""
    for piece, groups in sources.behind():
        if piece.unsure is None:
            continue
        unsure, number = int(piece.unsure()[groups].sum()), len(groups)
        if unsure:
            which = f"all {number:,}" if unsure == number > 1 else f"{unsure:,} of {number:,}"
            keys = ", ".join(key.text for key in piece.plan.keys)
            yield f"{which} groups of {keys} may have no rows: declared groups are shown, even empty ones"
