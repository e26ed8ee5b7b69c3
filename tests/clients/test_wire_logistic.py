"""Logistic regressions on the wire, from both engines: what a driver gets, what it is told meanwhile, and cancelling in
the middle of their steps."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import numpy as np
import psycopg
import pytest
from rich.console import Console

from dpsql.interfaces.commands.waiting import waiting
from dpsql.proxy import Proxy
from dpsql.server.door import Door
from dpsql.server.serve import Server
from dpsql.server.session import session as wire_session
from dpsql.server.session.backend import Backend
from dpsql.server.shadow.shadow import Shadow
from dpsql.server.start import analysts
from rewriter.measure.logistic_steps import STEPS
from tests.aggregates.test_logistic_regressions import FULL, SETUP, TABLES, most_likely, people
from tests.engines.postgres_server import shared_server
from tests.properties.planted import POLICY

READS = 1 + STEPS


@dataclass(frozen=True, slots=True)
class Wire:
    proxy: Proxy
    port: int

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="analyst", dbname="case", sslmode="disable", autocommit=True
        )

    @property
    def charges(self) -> int:
        return len(self.proxy.ledger.charges())


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    folder = tmp_path_factory.mktemp("logistic")
    database = "duckdb:case.duckdb"
    if request.param == "postgres":
        server = shared_server()
        database = server.url(server.database(";".join(SETUP)))
    else:
        with duckdb.connect(str(folder / "case.duckdb")) as connection:
            for statement in SETUP:
                connection.execute(statement)
    text = POLICY.format(database=database, delta=", delta: 1e-3", accounting="zcdp", epsilon=100)
    (folder / "policy.yaml").write_text(text + TABLES)
    proxy = Proxy.open(folder / "policy.yaml")
    shadow = Shadow.start(proxy.catalog, analysts(proxy.policy), "case")
    door = Door("127.0.0.1", 0, proxy.policy.limits)
    one = Server(Backend(proxy, shadow), door)
    started = threading.Event()
    thread = threading.Thread(target=one.run, args=(started.set,))
    thread.start()
    assert started.wait(60)
    yield Wire(proxy, door.address[1])
    one.stop()
    thread.join(60)
    shadow.close()
    proxy.close()


@contextmanager
def held(wire: Wire, at: int, patch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Read number ``at`` waits until it is cancelled, or the second event is set; the first says that it has begun."""
    engine = type(wire.proxy._opened.engine)
    run, begun, go, count = engine.run, threading.Event(), threading.Event(), 0

    def wait(self: object, plan: object, timeout: float | None, cancellation: object, turn: object) -> object:
        nonlocal count
        count += 1
        if count == at:
            begun.set()
            deadline = time.monotonic() + 60
            while not cancellation.cancelled and not go.is_set() and time.monotonic() < deadline:  # type: ignore[attr-defined]
                time.sleep(0.01)
        return run(self, plan, timeout, cancellation, turn)  # type: ignore[arg-type]

    with patch.context() as patched:
        patched.setattr(engine, "run", wait)
        yield begun, go


@pytest.mark.spread
@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_a_driver_gets_arrays_of_doubles(wire: Wire, binary: bool) -> None:
    """By the extended protocol, prepared, with a parameter in a FILTER."""
    sql = (
        f"SELECT {FULL}, ({FULL} FILTER (WHERE sex = %s)).std_err, dpsql.predict({FULL}, ARRAY[1, 40, 10]) FROM person"
    )
    truth, _ = most_likely(*people())
    _, deviations = most_likely(*people(woman=True))
    with wire.connect() as connection, connection.cursor(binary=binary) as cursor:
        row = cursor.execute(sql, ("F",), prepare=True).fetchone()
        assert cursor.description is not None
        assert [column.type_code for column in cursor.description] == [1022, 1022, 701]
        assert row is not None
        assert row[0] == pytest.approx(truth, rel=0.2)
        assert row[1] == pytest.approx(deviations, rel=0.2)
        assert row[2] == pytest.approx(1 / (1 + np.exp(-truth @ [1, 40, 10])), abs=0.05)


