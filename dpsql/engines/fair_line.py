"""Who waits for a turn, by name: those who wait are served name by name in turns, and in their order within a name.

Guarantee: while there is room for a name, at most one of every other name is served between two that are its; so one
who floods holds up itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_Given = TypeVar("_Given")


@dataclass(eq=False, slots=True)
class WaitingPlace(Generic[_Given]):
    """One that waits, until it is ``given`` a turn. Its ``bell`` rings then, and when it should look for itself."""

    name: str
    given: _Given | None = None
    bell: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class FairLine(Generic[_Given]):
    """Not thread-safe: for whoever holds a lock.

    >>> line, served = FairLine(), []
    >>> for name in ("ana", "ana", "ana", "bob"):
    ...     _ = line.join(name)
    >>> line.serve(lambda name: served.append(name) or True if len(served) < 3 else None)
    >>> served, len(line)
    (['ana', 'bob', 'ana'], 1)
    """

    _rows: dict[str, deque[WaitingPlace[_Given]]] = field(default_factory=dict)
    """The name that is served next comes first."""
    _length: int = 0

    def __len__(self) -> int:
        return self._length

    def join(self, name: str) -> WaitingPlace[_Given]:
        place: WaitingPlace[_Given] = WaitingPlace(name)
        self._rows.setdefault(name, deque()).append(place)
        self._length += 1
        return place

    def leave(self, place: WaitingPlace[_Given]) -> None:
        """Wait no longer, unserved."""
        row = self._rows[place.name]
        first = row[0] is place
        row.remove(place)
        self._length -= 1
        if not row:
            del self._rows[place.name]
        elif first:
            row[0].bell.set()

    def leads(self, place: WaitingPlace[_Given]) -> bool:
        """Whether it is the first of its name."""
        row = self._rows.get(place.name)
        return row is not None and row[0] is place

    def serve(self, take: Callable[[str], _Given | None]) -> None:
        """Give turns while there are any: ``take`` says what one of a name is given, or None where it has to wait."""
        full: set[str] = set()
        while waiting := [name for name in self._rows if name not in full]:
            name = waiting[0]
            given = take(name)
            if given is None:
                full.add(name)
                continue
            row = self._rows.pop(name)
            place = row.popleft()
            self._length -= 1
            place.given = given
            place.bell.set()
            if row:
                row[0].bell.set()
                self._rows[name] = row
