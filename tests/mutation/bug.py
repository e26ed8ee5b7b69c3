"""A planted bug: one definition, changed as a hurried engineer might change it, and the tests that must notice."""

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
    """In the definition at ``place``, each text of ``edits`` that stands there exactly once is replaced by the other.

    A place is ``module:definition``, or ``module:`` where the text belongs to no definition or to several. ``tests`` are
    what pytest is given. A hunt (:mod:`tests.mutation.hunting`) begins with the world ``seed``, where the bug was seen.

    >>> bug = Bug("budget given back", "dpsql.x:total", (("spent + more", "spent - more"),), ("tests/test_x.py",))
    >>> print(bug.planted("def total(spent, more):\\n    return spent + more\\n"))
    def total(spent, more):
        return spent - more
    <BLANKLINE>
    """

    name: str
    place: str
    edits: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
    seed: int = 0

    @property
    def file(self) -> str:
        """The file of the module, from the root of the checkout."""
        path = self.place.partition(":")[0].replace(".", "/")
        return f"{path}.py" if (ROOT / f"{path}.py").exists() else f"{path}/__init__.py"

    def planted(self, source: str) -> str:
        """The source with the bug. Raises :class:`Stale`."""
        first, last = self._lines(source)
        lines = source.splitlines(keepends=True)
        text = "".join(lines[first:last])
        for before, after in self.edits:
            if text.count(before) != 1:
                raise Stale(f"{self.name!r}: {before!r} is {text.count(before)} times in {self.place}")
            text = text.replace(before, after)
        return "".join((*lines[:first], text, *lines[last:]))

    def _lines(self, source: str) -> tuple[int, int]:
        """The lines of the definition."""
        body, found = ast.parse(source).body, None
        for name in filter(None, self.place.partition(":")[2].split(".")):
            named = (node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name)
            found = next(named, None)
            if found is None:
                raise Stale(f"{self.name!r}: there is no {self.place}")
            body = found.body
        if found is None:
            return 0, source.count("\n") + 1
        return min((found.lineno, *(one.lineno for one in found.decorator_list))) - 1, found.end_lineno or 0

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


def bug(name: str, place: str, before: str, after: str, *tests: str, seed: int = 0) -> Bug:
    """A bug that is one edit."""
    return Bug(name, place, ((before, after),), tests, seed)
