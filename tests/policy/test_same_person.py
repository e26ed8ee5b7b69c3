"""Two ways from one row to people: shown where they lead to one person in rows that cannot change, and refused else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import duckdb
import pytest

import dpsql
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.engines.schema import ForeignKey
from dpsql.engines.way_check import Way
from dpsql.errors import Error, OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.opened import agreeing, open_engine, open_policy
from dpsql.policy.declared_catalog import fit
from dpsql.policy.policy import Policy
from dpsql.proxy import Proxy
from tests.default_run import thinned
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server

TABLES = """
CREATE TABLE patient (id INT PRIMARY KEY, age INT);
CREATE TABLE stay (nr INT PRIMARY KEY, patient INT);
CREATE TABLE room (nr INT PRIMARY KEY, stay INT REFERENCES stay (nr), before INT REFERENCES stay (nr));
CREATE TABLE note (id INT PRIMARY KEY, stay INT REFERENCES stay (nr), patient INT, room INT REFERENCES room (nr));
INSERT INTO patient VALUES (1, 30), (2, 40), (3, 50);
INSERT INTO stay VALUES (10, 1), (11, 1), (20, 2), (90, 9), (91, NULL);
INSERT INTO room VALUES (100, 10, NULL), (101, 11, 10), (200, 20, 20), (102, 11, 20);
INSERT INTO note VALUES (1, 10, 1, NULL), (2, 20, 2, NULL), (3, NULL, 3, NULL);
"""
POLICY = """
database: {}
ledger: sqlite:{}
privacy_unit: patient.id
budget: {{epsilon: 10, delta: 1e-6}}
tables:
  patient: {{columns: {{age: {{range: [0, 100]}}}}}}
  stay: {{unit: patient -> patient.id, max_rows: 5}}
"""
DIRECT = "  note: {unit: patient -> patient.id, max_rows: 5, columns: {stay: {}}}"
BY_STAY = "  note: {unit: stay -> stay.nr, max_rows: 5, columns: {patient: {}, stay: {}}}"
BY_ROOM = "  note: {unit: patient -> patient.id, max_rows: 5, columns: {room: {}}}"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    numbers = itertools.count()

    def written(change: str = "", note: str = DIRECT, tables: str = TABLES) -> Path:
        at = tmp_path / f"{next(numbers)}"
        with duckdb.connect(f"{at}.duckdb") as connection:
            connection.execute(tables)
            connection.execute(change)
        path = at.with_suffix(".yaml")
        path.write_text(POLICY.format(f"duckdb:{at}.duckdb", f"{at}.ledger") + note)
        return path

    return written


def refusal(policy: Path) -> str:
    with pytest.raises(OperationalError) as told:
        open_policy(policy).close()
    return str(told.value)


def checked(policy: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The errors that ``check`` tells."""
    code = main(["check", str(policy)])
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("error")]
    assert (code == 0) == (not told)
    return told


# Rows that cannot change

BY_FOREIGN_KEY = TABLES.replace("patient INT, room", "patient INT REFERENCES patient (id), room")


@pytest.mark.parametrize(
    ("change", "note", "tables"),
    [
        ("", DIRECT, TABLES),
        ("", BY_STAY, BY_FOREIGN_KEY),
        ("INSERT INTO note VALUES (4, NULL, NULL, NULL)", DIRECT, TABLES),
        ("INSERT INTO note VALUES (4, 90, 1, NULL), (5, 91, 2, NULL)", DIRECT, TABLES),
        ("INSERT INTO note VALUES (4, 10, NULL, NULL), (5, 20, 77, NULL)", DIRECT, TABLES),
        ("INSERT INTO note VALUES (4, 90, 1, NULL), (5, NULL, 2, NULL), (6, 10, NULL, NULL)", BY_STAY, BY_FOREIGN_KEY),
        ("INSERT INTO note VALUES (4, NULL, 1, 100), (5, NULL, 1, 101), (6, NULL, 2, 200)", BY_ROOM, TABLES),
        ("DELETE FROM note", DIRECT, TABLES),
    ],
    ids=["direct", "by stay", "nobody", "other dangles", "own dangles", "by stay dangles", "by room", "no row"],
)
def test_a_row_whose_ways_lead_to_one_person_is_shown(
    write: Write, capsys: pytest.CaptureFixture[str], change: str, note: str, tables: str
) -> None:
    policy = write(change, note, tables)
    assert checked(policy, capsys) == []
    opened = open_policy(policy)
    try:
        assert len(opened.catalog.tables["note"].columns) >= 2
    finally:
        opened.close()


