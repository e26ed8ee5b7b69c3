"""Distinct values, booleans and shares: what they mean, how far one person moves them, and how far off they are."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpsql.policy.policy import Policy
from dpsql.policy.problem import PolicyError
from dpsql.proxy import Proxy, Session
from dpsql.testing import measure
from tests.doubles import open_without_noise
from tests.new_databases import new_database

GROUPS = 400
ROWS = """
CREATE TABLE event (id INTEGER PRIMARY KEY, g INTEGER NOT NULL, p BOOLEAN, n INTEGER, t TEXT);
INSERT INTO event SELECT i, i % 5, [TRUE, NULL, i % 10 = 2, FALSE, NULL][1 + i % 5], i % 10, 't' || (i % 7)
FROM range(400) AS r(i);
UPDATE event SET t = NULL WHERE id % 11 = 0;
CREATE TABLE person (id INTEGER PRIMARY KEY);
INSERT INTO person SELECT i FROM range(60) AS r(i);
CREATE TABLE visit (id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES person (id), day DATE, doctor INTEGER,
  cost DOUBLE, g INTEGER NOT NULL);
INSERT INTO visit SELECT i, i % 60, DATE '2024-01-01' + CAST(i % 40 AS INTEGER), i % 23,
  CASE WHEN i % 9 = 0 THEN NULL WHEN i % 2 = 0 THEN -0.0 ELSE 0.0 + i % 3 END, i % 3 FROM range(600) AS r(i);
"""


def policy_text(*, max_rows: int = 10, doctor: str = "") -> str:
    return f"""
database: duckdb:data.duckdb
ledger: sqlite:data.ledger
privacy_unit: person.id
budget: {{epsilon: 1e6, delta: 1e-3}}
statement: {{epsilon: 1000, max_epsilon: 1000}}
tables:
  person: {{columns: {{id: {{}}}}}}
  visit:
    unit: person_id -> person.id
    max_rows: {max_rows}
    columns:
      id: {{}}
      person_id: {{}}
      day: {{range: [2024-01-01, 2024-02-29]}}
      doctor: {{{doctor}}}
      cost: {{range: [0, 3]}}
      g: {{values: [0, 1, 2]}}
"""


OF_ROWS = """
database: duckdb:data.duckdb
ledger: sqlite:data.ledger
privacy_unit: row
budget: {epsilon: 1e6, delta: 1e-3}
statement: {epsilon: 1000, max_epsilon: 1000}
tables:
  event: {columns: {id: {}, g: {values: [0, 1, 2, 3, 4]}, p: {}, n: {range: [0, 9]}, t: {}}}
"""


@pytest.fixture
def data(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(str(tmp_path / "data.duckdb"))
    connection.execute(ROWS)
    connection.close()
    (tmp_path / "people.yaml").write_text(policy_text())
    (tmp_path / "rows.yaml").write_text(OF_ROWS)
    copy = duckdb.connect(":memory:")
    copy.execute(ROWS)
    yield copy
    copy.close()


def exact(folder: Path, name: str) -> Session:
    return open_without_noise(folder / name).session()


OF_VALUES = (
    "SELECT COUNT(DISTINCT doctor), COUNT(DISTINCT cost), COUNT(DISTINCT (cost, g)), COUNT(*) FROM visit",
    "SELECT g, COUNT(DISTINCT doctor) FILTER (WHERE cost > 0) AS a, COUNT(DISTINCT id), COUNT(DISTINCT person_id) "
    "FROM visit GROUP BY g ORDER BY g",
    "SELECT g, COUNT(DISTINCT v.day) AS days FROM visit AS v JOIN person AS p ON p.id = v.person_id GROUP BY g "
    "HAVING COUNT(DISTINCT doctor % 5) = 5 ORDER BY days DESC, g",
    "SELECT AVG(n) FROM (SELECT person_id, COUNT(DISTINCT (doctor, g)) AS n FROM visit GROUP BY person_id) AS t",
    "SELECT g, COUNT(DISTINCT doctor) AS a, COUNT(*) AS b FROM visit GROUP BY ROLLUP (g) ORDER BY g",
)


@pytest.mark.parametrize("sql", OF_VALUES)
def test_distinct_counts_mean_what_the_engine_says(sql: str, data: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    assert list(exact(tmp_path, "people.yaml").execute(sql).rows) == data.execute(sql).fetchall()


def test_values_side_by_side_count_where_none_is_null(data: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    ours = exact(tmp_path, "people.yaml").execute("SELECT COUNT(DISTINCT cost, g) FROM visit").rows
    sql = "SELECT COUNT(DISTINCT (cost, g)) FROM visit WHERE cost IS NOT NULL AND g IS NOT NULL"
    assert list(ours) == data.execute(sql).fetchall()


OF_CONDITIONS = (
    "SELECT g, BOOL_OR(p) AS a, BOOL_AND(p) AS b, BOOL_OR(n > 100) AS c, BOOL_AND(n < 5) FILTER (WHERE n > 50) AS d "
    "FROM event GROUP BY g ORDER BY g",
    "SELECT BOOL_OR(p), BOOL_AND(n >= 0), BOOL_AND(n > 0), COUNT(*), BOOL_OR(t = 't3' AND p) FROM event",
    "SELECT g FROM event GROUP BY g HAVING BOOL_OR(n > 8) OR BOOL_AND(p) ORDER BY g",
    "SELECT g, AVG(CASE WHEN n > 5 THEN 1 ELSE 0 END) AS a, AVG(p::int) AS b, COUNT(*) AS c, "
    "AVG(CASE WHEN p THEN 100.0 ELSE 0 END) FILTER (WHERE n > 3) AS d FROM event GROUP BY g ORDER BY g",
    "SELECT COUNT(DISTINCT t), COUNT(DISTINCT (t, p)), COUNT(DISTINCT n) FILTER (WHERE p) FROM event",
)


@pytest.mark.parametrize("sql", OF_CONDITIONS)
def test_booleans_and_shares_mean_what_the_engine_says(
    sql: str, data: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """With noise so small that margins are below one row; NULLs are the engine's, too."""
    session = exact(tmp_path, "rows.yaml")
    ours, theirs = session.execute(sql).rows, data.execute(sql).fetchall()
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert [_rounded(cell) for cell in mine] == [_rounded(cell) for cell in other]


