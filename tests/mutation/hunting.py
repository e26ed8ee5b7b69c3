"""The neighbour test as a bug of the rewriter meets it: world after world, until a person moves something too far."""

from __future__ import annotations

from tests.properties.test_mutants import hunt

WORLDS = 60


def test_no_person_moves_anything_too_far() -> None:
    tally = hunt(WORLDS)
    assert not tally.leaks, tally.leaks[0]
    # Refused or failed questions find nothing.
    assert tally.executed >= 0.9 * tally.asked, tally.refused.most_common(3)
