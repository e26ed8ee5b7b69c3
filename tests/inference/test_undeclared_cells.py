"""Rows with undeclared values: in the totals, in no group that is shown, and measured so that parts add up to totals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpsql.proxy import Proxy, Session
from rewriter.plan import UNDECLARED, Plan
from tests.doubles import open_without_noise
from tests.policies import policy_text

TABLES = """
CREATE TABLE person (id INTEGER PRIMARY KEY, region TEXT, sex TEXT NOT NULL, kind TEXT NOT NULL, age INTEGER NOT NULL,
                     sure ENUM ('a', 'b') NOT NULL, smoker BOOLEAN NOT NULL);
INSERT INTO person SELECT i, CASE WHEN i % 7 = 0 THEN NULL ELSE 'r' || (i % 4) END, ['f', 'm', 'x'][1 + i % 3],
'k' || (i % 5), i % 50, ['a', 'b'][1 + i % 2], i % 3 = 0 FROM range(4000) AS r(i);
CREATE TABLE visit (id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES person (id), reason TEXT NOT NULL);
INSERT INTO visit SELECT i, i % 900, 'v' || (i % 4) FROM range(1800) AS r(i);
CREATE TABLE stay (id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES person (id), ward TEXT NOT NULL);
INSERT INTO stay SELECT i, i % 900, 'w' || (i % 4) FROM range(1800) AS r(i);
"""
POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:people.ledger; privacy_unit: person.id
budget: {epsilon: 100000, delta: DELTA, accounting: ACCOUNTING}; statement: {epsilon: 1, max_epsilon: 1}
tables:
  person: id, region [r0, r1, r2], sex [f, m], kind [k0, k1, k2, k3], age 0..50, sure [a, b], smoker
  visit(max_rows: 2): id, person_id, reason [v0, v1]
  stay(max_rows_per_group: 1): id, person_id, ward [w0, w1]
""")
DECLARED = {
    "region": ("r0", "r1", "r2", None),
    "sex": ("f", "m"),
    "kind": ("k0", "k1", "k2", "k3"),
    "reason": ("v0", "v1"),
    "sure": ("a", "b"),
    "smoker": (True, False),
}


def write(folder: Path, accounting: str = "zcdp", more: str = "") -> Path:
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute(TABLES + more)
    text = POLICY.replace("ACCOUNTING", accounting).replace("DELTA", "0" if accounting == "pure" else "1e-6")
    (folder / "people.yaml").write_text(text)
    return folder / "people.yaml"


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    proxy = open_without_noise(write(tmp_path_factory.mktemp("exact")))
    session = proxy.session()
    session.execute("SET dpsql.empty_groups = show")
    yield session
    proxy.close()


@pytest.fixture
def noisy(tmp_path: Path, accounting: str) -> Iterator[Session]:
    proxy = Proxy.open(write(tmp_path, accounting))
    session = proxy.session()
    session.execute("SET dpsql.empty_groups = show")
    yield session
    proxy.close()


def plans(session: Session, sql: str) -> tuple[Plan, ...]:
    return session._proxy.prepare(sql, ()).program.plans  # type: ignore[union-attr]


def celled(session: Session, sql: str) -> set[str]:
    """The keys with such cells."""
    return {key.text for plan in plans(session, sql) for key in plan.keys if key.celled}


GROUPED = [
    ("person", ("region", "sex"), "ROLLUP (region, sex)", ""),
    ("person", ("region", "sex"), "CUBE (region, sex)", ""),
    ("person", ("kind", "region", "sex"), "ROLLUP (kind, region, sex)", ""),
    ("person", ("sex", "smoker"), "ROLLUP (sex, smoker)", ""),
    ("person", ("sex", "kind"), "GROUPING SETS ((sex), (kind), ())", ""),
    ("person", ("region", "sex"), "ROLLUP (region, sex)", "WHERE age < 25 AND region IS NOT NULL"),
    ("person", ("region", "sex"), "CUBE (region, sex)", "WHERE sex <> 'm'"),
    ("person", ("region", "sex"), "CUBE (region, sex)", "WHERE sex = 'x' OR region = 'r1'"),
    ("visit", ("reason",), "ROLLUP (reason)", ""),
]


@pytest.mark.parametrize(("table", "keys", "sets", "where"), GROUPED)
def test_undeclared_rows_are_in_totals_and_in_no_group_that_is_shown(
    exact: Session, table: str, keys: tuple[str, ...], sets: str, where: str
) -> None:
    """What PostgreSQL answers, without the groups of undeclared values; declared groups without rows have zeros."""
    names = ", ".join(keys)
    more = ", SUM(age), AVG(age)" if table == "person" else ""
    sql = f"SELECT {names}, GROUPING({names}) AS g, COUNT(*){more} FROM {table} {where} GROUP BY {sets}"
    answer = exact.execute(sql)
    assert celled(exact, sql)
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        truth = connection.execute(sql).fetchall()
    width = len(keys)

    def shown(row: tuple[object, ...]) -> bool:
        bits = int(str(row[width]))
        own = [place for place in range(width) if not bits >> (width - 1 - place) & 1]
        return all(row[place] in DECLARED[keys[place]] for place in own)

    wanted = {row[: width + 1]: row[width + 1 :] for row in truth if shown(row)}
    found = {row[: width + 1]: row[width + 1 :] for row in answer.rows}
    assert len(found) == len(answer.rows)
    assert not any(UNDECLARED in str(row) for row in answer.rows)
    for group, values in found.items():
        known = wanted.pop(group, (0,))
        assert values[0] == known[0]
        for one, other in zip(values[1:], known[1:], strict=False):
            assert float(str(one)) == pytest.approx(float(str(other)), abs=0.02)
    assert not wanted
    assert any("not one of the" in note for note in answer.notices)


