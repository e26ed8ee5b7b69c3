"""Who is signed in: sessions by a random cookie, and the token that a page has to send with what it changes.

Guarantee: a session is known by 32 random bytes alone, ends when it is idle or old, and belongs to an analyst or to an
owner, never to both. How often a wrong password may be tried is limited.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

IDLE_SECONDS = 30 * 60.0
LONGEST_SECONDS = 12 * 3600.0
MOST = 500
"""Sessions at once."""

TRIES = 8
"""Wrong passwords of one name within ``TRIES_SECONDS``; then it has to wait."""
TRIES_SECONDS = 60.0


@dataclass(slots=True)
class SignedIn:
    """One browser of one person. ``csrf`` is in its pages and in no cookie; ``close`` lets go of what it holds."""

    name: str
    is_owner: bool
    close: Callable[[], None]
    held: object = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    since: float = field(default_factory=time.monotonic)
    seen: float = field(default_factory=time.monotonic)

    def is_over(self, now: float) -> bool:
        return now - self.seen > IDLE_SECONDS or now - self.since > LONGEST_SECONDS


class SignedInSessions:
    """All of them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, SignedIn] = {}
        self._tries: dict[str, list[float]] = {}

    def add(self, session: SignedIn) -> None:
        with self._lock:
            gone = self._swept()
            while len(self._found) >= MOST:
                oldest = min(self._found.values(), key=lambda one: one.seen)
                gone.append(self._found.pop(oldest.token))
            self._found[session.token] = session
        for one in gone:
            one.close()

    def get(self, token: str) -> SignedIn | None:
        with self._lock:
            gone = self._swept()
            found = self._found.get(token)
            if found is not None:
                found.seen = time.monotonic()
        for one in gone:
            one.close()
        return found

    def remove(self, session: SignedIn) -> None:
        with self._lock:
            self._found.pop(session.token, None)
        session.close()

    def close(self) -> None:
        with self._lock:
            gone, self._found = list(self._found.values()), {}
        for one in gone:
            one.close()

    def may_try(self, name: str) -> bool:
        """Whether a name has not failed too often lately."""
        now = time.monotonic()
        with self._lock:
            recent = [one for one in self._tries.get(name, ()) if now - one < TRIES_SECONDS]
            if recent:
                self._tries[name] = recent
            else:
                self._tries.pop(name, None)
            return len(recent) < TRIES

    def failed(self, name: str) -> None:
        with self._lock:
            if len(self._tries) > 10_000:
                self._tries.clear()
            self._tries.setdefault(name[:64], []).append(time.monotonic())

    def _swept(self) -> list[SignedIn]:
        now = time.monotonic()
        gone = [one for one in self._found.values() if one.is_over(now)]
        for one in gone:
            del self._found[one.token]
        return gone
