"""What operations promise, measured once on a server in this process: for a report, and for whoever is in a hurry.

``python -m tests.operations`` prints it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.attacks.canaries import canary_in
from tests.attacks.library import POLICY, duckdb_library
from tests.operations import lockdown
from tests.operations.conftest import LIMITS
from tests.operations.operated import Operated, eventually, operated
from tests.operations.test_audit import full_disk
from tests.operations.test_logs import LITERAL, stumble, tell_all
from tests.operations.test_overload import ALL, COUNT, PROMISE, ask, filling, held


@dataclass(frozen=True, slots=True)
class Figure:
    """One promise, and what was found."""

    name: str
    promise: str
    found: str
    holds: bool


def quiet(server: Operated) -> Figure:
    """Answers, refusals and failures with canaries in rows and literals: none is in the log."""
    with pytest.MonkeyPatch.context() as patch:
        tell_all(server)
        stumble(server, patch)
    lines = server.log()
    said = bytes(server.said)
    found = canary_in(said) is not None or LITERAL.lower().encode() in said.lower()
    return Figure(
        "rows and literals in the log", "none", f"{'some' if found else 'none'} in {len(lines)} lines", not found
    )


def crowded(server: Operated) -> Iterator[Figure]:
    """Forty statements more than may run: how long the slowest waits to be told, and what it costs.

    On a busy computer everything takes longer: what forty take that are refused for their text is not counted.
    """
    with ThreadPoolExecutor(40) as pool:
        refused = [pool.submit(ask, server, ("ana", "bob")[at % 2], "SELECT card FROM member") for at in range(40)]
        base = max(one.result(60)[1] for one in refused)
    with pytest.MonkeyPatch.context() as patch, held(server, patch) as standing, ThreadPoolExecutor(60) as pool:
        running = filling(server, pool, 900)
        eventually(lambda: len(standing.entered) == ALL)
        spent = server.proxy.ledger.spent()
        beyond = [pool.submit(ask, server, ("ana", "bob")[at % 2], f"{COUNT}{1000 + at}") for at in range(40)]
        told = [one.result(60) for one in beyond]
        free = server.proxy.ledger.spent() == spent
        standing.go.set()
        answered = [one.result(60)[0] for one in running]
    seconds = max(seconds for _, seconds, _ in told)
    right = all(state == "53300" for state, _, _ in told) and free
    found = f"{seconds:.2f} s, where 40 refusals for their text take {base:.2f} s"
    yield Figure(
        "overload is told", f"53300 within {PROMISE:g} s, uncharged", found, right and seconds < PROMISE + base
    )
    yield Figure(
        "what runs meanwhile", "is answered", f"{answered.count('00000')} of {ALL}", answered == ["00000"] * ALL
    )


def unwritten(server: Operated) -> Figure:
    """The audit's disk is full: nothing is answered, and only what is in flight is charged."""
    assert server.audit is not None
    before = server.proxy.ledger.extent()[1]
    with full_disk(server.audit):
        states = [ask_on(server, f"{COUNT}{1100 + at}") for at in range(3)]
    charged = server.proxy.ledger.extent()[1] - before
    return Figure(
        "no audit, no answer",
        "58030, uncharged",
        f"{states.count('58030')} of 3, {charged} charged",
        states == ["58030"] * 3 and not charged,
    )


def ask_on(server: Operated, sql: str) -> str:
    """The SQLSTATE of a login, or of the statement after it."""
    try:
        return ask(server, "ana", sql)[0]
    except Exception as problem:
        return "58030" if "audit log cannot be written" in str(problem) else str(problem)


def stopped(library: Path) -> Figure:
    """A stopped server with nobody under way."""
    with operated(library) as server, server.connect():
        started = time.monotonic()
        server.server.stop()
        eventually(lambda: server.server.connections == (0, 0))
        seconds = time.monotonic() - started
    return Figure("an idle server stops", "within 5 s", f"{seconds:.2f} s", seconds < 5)


def locked() -> Figure:
    found = lockdown.findings()
    broken = [f"{one.where}: {one.promise}: {one.seen}" for one in found if not one.holds]
    told = "; ".join([f"{len(found) - len(broken)} of {len(found)}", *broken])
    return Figure("databases are locked", "every attempt fails", told, not broken)


def figures() -> list[Figure]:
    """All of them; takes about a minute."""
    with tempfile.TemporaryDirectory() as folder:
        library = duckdb_library(Path(folder) / "library", with_person=True, policy=POLICY + LIMITS).policy
        with operated(library) as server:
            found = [quiet(server), *crowded(server), unwritten(server)]
        return [*found, stopped(library), locked()]


def findings(found: Sequence[Figure]) -> str:
    """As JSON, for a report of everything."""
    said = [{"figure": f"{one.name}: {one.found}", "promise": one.promise, "passed": one.holds} for one in found]
    return json.dumps(said, ensure_ascii=False, indent=1)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.operations", description="What operations promise, measured."
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found here, too")
    parser.add_argument("--quick", action="store_true", help="the same: it takes a minute")
    options = parser.parse_args(arguments)
    found = figures()
    print("| figure | promise | found |\n|---|---|---|")
    for one in found:
        print(f"| {one.name} | {one.promise} | {one.found}{'' if one.holds else ' **FAILS**'} |")
    if options.json:
        options.json.write_text(findings(found))
    return 0 if all(one.holds for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
