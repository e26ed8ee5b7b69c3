"""Python's collector of garbage, in a process that serves, or is a command.

A statement that is planned makes tens of thousands of nodes of trees, each of which knows its parent: they go when the
collector looks at them, not before. By Python's own thresholds it looks at the young ones every 700 objects, which took
a third of the processor's time of new statements; waiting for more of them takes some megabytes instead.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG = 50_000
_OLDER, _OLDEST = 20, 2
"""Collections of younger objects to one of older ones, and of these to one of all: what a statement leaves behind that
was planned while the collector looked is seen to after some hundred others, for a fiftieth of their time."""


def seldom() -> None:
    """The collector looks after so many more objects: the imports of a command make hundreds of thousands that stay."""
    gc.set_threshold(_YOUNG, _OLDER, _OLDEST)


@contextmanager
def settled() -> Iterator[None]:
    """What is loaded by now stays for ever: no collection looks at it again, nor often at what comes and goes.

    >>> usual = gc.get_threshold()
    >>> with settled():
    ...     gc.get_freeze_count() > 0, gc.get_threshold()
    (True, (50000, 20, 2))
    >>> gc.get_freeze_count(), gc.get_threshold() == usual
    (0, True)
    """
    usual = gc.get_threshold()
    gc.collect()
    gc.freeze()
    seldom()
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
