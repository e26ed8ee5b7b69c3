"""Rows beside their own person's figures: without noise, answers are those of the engine itself, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import duckdb
import psycopg
import pytest

from dpsql.proxy import Session
from tests.engines.postgres_server import shared_server
from tests.properties.planted import case

TABLES = """
  person: {columns: {id: {}}}
  v: {unit: pid -> person.id, max_rows: 12, columns: {id: {}, pid: {}, x: {range: [0, 10]}, c: {range: [0, 10]},
     k: {range: [0, 10]}}}
"""
PEOPLE = 400


def setup() -> list[str]:
    """Doubles and decimals with few digits, many of them equal, and some beyond what is declared."""
    random = Random(11)
    rows, number = [], 0
    for person in range(PEOPLE):
        alike = random.randrange(100) if random.random() < 0.3 else None
        for _ in range(random.randint(1, 6)):
            tenths = random.randrange(100) if alike is None else alike
            x = (
                random.choice(["-3.3", "12.7", "1e9", "NULL", "5e-324", "1e100", "'NaN'"])
                if random.random() < 0.08
                else str(tenths / 10)
            )
            c = "NULL" if random.random() < 0.05 else str((tenths + 3) / 10)
            rows.append(f"({number}, {person}, {x}::double precision, {c}, {tenths // 10})")
            number += 1
    return [
        "CREATE TABLE person (id INTEGER PRIMARY KEY)",
        "CREATE TABLE v (id INTEGER PRIMARY KEY, pid INTEGER NOT NULL REFERENCES person (id), x DOUBLE PRECISION, c DECIMAL(6, 2), k INTEGER NOT NULL)",
        f"INSERT INTO person SELECT i FROM generate_series(0, {PEOPLE - 1}) AS t(i)",
        f"INSERT INTO v VALUES {', '.join(rows)}",
    ]


FORMS = (
    # a subquery for each row, a join, a window, a sign
    *(
        f"SELECT COUNT(*) FROM v WHERE {{0}} {sign} (SELECT {figure}(w.{{0}}) FROM v AS w WHERE w.pid = v.pid)"
        for figure in ("AVG", "SUM", "MIN", "MAX")
        for sign in ("<", "<=", "=", ">")
    ),
    *(
        f"SELECT COUNT(*) FROM v JOIN (SELECT pid, {figure}({{0}}) AS m FROM v GROUP BY pid) AS g ON g.pid = v.pid"
        f" WHERE {{0}} {sign} m"
        for figure in ("AVG", "SUM")
        for sign in (">", "<>", ">=")
    ),
    *(
        f"SELECT COUNT(*) FROM (SELECT {{0}} AS x, {figure}({{0}}) OVER (PARTITION BY pid) AS m FROM v) AS t WHERE x {sign} m"
        for figure in ("AVG", "SUM", "MAX")
        for sign in (">=", "<", "=")
    ),
    "SELECT SUM(CASE WHEN {0} > m THEN 1 WHEN {0} = m THEN 100 ELSE 0 END) FROM v JOIN (SELECT pid, AVG({0}) AS m FROM v"
    " GROUP BY pid) AS g ON g.pid = v.pid",
    "SELECT SIGN({0} - m) AS s, COUNT(*) FROM v JOIN (SELECT pid, AVG({0}) AS m FROM v GROUP BY pid) AS g ON g.pid = v.pid"
    " WHERE {0} BETWEEN 0 AND 20 AND m BETWEEN 0 AND 20 GROUP BY 1 ORDER BY 1",
    "SELECT COUNT(*) FROM v JOIN (SELECT pid, AVG({0}) FILTER (WHERE k > 3) AS m FROM v GROUP BY pid) AS g"
    " ON g.pid = v.pid WHERE {0} >= m",
    "SELECT COUNT(*) FROM v JOIN (SELECT pid, SUM(DISTINCT {0}) AS m FROM v GROUP BY pid) AS g ON g.pid = v.pid"
    " WHERE {0} = m",
    "SELECT COUNT(*) FROM (SELECT pid FROM v GROUP BY pid HAVING AVG({0}) = MAX({0})) AS t",
    "SELECT COUNT(*) FROM (SELECT pid FROM v GROUP BY pid HAVING SUM({0}) > 10) AS t",
)


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, object]]:
    folder = tmp_path_factory.mktemp("own")
    if request.param == "postgres":
        server = shared_server()
        raw = psycopg.connect(server.url(server.database(";".join(setup()))))
    else:
        raw = duckdb.connect()
        for statement in setup():
            raw.execute(statement)
    with closing(raw), case(folder, setup(), TABLES, engine=request.param) as session:
        session.execute("SET dpsql.reuse = off")
        yield session, raw


def clean(sql: str) -> str:
    """What the engine is asked: NaN is no number here, and sums of doubles too great for one are none in PostgreSQL."""
    return "WITH v AS (SELECT id, pid, CASE WHEN x <> 'NaN' THEN x END AS x, c, k FROM v) " + sql


@pytest.mark.spread
@pytest.mark.parametrize("column", ["x", "c", "k"])
@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_what_is_compared_is_the_engines_own_number(both: tuple[Session, object], form: str, column: str) -> None:
    session, raw = both
    sql = form.format(column)
    truth = raw.execute(clean(sql)).fetchall()
    found = session.execute(sql).rows
    assert [tuple(map(float, row)) for row in found] == [tuple(map(float, row)) for row in truth]


ORDERS = (
    "SELECT COUNT(*) FROM (SELECT pid FROM v GROUP BY pid HAVING SUM(x) = 1) AS t",
    "SELECT COUNT(*) FROM (SELECT pid FROM v GROUP BY pid HAVING AVG(x) > 0.1 AND AVG(x) < 0.5) AS t",
    "SELECT COUNT(*) FROM (SELECT SUM(x) OVER (PARTITION BY pid) AS s FROM v) AS t WHERE s = 1",
    "SELECT COUNT(*) FROM (SELECT SUM(x) FILTER (WHERE k < 5) OVER (PARTITION BY pid) AS s FROM v) AS t WHERE s = 1",
)


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_no_order_of_rows_decides_the_bits_of_a_sum(tmp_path: Path, engine: str) -> None:
    """10¹⁶ + 1 is 10¹⁶ in doubles: a person's sum is 0 or 1 as the rows come, and other people's rows move them."""
    random = Random(5)
    rows = [(person, x) for person in range(300) for x in (1e16, 1.0, -1e16)]
    found = []
    for number in range(3):
        random.shuffle(rows)
        values = ", ".join(f"({i}, {pid}, {x}, 0, 0)" for i, (pid, x) in enumerate(rows))
        made = [*setup()[:3], f"INSERT INTO v VALUES {values}"]
        with case(tmp_path / f"{number}", made, TABLES, engine=engine) as session:
            found.append([session.execute(sql).rows for sql in ORDERS])
    assert found[0] == found[1] == found[2] == [((0,),)] * len(ORDERS)


@pytest.mark.spread
@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    "values", [["1.7e308", "1.7e308"], ["5e-324", "5e-324", "0"], ["'Infinity'", "1.7e308", "-1.7e308"]]
)
def test_no_number_of_a_row_ends_a_statement(tmp_path: Path, engine: str, values: list[str]) -> None:
    rows = ", ".join(f"({i}, 0, {x}::double precision, 0, 0)" for i, x in enumerate(values))
    with case(tmp_path, [*setup()[:3], f"INSERT INTO v VALUES {rows}"], TABLES, engine=engine) as session:
        for form in FORMS:
            session.execute(form.format("x"))


def test_what_is_measured_is_clipped(tmp_path: Path) -> None:
    """A person whose rows lie beyond what is declared adds as much as one at its end, who is compared as before."""
    rows = "(0, 0, 1e9, 0, 0), (1, 1, 10, 0, 0)"
    with case(tmp_path, [*setup()[:3], f"INSERT INTO v VALUES {rows}"], TABLES) as session:
        (sums,) = session.execute(
            "SELECT SUM(m), COUNT(*) FILTER (WHERE m > 1000) FROM (SELECT pid, AVG(x) AS m FROM v GROUP BY pid) AS t"
        ).rows
    assert [float(one) for one in sums] == pytest.approx([20, 1], abs=1e-4)