def _rounded(cell: object) -> object:
    return round(float(cell), 9) if isinstance(cell, float | Decimal) else cell


def test_every_is_bool_and_under_its_own_name(data: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    answer = exact(tmp_path, "rows.yaml").execute(
        "SELECT EVERY(n >= 0), BOOL_OR(p), APPROX_COUNT_DISTINCT(t) FROM event"
    )
    assert [column.name for column in answer.columns] == ["every", "bool_or", "approx_count_distinct"]
    assert answer.rows == ((True, True, 7),)


# How far one person moves a count


@pytest.mark.parametrize("most", [1, 3])
def test_a_person_with_many_values_moves_the_count_by_the_declared_number(most: int, tmp_path: Path) -> None:
    """One person has 60 values that nobody else has, and 60 that everybody has."""
    counts = []
    for people in (range(5), range(1, 5)):
        folder = tmp_path / str(len(people))
        folder.mkdir()
        with new_database(folder / "data.duckdb") as connection:
            connection.execute(ROWS)
            connection.execute("DELETE FROM visit")
            connection.execute(f"DELETE FROM person WHERE id NOT IN ({', '.join(map(str, people))})")
            connection.execute(
                "INSERT INTO visit SELECT row_number() OVER (), p.id, NULL, i + CASE WHEN p.id = 0 AND i % 2 = 0 THEN 1000 ELSE 0 END,"
                " NULL, i % 3 FROM person AS p, range(120) AS r(i)"
            )
        (folder / "policy.yaml").write_text(policy_text(max_rows=200, doctor=f"max_distinct: {most}"))
        found = measure("SELECT COUNT(DISTINCT doctor) FROM visit", folder / "policy.yaml")
        (statistics,) = found[0].groups.values()
        counts.append(statistics["s0"])
        assert [block.sensitivity.l1 for block in found[0].plan.blocks] == [most]
    assert 0 < counts[0] - counts[1] <= most
    assert counts[0] <= 5 * most


def test_max_distinct_is_a_count() -> None:
    for wrong in ("0", "-1", "2.5", "many"):
        with pytest.raises(PolicyError, match="max_distinct"):
            Policy.parse(policy_text(doctor=f"max_distinct: {wrong}"))
    assert Policy.parse(policy_text(doctor="max_distinct: 4")).tables["visit"].columns["doctor"].max_distinct == 4  # type: ignore[index]


# How far off they are


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Proxy:
    """Groups alike: 60 rows each, on 24 of which n > 5, with 10 values of n; and p on 30 of each odd group."""
    folder = tmp_path_factory.mktemp("many")
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE event (id INTEGER, g INTEGER NOT NULL, n INTEGER, p BOOLEAN);"
            "INSERT INTO event SELECT i AS id, CAST(i % 400 AS INTEGER) AS g, CAST(i // 400 % 10 AS INTEGER) AS n,"
            f" i % 2 = 1 AND i // 400 % 2 = 0 AS p FROM range({GROUPS * 60}) AS r(i)"
        )
    columns = "{id: {}, g: {range: [0, 399]}, p: {}, n: {range: [0, 9]}}"
    text = OF_ROWS.partition("tables:")[0] + f"tables:\n  event: {{columns: {columns}}}\n"
    (folder / "policy.yaml").write_text(text)
    return Proxy.open(folder / "policy.yaml")


