"""The server's log: lines on stderr that hold no row, no literal of a statement and no engine's words.

Guarantee: a line is made of this package's own fixed texts, of names that the policy gives, of SQLSTATEs, classes of
errors, places in the source and numbers. A statement stands there as its kind, its price and a fingerprint, a hash of
its text without literals. Of another package's records only the name, the level and the class of an error are told:
their texts may hold anything. What an engine says of an error, with the rows in it, is told on one condition: that the
owner asks for it with ``--log-engine-errors``.

Why a queue: who reads stderr may stop reading, and no statement waits for them. What does not fit is counted, and lost.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any

from dpsql.ledger import decimal
from dpsql.server.operations.events import (
    Charged,
    Client,
    Event,
    LoggedIn,
    LoggedOut,
    LoginRefused,
    StatementEnded,
    fingerprint,
)

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")
ENGINE_WORDS = "dpsql.engine.words"
"""The logger of what engines say. It is off, unless the owner turned it on."""
_WAITING = 10_000
_LOG = logging.getLogger("dpsql.server")


def event(level: int, name: str, **fields: object) -> None:
    """Log something that happened; ``fields`` are values that may stand in a log."""
    _LOG.log(level, name, extra={"dpsql": fields})


def to_stderr(data: bytes) -> int:
    """Past the buffer of ``sys.stderr``, whose lock somebody who does not read would hold."""
    return os.write(2, data)


@dataclass(slots=True)
class Log:
    """The log of one server process. ``lost`` counts the lines that nobody read in time."""

    lost: int = 0
    write: Callable[[bytes], int] = to_stderr
    _lines: queue.Queue[str | None] = field(default_factory=lambda: queue.Queue(_WAITING))
    _thread: threading.Thread | None = None
    _undo: list[Callable[[], None]] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        format_: str,
        level: str,
        *,
        engine_errors: bool = False,
        write: Callable[[bytes], int] = to_stderr,
    ) -> Log:
        """From now on everything that is logged in this process goes to stderr, in this way."""
        log = cls(write=write)
        root, words = logging.getLogger(), logging.getLogger(ENGINE_WORDS)
        log._undo.append(partial(_restore, root.handlers[:], root.level, words.disabled))
        log._undo.append(partial(_hook, sys.excepthook, threading.excepthook, sys.unraisablehook))
        root.handlers[:] = [_Queued(log, _as_json if format_ == "json" else _as_text)]
        root.setLevel(level.upper())
        words.disabled = not engine_errors
        logging.captureWarnings(True)
        _hook(_unhandled, _unhandled_in, _unhandled_in)
        log._thread = threading.Thread(target=log._write, name="dpsql log", daemon=True)
        log._thread.start()
        if engine_errors:
            event(logging.WARNING, "the database's own words are logged, and may hold values of rows")
        return log

    def put(self, line: str) -> None:
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.lost += 1

    def close(self) -> None:
        """Write what waits, for a second at most; what is logged then goes where it went before."""
        while self._undo:
            self._undo.pop()()
        try:
            self._lines.put(None, timeout=1)
        except queue.Full:
            return
        if self._thread is not None:
            self._thread.join(1)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            data = line.encode(errors="backslashreplace") + b"\n"
            try:
                while data:
                    data = data[self.write(data) :]
            except OSError:
                self.lost += 1


class LogObserver:
    """Tells the log of events: statements and connections as ``info``, a refused login as ``warning``."""

    def ready(self) -> None:
        """There is always a log, even where nobody reads it."""

    def tell(self, event_: Event) -> None:
        match event_:
            case StatementEnded():
                event(logging.INFO, "statement", **_statement(event_))
            case LoggedIn(client):
                event(logging.INFO, "login", **_who(client), encrypted=client.encrypted)
            case LoggedOut(client):
                event(logging.INFO, "logout", **_who(client))
            case LoginRefused():
                # What a stranger calls themselves may be a password, typed into the wrong line.
                user = event_.user if event_.known else None
                event(
                    logging.WARNING, "login refused", session=event_.session, analyst=user, address=event_.address,
                    sqlstate=event_.sqlstate,
                )  # fmt: skip
            case Charged():
                pass


def _statement(asked: StatementEnded) -> Mapping[str, object]:
    parts = {"epsilon": asked.loss.epsilon, "rho": asked.loss.rho, "delta": asked.loss.delta}
    return {
        **_who(asked.client),
        "outcome": str(asked.outcome),
        "sqlstate": asked.sqlstate,
        "fingerprint": fingerprint(asked.statement),
        **{name: decimal(part) for name, part in parts.items() if part},
        **({"curve": [decimal(part) for part in asked.loss.curve]} if asked.loss.curve else {}),
        "seconds": round(asked.seconds, 6),
    }


def _who(client: Client) -> Mapping[str, object]:
    return {"session": client.session, "analyst": client.analyst, "address": client.address}


class _Queued(logging.Handler):
    def __init__(self, log: Log, line: Callable[[logging.LogRecord], str]) -> None:
        super().__init__()
        self._log = log
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._log.put(self._line(record))
        except Exception:
            self._log.lost += 1


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """What a record may say."""
    if record.name != "dpsql" and not record.name.startswith("dpsql."):
        raised = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        return {"event": "another package's message", "error": raised}
    return {"event": record.getMessage(), **getattr(record, "dpsql", {})}


def _as_json(record: logging.LogRecord) -> str:
    line = {"time": _time(record), "level": record.levelname.lower(), "logger": record.name} | _fields(record)
    return json.dumps(line, ensure_ascii=False, default=str)


def _as_text(record: logging.LogRecord) -> str:
    fields = _fields(record)
    said = [f"{name}={value}" for name, value in fields.items() if name != "event" and value is not None]
    return " ".join([_time(record), f"{record.levelname:<8}", str(fields["event"]), *said]).replace("\n", " ")


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _restore(handlers: list[logging.Handler], level: int, without_words: bool) -> None:
    root = logging.getLogger()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger(ENGINE_WORDS).disabled = without_words
    logging.captureWarnings(False)


def _hook(main: Any, thread: Any, unraisable: Any) -> None:
    """Sets the hooks for exceptions that nobody caught: of the main thread, of other threads, and unraisable ones."""
    sys.excepthook, threading.excepthook, sys.unraisablehook = main, thread, unraisable


def _unhandled_in(raised: Any) -> None:
    _unhandled(raised.exc_type, raised.exc_value, raised.exc_traceback)


def _unhandled(kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
    """Logs an exception that nobody caught: its class and where it was raised, none of its words."""
    place = "?"
    while traceback is not None:
        place = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    event(logging.CRITICAL, "unhandled error", error=kind.__name__ if kind is not None else None, place=place)
