"""The neighbour test as a bug of the rewriter meets it: world after world, until a person moves something too far."""

from __future__ import annotations

import os

from tests.mutation.bug import FIRST, WORLDS
from tests.properties.test_mutants import hunt


def test_no_person_moves_anything_too_far() -> None:
    tally = hunt(int(os.environ.get(WORLDS, "60")), int(os.environ.get(FIRST, "0")))
    assert not tally.leaks, str(tally.leaks[0])
    # Refused or failed questions find nothing.
    assert tally.executed >= 0.9 * tally.asked, tally.refused.most_common(3)
