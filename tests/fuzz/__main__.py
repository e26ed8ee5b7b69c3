"""``python -m tests.fuzz [--quick] [--messages 200000] [--seconds 10] [--seed 0] [--json FILE]``: the campaign, its table, and 1 where it fails."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.fuzz.campaign import MOST_MEMORY, MOST_SLOWER, Results, run, shown
from tests.fuzz.floods import FLOODS


def main(arguments: Sequence[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a tenth of the messages, and floods of 2 seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found here")
    given = parser.parse_args(arguments)
    messages, seconds = (given.messages // 10, 2.0) if given.quick else (given.messages, given.seconds)
    results = run(messages, seconds=seconds, seed=given.seed)
    print(shown(results))
    if given.json:
        given.json.write_text(json.dumps(list(promises(results)), ensure_ascii=False, indent=1))
    return results


def promises(results: Results) -> Iterator[dict[str, object]]:
    """What was to hold, and whether it did. A problem that is not of one flood is everybody's."""
    spoken, (before, after) = results.spoken, results.memory
    floods = results.floods
    worst = max(floods, key=lambda one: one.slower, default=None)
    slow = "none" if worst is None else f"{worst.slower:.2f}× under {worst.name}"
    grown = (after - before) >> 20
    yield _promise(
        f"{spoken.messages:,} malformed messages in {spoken.conversations:,} conversations",
        "answers, errors or the end; no ledger change, no traceback",
        not spoken.problems,
    )
    yield _promise(
        f"{len(floods)} floods, {sum(one.done.messages for one in floods):,} messages over sockets,"
        f" {len(results.problems)} problems",
        "the server lives, and says nothing of itself",
        len(floods) == len(FLOODS) and not results.problems,
        "; ".join(results.problems[:5]),
    )
    yield _promise(
        f"another client's p99: {slow}", f"below {MOST_SLOWER:g}×", worst is not None and worst.slower <= MOST_SLOWER
    )
    yield _promise(f"memory grew by {grown} MiB", f"at most {MOST_MEMORY >> 20} MiB", after - before <= MOST_MEMORY)


def _promise(figure: str, promise: str, passed: bool, detail: str = "") -> dict[str, object]:
    return {"figure": figure, "promise": promise, "passed": passed, "detail": detail}


if __name__ == "__main__":
    sys.exit(1 if main().problems else 0)
