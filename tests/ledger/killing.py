"""Proxies that are killed again and again while they charge, on ledgers that run out one after the other.

After every strike the rows are read by themselves: all that was ever released is charged, and at no prefix more than
there is. A ledger that has run out is replaced by a new one, so that whoever is killed is at work.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import psycopg

from tests.ledger.charger import Charger
from tests.ledger.reader import Row, rows, violations

PRICES = ("1/70", "1/150", "1/1000")
TOTAL = Fraction(4)
"""About 500 charges: some forty kills."""
PROXY = "proxies killed"
_PATIENCE = 300.0


@dataclass(slots=True)
class Killed:
    """What a campaign did. ``unanswered`` charges were made, and nobody was told: the budget that crashes cost."""

    strikes: Counter[str] = field(default_factory=Counter)
    ledgers: int = 0
    charges: int = 0
    releases: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def unanswered(self) -> int:
        return self.charges - self.releases

    @property
    def kills(self) -> int:
        return self.strikes.total()

    def __str__(self) -> str:
        how = ", ".join(f"{count} {name}" for name, count in sorted(self.strikes.items()))
        return (
            f"{how}; {self.ledgers} ledgers used up, {self.charges:,} charges, {self.unanswered} of them never answered"
        )


def strike(
    ledger: Callable[[], str | Path],
    folder: Path,
    clients: int,
    kills: int,
    others: Mapping[str, Callable[[], None]] | None = None,
) -> Killed:
    """Strike ``kills`` times. ``ledger`` makes a place for a new one; ``others`` are strikes at what it stands on."""
    tally, chance = Killed(), random.Random(kills)
    while tally.kills < kills and not tally.wrong:
        place, where = ledger(), folder / f"ledger {tally.ledgers}"
        where.mkdir()
        _use_up(place, where, clients, kills, others or {}, chance, tally)
        tally.ledgers += 1
    return tally


def _use_up(
    place: str | Path,
    folder: Path,
    clients: int,
    kills: int,
    others: Mapping[str, Callable[[], None]],
    chance: random.Random,
    tally: Killed,
) -> None:
    running: list[Charger] = []
    every: list[Charger] = []
    try:
        while tally.kills < kills and not any(one.process.exitcode == 0 for one in running):
            while len(running) < clients:
                path = folder / f"{len(every)}.said"
                running.append(Charger(path, place, TOTAL, *PRICES, threads=2, pause=0.004))
                every.append(running[-1])
            victim = chance.choice(running)
            if not _is_at_work(victim):
                continue
            time.sleep(chance.uniform(0, 0.02))
            how = chance.choice([PROXY, *others])
            if how == PROXY:
                running.remove(victim)
                victim.kill()
            else:
                others[how]()
            tally.strikes[how] += 1
            released = _released(every)  # first: others go on, and what they release now is charged by then
            wrong = violations(_rows(place), released, TOTAL)
            if wrong:
                tally.wrong += [f"after strike {tally.kills} ({how}): {one}" for one in wrong]
                return
        if tally.kills < kills:
            _check_used_up(place, running, every, tally)
    finally:
        for one in running:
            one.kill()
        tally.charges += len(_rows(place))
        tally.releases += len(_released(every))


def _is_at_work(victim: Charger) -> bool:
    """Whether it has charged something and goes on; it is waited for until one of both is known."""
    end = time.monotonic() + _PATIENCE
    while not victim.released() and victim.process.is_alive() and time.monotonic() < end:
        time.sleep(0.002)
    return victim.process.is_alive()


def _rows(place: str | Path) -> list[Row]:
    """What the reader reads, once there is a server that answers it."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return rows(place)
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def _released(every: list[Charger]) -> list[str]:
    return [name for one in every for name in one.released()]


def _check_used_up(place: str | Path, running: list[Charger], every: list[Charger], tally: Killed) -> None:
    """Those who live go on until nothing fits, and all of it is right."""
    end = time.monotonic() + _PATIENCE
    for one in running:
        one.process.join(max(0.0, end - time.monotonic()))
    found = _rows(place)
    tally.wrong += violations(found, _released(every), TOTAL)
    if any(one.process.exitcode != 0 for one in running):
        ends = [one.process.exitcode for one in running]
        tally.wrong.append(f"proxies ended with {ends}, saying {[one.complaints()[-1:] for one in running]}")
    if sum(row.parts[0] for row in found) + min(map(Fraction, PRICES)) <= TOTAL:
        tally.wrong.append("charges were refused that would have fitted")
