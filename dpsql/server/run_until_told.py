"""What runs on an event loop until it is told to end, by a signal or from another thread."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod


class RunUntilTold(ABC):
    """A server, or the foreman of several. Its loop and its event are there once it runs."""

    _loop: asyncio.AbstractEventLoop | None = None
    _stopping: asyncio.Event | None = None

    @property
    def serving(self) -> bool:
        """Whether connections are accepted."""
        return self._stopping is not None and not self._stopping.is_set()

    def stop(self) -> None:
        """End ``run``, from any thread; a second time, without waiting for what runs."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._told_to_stop)

    @abstractmethod
    def _told_to_stop(self) -> None:
        """On the loop."""
