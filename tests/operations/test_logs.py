"""What the log may say: canaries stand in rows, in literals and in what strangers call themselves; none may get out."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dpsql.server.operations import logs
from dpsql.server.operations.events import StatementOutcome, fingerprint
from tests.attacks.canaries import CARD, CODE, canary_in
from tests.attacks.library import LIBRARIES
from tests.operations.operated import Operated, operated

LITERAL = "Wm4zLtrl8Fq"
NUMBER = 5551239871
"""Stand in what analysts and strangers say, and in no row."""


KINDS = {"duckdb": "json", "postgres": "text"}
"""Each database once, each format once: a log line does not know which database it is about."""


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def policy(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return LIBRARIES[kind](tmp_path_factory.mktemp("library") / kind, with_person=True).policy


ASKED = (
    f"SELECT COUNT(*) FROM member WHERE card = '{LITERAL}'",
    f"SELECT COUNT(*) FROM member WHERE card = $q${LITERAL}$q$ OR code = {NUMBER}",
    f"SELECT card FROM member WHERE card = '{LITERAL}'",
    f"SELECT COUNT(*) FROM {LITERAL}",
    f'SELECT COUNT("{LITERAL}") FROM member',
    f"SELEKT '{LITERAL}'",
    f"SELECT '{LITERAL}'::int",
    f"SELECT COUNT(*) FROM member GROUP BY '{LITERAL}'",
    f"SET application_name = '{LITERAL}'",
    f"SET dpsql.epsilon = '{LITERAL}'",
    f"INSERT INTO member (card) VALUES ('{LITERAL}')",
    f"EXPLAIN SELECT COUNT(*) FROM member WHERE card = '{LITERAL}'",
    f"PREPARE p AS SELECT COUNT(*) FROM member WHERE card = '{LITERAL}'",
    "EXECUTE p",
    f"BEGIN; SELECT '{LITERAL}'; ROLLBACK",
    f"SELECT '{LITERAL}' || 1 / (COUNT(*) * 0) FROM member",
)


def ask(connection: psycopg.Connection[Any], sql: str, *parameters: object, binary: bool = False) -> str:
    """The SQLSTATE that a statement comes to."""
    try:
        connection.execute(sql.encode(), parameters or None, binary=binary)
    except psycopg.Error as problem:
        return str(problem.sqlstate)
    return "00000"


def stumble(server: Operated, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make everything go wrong that can, with rows and literals in what it says; the SQLSTATEs that were told."""
    engine = type(server.proxy._opened.engine)
    run, schema = engine.run, server.proxy._opened.engine.dialect.default_schema

    def raising(self: Any, plan: Any, *more: Any) -> Any:
        return run(
            self,
            replace(plan, sql=f"SELECT CAST(card AS INTEGER) AS s0 FROM {schema}.member WHERE code = {CODE}"),
            *more,
        )

    def unforeseen(*more: Any) -> Any:
        raise ValueError(f"{CARD} {LITERAL}")

    states = []
    with server.connect() as connection, monkeypatch.context() as patch:
        connection.execute("SET dpsql.reuse = off")
        patch.setattr(engine, "run", raising)
        states.append(ask(connection, "SELECT COUNT(*) FROM member"))
        patch.setattr(engine, "run", unforeseen)
        states.append(ask(connection, "SELECT COUNT(*) FROM loan"))
        patch.setattr("dpsql.server.session.protocol._changed", unforeseen)
        states.append(ask(connection, "SET dpsql.notices = off"))
    return states


def tell_all(server: Operated) -> None:
    """Answers, refusals and failures over the wire."""
    with server.connect() as connection:
        for sql in ASKED:
            ask(connection, sql)
        for binary in (False, True):
            ask(connection, "SELECT COUNT(*) FROM member WHERE card = %s AND code < %s", LITERAL, NUMBER, binary=binary)
        ask(connection, "SELECT COUNT(*) FROM member WHERE code = %s", LITERAL)
    for user in (LITERAL, f"ana{LITERAL}"):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.dsn.replace("user=ana", f"user={user}"), application_name=LITERAL)


def go_wrong_elsewhere() -> None:
    """What other packages and threads say."""

    def fail() -> None:
        raise ValueError(f"{CARD} {LITERAL}")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    warnings.warn(f"{CARD} {LITERAL}", stacklevel=1)
    logging.getLogger("some.package").error("%s", f"{CARD} {LITERAL}", exc_info=ValueError(CARD))
    loop = asyncio.new_event_loop()
    loop.call_exception_handler({"message": CARD, "exception": ValueError(LITERAL)})
    loop.close()


def test_neither_rows_nor_literals_are_logged(policy: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with operated(policy, log_format=KINDS[kind], log_level="debug") as server:
        tell_all(server)
        assert stumble(server, monkeypatch) == ["58000", "XX000", "XX000"]
        go_wrong_elsewhere()
        figures = server.page("/metrics")[1]
    said, written = bytes(server.said), server.audit_file.read_bytes()
    for leaving in (said, figures.encode(), written):
        assert canary_in(leaving) is None
    for leaving in (said, figures.encode()):
        assert LITERAL.lower().encode() not in leaving.lower()
        assert str(NUMBER).encode() not in leaving
    assert LITERAL.encode() in written, "the audit is about what was asked"
    # And yet it all was told.
    for word in (b"42501", b"42P01", b"42703", b"28", b"unhandled error", b"the engine failed", b"stopped"):
        assert word in said, word
    if KINDS[kind] == "json":
        one_schema([json.loads(line) for line in said.decode().splitlines()])


def one_schema(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        assert list(line)[:4] == ["time", "level", "logger", "event"]
        assert line["level"] in logs.LEVELS or line["level"] == "critical"
    statements = [line for line in lines if line["event"] == "statement"]
    fields = {"session", "analyst", "address", "outcome", "sqlstate", "fingerprint", "seconds"}
    assert all(fields <= set(line) for line in statements)
    assert {line["outcome"] for line in statements} == set(StatementOutcome)
    assert all(
        ("rho" in line) == (line["outcome"] == "answered" or line["sqlstate"] in ("58000", "XX000"))
        for line in statements
        if line["outcome"] != "session" and line["sqlstate"] != "08P01"
    )


def test_what_the_engine_says_is_logged_when_its_owner_asks(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other side of the test above: there is something to be kept quiet."""
    with operated(policy, log_engine_errors=True) as server:
        stumble(server, monkeypatch)
        server.log()
        assert canary_in(bytes(server.said)) is not None
        assert server.log()[0]["event"].startswith("the database's own words are logged")


def test_a_fingerprint_finds_the_same_question_again() -> None:
    one = fingerprint(f"SELECT COUNT(*) FROM member WHERE card = '{LITERAL}' AND code = 5")
    assert one == fingerprint("select count(*)  from MEMBER where card = E'x\\'y' -- why\n AND code = 17")
    assert one != fingerprint("SELECT COUNT(*) FROM member WHERE card = 'a' OR code = 5")
    assert len(one) == 16


def test_a_log_that_nobody_reads_holds_up_nobody() -> None:
    """More lines than a pipe and the queue hold, and nobody reads them: they are counted as lost."""
    program = """
import logging, os, sys
from dpsql.server.operations import logs
log = logs.Log.start("json", "info")
for number in range(30_000):
    logs.event(logging.INFO, "x" * 100)
log.close()
os.write(1, str(log.lost).encode())
"""
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=writing, timeout=60, check=True
        )
    finally:
        os.close(writing)
        os.close(reading)
    assert int(done.stdout) > 10_000
