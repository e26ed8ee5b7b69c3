"""Who has more rows than the bound counts with less, in the same direction: means, shares and spreads keep their value.

Each case is one that answered something else, with its figures, and the errors that a statement may have beside the
form of it that is best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.proxy import Session
from tests.properties.planted import case, expected, numbers

PEOPLE = 200
TABLES = """
  person: {columns: {id: {}}}
  visit:
    unit: pid -> person.id
    max_rows: 3
    columns:
      pid: {}
      x: {range: [0, 400]}
      y: {range: [0, 400]}
      z: {range: [0, 100]}
      kind: {values: [a, b, c]}
"""
SETUP = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY)",
    "CREATE TABLE visit (pid INTEGER, x INTEGER, y INTEGER, z INTEGER, kind TEXT)",
    f"INSERT INTO person SELECT i FROM generate_series(0, {PEOPLE - 1}) AS t(i)",
    # Ten rows each, the same of everybody: x is 91, 93, …, 109, one row in ten is of kind a, nobody has kind c.
    "INSERT INTO visit SELECT i, 91 + 2 * j, 50, CASE WHEN j < 5 THEN j END, CASE WHEN j = 0 THEN 'a' ELSE 'b' END "
    f"FROM generate_series(0, {PEOPLE - 1}) AS t(i), generate_series(0, 9) AS u(j)",
]


@pytest.fixture(scope="module", params=["zcdp", "pure"])
def visits(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with case(tmp_path_factory.mktemp("visits"), SETUP, TABLES, request.param) as session:
        yield session


@pytest.fixture(scope="module", params=["zcdp", "pure"])
def cheap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """At a price at which noise is seen in counts."""
    with case(tmp_path_factory.mktemp("cheap"), SETUP, TABLES, request.param, epsilon=0.1) as session:
        yield session


QUOTIENTS = [
    pytest.param("AVG(x)", 100, id="mean"),
    pytest.param("STDDEV_POP(x)", math.sqrt(33), id="standard deviation"),
    pytest.param("VAR_SAMP(x)", 33, id="variance"),
    pytest.param("AVG(CASE WHEN kind = 'a' THEN 1 ELSE 0 END)", 0.1, id="share"),
    pytest.param("PERCENT_RANK(99) WITHIN GROUP (ORDER BY x)", 0.4, id="percent rank"),
    pytest.param("PERCENT_RANK(3) WITHIN GROUP (ORDER BY z DESC)", 0.6, id="percent rank with NULLs before it"),
    pytest.param("SUM(x) * 1.0 / COUNT(*)", 100, id="quotient"),
    pytest.param("SUM(x) * 1.0 / SUM(y)", 2, id="quotient of sums"),
    pytest.param("AVG(z)", 2, id="mean beside NULLs"),
    pytest.param("SUM(z) * 1.0 / COUNT(*)", 1, id="NULLs in the divisor"),
    pytest.param("COUNT(z) * 1.0 / COUNT(*)", 0.5, id="share that is not NULL"),
    pytest.param("AVG(x) FILTER (WHERE kind = 'b')", 101, id="mean of a part"),
]


@pytest.mark.spread
@pytest.mark.parametrize(("shown", "truth"), QUOTIENTS)
def test_quotients_keep_their_value(visits: Session, shown: str, truth: float) -> None:
    (found,) = numbers(visits, f"SELECT {shown} FROM visit")
    assert found == pytest.approx(truth, rel=5e-3)


@pytest.mark.parametrize(
    "shown",
    ["SUM(x), COUNT(*), AVG(x)", "SUM(x), COUNT(x), AVG(x), STDDEV_POP(x)", "SUM(x), COUNT(*), AVG(x), AVG(y), SUM(y)"],
)
def test_a_mean_is_the_sum_by_the_count_beside_it(visits: Session, shown: str) -> None:
    total, count, mean, *_ = numbers(visits, f"SELECT {shown} FROM visit")
    assert total / count == pytest.approx(100, rel=5e-3)
    assert mean == pytest.approx(100, rel=5e-3)
    assert PEOPLE <= count <= 10 * PEOPLE


FILTERS = [
    "SELECT COUNT(*), COUNT(*) FILTER (WHERE kind = 'c') FROM visit",
    "SELECT COUNT(*), COUNT(*) FILTER (WHERE x < 5) FROM visit",
    "SELECT COUNT(*), COUNT(DISTINCT pid) - COUNT(DISTINCT pid), COUNT(*) FILTER (WHERE kind = 'c') FROM visit",
]


@pytest.mark.parametrize("sql", FILTERS)
def test_no_row_is_counted_that_is_not_there(visits: Session, sql: str) -> None:
    """120 or more of 2,000 rows may count, and nobody's row never."""
    count, *_, none = numbers(visits, sql)
    assert none == 0
    assert 3 * PEOPLE <= count <= 10 * PEOPLE


