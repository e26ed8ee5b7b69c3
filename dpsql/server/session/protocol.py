"""The PostgreSQL protocol, version 3, without any input or output of its own: bytes in, bytes out.

Guarantee: any bytes lead to answers, errors, or the end of this connection, and never to an exception outside of it.
``respond`` may take long (it plans, charges, runs); it is called from a thread of the server, one call at a time.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Iterator
from enum import StrEnum

import dpsql.server.wire.copy as copying
from dpsql.errors import Error, error
from dpsql.server.operations import Client, LoggedIn, LoginRefused
from dpsql.server.session import statements as sql
from dpsql.server.session.backend import Backend
from dpsql.server.session.login import Admission, Gate, Peer
from dpsql.server.session.observed import Watch, WatchedSession
from dpsql.server.session.outcome import BoundStatement, Notice, Outcome
from dpsql.server.session.portals import PreparedStatement, spread
from dpsql.server.session.session import WireSession
from dpsql.server.session.wire_settings import STATUS, reported, startup_settings
from dpsql.server.wire import ScramServer
from dpsql.server.wire import messages as m
from dpsql.settings import Settings

_LOG = logging.getLogger("dpsql.server")

CHUNK = 1_000
"""Rows that are encoded at a time."""
BEFORE_LOGIN = 10 * 1024
AFTER_LOGIN = 8 * 1024 * 1024
"""Bytes of one message. A statement is limited further."""
MAX_REQUESTS = 4
"""Requests for encryption that one connection may send. A client sends one of each kind."""

_ENDED = "the connection is closed"


class Upgrade(StrEnum):
    """The transport's next step, once the bytes of a response are sent."""

    NONE = "none"
    TLS = "tls"


