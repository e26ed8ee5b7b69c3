"""Turns of an engine: how many calls it computes at once, while the others wait.

Guarantee: nobody waits for a turn without a limit, and nobody waits for one while it holds another: statements that did
would wait for each other for ever.

Why a turn is taken before a charge: a statement that waits for the engine after its charge would lose its budget if it
waited too long. So a statement takes its turn first, and is charged then. The turn is handed to every call that reads,
so that all reads of the statement are within it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self

from dpsql.engines.deadlines import Cancellation
from dpsql.engines.fair_line import FairLine

PATIENCE = 60.0
"""Seconds that a call without a time of its own waits for its turn."""


class TurnWithinTurn(AssertionError):
    """A thread that holds a turn asked for another one."""


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
    ...     with load.within(0.01, turn) as inside:
    ...         inside, load.running
    (True, 1)
    >>> load.running
    0
    """

    most: int
    _running: int = 0
    _line: FairLine[bool] = field(default_factory=FairLine)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _holders: Counter[int] = field(default_factory=Counter)
    """How many turns each thread has taken that last."""

    @property
    def running(self) -> int:
        return self._running

    @property
    def waiting(self) -> int:
        return len(self._line)

    def take(self, timeout: float, cancellation: Cancellation | None = None, name: str = "") -> Turn | None:
        """A turn; None where there is none in time. Who is cancelled stops waiting. Those of one ``name`` wait for each
        other, and for one of every other name at a time. Raises :class:`TurnWithinTurn` where this thread holds one.
        """
        if self._holders.get(threading.get_ident()):
            raise TurnWithinTurn
        wanted = cancellation or Cancellation()
        with self._lock:
            place = self._line.join(name)
            self._line.serve(self._room)
        end = time.monotonic() + timeout
        with wanted.watching(place.bell.set):
            while place.given is None and not wanted.cancelled and (left := end - time.monotonic()) > 0:
                place.bell.wait(left)
                place.bell.clear()
        holder = threading.get_ident()
        with self._lock:
            if place.given is None:
                self._line.leave(place)
                return None
            self._holders[holder] += 1
        turn = Turn(partial(self._give_back, holder))
        if wanted.cancelled:
            turn.end()
            return None
        return turn

    def _room(self, name: str) -> bool | None:
        """Room for one more, taken; None where there is none."""
        if self._running >= self.most:
            return None
        self._running += 1
        return True

    def _give_back(self, holder: int) -> None:
        with self._lock:
            self._running -= 1
            self._holders[holder] -= 1
            if not self._holders[holder]:
                del self._holders[holder]
            self._line.serve(self._room)

    @contextmanager
    def within(self, timeout: float | None, turn: Turn | None = None) -> Iterator[bool]:
        """Run a block in this turn, or in one that is taken for it; the value says whether there was one."""
        if turn is not None and turn.lasts:
            yield True
            return
        taken = self.take(PATIENCE if timeout is None else timeout)
        try:
            yield taken is not None
        finally:
            if taken is not None:
                taken.end()
