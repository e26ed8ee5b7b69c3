"""``information_schema`` and ``pg_catalog`` for a program that asks without a server.

Guarantee: as for clients of ``dpsql serve``, a PostgreSQL without any row of the data answers, which knows the policy's
tables alone (:mod:`dpsql.server.shadow`). A query that names a table of the policy never reaches it. It is started by
the first question about a catalog, which takes a second or two, and is free.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpsql.engines import Cancellation
from dpsql.error_border import translated
from dpsql.reply import Answer, AnswerColumn
from dpsql.server.serving import analysts, database_name
from dpsql.server.session import catalog_query
from dpsql.server.shadow import Shadow
from dpsql.server.wire import decode_parameter
from rewriter.declared import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LISTS,
    SMALLINT,
    TEXT,
    TEXTS,
    TIMESTAMP,
    TIMESTAMPTZ,
    Kind,
    Scalar,
    Type,
)

if TYPE_CHECKING:
    from dpsql.interfaces.python.cursor import Parameters
    from dpsql.proxy import Proxy, Session

_TYPES: Mapping[int, Type] = {
    16: BOOLEAN, 20: BIGINT, 21: SMALLINT, 23: INTEGER, 26: BIGINT, 700: DOUBLE, 701: DOUBLE,
    1082: DATE, 1114: TIMESTAMP, 1184: TIMESTAMPTZ, 1002: TEXTS, 1003: TEXTS, 1009: TEXTS, 1015: TEXTS,
    1005: Type(Kind.INTEGERS, bits=16), 1007: Type(Kind.INTEGERS, bits=32),
    1016: Type(Kind.INTEGERS, bits=64), 1028: Type(Kind.INTEGERS, bits=64),
}  # fmt: skip
"""Types of answers by their numbers; others are told as texts."""


class Catalogs:
    """The catalogs of one policy. Thread-safe."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._shadow: Shadow | None = None
        self._lock = threading.Lock()

    @translated
    def answer(self, text: str, parameters: Parameters, session: Session) -> Answer | None:
        """The answer of a query about catalogs; None for any other statement. Raises :class:`dpsql.errors.Error`."""
        asked = catalog_query(text, parameters, self._proxy.catalog)
        if asked is None:
            return None
        settings = session.settings
        found = self._started().run(
            asked, [], [], [], [], session.analyst, settings.others, settings.timeout, Cancellation()
        )
        types = [_TYPES.get(column.oid, TEXT) for column in found.columns]
        oids = [column.oid for column in found.columns]
        rows = tuple(tuple(map(_value, row, oids, types)) for row in found.rows)
        columns = tuple(AnswerColumn(one.name, kind) for one, kind in zip(found.columns, types, strict=True))
        exact = tuple((None,) * len(columns) for _ in rows)
        return Answer(columns, rows, exact, budget=session.budget)

    def close(self) -> None:
        with self._lock:
            shadow, self._shadow = self._shadow, None
        if shadow is not None:
            shadow.close()

    def _started(self) -> Shadow:
        with self._lock:
            if self._shadow is None:
                policy = self._proxy.policy
                self._shadow = Shadow.start(self._proxy.catalog, analysts(policy), database_name(policy))
            return self._shadow


def _value(data: bytes | None, oid: int, kind: Type) -> Scalar | None:
    if data is None:
        return None
    if kind == TEXT or kind.kind in LISTS:
        return data.decode()
    return decode_parameter(oid, data, False)  # type: ignore[return-value]
