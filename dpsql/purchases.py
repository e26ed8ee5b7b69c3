"""One purchase at a time of each release: other statements that need it wait, and then find it in the store.

Guarantee: of all statements that would buy a release at the same time, in this process and in others that share its
folder of releases, one is charged. The others are priced again when it has ended. The release is free for them then, as
it is for everybody who asks later; if the purchase failed or was cancelled, the next statement buys. Whoever comes
first pays.

Why no two statements wait for each other: a statement claims all releases that it buys at once, or none. And it claims
them before it takes a turn of the engine, during which it waits for nobody.
"""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from dpsql.engines import TICK, Patience

try:
    import fcntl
except ImportError:  # No such locks here: processes do not wait for each other.
    fcntl = None  # type: ignore[assignment]

_BYTES = 1 << 60


class Purchases:
    """The purchases under way. Thread-safe; ``place`` is a file beside the releases, whose bytes stand for claims.

    >>> purchases, patience = Purchases(), Patience.of(1.0)
    >>> with purchases.claimed({"a", "b"}, patience), purchases.claimed({"c"}, patience):
    ...     pass
    """

    def __init__(self, place: Path | None = None) -> None:
        self._claims: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._file = _opened(place)
        self._pid = os.getpid()

    def close(self) -> None:
        if self._file is not None and os.getpid() == self._pid:
            os.close(self._file)
            self._file = None

    @contextmanager
    def claimed(self, releases: Collection[str], patience: Patience) -> Iterator[None]:
        """Run a block that alone buys these releases. Raises 57014, and nothing was charged, where it must not wait."""
        wanted = sorted(set(releases))
        while not self._claim(wanted):
            patience.check()
            with self._changed:
                self._changed.wait(TICK)
        try:
            yield
        finally:
            with self._changed:
                self._release(wanted)
                self._changed.notify_all()

    def _claim(self, wanted: list[str]) -> bool:
        """All of them, or none."""
        with self._changed:
            if any(self._claims[name] for name in wanted):
                return False
            for place, name in enumerate(wanted):
                if not self._lock(name):
                    self._release(wanted[:place])
                    return False
                self._claims[name] += 1
        return True

    def _release(self, names: list[str]) -> None:
        for name in names:
            self._set(name, unlock=True)
            del self._claims[name]

    def _lock(self, name: str) -> bool:
        return self._set(name, unlock=False)

    def _set(self, name: str, *, unlock: bool) -> bool:
        """Lock or unlock a byte for all processes. The system unlocks what a process that ends has locked."""
        if self._file is None or fcntl is None or os.getpid() != self._pid:
            return True
        byte = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % _BYTES
        kind = fcntl.F_UNLCK if unlock else fcntl.F_WRLCK
        try:
            # The description of the open file holds the lock: two proxies in one process exclude each other too.
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, byte, 1, 0))
        except BlockingIOError:
            return False
        except OSError:
            return True  # A file system without locks.
        return True


def _opened(place: Path | None) -> int | None:
    if place is None or fcntl is None or not hasattr(fcntl, "F_OFD_SETLK"):
        return None
    try:
        return os.open(place, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
