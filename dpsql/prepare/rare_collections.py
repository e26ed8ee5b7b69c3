"""Planning with a collector of cyclic garbage that runs rarely: it took half of the time of a long statement.

A syntax tree is garbage only once its statement is planned, and each node of it counts as something new to look
through. Python looks after every 700 new objects; while anything is planned here it looks after so many that a
statement sees a few collections. It is never off: what many sessions leave behind is collected all the same.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 100_000
"""So many new objects, some 20 MB, between two collections."""

_LOCK = threading.Lock()
_usual: list[tuple[int, int, int]] = []
"""The thresholds to be restored, as often as something is planned now."""


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Fewer collections until the last that asked for it is done; a collector that is off stays off.

    >>> before = gc.get_threshold()
    >>> with collecting_rarely(), collecting_rarely():
    ...     gc.get_threshold()[0] == max(before[0], NEW_OBJECTS) or before[0] == 0
    True
    >>> gc.get_threshold() == before
    True
    """
    with _LOCK:
        now = _usual[0] if _usual else gc.get_threshold()
        if not _usual and 0 < now[0] < NEW_OBJECTS:
            gc.set_threshold(NEW_OBJECTS, *now[1:])
        _usual.append(now)
    try:
        yield
    finally:
        with _LOCK:
            now = _usual.pop()
            if not _usual:
                gc.set_threshold(*now)
