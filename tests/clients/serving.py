"""`dpsql serve` as a process of its own, on a free port of loopback."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

LISTENING = re.compile(r"dpsql serves .* on (\S+) port (\d+)")


@contextmanager
def serving(policy: Path, environment: Mapping[str, str] | None = None) -> Iterator[int]:
    """The port of a server for the policy; it is told to end, and must end well."""
    command = [sys.executable, "-m", "dpsql", "serve", str(policy), "--port", "0"]
    log = policy.parent / "serve.log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, stderr=out, env=environment)
    try:
        yield listening(server, log)
    finally:
        server.terminate()
        assert server.wait(30) == 0


def listening(server: subprocess.Popen[bytes], log: Path, patience: float = 60) -> int:
    """The port that a server says it listens on."""
    import time

    end = time.monotonic() + patience
    while time.monotonic() < end and server.poll() is None:
        said = LISTENING.search(log.read_text(errors="replace"))
        if said:
            return int(said[2])
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")
