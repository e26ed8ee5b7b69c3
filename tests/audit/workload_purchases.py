"""What a workload of the policy tells of a person, beside the one charge for all of it.

The statements are by world, so that worlds share no number. They come in pairs: in one world is the target beside those
who always are there, in the other is not. The first statement that is asked buys all; a coin for each pair says which of
its worlds is looked at, in the answers of every statement. Each purchase is as of other data than the one before.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.audit.lower_bounds import ChargedLoss
from dpsql.audit.telling_events import Bits
from dpsql.audit.wire_outcomes import Outcome, samples_of
from dpsql.opened import Opened
from dpsql.proxy import Proxy
from tests.audit.planted import BUGS
from tests.audit.policies import LEDGERS
from tests.audit.scenario import Asked

_PAIRS = 100
_TILES = (
    "SELECT world, COUNT(*) AS n FROM member GROUP BY world",
    "SELECT world, kind, COUNT(*) AS n FROM member GROUP BY world, kind",
    "SELECT world, flag, COUNT(*) AS n FROM member GROUP BY world, flag",
    "SELECT world, kind, COUNT(*) AS n FROM member WHERE flag = 'yes' GROUP BY world, kind",
)
_OTHERS = (("a", "yes"), ("a", "no"), ("b", "no"))
_TARGET = ("c", "yes")


@dataclass(frozen=True, slots=True)
class WorkloadPurchase:
    """A workload that is bought at ``epsilon``, under a ledger."""

    name: str
    ledger: str = "pure"
    epsilon: str = "2"

    def ask(self, folder: Path, samples: int, bug: str = "") -> Asked:
        """At least so many samples, with a bug planted in this process where one is named."""
        folder = folder / f"{self.name} {bug}"
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch, self._opened(folder) as proxy:
            if bug:
                BUGS[bug].plant(patch)
            bought = [_bought(proxy, patch, number) for number in range(-(-samples // _PAIRS))]
        outcomes = [outcome for one, _, _ in bought for outcome in one]
        charged = [loss for _, _, loss in bought]
        bits = np.concatenate([coins for _, coins, _ in bought])
        return Asked(samples_of(outcomes, bits), charged[0], len(set(charged)) == 1)

    @contextmanager
    def _opened(self, folder: Path) -> Iterator[Proxy]:
        (folder / "overview.sql").write_text(";\n".join(_TILES))
        policy = folder / "policy.yaml"
        policy.write_text(
            f"database: duckdb:{folder}/people.duckdb\nledger: sqlite:{folder}/spent.ledger\n"
            f"privacy_unit: member.id\nbudget: {LEDGERS[self.ledger].budget}\n"
            f"statement: {LEDGERS[self.ledger].statement}\n"
            f"workloads:\n  overview: {{statements: overview.sql, epsilon: {self.epsilon}}}\n"
            "tables:\n  member:\n    columns:\n      id: {}\n"
            f"      world: {{range: [0, {2 * _PAIRS - 1}]}}\n"
            "      kind: {values: [a, b, c]}\n      flag: {values: ['yes', 'no']}\n"
        )
        _write(folder / "people.duckdb")
        proxy = Proxy.open(policy)
        try:
            yield proxy
        finally:
            proxy.close()


def _bought(proxy: Proxy, patch: pytest.MonkeyPatch, number: int) -> tuple[list[Outcome], Bits, ChargedLoss]:
    draw = random.SystemRandom()
    coins = np.array([draw.getrandbits(1) == 1 for _ in range(_PAIRS)])
    patch.setattr(Opened, "version", lambda *_: f"data {number}")
    before = proxy.ledger.spent()
    session = proxy.session()
    session.change("dpsql.consistent", "off")
    told: dict[object, Outcome] = defaultdict(dict)
    for place, tile in enumerate(_TILES):
        answer = session.execute(tile)
        if bool(answer.price) != (place == 0):
            raise AssertionError("the first statement buys the workload, and no other is paid")
        for world, *keys, count in answer.rows:
            told[world][f"{place}.{keys}"] = float(count)  # type: ignore[arg-type]
    paid = proxy.ledger.spent() - before
    outcomes = [told[2 * pair + int(coin)] for pair, coin in enumerate(coins)]
    return outcomes, coins, ChargedLoss(paid.epsilon, paid.rho, paid.delta, paid.curve)


def _write(path: Path) -> None:
    rows = [
        (world, kind, flag)
        for world in range(2 * _PAIRS)
        for kind, flag in (*_OTHERS, *([_TARGET] if world % 2 else []))
    ]
    values = ", ".join(f"({place}, {world}, '{kind}', '{flag}')" for place, (world, kind, flag) in enumerate(rows))
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE member (id INTEGER PRIMARY KEY, world INTEGER NOT NULL,"
            " kind ENUM ('a', 'b', 'c') NOT NULL, flag ENUM ('yes', 'no') NOT NULL)"
        )
        connection.execute(f"INSERT INTO member VALUES {values}")


WORKLOADS = (
    WorkloadPurchase("a workload of the policy"),
    WorkloadPurchase("a workload of the policy, ρ", ledger="zcdp"),
)
