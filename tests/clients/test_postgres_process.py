"""A private PostgreSQL is as private as its folder, and ends with whoever started it, however that ended."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.errors import OperationalError
from dpsql.postgresql.process import PREFIX, PostgresProcess, find_binaries, reap, wheel_binaries

STARTS = """
import sys, time
from dpsql.postgresql.process import PostgresProcess
server = PostgresProcess.start()
print(server.process_id, server.folder, flush=True)
time.sleep(300)
"""


def alive(process: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(process: int, folder: Path) -> None:
    end = time.monotonic() + 60
    while (alive(process) or folder.exists()) and time.monotonic() < end:
        time.sleep(0.02)
    assert not alive(process)
    assert not folder.exists()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that the server's user can reach."""
    found = Path(tempfile.mkdtemp(prefix="dpsql-test-"))
    found.chmod(0o755)
    yield found
    shutil.rmtree(found)


def test_it_answers_and_is_gone_after_close() -> None:
    server = PostgresProcess.start(settings={"work_mem": "5MB"})
    process = server.process_id
    with psycopg.connect(server.dsn()) as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("5MB",)
        assert connection.execute("SELECT current_setting('is_superuser')").fetchone() == ("on",)
    with psycopg.connect(server.url()) as connection:
        assert connection.info.backend_pid
    server.close()
    server.close()
    wait_until_gone(process, server.folder)


def test_nobody_else_can_come_near_it() -> None:
    with PostgresProcess.start() as server:
        for folder in (server.folder, server.socket, server.folder / "data"):
            status = folder.stat()
            assert status.st_mode & 0o777 == 0o700
            assert status.st_uid != 0
        with psycopg.connect(server.dsn()) as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


def test_over_tcp_it_asks_for_the_password() -> None:
    with PostgresProcess.start(tcp=True) as server:
        with psycopg.connect(server.dsn()) as connection:
            assert connection.info.host == "127.0.0.1"
        with psycopg.connect(server.url()) as connection:
            assert connection.info.port == server.port
        for password in ("", "wrong"):
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(server.dsn().replace(server.password, password or "''"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_when_its_owner_is_killed(how: signal.Signals) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", STARTS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert owner.stdout is not None
    process, folder = owner.stdout.readline().split()
    assert alive(int(process))
    owner.send_signal(how)
    owner.wait()
    owner.stdout.close()
    wait_until_gone(int(process), Path(folder))


def test_a_named_folder_keeps_its_data(place: Path) -> None:
    with PostgresProcess.start(place / "kept") as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS x")
    with PostgresProcess.start(place / "kept") as server, psycopg.connect(server.dsn()) as connection:
        assert connection.execute("SELECT x FROM kept").fetchone() == (7,)


def test_a_failed_start_says_why_and_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with pytest.raises(OperationalError, match="no_such_setting"):
        PostgresProcess.start(settings={"no_such_setting": "1"})
    assert list(place.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root's folders are closed to the server's user")
def test_binaries_in_a_closed_folder_are_copied_to_where_the_server_may_run_them(tmp_path: Path) -> None:
    found = wheel_binaries()
    if found is None:
        pytest.skip("the wheel is not installed")
    closed = found.copied_to(tmp_path / "closed")
    closed.base.chmod(0o700)
    with PostgresProcess.start(binaries=closed) as server:
        assert (server.folder / "binaries").exists()
        with psycopg.connect(server.dsn()) as connection:
            assert connection.info.server_version // 10000 == found.version
    assert not server.folder.exists()


def test_what_a_killed_server_left_is_removed_and_what_lives_is_not() -> None:
    left, young, held = (Path(tempfile.mkdtemp(prefix=PREFIX)) for _ in range(3))
    link = Path(tempfile.mkdtemp(prefix="dpsql-test-")) / "target"
    link.mkdir()
    trap = Path(tempfile.gettempdir()) / f"{PREFIX}link-{os.getpid()}"
    trap.symlink_to(link)
    with (held / "owner").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (left / "owner").touch()
        for folder in (left, held):
            os.utime(folder, (time.time() - 1000, time.time() - 1000))
        try:
            reap()
            assert not left.exists()
            assert young.exists()
            assert held.exists()
            assert link.exists()
        finally:
            trap.unlink()
            for folder in (young, held, link.parent):
                shutil.rmtree(folder)


def test_memory_is_bounded() -> None:
    with PostgresProcess.start(memory=256 * 1024) as server, psycopg.connect(server.dsn()) as connection:
        with pytest.raises(psycopg.errors.OutOfMemory):
            connection.execute("SELECT repeat('x', 500000000)")
        connection.rollback()
        assert connection.execute("SELECT length(repeat('x', 1000000))").fetchone() == (1_000_000,)


def test_there_are_binaries() -> None:
    assert find_binaries().version >= 15
    assert find_binaries(wheel_first=True).version >= 15
