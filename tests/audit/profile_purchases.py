"""What the profile of a table tells of a person, beside what its purchase was charged.

A profile is of a whole table and is bought once, so that no statement over worlds in one table asks for it. Here are
pairs of tables: in one is the target beside those who always are there, in the other is not. Each purchase buys the
profiles of all of them, as of other data than the one before, and a coin for each pair says which of its two tables is
looked at: at all that is released of it, before anything is made of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.audit.lower_bounds import ChargedLoss
from dpsql.audit.telling_events import Bits
from dpsql.audit.wire_outcomes import Outcome, samples_of
from dpsql.engines import Patience
from dpsql.ledger import Receipt
from dpsql.opened import Opened
from dpsql.proxy import Proxy
from tests.audit.planted import BUGS
from tests.audit.policies import LEDGERS
from tests.audit.scenario import Asked

MAX_ROWS = 2
_PAIRS = 10
_OTHERS = (1, 1, 2, 2, 3, 5, 20)
"""The rows of those who always are there."""
_TARGET = 60
"""Rows of the target: further beyond max_rows than is measured."""


@dataclass(frozen=True, slots=True)
class ProfilePurchase:
    """Profiles that are bought at ``epsilon`` each, under a ledger."""

    name: str
    ledger: str = "pure"
    epsilon: str = "4"

    def ask(self, folder: Path, samples: int, bug: str = "") -> Asked:
        """At least so many samples, with a bug planted in this process where one is named."""
        folder = folder / f"{self.name} {bug}"
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            if bug:
                BUGS[bug].plant(patch)
            proxy = Proxy.open(self._policy(folder))
            try:
                bought = [_bought(proxy, patch, number) for number in range(-(-samples // _PAIRS))]
            finally:
                proxy.close()
        outcomes = [outcome for one, _, _ in bought for outcome in one]
        charged = [loss for _, _, loss in bought]
        bits = np.concatenate([coins for _, coins, _ in bought])
        return Asked(samples_of(outcomes, bits), charged[0], len(set(charged)) == 1)

    def _policy(self, folder: Path) -> Path:
        declared = f"{{unit: member_id -> member.id, max_rows: {MAX_ROWS}, columns: {{member_id: {{}}}}}}\n"
        policy = folder / "policy.yaml"
        policy.write_text(
            f"database: duckdb:{folder}/tables.duckdb\nledger: sqlite:{folder}/spent.ledger\n"
            f"privacy_unit: member.id\nbudget: {LEDGERS[self.ledger].budget}\nprofile: {{epsilon: {self.epsilon}}}\n"
            "tables:\n  member: {columns: {id: {}}}\n" + "".join(f"  {name}: {declared}" for name in _tables())
        )
        _write(folder / "tables.duckdb")
        return policy


def _tables() -> Iterator[str]:
    for pair in range(_PAIRS):
        yield from (_name(pair, there) for there in (False, True))


def _name(pair: int, there: bool) -> str:
    return f"rows{pair}_{'with' if there else 'without'}"


def _bought(proxy: Proxy, patch: pytest.MonkeyPatch, number: int) -> tuple[list[Outcome], Bits, ChargedLoss]:
    draw = random.SystemRandom()
    coins = np.array([draw.getrandbits(1) == 1 for _ in range(_PAIRS)])
    patch.setattr(Opened, "version", lambda *_: f"data {number}")
    before = proxy.ledger.spent()
    proxy.answering.buy_profiles(Patience.of(600.0), Receipt())
    each = (proxy.ledger.spent() - before) / (2 * _PAIRS)
    outcomes = [dict(_released(proxy, _name(pair, bool(coin)))) for pair, coin in enumerate(coins)]
    return outcomes, coins, ChargedLoss(each.epsilon, each.rho, each.delta, each.curve)


def _released(proxy: Proxy, table: str) -> Iterator[tuple[str, float]]:
    found = proxy.answering.profiles.find(table)
    if found is None:
        raise AssertionError("what was bought is there")
    yield from ((f"people.{place}", float(number)) for place, number in enumerate(found.people))
    yield "beyond", float(found.beyond)


def _write(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE member AS SELECT range AS id FROM range({len(_OTHERS) + 1})")
        connection.execute("ALTER TABLE member ADD PRIMARY KEY (id)")
        for name in _tables():
            sizes = [*_OTHERS, *([_TARGET] if name.endswith("_with") else [])]
            owners = ", ".join(f"({person}, {size})" for person, size in enumerate(sizes))
            connection.execute(
                f"CREATE TABLE {name} AS SELECT person AS member_id"
                f" FROM (VALUES {owners}) AS t(person, size), range(size)"
            )


PROFILES = (
    ProfilePurchase("the profile of a table"),
    ProfilePurchase("the profile of a table, ρ", ledger="zcdp"),
)
