"""``dpsql serve`` as a process of its own over a fresh copy of the clinic."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpsql.interfaces.commands import demo_clinic as clinic

USER = "ana"


@dataclass(frozen=True, slots=True)
class Served:
    """Where it listens on loopback, and who may ask without a password."""

    port: int
    host: str = "127.0.0.1"
    user: str = USER
    database: str = "clinic"

    @property
    def dsn(self) -> str:
        return f"host={self.host} port={self.port} user={self.user} dbname={self.database}"

    @property
    def url(self) -> str:
        return f"postgresql://{self.user}@{self.host}:{self.port}/{self.database}"

    @property
    def environment(self) -> dict[str, str]:
        """What libpq looks at."""
        return {
            "PGHOST": self.host, "PGPORT": str(self.port), "PGUSER": self.user, "PGDATABASE": self.database,
            "PSQLRC": "/dev/null", "PAGER": "cat", "LC_ALL": "C.UTF-8",
        }  # fmt: skip


@contextmanager
def served(built: Path, folder: Path, epsilon: str = "100000", each: str = "1") -> Iterator[Served]:
    """The clinic that was built in ``built``, copied to ``folder``, with a budget for as much as tests ask.

    A statement costs ``each``: at the demo's price the rows of a single day would not show that the day is there.
    """
    shutil.copy(built / clinic.DATABASE, folder)
    policy = (built / clinic.POLICY).read_text().replace("epsilon: 10,", f"epsilon: {epsilon},")
    policy = policy.replace("statement: {epsilon: 0.25,", f"statement: {{epsilon: {each},")
    (folder / clinic.POLICY).write_text(policy)
    command = [sys.executable, "-m", "dpsql", "serve", str(folder / clinic.POLICY), "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = server.stderr.readline() if server.stderr is not None else ""
        found = re.search(r"port (\d+)", line)
        if found is None:
            raise RuntimeError(f"dpsql serve did not start: {line}")
        yield Served(int(found[1]))
    finally:
        server.terminate()
        server.wait(30)
