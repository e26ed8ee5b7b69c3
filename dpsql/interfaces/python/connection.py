"""PEP 249: how a Python program asks. ``dpsql.connect`` is the way in.

An answer is whole when ``execute`` returns: it was charged, read and hidden by then, and fetching
only hands its rows out. Why nothing heavy is imported here: ``import dpsql`` must cost nothing in a
program that only handles its errors.

Threads may share the module and its connections (threadsafety 2): a connection runs one statement at a
time. A cursor belongs to one thread.
"""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar

from dpsql import errors
from dpsql.interfaces.python.cursor import Cursor, Parameters

if TYPE_CHECKING:
    from dpsql.interfaces.python.catalogs import Catalogs
    from dpsql.proxy import Proxy
    from dpsql.reply import Answer, Budget, Explanation
    from rewriter.declared import Catalog

apilevel = "2.0"
threadsafety = 2
_CATALOG = re.compile(
    r"information_schema|\b(?:pg_|has_|current_|session_user|version|format_type|obj_desc|col_desc|reg)", re.IGNORECASE
)
"""A word of all questions about catalogs, and of few others."""
paramstyle = "qmark"
"""``?`` with a sequence; ``:name`` with a mapping is understood as well."""


def connect(policy: str | os.PathLike[str] | Proxy, analyst: str | None = None, **settings: object) -> Connection:
    """A connection that asks as ``analyst``, under the policy file, or over an open proxy.

    Connections of one process to one policy file share one proxy, which closes with the last of them; a proxy
    that was handed in stays open. ``settings`` are the session's: ``epsilon=0.2`` is ``SET dpsql.epsilon = '0.2'``.
    Without an analyst, the policy's only one is meant.

    Raises OperationalError where the policy, the database or the ledger cannot be opened, or the analyst is
    unknown, and DataError for a bad setting.
    """
    shared = _shared(policy) if isinstance(policy, str | os.PathLike) else _handed_in(policy)
    connection = Connection(shared, analyst)
    try:
        for name, value in settings.items():
            connection.set(name, value)
    except errors.Error:
        connection.close()
        raise
    return connection


class _Shared:
    """A proxy in use: the last connection to let go of this object closes it, if it is ours to close."""

    __slots__ = ("__weakref__", "_catalogs", "_lock", "proxy")

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self._catalogs: Catalogs | None = None
        self._lock = threading.Lock()

    def catalogs(self) -> Catalogs:
        """Who answers questions about catalogs; closed with the last connection."""
        from dpsql.interfaces.python.catalogs import Catalogs

        with self._lock:
            if self._catalogs is None:
                self._catalogs = Catalogs(self.proxy)
                weakref.finalize(self, self._catalogs.close)
            return self._catalogs


_OPEN: weakref.WeakValueDictionary[tuple[object, ...], _Shared] = weakref.WeakValueDictionary()
_OPENING = threading.Lock()


def _shared(policy: str | os.PathLike[str]) -> _Shared:
    """The proxy of a policy file, one per process.

    The key holds the file's time and size, so that a policy that the owner has changed is read anew, and the
    process, because a forked child must not speak over its parent's connections.
    """
    path = os.path.realpath(policy)
    with _OPENING:
        try:
            status = os.stat(path)
        except OSError as problem:
            reason = f"cannot read the policy {os.fspath(policy)}: {problem.strerror}"
            raise errors.OperationalError(reason, sqlstate="58P01") from None
        key = (os.getpid(), path, status.st_mtime_ns, status.st_size)
        shared = _OPEN.get(key)
        if shared is None:
            from dpsql.proxy import Proxy

            shared = _Shared(Proxy.open(path))
            weakref.finalize(shared, shared.proxy.close)
            _OPEN[key] = shared
        return shared


def _handed_in(proxy: Proxy) -> _Shared:
    """What the connections over an open proxy share while one of them is open."""
    with _OPENING:
        key = (os.getpid(), id(proxy))  # what is found holds the proxy, so the number is still its own
        shared = _OPEN.get(key)
        if shared is None:
            shared = _OPEN[key] = _Shared(proxy)
        return shared