def session_at(proxy: Proxy, epsilon: float) -> Session:
    session = proxy.session()
    session.execute(f"SET dpsql.epsilon = {epsilon}")
    session.execute("SET dpsql.intervals = on")
    return session


def test_noise_alone_decides_as_rarely_as_the_notice_says(many: Proxy) -> None:
    answer = session_at(many, 0.5).execute("SELECT g, BOOL_OR(p) AS a, BOOL_AND(n > 20) AS b FROM event GROUP BY g")
    notice = next(note for note in answer.notices if note.startswith("BOOL_OR(p) is TRUE from"))
    rows = int(notice.split(" from ")[1].split()[0])
    assert 2 * rows <= 30
    wrong = sum(a is True for g, a, _ in answer.rows if g % 2 == 0)
    missed = sum(a is not True for g, a, _ in answer.rows if g % 2 == 1)
    # At most 5 of 200 are expected, and 3 are seen; more than 18 once in 10⁸ runs.
    assert wrong <= 18
    assert missed <= 18
    assert sum(b is not False for _, _, b in answer.rows) <= 18


@pytest.mark.quick
def test_a_share_costs_no_more_than_its_two_counts_and_its_interval_is_right(many: Proxy) -> None:
    session = session_at(many, 0.7)
    share = "SELECT g, AVG(CASE WHEN n > 5 THEN 1 ELSE 0 END) AS s, COUNT(*) AS c FROM event GROUP BY g"
    counts = "SELECT g, SUM(CASE WHEN n > 5 THEN 1 ELSE 0 END) AS s, COUNT(*) AS c FROM event GROUP BY g"
    blocks = [[release.plan.blocks for release in session.explain(sql).releases] for sql in (share, counts)]
    assert blocks[0] == blocks[1]
    assert len(blocks[0][0]) == 1
    session.execute("SET dpsql.reuse = off")
    rows = [row for _ in range(5) for row in session.execute(share).rows]
    held = sum(low <= 0.4 <= high for _, _, low, high, *_ in rows if low is not None and high is not None)
    # 94 % of them hold; of 2,000, less than 90.5 % or more than 97.5 % do once in 10⁹ runs.
    assert 0.905 <= held / len(rows) <= 0.975
    assert all(0 <= s <= 1 for _, s, *_ in rows)


def test_intervals_of_distinct_counts_hold_what_was_counted(many: Proxy) -> None:
    rows = session_at(many, 0.6).execute("SELECT g, COUNT(DISTINCT n % 7) AS d FROM event GROUP BY g").rows
    held = sum(low <= 7 <= high for _, _, low, high in rows)
    assert held / GROUPS >= 0.9, "96.6 % are expected: fewer than 90 % once in 10⁸ runs"


def test_what_agrees_with_nothing_is_not_made_more_certain(many: Proxy) -> None:
    """Of a ROLLUP the counts are made to agree; distinct values do not add up."""
    sql = "SELECT g, COUNT(*) AS c, COUNT(DISTINCT id % 100000) AS d FROM event GROUP BY ROLLUP (g) ORDER BY g"
    session = session_at(many, 0.65)
    agreed = session.execute(sql)
    session.execute("SET dpsql.consistent = off")
    alone = session.execute(sql)
    # The group of NULLs is empty: what is shown of it is moved to 0, and its margin begins there.
    full = [place for place, row in enumerate(agreed.rows) if isinstance(row[4], int) and row[4] > 20]
    assert len(full) == GROUPS + 1
    margins = [[answer.margins[place] for place in full] for answer in (agreed, alone)]
    assert [row[4] for row in margins[0]] == [row[4] for row in margins[1]]
    assert sum(row[1] or 0 for row in margins[0]) <= sum(row[1] or 0 for row in margins[1])


def test_a_declared_domain_bounds_the_count(many: Proxy) -> None:
    rows = session_at(many, 0.01).execute("SELECT g, COUNT(DISTINCT n) AS d FROM event GROUP BY g").rows
    assert max(row[1] for row in rows) == 10
    assert Fraction(sum(row[1] == 10 for row in rows), GROUPS) > Fraction(1, 4)
