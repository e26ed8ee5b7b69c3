"""Groups of which a statement says whose they are: one person more moves no figure further, and they are SQL's groups."""

from __future__ import annotations

from pathlib import Path
from random import Random

import duckdb
import pytest

from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.new_databases import new_database
from tests.policies import policy_text
from tests.properties.neighbours import check
from tests.relations.shop import Shop, beside_named, grouped_statement
from tests.relations.test_shared_rows import sound


def test_one_more_person_moves_no_groups_of_several_further() -> None:
    shares, refused = sound(range(3), 14, grouped_statement)
    assert len(shares) > 60, refused.most_common(5)
    assert max(shares) > 0.2, "the bounds are never nearly reached"


def test_one_more_person_moves_no_rows_beside_groups_further() -> None:
    shares, refused = sound(range(3), 16, beside_named)
    assert len(shares) > 60, refused.most_common(5)
    assert max(shares) > 0.2, "the bounds are never nearly reached"


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
def test_one_more_person_moves_no_rows_beside_groups_further_at_length(part: int) -> None:
    shares, refused = sound(range(7_000 + 100 * part, 7_060 + 100 * part), 30, beside_named)
    assert len(shares) > 4_000, refused.most_common(5)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
def test_one_more_person_moves_no_groups_of_several_further_at_length(part: int) -> None:
    shares, refused = sound(range(5_000 + 100 * part, 5_060 + 100 * part), 30, grouped_statement)
    assert len(shares) > 4_000, refused.most_common(5)


def test_the_bound_is_what_one_person_can_move() -> None:
    """Four gifts of the first person, each of which is the larger of two: without them, other groups are in their
    place. Of four, three count."""
    shop = Shop.of_one()
    shop.rows["gift"] = [(n, None, 0, 9.0) for n in range(4)] + [(n, None, 1, 0.0) for n in range(4)]
    databases = shop.databases(1)
    sql = "SELECT CASE WHEN m > 5 THEN 'a' ELSE 'b' END, COUNT(*) FROM (SELECT item, MAX(giver) AS p, MAX(worth) AS m FROM gift GROUP BY item) AS t GROUP BY 1"
    try:
        parsed = parse(sql)
        assert isinstance(parsed, Select)
        (query,) = split(parsed.tree, shop.catalog(databases.connection), DUCKDB).groupings
        assert check(plan(query, Norm.L1, DUCKDB), databases, Random(1)) == [1.0]
    finally:
        databases.close()


