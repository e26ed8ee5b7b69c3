"""How ``pytest`` runs: with the same random examples every time, so that a change is judged by what it changed.

New ones are drawn with ``pytest --hypothesis-profile=default``, and by the campaigns. The longest tests come first: else
one worker is still at them when the other has nothing left to do. Garbage is collected as seldom as in a server, which a
third of the time of planning went into. What tests write is in memory, where there is room: hundreds of ledgers are made
and flushed for each minute of tests, and those that are about crashes choose their places themselves. Bytecode is written,
whatever the environment says: each of the hundreds of processes that tests start would compile all it imports, which is
two thirds of the start of a ``dpsql``.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

# Before anything is imported whose assertions pytest rewrites, as it does those of hypothesis: that takes seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

from hypothesis import HealthCheck, settings  # noqa: E402

QUICK = ("golden", "rooms")
"""Folders of tests that are all quick; others mark one of their own."""

LONGEST = (
    "test_workload_neighbours.py",
    "test_series.py",
    "test_neighbours.py",
    "test_correctness.py",
    "test_fuzz.py",
    "test_attacks.py",
)

FIXED = 40
"""Random examples of a test, where it does not say how many. Other profiles draw 100."""

MEMORY, ROOM = "/dev/shm", 4 << 30  # noqa: S108

if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ["TMPDIR"] = tempfile.tempdir = MEMORY

# What is printed does not depend on the terminal from which the tests are started.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)

# A busy machine is no reason to fail: no example has a deadline, and drawing examples may be slow.
settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=FIXED, suppress_health_check=[HealthCheck.too_slow]
)


T = TypeVar("T")


def thinned(cases: Sequence[T], every: int) -> list[object]:
    """Of many cases of one test, each ``every``-th by default; the others are the campaigns'.

    >>> [getattr(one, "marks", ()) == () for one in thinned("abcde", 2)]
    [True, False, True, False, True]
    """
    return [
        case
        if place % every == 0
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.campaign)
        for place, case in enumerate(cases)
    ]


def spread_out(cases: Sequence[Sequence[int]]) -> set[int]:
    """Of the cases of a matrix, as places on its axes, few in which each place of each axis comes.

    >>> sorted(spread_out([(row, column) for row in range(2) for column in range(4)]))
    [0, 2, 5, 7]
    """
    most = max(max(case) for case in cases) + 1
    sizes = [max(column) + 1 for column in zip(*cases, strict=True)]
    diagonal = {tuple(place % size for size in sizes) for place in range(most)}
    seen, kept = set[tuple[int, int]](), set[int]()
    for number in sorted(range(len(cases)), key=lambda number: tuple(cases[number]) not in diagonal):
        places = set(enumerate(cases[number]))
        if not places <= seen:
            kept.add(number)
            seen |= places
    return kept


def places(cases: Sequence[Mapping[str, object]]) -> list[tuple[int, ...]]:
    """Of each case, which of the values of each parameter it has, in the order in which they come first.

    >>> places([{"x": "a", "y": 1}, {"x": "b", "y": 1}, {"x": "a", "y": 2}])
    [(0, 0), (1, 0), (0, 1)]
    """
    known: dict[str, dict[int, int]] = {}
    numbered = ((known.setdefault(name, {}), id(value)) for case in cases for name, value in case.items())
    found = iter([axis.setdefault(value, len(axis)) for axis, value in numbered])
    return [tuple(next(found) for _ in case) for case in cases]


def spread(items: Sequence[pytest.Item]) -> None:
    """Leaves all but a few cases of each matrix that is marked so to the campaigns."""
    matrices: dict[tuple[Path, str], list[pytest.Function]] = {}
    for item in items:
        marked = item.get_closest_marker("spread") is not None and item.get_closest_marker("campaign") is None
        if marked and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            matrices.setdefault((item.path, item.nodeid.partition("[")[0]), []).append(item)
    for found in matrices.values():
        kept = spread_out(places([one.callspec.params for one in found]))
        for number, one in enumerate(found):
            if number not in kept:
                one.add_marker(pytest.mark.campaign)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """The one module that needs an extra when it is imported has its examples where that is installed."""
    needs_mbi = collection_path.parts[-2:] == ("synthetic", "graphical_model.py")
    return True if needs_mbi and importlib.util.find_spec("mbi") is None else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()  # All that is collected stays.
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(400_000, 10, 50)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # Libraries complain of what is left at the end.


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name in QUICK:
            item.add_marker(pytest.mark.quick)
    spread(items)
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
