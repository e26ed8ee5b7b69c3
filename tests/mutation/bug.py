"""A planted bug: one place in one file, changed as a hurried engineer might change it, and the tests that must notice."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FIRST, WORLDS = "DPSQL_HUNT_FIRST", "DPSQL_HUNT_WORLDS"
"""Variables of the environment that tell a hunt with which world to begin, and how many to look at."""


class Stale(Exception):
    """The place that a bug changes is not there any more, or is there several times: the bug has to be written anew."""


@dataclass(frozen=True, slots=True)
class Bug:
    """In ``file``, each text of ``edits`` that stands there exactly once is replaced by the other; ``tests`` are what
    pytest is given. A hunt (:mod:`tests.mutation.hunting`) begins with the world ``seed``, where the bug was seen.

    >>> bug = Bug("budget given back", "dpsql/x.py", (("spent + more", "spent - more"),), ("tests/test_x.py",))
    >>> bug.planted("total = spent + more")
    'total = spent - more'
    """

    name: str
    file: str
    edits: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
    seed: int = 0

    def planted(self, source: str) -> str:
        """The source with the bug. Raises :class:`Stale`."""
        for before, after in self.edits:
            if source.count(before) != 1:
                raise Stale(f"{self.name!r}: {before!r} is {source.count(before)} times in {self.file}")
            source = source.replace(before, after)
        return source

    def check(self) -> None:
        """Raise :class:`Stale` where it cannot be planted, changes nothing, or names tests that are not there."""
        planted = self.planted(_text(self.file))
        ast.parse(planted)
        if planted == _text(self.file):
            raise Stale(f"{self.name!r} changes nothing")
        for test in self.tests:
            path, _, name = test.partition("::")
            if name and f"def {name.rpartition('::')[2]}(" not in _text(path):
                raise Stale(f"{self.name!r}: there is no {test}")


@functools.lru_cache
def _text(path: str) -> str:
    return (ROOT / path).read_text()


def bug(name: str, file: str, before: str, after: str, *tests: str, seed: int = 0) -> Bug:
    """A bug that is one edit."""
    return Bug(name, file, ((before, after),), tests, seed)
