"""A sign of life while a statement takes long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

SECONDS = 2.0
_CELLS = 20
_RUNS = "the statement runs …"


@contextmanager
def waiting(console: Console, seconds: float = SECONDS) -> Iterator[Callable[[int, int], None]]:
    """After two seconds a terminal shows that the statement still runs, and, once the function that it is handed is
    told of steps, a bar of them; nothing else is printed anywhere."""
    if not console.is_terminal:
        yield lambda step, of: None
        return
    status = console.status(_RUNS)
    timer = threading.Timer(seconds, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda step, of: status.update(f"{_RUNS} {bar(step - 1, of)} step {step} of {of}")
    finally:
        timer.cancel()
        timer.join(seconds)
        status.stop()


def bar(done: int, of: int) -> str:
    """A bar of as many cells as are done.

    >>> bar(3, 7)
    '━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌'
    """
    full = done * _CELLS // of
    return "━" * full + "╌" * (_CELLS - full)
