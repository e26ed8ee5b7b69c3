"""The statements through DB-API, over a proxy whose noise is off and whose engine remembers what it was asked."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import dpsql
from dpsql.accounting.loss import PrivacyLoss
from dpsql.engines.engine import Engine
from dpsql.errors import Error
from dpsql.opened import open_policy
from dpsql.proxy import Proxy
from dpsql.releases.tables import ExactTable
from dpsql.sandbox.sandbox import Sandbox
from rewriter.plan import Plan
from tests.attacks.canaries import canary_in
from tests.attacks.cases import Case
from tests.attacks.library import Library
from tests.doubles import NoNoise

SECONDS = 5.0
"""That one statement may take. See :func:`taken`."""
LIMIT = 2.0
"""The owner's, after which a statement is ended."""


def taken(busy: float, clock: float) -> float:
    """Seconds that a statement takes: those that the computer was busy with it, or those of the clock, of which others
    who work here have their part: four times as many where it is quiet, more where more wait for each processor."""
    waiting = 2 * os.getloadavg()[0] / (os.cpu_count() or 1)
    return max(busy, clock / max(4.0, waiting))


class Watched:
    """An engine that remembers every plan it ran, with the exact integers that came of it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seen: list[tuple[Plan, ExactTable]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def run(self, plan: Plan, *how: Any) -> ExactTable:
        exact = self._engine.run(plan, *how)
        self.seen.append((plan, exact))
        return exact


@dataclass(frozen=True, slots=True)
class TimeStep:
    """What came of one statement. ``told`` has to be the same on D and D′, ``rows`` where nothing private was read."""

    told: object
    rows: tuple[object, ...]
    error: str | None
    charged: PrivacyLoss
    asked: tuple[tuple[Plan, ExactTable], ...]
    seconds: float
    leak: bytes | None

    @property
    def kind(self) -> str:
        if self.error == "57014":
            return "ended"
        if self.error is not None:
            return "fails" if self.charged or self.asked else "refused"
        return "charged" if self.charged else "free"


@dataclass(slots=True)
class DBAPI:
    """One library, asked by DB-API."""

    proxy: Proxy
    engine: Watched
    logged: list[str] = field(default_factory=list)

    def ask(self, case: Case) -> list[TimeStep]:
        """The steps of a case in a new connection that does not use what others paid for."""
        with dpsql.connect(self.proxy, "ana", reuse="off") as connection:
            return [self._step(connection, step) for step in case.steps]

    def _step(self, connection: dpsql.Connection, sql: str) -> TimeStep:
        self.engine.seen.clear()
        before = self.proxy.ledger.spent()
        cursor = connection.cursor()
        rows: tuple[object, ...] = ()
        code: str | None = None
        started, busy = time.monotonic(), time.process_time()
        try:
            cursor.execute(sql)
        except Error as error:
            code = error.sqlstate
            told: object = (type(error), code, error.message, error.hint, error.position, error.__cause__)
            told_bytes = repr((told, error.args, error.__context__)).encode()
        else:
            rows = tuple(cursor.fetchall()) if cursor.description else ()
            told = (cursor.description, cursor.notices, cursor.price, cursor.epsilon)
            told_bytes = repr((told, rows, cursor.margins)).encode()
        seconds = taken(time.process_time() - busy, time.monotonic() - started)
        after = self.proxy.ledger.spent()
        charged = PrivacyLoss(after.epsilon - before.epsilon, after.rho - before.rho, after.delta - before.delta)
        return TimeStep(told, rows, code, charged, tuple(self.engine.seen), seconds, canary_in(told_bytes))


@contextmanager
def open_dbapi(library: Library) -> Iterator[DBAPI]:
    opened = open_policy(library.policy)
    watched = Watched(opened.engine)
    opened.sandbox.close()
    sandbox = Sandbox.open(seconds=LIMIT)
    for table in opened.catalog.tables.values():
        if table.public:
            sandbox.load_public(table.name, opened.engine.public_rows(table.name, list(table.columns)))
    limits = opened.policy.limits.model_copy(update={"seconds": LIMIT})
    policy = opened.policy.model_copy(update={"limits": limits})
    limited = replace(opened, policy=policy, engine=watched, sandbox=sandbox)  # type: ignore[arg-type]
    proxy = Proxy(limited, NoNoise())
    way = DBAPI(proxy, watched)
    handler = _Remembering(way.logged)
    logging.getLogger().addHandler(handler)
    try:
        with dpsql.connect(proxy, "ana"):  # what answers about catalogs lives as long as a connection is open
            yield way
    finally:
        logging.getLogger().removeHandler(handler)
        proxy.close()


class _Remembering(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))
