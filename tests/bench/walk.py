"""How long a new machine takes to its first chart: ``python -m tests.bench walk [--keep FOLDER]``.

It clones this repository as it was committed last, makes a virtual environment, and does what README.md and the guide
say, with a CSV file of visits that it makes: `pip install .`, `dpsql demo`, `init`, the decisions, `check`, `explain`,
`query --plot`, and the same over the wire where there is a ``psql``. The clock stands beside each step. A step that
fails ends the walk with its output, and so does an answer far beyond its error bars. No network but PyPI's is used.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
PEOPLE = 3_000
BRANCHES = ("north", "south", "river", "station")
DECISIONS = {
    r"# max_rows: \?": "max_rows: 12",
    r"day: \{\}.*": "day: {type: date, range: [2025-01-01, 2025-12-31]}",
    r"branch: \{\}.*": f"branch: {{values: [{', '.join(BRANCHES)}]}}",
    r"minutes: \{\}.*": "minutes: {type: double, range: [0, 240]}",
}
"""What an owner decides of the first policy: the line that asks, and the line that answers."""
QUESTION = "SELECT branch, COUNT(*) AS visits FROM visits GROUP BY branch ORDER BY branch"
PATIENCE = 60.0
"""Seconds that a server may take to start, and to end."""
FARTHEST = 3.0
"""In error bars of 95 %: an answer so far from the truth comes once in hundreds of millions of walks."""


class Stopped(Exception):
    """A step of the walk that failed, with what it printed."""


@dataclass
class Clock:
    """Runs commands, and prints when each ended and how long it took."""

    begun: float = field(default_factory=time.monotonic)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        yield
        now = time.monotonic()
        minutes, seconds = divmod(now - self.begun, 60)
        print(f"{minutes:2.0f}:{seconds:04.1f}  {now - start:6.1f} s  {name}", flush=True)

    def run(self, name: str, *command: str | Path, cwd: Path) -> str:
        """What a command prints to stdout. Raises :class:`Stopped` unless it ends with 0."""
        with self.step(name):
            done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Stopped(f"{name}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def installed(clock: Clock, folder: Path) -> Path:
    """The folder of programs of a new environment with a new clone's dpsql."""
    clone, environment = folder / "dpsql", folder / "environment"
    clock.run("git clone", "git", "clone", "-q", REPOSITORY, clone, cwd=folder)
    clock.run("python -m venv", sys.executable, "-m", "venv", environment, cwd=folder)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    clock.run("pip install .", programs / "python", "-m", "pip", "install", "-q", ".", cwd=clone)
    return programs


def write_visits(path: Path) -> dict[str, int]:
    """A CSV file of a library's visits, several of each person; returns the true number of each branch."""
    drawn, counts = random.Random(7), dict.fromkeys(BRANCHES, 0)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["person_id", "day", "branch", "minutes"])
        for person in range(PEOPLE):
            for _ in range(drawn.randint(1, 12)):
                branch = drawn.choices(BRANCHES, (4, 3, 2, 1))[0]
                day = date(2025, 1, 1) + timedelta(days=drawn.randrange(365))
                rows.writerow([person, day, branch, drawn.randrange(5, 180)])
                counts[branch] += 1
    return counts


def decided(text: str) -> str:
    """The first policy with the owner's decisions. Raises :class:`Stopped` where init asks for something else."""
    for asks, answers in DECISIONS.items():
        text, found = re.subn(rf"(?m)^(\s*){asks}$", rf"\g<1>{answers}", text)
        if found != 1:
            raise Stopped(f"the first policy asks {found} times for {asks}:\n{text}")
    return text


def first_chart(clock: Clock, dpsql: Path, folder: Path) -> str:
    """From a CSV file to a chart with error bars, which is returned, by the commands of the guide."""
    (folder / "library").mkdir()
    with clock.step("write library/visits.csv"):
        truth = write_visits(folder / "library" / "visits.csv")
    asked = ("library", "--unit", "visits.person_id", "--yes", "--output", "library.yaml")
    clock.run("dpsql init library", dpsql, "init", *asked, cwd=folder)
    policy = folder / "library.yaml"
    policy.write_text(decided(policy.read_text()))
    clock.run("dpsql check", dpsql, "check", policy, cwd=folder)
    clock.run("dpsql explain", dpsql, "explain", policy, QUESTION, cwd=folder)
    chart = clock.run("dpsql query --plot: a chart", dpsql, "query", "--plot", policy, QUESTION, cwd=folder)
    again = clock.run("the same again, free", dpsql, "query", "--format", "json", policy, QUESTION, cwd=folder)
    answer = json.loads(again)
    if answer["paid"]["epsilon"]:
        raise Stopped(f"the same question was paid for twice: {answer['paid']}")
    near(answer["rows"], answer["margins"], truth)
    return chart


def near(rows: Sequence[Sequence[Any]], margins: Sequence[Sequence[Any]], truth: dict[str, int]) -> None:
    """Raises :class:`Stopped` unless each number is as near to the truth as its error bars make certain."""
    found = {branch: (number, bar) for (branch, number), (_, bar) in zip(rows, margins, strict=True)}
    if lacking := truth.keys() - found.keys():  # NULL, which nobody has, is shown where its noise is high.
        raise Stopped(f"groups that are lacking: {sorted(lacking)}")
    for branch, (number, bar) in found.items():
        if abs(number - truth.get(branch, 0)) > FARTHEST * bar:
            raise Stopped(f"{branch}: {number} ± {bar}, and in truth {truth.get(branch, 0)}")


def over_the_wire(clock: Clock, dpsql: Path, folder: Path) -> None:
    """The same question from psql, of a server that ends with the step."""
    psql = shutil.which("psql")
    if psql is None:
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    log = folder / "serve.log"
    with log.open("w") as out:
        command = [dpsql, "serve", "library.yaml", "--port", port]
        server = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)
    try:
        with clock.step("dpsql serve"):
            words = _said(log, "  psql ", server)
        clock.run("psql", *words.split(), "-c", QUESTION, cwd=folder)
    finally:
        server.terminate()
        server.wait(PATIENCE)


def _said(log: Path, begins: str, server: subprocess.Popen[bytes]) -> str:
    """The first line of a server's log that begins so. Raises :class:`Stopped` where it does not come in time."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        for line in log.read_text().splitlines():
            if line.startswith(begins):
                return line
        time.sleep(0.05)
    raise Stopped(f"dpsql serve did not start: {log.read_text()}")


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench walk", description=__doc__)
    options.add_argument("--keep", type=Path, metavar="FOLDER", help="walk in this new folder, and leave it there")
    kept: Path | None = options.parse_args(arguments).keep
    with tempfile.TemporaryDirectory() as scratch:
        folder = (kept or Path(scratch) / "walk").resolve()
        folder.mkdir(parents=True)
        clock = Clock()
        try:
            dpsql = installed(clock, folder) / "dpsql"
            clock.run("dpsql demo", dpsql, "demo", cwd=folder)
            chart = first_chart(clock, dpsql, folder)
            over_the_wire(clock, dpsql, folder)
        except Stopped as problem:
            sys.exit(str(problem))
        print(f"{(time.monotonic() - clock.begun) / 60:.1f} minutes from the clone to this:\n\n{chart}")
