"""Figures over the same rows are one release, and sums of aggregates are measured themselves: as accurate as can be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpsql.proxy import Proxy, Session
from tests.doubles import open_without_noise
from tests.properties.campaign import Tally, campaign
from tests.properties.questions import figures

PEOPLE = 900

FILTERS = (
    "SELECT COUNT(*) AS a, COUNT(*) FILTER (WHERE sex = 'F') AS b, COUNT(*) FILTER (WHERE sex = 'M') AS c,"
    " COUNT(*) FILTER (WHERE age > 50) AS d FROM person"
)
FIGURES = {
    "subqueries": "SELECT (SELECT COUNT(*) FROM person) AS a, (SELECT COUNT(*) FROM person p WHERE sex = 'F') AS b,"
    " (SELECT COUNT(*) FROM person WHERE sex = 'M') AS c, (SELECT COUNT(*) FROM person q WHERE q.age > 50) AS d",
    "joined queries": "WITH a AS (SELECT COUNT(*) AS n FROM person), b AS (SELECT COUNT(*) AS n FROM person WHERE sex = 'F')"
    " SELECT a.n AS a, b.n AS b, c.n AS c, d.n AS d FROM a CROSS JOIN b, (SELECT COUNT(*) AS n FROM person WHERE sex"
    " = 'M') AS c JOIN (SELECT COUNT(*) FROM person WHERE age > 50) AS d(n) ON TRUE",
    "wrapped": "SELECT * FROM (SELECT (SELECT COUNT(*) FROM person) AS a, (SELECT COUNT(*) FROM person WHERE sex = 'F')"
    " AS b, (SELECT COUNT(*) FROM person WHERE sex = 'M') AS c, (SELECT COUNT(*) FROM person WHERE age > 50) AS d)"
    " AS virtual_table LIMIT 1000",
}  # fmt: skip

SUMS = {
    "SELECT COUNT(*) FILTER (WHERE sex = 'F') - COUNT(*) FILTER (WHERE sex = 'M') AS x FROM person":
        "SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE -1 END) AS x FROM person",
    "SELECT (SELECT COUNT(*) FROM person WHERE sex = 'F') - (SELECT COUNT(*) FROM person WHERE sex = 'M') AS x":
        "SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE -1 END) AS x FROM person",
    "WITH f AS (SELECT COUNT(*) AS n FROM person WHERE sex = 'F'), m AS (SELECT COUNT(*) AS n FROM person WHERE sex ="
    " 'M') SELECT f.n - m.n AS x FROM f, m": "SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE -1 END) AS x FROM person",
    "SELECT SUM(height) - SUM(weight) AS x FROM person": "SELECT SUM(height - weight) AS x FROM person",
    "SELECT 2 * COUNT(*) FILTER (WHERE sex = 'F') + COUNT(*) FILTER (WHERE sex = 'M') AS x FROM person":
        "SELECT SUM(CASE WHEN sex = 'F' THEN 2 ELSE 1 END) AS x FROM person",
    "SELECT SUM(cost) FILTER (WHERE kind = 'a') - COALESCE(SUM(cost) FILTER (WHERE kind = 'b'), 0) AS x FROM visit":
        "SELECT SUM(CASE WHEN kind = 'a' THEN cost ELSE -cost END) AS x FROM visit",
    "SELECT SUM(price) + SUM(cost) AS x FROM visit": "SELECT SUM(price + cost) AS x FROM visit",
}  # fmt: skip
"""Sums, and how they would be written as one."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT NOT NULL, age INTEGER, height INTEGER, weight INTEGER)"
        )
        connection.execute(
            "INSERT INTO person SELECT i, CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END, CASE WHEN i % 7 > 0 THEN i % 100 END,"
            f" CASE WHEN i % 5 > 0 THEN 100 + i % 90 END, CASE WHEN i % 4 > 0 THEN i % 150 END FROM range({PEOPLE}) t(i)"
        )
        connection.execute(
            "CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person (id), kind TEXT, cost DECIMAL(8, 2),"
            " price DECIMAL(8, 1), score DOUBLE)"
        )
        connection.execute(
            f"INSERT INTO visit SELECT i % {PEOPLE}, CASE i % 4 WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'c' END,"
            f" (i % 700) / 7.0, (i % 64) / 8.0, (i % 10) / 4.0 FROM range({3 * PEOPLE}) t(i)"
        )
    return folder


