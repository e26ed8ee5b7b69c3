"""A client's transaction: a matter of form, since every statement stands alone and only reads.

Guarantee: a charge lies outside of it. A rollback takes back settings and cursors, and gives no budget back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dpsql.errors import error
from dpsql.settings import Settings

MAX_SAVEPOINTS = 1_000


class Status(StrEnum):
    """As ReadyForQuery tells it."""

    IDLE = "I"
    OPEN = "T"
    FAILED = "E"


@dataclass(slots=True)
class TransactionBlock:
    """What BEGIN, COMMIT, ROLLBACK and savepoints do to a session's settings.

    >>> from fractions import Fraction
    >>> low, high = Settings(Fraction(1, 10)), Settings(Fraction(1))
    >>> block = TransactionBlock()
    >>> block.begin(low)
    >>> block.end("ROLLBACK", high).epsilon, block.status
    (Fraction(1, 10), <Status.IDLE: 'I'>)
    """

    status: Status = Status.IDLE
    kept: Settings | None = None
    """What the settings are after COMMIT, where a SET LOCAL made them differ until then."""
    _before: Settings | None = None
    _savepoints: list[tuple[str, Settings]] = field(default_factory=list)

    def begin(self, settings: Settings) -> None:
        self.status, self._before = Status.OPEN, settings

    def fail(self) -> None:
        if self.status is Status.OPEN:
            self.status = Status.FAILED

    def check_alive(self) -> None:
        if self.status is Status.FAILED:
            raise error(
                "current transaction is aborted, commands ignored until end of transaction block", sqlstate="25P02"
            )

    def set_local(self, before: Settings) -> bool:
        """Note the settings that a SET LOCAL will give way to; False where there is no transaction to be local to."""
        if self.status is Status.IDLE:
            return False
        self.kept = self.kept or before
        return True

    def end(self, word: str, settings: Settings) -> Settings:
        """The settings after COMMIT or ROLLBACK."""
        if word == "ROLLBACK" and self._before is not None:
            settings = self._before
        elif self.kept is not None:
            settings = self.kept
        self.status, self._before, self.kept = Status.IDLE, None, None
        self._savepoints.clear()
        return settings

    def savepoint(self, word: str, name: str, settings: Settings) -> Settings:
        """The settings after SAVEPOINT, RELEASE or ROLLBACK TO."""
        if self.status is Status.IDLE:
            raise error(f"{word.split()[0]} can only be used in transaction blocks", sqlstate="25P01")
        if word == "SAVEPOINT":
            if len(self._savepoints) >= MAX_SAVEPOINTS:
                raise error("there are too many savepoints", sqlstate="54000", hint="release some")
            self._savepoints.append((name, settings))
            return settings
        places = [place for place, (known, _) in enumerate(self._savepoints) if known == name]
        if not places:
            raise error(f'savepoint "{name}" does not exist', sqlstate="3B001")
        if word == "RELEASE":
            del self._savepoints[places[-1] :]
            return settings
        self.status = Status.OPEN
        del self._savepoints[places[-1] + 1 :]
        return self._savepoints[places[-1]][1]
