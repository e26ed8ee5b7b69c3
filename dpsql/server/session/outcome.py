"""The input and the output of a session: a bound statement, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass

from dpsql.server.session import statements as sql
from dpsql.server.session.portals import PreparedStatement
from dpsql.server.wire import AnswerRows, Formats


@dataclass(frozen=True, slots=True)
class Notice:
    message: str
    severity: str = "NOTICE"
    sqlstate: str = "00000"
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement came to: a tag, rows where there are any, and the places of those to send."""

    tag: str
    rows: AnswerRows | None = None
    places: range = range(0)
    notices: tuple[Notice, ...] = ()
    copy: sql.Copy | None = None


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """A statement with its parameters, and the formats that its rows are wanted in."""

    statement: PreparedStatement
    values: tuple[bytes | None, ...] = ()
    formats: Formats = ()
    result_formats: Formats = ()
    limit: int = 0
    """How many rows a client asks for at a time; 0 is all."""
