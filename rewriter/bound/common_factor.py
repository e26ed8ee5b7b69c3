"""One factor for a person in all groupings of the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewriter.bound.ball import Ball, deciding, reach_squared
from rewriter.declared import ContributionBound, Norm
from rewriter.release import Query


def limits(query: Query, balls: Sequence[Ball]) -> tuple[Ball, ...]:
    """The balls that decide the factor of a person in all groupings: of rows, or of sums, over all groups.

    The ball of this grouping is among them where it is smaller than the ball of so many rows.
    """
    rows = all_rows(query)
    decisive = deciding([ball.vector for ball in balls])
    found = []
    for ball in balls:
        if ball.vector not in decisive or ball.vector.distinct or not ball.scaled:
            continue
        found.append(_over_groups(ball, rows))
        whole = reach_squared(ball.vector, ball.norm, rows)
        if whole is not None and ball.radius_squared < whole:
            found.append(ball)
    return tuple(found)


def all_rows(query: Query) -> ContributionBound:
    return ContributionBound(rows=query.bound.rows)


def _over_groups(ball: Ball, contribution: ContributionBound) -> Ball:
    """The ball in the L1 norm over all groups, of as many rows as a person may have."""
    if ball.counter:
        return replace(ball, norm=Norm.L1, most_rows=contribution.rows or 0)
    reach = reach_squared(ball.vector, Norm.L1, contribution)
    if reach is None:
        raise AssertionError("what is shortened alike has a bound of rows")
    return replace(ball, norm=Norm.L1, radius_squared=reach)
