"""Joins of several people's rows: one person more moves nothing further, and they mean what PostgreSQL means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
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
from tests.properties.neighbours import Unsound, check
from tests.relations.shop import POLICY, Shop, statement


def sound(
    seeds: Iterable[int], statements: int, draw: Callable[[Random], str] = statement
) -> tuple[list[float], Counter[str]]:
    """The shares of their bounds that people used, and why statements were refused."""
    shares: list[float] = []
    refused: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        shop = Shop.made(random)
        databases = shop.databases(4)
        catalog = shop.catalog(databases.connection)
        try:
            for _ in range(statements):
                sql, norm = draw(random), random.choice(list(Norm))
                parsed = parse(sql)
                assert isinstance(parsed, Select)
                try:
                    plans = [plan(query, norm, DUCKDB) for query in split(parsed.tree, catalog, DUCKDB).groupings]
                except Refused as reason:
                    refused[reason.message] += 1
                    continue
                for one in plans:
                    try:
                        shares += check(one, databases, random)
                    except Unsound as reason:
                        raise AssertionError(f"seed {seed}: {reason}\n{sql}\n{norm}: {one.sql}") from None
        finally:
            databases.close()
    return shares, refused


def test_one_more_person_moves_no_join_of_others_rows_further() -> None:
    shares, refused = sound(range(2), 12)
    assert len(shares) > 40, refused.most_common(5)
    assert max(shares) > 0.5, "the bounds are never nearly reached"


def test_the_bound_is_what_one_person_can_move() -> None:
    shop = Shop.of_one()
    databases = shop.databases(1)
    sql = "SELECT r.reason, COUNT(*) FROM sale s LEFT JOIN refund r USING (item, ticket) GROUP BY r.reason"
    try:
        parsed = parse(sql)
        assert isinstance(parsed, Select)
        (query,) = split(parsed.tree, shop.catalog(databases.connection), DUCKDB).groupings
        assert check(plan(query, Norm.L1, DUCKDB), databases, Random(1)) == [1.0]
    finally:
        databases.close()


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
def test_one_more_person_moves_no_join_of_others_rows_further_at_length(part: int) -> None:
    shares, refused = sound(range(1_000 + 100 * part, 1_060 + 100 * part), 30)
    assert len(shares) > 4_000, refused.most_common(5)


TAME = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, region VARCHAR(9));
CREATE TABLE item (id INTEGER PRIMARY KEY, kind VARCHAR(9) NOT NULL);
CREATE TABLE stock (item INTEGER NOT NULL, day INTEGER NOT NULL, n INTEGER, PRIMARY KEY (item, day));
CREATE TABLE sale (item INTEGER NOT NULL, ticket INTEGER NOT NULL, buyer INTEGER, price DOUBLE PRECISION, qty INTEGER,
    PRIMARY KEY (item, ticket));
CREATE TABLE refund (item INTEGER NOT NULL, ticket INTEGER NOT NULL, who INTEGER, cash DOUBLE PRECISION,
    reason VARCHAR(9), PRIMARY KEY (item, ticket));
CREATE TABLE review (ticket INTEGER NOT NULL, item INTEGER NOT NULL, author INTEGER, stars INTEGER,
    PRIMARY KEY (ticket, item));
CREATE TABLE parcel (ticket INTEGER PRIMARY KEY, driver INTEGER);
CREATE TABLE gift (item INTEGER, day DATE, giver INTEGER, worth DOUBLE PRECISION);
INSERT INTO customer SELECT i, CASE WHEN i % 3 = 0 THEN 'n' ELSE 's' END FROM generate_series(0, 199) AS t(i);
INSERT INTO item SELECT i, CASE WHEN i < 4 THEN 'a' ELSE 'b' END FROM generate_series(0, 6) AS t(i);
INSERT INTO stock SELECT i, d, (i + d) % 3 FROM generate_series(0, 6) AS t(i), generate_series(0, 1) AS u(d);
INSERT INTO sale SELECT i % 7, i, i % 200, i % 100, i % 4 FROM generate_series(0, 799) AS t(i);
INSERT INTO refund SELECT item, ticket, (ticket * 7 + 3) % 200, price / 4, CASE WHEN qty > 1 THEN 'x' ELSE 'y' END
    FROM sale WHERE ticket < 400 AND ticket % 3 > 0;
INSERT INTO review SELECT ticket, item, (ticket * 11 + 1) % 200, 1 + ticket % 5 FROM sale WHERE ticket % 2 = 0;
"""
ASKED = [
    "SELECT i.kind, COUNT(*), SUM(s.price - COALESCE(r.cash, 0)) FROM sale s LEFT JOIN refund r ON s.item = r.item"
    " AND s.ticket = r.ticket JOIN item i ON i.id = s.item GROUP BY i.kind ORDER BY i.kind",
    "SELECT r.reason, AVG(s.price), COUNT(DISTINCT s.qty) FROM sale s, refund r WHERE s.item = r.item AND"
    " s.ticket = r.ticket GROUP BY r.reason ORDER BY r.reason",
    "SELECT COUNT(*) FROM sale s LEFT JOIN refund r USING (item, ticket) WHERE r.who IS NULL",
    "SELECT c.region, d.region AS other, COUNT(*) FROM sale s JOIN customer c ON c.id = s.buyer JOIN refund r"
    " USING (item, ticket) JOIN customer d ON d.id = r.who GROUP BY c.region, d.region ORDER BY 1, 2",
    "SELECT AVG(v.stars), SUM(r.cash) FROM sale s LEFT JOIN refund r USING (item, ticket) LEFT JOIN review v"
    " ON v.ticket = s.ticket AND v.item = s.item WHERE s.qty > 0",
    "SELECT k.day, COUNT(*) FROM sale s JOIN refund r USING (item, ticket) JOIN stock k ON k.item = s.item AND"
    " k.n < s.qty GROUP BY k.day ORDER BY 1",
    "SELECT s.qty, r.reason, COUNT(*) FROM sale s JOIN refund r USING (item, ticket) GROUP BY ROLLUP (s.qty, r.reason)"
    " HAVING COUNT(*) > 20 ORDER BY 1 NULLS LAST, 2 NULLS LAST",
    "SELECT q.reason, SUM(q.x) FROM (SELECT r.reason, s.price AS x FROM sale s JOIN refund r USING (item, ticket)) AS q"
    " GROUP BY q.reason ORDER BY 1",
    "SELECT s.item, COUNT(*) FROM sale s JOIN refund r USING (item, ticket) GROUP BY s.item ORDER BY s.item",
]


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_answers_are_those_of_plain_sql(engine: str, tmp_path: Path) -> None:
    """Where nobody has more rows than are declared, on both engines."""
    plain = duckdb.connect()
    plain.execute(TAME)
    policy = POLICY
    if engine == "duckdb":
        with new_database(tmp_path / "shop.duckdb") as connection:
            connection.execute(TAME)
    else:
        server = shared_server()
        policy = policy.replace("duckdb:shop.duckdb", server.url(server.database(TAME)))
    (tmp_path / "policy.yaml").write_text(policy)
    proxy = open_without_noise(tmp_path / "policy.yaml")
    try:
        session = proxy.session()
        for sql in ASKED:
            answer = session.execute(sql)
            true = plain.execute(sql).fetchall()
            assert true
            assert [[pytest.approx(value) for value in row] for row in true] == [list(row) for row in answer.rows], sql
            assert any("rows may be of two people" in note for note in answer.notices), sql
    finally:
        proxy.close()


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT MEDIAN(s.price) FROM sale s JOIN refund r USING (item, ticket)", "may be of two people"),
        ("SELECT COUNT(*) FROM sale s JOIN refund r ON r.ticket = s.ticket", "not by the same person"),
        ("SELECT COUNT(*) FROM sale s JOIN parcel p ON p.ticket = s.ticket", "not by the same person"),
        ("SELECT COUNT(*) FROM parcel p LEFT JOIN sale s ON p.ticket = s.ticket", "not by the same person"),
        ("SELECT COUNT(*) FROM sale s JOIN customer c ON c.id = s.qty", "not by the same person"),
        ("SELECT COUNT(*) FROM customer c JOIN sale s ON c.id = s.ticket", "not by the same person"),
        (
            "SELECT COUNT(*) FROM customer WHERE id IN (SELECT s.buyer FROM sale s JOIN refund r USING (item, ticket))",
            "compares people",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY s.buyer ORDER BY s.price) AS n FROM sale s"
            " JOIN refund r USING (item, ticket)) AS q WHERE n = 1",
            "may be of two people",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT s.qty FROM sale s JOIN refund r USING (item, ticket) UNION ALL"
            " SELECT qty FROM sale) AS q",
            "may be of two people",
        ),
        (
            "SELECT dpsql.over_blocks(AVG(s.price), blocks => 10) FROM sale s JOIN refund r USING (item, ticket)",
            "may be of two people",
        ),
        (
            "SELECT (LOGREGR(s.price > 5, ARRAY[1, s.qty])).coef FROM sale s JOIN refund r USING (item, ticket)",
            "may be of two people",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT s.item, s.ticket, ROW_NUMBER() OVER (ORDER BY s.price) AS n FROM sale s"
            " JOIN refund r USING (item, ticket)) AS q JOIN review v ON v.ticket = q.ticket AND v.item = q.item",
            "not by the same person",
        ),
    ],
)
def test_what_asks_of_one_person_is_refused(sql: str, why: str) -> None:
    shop = Shop.made(Random(1))
    databases = shop.databases(0)
    try:
        with pytest.raises(Refused, match=why):
            parsed = parse(sql)
            assert isinstance(parsed, Select)
            for query in split(parsed.tree, shop.catalog(databases.connection), DUCKDB).groupings:
                plan(query, Norm.L2, DUCKDB)
    finally:
        databases.close()


def test_a_subquery_that_only_chooses_columns_is_the_join_that_it_makes() -> None:
    """It has the plan of the join without a subquery, which the law of shared rows is held against."""
    joined = "sale s JOIN refund r USING (item, ticket)"
    shop = Shop.made(Random(1))
    databases = shop.databases(0)
    try:
        catalog = shop.catalog(databases.connection)
        identities = set()
        for sql in (
            f"SELECT COUNT(*) FROM (SELECT s.item, s.ticket FROM {joined}) AS q JOIN review v"
            " ON v.ticket = q.ticket AND v.item = q.item",
            f"SELECT COUNT(*) FROM {joined} JOIN review v ON v.ticket = s.ticket AND v.item = s.item",
        ):
            parsed = parse(sql)
            assert isinstance(parsed, Select)
            (query,) = split(parsed.tree, catalog, DUCKDB).groupings
            identities.add(plan(query, Norm.L2, DUCKDB).identity)
        assert len(identities) == 1
    finally:
        databases.close()
