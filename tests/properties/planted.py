"""A database, a policy over it, and a session without noise, in a line: for cases with figures of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

from dpsql.proxy import Proxy, Session
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.new_databases import new_database

POLICY = """
database: {database}
ledger: sqlite:case.ledger
privacy_unit: person.id
budget: {{epsilon: 1000000{delta}, accounting: {accounting}}}
statement: {{epsilon: {epsilon}, max_epsilon: 10000}}
tables:
"""


@contextmanager
def case(
    folder: Path,
    setup: Sequence[str],
    tables: str,
    accounting: str = "zcdp",
    epsilon: float = 100,
    *,
    engine: str = "duckdb",
    noise: bool = False,
) -> Iterator[Session]:
    """A session over a database that ``setup`` makes; ``tables`` is the policy's part of that name."""
    folder.mkdir(exist_ok=True)
    database = "duckdb:case.duckdb"
    if engine == "postgres":
        server = shared_server()
        database = server.url(server.database(";".join(setup)))
    else:
        with new_database(folder / "case.duckdb") as connection:
            for statement in setup:
                connection.execute(statement)
    delta = "" if accounting == "pure" else ", delta: 1e-3"
    text = POLICY.format(database=database, delta=delta, accounting=accounting, epsilon=epsilon)
    (folder / "policy.yaml").write_text(text + tables)
    proxy = Proxy.open(folder / "policy.yaml") if noise else open_without_noise(folder / "policy.yaml")
    try:
        yield proxy.session()
    finally:
        proxy.close()


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    """The rows of an answer, with numbers as floats, days as midnights, and in an order of their own."""
    return sorted((tuple(map(plain, row)) for row in session.execute(sql).rows), key=str)


def numbers(session: Session, sql: str) -> list[float]:
    """The one row of an answer."""
    (found,) = session.execute(sql).rows
    return [float(value) for value in found]  # type: ignore[arg-type]


def expected(session: Session, sql: str) -> list[float]:
    """The error to expect of each column that is measured, where it is known before."""
    found = session.explain(sql).expected
    return [one for one in found if one is not None]


def plain(value: object) -> object:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return float(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value
