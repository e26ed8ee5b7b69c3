"""How many statements run at once, of one analyst and of all: more wait in line, analyst by analyst in turns.

Guarantee: :meth:`Turns.taken` gives a turn or raises 53300 within ``patience`` of the statement's arrival, whatever the
others do; before a turn nothing is planned, priced or charged. One who floods holds up itself: whoever has room is
served once between two statements of another. Patience begins when a statement arrives and not when a thread takes it
up, so that however many wait, all of them are told at the same time.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dpsql.engines import Cancellation, FairLine, WaitingPlace
from dpsql.errors import Error, error
from dpsql.server.operations.seats import Seats

ALL = 32
"""Statements that run together, unless the policy says otherwise."""
EACH = 16
"""Of one analyst."""
PATIENCE = 30.0
"""Seconds that a statement waits for its turn, from its arrival."""
WAITING = 64
"""Statements of one analyst that wait in threads; more wait for one of those."""
_LOOK = 0.005
"""Seconds between two looks for a seat that another process has given back, of the first of an analyst's line."""
_EVERYBODY = ""
"""The row of all analysts' seats. No analyst has an empty name."""
_IN_LINE = "\0"
"""The row in which each process that has somebody waiting holds a seat."""
_PROCESSES = 16

_Taken = tuple[int, ...]


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
    HINT: at most 1 may, and it waited for 0.01 seconds; nothing was charged: try again when one of them has ended
    """

    all: int = ALL
    each: int = EACH
    patience: float = PATIENCE
    seats: Seats | None = None
    """Those of all processes that serve together, where there are several."""
    _running: Counter[str] = field(default_factory=Counter)
    _line: FairLine[_Taken] = field(default_factory=FairLine)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _in_line: int | None = None

    @property
    def running(self) -> int:
        """In this process."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        return len(self._line)

    @contextmanager
    def taken(
        self, analyst: str, arrived: float | None = None, cancellation: Cancellation | None = None
    ) -> Iterator[float]:
        """Run a block as one of the analyst's statements; the value is how many seconds it has waited since it
        ``arrived``, on the monotonic clock, which is now unless it is given. Raises 53300 where there is no turn for it
        in time, and 57014 where it is cancelled before.
        """
        came = time.monotonic() if arrived is None else arrived
        with self._lock:
            place = self._line.join(analyst)
            self._serve()
        if place.given is None:
            self._wait(place, came + self.patience, cancellation or Cancellation())
        try:
            yield time.monotonic() - came
        finally:
            with self._lock:
                self._give_back(place)

    def _wait(self, place: WaitingPlace[_Taken], end: float, cancellation: Cancellation) -> None:
        """Wait for a turn. Raises where there is none."""
        with cancellation.watching(place.bell.set):
            while place.given is None and not cancellation.cancelled and (left := end - time.monotonic()) > 0:
                # Nobody tells of a seat that another process gives back: the first of a line looks for it.
                looks = self.seats is not None and self._line.leads(place)
                if not place.bell.wait(min(left, _LOOK) if looks else left):
                    with self._lock:
                        self._serve()
                place.bell.clear()
        with self._lock:
            if place.given is None:
                self._line.leave(place)
                self._show_line()
                refusal = None if cancellation.cancelled else self._refusal(place.name)
            elif cancellation.cancelled:
                self._give_back(place)
                refusal = None
            else:
                return
        raise refusal or error("the statement was cancelled; nothing was charged", sqlstate="57014")

    def _serve(self) -> None:
        """Give turns to those whose turn it is."""
        self._line.serve(self._take)
        self._show_line()

    def _take(self, analyst: str) -> _Taken | None:
        """Room for one more statement, taken, as its seats; None where there is none."""
        if self._running[analyst] >= self.each or self._running.total() >= self.all:
            return None
        taken = () if self.seats is None else self._seated(self.seats, analyst)
        if taken is not None:
            self._running[analyst] += 1
        return taken

    def _seated(self, seats: Seats, analyst: str) -> _Taken | None:
        own = seats.take(analyst, self.each)
        if own is None:
            return None
        shared = seats.take(_EVERYBODY, self.all)
        if shared is None:
            seats.give_back(own)
            return None
        return own, shared

    def _give_back(self, place: WaitingPlace[_Taken]) -> None:
        if self.seats is not None:
            for seat in place.given or ():
                self.seats.give_back(seat)
        self._running[place.name] -= 1
        if not self._running[place.name]:
            del self._running[place.name]
        # Where others wait in another process, those here look as they do: no process keeps seats to itself.
        if self.seats is None or not (self.waiting and self.seats.others_hold(_IN_LINE, _PROCESSES)):
            self._serve()

    def _show_line(self) -> None:
        """Hold a seat that says to other processes that somebody waits here, as long as somebody does."""
        if self.seats is None:
            return
        if self.waiting and self._in_line is None:
            self._in_line = self.seats.take(_IN_LINE, _PROCESSES)
        elif not self.waiting and self._in_line is not None:
            self.seats.give_back(self._in_line)
            self._in_line = None

    def _refusal(self, analyst: str) -> Error:
        whose, most = (" of this analyst", self.each) if self._has_most(analyst) else ("", self.all)
        return error(
            f"too many statements{whose} run at once",
            sqlstate="53300",
            hint=f"at most {most} may, and it waited for {self.patience:g} seconds; nothing was charged: "
            "try again when one of them has ended",
        )

    def _has_most(self, analyst: str) -> bool:
        """Whether an analyst's own statements are as many as may run."""
        if self.seats is None:
            return self._running[analyst] >= self.each
        seat = self.seats.take(analyst, self.each)
        if seat is not None:
            self.seats.give_back(seat)
        return seat is None
