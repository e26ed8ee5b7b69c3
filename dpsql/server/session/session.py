"""One connection's session: its settings, its transaction, and the statements it sends.

Guarantee: rows come from :class:`dpsql.proxy.Session`, where they were paid for, or from the shadow, which holds none.
A transaction of the client is a matter of form: a charge lies outside of it, and a rollback gives nothing back.
Describing reads no data and costs nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from dpsql.engines import Cancellation, Progress
from dpsql.error_border import translated
from dpsql.errors import Error, error
from dpsql.ledger import Receipt
from dpsql.price_text import errors_line, price_line
from dpsql.reply import Answer, AnswerColumn
from dpsql.server.session import statements as sql
from dpsql.server.session.backend import Backend, RoutedQuery, parameters_in, pid_of, setting_of
from dpsql.server.session.backend_calls import filled
from dpsql.server.session.catalog_texts import check_explained
from dpsql.server.session.current_settings import own_settings, with_settings
from dpsql.server.session.outcome import BoundStatement, Notice, Outcome
from dpsql.server.session.parameters import TYPE_NAMES, check_texts, decoded, samples
from dpsql.server.session.plain_columns import answer_fields
from dpsql.server.session.portals import Names, Portal, PreparedStatement, moved, spread
from dpsql.server.session.route import Route
from dpsql.server.session.shown_digits import meaningful
from dpsql.server.session.transaction import Status, TransactionBlock
from dpsql.server.session.wire_settings import check_path, check_spoken, is_spoken
from dpsql.server.shadow import ShadowAnswer as Answered
from dpsql.server.wire import Field, Formats, ReleasedRows, ShadowRows, field, wire_type
from dpsql.server.wire import options as copy_options
from dpsql.settings import Settings
from rewriter.declared import TEXT
from rewriter.front_door import Explain, parse
from rewriter.refused import NOT_ALLOWED, Refused

TOLD_AFTER = 2.0
"""Seconds after which a client is told which step of a statement begins."""

_NO_SESSION = "is empty here: no session is shown, not even this one"
_NO_COUNTER = "is empty here: nothing is told of what all sessions do"
_OF_SESSIONS = {
    "pg_stat_activity": _NO_SESSION,
    "pg_locks": _NO_SESSION,
    "pg_stat_database": "counts nothing here: nothing is told of what all sessions do",
    **dict.fromkeys(("pg_stat_archiver", "pg_stat_bgwriter", "pg_stat_slru", "pg_stat_wal"), _NO_COUNTER),
}
"""Views that show more to PostgreSQL's users, and the end of the notice that says so."""


