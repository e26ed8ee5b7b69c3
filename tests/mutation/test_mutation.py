"""Every planted bug can still be planted, and some of them die here; ``python -m tests.mutation`` plants them all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutation.bug import Bug, bug
from tests.mutation.bugs import AREAS, BUGS
from tests.mutation.planting import Copy

SOON = (
    "statistics of a group share their noise",
    "groups that were not picked are measured too",
)
IMPORT = "from fractions import Fraction"


def test_there_are_many_and_each_has_a_name() -> None:
    assert len({one.name for one in BUGS}) == len(BUGS) >= 100
    assert all(len(bugs) >= 5 for bugs in AREAS.values())


@pytest.mark.parametrize("area", AREAS)
def test_a_bug_is_planted_in_one_place_and_changes_it(area: str) -> None:
    """Where this fails, the code has changed: write the bug anew, in ``tests/mutation/bugs_….py``."""
    for one in AREAS[area]:
        one.check()


def test_bugs_die_and_only_bugs(tmp_path: Path) -> None:
    chosen = [one for one in BUGS if one.name in SOON]
    assert len(chosen) == len(SOON)
    copy = Copy(tmp_path)
    for one in chosen:
        verdict = copy.try_bug(one)
        assert verdict.found_by is not None, f"{one.name!r} lives: {verdict.why}"
    # What is not found, or what breaks the tests themselves, is not taken for dead; and nothing is left of the others.
    harmless = bug("none", "dpsql.accounting.loss:", IMPORT, f"{IMPORT} as Fraction", *chosen[0].tests)
    assert copy.try_bug(harmless).why == "no test failed"
    broken: Bug = replace(harmless, edits=((IMPORT, "from fractions import Fractional"),))
    assert copy.try_bug(broken).found_by is None