@pytest.mark.parametrize(
    ("change", "note", "tables", "column"),
    [
        ("INSERT INTO note VALUES (4, 20, 1, NULL)", DIRECT, TABLES, "stay"),
        ("INSERT INTO note VALUES (4, 20, 1, NULL)", BY_STAY, BY_FOREIGN_KEY, "patient"),
        ("INSERT INTO note VALUES (4, NULL, 1, 200)", BY_ROOM, TABLES, "room"),
        ("INSERT INTO note VALUES (4, NULL, 1, 102)", BY_ROOM, TABLES, "room"),
    ],
    ids=["direct", "by stay", "by room", "one of two people by room"],
)
def test_one_row_of_two_people_is_refused(
    write: Write, capsys: pytest.CaptureFixture[str], change: str, note: str, tables: str, column: str
) -> None:
    policy = write(change, note, tables)
    (told,) = checked(policy, capsys)
    assert f"tables.note.columns.{column}: a row of note is about two people" in told
    assert "Some rows lead to two different people" in told
    assert told.removeprefix("error: ") in refusal(policy)


def test_what_is_shown_is_answered(write: Write) -> None:
    policy = write("INSERT INTO note VALUES (4, 90, 1, NULL), (5, 10, 77, NULL), (6, 10, NULL, NULL)")
    proxy = open_without_noise(policy)
    try:
        counted = [proxy.session().execute(f"SELECT COUNT(*) FROM note WHERE stay = {nr}").rows for nr in (10, 20, 90)]
    finally:
        proxy.close()
    assert counted == [((1,),)] * 3


def test_a_chain_of_undeclared_tables_that_comes_back_is_refused(write: Write) -> None:
    tables = TABLES.replace("before INT REFERENCES stay (nr)", "before INT REFERENCES room (nr)")
    tables = tables.replace("11, 10)", "11, 100)").replace("20, 20)", "20, NULL)").replace("11, 20)", "11, 100)")
    tables = tables.replace(
        "INSERT INTO room VALUES (100, 10, NULL),", "INSERT INTO room VALUES (100, 10, NULL);\nINSERT INTO room VALUES"
    )
    assert "tables.note.columns.room" in refusal(write(note=BY_ROOM, tables=tables))


def test_a_look_that_fails_shows_nothing(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> tuple[bool, ...]:
        raise Error("out of memory", sqlstate="53200")

    policy = write()
    monkeypatch.setattr(DuckDBEngine, "agree", broken)
    assert "Whether it is always the same person could not be seen" in refusal(policy)


def test_each_table_is_scanned_once(write: Write) -> None:
    note = "  note: {unit: patient -> patient.id, max_rows: 5, columns: {stay: {}, room: {}}}"
    policy = Policy.load(write(note=note))
    engine = open_engine(policy.database)
    try:
        claims = fit(policy, engine.schema()).agreements
        asked: list[int] = []
        look = engine.agree

        def counted(
            table: str, people: tuple[str, str], own: Way, others: Sequence[Way], timeout: float | None = None
        ) -> tuple[bool, ...]:
            asked.append(len(others))
            return look(table, people, own, others, timeout)

        engine.agree = counted  # type: ignore[method-assign]
        assert agreeing(engine, claims, 60) == dict.fromkeys(claims, True)
        assert asked == [3] == [len(claims)]
    finally:
        engine.close()


# Rows that can change

SEE = "a DuckDB file of tables, whose rows do not change while it is served"
KEY = "FOREIGN KEY (patient, stay) REFERENCES stay (patient, nr)"


def test_a_view_is_refused_whatever_its_rows_are(write: Write) -> None:
    change = "CREATE VIEW letter AS SELECT * FROM note"
    assert SEE in refusal(write(change, DIRECT.replace("note:", "letter:")))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("", True),
        (f"ALTER TABLE stay ADD UNIQUE (patient, nr); ALTER TABLE note ADD {KEY};", False),
        (f"ALTER TABLE stay ADD UNIQUE (patient, nr); ALTER TABLE note ADD {KEY} NOT VALID;", True),
        # A row with a NULL in one of the three columns is not held to the key.
        (
            "ALTER TABLE stay ADD ward INT, ADD UNIQUE (patient, nr, ward); ALTER TABLE note ADD ward INT, "
            "ADD FOREIGN KEY (patient, stay, ward) REFERENCES stay (patient, nr, ward);",
            True,
        ),
    ],
    ids=["agreeing today", "a constraint", "not enforced", "a third column"],
)
def test_postgres_wants_a_constraint(tmp_path: Path, change: str, told: bool) -> None:
    server = shared_server()
    path = tmp_path / "policy.yaml"
    url = server.url(server.database(TABLES + change))
    path.write_text(POLICY.format(url, tmp_path / "ledger") + DIRECT)
    if told:
        assert "tables.note.columns.stay" in refusal(path)
        assert SEE in refusal(path)
        assert f"the constraint {KEY}" in refusal(path)
    else:
        open_policy(path).close()


