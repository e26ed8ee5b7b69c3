"""The programme: scenarios, planted bugs and marks, in a few servers at a time, and one table of what came out.

Confidence: all bounds of a run hold together with a probability of 99.9 %, since each has the 1/S part of the error,
where S is how many scenarios and bugs there are. So a product that keeps its promise fails a whole run once in 1,000 runs.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import psycopg

from dpsql.audit.audited_server import Served, serving
from dpsql.audit.lower_bounds import ChargedLoss
from dpsql.audit.telling_events import choose
from tests.audit import marks
from tests.audit.open_tables import declared
from tests.audit.planted import BUGS, Planted, planting
from tests.audit.policies import LEDGERS
from tests.audit.profile_purchases import PROFILES, ProfilePurchase
from tests.audit.report import show, tell
from tests.audit.scenario import Asked, Scenario, ask
from tests.audit.scenarios import SCENARIOS
from tests.audit.shapes import shapes
from tests.audit.surroundings import CHANGING, Surroundings, on_its_clock
from tests.audit.workload_purchases import WORKLOADS, WorkloadPurchase
from tests.audit.worlds import CELLS, Worlds, write_duckdb, write_postgres

ERROR = 0.001
SAMPLES = 8000
QUICK = 3000
CHOSEN_ON = 0.3
UNSEEN = RuntimeError, OSError, psycopg.Error
"""Raised where there is no server, or it opened too late, or does not answer."""
OF_PURCHASES = 5
"""A purchase of a profile reads a table for each sample: so many times fewer are made."""
Purchase = ProfilePurchase | WorkloadPurchase
PURCHASES: tuple[Purchase, ...] = (*PROFILES, *WORKLOADS)


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the table. ``passed``: the bound is not above the claim; of a planted bug, that it was seen."""

    name: str
    kind: str
    claim: str
    claimed: float
    delta: float
    bound: float
    samples: int
    passed: bool
    seconds: float
    what: str = ""