class Connection:
    """An analyst's connection: its own settings, one statement at a time, in any thread.

    As a context manager it is closed at the end. Every statement stands alone, so commit and rollback
    have nothing to do; above all, a rollback does not give budget back.
    """

    Warning: ClassVar = errors.Warning
    Error: ClassVar = errors.Error
    InterfaceError: ClassVar = errors.InterfaceError
    DatabaseError: ClassVar = errors.DatabaseError
    DataError: ClassVar = errors.DataError
    OperationalError: ClassVar = errors.OperationalError
    IntegrityError: ClassVar = errors.IntegrityError
    InternalError: ClassVar = errors.InternalError
    ProgrammingError: ClassVar = errors.ProgrammingError
    NotSupportedError: ClassVar = errors.NotSupportedError
    BudgetExceeded: ClassVar = errors.BudgetExceeded

    def __init__(self, shared: _Shared, analyst: str | None) -> None:
        self._session = shared.proxy.session(analyst)
        self._shared: _Shared | None = shared
        self._running = threading.Lock()

    @property
    def analyst(self) -> str:
        return self._session.analyst

    @property
    def catalog(self) -> Catalog:
        """The tables and columns that the policy declares; free, and never from data."""
        with self._running:
            return self._open().proxy.catalog

    @property
    def closed(self) -> bool:
        return self._shared is None

    def close(self) -> None:
        """Closing twice is allowed; anything else on a closed connection is an InterfaceError.

        A statement that runs in another thread is waited for.
        """
        with self._running:
            self._shared = None

    def commit(self) -> None:
        self.check_open()

    def rollback(self) -> None:
        self.check_open()

    def cursor(self) -> Cursor:
        self.check_open()
        return Cursor(self)

    def execute(self, operation: str, parameters: Parameters | None = None) -> Cursor:
        """Answer one statement on a new cursor, as many drivers let one do."""
        return self.cursor().execute(operation, parameters)

    def set(self, name: str, value: object) -> None:
        """Set ``dpsql.NAME`` for this connection: ``epsilon``, ``reuse``, …"""
        if not re.fullmatch("[a-z_]+", name):
            raise errors.DataError(f"no such setting: {name!r}", sqlstate="22023")
        text = ("off", "on")[value] if isinstance(value, bool) else str(value)
        quoted = text.replace("'", "''")
        self.answer(f"SET dpsql.{name} = '{quoted}'")

    def budget(self) -> Budget:
        """The budget that this analyst has spent and has left; free."""
        with self._running:
            self.check_open()
            return self._session.budget()

    def explain(self, operation: str, parameters: Parameters | None = None) -> Explanation:
        """The plan, the price and the expected error; free, reads no data."""
        with self._running:
            checked = self._check(operation, parameters)
            return self._session.explain(operation, checked)

    def answer(
        self,
        operation: str,
        parameters: Parameters | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Answer:
        """Answer one statement whole, and charge for it: what a cursor's ``execute`` does. ``progress(k, n)`` is called
        when step k of n begins, of a statement that has steps."""
        with self._running:
            checked = self._check(operation, parameters)
            if _CATALOG.search(operation) is not None:
                about = self._open().catalogs().answer(operation, checked, self._session)
                if about is not None:
                    return about
            return self._session.execute(operation, checked, progress=progress)

    def _check(self, operation: str, parameters: Parameters | None) -> Parameters:
        self.check_open()
        if not isinstance(operation, str):
            raise errors.InterfaceError(f"a statement is a str, not {type(operation).__name__}", sqlstate="22023")
        if parameters is None:
            return ()
        # A bare string is a sequence of its characters: never what was meant.
        if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence | Mapping):
            hint = "pass a list or a tuple for ?, a dict for :name"
            raise errors.InterfaceError("parameters are a sequence or a mapping", sqlstate="22023", hint=hint)
        return parameters

    def check_open(self) -> None:
        """Raises InterfaceError on a closed connection."""
        self._open()

    def _open(self) -> _Shared:
        if self._shared is None:
            raise errors.InterfaceError("the connection is closed", sqlstate="08003")
        return self._shared

    def __enter__(self) -> Connection:
        self.check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
