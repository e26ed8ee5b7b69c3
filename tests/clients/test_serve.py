"""The server with real sockets: encryption, passwords, cancelling, many connections, and its end."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import yaml

from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.proxy import Proxy
from dpsql.server import door as entrance
from dpsql.server import serve as serving
from dpsql.server.certificate import Certificate
from dpsql.server.door import Door
from dpsql.server.serve import Server
from dpsql.server.session.backend import Backend
from dpsql.server.shadow.shadow import Shadow
from dpsql.server.start import analysts
from dpsql.server.wire.scram import make_verifier

BY_SEX = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex"


@dataclass(frozen=True, slots=True)
class Running:
    server: Server
    port: int
    certificate: Path

    def dsn(self, user: str = "bob", **more: object) -> str:
        given = {"host": "127.0.0.1", "port": self.port, "user": user, "dbname": "clinic", "sslmode": "disable", **more}
        return " ".join(f"{name}={value}" for name, value in given.items())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def running(built_clinic: Path, tmp_path_factory: pytest.TempPathFactory, certificate: Path) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("served")
    shutil.copy(built_clinic / clinic.DATABASE, folder)
    policy = yaml.safe_load((built_clinic / clinic.POLICY).read_text())
    policy["budget"]["epsilon"] = 100_000
    policy["analysts"] = {"bob": {}, "ana": {"password": make_verifier("pencil é")}, "eve": {"password": "plain"}}
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy, allow_unicode=True))
    proxy = Proxy.open(folder / "policy.yaml")
    shadow = Shadow.start(proxy.catalog, analysts(proxy.policy), "clinic")
    pair = Certificate(certificate / "cert.pem", certificate / "key.pem")
    door = Door("127.0.0.1", 0, proxy.policy.limits)
    server = Server(Backend(proxy, shadow), door, certificate=pair)
    started = threading.Event()
    thread = threading.Thread(target=server.run, args=(started.set,))
    thread.start()
    assert started.wait(60)
    yield Running(server, door.address[1], certificate)
    server.stop()
    thread.join(60)
    assert not thread.is_alive()
    shadow.close()
    proxy.close()


def test_who_sends_a_byte_at_a_time_takes_no_thread(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are for those who ask: two hundred who never finish a message hold up nobody."""
    taken: list[object] = []
    honest = running.server._threads.submit
    monkeypatch.setattr(running.server._threads, "submit", lambda *work: (taken.append(work), honest(*work))[1])
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.settimeout(60)
        parameters = b"user\0bob\0database\0clinic\0\0"
        data = struct.pack("!ii", 8 + len(parameters), 196608) + parameters
        for place in range(len(data) - 1):
            raw.sendall(data[place : place + 1])
            time.sleep(0.005)
        assert not taken
        raw.sendall(data[-1:])
        assert raw.recv(1) == b"R"
        assert taken


def test_a_statement_over_a_socket(running: Running) -> None:
    with psycopg.connect(running.dsn()) as connection:
        assert [row[0] for row in connection.execute(BY_SEX)] == ["F", "M"]


SECRET = "pencil é"  # noqa: S105


@pytest.mark.parametrize(("user", "password"), [("ana", SECRET), ("eve", "plain")])
def test_a_password_is_proved_and_not_sent(running: Running, user: str, password: str) -> None:
    with psycopg.connect(running.dsn(user), password=password, require_auth="scram-sha-256") as connection:
        assert connection.execute("SELECT current_user").fetchone() == (user,)


@pytest.mark.parametrize(("user", "password"), [("ana", "pencil"), ("eve", ""), ("mallory", "x"), ("ana", "pencil é ")])
def test_a_wrong_password_and_an_unknown_name_are_refused_alike(running: Running, user: str, password: str) -> None:
    with pytest.raises(psycopg.OperationalError) as refused:
        psycopg.connect(running.dsn(user), password=password or "-")
    assert f'password authentication failed for user "{user}"' in str(refused.value)


def test_tls_binds_the_channel(running: Running) -> None:
    trusted = {"sslmode": "verify-full", "sslrootcert": running.certificate / "cert.pem"}
    dsn = running.dsn("ana", **trusted, channel_binding="require")
    with psycopg.connect(dsn, password=SECRET) as connection:
        assert connection.pgconn.ssl_in_use
        assert [row[0] for row in connection.execute(BY_SEX)] == ["F", "M"]