@pytest.mark.parametrize(
    ("sql", "keys"),
    [
        ("SELECT sure, smoker, COUNT(*) FROM person GROUP BY ROLLUP (sure, smoker)", set()),
        ("SELECT smoker, COUNT(*) FROM person GROUP BY ROLLUP (smoker)", set()),
        ("SELECT sex, COUNT(*) FROM person WHERE sex IN ('f', 'm') GROUP BY ROLLUP (sex)", set()),
        ("SELECT sex, COUNT(*) FROM person GROUP BY sex", set()),
        ("SELECT sex, MEDIAN(age) FROM person GROUP BY ROLLUP (sex)", set()),
        ("SELECT sex, COUNT(*) FROM person WHERE sex LIKE 'f%' GROUP BY ROLLUP (sex)", set()),
        ("SELECT sex, COUNT(*) FROM person GROUP BY sex UNION ALL SELECT NULL, COUNT(*) FROM person", {"sex"}),
    ],
)
def test_which_keys_have_a_cell(exact: Session, sql: str, keys: set[str]) -> None:
    assert celled(exact, sql) == keys


@pytest.mark.parametrize("accounting", ["zcdp", "pure", "rdp", "approx"])
def test_a_total_is_at_least_its_parts_and_near_its_rows(noisy: Session) -> None:
    sql = "SELECT region, sex, GROUPING(region, sex), COUNT(*) FROM person GROUP BY ROLLUP (region, sex)"
    rows = noisy.execute(sql).rows
    by = {row[:3]: int(str(row[3])) for row in rows}
    regions = {key[0]: count for key, count in by.items() if key[2] == 1}
    assert set(regions) == set(DECLARED["region"])
    assert len(by) == 4 * 2 + 4 + 1
    for region, count in regions.items():
        assert count >= sum(one for key, one in by.items() if key[0] == region and key[2] == 0)
    assert by[None, None, 3] >= sum(regions.values())
    assert abs(by[None, None, 3] - 4000) < 120


@pytest.mark.parametrize("accounting", ["zcdp"])
def test_groups_of_totals_are_bought_once(noisy: Session) -> None:
    """A question without such cells is answered of a release with them, and no other way round."""
    noisy.execute("SELECT region, sex, COUNT(*) FROM person GROUP BY ROLLUP (region, sex)")
    noisy.execute("SET dpsql.epsilon = 0.2")
    for sql in (
        "SELECT region, sex, COUNT(*) FROM person GROUP BY region, sex",
        "SELECT sex, COUNT(*) FROM person GROUP BY sex",
        "SELECT COUNT(*) FROM person",
        "SELECT COUNT(*) FROM person WHERE sex = 'f'",
    ):
        answer = noisy.execute(sql)
        assert not answer.price, sql
        assert not any(UNDECLARED in str(row) for row in answer.rows)
    noisy.execute("SELECT kind, COUNT(*) FROM person GROUP BY kind")
    assert noisy.execute("SELECT kind, sex, COUNT(*) FROM person GROUP BY ROLLUP (kind, sex)").price


MOVES = [
    "INSERT INTO person VALUES (9000, 'r9', 'f', 'k0', 3, 'a', TRUE);",
    "INSERT INTO person VALUES (9000, 'r9', 'x', 'k9', 3, 'a', TRUE);",
    "INSERT INTO person VALUES (9000, NULL, 'x', 'k0', 3, 'a', TRUE);",
    "INSERT INTO person VALUES (9000, 'r1', 'm', 'k0', 3, 'a', TRUE);",
    "INSERT INTO person VALUES (9000, 'r9', 'f', 'k0', 3, 'a', TRUE);"
    "INSERT INTO visit VALUES (9000, 9000, 'v8'), (9001, 9000, 'v9'), (9002, 9000, 'v0');"
    "INSERT INTO stay VALUES (9000, 9000, 'w0'), (9001, 9000, 'w1'), (9002, 9000, 'w9');",
]
WARDS = "SELECT ward, sex, COUNT(*) FROM stay s JOIN person p ON p.id = s.person_id GROUP BY GROUPING SETS ((ward), (ward, sex))"
"""A person's groups are bounded by nothing but how many there are: one more would be more noise."""


@pytest.mark.parametrize("person", MOVES)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, sex, COUNT(*), SUM(age) FROM person GROUP BY CUBE (region, sex)",
        "SELECT reason, COUNT(*) FROM visit GROUP BY ROLLUP (reason)",
        "SELECT region, reason, COUNT(*) FROM visit v JOIN person p ON p.id = v.person_id GROUP BY ROLLUP (region, reason)",
        WARDS,
    ],
)
def test_one_person_moves_each_measurement_by_no_more_than_its_sensitivity(
    tmp_path: Path, person: str, sql: str
) -> None:
    """The cells are part of the vector: whoever is in one counts in its norm."""
    tables = []
    for name, more in (("without", ""), ("with", person)):
        (tmp_path / name).mkdir()
        proxy = open_without_noise(write(tmp_path / name, more=more))
        session = proxy.session()
        assert bool(celled(session, sql)) is (sql != WARDS)
        own = plans(session, sql)
        engine = session._opened.engine
        tables.append([engine.run(plan, None, None, None) for plan in own])
        proxy.close()
    moved = False
    for plan, before, after in zip(own, *tables, strict=True):
        assert list(before.keys) == list(after.keys)
        for block in plan.blocks:
            steps = [
                int(there) - int(here)
                for one in block.statistics
                for here, there in zip(before.statistics[one.name], after.statistics[one.name], strict=True)
            ]
            moved |= any(steps)
            assert sum(step * step for step in steps) <= block.sensitivity.l2_squared
    assert moved is ("FROM person" in sql or person is MOVES[-1])
