"""The parts of the programme: a command each, how long it may take, and what it writes of its findings.

A command writes a JSON list of objects with ``figure``, ``promise`` and ``passed`` to the file that ``--json`` names. Tests
are run by pytest and may add such figures of their own to the file that ``DPSQL_TRUST_JSON`` names.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURES = "DPSQL_TRUST_JSON"
"""The variable of the environment that names a file for figures of tests."""


@dataclass(frozen=True, slots=True)
class Part:
    """``module`` is a command ``python -m module``; else ``tests`` are given to pytest, those ``marked`` alone.

    ``minutes`` are what it may take on one core, ``lanes`` how many cores it uses.
    """

    name: str
    minutes: float
    module: str = ""
    tests: tuple[str, ...] = ()
    quick_tests: tuple[str, ...] = ()
    marked: str = "not campaign and not clients"
    lanes: int = 1

    def command(self, quick: bool, report: Path) -> list[str]:
        if self.module:
            return [sys.executable, "-m", self.module, *(["--quick"] if quick else []), "--json", str(report)]
        tests = (self.quick_tests or self.tests) if quick else self.tests
        return [sys.executable, "-m", "pytest", "-n0", "--tb=short", "-m", self.marked, *tests]

    def missing(self) -> str:
        """What is not there of it; empty where it can be run."""
        if self.module:
            path = ROOT / self.module.replace(".", "/") / "__main__.py"
            return "" if path.exists() else f"there is no {path.relative_to(ROOT)}"
        absent = [test for test in self.tests if not (ROOT / test.partition("::")[0]).exists()]
        return f"there is no {', '.join(absent)}" if absent else ""


_NEIGHBOURS = "tests/properties/test_neighbours.py"
_ONE_MORE = f"{_NEIGHBOURS}::test_one_more_person_moves_no_statistic_by_more_than_its_sensitivity"

PARTS = (
    Part("audit", 8, module="tests.audit"),
    Part("ledger", 7, module="tests.ledger"),
    Part("operations", 4, tests=("tests/operations", "tests/sandbox/test_sandbox.py", "tests/engines/test_duckdb.py")),
    Part("attacks", 4, tests=("tests/attacks",)),
    Part(
        "neighbours",
        4,
        tests=(_NEIGHBOURS, "tests/planner/test_histograms.py", "tests/strategies/test_cumulative.py"),
        quick_tests=(_ONE_MORE,),
    ),
    Part("wire fuzz", 6, module="tests.fuzz", lanes=2),
    Part("mutation", 14, module="tests.mutation", lanes=2),
)
"""The longest first, so that two lanes end together; what takes both, or measures how long somebody waits, last."""
