"""The lock file beside a ledger's file: its writers take turns on it, and nobody waits for a turn without a limit."""

from __future__ import annotations

import contextlib
import fcntl
import random
import time
from collections.abc import Iterator

from dpsql.ledger.charges import Busy


@contextlib.contextmanager
def locked(file: int, seconds: float) -> Iterator[None]:
    """Run a block that alone holds the lock of an open file. Raises Busy where others hold it for so many seconds.

    Polling at random moments: no waiter is favoured, none sleeps long.

    >>> import os, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     one, other = os.open(file.name, os.O_RDWR), os.open(file.name, os.O_RDWR)
    ...     with locked(one, 0.01), locked(other, 0.01):
    ...         pass
    Traceback (most recent call last):
    dpsql.ledger.charges.Busy
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as cause:
            if time.monotonic() > deadline:
                raise Busy from cause
            time.sleep(random.uniform(0.0001, 0.001))  # noqa: S311  when to ask again is no secret
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