def audited(scenario: Scenario, served: Served, worlds: Worlds, samples: int, error: float) -> Result:
    """The bound that one scenario shows, beside what the ledger was charged."""
    start = time.perf_counter()
    return judged(scenario.name, ask(scenario, served, worlds, -(-samples // CELLS)), error, start)


def judged(name: str, asked: Asked, error: float, start: float) -> Result:
    """The bound that samples show, of an event that was chosen on a part of them and is tested on the others."""
    size = len(asked.samples)
    order = np.array(random.SystemRandom().sample(range(size), size))
    train, test = order[: int(CHOSEN_ON * size)], order[int(CHOSEN_ON * size) :]
    event = choose(asked.samples[train], asked.claim)
    bound = event.bound(asked.samples[test], error)
    what = str(event) if asked.alike else "worlds are charged differently"
    passed = bound <= event.at[0] and asked.alike and asked.claim != ChargedLoss()
    return Result(name, "scenario", str(asked.claim), *event.at, bound, size, passed, time.perf_counter() - start, what)


def marked(name: str, check: Callable[[], Iterator[str]]) -> Result:
    """A check that is right or wrong."""
    start = time.perf_counter()
    found = list(check())
    what = f"{len(found)} findings: {found[0]}" if found else ""
    return Result(name, "mark", "", 0.0, 0.0, 0.0, 0, not found, time.perf_counter() - start, what)


def looked_at(name: str, kind: str, look: Callable[[], Result]) -> Result:
    """The row of something that is looked at. What cannot be looked at has failed, and its row says why."""
    start = time.perf_counter()
    try:
        return look()
    except UNSEEN as cause:
        return Result(name, kind, "", 0.0, 0.0, 0.0, 0, False, time.perf_counter() - start, str(cause))


@dataclass(frozen=True, slots=True)
class Programme:
    """What is run: the scenarios and bugs by name, over worlds that are written once."""

    folder: Path
    worlds: Worlds
    database: str
    samples: int
    error: float
    marks: Sequence[str]
    bug_samples: int

    def around(self, ledger: str, name: str) -> Surroundings:
        """What scenarios of a ledger are served in, in a folder of their own."""
        folder = self.folder / name
        folder.mkdir()
        more = declared(self.worlds.tables, CELLS) if ledger == "learned" else ""
        if ledger in CHANGING:
            database = CHANGING[ledger](self.worlds, folder)
            return Surroundings(LEDGERS[ledger].write(folder, database.name, more), database.change)
        policy = LEDGERS[ledger].write(folder, self.database, more)
        return on_its_clock(policy) if ledger == "daily" else Surroundings(policy)

    def scenarios(self, ledger: str, chosen: Sequence[Scenario], name: str, tell: Callable[[Result], None]) -> None:
        """Scenarios of one ledger, one after the other, over a server of their own; and its marks."""
        around, server, samples = self.around(ledger, name), Future[Served](), self.samples
        with ExitStack() as stack:
            try:
                served = stack.enter_context(serving(around.policy, around.program))
                around.opened()
                server.set_result(served)
            except UNSEEN as cause:
                server.set_exception(cause)
            for scenario in chosen:
                tell(
                    looked_at(
                        scenario.name, "scenario", lambda one=scenario: self.scenario(one, server.result(), samples)
                    )
                )
            if name.endswith(" 0"):
                for mark in self.marks if ledger in ("pure", "zcdp") else ():
                    title = f"{mark}, {ledger}"
                    tell(looked_at(title, "mark", lambda one=mark, of=title: self.mark(one, server.result(), of)))

    def scenario(self, scenario: Scenario, served: Served, samples: int) -> Result:
        """The bound of a scenario; where it holds, its marks, too."""
        result = audited(scenario, served, self.worlds, samples, self.error)
        seen = next(self.marks_of(scenario, served), None) if result.passed else None
        return result if seen is None else replace(result, passed=False, what=seen)

    def purchase(self, purchase: Purchase, samples: int, bug: str = "") -> Result:
        """What an owner buys, in this process; a bug that is planted in it and seen passes."""
        start = time.perf_counter()
        result = judged(purchase.name, purchase.ask(self.folder, samples, bug), self.error, start)
        if not bug:
            return result
        what = f"{purchase.name}: {result.what}"
        return replace(result, name=bug, kind="bug", passed=not result.passed, what=what)

    def purchases(self, chosen: Sequence[Purchase], bugs: Sequence[str], tell: Callable[[Result], None]) -> None:
        """One after the other: a bug is planted in all of this process, in which nothing else is served."""
        for one in chosen:
            tell(self.purchase(one, self.samples // OF_PURCHASES))
        for bug in bugs:
            seen_by = next(one for one in PURCHASES if one.name == BUGS[bug].seen_by)
            tell(self.purchase(seen_by, self.bug_samples * BUGS[bug].times // OF_PURCHASES, bug))

    def marks_of(self, scenario: Scenario, served: Served) -> Iterator[str]:
        selected = scenario.one_by_one or not scenario.ordered or scenario.chosen_groups
        if not scenario.reuse:
            yield from marks.twins(served, self.worlds, scenario, selected=selected)
        if scenario.ordered and not scenario.one_by_one:
            yield from marks.disorder(served, self.worlds, scenario)

    def mark(self, name: str, served: Served, title: str) -> Result:
        return marked(title, lambda: MARKS[name](self, served))

    def bugs(self, chosen: Sequence[str], tell: Callable[[Result], None]) -> None:
        """Each bug, planted and looked for. A bug that is seen passes."""
        folder = self.folder / "planted"
        folder.mkdir()
        with planting(folder) as planted:
            for place, name in enumerate(chosen):
                tell(self.bug(planted, name, f"bug {place}"))

    def bug(self, planted: Planted, name: str, folder: str) -> Result:
        return looked_at(name, "bug", lambda: self._bug(planted, name, folder))

    def _bug(self, planted: Planted, name: str, folder: str) -> Result:
        start = time.perf_counter()
        seen_by = BUGS[name].seen_by
        scenario = next((one for one in SCENARIOS if one.name == seen_by), None)
        around = self.around(scenario.ledger if scenario else "pure", folder)
        with planted.serving(name, around.policy) as served:
            around.opened()
            if scenario is None:
                result = self.mark(seen_by, served, name)
            else:
                result = self.scenario(scenario, served, self.bug_samples * BUGS[name].times)
        what = f"{seen_by}: {result.what}"
        return replace(
            result, name=name, kind="bug", passed=not result.passed, what=what, seconds=time.perf_counter() - start
        )


MARKS: dict[str, Callable[[Programme, Served], Iterator[str]]] = {
    "lattice": lambda programme, served: marks.off_lattice(served, programme.worlds, "plain"),
    "noise": lambda programme, served: marks.shared_noise(served, programme.worlds, "plain"),
    "refusals": lambda programme, served: marks.refusals(served, programme.worlds, "plain"),
    "order": lambda programme, served: marks.disorder(
        served, programme.worlds, next(one for one in SCENARIOS if one.name == "people")
    ),
}


@contextmanager
def programme(
    chosen: Sequence[Scenario],
    bugs: Sequence[str],
    samples: int,
    engine: str,
    error: float | None,
    marks: Sequence[str],
    bug_samples: int,
) -> Iterator[Programme]:
    """The worlds of some scenarios and bugs, written for an engine."""
    needed = [one for one in SCENARIOS if one.name in {BUGS[bug].seen_by for bug in bugs}]
    names = ["plain", *(one.shape for one in (*chosen, *needed))]
    most = max([samples, *(bug_samples * BUGS[bug].times for bug in bugs)])
    most *= max([1, *(CELLS // len(one.groups) for one in chosen)])
    worlds = Worlds.drawn(shapes(names), -(-most // CELLS), random.SystemRandom().getrandbits(64))
    # In memory: nothing here has to outlive the run, and a ledger flushes with each of some thousand charges.
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = Path(name)
        database = write_duckdb(worlds, folder / "worlds.duckdb") if engine == "duckdb" else write_postgres(worlds)
        each = ERROR / max(len(chosen) + len(PURCHASES) + len(bugs), 1) if error is None else error
        yield Programme(folder, worlds, database, samples, each, marks, bug_samples)


def run(
    chosen: Sequence[Scenario],
    bugs: Sequence[str],
    *,
    samples: int = SAMPLES,
    engine: str = "duckdb",
    tell: Callable[[Result], None] = lambda _: None,
    jobs: int = 2,
    error: float | None = None,
    marks: Sequence[str] | None = None,
    bug_samples: int | None = None,
    purchases: Sequence[Purchase] = (),
) -> list[Result]:
    """Audit scenarios and ``purchases``, and look for planted bugs. ``error`` is that of one bound; ``marks`` are all
    unless given."""
    results: list[Result] = []

    def keep(result: Result) -> None:
        results.append(result)
        tell(result)

    with ExitStack() as stack:
        some = tuple(MARKS) if marks is None else marks
        one = stack.enter_context(programme(chosen, bugs, samples, engine, error, some, bug_samples or samples))
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        tasks = []
        for ledger in LEDGERS:
            mine = [scenario for scenario in chosen if scenario.ledger == ledger]
            parts = min(jobs, len(mine)) if ledger == "pure" else min(1, len(mine))
            for part in range(parts):
                tasks.append(pool.submit(one.scenarios, ledger, mine[part::parts], f"{ledger} {part}", keep))
        of_purchases = [bug for bug in bugs if BUGS[bug].seen_by in {each.name for each in PURCHASES}]
        if served := [bug for bug in bugs if bug not in of_purchases]:
            tasks.append(pool.submit(one.bugs, served, keep))
        if purchases or of_purchases:
            tasks.append(pool.submit(one.purchases, purchases, of_purchases, keep))
        for task in tasks:
            task.result()
    return results


def main(arguments: Sequence[str] | None = None) -> list[Result]:
    """Run the programme as the command line says, print its table, and give back all its rows."""
    parser = argparse.ArgumentParser("python -m tests.audit", description=__doc__)
    parser.add_argument("--scenarios", nargs="+", metavar="NAME", help="those whose names have one of these in them")
    parser.add_argument("--samples", type=int, metavar="N", help=f"of each scenario; {SAMPLES} unless it is given")
    parser.add_argument("--engine", choices=("duckdb", "postgres", "both"), default="both")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} samples of fewer scenarios and bugs")
    parser.add_argument("--jobs", type=int, default=2, help="servers at a time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found here, a line for each kind")
    given = parser.parse_args(arguments)
    wanted = given.scenarios
    chosen = [one for one in SCENARIOS if not wanted or any(word in one.name for word in wanted)]
    purchases = [one for one in PURCHASES if not wanted or any(word in one.name for word in wanted)]
    bugs = [name for name in BUGS if not wanted or any(word in name for word in wanted)]
    if given.quick and not wanted:
        bugs = [name for name in BUGS if name in QUICK_BUGS]
        chosen = [one for one in SCENARIOS if one.name in (*ON_POSTGRES, *(BUGS[name].seen_by for name in bugs))]
    samples = given.samples or (QUICK if given.quick else SAMPLES)
    most = samples if given.quick else max(samples, SAMPLES)
    results: list[Result] = []
    start = time.perf_counter()
    for engine in ("duckdb", "postgres") if given.engine == "both" else (given.engine,):
        few = chosen
        if engine == "postgres" and given.engine == "both" and not wanted:
            few = [] if given.quick else [one for one in chosen if one.name in ON_POSTGRES]
        planted = bugs if engine == "duckdb" else []
        bought = purchases if engine == "duckdb" else []
        if few or planted or bought:
            found = run(
                few,
                planted,
                samples=samples,
                engine=engine,
                tell=tell,
                jobs=given.jobs,
                bug_samples=most,
                purchases=bought,
            )
            results += (
                [replace(one, name=f"{one.name}, PostgreSQL") for one in found] if engine == "postgres" else found
            )
    show(results, time.perf_counter() - start)
    if given.json:
        given.json.write_text(json.dumps(promises(results), ensure_ascii=False, indent=1))
    return results


PROMISES = {
    "scenario": "every lower bound on ε is below the claim (a false alarm once in 1,000 runs)",
    "mark": "released numbers lie on their lattice, share no noise, and their order tells nothing",
    "bug": "every planted bug is seen",
}


def promises(results: Sequence[Result]) -> list[dict[str, object]]:
    """A line for each kind of row: how many there were, and how many were as they have to be."""
    found: list[dict[str, object]] = []
    for kind in dict.fromkeys(one.kind for one in results):
        rows = [one for one in results if one.kind == kind]
        bad = [one.name for one in rows if not one.passed]
        found.append(
            {
                "figure": f"{len(rows) - len(bad)} of {len(rows)} {kind}s, {sum(one.samples for one in rows):,} samples",
                "promise": PROMISES[kind],
                "passed": not bad,
                "detail": "; ".join(bad),
            }
        )
    return found


ON_POSTGRES = (
    "people", "people, ρ", "rows, 60 where 4 are allowed", "rows spread over groups", "rows that are nobody's",
    "NaN, ±inf, 5e-324", "variances", "the most common", "selected alone", "totals that agree",
)  # fmt: skip
"""What is asked of PostgreSQL too, where both engines are audited."""

QUICK_BUGS = (
    "a noise scale halved", "values 1.5 times their bound", "a threshold that is skipped", "one draw for all groups",
    "a quantile's sensitivity halved",
)  # fmt: skip
"""What is looked for in a quick run."""
