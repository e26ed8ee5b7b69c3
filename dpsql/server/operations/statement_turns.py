"""How many statements run at once, of one analyst and of all: more are told so, at once.

Guarantee: :meth:`Turns.taken` gives a turn or raises 53300 within ``PATIENCE`` of the statement's arrival, whatever the
others do; before a turn nothing is planned, priced or charged. Patience begins when a statement arrives and not when a
thread takes it up, so that however many wait, all of them are told at the same time.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dpsql.errors import Error, error
from dpsql.server.operations.seats import Seats

ALL = 32
"""Statements that run together, unless the policy says otherwise."""
EACH = 16
"""Of one analyst."""
PATIENCE = 0.5
"""Seconds that a statement waits for its turn, from its arrival."""
_LOOK = 0.005
"""Seconds between two looks for a seat that another process has given back."""
_EVERYBODY = ""
"""The row of all analysts' seats. No analyst has an empty name."""


@dataclass(slots=True)
class Turns:
    """Thread-safe.

    >>> turns = Turns(all=2, each=1, patience=0.01)
    >>> with turns.taken("ana"), turns.taken("bob"):
    ...     turns.running
    2
    >>> with turns.taken("ana"), turns.taken("ana"):
    ...     pass
    Traceback (most recent call last):
    dpsql.errors.OperationalError: too many statements of this analyst run at once
    HINT: at most 1 may: try again when one of them has ended
    """

    all: int = ALL
    each: int = EACH
    patience: float = PATIENCE
    seats: Seats | None = None
    """Those of all processes that serve together, where there are several."""
    _running: Counter[str] = field(default_factory=Counter)
    _waiting: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def running(self) -> int:
        """In this process."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        return self._waiting

    @contextmanager
    def taken(self, analyst: str, arrived: float | None = None) -> Iterator[None]:
        """Run a block as one of the analyst's statements. Raises 53300 where there is no turn for it in time;
        ``arrived`` is when it came, on the monotonic clock, and now unless it is given.
        """
        with self._changed:
            end = (time.monotonic() if arrived is None else arrived) + self.patience
            seats = self._take(analyst)
            if seats is None:
                seats = self._waited(analyst, end)
            self._running[analyst] += 1
        try:
            yield
        finally:
            with self._changed:
                self._give_back(seats)
                self._running[analyst] -= 1
                if not self._running[analyst]:
                    del self._running[analyst]
                self._changed.notify_all()

    def _take(self, analyst: str) -> tuple[int, ...] | None:
        """Room for one more statement, as the seats that it takes; None where there is none."""
        if self._running[analyst] >= self.each or self._running.total() >= self.all:
            return None
        if self.seats is None:
            return ()
        own = self.seats.take(analyst, self.each)
        if own is None:
            return None
        shared = self.seats.take(_EVERYBODY, self.all)
        if shared is None:
            self.seats.give_back(own)
            return None
        return own, shared

    def _give_back(self, seats: tuple[int, ...]) -> None:
        for seat in seats:
            if self.seats is not None:
                self.seats.give_back(seat)

    def _waited(self, analyst: str, end: float) -> tuple[int, ...]:
        self._waiting += 1
        try:
            while (left := end - time.monotonic()) > 0:
                # Nobody tells of a seat that another process gives back.
                self._changed.wait(left if self.seats is None else min(left, _LOOK))
                if (seats := self._take(analyst)) is not None:
                    return seats
        finally:
            self._waiting -= 1
        raise self._refusal(analyst)

    def _refusal(self, analyst: str) -> Error:
        whose, most = (" of this analyst", self.each) if self._has_most(analyst) else ("", self.all)
        return error(
            f"too many statements{whose} run at once",
            sqlstate="53300",
            hint=f"at most {most} may: try again when one of them has ended",
        )

    def _has_most(self, analyst: str) -> bool:
        """Whether an analyst's own statements are as many as may run."""
        if self.seats is None:
            return self._running[analyst] >= self.each
        seat = self.seats.take(analyst, self.each)
        if seat is not None:
            self.seats.give_back(seat)
        return seat is None
