"""``dpsql serve`` as a process of its own, and what can be seen of it from outside: its memory, its words, its ledger."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dpsql.interfaces.commands import demo_clinic as clinic

_PATIENCE = 60.0


def seconds_of(process: subprocess.Popen[bytes]) -> float:
    """Seconds that a process kept the computer busy, up to now."""
    times = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    """One that is running. ``stderr`` holds all that it ever said."""

    process: subprocess.Popen[bytes]
    policy: Path
    stderr: Path
    port: int

    @property
    def lives(self) -> bool:
        return self.process.poll() is None

    def memory(self) -> int:
        """Bytes of the process itself that are in memory now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE)
        return int(found[1]) * 1024 if found else 0

    def busy(self) -> float:
        """Seconds of computing up to now."""
        return seconds_of(self.process)

    def connections(self) -> int:
        """How many are open on its port."""
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        return sum(line.split()[1].endswith(f":{self.port:04X}") and line.split()[3] == "01" for line in lines)

    def ledger(self) -> str:
        """A digest of every row of the ledger, which no charge leaves as it was."""
        path = self.policy.parent / clinic.LEDGER
        digest = hashlib.sha256()
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
            for (name,) in names:
                for row in connection.execute(f"SELECT * FROM {name}"):
                    digest.update(repr((name, row)).encode())
        return digest.hexdigest()


@contextmanager
def serving(policy: Path) -> Iterator[Server]:
    stderr = policy.parent / "stderr.log"
    with started(policy, stderr) as (process, port):
        yield Server(process, policy, stderr, port)


@contextmanager
def started(policy: Path, stderr: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process that serves a policy, and its port; it ends with the block."""
    command = [sys.executable, "-m", "dpsql", "serve", str(policy), "--port", "0"]
    with stderr.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        yield process, _port(process, stderr)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()


def _port(process: subprocess.Popen[bytes], said: Path) -> int:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"port (\d+)", said.read_text()):
            return int(found[1])
        time.sleep(0.05)
    raise RuntimeError(f"dpsql serve did not start: {said.read_text()}")
