"""The owner's record of who asked what at which price: one JSON object a line, only ever added to.

Guarantee: a statement's line has been given to the operating system before its answer leaves, in one write at the end
of the file; so it outlives this process, and the disk's losing power at most takes the last lines. Charges are in the
ledger in any case, flushed, under the ids in ``charges``. Each file is flushed when it is left.

Where a line cannot be written, its answer is withheld, though it may have been charged. No statement is answered until
lines can be written again: waiting lines are tried anew before each statement, and before its charge.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from dpsql.accounting import PrivacyLoss
from dpsql.errors import Error, OperationalError
from dpsql.ledger import decimal
from dpsql.server.operations.events import Charged, Client, Event, LoggedIn, LoggedOut, LoginRefused, StatementEnded

_LOG = logging.getLogger("dpsql.audit")
_LONGEST = 100_000
"""Characters of a text that are written down; a longer one is refused anyway."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)


class Audit:
    """An observer that writes. Thread-safe; other processes may add to the same file."""

    def __init__(self, path: Path) -> None:
        """Raises :class:`OperationalError` where the file cannot be added to."""
        self._path = path
        self._lock = threading.Lock()
        self._unwritten = b""
        self._broken = False
        try:
            self._file = os.open(path, _FLAGS, 0o600)
        except OSError as problem:
            raise OperationalError(
                f"the audit log {path} cannot be written: {problem.strerror}", sqlstate="58030", hint="--audit FILE"
            ) from None

    @property
    def broken(self) -> bool:
        """Whether what happened last could not be written."""
        return self._broken

    def ready(self) -> None:
        """Raise 58030 where something still waits to be written, and cannot be."""
        if not self._broken:
            return
        with self._lock:
            self._write(b"")

    def tell(self, event: Event) -> None:
        """Write an event down. Raises 58030 where it cannot be; it is written when that is possible again."""
        told = _told(event)
        if told is None:
            return
        line = {"time": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")} | dict(told)
        data = json.dumps(line, ensure_ascii=False).encode(errors="replace") + b"\n"
        with self._lock:
            self._write(data)

    def reopen(self) -> None:
        """Go on in a file of the same name: the one until now was moved away. Where there can be none, go on in it."""
        with self._lock:
            try:
                fresh = os.open(self._path, _FLAGS, 0o600)
            except OSError as problem:
                _LOG.error("the audit log cannot be opened again: %s", type(problem).__name__)
                return
            self._file, old = fresh, self._file
            _flushed_and_closed(old)

    def close(self) -> None:
        with self._lock:
            _flushed_and_closed(self._file)

    def _write(self, data: bytes) -> None:
        """Write what is left from before, and ``data``: a line that was torn becomes whole."""
        pending = self._unwritten + data
        try:
            while pending:
                pending = pending[os.write(self._file, pending) :]
        except OSError as problem:
            # What is kept is bounded: no statement runs while something waits.
            self._unwritten = pending
            if not self._broken:
                _LOG.critical("the audit log cannot be written: %s", problem.strerror)
            self._broken = True
            raise _unwritable() from None
        self._unwritten = b""
        if self._broken:
            self._broken = False
            _LOG.warning("the audit log is written again")


def _unwritable() -> Error:
    return OperationalError(
        "the audit log cannot be written; nothing is answered until its owner has seen to it",
        sqlstate="58030",
        hint="what was charged stays charged",
    )


def _flushed_and_closed(file: int) -> None:
    try:
        os.fsync(file)
    except OSError as problem:
        # A pipe or a terminal cannot be flushed.
        _LOG.info("the audit log cannot be flushed: %s", problem.strerror)
    finally:
        os.close(file)


def _told(event: Event) -> Mapping[str, object] | None:
    match event:
        case StatementEnded():
            return {
                "event": "statement",
                **_who(event.client),
                "statement": _shortened(event.statement),
                "parameters": list(event.parameters),
                "outcome": str(event.outcome),
                "sqlstate": event.sqlstate,
                "charged": _digits(event.loss),
                "charges": list(event.charges),
            }
        case LoggedIn(client):
            return {"event": "login", **_who(client), "encrypted": client.encrypted}
        case LoggedOut(client):
            return {"event": "logout", **_who(client)}
        case LoginRefused():
            return {
                "event": "login refused",
                "session": event.session,
                "analyst": event.user[:63],
                "address": event.address,
                "sqlstate": event.sqlstate,
            }
        case Charged():
            return None


def _who(client: Client) -> Mapping[str, object]:
    return {
        "session": client.session,
        "analyst": client.analyst,
        "address": client.address,
        "application": client.application[:64],
    }


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + f"… ({len(text)} characters)"


def _digits(loss: PrivacyLoss) -> Mapping[str, object]:
    """What is not 0 of a loss, with all digits."""
    parts = {"epsilon": loss.epsilon, "rho": loss.rho, "delta": loss.delta}
    box = {name: decimal(part) for name, part in parts.items() if part}
    return box | ({"curve": [decimal(part) for part in loss.curve]} if loss.curve else {})
