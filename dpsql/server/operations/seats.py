"""Seats that several processes share: what there is a limit of, such as statements that run, takes one each.

Guarantee: no two processes have the same seat, and the system gives back the seats of a process that ends, in whatever
way. Taking one asks no other process: it costs a few microseconds.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from dpsql.shared_locks import SharedLocks

_ROW = 1 << 20
"""Seats of a row, at most."""
_ROWS = 1 << 40


class Seats:
    """Rows of seats, by name. Not thread-safe: for whoever holds a lock."""

    def __init__(self, locks: SharedLocks) -> None:
        self._locks = locks
        self._held: set[int] = set()

    def take(self, row: str, most: int) -> int | None:
        """A free seat of a row that has so many; None where there is none."""
        first = _first(row)
        for seat in range(first, first + min(most, _ROW)):
            if seat not in self._held and self._locks.take(seat):
                self._held.add(seat)
                return seat
        return None

    def others_hold(self, row: str, most: int) -> bool:
        """Whether another process has a seat of a row."""
        first = _first(row)
        for seat in range(first, first + min(most, _ROW)):
            if seat in self._held:
                continue
            if not self._locks.take(seat):
                return True
            self._locks.give_back(seat)
        return False

    def give_back(self, seat: int) -> None:
        self._held.remove(seat)
        self._locks.give_back(seat)


@lru_cache(maxsize=1024)
def _first(row: str) -> int:
    return int.from_bytes(hashlib.sha256(row.encode(errors="replace")).digest()[:8]) % _ROWS * _ROW
