"""``python -m tests.trust``: the whole programme on two cores, and one table: figure, promise, pass or fail."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.trust.parts import PARTS
from tests.trust.running import Finding, end_all, run_all


def main(arguments: Sequence[str] | None = None) -> int:
    names = [part.name.replace(" ", "-") for part in PARTS]
    parser = argparse.ArgumentParser(prog="python -m tests.trust", description="Everything that is promised, measured.")
    parser.add_argument("--quick", action="store_true", help="a sample of each part: about five minutes")
    parser.add_argument("--only", choices=names, nargs="+", default=names, metavar="PART", help=", ".join(names))
    parser.add_argument("--folder", type=Path, help="where logs and findings are left; default is a new one")
    parser.add_argument("--format", choices=("table", "markdown"), default="table", help="(%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the findings here, too")
    options = parser.parse_args(arguments)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="dpsql-trust-"))
    folder.mkdir(parents=True, exist_ok=True)
    errors = Console(stderr=True)
    found: list[Finding] = []

    def done(more: list[Finding]) -> None:
        found.extend(more)
        bad = sum(not one.passed for one in more)
        fate = f"{bad} of {len(more)} failed" if bad else "passed"
        errors.print(f"{more[0].part}: {fate}, {more[0].seconds:.0f} s", highlight=False)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_all)
    started = time.monotonic()
    chosen = [part for part in PARTS if part.name.replace(" ", "-") in options.only]
    run_all(chosen, options.quick, folder, done)
    order = [part.name for part in PARTS]
    found.sort(key=lambda one: order.index(one.part))
    print(markdown(found)) if options.format == "markdown" else Console().print(table(found))
    failed = sum(not one.passed for one in found)
    day = datetime.now(UTC).date().isoformat()
    print(f"{len(found) - failed} of {len(found)} promises held, in {(time.monotonic() - started) / 60:.0f} min, {day}")
    errors.print(f"logs are in {folder}", highlight=False)
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], ensure_ascii=False, indent=1))
    return bool(failed)


def table(found: Sequence[Finding]) -> Table:
    made = Table("part", "figure", "promise", "", box=None)
    for one in found:
        made.add_row(one.part, one.figure, one.promise, "pass" if one.passed else "[bold red]FAIL[/]")
    return made


def markdown(found: Sequence[Finding]) -> str:
    """The table as the guide has it.

    >>> print(markdown([Finding("ledger", "500 kills", "nothing unpaid", True)]))
    | part | figure | promise | |
    |---|---|---|---|
    | ledger | 500 kills | nothing unpaid | pass |
    """
    rows = [(one.part, one.figure, one.promise, "pass" if one.passed else "**FAIL**") for one in found]
    lines = ["| part | figure | promise | |", "|---|---|---|---|"]
    return "\n".join([*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)])


if __name__ == "__main__":
    sys.exit(main())
