"""The programme's own honesty: what is missing, silent, broken or late has failed."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.test_postgres_process import alive
from tests.trust.parts import PARTS, Part
from tests.trust.running import Finding, run, run_all

GOOD = [{"figure": "3 of 3", "promise": "all", "passed": True}, {"figure": "1 of 2", "promise": "all", "passed": False}]


@dataclass(frozen=True, slots=True)
class Script(Part):
    """A part that is a few lines of Python; ``report`` is where it writes."""

    lines: str = ""

    def command(self, quick: bool, report: Path) -> list[str]:
        return [sys.executable, "-c", f"report = {str(report)!r}\n{self.lines}"]


def part(lines: str, minutes: float = 1.0) -> Script:
    return Script("a part", minutes, module="tests.mutation", lines=lines)


def outcome(folder: Path, lines: str, minutes: float = 1.0) -> list[tuple[str, bool]]:
    return [(one.figure, one.passed) for one in run(part(lines, minutes), quick=False, folder=folder)]


def test_findings_are_those_of_the_part(tmp_path: Path) -> None:
    said = outcome(tmp_path, f"open(report, 'w').write({json.dumps(GOOD)!r}); raise SystemExit(1)")
    assert said == [("3 of 3", True), ("1 of 2", False)]


@pytest.mark.parametrize(
    "lines",
    [
        "pass",
        "raise SystemExit(3)",
        "open(report, 'w').close()",
        "open(report, 'w').write('[{')",
        'open(report, \'w\').write(\'[{"figure": "x", "promise": "y"}]\')',
        "open(report, 'w').write('{}')",
        'open(report, \'w\').write(\'[{"figure": "x", "promise": "y", "passed": "no"}]\')',
        f"open(report, 'w').write({json.dumps(GOOD[:1])!r}); raise SystemExit(1)",
        f"open(report, 'w').write({json.dumps(GOOD[:1])!r}); import os; os.kill(os.getpid(), 9)",
    ],
)
def test_what_is_silent_or_broken_has_failed(tmp_path: Path, lines: str) -> None:
    assert not all(passed for _, passed in outcome(tmp_path, lines))


def test_what_was_found_before_is_not_found_again(tmp_path: Path) -> None:
    (tmp_path / "a-part.json").write_text(json.dumps(GOOD[:1]))
    assert outcome(tmp_path, "pass") == [("ended with 0 and said nothing", False)]


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    born = tmp_path / "born"
    child = f"import os, time; open({str(born)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    lines = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(600)"
    started = time.monotonic()
    ((figure, passed),) = outcome(tmp_path, lines, minutes=1 / 60)
    assert (figure, passed) == ("still running after 2 s", False)
    assert time.monotonic() - started < 120
    # On a busy machine it may not have come to be.
    end = time.monotonic() + 60
    while born.exists() and alive(int(born.read_text())):
        assert time.monotonic() < end, "the child goes on"
        time.sleep(0.05)


def test_what_is_not_there_has_failed(tmp_path: Path) -> None:
    for absent in (Part("x", 1, module="tests.nowhere"), Part("x", 1, tests=("tests/nowhere",))):
        (found,) = run(absent, quick=False, folder=tmp_path)
        assert not found.passed
        assert "there is no" in found.figure


def test_tests_are_counted_and_may_add_their_own_figures(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    own = "import json, os\ndef test_one(): open(os.environ['DPSQL_TRUST_JSON'], 'w').write(json.dumps([{}]))\n"
    test.write_text(own.replace("{}", str(GOOD[0]).replace("True", "True")))
    found = run(Part("x", 1, tests=(str(test),)), quick=False, folder=tmp_path)
    assert [one.figure.split(" in ")[0] for one in found] == ["3 of 3", "1 passed"]
    assert all(one.passed for one in found)
    test.write_text("def test_one(): assert False\n")
    assert [one.passed for one in run(Part("x", 1, tests=(str(test),)), quick=False, folder=tmp_path)] == [False]


def test_every_part_has_its_turn(tmp_path: Path) -> None:
    found: list[Finding] = []
    parts = [Part(str(number), 1, module="tests.nowhere", lanes=1 + number % 2) for number in range(5)]
    run_all(parts, quick=True, folder=tmp_path, done=found.extend)
    assert sorted(one.part for one in found) == ["0", "1", "2", "3", "4"]


def test_the_programme_fits_into_forty_minutes_of_two_cores() -> None:
    assert sum(part.minutes * part.lanes for part in PARTS) <= 80
