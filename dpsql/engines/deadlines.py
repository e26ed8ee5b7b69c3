"""Interrupting what runs too long, or what its analyst cancels.

One thread watches all deadlines: a timer for each query would cost more than the query.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dpsql.engines.failures import cancelled, waited_too_long

TICK = 0.05
"""Seconds between two looks at the clock."""


@dataclass(slots=True, eq=False)
class Deadline:
    """When ``interrupt`` is called; ``passed`` says that it was."""

    at: float
    interrupt: Callable[[], None]
    passed: bool = False


@dataclass(slots=True)
class Cancellation:
    """Ends one statement from another thread. What runs under it is interrupted once; what comes later, at once.

    >>> cancellation = Cancellation()
    >>> rung = threading.Event()
    >>> with cancellation.watching(rung.set):
    ...     cancellation.cancel()
    ...     rung.is_set(), cancellation.cancelled
    (True, True)
    """

    cancelled: bool = False
    _paid: bool = False
    _running: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cancel(self) -> None:
        with self._lock:
            self._interrupt()

    def leave(self) -> None:
        """Cancel for a client that has gone: what it has paid for goes on, and is kept for whoever asks again."""
        with self._lock:
            if not self._paid:
                self._interrupt()

    def pay(self) -> bool:
        """Whether the statement may be charged now: from here on nobody's leaving ends it.

        >>> left, paid = Cancellation(), Cancellation()
        >>> left.leave()
        >>> left.pay(), paid.pay()
        (False, True)
        >>> paid.leave()
        >>> paid.cancelled
        False
        """
        with self._lock:
            self._paid = not self.cancelled
            return self._paid

    def _interrupt(self) -> None:
        self.cancelled = True
        for interrupt in self._running:
            interrupt()
        self._running.clear()

    @contextmanager
    def watching(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Run a block that ``cancel`` interrupts; it is never called after the block has ended."""
        with self._lock:
            self._running.append(interrupt)
            if self.cancelled:
                interrupt()
        try:
            yield
        finally:
            with self._lock:
                if interrupt in self._running:
                    self._running.remove(interrupt)


Progress = Callable[[int, int], None]
"""Is told that step k of n begins, from 1 on: how many there are follows from the SQL text and the policy."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a statement waits before it is charged: until its time is over, or its analyst cancels it. ``progress``
    is told before each read of a statement that reads more than once.

    >>> Patience.of(60.0).check()
    >>> Patience.of(0.0).check()
    Traceback (most recent call last):
    dpsql.errors.OperationalError: the statement waited for longer than 0 seconds
    HINT: nothing was charged: try again
    """

    seconds: float
    end: float
    cancellation: Cancellation
    progress: Progress | None = None

    @classmethod
    def of(cls, seconds: float, cancellation: Cancellation | None = None, progress: Progress | None = None) -> Patience:
        """From now on."""
        return cls(seconds, time.monotonic() + seconds, cancellation or Cancellation(), progress)

    @property
    def left(self) -> float:
        return max(0.0, self.end - time.monotonic())

    def check(self) -> None:
        """Raise 57014 where the statement is not to be charged any more."""
        if self.cancellation.cancelled:
            raise cancelled(charged=False)
        if not self.left:
            raise waited_too_long(self.seconds)

    def pay(self) -> None:
        """Right before a charge: raise as :meth:`check` does, or let what follows go on for a client that leaves."""
        self.check()
        if not self.cancellation.pay():
            raise cancelled(charged=False)


@dataclass(slots=True)
class Deadlines:
    """Calls ``interrupt`` once when a deadline passes, at most a tick late, and never after the block has ended.

    >>> deadlines = Deadlines()
    >>> rung = threading.Event()
    >>> with deadlines.within(0.01, rung.set) as deadline:
    ...     rung.wait(5)
    True
    >>> deadline.passed
    True
    >>> deadlines.close()
    """

    _pending: set[Deadline] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @contextmanager
    def within(self, seconds: float | None, interrupt: Callable[[], None]) -> Iterator[Deadline]:
        """Run a block that is interrupted after ``seconds``; None is for ever."""
        deadline = Deadline(float("inf") if seconds is None else time.monotonic() + seconds, interrupt)
        if seconds is None:
            yield deadline
            return
        with self._lock:
            self._pending.add(deadline)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="dpsql-deadlines", daemon=True)
                self._thread.start()
        try:
            yield deadline
        finally:
            with self._lock:
                self._pending.discard(deadline)

    def close(self) -> None:
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(TICK):
            now = time.monotonic()
            with self._lock:
                for deadline in [pending for pending in self._pending if pending.at <= now]:
                    self._pending.discard(deadline)
                    deadline.passed = True
                    deadline.interrupt()
