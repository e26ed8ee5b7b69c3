"""A PostgreSQL server for ledgers that can be hurt in every way: it and its backends are killed, its wires are cut.

Clients reach it through a relay at one address and as one user, whatever becomes of the server behind it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg

from dpsql.postgresql.process import PostgresProcess
from tests.ledger.relay import Relay

MEMORY = "/dev/shm"  # noqa: S108
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
USER, PASSWORD = "keeper", "open-sesame"
_PATIENCE = 60.0


class Site:
    """A server that waits for its disk, which is memory where there is such a one: all that we can cause are crashes of
    processes. ``url`` makes a new database, and says how it is reached through the relay."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
        self._home.chmod(0o755)
        self._process = self._start()
        with self._owner() as owner:
            owner.execute(f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'")
        self._relay = Relay(("127.0.0.1", self._process.port))
        self._numbers = itertools.count()
        self.restarts = 0

    def close(self) -> None:
        self._relay.close()
        self._process.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def url(self) -> str:
        name = f"ledger_{next(self._numbers)}"
        with self._owner() as owner:
            owner.execute(f"CREATE DATABASE {name} OWNER {USER} TEMPLATE template0")
        where = f"127.0.0.1:{self._relay.port}/{name}"
        return f"postgresql://{USER}:{PASSWORD}@{where}?sslmode=disable&gssencmode=disable"

    @property
    def strikes(self) -> dict[str, Callable[[], None]]:
        return {
            "backends terminated": self.terminate,
            "backends killed": self.kill_backend,
            "connections cut": self.cut,
            "answers lost": self.lose_answer,
            "servers killed and started again": self.restart,
        }

    def terminate(self) -> None:
        """The administrator ends every connection of a ledger."""
        with self._owner() as owner:
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpsql ledger'"
            )

    def kill_backend(self) -> None:
        """One backend dies of kill -9: the server ends all others, and recovers from its log."""
        with self._owner() as owner:
            found = owner.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'dpsql ledger'").fetchall()
        for (pid,) in found[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def cut(self) -> None:
        self._relay.cut()

    def lose_answer(self) -> None:
        """The server does what it is told, and the client is cut off before it hears of it."""
        self._relay.next_message("answer lost")
        end = time.monotonic() + _PATIENCE
        while not self._relay.done and time.monotonic() < end:
            time.sleep(0.002)

    def restart(self) -> None:
        """The server dies of kill -9 with all its processes, as a machine that is switched off, and is started again."""
        leader = self._process.process_id
        others = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
        for pid in (leader, *map(int, others)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.close()
        self._process = self._start()
        self._relay.target = ("127.0.0.1", self._process.port)
        self.restarts += 1

    def _start(self) -> PostgresProcess:
        return PostgresProcess.start(self._home / "server", tcp=True, settings=DURABLE)

    @contextlib.contextmanager
    def _owner(self) -> Iterator[psycopg.Connection]:
        """A connection of the owner's, once the server answers: it may be recovering."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                connection = psycopg.connect(self._process.dsn(), autocommit=True)
                break
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        with connection:
            yield connection