class WireSession:
    """What a protocol asks for. One statement at a time; ``cancel`` may be called from any thread."""

    def __init__(self, backend: Backend, analyst: str | None, application: str = "") -> None:
        self._backend = backend
        self._inner = backend.proxy.session(analyst)
        self._receipt: Receipt | None = None
        self.names = Names()
        self._block = TransactionBlock()
        self._cancellation = Cancellation()
        self._gone = False
        self.aside: Callable[[Notice], None] = lambda notice: None
        """Sends a notice at once, while a statement runs."""
        self.pid = 0
        """The number that the client knows the session by."""
        self.cancel_other: Callable[[int], bool] = lambda pid: False
        """Ends what a session of the same analyst runs; whether there is one."""
        if application:
            self.set("application_name", application)

    @property
    def analyst(self) -> str:
        return self._inner.analyst

    @property
    def status(self) -> str:
        """Of the transaction: I, T or E."""
        return self._block.status.value

    @property
    def settings(self) -> Settings:
        return self._inner.settings

    def set(self, name: str, value: str) -> None:
        """A setting of the startup packet; unknown ones are kept and have no effect."""
        self._inner.change(name.lower(), value)

    def begin(self, name: str, value: str) -> None:
        """The same; what the client brings along is what a reset of its time zone goes back to."""
        self.set(name, value)
        check_path(self.settings, self._backend.proxy.catalog)
        if name.lower() == "timezone":
            self._inner.settings = replace(self.settings, home=self.settings.zone)

    def cancel(self) -> None:
        self._cancellation.cancel()

    @property
    def paying(self) -> bool:
        """Whether a statement runs that has been charged."""
        return self._receipt is not None and bool(self._receipt)

    def hung_up(self) -> None:
        """The client has gone: what has not been charged ends."""
        self._gone = True
        self._cancellation.leave()

    def begin_statement(self) -> None:
        """A cancellation that comes between two statements ends neither; who has hung up begins nothing."""
        self._cancellation = Cancellation()
        if self._gone:
            self._cancellation.leave()

    def failed(self) -> None:
        """After an error: a transaction waits for its end."""
        self._block.fail()

    def synced(self) -> None:
        """Outside of BEGIN, what was sent up to here was a transaction of its own."""
        if self._block.status is Status.IDLE:
            self.names.end_transaction()

    # Parse, Bind, Describe

    @translated
    def statements(self, text: str) -> tuple[sql.Statement, ...]:
        """The statements of a text, in order."""
        return sql.statements(text)

    @translated
    def prepare(self, text: str, types: Sequence[int]) -> PreparedStatement:
        """Understand one statement; an empty text is one too."""
        found = sql.statements(text)
        if len(found) > 1:
            raise error("cannot insert multiple commands into a prepared statement", sqlstate="42601")
        if not found:
            return PreparedStatement(text, None)
        kind = found[0].kind
        self._check_alive(kind)
        prepared = PreparedStatement(text, kind, tuple(types), found[0].start)
        # What is wrong with a statement is told when it is parsed, unless it takes the parameters to know.
        if isinstance(kind, sql.QueryStatement) and not self._backend.place(kind.text).parameters:
            self.fields(prepared)
        return prepared

    @translated
    def bind(self, prepared: PreparedStatement, bound: BoundStatement) -> Portal:
        wanted = len(self.parameter_types(prepared))
        if len(bound.values) != wanted:
            raise error(f"the statement takes {wanted} parameters, {len(bound.values)} were sent", sqlstate="08P01")
        formats = spread(bound.formats, wanted)
        check_texts(bound.values, formats)
        if prepared.fields:
            spread(bound.result_formats, len(prepared.fields))
        return Portal(prepared, bound.values, formats, bound.result_formats)

    @translated
    def parameter_types(self, prepared: PreparedStatement) -> tuple[int, ...]:
        """The type of each parameter, inferred where the client gave none."""
        if prepared.types is None:
            text = _query_of(prepared.kind)
            if isinstance(prepared.kind, sql.QueryStatement):
                count = self._backend.place(text).parameters
            else:
                count = parameters_in(text) if text else 0
            prepared.types = self._backend.parameter_types(
                text, prepared.given, count, self.analyst, self.settings.others
            )
        return prepared.types

    def fields(self, prepared: PreparedStatement) -> tuple[Field, ...]:
        """The columns that a statement answers with; none where it has no rows. Free, and reads no data."""
        self._check_columns(prepared)
        if prepared.fields is None:
            with _placed(prepared.start):
                prepared.fields = self._fields(prepared, None)
        return prepared.fields

    def _check_columns(self, prepared: PreparedStatement) -> None:
        """``dpsql.intervals`` changes the columns of a statement: one that a client knows is to be prepared again."""
        if prepared.intervals != self.settings.intervals:
            if prepared.told:
                raise _other_columns()
            prepared.fields, prepared.intervals = None, self.settings.intervals

    def portal_fields(self, portal: Portal) -> tuple[Field, ...]:
        if portal.rows is not None:
            return portal.rows.fields
        self._check_columns(portal.statement)
        if portal.statement.fields is None:
            with _placed(portal.statement.start):
                portal.statement.fields = self._fields(portal.statement, portal)
        return portal.statement.fields

    @translated
    def _fields(self, prepared: PreparedStatement, portal: Portal | None) -> tuple[Field, ...]:
        match prepared.kind:
            case sql.QueryStatement(text):
                return self._query_fields(prepared, text, portal)
            case sql.Setting(_, "EXPLAIN"):
                return (field("QUERY PLAN", wire_type(TEXT)),)
            case sql.Setting(_, "SHOW", _, name):
                return (field(name, wire_type(TEXT)),)
            case sql.Fetch(name, _, _, False):
                return self.portal_fields(self.names.cursor(name))
            case sql.ExecutePrepared(name, _):
                return self.fields(self.names.query(name))
        return ()

    def _query_fields(self, prepared: PreparedStatement, text: str, portal: Portal | None) -> tuple[Field, ...]:
        place = self._backend.place(text)
        if place.route is not Route.OURS:
            return self._described(prepared)
        types = self.parameter_types(prepared)
        text = with_settings(text, self.settings.others)
        if portal is not None:
            values = decoded(types, portal.values, portal.formats, self._read)
            return answer_fields(self._columns(text, values), place.columns)
        try:
            return answer_fields(self._columns(text, samples(types)), place.columns)
        except Error:
            if not types:
                raise
        # What the values are decides whether this is answered: PostgreSQL's own types until then.
        return self._described(prepared)

    def _columns(self, text: str, values: Mapping[str, object]) -> tuple[AnswerColumn, ...]:
        """The columns of an answer. Rows of people have some too: how many a client takes is not known yet."""
        try:
            return self._inner.describe(text, values)
        except Error as refused:
            columns = self._inner.preview(_limited(text, 1), values) if refused.sqlstate == NOT_ALLOWED else None
            if columns is None:
                raise
            return columns

    def _answer(self, text: str, values: Mapping[str, object], limit: int) -> Answer:
        """The answer of a query. A client that opens a table asks for so many rows at a time, and writes no LIMIT."""
        cancellation, receipt, progress = self._cancellation, self._receipt, self._progress()
        try:
            return self._inner.execute(text, values, cancellation, receipt, progress)
        except Error as refused:
            few = _limited(text, limit)
            if not limit or refused.sqlstate != NOT_ALLOWED or self._inner.preview(few, values) is None:
                raise
        return self._inner.execute(few, values, cancellation, receipt, progress)

    def _described(self, prepared: PreparedStatement) -> tuple[Field, ...]:
        if prepared.fields is None:
            text = _query_of(prepared.kind)
            described = self._backend.shadow.describe(text, prepared.given, self.analyst, self.settings.others)
            prepared.types = tuple(described.parameters)
            prepared.fields = tuple(Field(one.name, one.oid, one.size, one.modifier) for one in described.columns)
        return prepared.fields

    # Execute

    def run(self, bound: BoundStatement) -> Outcome:
        """Run one statement. Raises :class:`dpsql.errors.Error`."""
        with _placed(bound.statement.start):
            return self._run(bound)

    @translated
    def _run(self, bound: BoundStatement) -> Outcome:
        kind = bound.statement.kind
        if kind is None:
            return Outcome("")
        self._check_alive(kind)
        match kind:
            case sql.QueryStatement(text):
                self._check_columns(bound.statement)
                return self._query(bound, text)
            case sql.Setting():
                return self._setting(kind, bound)
            case sql.TransactionStatement(word, savepoint):
                return self._transaction(word, savepoint)
            case sql.Prepare(name, types, text, start):
                given = tuple(TYPE_NAMES.get(type_, 0) for type_ in types)
                self.names.keep_statement(name, self._inner_query(text, start, given))
                return Outcome("PREPARE")
            case sql.ExecutePrepared(name, arguments):
                return self._execute(name, arguments, bound)
            case sql.Deallocate(None):
                self.names.statements.clear()
                return Outcome("DEALLOCATE ALL")
            case sql.Deallocate(str(name)):
                self.names.statement(name)
                del self.names.statements[name]
                return Outcome("DEALLOCATE")
            case sql.Declare():
                return self._declare(kind, bound)
            case sql.Fetch():
                return self._fetch(kind)
            case sql.CloseCursor(None):
                self.names.portals = {n: p for n, p in self.names.portals.items() if not p.cursor}
                return Outcome("CLOSE CURSOR ALL")
            case sql.CloseCursor(str(name)):
                self.names.portal(name)
                del self.names.portals[name]
                return Outcome("CLOSE CURSOR")
            case sql.Copy(text, given_options, start, table):
                copy_options(given_options)
                self._check_copied(table)
                found = self.run(BoundStatement(self._inner_query(text, start)))
                return Outcome(found.tag, found.rows, found.places, found.notices, copy=kind)
            case sql.Discard(what):
                if what == "ALL":
                    self._inner.change(None, None)
                    self.names.clear()
                return Outcome(f"DISCARD {what}")
            case sql.Nothing(tag):
                return Outcome(tag)
        raise AssertionError(kind)

    def _check_explained(self, text: str) -> None:
        try:
            statement = parse(text, {str(number): None for number in range(1, parameters_in(text) + 1)})
        except Refused:
            return  # The analyst's session says what is wrong with it.
        if isinstance(statement, Explain):
            check_explained(statement.query.tree, self._backend.proxy.catalog)

    def _check_copied(self, table: tuple[str, ...]) -> None:
        """Raise where COPY names a table of people: their rows are not shown."""
        *schemas, name = table or ("",)
        found = self._backend.proxy.catalog.find(name, schema=schemas[-1] if schemas else "")
        if found is not None and not found.public:
            raise error(
                "COPY of a table returns rows of people",
                sqlstate="42501",
                hint="write COPY (SELECT … aggregates …) TO STDOUT",
            )

    def _query(self, bound: BoundStatement, text: str) -> Outcome:
        prepared = bound.statement
        place = self._backend.place(text)
        if place.settings:
            return self._set_config(bound, place)
        if place.calls:
            return self._call_backend(bound, place)
        if place.route is not Route.OURS:
            return self._shadow(bound, with_settings(text, own_settings(self.settings.others)))
        values = decoded(self.parameter_types(prepared), bound.values, bound.formats, self._read)
        answer = self._answer(with_settings(text, self.settings.others), values, bound.limit)
        fields = answer_fields(answer.columns, place.columns)
        if prepared.fields is not None and len(prepared.fields) == len(fields):
            fields = prepared.fields
        shown = answer.rows if self.settings.every_digit else meaningful(answer, intervals=self.settings.intervals)
        rows = ReleasedRows(fields, shown)
        return Outcome(f"SELECT {rows.count}", rows, range(rows.count), self._notices(answer))

    def _progress(self) -> Progress | None:
        """Tells the steps of a statement that takes longer than two seconds, as they begin."""
        if not self.settings.notices:
            return None
        begun = time.monotonic()

        def told(step: int, of: int) -> None:
            if time.monotonic() - begun >= TOLD_AFTER:
                self.aside(Notice(f"step {step} of {of} begins; all of them were paid for before the first"))

        return told

    def _notices(self, answer: Answer) -> tuple[Notice, ...]:
        """What was done, how far off the numbers are, and what was paid."""
        settings = self.settings
        if not settings.notices:
            return ()
        told = list(answer.notices)
        # Beside columns of ends, and a price that came from an error, it would be told twice.
        if not settings.intervals and settings.target_error is None and (errors := errors_line(answer)):
            told.append(f"{errors} (SET dpsql.intervals = on for columns)")
        if answer.price or answer.notices:
            told.append(" ".join(price_line(answer).split("\n")))
        return tuple(map(Notice, told))

    def _shadow(self, bound: BoundStatement, text: str) -> Outcome:
        types = bound.statement.types or bound.statement.given

        def ask(result_formats: Formats) -> Answered:
            return self._backend.shadow.run(
                text,
                bound.values,
                types,
                bound.formats,
                result_formats,
                self.analyst,
                self.settings.others,
                self.settings.timeout,
                self._cancellation,
            )

        first = ask(bound.result_formats)
        fields = tuple(Field(one.name, one.oid, one.size, one.modifier) for one in first.columns)
        rows = ShadowRows(fields, lambda formats: ask(formats).rows)
        rows.known[spread(bound.result_formats, len(fields))] = first.rows
        names = set(re.findall(r"\w+", text.lower())) if self.settings.notices else set()
        told = tuple(Notice(f"{view} {said}") for view, said in _OF_SESSIONS.items() if view in names)
        return Outcome(f"SELECT {rows.count}", rows, range(rows.count), told)

    def _read(self, oid: int, value: bytes) -> bytes | None:
        """A text in a form that only PostgreSQL reads, as PostgreSQL's binary."""
        found = self._backend.shadow.run(
            "SELECT $1", [value], [oid], [0], [1], self.analyst, self.settings.others, None, self._cancellation
        )
        return found.rows[0][0]

    def _setting(self, kind: sql.Setting, bound: BoundStatement) -> Outcome:
        if kind.word == "SHOW" and not kind.name.startswith("dpsql."):
            return self._show(kind)
        before = self.settings
        values: Mapping[str, object] = {}
        if kind.word == "EXPLAIN":
            values = decoded(self.parameter_types(bound.statement), bound.values, bound.formats, self._read)
        text = with_settings(kind.text, self.settings.others) if kind.word == "EXPLAIN" else kind.text
        if kind.word == "EXPLAIN":
            self._check_explained(text)
        answer = self._inner.execute(text, values)
        try:
            check_spoken(self.settings)
            check_path(self.settings, self._backend.proxy.catalog)
        except Error:
            self._inner.settings = before
            raise
        if kind.local and not self._block.set_local(before):
            self._inner.settings = before
            warning = Notice("SET LOCAL can only be used in transaction blocks", "WARNING", "25P01")
            return Outcome(answer.tag, notices=(warning,))
        if not kind.local and self._block.kept is not None:
            # What SET LOCAL gives way to at the end has it too.
            now, self._inner.settings = self.settings, self._block.kept
            self._inner.execute(kind.text)
            self._block.kept, self._inner.settings = self.settings, now
        if not answer.columns:
            return Outcome(answer.tag)
        rows = ReleasedRows(answer_fields(answer.columns), answer.rows)
        tag = answer.tag if kind.word != "SHOW" else "SHOW"
        return Outcome(tag, rows, range(rows.count), tuple(Notice(text) for text in answer.notices))

    def _call_backend(self, bound: BoundStatement, place: RoutedQuery) -> Outcome:
        """The number of this session, and an end to what others of the same analyst run. A session that ends itself is
        ended here."""
        values: Mapping[str, object] = {}
        if place.cancels:
            values = decoded(self.parameter_types(bound.statement), bound.values, bound.formats, self._read)
        pids = [pid_of(one, values, self.pid) for one in place.cancels]
        done = [pid is not None and self.cancel_other(pid) for pid in pids]
        outcome = self._shadow(bound, filled(place.text, self.pid, done))
        unknown = [pid for pid, ended in zip(pids, done, strict=True) if pid is not None and not ended]
        told = tuple(Notice(f"PID {pid} is not a session of this user", "WARNING", "01000") for pid in unknown)
        return replace(outcome, notices=(*outcome.notices, *told))

    def _set_config(self, bound: BoundStatement, place: RoutedQuery) -> Outcome:
        """SET in the clothes of a query: the shadow answers it with the values, and sets nothing. Without a row nothing
        is set, as in PostgreSQL."""
        outcome = self._shadow(bound, place.text)
        for one in place.settings if outcome.places else ():
            before = self.settings
            name, value = setting_of(one, bound.values)
            if not name:
                raise error("SET requires parameter name", sqlstate="22023", hint="name a setting")
            if not is_spoken(name, value):
                raise error(f"{name} cannot be changed to that", sqlstate="22023", hint=f"RESET {name}")
            self.set(name, value)
            if one.local and not self._block.set_local(before):
                self._inner.settings = before
        return outcome

    def _show(self, kind: sql.Setting) -> Outcome:
        """PostgreSQL's settings as the shadow has them; what it does not have, as the client set it."""
        others = self.settings.others
        if kind.name in ("transaction_read_only", "default_transaction_read_only"):
            rows = ReleasedRows((field(kind.name, wire_type(TEXT)),), ((self.settings.shown(kind.name).strip("'"),),))
            return Outcome("SHOW", rows, range(1))
        try:
            found = self._shadow(BoundStatement(PreparedStatement(kind.text, sql.QueryStatement(kind.text))), kind.text)
        except Error:
            if kind.name not in others:
                raise
        else:
            if kind.name not in ("application_name", "statement_timeout") or kind.name not in others:
                return Outcome("SHOW", found.rows, found.places)
        rows = ReleasedRows((field(kind.name, wire_type(TEXT)),), ((others[kind.name].strip("'"),),))
        return Outcome("SHOW", rows, range(1))

    def _execute(self, name: str, arguments: Sequence[str | None], bound: BoundStatement) -> Outcome:
        prepared = self.names.query(name)
        values = tuple(None if text is None else text.encode() for text in arguments)
        portal = self.bind(prepared, BoundStatement(prepared, values))
        return self._run(BoundStatement(prepared, values, portal.formats, bound.result_formats))

    # Cursors

    def _inner_query(self, text: str, start: int, types: Sequence[int] = ()) -> PreparedStatement:
        """The query within a statement, at whose character ``start`` it begins."""
        with _placed(start):
            prepared = self.prepare(text, types)
        if not isinstance(prepared.kind, sql.QueryStatement):
            raise error("only a SELECT is answered with rows", sqlstate="42601", hint="write SELECT …")
        prepared.start += start
        return prepared

    def _declare(self, kind: sql.Declare, bound: BoundStatement) -> Outcome:
        """A cursor; parameters of the statement that declares it are those of its query."""
        prepared = self._inner_query(kind.query, kind.start, self.parameter_types(bound.statement))
        values = self.bind(prepared, replace(bound, result_formats=()))
        result_formats = (1,) if kind.binary else ()
        portal = replace(values, result_formats=result_formats, cursor=True, hold=kind.hold)
        self.names.keep_portal(kind.name, portal)
        return Outcome("DECLARE CURSOR")

    def _fetch(self, kind: sql.Fetch) -> Outcome:
        portal = self.names.cursor(kind.name)
        notices = self.open(portal, kind.count or 0)
        if portal.rows is None:
            raise error(f'cursor "{kind.name}" has no rows', sqlstate="24000")
        places = moved(portal, kind, portal.rows.count)
        if kind.move:
            return Outcome(f"MOVE {len(places)}", notices=notices)
        return Outcome(f"FETCH {len(places)}", portal.rows, places, notices)

    def open(self, portal: Portal, limit: int = 0) -> tuple[Notice, ...]:
        """Run what a portal holds, once, for a client that takes ``limit`` rows first; 0 is all."""
        self._block.check_alive()
        if portal.rows is not None:
            return ()
        if portal.told not in (None, self.settings.intervals):
            raise _other_columns()
        outcome = self.run(
            BoundStatement(portal.statement, portal.values, portal.formats, portal.result_formats, max(limit, 0))
        )
        if outcome.rows is not None:
            self.names.check_rows(outcome.rows.count)
        portal.rows, portal.tag = outcome.rows, outcome.tag
        return outcome.notices

    # Transactions

    def _check_alive(self, kind: sql.Kind) -> None:
        if not (isinstance(kind, sql.TransactionStatement) and kind.word in ("COMMIT", "ROLLBACK", "ROLLBACK TO")):
            self._block.check_alive()

    def _transaction(self, word: str, savepoint: str) -> Outcome:
        block = self._block
        if word not in ("BEGIN", "COMMIT", "ROLLBACK"):
            self._inner.settings = block.savepoint(word, savepoint, self.settings)
            return Outcome(word.split()[0])
        if word == "BEGIN":
            if block.status is not Status.IDLE:
                warning = Notice("there is already a transaction in progress", "WARNING", "25001")
                return Outcome("BEGIN", notices=(warning,))
            block.begin(self.settings)
            return Outcome("BEGIN")
        notices: tuple[Notice, ...] = ()
        if block.status is Status.IDLE:
            notices = (Notice("there is no transaction in progress", "WARNING", "25P01"),)
        if block.status is Status.FAILED:
            word = "ROLLBACK"
        self._inner.settings = block.end(word, self.settings)
        self.names.end_transaction()
        return Outcome(word, notices=notices)


def _other_columns() -> Error:
    """As PostgreSQL says it, so that drivers prepare the statement again by themselves."""
    return error("cached plan must not change result type", sqlstate="0A000", hint="prepare the statement again")


@contextmanager
def _placed(start: int) -> Iterator[None]:
    """Errors of a part of a text say their place in the whole of it."""
    try:
        yield
    except Error as refused:
        if refused.position is None or not start:
            raise
        moved_by = refused.position + start
        problem = error(refused.message, sqlstate=refused.sqlstate, hint=refused.hint, position=moved_by)
    else:
        return
    raise problem


def _limited(text: str, limit: int) -> str:
    """A query of at most so many rows; the new line ends a comment."""
    return f"{text}\nLIMIT {limit}"


def _query_of(kind: sql.Kind | None) -> str:
    """The text that holds a statement's parameters: a cursor's are those of its query."""
    if isinstance(kind, sql.Declare):
        return kind.query
    return kind.text if isinstance(kind, sql.QueryStatement | sql.Setting) else ""
