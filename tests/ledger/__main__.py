"""``python -m tests.ledger``: crashes of every kind, and what a reader that knows nothing of dpsql finds after each.

``--quick`` is a sample of the same. Time is measured as a rate, and as what one charge takes of a core.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dpsql.ledger.ledger import Ledger
from tests.bench.ledger import CLIENTS, TOTAL, Measured, charging, flushing, postgres
from tests.ledger.killing import strike
from tests.ledger.postgres_site import Site
from tests.ledger.tearing import Torn, tear_the_file, tear_the_log

REST = (
    "tests/ledger/test_crashes.py",
    "tests/ledger/test_disks.py",
    "tests/ledger/test_postgres_ledger.py",
    "tests/ledger/test_ledger.py",
)
RATE, POSTGRES_RATE = 3_000, 1_000
"""Charges per second that are promised of a machine with nothing else to do."""
FLUSHES = 3
"""Charges to a flush of this disk, in the same seconds: what is promised of a busy machine instead."""
WAIT, MEDIANS = 250, 10
"""The longest wait: milliseconds, or so many times the median of a busy machine."""
WORK = 200
"""Microseconds of a core for a charge, however busy the machine is."""
UNDER_WAY = 32
ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Promise:
    figure: str
    promise: str
    passed: bool
    detail: str = ""


def killed(folder: Path, kills: int) -> Promise:
    done = strike(_files(folder), folder, clients=8, kills=kills)
    return Promise(
        str(done),
        "SQLite, 8 clients: after every kill -9 released ⊆ charged, Σ ≤ limit at every prefix, no id twice",
        not done.wrong and done.kills >= kills,
        "; ".join(done.wrong),
    )


def struck(folder: Path, kills: int) -> Promise:
    site = Site()
    try:
        done = strike(site.url, folder, clients=8, kills=kills, others=site.strikes)
    finally:
        site.close()
    return Promise(
        str(done),
        "PostgreSQL, 8 clients: the same after restarts, ended backends, cut connections and lost answers",
        not done.wrong and done.kills >= kills,
        "; ".join(done.wrong),
    )


def torn(folder: Path, name: str, tear: Callable[[Path, int], Torn], step: int, promise: str) -> Promise:
    done = tear(folder, step)
    return Promise(f"{name}: {done}", promise, not done.wrong, "; ".join(done.wrong[:3]))


@dataclass(frozen=True, slots=True)
class Speed:
    """Charges for some time, and the flushes of a second that the disk did just before."""

    charged: Measured
    flushes: float
    rate: int

    @property
    def holds(self) -> bool:
        done = self.charged
        return (
            (done.rate >= self.rate or done.rate >= FLUSHES * self.flushes)
            and done.longest <= max(WAIT, MEDIANS * done.median)
            and (done.work or 0) <= WORK
        )

    @property
    def promise(self) -> Promise:
        done = self.charged
        return Promise(
            f"{done.name}: {done.rate:,.0f} charges/s where the disk does {self.flushes:,.0f} flushes/s, median and longest"
            f" wait {done.median:.0f} and {done.longest:.0f} ms, {done.work:.0f} µs of a core each",
            f"{self.rate:,}/s with {CLIENTS} clients, or {FLUSHES} to a flush; no wait above {WAIT} ms, or {MEDIANS} medians;"
            f" at most {WORK} µs of a core",
            self.holds,
        )


def fast(folder: Path, seconds: float) -> Iterator[Promise]:
    """Why beside flushes: what else runs on a machine takes of its disk and its cores, and says nothing of a ledger."""
    with postgres() as url:
        for name, place, rate in (("SQLite", str(folder / "ledger"), RATE), ("PostgreSQL", url, POSTGRES_RATE)):
            rounds: list[Speed] = []
            with Ledger.open(place, TOTAL) as ledger:
                for _ in range(ROUNDS):
                    flushes = flushing(folder, seconds / ROUNDS / 4).rate
                    charged = charging(name, ledger, CLIENTS, UNDER_WAY, seconds / ROUNDS)
                    rounds.append(Speed(charged, flushes, rate))
            yield max(rounds, key=lambda one: (one.holds, one.charged.rate)).promise


def tested(root: Path) -> Promise:
    """Disks that are full or broken, clocks that jump, proxies that share a budget: as tests of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "--tb=line", *REST], cwd=root, capture_output=True, text=True
    )
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "nothing"
    return Promise(
        f"ledger tests: {last}",
        "a full or failing disk stops the ledger, clocks change nothing, processes share one budget",
        done.returncode == 0,
        "" if done.returncode == 0 else done.stdout[-1500:],
    )


def _files(folder: Path) -> Callable[[], Path]:
    return (folder / f"{number}.ledger" for number in itertools.count()).__next__


def campaigns(folder: Path, quick: bool) -> Iterator[Promise]:
    def room() -> Path:
        return Path(tempfile.mkdtemp(dir=folder))

    memory = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))  # noqa: S108
    try:
        yield killed(room(), 25 if quick else 500)
        whole = "a log torn at every byte of its last 4 KiB keeps what was released"
        for name in ("log", "file"):
            (memory / name).mkdir()
        yield torn(memory / "log", "log", tear_the_log, 149 if quick else 1, whole)
        whole = "a file torn at every byte of its last 4 KiB, and at others, is whole or refused"
        yield torn(memory / "file", "file", tear_the_file, 499 if quick else 1, whole)
    finally:
        shutil.rmtree(memory)
    yield struck(room(), 20 if quick else 100)
    yield tested(Path(__file__).parents[2])
    yield from fast(room(), 6 if quick else 12)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description="Crashes of every kind.")
    parser.add_argument("--quick", action="store_true", help="a sample")
    parser.add_argument("--folder", type=Path, help="on the disk to charge on; default is where temporary files are")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found here")
    options = parser.parse_args()
    table = Table("", "figure", "promise", box=None)
    found: list[Promise] = []
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="dpsql-ledger-") as folder:
        for one in campaigns(Path(folder), options.quick):
            found.append(one)
            table.add_row("pass" if one.passed else "FAIL", one.figure, one.promise)
            print(f"{'pass' if one.passed else 'FAIL'}  {one.figure}  {one.detail}", file=sys.stderr, flush=True)
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], ensure_ascii=False, indent=1))
    return not all(one.passed for one in found)


if __name__ == "__main__":
    sys.exit(main())
