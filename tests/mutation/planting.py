"""Copies of the source in which one bug at a time is planted, and tests that are run there.

Why a copy and not a patch in memory: what a server, a child or a forked charger imports has the bug too, whichever way
it comes by the module. Each version of a file has a time of its own, since Python knows a file by its time and length,
and a bug may be as long as what it replaces.

Why forks of one process: it has imported everything but what bugs are planted in, which takes longer than most tests.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.bug import FIRST, ROOT, WORLDS, Bug

LIMIT = 1500.0
WORK = 240
"""Seconds for the tests of one bug, and seconds of a core. What does not end is not counted as found."""
CAMPAIGN = "campaign"
"""The mark of long runs. A bug that names their file does not run them, one that names them does."""
_AT_ONCE = 20
_OPTIONS = "--doctest-modules --hypothesis-profile=planted"
_PARTS = ("dpsql", "rewriter", "tests", "pyproject.toml")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::\S+)(?: - (.*))?", re.MULTILINE)
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    """pytest hypothesis xdist.plugin sqlglot sqlglot.dialects.duckdb sqlglot.dialects.postgres duckdb numpy
    scipy.stats scipy.optimize scipy.sparse.linalg pyarrow psycopg pydantic yaml rich.table""".split()
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a bug: the test that found it and what it said, or None and why it lives."""

    found_by: str | None
    seconds: float
    why: str


class Copy:
    """A copy of the source, for one bug at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._planted = 0
        for part in _PARTS:
            source = ROOT / part
            if source.is_dir():
                # Bytecode too: it is of these very files.
                shutil.copytree(source, folder / part)
            else:
                shutil.copy2(source, folder / part)

    def try_bug(self, bug: Bug) -> Verdict:
        """Plant it, run its tests until one fails, and take it out again."""
        path = self._folder / bug.file
        honest, at = path.read_text(), path.stat().st_mtime_ns
        self._planted += 1
        path.write_text(bug.planted(honest))
        os.utime(path, ns=(at, at + self._planted * 1_000_000_000))
        try:
            return self._verdict(bug)
        finally:
            path.write_text(honest)
            os.utime(path, ns=(at, at))

    def honest(self, tests: Sequence[str]) -> str:
        """What the tests say of the source as it is: empty where they all pass."""
        # That the neighbour test finds nothing is a matter of its own.
        wrong = ""
        for place in range(0, len(tests), _AT_ONCE):
            code, said = self._run(tests[place : place + _AT_ONCE], {WORLDS: "3"}, stop_at_first=False)
            wrong += "" if code == 0 else f"{code}: {said[-2000:]}"
        return wrong

    def _verdict(self, bug: Bug) -> Verdict:
        started = time.monotonic()
        code, said = self._run(bug.tests, {FIRST: str(bug.seed)}, stop_at_first=True)
        passed = time.monotonic() - started
        found = _FAILED.search(said)
        if code == 1 and found is not None:
            return Verdict(found[1], passed, found[2] or "")
        # Tests that cannot even be collected have not found anything out.
        late = dict.fromkeys((None, -signal.SIGXCPU, -signal.SIGKILL), "the tests did not end")
        why = {0: "no test failed", **late}.get(code, f"pytest ended with {code}: {said[-300:]}")
        return Verdict(None, passed, why)

    def _run(self, tests: Sequence[str], hunt: Mapping[str, str], *, stop_at_first: bool) -> tuple[int | None, str]:
        arguments = ["-n0", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE", "-o", f"addopts={_OPTIONS}"]
        arguments += [*(["-x"] if stop_at_first else []), *tests]
        said = self._folder / "said"
        said.unlink(missing_ok=True)  # or what the last one said would be taken for this one's
        running = _FORKS.Process(target=_test, args=(self._folder, arguments, dict(hunt), said))
        running.start()
        running.join(LIMIT)
        code = running.exitcode
        # It leads a session, and what its tests have started ends with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid or 0, signal.SIGKILL)
        running.join()
        return code, said.read_text(errors="replace") if said.exists() else ""


def _test(folder: Path, arguments: Sequence[str], hunt: Mapping[str, str], said: Path) -> None:
    """Run pytest in a copy, in a process that has imported nothing of it yet. Its exit code is pytest's."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (WORK, WORK))
    os.chdir(folder)
    os.environ |= {"PYTHONPATH": str(folder), "COLUMNS": "200", **hunt}
    sys.path[:] = [str(folder), *(path for path in sys.path if Path(path or ".").resolve() != ROOT)]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "dpsql", "rewriter")]:
        del sys.modules[name]
    with said.open("wb", buffering=0) as out:
        for stream in (1, 2):
            os.dup2(out.fileno(), stream)
    import pytest
    from hypothesis import Phase, settings

    class Named:
        """Leaves out the campaigns of files that are named as a whole."""

        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            named = tuple(argument for argument in arguments if "::" in argument)
            items[:] = [one for one in items if one.nodeid.startswith(named) or not one.get_closest_marker(CAMPAIGN)]

    # The first example that fails will do: making it small can take minutes.
    settings.register_profile("planted", derandomize=True, phases=(Phase.explicit, Phase.generate), database=None)
    code = int(pytest.main(list(arguments), plugins=[Named()]))
    sys.stdout.flush()
    os._exit(code)
