"""The table of a run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from tests.audit.audit import Result


def tell(one: Result) -> None:
    """A row as soon as it is there, for who waits."""
    good = "pass" if one.passed else "FAIL"
    print(
        f"{good} {one.kind} {one.name}: {one.bound:.2f} of {one.claimed:.2f}, {one.seconds:.0f} s",
        file=sys.stderr,
        flush=True,
    )


def show(results: Sequence[Result], seconds: float) -> None:
    """One row for each scenario, mark and bug."""
    table = Table("what", "claim", "tested at", "ε shown", "samples", "", "s", "by")
    for kind, title in (("scenario", ""), ("mark", ""), ("bug", "planted: ")):
        for one in results:
            if one.kind != kind:
                continue
            tested = "" if not one.claim else f"{one.claimed:.2f}" + (f", {one.delta:.3g}" if one.delta else "")
            good = {"scenario": "pass", "mark": "pass", "bug": "seen"}[kind] if one.passed else "FAIL"
            table.add_row(
                f"{title}{one.name}", one.claim, tested, f"{one.bound:.2f}" if one.claim else "",
                f"{one.samples:,}" if one.samples else "", good, f"{one.seconds:.0f}", one.what[:60],
            )  # fmt: skip
        table.add_section()
    Console(width=170).print(table)
    failed = [one.name for one in results if not one.passed]
    print(f"{len(results)} rows, {len(failed)} failed, {seconds:.0f} s")
