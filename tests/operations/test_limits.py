"""Over the wire, on both databases: what takes too long is 57014, what is too large is 53200, and both stay charged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dpsql.policy.policy import Policy
from dpsql.policy.problem import PolicyError
from dpsql.sandbox.sandbox import Sandbox
from tests.attacks.library import LIBRARIES, POLICY
from tests.engines.postgres_server import shared_server
from tests.operations.lockdown import HEAVY, LARGE, POSTGRES_LARGE
from tests.operations.operated import Operated, operated

LIMITS = "limits: {seconds: 2.5, memory: 64MB, threads: 1}\n"
SLOW = {"duckdb": HEAVY, "postgres": "SELECT COUNT(*) AS s0 FROM generate_series(1, 100000000) a"}
COUNT = "SELECT COUNT(*) FROM member WHERE code < "


@pytest.fixture(scope="module", params=list(LIBRARIES))
def limited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Operated]]:
    folder = tmp_path_factory.mktemp("limited") / request.param
    lower = partial(Sandbox.open, memory="24MB", seconds=2.5, cells=100_000)
    with pytest.MonkeyPatch.context() as patch:
        # What runs above the releases has limits of its own, which no policy raises: here they are lower.
        patch.setattr("dpsql.opened.Sandbox.open", lower)
        policy = LIBRARIES[request.param](folder, with_person=True, policy=POLICY + LIMITS).policy
        with operated(policy) as found:
            yield request.param, found


def hard(server: Operated, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every release runs this SQL instead of its own."""
    engine = type(server.proxy._opened.engine)
    run = engine.run

    def harder(self: Any, plan: Any, *more: Any) -> Any:
        return run(self, replace(plan, sql=sql), *more)

    monkeypatch.setattr(engine, "run", harder)


def test_what_takes_too_long_is_ended(limited: tuple[str, Operated], monkeypatch: pytest.MonkeyPatch) -> None:
    kind, server = limited
    hard(server, SLOW[kind], monkeypatch)
    spent = server.proxy.ledger.spent().rho
    with server.connect() as connection, pytest.raises(psycopg.errors.QueryCanceled) as ended:
        connection.execute(COUNT + "1")
    assert "longer than 2.5 seconds" in str(ended.value)
    line = [line for line in server.audited() if line["event"] == "statement"][-1]
    assert (line["outcome"], line["sqlstate"], line["charged"]) == ("failed", "57014", {"rho": "8"})
    assert server.proxy.ledger.spent().rho == spent + 8
    assert server.figure("dpsql_statements_total", outcome="failed", sqlstate="57014") == 1


@contextmanager
def spilling_little(kind: str) -> Iterator[None]:
    """PostgreSQL puts on its disk what does not fit into ``work_mem``; how much of that is its owner's to say."""
    if kind == "duckdb":
        yield
        return
    with shared_server().owner() as owner:
        for command in ("SET temp_file_limit = '1MB'", "RESET temp_file_limit"):
            owner.execute(f"ALTER ROLE reader {command}".encode())
            owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
            if command.startswith("SET"):
                yield


def test_what_is_too_large_is_ended(limited: tuple[str, Operated], monkeypatch: pytest.MonkeyPatch) -> None:
    kind, server = limited
    hard(server, LARGE if kind == "duckdb" else POSTGRES_LARGE, monkeypatch)
    monkeypatch.setattr(server.proxy, "_opened", replace(server.proxy._opened, timeout=60.0))
    with spilling_little(kind), server.connect() as connection, pytest.raises(psycopg.errors.OutOfMemory) as ended:
        connection.execute(COUNT + "2")
    assert "more memory than it may have" in str(ended.value)
    monkeypatch.undo()
    with server.connect() as connection:
        assert connection.execute(COUNT + "3").fetchone() is not None, "the next one is answered"


DAYS = "WITH a AS (SELECT days, COUNT(*) AS n FROM loan GROUP BY days) SELECT "


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        (DAYS + "COUNT(*) FROM a t0, a t1, a t2, a t3, a t4, a t5, a t6", "57014"),
        (DAYS + "SUM(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY t1.n, t2.n, t3.n) AS r FROM a t0, a t1, a t2, a t3)",
         "53200"),
        (DAYS + "t0.n FROM a t0, a t1, a t2", "54000"),
    ],
)  # fmt: skip
def test_above_the_releases_too(limited: tuple[str, Operated], sql: str, sqlstate: str) -> None:
    _, server = limited
    with server.connect() as connection:
        connection.execute("SET dpsql.empty_groups = show")
        with pytest.raises(psycopg.Error) as ended:
            connection.execute(sql.encode())
        assert ended.value.sqlstate == sqlstate
        assert "released numbers" in str(ended.value) or "more than" in str(ended.value)
        following = connection.execute((DAYS + "COUNT(*), SUM(n) FROM a").encode()).fetchone()
        assert following is not None
        assert following[0] == 62, "the next one is answered: 61 days and NULL"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("{seconds: 0}", "limits.seconds"),
        ("{seconds: 1e9}", "limits.seconds"),
        ("{memory: 4}", "limits.memory"),
        ("{memory: 1MB}", "limits.memory"),
        ("{statements: 0}", "limits.statements"),
        ("{statement: 5}", "did you mean statements"),
    ],
)
def test_limits_that_mean_nothing_are_refused(limits: str, message: str) -> None:
    head = "database: duckdb:x.duckdb\nledger: sqlite:x.ledger\n"
    with pytest.raises(PolicyError, match=message):
        Policy.parse(f"{head}{POLICY}limits: {limits}\n")


def test_limits_are_read(tmp_path: Path) -> None:
    head = "database: duckdb:x.duckdb\nledger: sqlite:x.ledger\n"
    found = Policy.parse(f"{head}{POLICY}limits: {{memory: 2GB, seconds: 2.5, statements: 7}}\n").limits
    assert (found.memory, found.seconds, found.statements, found.statements_per_analyst) == (2048, 2.5, 7, 16)
