"""What is promised of a ledger's speed holds on a busy machine, and not of a ledger that flushes for each charge."""

from __future__ import annotations

import pytest

from tests.bench.ledger import Measured
from tests.ledger.__main__ import RATE, Speed

CASES = {
    "a machine with nothing else to do": (17_400, 1_500, 15, 38, 54, True),
    "a busy one": (2_909, 250, 88, 700, 90, True),
    "a flush for each charge": (1_500, 1_500, 170, 200, 100, False),
    "a flush for each charge on a slow disk": (200, 200, 1_280, 1_500, 100, False),
    "somebody waits for everybody": (17_400, 1_500, 15, 400, 54, False),
    "four times the work": (4_000, 250, 60, 100, 240, False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_promise_of_speed_is_about_the_ledger(case: str) -> None:
    rate, flushes, median, longest, work, holds = CASES[case]
    assert Speed(Measured("SQLite", rate, median, longest, work), flushes, RATE).holds is holds
