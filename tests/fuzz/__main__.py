"""``python -m tests.fuzz [--messages 200000] [--seconds 10] [--seed 0]``: the campaign, its table, and 1 where it fails."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.fuzz.campaign import Results, run, shown


def main(arguments: Sequence[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    results = run(given.messages, seconds=given.seconds, seed=given.seed)
    print(shown(results))
    return results


if __name__ == "__main__":
    sys.exit(1 if main().problems else 0)
