"""The statement files: hostile statements by class, each with what has to come of it.

A file holds cases. A case begins with ``--- EXPECTATION``, and goes on to the next one:

- ``refused CODES``: an error with one of these SQLSTATEs; nothing is charged, and the engine is not asked.
- ``charged``: an answer that was paid for.
- ``free``: an answer that costs nothing and asks the engine nothing.
- ``reused``: free, and the same numbers as those that were paid for before.
- ``refused or charged``: what is refused today and may be answered tomorrow.
- ``fails CODES``: paid for, and then an error that follows from released numbers.
- ``ended CODES``: an error, and it took as long as a statement may.

``; wire EXPECTATION`` and ``; postgres EXPECTATION`` say what is different there, ``; rows vary`` that the number of
rows follows from noise, ``; slow`` that it is left to the campaign, ``: …`` why the statement is dangerous. A line ``\\g`` ends a step of several in one session; the
expectation is the last one's. ``«text|1000|, »`` stands for 1000 texts with commas between, ``«U+0000»`` for a character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

STATEMENTS = Path(__file__).parent / "statements"
_REPEATED = re.compile(r"«([^«»|]*)\|(\d+)\|([^«»|]*)»")
_CHARACTER = re.compile(r"«U\+([0-9A-F]{4,6})»")


@dataclass(frozen=True, slots=True)
class Expected:
    """``kinds`` of what may come of a statement, and the SQLSTATEs that an error may have; none: any but our bug."""

    kinds: frozenset[str]
    codes: frozenset[str] = frozenset()

    @classmethod
    def read(cls, text: str) -> Expected:
        """
        >>> Expected.read("refused 42501 0A000").codes == {"42501", "0A000"}
        True
        """
        words = text.split()
        kinds = frozenset(word for word in words if word in ("refused", "charged", "free", "reused", "fails", "ended"))
        codes = frozenset(word for word in words if re.fullmatch(r"[0-9A-Z]{5}", word))
        left = [word for word in words if word not in kinds | codes | {"or"}]
        if not kinds or left:
            raise ValueError(f"what is expected here: {text!r}")
        return cls(kinds | {"free"} if "reused" in kinds else kinds, codes)


@dataclass(frozen=True, slots=True)
class Case:
    """One attack: the steps of one session, and what is expected of the last of them, by where it is asked."""

    name: str
    steps: tuple[str, ...]
    usual: Expected
    elsewhere: tuple[tuple[str, Expected], ...]
    rows_vary: bool
    slow: bool
    why: str

    @property
    def reuses(self) -> bool:
        return "reused" in self.usual.kinds

    def expected(self, *where: str) -> Expected:
        """Of the interface and the engine, the most particular one last."""
        found = self.usual
        for place, expected in self.elsewhere:
            if set(place.split()) <= set(where):
                found = expected
        return found


def cases(path: Path) -> list[Case]:
    found = []
    for number, part in enumerate(re.split(r"^---[ ]", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:], 1):
        header, _, body = part.partition("\n")
        found.append(_case(f"{path.stem}-{number}", header, body))
    return found


def every_case() -> list[Case]:
    return [case for path in sorted(STATEMENTS.glob("*.sql")) for case in cases(path)]


def _case(name: str, header: str, body: str) -> Case:
    what, _, why = header.partition(": ")
    usual, *others = [part.strip() for part in what.split(";")]
    elsewhere = []
    for other in others:
        if other not in ("rows vary", "slow"):
            places = re.match(r"(?:(?:wire|dbapi|simple|extended|duckdb|postgres) )+", other)
            if places is None:
                raise ValueError(f"{name}: where is {other!r}")
            elsewhere.append((places[0].strip(), Expected.read(other[places.end() :])))
    steps = tuple(_expanded(step.strip("\n")) for step in re.split(r"^\\g$", body, flags=re.MULTILINE))
    if not why:
        raise ValueError(f"{name} does not say why it is dangerous")
    return Case(name, steps, Expected.read(usual), tuple(elsewhere), "rows vary" in others, "slow" in others, why)


def _expanded(text: str) -> str:
    """
    >>> _expanded("IN («1|3|, »)")
    'IN (1, 1, 1)'
    """
    text = _REPEATED.sub(lambda found: found[3].join([found[1]] * int(found[2])), text)
    return _CHARACTER.sub(lambda found: chr(int(found[1], 16)), text)
