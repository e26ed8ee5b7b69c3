"""Groupings of rows of which a person may have several, measured as one vector.

*Theorem.* Let a person have n rows, and let each row move the statistics of a grouping by at most r, in a norm. Every
row of the person is given the weight f = min(1, N/n). Then the person moves each grouping by at most N · r, in this
norm, whichever keys it has.

*Proof.* A grouping puts every row into at most one of its groups, so the person's vector in it is f · Σ v, of n vectors
v that are those of one row each, with norms of at most r. By the triangle inequality its norm is at most f · n · r, and
f · n is at most N. Truncation toward zero only shortens each cell.

So one factor serves all groupings, by any subset of the attributes of a row: a person's vector by two attributes, added
up over one of them, is the person's vector by the other one, and the marginals are marginals of one table. Where the
statistics are not negative, and a row moves one of them (a sum), the factor may be C/Σ|c| instead, for the sum Σ|c| of
all that the rows add and C = N · r: it is the same in all groupings as well, and ‖v‖₂ ≤ ‖v‖₁ = Σ|c|. Where both are
measured the factor is the least of them. In every case surplus rows are weighed down once, for all statements.

*Conditions.* A condition on attributes keeps some cells of the crossing and leaves others out: its numbers are sums of
cells of the grouping by these attributes, whether or not they vary within a person. Nothing is measured beside that
grouping, so nothing moves beside it. The factor is that of all n rows: a row within the condition weighs N/n, where
the condition by itself would weigh it N/m, for the m ≤ n rows that satisfy it. Both are 1 for who keeps the bound.

*Tightness.* N rows in one cell, each at an end of its range, reach N · r; so no smaller ball holds all groupings.

What is measured of all groupings together then has the sum of their losses, each for L2 ≤ N · r₂ or L1 ≤ N · r₁.

*People* are one in each group, whatever their rows. By keys that are constant per person, each is in one group, and
people add up to those of all groups: there they are measured in one vector with their rows
(:mod:`rewriter.bound.people_beside_rows`).

Why no tighter ball for a grouping (``max_rows_per_group``, rows that differ by a key): it would clip the same person by
more in one grouping than in the other, and marginals would be of different tables. Such a bound makes a question apart
cheaper; where the owner declares one, nothing is joined here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewriter.declared import ContributionBound
from rewriter.measure import Vector
from rewriter.refused import Refused
from rewriter.release import Query


def may_be_joined(query: Query) -> bool:
    """Whether a query is of rows whose number the whole statement bounds for each person, and nothing else does."""
    bound = query.bound
    plain = bound.rows is not None and bound.rows_per_group is None and not bound.unique and bound.shared is None
    return plain and not query.blocks and not query.summed_with_total and query.only is None


def joined(query: Query) -> Query:
    """The query as one grouping of a vector of several."""
    return query if query.bound.unique else replace(query, together=True, joined=True)


def rows_alone(bound: ContributionBound, *, constant: bool = False) -> ContributionBound:
    """The bound of a person's rows over all groups, by any keys; by keys that are ``constant`` per person, in one.

    >>> rows_alone(ContributionBound(rows=5, groups=2)).l2_squared
    25
    """
    return replace(bound, groups=None, rows_per_group=None, apart=()).within(None, constant=constant)


def check_joined(query: Query, vectors: Sequence[Vector] | None, *, constant: bool) -> None:
    """Refuse what is no sum over rows: distinct values of a group do not add up to those of all groups, and neither do
    people, but by keys that are ``constant`` per person."""
    summed = vectors is not None and not any(
        (one.distinct and not constant) or one.credit is not None for one in vectors
    )
    if not summed or any(one.kind.picks for one in query.aggregates):
        raise Refused("this is measured by itself", hint="counts and sums of rows are measured together")
