"""The product, served as an owner serves it: ``dpsql serve POLICY`` in a process of its own, on loopback."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import psycopg

from dpsql.accounting import ORDERS
from dpsql.audit.lower_bounds import ChargedLoss

_PATIENCE = 900.0
PORT = r"port (\d+)\n"
DPSQL = (sys.executable, "-m", "dpsql")
"""The command line of this installation."""


@dataclass(frozen=True, slots=True)
class Served:
    """A port that answers, and the ledger that it charges."""

    port: int
    ledger: Path

    def connect(self, user: str = "ana", options: str = "") -> psycopg.Connection:
        connection = psycopg.connect(f"host=127.0.0.1 port={self.port} user={user}", autocommit=True)
        connection.execute("SET dpsql.notices = off")
        return connection

    def spent(self) -> ChargedLoss:
        """All that was ever charged, exactly."""
        with sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True) as connection:
            rows = connection.execute("SELECT epsilon, rho, delta, curve FROM total WHERE analyst = ''").fetchall()
        if not rows:
            return ChargedLoss()
        epsilon, rho, delta, curve = rows[0]
        # Noise costs a line: what of it is below a line of ρ is within what ρ claims.
        lines = (Fraction(part) / order for part, order in zip(curve.split(), ORDERS, strict=False))
        return ChargedLoss(Fraction(epsilon), max([Fraction(rho), *lines]), Fraction(delta))


@contextmanager
def serving(policy: Path, program: Sequence[str] = DPSQL, more: Sequence[str] = ()) -> Iterator[Served]:
    """``dpsql serve`` of a policy, until the block ends. ``program`` is what stands before ``serve``."""
    with serving_all([policy], program, more) as (served,):
        yield served


@contextmanager
def serving_all(
    policies: Sequence[Path], program: Sequence[str] = DPSQL, more: Sequence[str] = ()
) -> Iterator[list[Served]]:
    """A server of each policy, until the block ends. They start side by side."""
    with ExitStack() as stack:
        processes = [
            stack.enter_context(running([*program, "serve", str(policy), "--port", "0", *more], policy.parent))
            for policy in policies
        ]
        yield [
            Served(listening(process, policy.parent / "said.log"), policy.parent / "spent.ledger")
            for process, policy in zip(processes, policies, strict=True)
        ]


@contextmanager
def running(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose output is in ``said.log``; it is ended with the block."""
    with (folder / "said.log").open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said)  # noqa: S603
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.wait()


def listening(process: subprocess.Popen[bytes], said: Path, known: int = 0) -> int:
    """The port, as soon as the process names one more than the ``known`` ones."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        if len(found := re.findall(PORT, said.read_text())) > known:
            return int(found[-1])
        time.sleep(0.05)
    raise RuntimeError(f"no server: {said.read_text()[-2000:]}")