SETUP = """
CREATE TABLE person (id INTEGER PRIMARY KEY, sex VARCHAR(1));
CREATE TABLE sample (tube INTEGER, batch VARCHAR(9), person_id INTEGER, item INTEGER, result DOUBLE PRECISION, day DATE);
INSERT INTO person SELECT i, CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END FROM generate_series(0, 99) AS t(i);
INSERT INTO sample SELECT CASE WHEN i % 50 < 48 THEN i % 50 END, CASE WHEN i % 4 > 0 THEN 'b' || (i % 4)::text END,
    (i * 7) % 100, i % 3, (i * 13) % 40 / 2.0, DATE '2024-01-01' + (i % 90)::int FROM generate_series(0, 399) AS t(i);
"""
POLICY = policy_text("""
database: duckdb:lab.duckdb; ledger: sqlite:lab.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1e-3, accounting: zcdp}; statement: {epsilon: 100, max_epsilon: 1000}
tables:
  person: id, sex [F, M]
  sample(person_id -> person.id, max_rows: 4): tube, batch, item 0..2, result 0..20, day 2024-01-01..2024-03-31
""")
TUBES = (
    "SELECT tube, MAX(person_id) AS p, MAX(day) AS day, MAX(CASE WHEN item = 1 THEN result END) AS r, AVG(result) AS a"
)
ASKED = [
    f"SELECT AVG(r), COUNT(r), SUM(a) FROM ({TUBES} FROM sample GROUP BY tube) AS t",
    f"SELECT COUNT(DISTINCT p) FROM ({TUBES} FROM sample WHERE result > 3 GROUP BY tube) AS t",
    f"WITH lab AS ({TUBES} FROM sample WHERE item IN (1, 2) AND NOT result IS NULL GROUP BY tube, batch)"
    " SELECT CASE WHEN a < 5 THEN 'low' WHEN a < 12 THEN 'mid' ELSE 'high' END AS band, COUNT(*), AVG(r) FROM lab"
    " GROUP BY 1 ORDER BY 1",
    f"SELECT COUNT(*) FILTER (WHERE r > 10), COUNT(*) FROM ({TUBES} FROM sample GROUP BY tube, batch HAVING COUNT(*) > 1) AS t"
    " WHERE day >= '2024-02-01'",
    f"SELECT COUNT(*), COUNT(r) FROM ({TUBES} FROM sample GROUP BY tube) AS t LEFT JOIN person ON id = p WHERE sex = 'F'",
    f"SELECT sex, COUNT(*), COUNT(DISTINCT p) FROM ({TUBES} FROM sample GROUP BY tube) AS t JOIN person ON id = p"
    " GROUP BY sex ORDER BY sex",
    f"SELECT COUNT(*), SUM(item) FROM ({TUBES} FROM sample GROUP BY tube) AS t LEFT JOIN sample AS s ON s.person_id = t.p"
    " AND s.day < t.day",
    f"WITH lab AS ({TUBES} FROM sample GROUP BY tube), before AS (SELECT lab.*, s.result, ROW_NUMBER() OVER (PARTITION BY"
    " lab.tube ORDER BY s.day DESC NULLS LAST, s.result, s.item) AS place FROM lab LEFT JOIN sample AS s"
    " ON s.person_id = lab.p AND s.day < lab.day), again AS (SELECT b.*, sex FROM before AS b LEFT JOIN person ON id = p"
    " WHERE place = 1) SELECT sex, COUNT(*), COUNT(result), SUM(result) FROM again GROUP BY sex ORDER BY sex",
]


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_answers_are_those_of_plain_sql(engine: str, tmp_path: Path) -> None:
    """Where nobody has more rows than are declared, on both engines: of a table without any key."""
    plain = duckdb.connect()
    plain.execute(SETUP)
    policy = POLICY
    if engine == "duckdb":
        with new_database(tmp_path / "lab.duckdb") as connection:
            connection.execute(SETUP)
    else:
        server = shared_server()
        policy = policy.replace("duckdb:lab.duckdb", server.url(server.database(SETUP)))
    (tmp_path / "policy.yaml").write_text(policy)
    proxy = open_without_noise(tmp_path / "policy.yaml")
    try:
        session = proxy.session()
        for sql in ASKED:
            answer, true = session.execute(sql), plain.execute(sql).fetchall()
            assert [*map(list, answer.rows)] == [[about(value) for value in row] for row in true], sql
            assert any("groups may be of several people" in note for note in answer.notices), sql
    finally:
        proxy.close()


def about(value: object) -> object:
    return pytest.approx(value, rel=1e-4) if isinstance(value, float) else value


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM (SELECT item, SUM(giver) AS p FROM gift GROUP BY item) AS t JOIN customer ON id = p",
        "SELECT COUNT(*) FROM (SELECT item, MAX(giver) AS p FROM gift GROUP BY item) AS t JOIN customer ON id = p + 1",
        "SELECT COUNT(*) FROM (SELECT item, MAX(giver) AS p FROM gift GROUP BY item) AS t JOIN sale ON sale.item = t.item",
        "WITH t AS (SELECT item, MAX(giver) AS p FROM gift GROUP BY item) SELECT COUNT(*) FROM t FULL JOIN t AS u ON u.item = t.item",
        "SELECT COUNT(*) FROM (SELECT p, ROW_NUMBER() OVER (PARTITION BY p ORDER BY item) AS n FROM (SELECT item, MAX(giver) AS p FROM gift GROUP BY item) AS t) AS z WHERE n = 1",
        "SELECT COUNT(*) FROM (SELECT item, MAX(giver) AS p, MAX(worth) AS m FROM gift GROUP BY item) AS t WHERE m > 1 AND p IN (SELECT buyer FROM sale)",
    ],
)
def test_whom_a_statement_says_a_group_is_of_is_not_known(sql: str) -> None:
    shop = Shop.of_one()
    databases = shop.databases(1)
    try:
        parsed = parse(sql)
        assert isinstance(parsed, Select)
        with pytest.raises(Refused) as refused:
            split(parsed.tree, shop.catalog(databases.connection), DUCKDB)
        assert refused.value.hint
    finally:
        databases.close()
