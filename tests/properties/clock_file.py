"""A clock that shows what a file says: a test moves it for a proxy, or for all processes of a server, while they run."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpsql.clock import Clock


@dataclass(frozen=True, slots=True)
class ClockFile:
    """A file with one moment in it. Call it, and it is read."""

    path: Path

    def __call__(self) -> datetime.datetime:
        return datetime.datetime.fromisoformat(self.path.read_text())

    def show(self, moment: datetime.datetime) -> None:
        """Set the clock: whoever reads it meanwhile sees the old moment or the new one."""
        whole = self.path.with_name(f"{self.path.name}.new")
        whole.write_text(moment.isoformat())
        whole.replace(self.path)

    def wait(self, time: datetime.timedelta) -> None:
        """Let some time pass."""
        self.show(self() + time)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Make it the clock of all proxies and ledgers that this process opens from now on."""
        patch.setattr("dpsql.opened.Clock", lambda tick, zone: Clock(tick, zone, self))
        patch.setattr("dpsql.ledger.ledger.now", self)