def policy(folder: Path, accounting: str) -> Path:
    delta = "" if accounting == "pure" else "delta: 1e-6, "
    path = folder / f"{accounting}.yaml"
    path.write_text(
        f"""
database: duckdb:clinic.duckdb
ledger: sqlite:{accounting}.ledger
privacy_unit: person.id
budget: {{epsilon: 1000, {delta}accounting: {accounting}}}
statement: {{epsilon: 1, max_epsilon: 10}}
tables:
  person:
    columns: {{id: {{}}, sex: {{values: [F, M]}}, age: {{range: [0, 100]}}, height: {{range: [0, 200]}}, weight: {{range: [0, 150]}}}}
  visit:
    unit: person_id -> person.id
    max_rows: 3
    columns: {{person_id: {{}}, kind: {{values: [a, b, c]}}, cost: {{range: [0, 100]}}, price: {{range: [0, 8]}}, score: {{range: [0, 4]}}}}
"""
    )
    return path


@pytest.fixture(scope="module", params=["zcdp", "pure"])
def session(request: pytest.FixtureRequest, folder: Path) -> Iterator[Session]:
    proxy = Proxy.open(policy(folder, request.param))
    yield proxy.session()
    proxy.close()


@pytest.fixture(scope="module")
def exact(folder: Path) -> Iterator[Session]:
    proxy = open_without_noise(policy(folder, "approx"))
    yield proxy.session()
    proxy.close()


def truth(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"ATTACH '{folder / 'clinic.duckdb'}' AS clinic (READ_ONLY); USE clinic")
        return connection.execute(sql).fetchall()


@pytest.mark.spread
@pytest.mark.parametrize("form", FIGURES)
def test_figures_of_the_same_rows_are_as_accurate_as_filters(form: str, session: Session, folder: Path) -> None:
    """Of every figure, since a planner may favour some of them: by the sum of their variances."""
    told, best = session.explain(FIGURES[form]), session.explain(FILTERS)
    assert len(told.releases) == 1
    widths = [[width for width in one.expected if width is not None] for one in (told, best)]
    assert len(widths[0]) == 4
    assert sum(width**2 for width in widths[0]) <= 1.1 * sum(width**2 for width in widths[1])


def test_branches_of_a_union_are_one_release_and_keep_their_error_bars(session: Session, exact: Session) -> None:
    figures = [
        "COUNT(*) AS n FROM person",
        "COUNT(*) FROM person WHERE sex = 'F'",
        "AVG(age) FROM person WHERE age > 9",
    ]
    sql = " UNION ALL ".join(f"SELECT '{place}' AS g, {one}" for place, one in enumerate(figures))
    told = session.explain(sql)
    assert len(told.releases) == 1
    answer = session.execute(sql)
    assert told.expected[1] is not None
    right = {row[0]: row[1] for row in exact.execute(sql).rows}
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        assert margins[1] is not None
        assert abs(float(row[1]) - float(right[row[0]])) < 6 * margins[1]  # type: ignore[arg-type]
        assert margins[1] <= 2 * told.expected[1]
    assert len({margins[1] for margins in answer.margins}) > 1, "each branch has its own"


@pytest.mark.spread
@pytest.mark.parametrize("sql", SUMS)
def test_a_sum_of_aggregates_is_as_accurate_as_one_sum(sql: str, session: Session) -> None:
    told, best = session.explain(sql), session.explain(SUMS[sql])
    (release,) = told.releases
    assert len(release.plan.statistics) == 1
    assert told.expected[0] is not None
    assert best.expected[0] is not None
    assert told.expected[0] <= 1.02 * best.expected[0]
    assert [(c.name, c.type) for c in session.describe(sql)] == [("x", told.columns[0].type)]


