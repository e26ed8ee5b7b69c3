"""How many calls an engine computes at once; the others wait, and are told apart.

Why a turn is taken before a charge: what waits for the engine after it was charged would lose its budget if it waited
too long. So a statement takes its turn first, is charged then, and whatever it reads is read within that turn, which is
handed to every call that reads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from dpsql.engines.deadlines import Cancellation


class Turn:
    """One of the turns of an engine, until it ends: once, on any thread, whatever happens within."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back = give_back
        self._ending = threading.Lock()
        self._ended = False

    @property
    def lasts(self) -> bool:
        return not self._ended

    def end(self) -> None:
        with self._ending:
            ended, self._ended = self._ended, True
        if not ended:
            self._give_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


@dataclass(slots=True)
class Load:
    """At most ``most`` turns last at a time.

    >>> load = Load(1)
    >>> with load.take(0.01) as turn:
    ...     load.take(0.01) is None, load.running
    ...     with load.within(0.01, turn) as inside:
    ...         inside, load.running
    (True, 1)
    (True, 1)
    >>> load.running
    0
    """

    most: int
    _running: int = 0
    _waiting: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def running(self) -> int:
        return self._running

    @property
    def waiting(self) -> int:
        return self._waiting

    def take(self, timeout: float | None, cancellation: Cancellation | None = None) -> Turn | None:
        """A turn; None where there is none in time. Who is cancelled stops waiting."""
        wanted = cancellation or Cancellation()
        with wanted.watching(self._wake), self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._running < self.most or wanted.cancelled, timeout)
                if wanted.cancelled or self._running >= self.most:
                    return None
            finally:
                self._waiting -= 1
            self._running += 1
        return Turn(self._give_back)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _give_back(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify()

    @contextmanager
    def within(self, timeout: float | None, turn: Turn | None = None) -> Iterator[bool]:
        """Run a block in this turn, or in one that is taken for it; the value says whether there was one."""
        if turn is not None and turn.lasts:
            yield True
            return
        taken = self.take(timeout)
        try:
            yield taken is not None
        finally:
            if taken is not None:
                taken.end()