# The scan

OWN: Way = (ForeignKey(("a",), "p", ("id",)),)
OTHERS: tuple[Way, ...] = (
    (ForeignKey(("b",), "m", ("k",)), ForeignKey(("a",), "p", ("id",))),
    (ForeignKey(("a", "b"), "m", ("a", "k")), ForeignKey(("b",), "m", ("k",)), ForeignKey(("a",), "p", ("id",))),
    (ForeignKey(("b",), "p", ("other",)),),
)

Row = dict[str, int | None]


def ends(tables: dict[str, list[Row]], row: Row, way: Way) -> set[int | None]:
    """Everybody to whom a way leads from a row."""
    rows = [row]
    for step in way:
        wanted = [[one[name] for name in step.columns] for one in rows]
        rows = [
            found
            for values in wanted
            for found in tables[step.parent]
            if None not in values and [found[name] for name in step.parent_columns] == values
        ]
    return {one["id"] for one in rows} - {None}


@pytest.mark.parametrize("seed", thinned(range(4), 2))
def test_the_scan_finds_what_a_search_finds(tmp_path: Path, seed: int) -> None:
    """Over rows whose keys are shared, missing and dangling."""
    random, seen = Random(seed), set()
    for number in range(12):
        path = str(tmp_path / f"{number}.duckdb")
        names = {"p": ("id", "other"), "m": ("k", "a", "b"), "t": ("a", "b")}
        tables: dict[str, list[Row]] = {
            name: [{one: random.choice([None, 1, 2, 3, 4]) for one in columns} for _ in range(random.randint(0, 3))]
            for name, columns in names.items()
        }
        with duckdb.connect(path) as connection:
            for name, columns in names.items():
                connection.execute(f"CREATE TABLE {name} ({', '.join(f'{one} INT' for one in columns)})")
                for row in tables[name]:
                    connection.execute(
                        f"INSERT INTO {name} VALUES ({', '.join('?' for _ in columns)})", [*row.values()]
                    )
        engine = DuckDBEngine.open(path)
        try:
            found = engine.agree("t", ("p", "id"), OWN, OTHERS)
        finally:
            engine.close()
        truth = tuple(
            all(
                len(ours | theirs) <= 1
                for row in tables["t"]
                if (ours := ends(tables, row, OWN)) and (theirs := ends(tables, row, other))
            )
            for other in OTHERS
        )
        assert found == truth
        seen |= set(enumerate(found))
    assert len({answer for _, answer in seen}) == 2


# Tests without noise

LETTER = (
    TABLES + "CREATE TABLE letter (id INT, sender INT REFERENCES patient (id), receiver INT REFERENCES patient (id));"
)
LETTERS = "  letter: {unit: sender -> patient.id, max_rows: 5, columns: {receiver: {}}}"
SENT = "INSERT INTO letter VALUES (1, 1, 2), (2, 1, 3), (3, 2, 3);"


def test_a_row_of_two_people_is_opened_without_noise_alone(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    policy = write(SENT, LETTERS, LETTER)
    proxy = open_without_noise(policy)
    try:
        assert proxy.session().execute("SELECT COUNT(*) FROM letter").rows == ((3,),)
    finally:
        proxy.close()
    assert len(checked(policy, capsys)) == 1
    for opening in (open_policy, Proxy.open, lambda path: dpsql.connect(path).cursor()):
        with pytest.raises(OperationalError, match="a row of letter is about two people"):
            opening(policy)
    for words in (["query", str(policy), "SELECT COUNT(*) FROM letter"], ["serve", str(policy), "--port", "0"]):
        assert main(words) != 0
        assert "a row of letter is about two people" in capsys.readouterr().err


@pytest.mark.quick
@pytest.mark.parametrize("note", ["  letter: {public: true}", f"{LETTERS}\n  nothing: {{}}"])
def test_nothing_else_passes_there(write: Write, note: str) -> None:
    with pytest.raises(OperationalError, match=r"its rows are about people|the database has no table nothing"):
        open_without_noise(write(SENT, note, LETTER))
