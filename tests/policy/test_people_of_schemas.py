"""Whose rows are whose, on schemas of many kinds: policies that are opened name nobody but the owners of rows.

The law is checked on rows, without any of the product's reasoning about schemas: who is reached from a row by following
its foreign keys, value by value, is its owner, or is nobody's secret by the owner's word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import duckdb
import pytest

from dpsql.engines.schema import ForeignKey, Schema, SchemaColumn, SchemaTable
from dpsql.opened import open_engine, open_policy
from dpsql.policy.check_policy import problems
from dpsql.policy.declared_catalog import fit
from dpsql.policy.policy import Policy
from dpsql.policy.proposal import first_policy
from rewriter.declared.catalog import Catalog
from rewriter.declared.types import INTEGER
from tests.engines.postgres_server import shared_server

# Random schemas, policies and rows

Row = dict[str, int]


@dataclass(frozen=True)
class Drawn:
    """Tables of rows; ``references`` says to which table each column of each refers."""

    references: Mapping[str, Mapping[str, str]]
    rows: Mapping[str, list[Row]]
    policy: str

    @property
    def schema(self) -> Schema:
        tables = {}
        for name, references in self.references.items():
            columns = {one: SchemaColumn(one, "INTEGER", INTEGER, True) for one in ("id", *references, "note")}
            keys = tuple(ForeignKey((one,), parent, ("id",)) for one, parent in references.items())
            tables[name] = SchemaTable(name, columns, ("id",), foreign_keys=keys)
        return Schema(tables)

    def reached(
        self, table: str, row: Row, policy: Policy, known: Catalog, seen: frozenset[str] = frozenset()
    ) -> set[int]:
        """The people whom a row is about: its owner, or, where the policy does not speak of its table, everybody."""
        if table in known.tables:
            return set() if known.tables[table].public else {self.owner(table, row, known)}
        return {
            person
            for column, parent in self.references[table].items()
            if parent not in seen
            for person in self.reached(parent, self.rows[parent][row[column]], policy, known, seen | {table})
        }

    def owner(self, table: str, row: Row, known: Catalog) -> int:
        for hop in known.tables[table].path:
            row = self.rows[hop.parent][row[hop.column]]
        return row["id"]


def drawn(random: Random) -> Drawn:
    names = ["person", *(f"t{number}" for number in range(random.randint(1, 4)))]
    references = {
        name: {
            f"{name}_{n}": random.choice(names)
            for n in range(random.choice([0, 0, 1] if name == "person" else [0, 1, 1, 2]))
        }
        for name in names
    }
    rows = {
        name: [{"id": n, "note": 0, **{c: random.randrange(40) for c in references[name]}} for n in range(40)]
        for name in names
    }
    lines = [
        "database: duckdb:x",
        "ledger: sqlite:x",
        "privacy_unit: person.id",
        "budget: {epsilon: 1, delta: 1e-6}",
        "tables:",
    ]
    for name in names:
        how = "private" if name == "person" else random.choice(["private", "private", "private", "public", "absent"])
        if how == "absent":
            continue
        said = ["public: true"] if how == "public" else []
        if how == "private" and references[name] and name != "person" and random.random() < 0.8:
            column, parent = random.choice(list(references[name].items()))
            said.append(f"unit: {column} -> {parent}.id")
        columns = [
            f"{column}: {random.choice(['{}', '{}', '{owner: public}'])}"
            for column in references[name]
            if random.random() < 0.6
        ]
        if how == "private" or random.random() < 0.7:
            said.append(f"columns: {{{', '.join([*columns, 'note: {}'])}}}")
        lines.append(f"  {name}: {{{', '.join(said)}}}")
    return Drawn(references, rows, "\n".join(lines))


def assert_names_nobody_else(found: Drawn, policy: Policy, known: Catalog) -> int:
    """How many references of rows were followed."""
    followed = 0
    for name, table in known.tables.items():
        spec = policy.tables[name].columns or {}
        for column, parent in found.references[name].items():
            said = spec.get(column)
            open_ = said is not None and said.owner is not None
            if open_ or (column not in table.columns and not table.public):
                continue
            for row in found.rows[name]:
                people = found.reached(parent, found.rows[parent][row[column]], policy, known)
                own = set() if table.public else {found.owner(name, row, known)}
                assert people <= own, f"{name}.{column} names {people - own} in a row of {own}:\n{found.policy}"
                followed += 1
    return followed


def test_what_is_opened_names_nobody_but_the_owners_of_rows() -> None:
    opened = followed = 0
    for seed in range(1_500):
        found = drawn(Random(seed))
        policy = Policy.parse(found.policy)
        fitted = fit(policy, found.schema, looks={})
        if not fitted.errors:
            opened += 1
            followed += assert_names_nobody_else(found, policy, fitted.catalog)
    assert opened > 250
    assert followed > 5_000


def test_first_policies_of_random_schemas_name_nobody_but_the_owners_of_rows() -> None:
    declared = 0
    for seed in range(600):
        found = drawn(Random(seed))
        text = first_policy(found.schema, "duckdb:x.duckdb")
        policy = Policy.parse(text)
        fitted = fit(policy, found.schema, looks={})
        assert not fitted.errors, text
        assert not any(table.public for table in fitted.catalog.tables.values())
        if fitted.catalog.unit == ("person", "id"):
            assert_names_nobody_else(found, policy, fitted.catalog)
            declared += len(fitted.catalog.tables)
    assert declared > 600


# Schemas as they are in the world

SCHEMAS: dict[str, tuple[str, str, set[str], set[str]]] = {
    # name: DDL, the unit, tables that a first policy declares, columns that it leaves out of them
    "forum": (
        """
        CREATE TABLE account (id INT PRIMARY KEY, email TEXT, invited_by INT REFERENCES account (id));
        CREATE TABLE board (id INT PRIMARY KEY, title TEXT);
        CREATE TABLE post (id INT PRIMARY KEY, author INT REFERENCES account (id), board INT REFERENCES board (id));
        CREATE TABLE vote (post INT REFERENCES post (id), voter INT REFERENCES account (id), value INT);
        CREATE TABLE follows (follower INT REFERENCES account (id), followee INT REFERENCES account (id));
        CREATE TABLE ban (account INT REFERENCES account (id), reason TEXT);
        """,
        "account.id",
        {"account", "post", "ban"},
        {"account.invited_by"},
    ),
    "bank": (
        """
        CREATE TABLE customer (id INT PRIMARY KEY, born DATE);
        CREATE TABLE deposit (iban TEXT PRIMARY KEY, customer INT REFERENCES customer (id), opened DATE);
        CREATE TABLE transfer (nr INT PRIMARY KEY, payer TEXT REFERENCES deposit (iban), payee TEXT REFERENCES deposit (iban),
            amount DECIMAL(12,2));
        CREATE TABLE complaint (transfer INT REFERENCES transfer (nr), wording TEXT);
        CREATE TABLE branch_day (branch INT, day DATE, takings DECIMAL(12,2));
        """,
        "customer.id",
        {"customer", "deposit"},
        set(),
    ),
    "family": (
        """
        CREATE TABLE person (id INT PRIMARY KEY, mother INT REFERENCES person (id), father INT REFERENCES person (id), born INT);
        CREATE TABLE marriage (a INT REFERENCES person (id), b INT REFERENCES person (id), since INT);
        CREATE TABLE residence (person INT REFERENCES person (id), town TEXT);
        """,
        "person.id",
        {"person", "residence"},
        {"person.mother", "person.father"},
    ),
    "audited": (  # Each table says who made a row and who changed it.
        """
        CREATE TABLE users (id INT PRIMARY KEY, name TEXT, created_by INT REFERENCES users (id), changed_by INT REFERENCES users (id));
        CREATE TABLE chart (id INT PRIMARY KEY, title TEXT, created_by INT REFERENCES users (id), changed_by INT REFERENCES users (id));
        CREATE TABLE opening (chart INT REFERENCES chart (id), who INT REFERENCES users (id), at_ TIMESTAMP);
        CREATE TABLE signing_in (who INT REFERENCES users (id), at_ TIMESTAMP);
        """,
        "users.id",
        {"users", "signing_in"},
        {"users.created_by", "users.changed_by"},
    ),
    "school": (
        """
        CREATE TABLE teacher (id INT PRIMARY KEY, name TEXT);
        CREATE TABLE course (id INT PRIMARY KEY, teacher INT REFERENCES teacher (id), title TEXT);
        CREATE TABLE student (id INT PRIMARY KEY, tutor INT REFERENCES teacher (id), year INT);
        CREATE TABLE mark (student INT REFERENCES student (id), course INT REFERENCES course (id), mark INT,
            PRIMARY KEY (student, course));
        CREATE TABLE appeal (student INT, course INT, wording TEXT, FOREIGN KEY (student, course) REFERENCES mark (student, course));
        """,
        "teacher.id",
        {"teacher", "course", "student"},
        set(),
    ),
    "sensors": (
        "CREATE TABLE reading (at_ TIMESTAMP, value DOUBLE PRECISION); CREATE TABLE alarm (at_ TIMESTAMP, level INT);",
        "",
        set(),
        set(),
    ),
}


@pytest.mark.spread
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_a_first_policy_of_a_schema_of_the_world(kind: str, name: str, tmp_path: Path) -> None:
    ddl, unit, declared, left_out = SCHEMAS[name]
    if kind == "duckdb":
        with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
            connection.execute(ddl)
        url = f"duckdb:{tmp_path / 'x.duckdb'}"
    else:
        url = shared_server().url(shared_server().database(ddl))
    path = tmp_path / "policy.yaml"
    path.write_text(f"database: {url}\nledger: sqlite:x\nprivacy_unit: row\nbudget: {{epsilon: 1}}\ntables: {{}}")
    engine = open_engine(Policy.load(path).database)
    try:
        schema = engine.schema()
    finally:
        engine.close()
    text = first_policy(schema, url)
    tables = {line.strip(" #:") for line in text.splitlines() if line.startswith(("  # ", "  ")) and line.endswith(":")}
    assert tables >= schema.tables.keys(), "each table is there, or in a comment"
    if not unit:
        assert "privacy_unit:  # DECIDE" in text
        return
    policy = Policy.parse(text)
    assert policy.privacy_unit is not None
    assert ".".join(policy.privacy_unit) == unit
    assert policy.tables.keys() == declared
    for column in left_out:
        table, _, bare = column.partition(".")
        assert bare not in (policy.tables[table].columns or {})
    assert [p for p in problems(policy, schema) if p.severity == "error"] == []
    path.write_text(re.sub("sqlite:[^ ]*", f"sqlite:{tmp_path}/x.ledger", text))
    open_policy(path).close()


@pytest.mark.quick
def test_a_column_that_holds_keys_of_people_is_told_of_without_a_foreign_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dpsql.interfaces.commands.commands import main

    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person AS SELECT n AS id FROM range(500) t(n);"
            "CREATE TABLE message AS SELECT n % 500 AS sender, 7 * n % 500 AS receiver, n AS nr, n % 9 AS size,"
            " n % 500 AS words FROM range(3000) t(n)"
        )
    (tmp_path / "policy.yaml").write_text(
        "database: duckdb:x.duckdb\nledger: sqlite:x\nprivacy_unit: person.id\nbudget: {epsilon: 1, delta: 1e-6}\n"
        "tables: {person: {}, message: {unit: sender -> person.id, max_rows: 9,"
        " columns: {sender: {}, receiver: {}, nr: {}, size: {}, words: {range: [0, 600]}}}}\n"
    )
    assert main(["check", str(tmp_path / "policy.yaml")]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "every value is one of person.id" in line]
    assert [line.split(":")[1].strip() for line in told] == ["tables.message.columns.receiver"]
    spoken = (tmp_path / "policy.yaml").read_text().replace("receiver: {}", "receiver: {owner: public}")
    (tmp_path / "policy.yaml").write_text(spoken)
    assert main(["check", str(tmp_path / "policy.yaml")]) == 0
    assert "every value is one of" not in capsys.readouterr().out
