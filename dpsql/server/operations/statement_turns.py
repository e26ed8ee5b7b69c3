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

ALL = 32
"""Statements that run together, unless the policy says otherwise."""
EACH = 16
"""Of one analyst."""
PATIENCE = 0.5
"""Seconds that a statement waits for its turn, from its arrival."""


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
    _running: Counter[str] = field(default_factory=Counter)
    _waiting: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def running(self) -> int:
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
            if not self._free(analyst) and not self._waited(analyst, end):
                raise self._refusal(analyst)
            self._running[analyst] += 1
        try:
            yield
        finally:
            with self._changed:
                self._running[analyst] -= 1
                if not self._running[analyst]:
                    del self._running[analyst]
                self._changed.notify_all()

    def _free(self, analyst: str) -> bool:
        return self._running[analyst] < self.each and self._running.total() < self.all

    def _waited(self, analyst: str, end: float) -> bool:
        self._waiting += 1
        try:
            return self._changed.wait_for(lambda: self._free(analyst), max(0.0, end - time.monotonic()))
        finally:
            self._waiting -= 1

    def _refusal(self, analyst: str) -> Error:
        own = self._running[analyst] >= self.each
        whose, most = (" of this analyst", self.each) if own else ("", self.all)
        return error(
            f"too many statements{whose} run at once",
            sqlstate="53300",
            hint=f"at most {most} may: try again when one of them has ended",
        )