JOINED = [
    f"SELECT x.n AS x, COALESCE(y.n, -1) AS y FROM (SELECT COUNT(*) AS n FROM person WHERE age > 20) AS x {join}"
    f" (SELECT COUNT(*) AS n FROM person WHERE age > 30) AS y ON {on}"
    for join, on in (("JOIN", "x.n > y.n"), ("LEFT JOIN", "x.n < y.n"), ("LEFT JOIN", "TRUE"), ("JOIN", "x.n = y.n"))
]


@pytest.mark.parametrize("sql", [*FIGURES.values(), *SUMS, FILTERS, *JOINED])
def test_without_noise_all_of_them_are_right(sql: str, exact: Session, folder: Path) -> None:
    found = [[float(cell) for cell in row] for row in exact.execute(sql).rows]  # type: ignore[arg-type]
    assert found == [pytest.approx([float(cell) for cell in row]) for row in truth(folder, sql)]  # type: ignore[arg-type]


@pytest.mark.spread
@pytest.mark.quick
@pytest.mark.parametrize(
    ("sql", "releases", "statistics"),
    [
        # Other rows are other releases.
        ("SELECT (SELECT COUNT(*) FROM person), (SELECT COUNT(*) FROM visit)", 2, 2),
        ("SELECT (SELECT COUNT(*) FROM visit WHERE kind = 'a'), (SELECT COUNT(*) FROM visit v JOIN person p ON p.id ="
         " v.person_id WHERE sex = 'F')", 2, 2),
        # A total agrees with its parts.
        ("SELECT 'all', COUNT(*) FROM person UNION ALL SELECT sex, COUNT(*) FROM person GROUP BY sex UNION ALL"
         " SELECT 'old', COUNT(*) FROM person WHERE age > 60", 3, 3),
        # What is shown alone is measured alone, and so is what another column reads.
        ("SELECT SUM(height) - SUM(weight), SUM(weight) FROM person", 1, 2),
        ("SELECT SUM(height) - SUM(weight) FROM person HAVING SUM(weight) > 9", 1, 2),
        ("SELECT SUM(height) * SUM(weight) FROM person", 1, 2),
        ("SELECT COUNT(DISTINCT kind) - COUNT(*) FROM visit", 1, 2),
        # Two sums of the same aggregates are two numbers.
        ("SELECT SUM(height) - SUM(weight), SUM(height) + SUM(weight) FROM person", 1, 2),
        ("SELECT sex, SUM(height) - SUM(weight) FROM person GROUP BY sex ORDER BY SUM(height) - SUM(weight)", 1, 1),
        ("SELECT SUM(d) OVER () FROM (SELECT sex, SUM(height) - SUM(weight) AS d FROM person GROUP BY sex) t", 1, 1),
        # The same figure is one.
        ("SELECT (SELECT COUNT(*) FROM person WHERE age > 9) AS a, (SELECT COUNT(*) FROM person WHERE age > 9) AS b", 1, 1),
    ],
)  # fmt: skip
def test_what_is_measured(sql: str, releases: int, statistics: int, session: Session) -> None:
    told = session.explain(sql)
    assert len(told.releases) == releases
    assert sum(len(release.plan.statistics) for release in told.releases) == statistics


def test_a_figure_is_paid_for_once(folder: Path) -> None:
    proxy = Proxy.open(policy(folder, "zcdp"))
    try:
        session = proxy.session()
        before = session.budget().spent_epsilon
        first = session.execute(FIGURES["subqueries"])
        again = session.execute(FIGURES["wrapped"])
        assert first.price
        assert not again.price
        assert first.rows == again.rows
        assert session.budget().spent_epsilon > before
    finally:
        proxy.close()


def test_one_more_person_moves_no_figure_further() -> None:
    """Whatever is put together: the worlds of :mod:`tests.properties.drawing`, asked for figures and sums alone."""
    tally = campaign(range(7_000, 7_002), questions=10, neighbours=2, tally=Tally(), ask=figures)
    assert not tally.leaks, tally.leaks[0]
    assert tally.executed >= 0.85 * tally.asked, tally.refused.most_common(5)
    assert tally.features["figures"] > 8
    assert tally.features["sums of aggregates"] > 5
    assert tally.attained(0.9) > 0.1
