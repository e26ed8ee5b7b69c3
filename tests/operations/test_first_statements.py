"""Whatever clients ask first, of however many workers, each of them is answered or refused: nobody waits for ever."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
import pytest

from tests.attacks.library import POLICY, duckdb_library
from tests.operations.several import Several, several

LIMIT = 20
"""Seconds of a statement, waiting and reading, by the policy."""
ALONE = POLICY.replace("  branch: {public: true}\n", "").replace("values_from: branch.name", "values: [North, South]")
"""Without a public table: nothing is read of the database before the first statement."""
FIRST = (
    "SELECT sex, COUNT(*) FROM member WHERE score < {n} GROUP BY sex",
    "SELECT DATE_TRUNC('month', day), COUNT(*) FROM loan WHERE days < {n} GROUP BY 1",
    "SELECT branch, AVG(score) FROM member WHERE score < {n} GROUP BY branch",
    "SELECT title, COUNT(*) FROM loan WHERE days < {n} GROUP BY title",
    "SELECT COUNT(*) FROM member WHERE code < {n}",
    "SELECT COUNT(*) FROM member WHERE score > (SELECT AVG(score) FROM member WHERE code < {n})",
    "SELECT MEDIAN(score) FROM member WHERE code < {n}",
    "SET dpsql.watch = 'many {n}'; SELECT COUNT(*) > 1000000 FROM member WHERE code < {n}",
    "SELECT {n} + 1",
    "EXPLAIN SELECT kind, SUM(price) FROM loan WHERE days < {n} GROUP BY kind",
    "SET TIME ZONE 'Europe/Berlin'",
    "SELECT relname FROM pg_catalog.pg_class WHERE oid < {n}",
)


def told(server: Several, clients: int, statements: tuple[str, ...]) -> tuple[list[str], float]:
    """What so many clients are told, who ask their first statement at the same time: nothing, or an SQLSTATE; and the
    seconds until the last one was."""
    together, found = threading.Barrier(clients), ["never" for _ in range(clients)]

    def ask(number: int) -> None:
        with server.connect(connect_timeout=LIMIT) as connection:
            together.wait(LIMIT)
            try:
                connection.execute(statements[number % len(statements)].format(n=number + 30).encode())
                found[number] = ""
            except psycopg.Error as problem:
                found[number] = problem.sqlstate or "lost"

    threads = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(clients)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, began + 2 * LIMIT - time.monotonic()))
    return found, time.monotonic() - began


def tried(folder: Path, workers: int, clients: int, statements: tuple[str, ...]) -> None:
    policy = f"{ALONE}limits: {{seconds: {LIMIT}, wait: {LIMIT}}}\n"
    with several(duckdb_library(folder, with_person=True, policy=policy).policy, workers) as server:
        found, seconds = told(server, clients, statements)
        assert found == [""] * clients, found
        assert seconds < LIMIT
        assert server.stop() == 0


def test_first_statements_of_declared_groups_wait_for_nobody(tmp_path: Path) -> None:
    tried(tmp_path / "library", 2, 8, FIRST[:1])


def test_first_statements_of_all_kinds_wait_for_nobody(tmp_path: Path) -> None:
    tried(tmp_path / "library", 2, len(FIRST), FIRST)


@pytest.mark.campaign
@pytest.mark.parametrize("clients", [1, 8, 32])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_first_statements_of_every_kind_wait_for_nobody(tmp_path: Path, workers: int, clients: int) -> None:
    tried(tmp_path / "library", workers, clients, FIRST)