class Protocol:
    """One connection. ``feed`` takes bytes, ``respond`` yields bytes; ``closed`` says that it is over."""

    def __init__(
        self,
        backend: Backend,
        gate: Gate,
        peer: Peer,
        *,
        tls: bool,
        key: tuple[int, bytes] | None = None,
        cancel: Callable[[int, bytes], None] = lambda pid, secret: None,
        cancel_own: Callable[[int, str], bool] = lambda pid, analyst: False,
        watch: Watch | None = None,
        crowded: Callable[[str], bool] = lambda analyst: False,
    ) -> None:
        self.peer = peer
        self.closed = False
        self.upgrade = Upgrade.NONE
        self.session: WatchedSession | None = None
        self.aside: Callable[[bytes], None] = lambda data: None
        """Sends whole messages while ``respond`` is at work; called from its thread."""
        self.key = key or (1, secrets.token_bytes(4))
        self._backend = backend
        self._gate = gate
        self._tls = tls
        self._cancel = cancel
        self._cancel_own = cancel_own
        self._watch = watch or Watch()
        self._crowded = crowded
        self._ended_paid = False
        self._framer = m.Framer(BEFORE_LOGIN)
        self._skipping = False
        self._scram: ScramServer | None = None
        self._admission: Admission | None = None
        self._options: dict[str, str] = {}
        self._requests = 0

    @property
    def ready(self) -> bool:
        """Whether the analyst is logged in."""
        return self.session is not None

    @property
    def buffered(self) -> bool:
        """Whether bytes wait that are not a whole message yet."""
        return self._framer.buffered > 0

    @property
    def asked(self) -> bool:
        """Whether what was fed is to be answered: a whole message, or what cannot become one."""
        return self._framer.whole

    def feed(self, data: bytes) -> None:
        if self.session is not None:
            self.session.arrived = time.monotonic()
        self._framer.feed(data)

    def cancel(self) -> None:
        """End what runs now; called from another thread."""
        if self.session is not None:
            self.session.cancel()

    def hung_up(self) -> None:
        """The client has gone: begin nothing more, and end what was not charged. Called from another thread.

        A stranger's last bytes are read all the same: who asks to cancel does not wait.
        """
        if self.session is not None:
            self.closed = True
            self.session.hung_up()

    def abandon(self) -> None:
        """The client is gone or is sent away: end what runs, begin nothing more. Called from another thread."""
        self._ended_paid = self._ended_paid or (self.session is not None and self.session.paying)
        self.closed = True
        self.cancel()

    def goodbye(self) -> bytes:
        """What a client is told when the server stops: also whether the statement that this ends was paid for."""
        hint = "the statement that ran was charged, and what was charged stays charged" if self._ended_paid else ""
        return m.error("FATAL", "57P01", "terminating connection due to administrator command", hint)

    def respond(self) -> Iterator[bytes]:
        """Answer what was fed, message by message."""
        try:
            while not self.closed and self.upgrade is Upgrade.NONE:
                message = self._framer.next()
                if message is None:
                    return
                yield from self._on(message)
        except m.ProtocolViolation as violation:
            yield self._fatal(violation.sqlstate, violation.message)
        except Error as refused:
            if self.session is None:
                self._login_refused(refused)
            yield self._fatal(refused.sqlstate, refused.message, refused.hint)
        except Exception as unforeseen:
            _LOG.error("a connection failed: %s", type(unforeseen).__name__)
            yield self._fatal("XX000", "internal error; the owner's log names the kind")

    def _fatal(self, sqlstate: str, message: str, hint: str = "") -> bytes:
        self.closed = True
        return m.error("FATAL", sqlstate, message, hint)

    def _login_refused(self, refused: Error) -> None:
        user = self._options.get("user", "")
        with contextlib.suppress(Error):
            self._watch.tell(
                LoginRefused(self.key[0], user, self._gate.knows(user), self.peer.address, refused.sqlstate)
            )

    def _on(self, message: m.Frontend) -> Iterator[bytes]:
        if self.session is None:
            yield from self._before_login(message)
        elif isinstance(message, m.Terminate):
            self.closed = True
        elif isinstance(message, m.Password):
            raise m.ProtocolViolation("there is no password to be given now")
        elif isinstance(message, m.Sync):
            self._skipping = False
            self.session.synced()
            yield m.ready(self.session.status)
        elif isinstance(message, m.Flush | m.CopyData | m.CopyDone | m.CopyFail) or message == m.Unreadable("f"):
            # Answers are never held back, and nothing is ever copied in.
            return
        elif self._skipping:
            return
        elif isinstance(message, m.QueryMessage):
            yield from self._simple(self.session, message.sql)
        elif message == m.Unreadable("Q"):
            self.session.failed()
            yield _error(_unreadable())
            self.session.synced()
            yield m.ready(self.session.status)
        elif isinstance(message, m.FunctionCall):
            self.session.failed()
            yield m.error("ERROR", "0A000", "function calls are not answered", "send a SELECT")
            yield m.ready(self.session.status)
        else:
            yield from self._extended(self.session, message)

    # Before login

    def _before_login(self, message: m.Frontend) -> Iterator[bytes]:
        if isinstance(message, m.SSLRequest | m.GSSENCRequest):
            self._requests += 1
            if self._requests > MAX_REQUESTS:
                raise m.ProtocolViolation("too many requests for encryption")
        if isinstance(message, m.SSLRequest):
            if self._tls and self.peer.certificate is None:
                self.upgrade = Upgrade.TLS
                yield b"S"
            else:
                yield b"N"
        elif isinstance(message, m.GSSENCRequest):
            yield b"N"
        elif isinstance(message, m.CancelRequest):
            self._cancel(message.pid, message.secret)
            self.closed = True
        elif isinstance(message, m.Startup):
            yield from self._startup(message)
        elif isinstance(message, m.Password) and self._scram is not None:
            yield from self._password(self._scram, message.data)
        else:
            self.closed = True
            raise error(_ENDED, sqlstate="08P01")

    def _startup(self, message: m.Startup) -> Iterator[bytes]:
        if message.major != 3:
            yield self._fatal("0A000", f"unsupported frontend protocol {message.major}.{message.minor}")
            return
        unknown = [name for name in message.options if name.startswith("_pq_.")]
        if message.minor > 0 or unknown:
            yield m.negotiate(0, unknown)
        self._options = dict(message.options)
        user = self._options.get("user", "")
        if not user:
            raise error("no PostgreSQL user name specified in startup packet", sqlstate="28000")
        if self._options.get("replication", "false").lower() not in ("false", "off", "no", "0"):
            raise error("there is nothing to replicate", sqlstate="0A000")
        self._admission = self._gate.admit(user, self.peer)
        if not self._admission.asked:
            yield from self._welcome(self._admission)
            return
        self._scram = ScramServer(
            self._admission.verifier, user, certificate=self.peer.certificate, iterations=self._gate.iterations
        )
        yield m.sasl(self._scram.mechanisms)

    def _password(self, scram: ScramServer, data: bytes) -> Iterator[bytes]:
        admission = self._admission
        reply = scram.respond(data)
        if reply is not None:
            yield reply
        if not scram.finished or admission is None:
            return
        if not scram.accepted or not admission.known:
            user = self._options.get("user", "")[:63]
            raise error(f'password authentication failed for user "{user}"', sqlstate="28P01")
        yield from self._welcome(admission)

    def _welcome(self, admission: Admission) -> Iterator[bytes]:
        database, served = self._options.get("database"), self._backend.shadow.database
        # Without a name, clients send that of the user.
        if database not in (None, served, admission.analyst):
            hint = f"this server has one: {served}"
            raise error(f'database "{(database or "")[:63]}" does not exist', sqlstate="3D000", hint=hint)
        application = self._options.get("application_name", "")
        client = Client(self.key[0], "", self.peer.address, application, self.peer.certificate is not None)
        session = WatchedSession(self._backend, admission.analyst, client, self._watch)
        if self._crowded(session.analyst):
            raise error("too many connections of this analyst", sqlstate="53300", hint="close some of them")
        for name, value in startup_settings(self._options):
            session.begin(name, value)
        self._watch.tell(LoggedIn(session.client))
        self.session = session
        session.pid = self.key[0]
        session.cancel_other = lambda pid: self._cancel_own(pid, session.analyst)
        session.aside = lambda notice: self.aside(b"".join(self._told((notice,))))
        self._framer.set_limit(AFTER_LOGIN)
        yield m.authentication_ok()
        told = {"server_version": self._backend.shadow.server_version(session.analyst), **STATUS}
        told |= {"session_authorization": session.analyst, **reported(session.settings)}
        for name, value in told.items():
            yield m.parameter_status(name, value)
        yield m.backend_key(*self.key)
        yield m.ready("I")

    # Simple query

    def _simple(self, session: WireSession, text: str) -> Iterator[bytes]:
        try:
            found = session.statements(text)
            if not found:
                yield m.empty_query()
            for one in found:
                session.begin_statement()
                if self.closed:
                    return
                bound = BoundStatement(PreparedStatement(text, one.kind, start=one.start))
                before = session.settings
                outcome = session.run(bound)
                yield from self._told(outcome.notices)
                yield from self._outcome(outcome, bound, described=False)
                yield from _changed(before, session)
        except Error as refused:
            session.failed()
            yield _error(refused)
        session.synced()
        yield m.ready(session.status)

    def _outcome(self, outcome: Outcome, bound: BoundStatement, *, described: bool) -> Iterator[bytes]:
        rows = outcome.rows
        if rows is not None and outcome.copy is not None:
            yield from copying.copy_out(rows, outcome.copy.options)
            return
        if rows is not None:
            formats = spread(bound.result_formats, len(rows.fields))
            if not described:
                yield m.row_description(rows.fields, formats)
            for start in range(0, len(outcome.places), CHUNK):
                yield rows.messages(outcome.places[start : start + CHUNK], formats)
        yield m.command_complete(outcome.tag)

    def _told(self, notices: tuple[Notice, ...]) -> Iterator[bytes]:
        for notice in notices:
            yield m.notice(notice.severity, notice.sqlstate, notice.message, notice.hint)

    # Extended query

    def _extended(self, session: WireSession, message: m.Frontend) -> Iterator[bytes]:
        try:
            if isinstance(message, m.Parse):
                if message.name == "":
                    session.names.statements.pop("", None)
                session.names.keep_statement(message.name, session.prepare(message.sql, message.types))
                yield m.parse_complete()
            elif isinstance(message, m.Bind):
                yield from self._bind(session, message)
            elif isinstance(message, m.Describe):
                yield from self._describe(session, message)
            elif isinstance(message, m.Execute):
                yield from self._execute(session, message)
            elif isinstance(message, m.Close):
                held = session.names.statements if message.kind == "S" else session.names.portals
                held.pop(message.name, None)
                yield m.close_complete()
            elif isinstance(message, m.Unreadable):
                raise _unreadable()
            else:
                raise error("this message has no place here", sqlstate="08P01")
        except Error as refused:
            session.failed()
            self._skipping = True
            yield _error(refused)

    def _bind(self, session: WireSession, message: m.Bind) -> Iterator[bytes]:
        prepared = session.names.statement(message.statement)
        bound = BoundStatement(prepared, message.values, message.formats, message.result_formats)
        portal = session.bind(prepared, bound)
        if message.portal == "":
            session.names.portals.pop("", None)
        session.names.keep_portal(message.portal, portal)
        yield m.bind_complete()

    def _describe(self, session: WireSession, message: m.Describe) -> Iterator[bytes]:
        if message.kind == "S":
            prepared = session.names.statement(message.name)
            yield m.parameter_description(session.parameter_types(prepared))
            fields = session.fields(prepared)
            prepared.told = True
            yield m.row_description(fields, (0,) * len(fields)) if fields else m.no_data()
            return
        portal = session.names.portal(message.name)
        fields = session.portal_fields(portal)
        portal.told = session.settings.intervals
        formats = spread(portal.result_formats, len(fields)) if fields else ()
        yield m.row_description(fields, formats) if fields else m.no_data()

    def _execute(self, session: WireSession, message: m.Execute) -> Iterator[bytes]:
        portal = session.names.portal(message.name)
        session.begin_statement()
        kind = portal.statement.kind
        if self.closed:
            return
        if kind is None:
            yield m.empty_query()
            return
        if not isinstance(kind, sql.QueryStatement):
            before = session.settings
            bound = BoundStatement(portal.statement, portal.values, portal.formats, portal.result_formats)
            outcome = session.run(bound)
            yield from self._told(outcome.notices)
            yield from self._outcome(outcome, bound, described=True)
            yield from _changed(before, session)
            return
        notices = session.open(portal, message.limit)
        yield from self._told(notices)
        rows = portal.rows
        if rows is None:
            raise AssertionError("a query has rows")
        stop = rows.count if message.limit <= 0 else min(rows.count, portal.position + message.limit)
        formats = spread(portal.result_formats, len(rows.fields))
        start = portal.position
        for place in range(start, stop, CHUNK):
            yield rows.messages(range(place, min(place + CHUNK, stop)), formats)
        portal.position = stop
        if message.limit > 0 and stop - start == message.limit:
            yield m.portal_suspended()
        else:
            yield m.command_complete(f"SELECT {stop - start}")


def _changed(before: Settings, session: WireSession) -> Iterator[bytes]:
    if before is session.settings:
        return
    known = reported(before)
    for name, value in reported(session.settings).items():
        if known[name] != value:
            yield m.parameter_status(name, value)


def _unreadable() -> Error:
    return error("invalid byte sequence for encoding UTF8", sqlstate="22021", hint="send UTF8")


def _error(refused: Error) -> bytes:
    return m.error("ERROR", refused.sqlstate, refused.message, refused.hint, position=refused.position)
