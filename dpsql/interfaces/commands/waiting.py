"""A sign of life while a statement takes long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

SECONDS = 2.0


@contextmanager
def waiting(console: Console, seconds: float = SECONDS) -> Iterator[None]:
    """After two seconds a terminal shows that the statement still runs; nothing else is printed anywhere."""
    if not console.is_terminal:
        yield
        return
    status = console.status("the statement runs …")
    timer = threading.Timer(seconds, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
