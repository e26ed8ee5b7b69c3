"""``dpsql serve`` with two workers, in processes of their own, over the attack suite's library."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
from prometheus_client.parser import text_string_to_metric_families

from tests.operations.operated import PATIENCE, eventually


@dataclass(slots=True)
class Several:
    """A running server; ``gate`` is where :mod:`tests.operations.slowed` looks."""

    process: subprocess.Popen[bytes]
    log: Path
    gate: Path
    ledger: Path
    port: int
    metrics_port: int

    def connect(self, user: str = "ana", **more: Any) -> psycopg.Connection[Any]:
        given = f"host=127.0.0.1 port={self.port} user={user} dbname=library sslmode=disable"
        return psycopg.connect(given, autocommit=True, **more)

    def page(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}{path}", timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def figure(self, name: str, **labels: str) -> float:
        """One number of /metrics; 0 where it was never counted."""
        for family in text_string_to_metric_families(self.page("/metrics")[1]):
            for sample in family.samples:
                if sample.name == name and labels.items() <= sample.labels.items():
                    return float(sample.value)
        return 0.0

    def charges(self) -> list[tuple[str, Fraction]]:
        """Who paid how much, in their order, as rho or as epsilon: read from the file, by nothing of ours."""
        connection = sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True)
        try:
            rows = connection.execute("SELECT analyst, epsilon, rho FROM charge ORDER BY number").fetchall()
        finally:
            connection.close()
        return [(analyst, Fraction(epsilon) + Fraction(rho)) for analyst, epsilon, rho in rows]

    def entered(self) -> list[int]:
        """The processes that began to compute a release, one for each."""
        return [int(path.name.split()[0]) for path in self.gate.iterdir() if path.name != "closed"]

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Releases that begin within stand still."""
        for path in self.gate.iterdir():
            path.unlink()
        (self.gate / "closed").touch()
        try:
            yield
        finally:
            (self.gate / "closed").unlink(missing_ok=True)

    @contextmanager
    def uncharged(self) -> Iterator[None]:
        """Nobody can write to the ledger."""
        lock = os.open(f"{self.ledger}-lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def family(self) -> list[int]:
        """The processes that the server forked, and that those forked."""
        parents = {int(path.name): parent(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
        children = [one for one, above in parents.items() if above == self.process.pid]
        return [*children, *(one for one, above in parents.items() if above in children)]

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE)


@contextmanager
def several(policy: Path, workers: int = 2) -> Iterator[Several]:
    """Serve a policy; what is left of the server at the end is killed."""
    gate, log = policy.parent / "gate", policy.parent / "log"
    gate.mkdir()
    options = ["--port", "0", "--metrics-port", "0", "--log-format", "json", "--workers", str(workers)]
    command = [sys.executable, "-m", "tests.operations.slowed", "serve", str(policy), *options]
    with log.open("wb") as said:
        process = subprocess.Popen(command, stderr=said, env={**os.environ, "DPSQL_GATE": str(gate)})
    try:
        eventually(lambda: b'"listening"' in log.read_bytes() or process.poll() is not None)
        found = re.search(r'\{[^\n]*"listening"[^\n]*', log.read_text())
        assert found, log.read_text()
        line = json.loads(found[0])
        ledger = policy.parent / re.search(r"ledger: sqlite:(.*)", policy.read_text())[1]  # type: ignore[index]
        yield Several(process, log, gate, ledger, line["port"], line["metrics_port"])
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def status(process: int) -> list[str]:
    """What the system says of a process, from its state on; nothing where there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def parent(process: int) -> int:
    found = status(process)
    return int(found[1]) if found else 0


def lives(process: int) -> bool:
    """Whether a process runs; one that has ended and was not yet buried does not."""
    return status(process)[:1] not in ([], ["Z"])


def gone(processes: list[int], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while any(map(lives, processes)):
        assert time.monotonic() < end, f"some of {processes} go on"
        time.sleep(0.01)
