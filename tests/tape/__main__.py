"""``python -m tests.tape record FILE`` and ``python -m tests.tape compare A B``: what becomes of every statement."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.tape.collected_sources import collected, corpora, golden
from tests.tape.comparing import KINDS, compared
from tests.tape.plans_per_question import questions
from tests.tape.plans_per_question import report as report_questions
from tests.tape.recording import Tape, recorded
from tests.tape.respell import report, respelt

STATEMENTS = Path(".tape/statements")
"""What tests have asked; no part of the repository."""
PLACE = "TAPE_STATEMENTS"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tape")
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write what becomes of every statement")
    record.add_argument("file", type=Path, help="JSON lines; packed if the name ends with .gz")
    record.add_argument("--corpus", type=Path, action="append", default=[], help="a folder of corpora, or several")
    record.add_argument("--jobs", type=int, default=2)
    compare = commands.add_parser("compare", help="explain what differs; fails unless all is equal or better")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.add_argument(
        "--accept", action="append", default=[], choices=KINDS, help="a kind that was read and is meant"
    )
    compare.add_argument("--examples", type=int, default=3)
    collect = commands.add_parser("collect", help="run tests, and note which statements they ask")
    collect.add_argument("tests", nargs="*", default=["tests"], help="files or folders of tests; all by default")
    collect.add_argument("--jobs", type=int, default=2)
    again = commands.add_parser("respell", help="ask every statement in other words: same plans, same price?")
    again.add_argument("--corpus", type=Path, action="append", default=[])
    again.add_argument("--every", type=int, default=1, help="take each so-many-th statement of a world alone")
    again.add_argument("--examples", type=int, default=2)
    again.add_argument("--jobs", type=int, default=2)
    commands.add_parser("questions", help="plans per question over its spellings, and lines of code")
    told = parser.parse_args(arguments)
    if told.command == "questions":
        print("\n".join(report_questions(questions())))
        return 0
    if told.command == "respell":
        return _respell(told)
    if told.command == "collect":
        return _collect(told)
    return _compare(told) if told.command == "compare" else _record(told)


def _collect(told: argparse.Namespace) -> int:
    if STATEMENTS.exists():
        shutil.rmtree(STATEMENTS)
    plugin = ["-p", "tests.tape.collecting", "-p", "no:warnings", "-n", str(told.jobs)]
    environment = {**os.environ, PLACE: str(STATEMENTS.absolute())}
    code = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *told.tests], env=environment, check=False
    ).returncode
    batches = list(collected(STATEMENTS))
    print(f"{sum(len(asked) for _, asked in batches)} statements under {len(batches)} policies in {STATEMENTS}")
    return code


def _compare(told: argparse.Namespace) -> int:
    comparison = compared(Tape.read(told.before), Tape.read(told.after))
    for line in comparison.lines(told.examples):
        print(line)
    return 0 if comparison.fit(told.accept) else 1


def _respell(told: argparse.Namespace) -> int:
    # Of the golden queries, those of one accounting: the others are the same words.
    own = [(world, asked) for world, asked in golden() if world.name == "golden zcdp"]
    batches = [*own, *collected(STATEMENTS), *(one for folder in told.corpus for one in corpora(folder))]
    sample = [(world, asked[:: told.every]) for world, asked in batches]
    for line in report(respelt(sample, told.jobs), told.examples):
        print(line)
    return 0


def _record(told: argparse.Namespace) -> int:
    batches = [*golden(), *collected(STATEMENTS)]
    for folder in told.corpus:
        batches += corpora(folder)
    tape = recorded(batches, told.jobs)
    tape.write(told.file)
    answered = sum(entry["refused"] is None for entry in tape.entries.values())
    print(f"{len(tape.entries)} statements under {len(tape.words)} policies, {answered} answered, {tape.seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
