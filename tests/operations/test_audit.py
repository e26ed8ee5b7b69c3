"""The owner's record: every statement, whatever became of it, at the price that the ledger says; and when it cannot be
written, nothing is answered.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dpsql.accounting.loss import PrivacyLoss
from dpsql.errors import OperationalError
from dpsql.ledger.charges import decimal
from dpsql.server.operations.audit import Audit
from dpsql.server.operations.events import Client, StatementEnded, StatementOutcome
from tests.operations.operated import Operated

COUNT = "SELECT COUNT(*) FROM member WHERE code < "


def asked(statement: str) -> StatementEnded:
    return StatementEnded(Client(1, "ana"), statement, (), StatementOutcome.FREE, "00000", PrivacyLoss(), (), 0.1)


def statements(server: Operated) -> list[dict[str, Any]]:
    return [line for line in server.audited() if line["event"] == "statement"]


@contextmanager
def full_disk(audit: Audit) -> Iterator[None]:
    """Whatever is written meanwhile is answered with ENOSPC."""
    full = os.open("/dev/full", os.O_WRONLY)
    audit._file, kept = full, audit._file
    try:
        yield
    finally:
        audit._file = kept
        os.close(full)


def test_every_statement_is_written_with_what_became_of_it(server: Operated) -> None:
    before = len(statements(server))
    with server.connect(application_name="a tool") as connection:
        connection.execute(COUNT + "3")
        connection.execute(COUNT + "3")
        connection.execute(COUNT.encode() + b"%s", (4,))
        connection.execute("SELECT COUNT(*) FROM pg_class")
        connection.execute("SET dpsql.notices = off; SHOW dpsql.epsilon")
        connection.execute("EXPLAIN " + COUNT + "5")
        for refused in ("SELECT card FROM member", "SELEKT 1", "SELECT COUNT(*) FROM nowhere"):
            with pytest.raises(psycopg.Error):
                connection.execute(refused)
            with pytest.raises(psycopg.Error):
                connection.execute(refused, prepare=True, binary=True)
    lines = statements(server)[before:]
    assert [(line["statement"], line["outcome"], line["sqlstate"]) for line in lines] == [
        (COUNT + "3", "answered", "00000"),
        (COUNT + "3", "free", "00000"),
        (COUNT + "$1", "answered", "00000"),
        ("SELECT COUNT(*) FROM pg_class", "catalog", "00000"),
        ("SET dpsql.notices = off", "session", "00000"),
        ("SHOW dpsql.epsilon", "session", "00000"),
        ("EXPLAIN " + COUNT + "5", "free", "00000"),
        ("SELECT card FROM member", "refused", "42501"),
        ("SELECT card FROM member", "refused", "42501"),
        ("SELEKT 1", "refused", "42601"),
        ("SELEKT 1", "refused", "42601"),
        ("SELECT COUNT(*) FROM nowhere", "refused", "42P01"),
        ("SELECT COUNT(*) FROM nowhere", "refused", "42P01"),
    ]
    assert {(line["analyst"], line["address"], line["application"]) for line in lines} == {
        ("ana", "127.0.0.1", "a tool")
    }
    assert lines[2]["parameters"] in (["4"], ["0004"])
    assert all(line["time"].endswith("Z") for line in lines)


def test_the_price_is_what_the_ledger_says(server: Operated) -> None:
    before = len(statements(server))
    with server.connect() as connection:
        connection.execute("BEGIN; SET LOCAL dpsql.epsilon = 2; " + COUNT + "5; ROLLBACK")
        connection.execute(COUNT + "6")
    lines = [line for line in statements(server)[before:] if line["charges"]]
    charges = {charge.id: charge for charge in server.proxy.ledger.charges()}
    assert [line["charged"] for line in lines] == [{"rho": "2"}, {"rho": "8"}]
    for line in lines:
        (charge,) = (charges[id_] for id_ in line["charges"])
        assert (charge.analyst, charge.statement) == (line["analyst"], line["statement"])
        assert decimal(charge.loss.rho) == line["charged"]["rho"]


def test_what_was_charged_and_failed_is_written_with_its_price(
    server: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*more: object) -> None:
        raise OperationalError("the database could not answer this release", sqlstate="58000")

    monkeypatch.setattr(type(server.proxy._opened.engine), "run", fail)
    with server.connect() as connection, pytest.raises(psycopg.OperationalError):
        connection.execute(COUNT + "7")
    line = statements(server)[-1]
    assert (line["outcome"], line["sqlstate"], line["charged"]) == ("failed", "58000", {"rho": "8"})


def test_the_log_and_the_audit_tell_the_same(server: Operated) -> None:
    with server.connect() as connection:
        connection.execute(COUNT + "8")
    logged = [line for line in server.log() if line["event"] == "statement"]
    audited = statements(server)
    assert [(line["session"], line["outcome"], line["sqlstate"]) for line in logged] == [
        (line["session"], line["outcome"], line["sqlstate"]) for line in audited
    ]
    assert sum(Fraction(line.get("rho", "0")) for line in logged) == server.proxy.ledger.spent().rho


def test_who_comes_and_goes_and_who_may_not(server: Operated) -> None:
    before = len(server.audited())
    server.connect().close()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.dsn.replace("user=ana", "user=mallory"))
    found: list[dict[str, Any]] = []
    while len(found) < 3:
        found = server.audited()[before:]
    assert sorted(line["event"] for line in found) == ["login", "login refused", "logout"]
    (refused,) = (line for line in found if line["event"] == "login refused")
    assert (refused["analyst"], refused["sqlstate"]) == ("mallory", "28000")


def test_a_full_disk_withholds_answers_and_charges_nothing_more(server: Operated) -> None:
    """What is in flight when the disk is full is charged and withheld; after that nothing is charged."""
    audit = server.audit
    assert audit is not None
    before = len(statements(server))

    def states(connection: psycopg.Connection[Any], *limits: int) -> list[str | None]:
        found: list[str | None] = []
        for limit in limits:
            try:
                connection.execute(f"{COUNT}{limit}")
                found.append(None)
            except psycopg.Error as problem:
                found.append(problem.sqlstate)
        return found

    with server.connect() as connection:
        spent = server.proxy.ledger.spent().rho
        with full_disk(audit):
            assert states(connection, 100, 101, 102) == ["58030", "58030", "58030"]
            with pytest.raises(psycopg.OperationalError, match="audit log cannot be written"):
                server.connect()
            assert server.figure("dpsql_audit_writable") == 0
            assert server.page("/ready") == (
                503, '{"ready": false, "problems": ["the audit log cannot be written"]}\n'
            )  # fmt: skip
            assert server.proxy.ledger.spent().rho == spent + 8, "one statement was in flight"
        assert states(connection, 100, 101) == [None, None]
    assert server.page("/ready")[0] == 200
    found = [(line["statement"][-3:], line["outcome"]) for line in statements(server)[before:]]
    assert found[0] == ("100", "answered"), "what was withheld is written all the same"
    assert found[-2:] == [("100", "free"), ("101", "answered")]
    assert {"critical", "warning"} <= {line["level"] for line in server.log() if line["logger"] == "dpsql.audit"}


def test_a_torn_line_becomes_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = Audit(tmp_path / "audit")
    write = os.write

    def torn(file: int, data: bytes) -> int:
        if file == audit._file and len(data) > 10:
            return write(file, data[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", torn)
        with pytest.raises(OperationalError):
            audit.tell(asked("SELECT 1 -- é"))
        for _ in range(2):
            with pytest.raises(OperationalError):
                audit.ready()
    audit.ready()
    audit.tell(asked("SELECT 2"))
    audit.close()
    lines = (tmp_path / "audit").read_text().splitlines()
    assert [json.loads(line)["statement"] for line in lines] == ["SELECT 1 -- é", "SELECT 2"]


def test_rotation_loses_no_line_and_tears_none(tmp_path: Path) -> None:
    """As logrotate does it: the file is moved away, then the server is told; others write meanwhile."""
    audit = Audit(tmp_path / "audit")
    total, each = 8, 300

    def write(writer: int) -> None:
        for number in range(each):
            audit.tell(asked(f"{writer} {number} {'x' * (number % 700)}"))

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(total)]
    for writer in writers:
        writer.start()
    for rotation in range(20):
        (tmp_path / "audit").rename(tmp_path / f"audit.{rotation}")
        audit.reopen()
    for writer in writers:
        writer.join()
    audit.close()
    found = [json.loads(line) for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    seen = sorted(line["statement"].rsplit(" ", 1)[0] for line in found)
    assert seen == sorted(f"{writer} {number}" for writer in range(total) for number in range(each))


def test_a_file_that_cannot_be_opened_again_is_written_on(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    audit = Audit(tmp_path / "logs" / "audit")
    (tmp_path / "logs").rename(tmp_path / "moved")
    audit.reopen()
    audit.tell(asked("SELECT 1"))
    audit.close()
    assert "SELECT 1" in (tmp_path / "moved" / "audit").read_text()


def test_only_its_owner_may_read_it_and_what_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    Audit(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("before\n")
    audit = Audit(path)
    audit.tell(asked("SELECT 1"))
    audit.close()
    assert path.read_text().startswith("before\n{")
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(OperationalError, match="cannot be written"):
        Audit(link)
