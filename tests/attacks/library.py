"""A lending library, twice: D, and D′ which lacks one member with all the rows of that member.

The member who differs is the worst one: canaries in every column, values beyond every declared range, more rows than
the policy allows, NaN, infinities, the ends of time, and texts that are long, or no numbers, dates or patterns. Table
``vault`` and column ``member.pin`` are not in the policy, and hold canaries too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from tests.attacks.canaries import BORN, CARD, CODE, SCORE, WEALTH
from tests.engines.postgres_server import copy_texts, shared_server

PERSON = 7777
MEMBERS = 600
LONG = "x" * 100_000

TABLES: dict[str, str] = {
    "branch": "name TEXT PRIMARY KEY, city TEXT NOT NULL, desks INTEGER NOT NULL",
    "member": """id BIGINT PRIMARY KEY, sex TEXT, born DATE, score INTEGER, wealth DOUBLE PRECISION, dues NUMERIC(12, 2),
        active BOOLEAN, branch TEXT, card TEXT, code BIGINT, note TEXT, seen TIMESTAMP, pin TEXT""",
    "loan": """id BIGINT PRIMARY KEY, member_id BIGINT, day DATE, days INTEGER, price DOUBLE PRECISION, kind TEXT,
        title TEXT""",
    "fine": "id BIGINT PRIMARY KEY, loan_id BIGINT, amount NUMERIC(8, 2), paid BOOLEAN, reason TEXT",
    "vault": "owner BIGINT, pin TEXT",
}

POLICY = """
privacy_unit: member.id
clock: {tick: 1 day}
budget: {epsilon: 1e6, delta: 1e-3, accounting: zcdp}
statement: {epsilon: 4, max_epsilon: 8}
analysts: {ana: {}, bob: {}}
tables:
  branch: {public: true}
  member:
    columns:
      id: {}
      sex: {values: [F, M]}
      born: {range: [1920-01-01, 2010-12-31]}
      score: {range: [0, 100]}
      wealth: {range: [0, 1000]}
      dues: {range: [0, 500]}
      active: {}
      branch: {values_from: branch.name}
      card: {}
      code: {}
      note: {}
      seen: {range: [2020-01-01, 2025-12-31]}
  loan:
    unit: member_id -> member.id
    max_rows: 12
    columns:
      id: {}
      member_id: {}
      day: {range: [2024-01-01, 2024-12-31]}
      days: {range: [0, 60]}
      price: {range: [0, 50]}
      kind: {values: [book, film, game]}
      title: {}
  fine:
    unit: [loan_id -> loan.id, member_id -> member.id]
    max_rows: 6
    columns:
      id: {}
      loan_id: {}
      amount: {range: [0, 20]}
      paid: {}
      reason: {}
"""

Row = tuple[object, ...]


def rows(*, with_person: bool) -> dict[str, list[Row]]:
    """The rows of each table; None is NULL."""
    found: dict[str, list[Row]] = {
        "branch": [("north", "Lund", 12), ("south", "Ystad", 30), ("west", "Halmstad", 7)],
        "member": [_member(number) for number in range(1, MEMBERS + 1)],
        "loan": [_loan(number) for number in range(1, 3 * MEMBERS + 1)],
        "fine": [_fine(number) for number in range(1, MEMBERS + 1)],
        "vault": [(number, "0000") for number in range(1, 20)],
    }
    if with_person:
        for name, theirs in _person().items():
            found[name] += theirs
    return found


def _member(number: int) -> Row:
    sex = None if number % 97 == 0 else "FM"[number % 2]
    notes = ("12", "7", "2024-05-05", '{"a": 1}', None)
    return (
        number, sex, f"19{30 + number % 60}-03-0{1 + number % 9}", number % 101, float(number % 40) * 12.5,
        f"{number % 300}.25", number % 3 == 0, ("north", "south", "west")[number % 3], f"card {number % 2}",
        number % 7, notes[number % 5], f"202{number % 5}-06-15 12:00:00", "0000",
    )  # fmt: skip


def _loan(number: int) -> Row:
    member = None if number % 211 == 0 else 1 + number % MEMBERS
    day = f"2024-{1 + number % 12:02}-{1 + number % 28:02}"
    return number, member, day, number % 61, float(number % 50), ("book", "film", "game")[number % 3], "a title"


def _fine(number: int) -> Row:
    return number, number, f"{number % 20}.50", number % 2 == 0, "late"


def _person() -> dict[str, list[Row]]:
    """The rows of the one who differs."""
    wild = ("NaN", "inf", "-inf", str(WEALTH), "5e-324", "1e308", "-0.0", None)
    days = (BORN, "9999-12-31", "0001-01-01", "2024-02-29", "infinity", None)
    worst_pattern = f"((a+)+)+$[{CARD}"
    loans: list[Row] = [
        (
            700000 + number, PERSON, days[number % len(days)], (SCORE, -(2**31), 2**31 - 1, None)[number % 4],
            wild[number % len(wild)], ("book", "atlas", "", None)[number % 4],
            (CARD, worst_pattern, f"'); DROP TABLE member; -- {CARD}", "", LONG)[number % 5],
        )
        for number in range(60)
    ]  # fmt: skip
    fines: list[Row] = [
        (800000 + number, 700000 + number % 60, ("999999.99", "-999999.99", None)[number % 3], None, CARD)
        for number in range(90)
    ]
    member: Row = (
        PERSON, "X", BORN, SCORE, WEALTH, "-9999999999.99", None, CARD, CARD, CODE, f'{{"{CARD}": {CODE}}}',
        "infinity", CARD,
    )  # fmt: skip
    return {"member": [member], "loan": loans, "fine": fines, "vault": [(PERSON, CARD)]}


@dataclass(frozen=True, slots=True)
class Library:
    """A folder with a policy, over a database with or without the person."""

    policy: Path

    @property
    def folder(self) -> Path:
        return self.policy.parent


def duckdb_library(folder: Path, *, with_person: bool, policy: str = POLICY) -> Library:
    folder.mkdir()
    with duckdb.connect(str(folder / "library.duckdb")) as connection:
        for name, content in rows(with_person=with_person).items():
            connection.execute(f"CREATE TABLE {name} ({TABLES[name]})")
            columns = [pa.array(column, pa.string()) for column in zip(*map(_texts, content), strict=True)]
            connection.register("incoming", pa.table(columns, [str(place) for place in range(len(columns))]))
            connection.execute(f"INSERT INTO {name} SELECT * FROM incoming")
    return _written(folder, f"duckdb:{folder}/library.duckdb", policy)


def postgres_library(folder: Path, *, with_person: bool, policy: str = POLICY) -> Library:
    folder.mkdir()
    server = shared_server()
    name = server.database()
    with server.owner(name) as connection:
        for table, content in rows(with_person=with_person).items():
            connection.execute(f"CREATE TABLE {table} ({TABLES[table]})")
            copy_texts(connection, table, [_texts(row) for row in content])
        server.grant(connection)
    return _written(folder, server.url(name), policy)


LIBRARIES: dict[str, Callable[..., Library]] = {"duckdb": duckdb_library, "postgres": postgres_library}


def _texts(row: Sequence[object]) -> tuple[str | None, ...]:
    return tuple(None if value is None else str(value) for value in row)


def _written(folder: Path, database: str, policy: str) -> Library:
    path = folder / "policy.yaml"
    path.write_text(f"database: {database}\nledger: sqlite:{folder}/spent.ledger\n{policy}")
    return Library(path)