@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
@pytest.mark.parametrize("share", [90, 95])
def test_a_mean_is_right_though_some_people_have_many_rows(tmp_path: Path, accounting: str, share: int) -> None:
    """Log-normal numbers of rows, bounded where so many per cent of the people are within the bound."""
    many = [max(1, round(math.exp(1.0 + 1.0 * _normal((n + 0.5) / 3000)))) for n in range(3000)]
    bound = sorted(many)[3000 * share // 100]
    rows = ", ".join(f"({n}, {count})" for n, count in enumerate(many))
    setup = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, many INTEGER)",
        f"INSERT INTO person VALUES {rows}",
        # Values have nothing to do with how many there are: their mean is 39.95 whoever counts with how much.
        "CREATE TABLE visit AS SELECT id AS pid, ((id * 37 + j * 53) % 80) + 0.45 AS x FROM person, generate_series(1, many) AS t(j)",
    ]
    tables = f"  person: {{columns: {{id: {{}}}}}}\n  visit: {{unit: pid -> person.id, max_rows: {bound}, columns: {{pid: {{}}, x: {{range: [0, 400]}}}}}}\n"
    with case(tmp_path, setup, tables, accounting) as session:
        (mean,) = numbers(session, "SELECT AVG(x) FROM visit")
    assert mean == pytest.approx(39.95, abs=0.6)


