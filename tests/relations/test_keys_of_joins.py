"""Joins of one person's rows with each other: by keys whose values follow, a row meets one; and what that says is true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb
import pytest

from dpsql.opened import Opened, open_policy
from dpsql.testing import measured
from rewriter.declared import Norm
from rewriter.refused import Refused
from tests.doubles import open_without_noise

TABLES = """
CREATE TABLE customer (id INT PRIMARY KEY, first INT, size DOUBLE);
CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT NOT NULL REFERENCES customer (id));
CREATE TABLE line (order_id INT NOT NULL REFERENCES orders (id), product INT NOT NULL, PRIMARY KEY (order_id, product));
CREATE TABLE hit (user_id INT NOT NULL REFERENCES customer (id), day DATE NOT NULL, kind INT);
CREATE TABLE score (user_id INT NOT NULL REFERENCES customer (id), code BIGINT NOT NULL, PRIMARY KEY (user_id, code));
INSERT INTO customer SELECT i, i % 3, 9007199254740992 FROM range(20) t(i);
INSERT INTO orders SELECT i, i % 20 FROM range(60) t(i);
INSERT INTO line SELECT i, (i + j) % 4 FROM range(60) t(i), range(3) s(j);
INSERT INTO hit SELECT i % 20, DATE '2024-01-05' + (i % 150)::INT, i % 3 FROM range(200) t(i);
INSERT INTO score SELECT i, 9007199254740992 + j FROM range(20) t(i), range(2) s(j);
"""
HEAVY = """
INSERT INTO orders SELECT 1000 + i, 7 FROM range(40) t(i);
INSERT INTO line SELECT 1000 + i, j FROM range(40) t(i), range(4) s(j);
INSERT INTO hit SELECT 7, DATE '2024-01-05' + (i % 160)::INT, i % 4 FROM range(400) t(i);
"""
POLICY = """
database: duckdb:{0}/d.duckdb
ledger: sqlite:{0}/ledger
privacy_unit: customer.id
budget: {{epsilon: 10000, delta: 1e-6}}
statement: {{epsilon: 10, max_epsilon: 10}}
tables:
  customer: {{columns: {{id: {{}}, first: {{range: [0, 2]}}, size: {{}}}}}}
  orders: {{unit: customer_id -> customer.id, max_rows: 6, columns: {{id: {{}}, customer_id: {{}}}}}}
  line: {{unit: order_id -> orders.id, max_rows: 50, columns: {{order_id: {{}}, product: {{range: [0, 9]}}}}}}
  hit: {{unit: user_id -> customer.id, max_rows: 100, columns: {{user_id: {{}}, day: {{range: [2024-01-01, 2024-06-30]}}, kind: {{range: [0, 3]}}}}}}
  score: {{unit: user_id -> customer.id, max_rows: 9, columns: {{user_id: {{}}, code: {{}}}}}}
