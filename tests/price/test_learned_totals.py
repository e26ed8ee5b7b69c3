"""``max_total`` of a column where the owner leaves it to be learned: bought once, and worth it."""

from __future__ import annotations

import datetime
import random
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import dpsql
from rewriter.declared.catalog import Catalog, Column, Hop, Table
from rewriter.declared.contribution import Norm
from rewriter.declared.types import DOUBLE, INTEGER
from rewriter.declared.undeclared import Missing
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.postgres import POSTGRES
from rewriter.plan import Plan
from rewriter.planner.bound_histogram import exponents, greatest, histograms
from rewriter.planner.plan_release import plan
from tests.new_databases import insert

COST = Missing("visit", "cost", total=True)
PEOPLE, ROWS = 3_000, 40


def _catalog() -> Catalog:
    person = Table("person", {"id": Column("id", INTEGER, nullable=False, unique=True)}, max_rows=1)
    cost = Column("cost", DOUBLE, range=(0.0, 400.0), learns_total=True)
    columns = {"person_id": Column("person_id", INTEGER), "cost": cost}
    visit = Table("visit", columns, path=(Hop("person_id", "person", "id", enforced=True),), max_rows=ROWS)
    return Catalog({"person": person, "visit": visit}, ("person", "id"))


def _histogram(dialect: Dialect = DUCKDB) -> Plan:
    (query,) = histograms(COST, _catalog(), dialect)
    return plan(query, Norm.L1, dialect)


def test_one_person_is_in_one_bin() -> None:
    for dialect in (DUCKDB, POSTGRES):
        (block,) = _histogram(dialect).blocks
        assert (block.sensitivity.l1, block.sensitivity.l2_squared) == (1, 1)


@pytest.mark.parametrize("seed", range(4))
def test_each_person_is_in_the_bin_of_what_their_values_add_up_to(seed: int) -> None:
    draw = random.Random(seed)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
    connection.execute("CREATE TABLE visit (person_id INTEGER, cost DOUBLE)")
    bins = exponents(COST, _catalog())
    expected = dict.fromkeys(range(len(bins)), 0)
    insert(connection, "person", [(person,) for person in range(60)])
    for person in range(60):
        values = [
            draw.choice([None, 0.0, -0.0, 1e-9, 0.25, 17.5, 400.0, 1e300, -5.0, float("inf"), float("nan")])
            for _ in range(draw.choice([0, 1, 3, 40, 90]))
        ]
        insert(connection, "visit", [(person, value) for value in values])
        clipped = [min(400.0, max(0.0, one)) for one in values if one is not None and abs(one) < float("inf")]
        step = Fraction(1, 2048)
        total = sum((Fraction(one) // step * step for one in clipped), Fraction(0))
        if total > 0:
            place = next((n for n, e in enumerate(bins) if total <= Fraction(2) ** e), len(bins) - 1)
            expected[place] += 1
    answered = {row[0]: row[1] for row in connection.execute(_histogram().sql).fetchall() if row[0] is not None}
    assert {place: count for place, count in answered.items() if count} == {
        place: count for place, count in expected.items() if count
    }


@pytest.mark.quick
def test_the_loosest_total_changes_nothing() -> None:
    assert greatest(COST, _catalog()).high >= 400 * ROWS


@pytest.fixture(params=["zcdp", "pure"])
def policy(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """People with a few visits each, of which none comes near to 40 visits of 400."""
    draw = random.Random(7)
    connection = duckdb.connect(str(tmp_path / "clinic.duckdb"))
    connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
    connection.execute("CREATE TABLE visit (person_id INTEGER REFERENCES person (id), day DATE, cost DOUBLE)")
    connection.execute(f"INSERT INTO person SELECT range FROM range({PEOPLE})")
    day = datetime.date(2025, 1, 1)
    rows = [
        (person, day, min(400.0, draw.lognormvariate(2.5, 1.0)))
        for person in range(PEOPLE)
        for _ in range(1 + draw.getrandbits(2))
    ]
    columns = dict(zip(("person_id", "day", "cost"), map(pa.array, zip(*rows, strict=True)), strict=True))
    connection.register("visits", pa.table(columns))
    connection.execute("INSERT INTO visit SELECT * FROM visits")
    connection.close()
    path, delta = tmp_path / "policy.yaml", "1e-6" if request.param == "zcdp" else "0"
    path.write_text(f"""
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: person.id
budget: {{epsilon: 40, delta: {delta}, accounting: {request.param}}}
statement: {{epsilon: 1, max_epsilon: 2, bounds: 0.2}}
tables:
  person: {{columns: {{id: {{}}}}}}
  visit:
    unit: person_id -> person.id
    max_rows: {ROWS}
    columns: {{person_id: {{}}, day: {{range: [2025-01-01, 2025-12-31]}}, cost: {{range: [0, 400]}}}}
""")
    return path


def test_a_total_is_learned_once_and_the_noise_follows_from_it(policy: Path) -> None:
    loose = policy.with_name("loose.yaml")
    loose.write_text(policy.read_text().replace(", bounds: 0.2", "").replace("clinic.ledger", "loose.ledger"))
    with dpsql.connect(str(loose)) as connection:
        wide, notices = _margin(connection, "SELECT SUM(cost) FROM visit")
    assert not any("max_total" in notice or "adds up" in notice for notice in notices)
    with dpsql.connect(str(policy)) as connection:
        narrow, first = _margin(connection, "SELECT SUM(cost) FROM visit")
        _, second = _margin(connection, "SELECT SUM(cost) FROM visit WHERE cost > 10")
    assert narrow < wide / 8
    assert any("max_total of visit.cost" in notice for notice in first)
    assert any("adds up to at most" in notice for notice in second)
    assert not any("max_total of visit.cost" in notice for notice in second)


def test_a_total_as_large_as_the_rows_allow_keeps_no_statement_waiting_for_itself(policy: Path) -> None:
    """Then the plan with what was learned is the plan without, which the statement claims while it learns."""
    with duckdb.connect(str(policy.with_name("clinic.duckdb"))) as connection:
        connection.execute("UPDATE visit SET cost = 400")
        connection.execute(f"INSERT INTO visit SELECT v.* FROM visit AS v, range({ROWS})")
    policy.write_text(f"{policy.read_text()}limits: {{seconds: 20}}\n")
    with dpsql.connect(str(policy)) as connection:
        _margin(connection, "SELECT SUM(cost) FROM visit")
        _, notices = _margin(connection, "SELECT SUM(2 * cost - 100) FROM visit")
    assert not any("max_total of visit.cost" in notice for notice in notices), "the bound was known"


def _margin(connection: dpsql.Connection, sql: str) -> tuple[float, tuple[str, ...]]:
    cursor = connection.execute(sql)
    assert cursor.margins is not None
    margin = cursor.margins[0][0]
    assert margin is not None
    return float(margin), tuple(cursor.notices)
