"""How those who flood the server are kept from slowing down everybody else.

Threads of Python hold the interpreter in turns. A turn of 5 ms, which is usual, is long beside an answer of 2 ms that
changes threads four times; and a login costs more than it costs to ask for one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

TURN_SECONDS = 0.0005
"""How long a thread may go on while another one waits."""
BURST = 10
"""Connections that are accepted at once."""
RATE = 150.0
"""Connections that are accepted in a second beyond those."""


@contextmanager
def short_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Pace:
    """When the next connection may be accepted: ``BURST`` at once, then ``RATE`` in a second.

    >>> pace = Pace(burst=2, rate=8)
    >>> [pace.wait(now=5.0) for _ in range(4)]
    [0.0, 0.0, 0.125, 0.25]
    """

    def __init__(self, burst: int = BURST, rate: float = RATE) -> None:
        self._burst = burst / rate
        self._step = 1 / rate
        self._due = 0.0

    def wait(self, now: float) -> float:
        """Seconds to wait after one was accepted."""
        self._due = max(self._due, now) + self._step
        return max(self._due - now - self._burst, 0.0)