"""
MONTHS = "WITH m AS (SELECT DISTINCT user_id, DATE_TRUNC('month', day) AS month FROM hit) "
NEXT = "a.user_id = b.user_id AND b.month = a.month + INTERVAL '1 month'"
NUMBERED = "(SELECT user_id, day, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY day) AS n FROM hit)"
SIDES = (
    "WITH a AS (SELECT user_id, COUNT(*) AS n FROM hit WHERE kind = 0 GROUP BY 1),"
    " b AS (SELECT user_id, COUNT(*) AS n FROM hit WHERE kind > 0 GROUP BY 1)"
)
PAIRS = "FROM line AS a JOIN line AS b ON a.order_id = b.order_id"
OF_TICKETS = "FROM orders AS o JOIN line AS l ON l.order_id = o.id"

MOST = {
    # Six months of at least 28 days each are seven at most: one row for each.
    MONTHS + f"SELECT COUNT(b.user_id) FROM m AS a LEFT JOIN m AS b ON {NEXT}": 7,
    MONTHS + f"SELECT COUNT(*) FROM m AS a JOIN m AS b ON {NEXT}": 7,
    MONTHS + f"SELECT COUNT(*) FROM m AS a JOIN m AS b ON {NEXT} AND a.month = b.month - INTERVAL '1 month'": 7,
    MONTHS + "SELECT COUNT(*) FROM m AS a JOIN m AS b ON a.user_id = b.user_id AND b.month > a.month": 49,
    MONTHS + "SELECT COUNT(*) FROM customer AS c JOIN m ON m.user_id = c.id AND m.month = DATE '2024-03-01'": 1,
    MONTHS + "SELECT COUNT(m.month) FROM customer c LEFT JOIN m ON m.user_id = c.id AND m.month = DATE '2024-03-01'": 1,
    # Of two numbered rows, one follows the other.
    f"SELECT COUNT(*) FROM {NUMBERED} AS a JOIN {NUMBERED} AS b ON a.user_id = b.user_id AND b.n = a.n + 1": 100,
    # An order has a product once, and a person has six orders.
    f"SELECT COUNT(*) {PAIRS} WHERE a.product = 1 AND b.product = 2": 6,
    f"SELECT COUNT(*) {PAIRS} AND a.product < b.product": 50 * 10,
    f"SELECT COUNT(DISTINCT a.order_id) {PAIRS} AND a.product < b.product": 6,
    f"SELECT COUNT(DISTINCT o.id) {OF_TICKETS}": 6,
    "SELECT COUNT(DISTINCT a.order_id) FROM line AS a JOIN line AS b USING (order_id) WHERE b.product > 1": 6,
    # One row of a person on each side, joined by the person alone, is one row; by more, it may be two.
    f"{SIDES} SELECT COUNT(*) FROM a FULL JOIN b USING (user_id)": 1,
    f"{SIDES} SELECT SUM(COALESCE(a.n, 0) - COALESCE(b.n, 0)) FROM a FULL JOIN b ON a.user_id = b.user_id": 100,
    f"{SIDES} SELECT COUNT(*) FROM a FULL JOIN b ON a.user_id = b.user_id AND a.n = b.n": 2,
    # One constant person on both sides.
    "SELECT COUNT(*) FROM hit AS a, hit AS b WHERE a.user_id = 7 AND 7 = b.user_id AND a.kind < b.kind": 10_000,
    "SELECT COUNT(*) FROM (SELECT * FROM hit WHERE user_id = 7) AS a JOIN (SELECT * FROM orders WHERE customer_id = 7) AS b"
    " ON a.kind < b.id": 600,
    # Without a key that follows: the rows of both sides.
    "SELECT COUNT(*) FROM hit AS a JOIN hit AS b ON a.user_id = b.user_id AND b.day = a.day + 1": 10_000,
    "SELECT COUNT(s.code) FROM customer AS c LEFT JOIN score AS s ON s.user_id = c.id AND s.code = ABS(c.size)": 9,
    "SELECT COUNT(s.code) FROM customer AS c LEFT JOIN score AS s ON s.user_id = c.id": 9,
    "SELECT COUNT(*) FROM customer AS c JOIN line AS l ON l.product = l.product * c.first JOIN orders AS o"
    " ON o.id = l.order_id AND o.customer_id = c.id": 50,
}
BY_GROUPS = {
    # One of a person's pairs of an order has these two products: six in a group.
    f"SELECT a.product, b.product, COUNT(*) {PAIRS} GROUP BY 1, 2": 500 * 6,
    f"SELECT l.product, COUNT(DISTINCT o.id) {OF_TICKETS} GROUP BY 1": 50 * 6,
    MONTHS + f"SELECT a.month, COUNT(*) FROM m AS a LEFT JOIN m AS b ON {NEXT} GROUP BY 1": 6,
}


def write(connection: duckdb.DuckDBPyConnection, *, heavy: bool) -> None:
    connection.execute(TABLES)
    connection.execute(
        HEAVY if heavy else "DELETE FROM line WHERE order_id IN (SELECT id FROM orders WHERE customer_id = 7)"
    )
    if not heavy:
        for table, owner in (("orders", "customer_id"), ("hit", "user_id"), ("score", "user_id"), ("customer", "id")):
            connection.execute(f"DELETE FROM {table} WHERE {owner} = 7")


def policy_at(folder: Path, *, heavy: bool) -> Path:
    folder.mkdir()
    with duckdb.connect(str(folder / "d.duckdb")) as connection:
        write(connection, heavy=heavy)
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(folder))
    return path


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("joins")
    return policy_at(folder / "without", heavy=False), policy_at(folder / "with", heavy=True)


@pytest.fixture(scope="module")
def opened(policies: tuple[Path, Path]) -> Iterator[Sequence[Opened]]:
    with ExitStack() as held:
        yield [held.enter_context(closing(open_policy(path))) for path in policies]


@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2])
@pytest.mark.parametrize("sql", [*MOST, *BY_GROUPS])
def test_a_person_of_more_rows_moves_no_join_further(opened: Sequence[Opened], sql: str, norm: Norm) -> None:
    (without,), (whole,) = (measured(sql, one, norm=norm) for one in opened)
    for names, sensitivity in whole.blocks:
        nothing = dict.fromkeys(names, 0)
        groups = without.groups.keys() | whole.groups.keys()
        moved = [
            abs(whole.groups.get(key, nothing)[name] - without.groups.get(key, nothing)[name])
            for key in groups
            for name in names
        ]
        assert any(moved)
        assert sum(one * one for one in moved) <= sensitivity.l2_squared
        assert sensitivity.l1 is None or sum(moved) <= sensitivity.l1


@pytest.mark.parametrize(("sql", "most"), MOST.items())
def test_the_bound_is_that_of_the_rows_that_are_met(opened: Sequence[Opened], sql: str, most: int) -> None:
    (found,) = measured(sql, opened[1], norm=Norm.L1)
    ((names, sensitivity),) = found.blocks
    assert sensitivity.l1 == most / found.granularity[names[0]]


@pytest.mark.parametrize(("sql", "squared"), BY_GROUPS.items())
def test_the_bound_of_groups_is_that_of_the_rest_of_the_key(opened: Sequence[Opened], sql: str, squared: int) -> None:
    (found,) = measured(sql, opened[1], norm=Norm.L2)
    names, sensitivity = found.blocks[0]
    step = found.granularity[names[0]]
    assert sensitivity.l2_squared * step * step == squared


@pytest.mark.parametrize("sql", [sql for sql in (*MOST, *BY_GROUPS) if "c.size" not in sql])
def test_nobody_who_keeps_to_what_is_declared_is_cut(policies: tuple[Path, Path], sql: str) -> None:
    with duckdb.connect() as true:
        write(true, heavy=False)
        expected = true.execute(sql).fetchall()
    with closing(open_without_noise(policies[0])) as proxy:
        shown = proxy.session().execute(sql).rows
    assert {row for row in shown if row[-1]} == {row for row in expected if row[-1]}


@pytest.mark.parametrize(
    "test",
    [
        "a.user_id = 7 AND b.user_id = 8",
        "a.user_id = 7 OR b.user_id = 7",
        "a.user_id = 7 AND b.kind = 7",
        "a.user_id = NULL AND b.user_id = NULL",
        "a.user_id = a.kind AND b.user_id = b.kind",
    ],
)
def test_different_people_are_not_tied_by_constants(opened: Sequence[Opened], test: str) -> None:
    with pytest.raises(Refused, match="not by the same person"):
        measured(f"SELECT COUNT(*) FROM hit AS a, hit AS b WHERE {test}", opened[1], norm=Norm.L1)
