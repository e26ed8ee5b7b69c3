"""``python -m tests.mutation``: plants every bug, one at a time, and says which test has found it. All have to die."""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.mutation.bug import Bug
from tests.mutation.bugs import AREAS
from tests.mutation.planting import Copy, Verdict

QUICK = 5
"""With --quick, one bug in so many."""
_WORLDS = 90
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class Found:
    area: str
    name: str
    file: str
    verdict: Verdict


def plant_all(
    jobs: int,
    folder: Path,
    every: int,
    say: Callable[[Found], None],
    *,
    check: bool,
    named: str = "",
    areas: Sequence[str] = tuple(AREAS),
) -> list[str]:
    """Try the bugs in copies of the source; what the honest source fails, which would make the rest worthless."""
    work: queue.SimpleQueue[tuple[str, Bug]] = queue.SimpleQueue()
    every_bug = [(area, bug) for area in areas for bug in AREAS[area]]
    chosen = [(area, bug) for area, bug in every_bug if named in f"{bug.name} {bug.place}"][::every]
    tried: list[Found] = []
    for one in chosen:
        work.put(one)
    tests = sorted({test for _, bug in chosen for test in bug.tests})
    failed: list[str] = []
    lock = threading.Lock()

    def worker(number: int) -> None:
        copy = Copy(folder / str(number))
        if check and (wrong := copy.honest(tests[number::jobs])):
            failed.append(wrong)
        with contextlib.suppress(queue.Empty):
            while not failed:
                area, bug = work.get_nowait()
                found = Found(area, bug.name, bug.file, copy.try_bug(bug))
                with lock:
                    tried.append(found)
                    say(found)

    threads = [threading.Thread(target=worker, args=(number,)) for number in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A worker that ended by an error of its own leaves the rest untried.
    if not failed and len(tried) < len(chosen):
        failed.append(f"only {len(tried)} of {len(chosen)} bugs were tried")
    return failed


def hunt_all(jobs: int, every: int) -> Iterator[Found]:
    """The bugs that the neighbour test alone has to find, each in a process of its own."""
    from tests.properties.mutants import PLANTS

    with _FORK.Pool(jobs, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(_hunted, list(PLANTS)[::every])


def _hunted(name: str) -> Found:
    from tests.properties.mutants import PLANTS, SEEN
    from tests.properties.test_mutants import hunt

    started = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        PLANTS[name](patch)
        tally = hunt(_WORLDS, SEEN.get(name, 0))
    passed = time.monotonic() - started
    if not tally.leaks:
        return Found("rewriter", name, "rewriter", Verdict(None, passed, "no person moves anything too far"))
    leak = tally.leaks[0]
    return Found(
        "rewriter", name, "rewriter", Verdict("the neighbour test", passed, f"seed {leak.seed}: {leak.reason}")
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description="Planted bugs, all of which must die."
    )
    parser.add_argument("--jobs", type=int, default=2, help="bugs at a time (%(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"one bug in {QUICK}")
    parser.add_argument("--part", choices=("hunted", "planted", "all"), default="all", help="(%(default)s)")
    parser.add_argument(
        "--named", default="", metavar="TEXT", help="only planted bugs with this in their name or place"
    )
    parser.add_argument("--areas", choices=tuple(AREAS), nargs="+", default=tuple(AREAS), metavar="AREA")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests on the honest source before")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found here")
    options = parser.parse_args()
    every = QUICK if options.quick else 1
    console = Console()
    found: list[Found] = []

    def say(one: Found) -> None:
        found.append(one)
        fate = (
            escape(one.verdict.found_by) if one.verdict.found_by else f"[bold red]LIVES[/]: {escape(one.verdict.why)}"
        )
        console.print(
            f"{one.verdict.seconds:5.0f} s  {one.area:10}  {escape(one.name)}: {fate}", highlight=False, soft_wrap=True
        )

    started = time.monotonic()
    # Forks first, while there are no threads.
    for one in hunt_all(options.jobs, every) if options.part != "planted" and not options.named else ():
        say(one)
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="dpsql-mutation-") as folder:
        if options.part != "hunted":
            which = {"named": options.named, "areas": options.areas}
            failed = plant_all(options.jobs, Path(folder), every, say, check=not options.unchecked, **which)
    for text in failed:
        console.print(f"the honest source fails:\n{text}", markup=False)
    alive = [one for one in found if one.verdict.found_by is None]
    console.print(_table(found))
    console.print(f"{len(found) - len(alive)} of {len(found)} planted bugs died, in {time.monotonic() - started:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(_promises(found, failed), ensure_ascii=False, indent=1))
    return bool(alive or failed)


def _table(found: Sequence[Found]) -> Table:
    table = Table("", "planted", "died", "mean seconds", box=None)
    for area in AREAS:
        own = [one for one in found if one.area == area]
        died = sum(one.verdict.found_by is not None for one in own)
        mean = sum(one.verdict.seconds for one in own) / max(len(own), 1)
        table.add_row(area, str(len(own)), str(died), f"{mean:.1f}")
    return table


def _promises(found: Sequence[Found], failed: Sequence[str]) -> list[dict[str, object]]:
    promises = []
    for area in AREAS:
        own = [one for one in found if one.area == area]
        alive = [one.name for one in own if one.verdict.found_by is None]
        promises.append(
            {
                "figure": f"{len(own) - len(alive)} of {len(own)} bugs planted in {area} died",
                "promise": "every planted bug is found by a named test",
                "passed": bool(own) and not alive and not failed,
                "detail": "; ".join([*alive, *failed]),
            }
        )
    return promises


if __name__ == "__main__":
    sys.exit(main())