def _normal(part: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(part)


# What the same vector costs

FORMS = [
    # a statement, the form of it that is best, and how many times its error it may have
    pytest.param("SELECT AVG(x), COUNT(*) FROM visit", "SELECT AVG(x) FROM visit", 1.05, id="AVG beside COUNT"),
    pytest.param("SELECT SUM(x), COUNT(*) FROM visit", "SELECT SUM(x) FROM visit", 1.05, id="SUM beside COUNT"),
    pytest.param("SELECT SUM(x) - SUM(y) FROM visit", "SELECT SUM(x - y) FROM visit", 1.1, id="difference of sums"),
    pytest.param(
        "SELECT COUNT(*) FILTER (WHERE kind = 'a') - COUNT(*) FILTER (WHERE kind = 'b') FROM visit",
        "SELECT SUM(CASE kind WHEN 'a' THEN 1 WHEN 'b' THEN -1 ELSE 0 END) FROM visit",
        1.1,
        id="difference of counts",
    ),
    pytest.param(
        "SELECT (SELECT COUNT(*) FROM visit WHERE kind = 'a'), (SELECT COUNT(*) FROM visit WHERE kind = 'b'), "
        "(SELECT COUNT(*) FROM visit WHERE x > 100), (SELECT COUNT(*) FROM visit WHERE y > 10)",
        "SELECT COUNT(*) FILTER (WHERE kind = 'a'), COUNT(*) FILTER (WHERE kind = 'b'), COUNT(*) FILTER (WHERE x > 100), "
        "COUNT(*) FILTER (WHERE y > 10) FROM visit",
        1.1,
        id="KPIs",
    ),
    pytest.param(
        "SELECT 'a', COUNT(*) FROM visit WHERE kind = 'a' UNION ALL SELECT 'b', COUNT(*) FROM visit WHERE kind = 'b'",
        "SELECT COUNT(*) FILTER (WHERE kind = 'a'), COUNT(*) FILTER (WHERE kind = 'b') FROM visit",
        1.1,
        id="UNION ALL of KPIs",
    ),
    pytest.param(
        "WITH a AS (SELECT COUNT(*) AS n FROM visit WHERE kind = 'a'), b AS (SELECT COUNT(*) AS n FROM visit WHERE x > 100) "
        "SELECT a.n - b.n FROM a, b",
        "SELECT SUM((CASE WHEN kind = 'a' THEN 1 ELSE 0 END) - (CASE WHEN x > 100 THEN 1 ELSE 0 END)) FROM visit",
        1.1,
        id="difference of CTEs",
    ),
]


@pytest.mark.spread
@pytest.mark.parametrize(("sql", "best", "times"), FORMS)
def test_the_same_question_costs_the_same_in_every_form(cheap: Session, sql: str, best: str, times: float) -> None:
    """The mean square of the errors to expect, of a release where nothing stands above it."""
    assert _error(cheap, sql) <= times * _error(cheap, best)


def _error(session: Session, sql: str) -> float:
    found = expected(session, sql)
    if not found:
        found = [margin for release in session.explain(sql).releases for margin in release.margins.values()]
    first = found[:1] if "AVG(x)" in sql or "SUM(x), COUNT" in sql else found
    return math.sqrt(sum(one * one for one in first) / len(first))


@pytest.mark.parametrize("beside", ["AVG(x)", "SUM(x)"])
def test_a_count_is_no_worse_beside_a_mean(cheap: Session, beside: str) -> None:
    """Than where the price is halved, which is the most that sharing it may cost."""
    (alone,) = expected(cheap, "SELECT COUNT(*) FROM visit")
    *_, count = expected(cheap, f"SELECT {beside}, COUNT(*) FROM visit")
    assert count <= 2.05 * alone


def test_a_moving_window_has_an_error_to_expect(cheap: Session) -> None:
    sql = "SELECT kind, SUM(COUNT(*)) OVER (ORDER BY kind ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM visit GROUP BY kind"
    assert cheap.explain(sql).expected[1] is not None


@pytest.mark.quick
def test_a_bound_of_a_person_s_total_makes_the_noise_of_a_sum(tmp_path: Path) -> None:
    narrow = TABLES.replace("max_rows: 3", "max_rows: 24").replace(
        "x: {range: [0, 400]}", "x: {range: [0, 400], max_total: 1000}"
    )
    with case(tmp_path / "wide", SETUP, TABLES.replace("max_rows: 3", "max_rows: 24"), epsilon=0.1) as session:
        (wide,) = expected(session, "SELECT SUM(x) FROM visit")
    with case(tmp_path / "narrow", SETUP, narrow, epsilon=0.1) as session:
        (found,) = expected(session, "SELECT SUM(x) FROM visit")
        assert numbers(session, "SELECT SUM(x) FROM visit") == [pytest.approx(1000 * PEOPLE, rel=5e-3)]
    assert found <= 1.05 * wide * 1000 / (24 * 400)


@pytest.mark.parametrize("accounting", ["zcdp", "approx"])
def test_the_count_itself_selects_groups_where_a_person_has_one_row(tmp_path: Path, accounting: str) -> None:
    """Half the price for the selection would ask for 40 % more people in a group."""
    setup = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, town TEXT)",
        "INSERT INTO person SELECT i, 't' || (i % 7) FROM generate_series(1, 700) AS t(i)",
    ]
    with case(tmp_path, setup, "  person: {columns: {id: {}, town: {}}}\n", accounting, epsilon=1) as session:
        (release,) = session.explain("SELECT town, COUNT(*) FROM person GROUP BY town").releases
        (alone,) = session.explain("SELECT DISTINCT town FROM person").releases
    assert release.threshold is not None
    assert alone.threshold is not None
    assert release.threshold <= 1.05 * alone.threshold


# Groups and totals of one statement


@pytest.mark.parametrize("sets", ["ROLLUP (kind)", "GROUPING SETS ((kind), ())"])
def test_groups_and_totals_are_shortened_together(visits: Session, sets: str) -> None:
    """Nobody has kind c: what the others are shortened by, in one set more than in the other, is no row of it."""
    found = {
        row[0]: [float(value or 0) for value in row[1:]]  # type: ignore[arg-type]
        for row in visits.execute(f"SELECT kind, SUM(x) - SUM(y), COUNT(*) FROM visit GROUP BY {sets}").rows
    }
    assert found.get("c", [0, 0]) == [0, 0]
    for kind, mean in (("a", 41), ("b", 51), (None, 50)):
        difference, count = found[kind]
        assert difference == pytest.approx(mean * count, rel=0.03)
