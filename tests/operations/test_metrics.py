"""Figures, health and readiness: what they say is what happened, and only this machine is told."""

from __future__ import annotations

import base64
import re
import socket
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from dpsql.errors import OperationalError
from dpsql.policy import Policy
from dpsql.server.operations.monitor import Monitor
from dpsql.server.start import metrics_password
from tests.operations.operated import Operated, eventually

COUNT = "SELECT COUNT(*) FROM loan WHERE days < "
STATEMENTS = "dpsql_statements_total"
CLOSED = """
database: duckdb:library.duckdb
ledger: sqlite:library.ledger
privacy_unit: reader.id
budget: {epsilon: 1}
analysts: {ana: {password: secret}, bob: {}}
tables: {reader: {columns: {id: {}}}}
"""


def test_statements_are_counted_by_what_became_of_them(server: Operated) -> None:
    def figures() -> dict[tuple[str, str], float]:
        kinds = [
            ("answered", "00000"), ("free", "00000"), ("catalog", "00000"), ("session", "00000"), ("refused", "42501"),
            ("refused", "42703"),
        ]  # fmt: skip
        return {kind: server.figure(STATEMENTS, outcome=kind[0], sqlstate=kind[1]) for kind in kinds}

    before = figures()
    with server.connect() as connection:
        for statement in (COUNT + "1", COUNT + "1", COUNT + "2", "SELECT COUNT(*) FROM pg_class", "BEGIN", "ROLLBACK"):
            connection.execute(statement.encode())
        for refused in ("SELECT title FROM loan", "SELECT COUNT(nothing) FROM loan", "SELECT nothing FROM loan"):
            with pytest.raises(psycopg.Error):
                connection.execute(refused.encode())
    after = figures()
    more = {kind: after[kind] - before[kind] for kind in after}
    assert more == {
        ("answered", "00000"): 2, ("free", "00000"): 1, ("catalog", "00000"): 1, ("session", "00000"): 2,
        ("refused", "42501"): 1, ("refused", "42703"): 2,
    }  # fmt: skip


def test_the_budget_is_the_ledgers(server: Operated) -> None:
    with server.connect() as connection:
        connection.execute(COUNT + "10")
        ledger = server.proxy.ledger
        limit = ledger.limits[""][0]
        assert server.figure("dpsql_budget_rho", analyst="", part="spent") == float(ledger.spent().rho) > 0
        assert server.figure("dpsql_budget_rho", analyst="ana", part="spent") == float(ledger.spent("ana").rho)
        assert server.figure("dpsql_budget_epsilon", analyst="", part="spent") == pytest.approx(
            limit.epsilon_of(ledger.spent())
        )
        left = server.figure("dpsql_budget_epsilon", analyst="", part="left")
        assert left == pytest.approx(float(limit.epsilon) - limit.epsilon_of(ledger.spent()))
        charges = server.figure("dpsql_charges_total", analyst="ana")
        waits = server.figure("dpsql_ledger_wait_seconds_count")
        connection.execute(COUNT + "11")
        assert server.figure("dpsql_charges_total", analyst="ana") == charges + 1
        assert server.figure("dpsql_ledger_wait_seconds_count") == waits + 1
        assert server.figure("dpsql_ledger_up") == 1


def test_connections_logins_and_memory(server: Operated) -> None:
    eventually(lambda: server.figure("dpsql_connections", state="logged in") == 0)
    logins = server.figure("dpsql_logins_total", sqlstate="00000")
    with server.connect():
        assert server.figure("dpsql_connections", state="logged in") == 1
        assert server.figure("dpsql_logins_total", sqlstate="00000") == logins + 1
    eventually(lambda: server.figure("dpsql_connections", state="logged in") == 0)
    assert server.figure("dpsql_connections", state="logging in") == 0
    refused = server.figure("dpsql_logins_total", sqlstate="28000")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.dsn.replace("user=ana", "user=nobody"))
    eventually(lambda: server.figure("dpsql_logins_total", sqlstate="28000") == refused + 1)
    assert server.figure("process_resident_memory_bytes") > 50e6
    assert server.figure("dpsql_engine_calls_limit") == server.proxy.engine_load.most


