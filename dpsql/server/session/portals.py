"""Prepared statements and portals: what a client has named, and how far it has read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dpsql.errors import error
from dpsql.server.session.statements import Fetch, Kind, QueryStatement
from dpsql.server.wire import AnswerRows, Field, Formats

MAX_NAMED = 2_000
"""Statements, and portals, that one connection may hold."""
MAX_HELD = 32 << 20
"""Bytes of their names and texts, and of their parameters."""
MAX_NAME = 4_096
"""Characters of a name. PostgreSQL's own have 63, those of drivers rarely more."""
MAX_ROWS = 1_000_000
"""Rows that its portals may hold together."""
_PLACE = 8
"""Bytes that a value takes where it is held, beside its own."""


@dataclass(slots=True)
class PreparedStatement:
    """A statement with the types that its parameters were given. ``kind`` is None for an empty text."""

    text: str
    kind: Kind | None
    given: tuple[int, ...] = ()
    start: int = 0
    types: tuple[int, ...] | None = None
    fields: tuple[Field, ...] | None = None
    """Once they were described: answers keep to them."""
    intervals: bool = False
    """Whether those were described with the ends of intervals, as the session's setting was."""
    told: bool = False
    """Whether the client was told of them."""

    @property
    def size(self) -> int:
        return len(self.text) + _PLACE * len(self.given)


@dataclass(slots=True)
class Portal:
    """A bound statement, or a cursor. ``rows`` is None until it has run; ``position`` is the row it stands on, from 1,
    0 before the first.
    """

    statement: PreparedStatement
    values: tuple[bytes | None, ...] = ()
    formats: Formats = ()
    result_formats: Formats = ()
    cursor: bool = False
    hold: bool = False
    rows: AnswerRows | None = None
    tag: str = ""
    position: int = 0
    told: bool | None = None
    """Whether the client was told of columns with the ends of intervals; None where it was told of none."""

    @property
    def size(self) -> int:
        places = len(self.values) + len(self.formats) + len(self.result_formats)
        return sum(len(value) for value in self.values if value is not None) + _PLACE * places


def spread(formats: Sequence[int], width: int) -> Formats:
    """One format per column: none given is text, a single one is for all."""
    if not formats:
        return (0,) * width
    if len(formats) == 1:
        return (formats[0],) * width
    if len(formats) != width:
        raise error("there is not one format per column", sqlstate="08P01")
    return tuple(formats)


def moved(portal: Portal, fetch: Fetch, count: int) -> range:
    """The places of the rows that FETCH takes, and the portal moved there.

    >>> portal = Portal(PreparedStatement("", None))
    >>> moved(portal, Fetch("c", "FORWARD", 3, False), 5), moved(portal, Fetch("c", "FORWARD", None, False), 5)
    (range(0, 3), range(3, 5))
    >>> moved(portal, Fetch("c", "PRIOR", 1, False), 5), portal.position
    (range(4, 3, -1), 5)
    """
    here = portal.position
    number = count + 1 if fetch.count is None else fetch.count
    match fetch.direction:
        case "FORWARD" | "NEXT" if number > 0:
            return _forward(portal, number, count)
        case "BACKWARD" | "PRIOR" if number > 0:
            return _backward(portal, number)
        case "FORWARD" | "NEXT" if number < 0:
            return _backward(portal, -number)
        case "BACKWARD" | "PRIOR" if number < 0:
            return _forward(portal, -number, count)
        case "FIRST":
            here = 1
        case "LAST":
            here = count
        case "ABSOLUTE":
            here = number if number >= 0 else count + 1 + number
        case "RELATIVE":
            here = here + number
    portal.position = min(max(here, 0), count + 1)
    return range(here - 1, here) if 1 <= here <= count else range(0)


def _forward(portal: Portal, number: int, count: int) -> range:
    start = min(portal.position, count)
    stop = min(start + number, count)
    portal.position = count + 1 if stop - start < number else stop
    return range(start, stop)


def _backward(portal: Portal, number: int) -> range:
    before = portal.position - 1
    stop = max(before - number, 0)
    portal.position = 0 if before - stop < number else stop + 1
    return range(before - 1, stop - 1, -1) if before > stop else range(0)


@dataclass(slots=True)
class Names:
    """The statements and portals of one connection, by name; '' is the unnamed one."""

    statements: dict[str, PreparedStatement] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)

    def statement(self, name: str) -> PreparedStatement:
        found = self.statements.get(name)
        if found is None:
            raise error(f'prepared statement "{name}" does not exist', sqlstate="26000")
        return found

    def portal(self, name: str) -> Portal:
        found = self.portals.get(name)
        if found is None:
            raise error(f'cursor "{name}" does not exist', sqlstate="34000")
        return found

    def query(self, name: str) -> PreparedStatement:
        """A statement that EXECUTE can run: not another EXECUTE, or itself."""
        found = self.statement(name)
        if not isinstance(found.kind, QueryStatement):
            raise error("EXECUTE runs a SELECT only", sqlstate="0A000", hint="PREPARE q AS SELECT …")
        return found

    def cursor(self, name: str) -> Portal:
        """A portal that FETCH can read: not another FETCH, or itself."""
        found = self.portal(name)
        if not isinstance(found.statement.kind, QueryStatement):
            raise error(f'cursor "{name}" has no rows', sqlstate="24000", hint="DECLARE c CURSOR FOR SELECT …")
        return found

    def check_rows(self, more: int) -> None:
        """Raise where so many rows more are too many to hold."""
        held = sum(portal.rows.count for portal in self.portals.values() if portal.rows is not None)
        if held and held + more > MAX_ROWS:
            raise error("the open cursors hold too many rows", sqlstate="54000", hint="close those that are not used")

    def keep_statement(self, name: str, statement: PreparedStatement) -> None:
        if name and name in self.statements:
            raise error(f'prepared statement "{name}" already exists', sqlstate="42P05")
        _check_room(self.statements, name, statement.size)
        self.statements[name] = statement

    def keep_portal(self, name: str, portal: Portal) -> None:
        if name and name in self.portals:
            raise error(f'cursor "{name}" already exists', sqlstate="42P03")
        _check_room(self.portals, name, portal.size)
        self.portals[name] = portal

    def end_transaction(self) -> None:
        """Portals end with their transaction, but for cursors WITH HOLD."""
        self.portals = {name: portal for name, portal in self.portals.items() if portal.hold}

    def clear(self) -> None:
        self.statements.clear()
        self.portals.clear()


def _check_room(held: dict[str, PreparedStatement] | dict[str, Portal], name: str, more: int) -> None:
    if len(name) > MAX_NAME:
        raise error("the name is too long", sqlstate="42622", hint=f"at most {MAX_NAME:,} characters")
    size = sum(len(known) + one.size for known, one in held.items())
    if len(held) >= MAX_NAMED or size + len(name) + more > MAX_HELD:
        raise error("there are too many open statements", sqlstate="54000", hint="close those that are not used")
