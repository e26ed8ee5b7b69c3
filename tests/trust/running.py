"""Parts in lanes, one after the other in each: what they found, or why nothing was found."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.trust.parts import FIGURES, ROOT, Part

PATIENCE = 2.0
"""A part may take so many times what it should: machines differ."""
_GRACE = 10.0
_SESSIONS: set[int] = set()
_SUMMARY = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+ in [\d.]+s.*?)(?: =+)?$")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table."""

    part: str
    figure: str
    promise: str
    passed: bool
    seconds: float = 0.0


def run_all(parts: Sequence[Part], quick: bool, folder: Path, done: Callable[[list[Finding]], None]) -> None:
    """Run parts of one lane two at a time, and then those that take both."""
    waiting = [part for part in parts if part.lanes == 1]
    lock = threading.Lock()

    def lane() -> None:
        while True:
            with lock:
                if not waiting:
                    return
                part = waiting.pop(0)
            found = run(part, quick, folder)
            with lock:
                done(found)

    lanes = [threading.Thread(target=lane) for _ in range(2)]
    for one in lanes:
        one.start()
    for one in lanes:
        one.join()
    for part in parts:
        if part.lanes > 1:
            done(run(part, quick, folder))


def run(part: Part, quick: bool, folder: Path) -> list[Finding]:
    """What a part found. What is missing, breaks, hangs or says nothing has failed."""
    if absent := part.missing():
        return [Finding(part.name, absent, "the part can be run", passed=False)]
    name = part.name.replace(" ", "-")
    report, log = folder / f"{name}.json", folder / f"{name}.log"
    # Bytes of an earlier run are nobody's finding.
    report.unlink(missing_ok=True)
    limit = 60 * part.minutes * PATIENCE
    started = time.monotonic()
    code = _run(part.command(quick, report), {FIGURES: str(report)}, log, limit)
    seconds = time.monotonic() - started
    found = _read(part, report)
    if code is None:
        found.append(Finding(part.name, f"still running after {limit:.0f} s", "it ends in time", passed=False))
    elif not part.module:
        found.append(Finding(part.name, _summary(log), "its tests pass", passed=code == 0))
    elif not found:
        found.append(Finding(part.name, f"ended with {code} and said nothing", "it says what it found", passed=False))
    elif code and all(one.passed for one in found):
        found.append(Finding(part.name, f"ended with {code}", "it ends well", passed=False))
    return [Finding(part.name, one.figure, one.promise, one.passed, seconds) for one in found]


def _run(command: Sequence[str], environment: dict[str, str], log: Path, limit: float) -> int | None:
    """The exit code; None where it had to be ended. It is a session of its own, and ends with all that it started."""
    with log.open("wb") as out:
        running = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        _SESSIONS.add(running.pid)
        try:
            return running.wait(limit)
        except subprocess.TimeoutExpired:
            running.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(_GRACE)
            return None
        finally:
            _end(running.pid)
            _SESSIONS.discard(running.pid)
            running.wait()


def end_all(*_: object) -> None:
    """Leave nothing behind: for whoever ends the programme before it is done."""
    for session in list(_SESSIONS):
        _end(session)
    os._exit(1)


def _end(session: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)


def _read(part: Part, report: Path) -> list[Finding]:
    """The findings in a file; one that is broken has none, and says so."""
    if not report.exists() or not report.stat().st_size:
        return []
    try:
        said = json.loads(report.read_text())
        return [Finding(part.name, str(one["figure"]), str(one["promise"]), one["passed"] is True) for one in said]
    except (ValueError, LookupError, TypeError) as cause:
        return [Finding(part.name, f"{type(cause).__name__} in its findings", "it says what it found", passed=False)]


def _summary(log: Path) -> str:
    """pytest's last word."""
    lines = log.read_text(errors="replace").splitlines()
    found = [match[1] for line in lines if (match := _SUMMARY.match(line.strip()))]
    return found[-1] if found else (lines[-1][:100] if lines else "nothing was said")
