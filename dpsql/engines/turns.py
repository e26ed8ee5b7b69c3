"""How many calls an engine computes at once; the others wait, and are told apart.

Why a reservation: what waits for the engine after it was charged would lose its budget if it waited too long. So a
statement takes its turn first, is charged then, and whatever it reads is read within that turn.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dpsql.engines.deadlines import Cancellation


@dataclass(slots=True)
class Load:
    """At most ``most`` threads are inside at a time. A thread that has entered is inside until it leaves.

    >>> load = Load(1)
    >>> load.enter(0.01), load.enter(0.01), load.running
    (True, True, 1)
    >>> load.leave()
    >>> with load.within(0.01) as inside:
    ...     inside, load.running
    (True, 1)
    >>> load.running
    0
    """

    most: int
    _running: int = 0
    _waiting: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _own: threading.local = field(default_factory=threading.local)

    @property
    def running(self) -> int:
        return self._running

    @property
    def waiting(self) -> int:
        return self._waiting

    def enter(self, timeout: float | None, cancellation: Cancellation | None = None) -> bool:
        """Take a turn for this thread, unless it has one; whether it has one now. Who is cancelled stops waiting."""
        if self._inside:
            return True
        wanted = cancellation or Cancellation()
        with wanted.watching(self._wake), self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._running < self.most or wanted.cancelled, timeout)
                if wanted.cancelled or self._running >= self.most:
                    return False
            finally:
                self._waiting -= 1
            self._running += 1
        self._own.inside = True
        return True

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def leave(self) -> None:
        """Give this thread's turn to another, if it has one."""
        if self._inside:
            self._own.inside = False
            with self._changed:
                self._running -= 1
                self._changed.notify()

    @contextmanager
    def within(self, timeout: float | None) -> Iterator[bool]:
        """Run a block in this thread's turn, or in one that is taken for it; the value says whether there was one."""
        before = self._inside
        try:
            yield self.enter(timeout)
        finally:
            if not before:
                self.leave()

    @property
    def _inside(self) -> bool:
        return bool(getattr(self._own, "inside", False))