def test_groups_ends_and_a_subquery(wire: Wire) -> None:
    sql = f"SELECT sex, {FULL} AS b FROM person GROUP BY sex"
    with wire.connect() as connection:
        found = connection.execute(f"{sql} ORDER BY sex").fetchall()
        assert [row[0] for row in found] == ["F", "M"]
        for (_, slopes), woman in zip(found, (True, False), strict=True):
            assert slopes == pytest.approx(most_likely(*people(woman=woman))[0], rel=0.3)
        again = connection.execute(f"SELECT sex, b[2], dpsql.predict(b, ARRAY[1, 30, 5]) FROM ({sql}) t ORDER BY sex")
        for (sex, slope, chance), (own, slopes) in zip(again.fetchall(), found, strict=True):
            assert (sex, slope) == (own, pytest.approx(slopes[1], abs=0.01))
            assert chance == pytest.approx(1 / (1 + np.exp(-np.array(slopes) @ [1, 30, 5])), abs=0.01)
        connection.execute("SET dpsql.intervals = on")
        for _, slopes, low, high in connection.execute(f"{sql} ORDER BY sex").fetchall():
            ends = [one for one in zip(low, slopes, high, strict=True) if None not in one]
            assert all(least <= middle <= most for least, middle, most in ends)


def test_cancelled_in_its_third_read_it_is_charged_and_the_next_statement_works(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT LOGREGR(ill, ARRAY[1, years]) FROM person"
    before, came = wire.charges, []
    with wire.connect() as connection:

        def ask() -> None:
            try:
                came.append(connection.execute(sql).fetchall())
            except psycopg.Error as problem:
                came.append(problem)

        with held(wire, 3, monkeypatch) as (begun, _):
            thread = threading.Thread(target=ask)
            thread.start()
            assert begun.wait(60)
            assert wire.charges == before + 1
            connection.cancel_safe()
            thread.join(60)
        (problem,) = came
        assert isinstance(problem, psycopg.errors.QueryCanceled)
        assert problem.sqlstate == "57014"
        assert "charged" in str(problem)
        assert wire.charges == before + 1
        row = connection.execute(sql).fetchone()
        assert row is not None
        assert len(row[0]) == 2
        assert wire.charges == before + 2


def test_steps_are_told_as_they_begin(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_session, "TOLD_AFTER", 0.0)
    heard: list[str] = []
    came: list[object] = []
    with wire.connect() as connection:
        connection.add_notice_handler(lambda told: heard.append(str(told.message_primary)))

        def ask() -> None:
            came.append(connection.execute("SELECT LOGREGR(ill, ARRAY[1, age]) FROM person").fetchall())

        with held(wire, 3, monkeypatch) as (begun, go):
            thread = threading.Thread(target=ask)
            thread.start()
            assert begun.wait(60)
            deadline = time.monotonic() + 60
            while not any(f"step 3 of {READS}" in one for one in heard) and time.monotonic() < deadline:
                time.sleep(0.01)
            assert not came, "it is told before there is an answer"
            go.set()
            thread.join(60)
        steps = [one for one in heard if one.startswith("step ")]
        assert steps == [f"step {k} of {READS} begins; all of them were paid for before the first" for k in range(1, READS + 1)]  # fmt: skip
        heard.clear()
        connection.execute("SET dpsql.notices = off")
        connection.execute("SELECT LOGREGR(ill, ARRAY[1, age]) FROM person WHERE age > 30").fetchall()
        assert not heard


def test_what_takes_no_two_seconds_is_not_told(wire: Wire) -> None:
    heard: list[str] = []
    with wire.connect() as connection:
        connection.add_notice_handler(lambda told: heard.append(str(told.message_primary)))
        connection.execute("SELECT LOGREGR(ill, ARRAY[1, age]) FROM person WHERE years > 3").fetchall()
    assert not [one for one in heard if one.startswith("step ")]


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_shows_an_array_and_what_it_cost(wire: Wire) -> None:
    environment = {"PGHOST": "127.0.0.1", "PGPORT": str(wire.port), "PGUSER": "analyst", "PGDATABASE": "case"}
    done = subprocess.run(
        ["psql", "-X", "-At"], input=f"SELECT {FULL} FROM person;\nSELECT LOGREGR(ill, age) FROM person;\n",
        text=True, capture_output=True, timeout=60, env={**os.environ, **environment, "PGSSLMODE": "disable"},
    )  # fmt: skip
    numbers = [float(one) for one in done.stdout.strip().strip("{}").split(",")]
    assert numbers == pytest.approx(most_likely(*people())[0], rel=0.2)
    assert "NOTICE:  " in done.stderr
    assert "HINT:  write LOGREGR(y, ARRAY[1, x])" in done.stderr


def test_a_terminal_has_a_bar_of_steps() -> None:
    shown = io.StringIO()
    with waiting(Console(file=shown, force_terminal=True, width=100), seconds=0.0) as told:
        deadline = time.monotonic() + 10
        while "step 4 of 7" not in shown.getvalue() and time.monotonic() < deadline:
            told(4, 7)
            time.sleep(0.05)
    assert "━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌ step 4 of 7" in shown.getvalue()
    quiet = io.StringIO()
    with waiting(Console(file=quiet, force_terminal=False), seconds=0.0) as told:
        told(4, 7)
    assert not quiet.getvalue()