def test_the_format_is_prometheus_and_labels_are_ours(server: Operated) -> None:
    """Read by Prometheus's own parser; no label is a word of a client's."""
    with server.connect(application_name="Xq9 tool") as connection:
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT COUNT(*) FROM Xq9")
        connection.execute("SELECT COUNT(*) FROM member WHERE card = 'Xq9'")
    status, text = server.page("/metrics")
    families = list(text_string_to_metric_families(text))
    assert status == 200
    assert "Xq9" not in text
    labels = {(name, value) for family in families if family.name.startswith("dpsql") for one in family.samples
              for name, value in one.labels.items()}  # fmt: skip
    for name, value in labels:
        assert name in ("outcome", "sqlstate", "state", "analyst", "part", "le")
        assert name != "analyst" or value in ("", "ana", "bob")
        assert name != "sqlstate" or re.fullmatch(r"[0-9A-Z]{5}", value)
    assert {family.name for family in families} >= {
        "dpsql_statements", "dpsql_statement_seconds", "dpsql_ledger_wait_seconds", "dpsql_budget_epsilon",
        "dpsql_budget_rho", "dpsql_engine_calls", "dpsql_connections", "process_resident_memory_bytes",
    }  # fmt: skip


def test_only_this_machine_is_told(server: Operated) -> None:
    assert server.page("/ready")[0] == 200
    assert server.page("/metrics", Host="evil.example")[0] == 403, "a name that was made to mean this machine"
    assert server.page("/secrets")[0] == 404
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # No packet is sent: this asks which address of ours would be used.
        probe.connect(("192.0.2.1", 9))
        own = probe.getsockname()[0]
    if not own.startswith("127."):
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((own, server.metrics_port), timeout=60)


def test_ready_says_why_not(server: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    assert server.page("/health") == (200, '{"alive": true, "problems": []}\n')

    def lost(*more: object) -> None:
        raise OperationalError("the ledger cannot be read", sqlstate="58030")

    with monkeypatch.context() as patch:
        patch.setattr(type(server.proxy.ledger), "spent", lost)
        assert server.page("/ready") == (503, '{"ready": false, "problems": ["the ledger cannot be used"]}\n')
        assert server.figure("dpsql_ledger_up") == 0, "the other figures are there all the same"
        assert server.page("/health")[0] == 200, "a new start would not help"
    assert server.page("/ready")[0] == 200


def test_health_notices_a_loop_that_hangs(server: Operated) -> None:
    loop, go = server.server._loop, threading.Event()
    assert loop is not None
    loop.call_soon_threadsafe(go.wait, 60)
    try:
        assert server.page("/health") == (503, '{"alive": false, "problems": ["the server hangs"]}\n')
    finally:
        go.set()
    assert server.page("/health")[0] == 200


def test_a_port_that_is_taken_is_said_so(server: Operated) -> None:
    with pytest.raises(OperationalError) as caught:
        Monitor(server.metrics_port, None, lambda: True, tuple)  # type: ignore[arg-type]
    assert caught.value.hint == "--metrics-port N"


def test_the_metrics_have_a_password_where_analysts_have_one(
    server: Operated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Health is asked by who starts servers anew, without one: it tells nothing of statements."""
    registry = CollectorRegistry()
    with closing(Monitor(0, registry, lambda: True, tuple, "open sésame")) as monitor:
        monitor.start()
        asked = replace(server, metrics_port=monitor.port)
        right, wrong = (base64.b64encode(f"any:{one}".encode()).decode() for one in ("open sésame", "open"))
        assert asked.page("/metrics")[0] == 401
        for value in (f"Basic {wrong}", f"Bearer {right}", "Basic", "Basic ?"):
            assert asked.page("/metrics", Authorization=value)[0] == 401
        assert asked.page("/metrics", Authorization=f"Basic {right}")[0] == 200
        assert asked.page("/health")[0] == asked.page("/ready")[0] == 200
    monkeypatch.delenv("DPSQL_METRICS_PASSWORD", raising=False)
    policy = server.proxy.policy
    assert metrics_password(policy) is None
    (tmp_path / "closed.yaml").write_text(CLOSED)
    closed = Policy.load(tmp_path / "closed.yaml")
    with pytest.raises(OperationalError, match="the metrics have none"):
        metrics_password(closed)
    monkeypatch.setenv("DPSQL_METRICS_PASSWORD", "open sésame")
    assert metrics_password(closed) == "open sésame"
    monkeypatch.setenv("DPSQL_METRICS_PASSWORD", "")
    with pytest.raises(OperationalError):
        metrics_password(policy)
