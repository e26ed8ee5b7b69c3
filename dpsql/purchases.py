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
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from dpsql.engines import TICK, Patience
from dpsql.shared_locks import SHARED, SharedLocks

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
        self._locks = _opened(place)

    def close(self) -> None:
        if self._locks is not None:
            self._locks.close()

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
                if self._locks is not None and not self._locks.take(_byte(name)):
                    self._release(wanted[:place])
                    return False
                self._claims[name] += 1
        return True

    def _release(self, names: list[str]) -> None:
        for name in names:
            if self._locks is not None:
                self._locks.give_back(_byte(name))
            del self._claims[name]


def _byte(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % _BYTES


def _opened(place: Path | None) -> SharedLocks | None:
    if place is None or not SHARED:
        return None
    try:
        return SharedLocks(place)
    except OSError:
        return None
