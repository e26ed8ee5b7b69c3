"""A respelling means what the statement means: DuckDB makes the same rows of both, over rows with NULLs and repetitions."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest
import sqlglot

from tests.tape.respell import RULES, VERDICTS, report, respellings, respelt
from tests.tape.test_tape import WORLD
from tests.tape.worlds import Asked

STATEMENTS = (
    "SELECT sex, COUNT(*) FROM person GROUP BY sex ORDER BY sex",
    "SELECT p.sex AS s, AVG(p.age + p.id * 2) AS a FROM person AS p WHERE p.age > 20 AND (p.age < 60 OR p.age IS NULL) GROUP BY p.sex",
    "SELECT p.sex, SUM(s.days) FROM person p JOIN stay s ON p.id = s.person_id WHERE s.days > 3 GROUP BY p.sex",
    "SELECT p.sex, SUM(s.days) FROM person p, stay s WHERE p.id = s.person_id AND p.age < 50 GROUP BY p.sex",
    "SELECT a.sex, COUNT(*) FROM person a JOIN person b ON a.age = b.age AND a.id < b.id GROUP BY a.sex",
    "SELECT a.sex, COUNT(*) FROM person a JOIN person b ON a.age = b.age GROUP BY a.sex",
    "SELECT age, COUNT(*) AS n FROM person a JOIN person b USING (age) GROUP BY age ORDER BY n, age",
    "SELECT COUNT(*) FROM person WHERE id IN (SELECT person_id FROM stay WHERE days > 10)",
    "SELECT COUNT(*) FROM person WHERE id NOT IN (SELECT person_id FROM stay WHERE days > 10)",
    "SELECT sex, COUNT(*) FROM person p WHERE age > 30 AND EXISTS (SELECT 1 FROM stay s WHERE s.person_id = p.id AND s.days > 10) GROUP BY sex",
    "SELECT COUNT(*) FROM person p WHERE NOT EXISTS (SELECT 1 FROM stay s WHERE s.person_id = p.id)",
    "SELECT AVG(x.n) FROM (SELECT person_id, COUNT(*) AS n FROM stay GROUP BY person_id) AS x",
    "WITH x AS (SELECT person_id, COUNT(*) AS n FROM stay GROUP BY person_id) SELECT p.sex, AVG(x.n) FROM person p JOIN x ON x.person_id = p.id GROUP BY p.sex",
    "SELECT CASE WHEN age < 40 THEN 'A' ELSE 'B' END AS age, COUNT(*) FROM person GROUP BY age ORDER BY age",
    "SELECT y.s, COUNT(*) FROM (SELECT x.sex AS s FROM (SELECT sex, age FROM person WHERE age > 10) AS x WHERE x.age < 70) AS y GROUP BY y.s",
    "SELECT p.sex, COUNT(*) FROM person p LEFT JOIN stay s ON p.id = s.person_id AND s.days > 5 GROUP BY p.sex",
    "SELECT COUNT(*) FROM person WHERE age > (SELECT AVG(age) FROM person)",
    "SELECT COUNT(*) FROM person p CROSS JOIN stay s WHERE p.age = s.days",
)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection, draw = duckdb.connect(":memory:"), random.Random(7)
    connection.execute(WORLD.schema)
    for number in range(60):
        age = None if number % 9 == 0 else draw.randrange(80)
        connection.execute("INSERT INTO person VALUES (?, ?, ?)", [number, draw.choice(["F", "M", None]), age])
    for number in range(150):
        days = None if number % 11 == 0 else draw.randrange(30)
        connection.execute("INSERT INTO stay VALUES (?, ?, ?)", [number, draw.randrange(60), days])
    return connection


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_respelling_has_the_same_rows(sql: str, database: duckdb.DuckDBPyConnection) -> None:
    def rows(text: str) -> Counter[tuple[object, ...]]:
        return Counter(database.execute(sqlglot.transpile(text, read="postgres", write="duckdb")[0]).fetchall())

    for rule, text in respellings(sql).items():
        assert rows(text) == rows(sql), f"{rule}: {text}"


def test_every_rule_is_tried() -> None:
    assert {rule for sql in STATEMENTS for rule in respellings(sql)} == set(RULES)


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("SELECT * FROM person a JOIN stay b ON a.id = b.id", "USING"),  # A column less.
        ("SELECT COUNT(*) FROM person p LEFT JOIN stay s ON p.id = s.person_id", "commas"),
        ("SELECT COUNT(*) FROM person WHERE id NOT IN (SELECT person_id FROM stay)", "EXISTS"),  # NULLs.
        ("SELECT COUNT(*) FROM person WHERE id IN (SELECT MAX(person_id) FROM stay)", "EXISTS"),
        ("SELECT CASE WHEN age < 4 THEN 1 END AS age FROM person ORDER BY age", "qualified"),
        ("SELECT COUNT(*) FROM person p WHERE EXISTS (SELECT 1 FROM (SELECT p.id) AS x)", "WITH"),
    ],
)
def test_what_would_mean_something_else_is_left_alone(sql: str, rule: str) -> None:
    assert rule not in respellings(sql)


def test_a_report_counts_every_respelling() -> None:
    found = respelt([(WORLD, [Asked(sql, sql) for sql in STATEMENTS[:3]])], jobs=1)
    assert len(found) == sum(len(respellings(sql)) for sql in STATEMENTS[:3])
    assert {one.verdict for one in found} <= set(VERDICTS)
    assert not any(one.verdict == "other price" for one in found)
    head, *lines = report(found)
    assert head.split()[:2] == ["rule", "asked"]
    assert next(line for line in lines if line.startswith("all ")).split()[1] == str(len(found))
