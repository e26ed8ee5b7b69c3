"""``dpsql`` with a database that can be made to stand still: for tests of servers in processes of their own.

In the folder that ``DPSQL_GATE`` names, each process that begins to compute a release leaves a file ``<pid> <number>``,
and waits for as long as there is a file ``closed``, or until the statement is cancelled.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path
from typing import Any

from dpsql.engines.duckdb import DuckDBEngine
from dpsql.interfaces.commands.commands import main

PATIENCE = 120.0
_NUMBERS = itertools.count()


def slow(engine: Any, gate: Path) -> None:
    run = engine.run

    def slowly(self: Any, plan: Any, timeout: Any = None, cancellation: Any = None, turn: Any = None) -> Any:
        (gate / f"{os.getpid()} {next(_NUMBERS)}").touch()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and (gate / "closed").exists() and not cancellation.cancelled:
            time.sleep(0.01)
        return run(self, plan, timeout, cancellation, turn)

    engine.run = slowly


if __name__ == "__main__":
    slow(DuckDBEngine, Path(os.environ["DPSQL_GATE"]))
    sys.exit(main())
