"""Every planted bug dies in the neighbour test, soon."""

from __future__ import annotations

import pytest

from tests.properties.campaign import Tally, campaign
from tests.properties.mutants import PLANTS

FAST = ("value not clamped", "limit per group and not per unit", "keys from data", "rows of nobody escape",
        "limit before aggregation", "one row claimed and three allowed")  # fmt: skip
"""Die within a world or two."""


def hunt(worlds: int, first: int = 0) -> Tally:
    """The neighbour test, until it finds something."""
    tally = Tally()
    for seed in range(first, first + worlds):
        campaign(range(seed, seed + 1), questions=15, neighbours=2, tally=tally, stop_at_first=True)
        if tally.leaks:
            break
    return tally


@pytest.mark.quick
@pytest.mark.parametrize("name", PLANTS)
def test_every_bug_can_still_be_planted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS[name](monkeypatch)


@pytest.mark.parametrize("name", FAST)
def test_a_planted_bug_dies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS[name](monkeypatch)
    assert hunt(12).leaks, f"{name!r} lives"


@pytest.mark.campaign
def test_every_planted_bug_dies(capsys: pytest.CaptureFixture[str]) -> None:
    honest = hunt(90)
    assert not honest.leaks, f"the rewriter itself is not sound:\n{honest.leaks[0]}"
    alive = []
    for name, plant in PLANTS.items():
        with pytest.MonkeyPatch.context() as patch:
            plant(patch)
            tally = hunt(90)
        if not tally.leaks:
            alive.append(name)
        with capsys.disabled():
            found = tally.leaks[0].reason if tally.leaks else f"ALIVE, refused {tally.refused.most_common(1)}"
            print(f"\n{name}: after {tally.pairs} pairs: {found[:120]}", end="")
    with capsys.disabled():
        print(f"\n{len(PLANTS) - len(alive)} of {len(PLANTS)} planted bugs died")
    assert not alive, alive