@pytest.mark.skipif(psycopg.pq.version() < 170000, reason="sslnegotiation needs libpq 17")
def test_tls_from_the_first_byte(running: Running) -> None:
    dsn = running.dsn("ana", sslmode="require", sslnegotiation="direct")
    with psycopg.connect(dsn, password=SECRET) as connection:
        assert connection.pgconn.ssl_in_use


@pytest.mark.skipif(psycopg.pq.version() < 180000, reason="protocol 3.2 needs libpq 18")
def test_a_newer_protocol_is_talked_down(running: Running) -> None:
    with psycopg.connect(running.dsn(max_protocol_version="latest")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_bytes_before_the_handshake_end_the_connection(running: Running) -> None:
    """What somebody between could slip in before TLS is not taken for the client's own (CVE-2021-23214)."""
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.settimeout(60)
        raw.sendall(struct.pack("!ii", 8, 80877103) + b"Q\0\0\0\x05\0")
        assert raw.recv(1) == b"S"
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with pytest.raises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(raw)  # no handshake: the connection has ended


@pytest.fixture
def slow(running: Running, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Whatever is read takes until it is cancelled, or the event, which says that it has begun, is cleared."""
    engine = type(running.server._backend.proxy._opened.engine)
    run, entered = engine.run, threading.Event()

    def wait(self: object, plan: object, timeout: float | None, cancellation: object, turn: object) -> object:
        entered.set()
        deadline = time.monotonic() + 60
        while not cancellation.cancelled and entered.is_set() and time.monotonic() < deadline:  # type: ignore[attr-defined]
            time.sleep(0.01)
        return run(self, plan, timeout, cancellation, turn)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "run", wait)
    return entered


@contextlib.contextmanager
def asking(connection: psycopg.Connection, sql: str) -> Iterator[list[object]]:
    """While a statement runs in another thread; then what came of it."""
    came: list[object] = []

    def ask() -> None:
        try:
            came.append(connection.execute(sql).fetchall())
        except psycopg.Error as problem:
            came.append(type(problem))

    thread = threading.Thread(target=ask)
    thread.start()
    yield came
    thread.join(60)


def test_cancelling_from_another_connection(running: Running, slow: threading.Event) -> None:
    with psycopg.connect(running.dsn(), autocommit=True) as connection:
        with asking(connection, "SELECT COUNT(*) FROM patient WHERE birth_year > 1981") as came:
            assert slow.wait(60)
            connection.cancel_safe()
        assert came == [psycopg.errors.QueryCanceled]
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_cancel_request_needs_the_secret(running: Running, slow: threading.Event) -> None:
    with psycopg.connect(running.dsn(), autocommit=True) as connection:
        with asking(connection, "SELECT COUNT(*) FROM patient WHERE birth_year > 1983") as came:
            assert slow.wait(60)
            for guess in (b"gues", bytes(4)):
                with socket.create_connection(("127.0.0.1", running.port)) as raw:
                    raw.sendall(struct.pack("!iii4s", 16, 80877102, connection.info.backend_pid, guess))
                    assert raw.recv(10) == b""
            slow.clear()
        assert [type(rows) for rows in came] == [list], "it was answered"


@pytest.mark.parametrize(
    "asked", ["SELECT pg_cancel_backend(%s)", "SELECT pg_catalog.pg_cancel_backend(%s::int) AS done"]
)
def test_an_analyst_ends_a_statement_of_a_session_of_their_own(
    running: Running, slow: threading.Event, asked: str
) -> None:
    with (
        psycopg.connect(running.dsn(), autocommit=True) as connection,
        psycopg.connect(running.dsn(), autocommit=True) as other,
    ):
        pid = connection.execute("SELECT pg_backend_pid() AS pid").fetchone()
        assert pid == (connection.info.backend_pid,)
        with asking(connection, f"SELECT COUNT(*) FROM patient WHERE birth_year > {1960 + len(asked) % 7}") as came:
            assert slow.wait(60)
            assert other.execute(asked.encode(), pid).fetchone() == (True,)
        assert came == [psycopg.errors.QueryCanceled]
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_nobody_ends_a_statement_of_another_analyst(running: Running, slow: threading.Event) -> None:
    """Nor is told whether there is one."""
    told: list[str] = []
    with (
        psycopg.connect(running.dsn(), autocommit=True) as connection,
        psycopg.connect(running.dsn("ana"), password=SECRET, autocommit=True) as other,
    ):
        other.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
        with asking(connection, "SELECT COUNT(*) FROM patient WHERE birth_year > 1986") as came:
            assert slow.wait(60)
            for pid in (connection.info.backend_pid, 999_999):
                assert other.execute(f"SELECT pg_cancel_backend({pid})".encode()).fetchone() == (False,)
            slow.clear()
        assert [type(rows) for rows in came] == [list], "it was answered"
    assert [" ".join(one.split()[2:]) for one in told] == ["is not a session of this user"] * 2


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("SELECT pg_cancel_backend(NULL)", "(None,)"), ("SELECT pg_cancel_backend(pg_backend_pid())", "57014"),
     ("SELECT pg_cancel_backend(1 + 1)", "0A000"), ("SELECT pg_backend_pid() = pg_backend_pid(), current_user", "(True, 'bob')"),
     ("SELECT pg_cancel_backend(pid) FROM pg_stat_activity", "None"), ("SELECT pg_terminate_backend(1)", "42501")],
)  # fmt: skip
def test_other_calls_of_backends(running: Running, asked: str, expected: str) -> None:
    with psycopg.connect(running.dsn(), autocommit=True) as connection:
        try:
            found = str(connection.execute(asked.encode()).fetchone())
        except psycopg.Error as refused:
            found = str(refused.sqlstate)
        assert found == expected


def test_a_statement_timeout_of_the_client(running: Running) -> None:
    with psycopg.connect(running.dsn(), autocommit=True) as connection:
        connection.execute("SET statement_timeout = '200ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT count(*) FROM generate_series(1, 90000) AS a, generate_series(1, 90000) AS b")
        connection.execute("SET statement_timeout = 0")
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_many_idle_connections_and_one_that_works(running: Running) -> None:
    startup = struct.pack("!i", 8 + len(b"user\0bob\0\0")) + struct.pack("!HH", 3, 0) + b"user\0bob\0\0"
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", running.port)))
            raw.sendall(startup)
            raw.settimeout(60)
            received = b""
            while not received.endswith(b"Z\0\0\0\x05I"):
                received += raw.recv(4096)
        with psycopg.connect(running.dsn()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_strangers_who_say_nothing_are_let_go(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LOGIN_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.settimeout(60)
        assert raw.recv(1) == b""


def test_one_client_too_many_is_told_so(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entrance, "MAX_STRANGERS", 3)
    monkeypatch.setattr(serving, "LOGIN_SECONDS", 60)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(socket.create_connection(("127.0.0.1", running.port)))
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            psycopg.connect(running.dsn())


def test_a_client_that_does_not_read_holds_up_itself_alone(running: Running) -> None:
    startup = struct.pack("!i", 8 + len(b"user\0bob\0\0")) + struct.pack("!HH", 3, 0) + b"user\0bob\0\0"
    sql = b"SELECT repeat('x', 1000) FROM generate_series(1, 50000)\0"
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.sendall(startup + b"Q" + struct.pack("!i", len(sql) + 4) + sql)
        with psycopg.connect(running.dsn()) as connection:
            for _ in range(20):
                assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_stopping_server_says_goodbye(built_clinic: Path, tmp_path: Path) -> None:
    for name in (clinic.DATABASE, clinic.POLICY):
        shutil.copy(built_clinic / name, tmp_path / name)
    proxy = Proxy.open(tmp_path / clinic.POLICY)
    shadow = Shadow.start(proxy.catalog, analysts(proxy.policy), "clinic")
    door = Door("127.0.0.1", 0, proxy.policy.limits)
    server = Server(Backend(proxy, shadow), door)
    started = threading.Event()
    thread = threading.Thread(target=server.run, args=(started.set,))
    thread.start()
    assert started.wait(60)
    user = analysts(proxy.policy)[0]
    connection = psycopg.connect(f"host=127.0.0.1 port={door.address[1]} user={user} dbname=clinic", autocommit=True)
    server.stop()
    thread.join(60)
    assert not thread.is_alive()
    with pytest.raises(psycopg.OperationalError) as ended:
        connection.execute("SELECT 1")
    assert "terminating connection" in str(ended.value)
    shadow.close()
    proxy.close()
