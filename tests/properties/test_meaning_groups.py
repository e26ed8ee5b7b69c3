"""Groups as SQL means them: narrowed by conditions, NULL among them, empty ones no rows, and totals of all rows.

Each case is one that answered something else. The truth is a plain count over the same rows, by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from tests.properties.planted import case, expected, numbers, rows

PEOPLE = "  person: {columns: {id: {}, country: {values_from: place.country}, born: {range: [1950, 2000]}, team: {values: [a, b, z]}, odd: {}}}\n"
SALES = """
  sale:
    unit: pid -> person.id
    max_rows: 20
    columns:
      pid: {}
      item: {values_from: item.id}
      at: {range: [2025-01-01, 2027-12-31]}
      debut: {range: [1980-01-01, 2025-12-31]}
      price: {range: [0, 500]}
      note: {}
"""
PUBLIC = "  place: {public: true}\n  item: {public: true}\n"
SETUP = [
    "CREATE TABLE place (country TEXT PRIMARY KEY, region TEXT)",
    "INSERT INTO place VALUES ('de', 'EMEA'), ('fr', 'EMEA'), ('jp', 'APAC'), ('nz', 'APAC'), ('us', 'AMER')",
    "CREATE TABLE item (id INTEGER PRIMARY KEY, family TEXT)",
    "INSERT INTO item SELECT i, CASE WHEN i <= 3 THEN 'tea' WHEN i <= 6 THEN 'tool' ELSE 'toy' END FROM generate_series(1, 9) AS t(i)",
    "CREATE TABLE person (id INTEGER PRIMARY KEY, country TEXT, born INTEGER, team TEXT, odd BOOLEAN)",
    # Countries: 20 each of de, jp, us, 20 of a country that is not in the list, 20 NULL; nobody of fr and nz.
    "INSERT INTO person SELECT i, CASE i % 5 WHEN 0 THEN 'de' WHEN 1 THEN 'jp' WHEN 2 THEN 'us' WHEN 3 THEN 'xx' END, "
    "CASE WHEN i % 10 = 0 THEN NULL WHEN i % 10 = 1 THEN 1930 ELSE 1950 + i % 10 END, "
    "CASE i % 4 WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'q' END, CASE WHEN i % 3 < 2 THEN i % 3 = 1 END "
    "FROM generate_series(0, 99) AS t(i)",
    'CREATE TABLE sale (pid INTEGER, item INTEGER, "at" TIMESTAMP, debut DATE, price NUMERIC(8,2), note TEXT)',
    # Ten sales each, of every hour from 28 September 2026 on; 500 of item 1, 300 of 2, 200 of 3; one instant in ten is NULL.
    "INSERT INTO sale SELECT i, CASE WHEN j < 5 THEN 1 WHEN j < 8 THEN 2 ELSE 3 END, CASE WHEN j < 9 THEN TIMESTAMP '2026-09-28 00:30:00' + (i * 10 + j) * INTERVAL '1 hour' END, "
    "DATE '2020-01-01' - CAST(365 * (i % 7) AS INTEGER), 10 * j, 'n' || (i % 2) FROM generate_series(0, 99) AS t(i), generate_series(0, 9) AS u(j)",
]
TABLES = PUBLIC + PEOPLE + SALES.replace("      at:", '      "at":')
OCTOBER = "\"at\" >= '2026-10-01' AND \"at\" < '2026-11-01'"


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with case(tmp_path_factory.mktemp("shop"), SETUP, TABLES, engine=request.param) as session:
        yield session


# Conditions narrow

NARROWED = [
    pytest.param(f'SELECT "at"::date, COUNT(*) FROM sale WHERE {OCTOBER} GROUP BY 1', 31, id="days"),
    pytest.param(
        f'SELECT CAST("at" AS DATE), SUM(price), AVG(price) FROM sale WHERE {OCTOBER} GROUP BY 1',
        31,
        id="days of a mean",
    ),
    pytest.param(
        f"SELECT DATE_TRUNC('day', \"at\"), COUNT(*) FROM sale WHERE {OCTOBER} GROUP BY 1",
        31,
        id="truncated to days",
    ),
    pytest.param(f"SELECT DATE_TRUNC('month', \"at\"), COUNT(*) FROM sale WHERE {OCTOBER} GROUP BY 1", 1, id="months"),
    pytest.param(
        f'SELECT EXTRACT(MONTH FROM "at"), COUNT(*) FROM sale WHERE {OCTOBER} GROUP BY 1',
        1,
        id="extracted months",
    ),
    pytest.param(
        f"SELECT TO_CHAR(\"at\", 'YYYY-MM'), COUNT(*) FROM sale WHERE {OCTOBER} GROUP BY 1",
        1,
        id="months as text",
    ),
    pytest.param(
        f'SELECT FLOOR(EXTRACT(DAY FROM "at") / 7), COUNT(*) FROM sale WHERE {OCTOBER} GROUP BY 1', 5, id="bins of days"
    ),
    pytest.param(
        f'SELECT * FROM (SELECT "at"::date AS d, COUNT(*) FROM sale WHERE {OCTOBER} GROUP BY 1) AS virtual_table LIMIT 1000',
        31,
        id="wrapped",
    ),
    pytest.param(
        "SELECT \"at\"::date, COUNT(*) FROM sale WHERE \"at\" BETWEEN '2026-10-01' AND '2026-10-03 23:59:59' GROUP BY 1",
        3,
        id="between instants",
    ),
    pytest.param('SELECT "at"::date, COUNT(*) FROM sale WHERE "at"::date = \'2026-10-05\' GROUP BY 1', 1, id="a cast"),
    pytest.param(
        "SELECT \"at\"::date, COUNT(*) FROM sale WHERE DATE_TRUNC('month', \"at\") = '2026-10-01' GROUP BY 1",
        31,
        id="a truncated instant",
    ),
    pytest.param(
        "SELECT p.country, COUNT(*) FROM person AS p JOIN place AS c ON c.country = p.country WHERE c.region = 'APAC' GROUP BY 1",
        2,
        id="public row, private key",
    ),
    pytest.param(
        "SELECT c.country, COUNT(*) FROM person AS p JOIN place AS c ON c.country = p.country WHERE c.region = 'APAC' GROUP BY 1",
        2,
        id="public row, public key",
    ),
    pytest.param(
        "SELECT item, COUNT(*) FROM sale WHERE item IN (SELECT id FROM item WHERE family = 'tea') GROUP BY 1",
        3,
        id="public subquery",
    ),
    pytest.param(
        "SELECT i.family, COUNT(*) FROM sale JOIN item AS i ON i.id = item WHERE i.family <> 'toy' GROUP BY 1",
        2,
        id="public family",
    ),
    pytest.param(
        "SELECT i.id, COUNT(*) FROM sale JOIN item AS i ON i.id = item AND i.family = 'tea' GROUP BY 1",
        3,
        id="condition of the join",
    ),
]


@pytest.mark.spread
@pytest.mark.parametrize(("sql", "groups"), NARROWED)
def test_conditions_narrow_the_groups(shop: Session, sql: str, groups: int) -> None:
    """No group that WHERE excludes is in an answer; these have as many as pass it."""
    shop.execute("SET dpsql.empty_groups = show")
    try:
        assert len(shop.execute(sql).rows) == groups
    finally:
        shop.execute("RESET dpsql.empty_groups")


def test_the_days_of_a_month_have_their_numbers(shop: Session) -> None:
    """A sale every hour for 1,000 hours, of which each tenth has no instant."""
    found = rows(shop, f'SELECT "at"::date, COUNT(*) FROM sale WHERE {OCTOBER} GROUP BY 1')
    days: dict[datetime, int] = {}
    for hour in range(1000):
        day = datetime(2026, 9, 28) + timedelta(days=hour // 24)
        if hour % 10 < 9 and (day.year, day.month) == (2026, 10):
            days[day] = days.get(day, 0) + 1
    assert [row for row in found if row[1]] == sorted(((day, float(count)) for day, count in days.items()), key=str)


# NULL is a group

NULLS = [
    pytest.param("SELECT country, COUNT(*) FROM person GROUP BY 1", 20, id="values_from"),
    pytest.param("SELECT team, COUNT(*) FROM person GROUP BY 1", 25, id="values"),
    pytest.param("SELECT born, COUNT(*) FROM person GROUP BY 1", 10, id="range"),
    pytest.param("SELECT born / 10 * 10, COUNT(*) FROM person GROUP BY 1", 10, id="bins"),
    pytest.param("SELECT UPPER(team), COUNT(*) FROM person GROUP BY 1", 25, id="upper"),
    pytest.param('SELECT EXTRACT(HOUR FROM "at"), COUNT(*) FROM sale GROUP BY 1', 100, id="hours"),
    pytest.param('SELECT "at"::date, COUNT(*) FROM sale GROUP BY 1', 100, id="days"),
    pytest.param("SELECT odd, COUNT(*) FROM person GROUP BY 1", 33, id="booleans"),
    pytest.param(
        "SELECT c.region, COUNT(*) FROM person AS p LEFT JOIN place AS c ON c.country = p.country GROUP BY 1",
        40,
        id="outer join",
    ),
]


@pytest.mark.spread
@pytest.mark.quick
@pytest.mark.parametrize(("sql", "count"), NULLS)
def test_null_is_a_group(shop: Session, sql: str, count: int) -> None:
    assert (None, count) in shop.execute(sql).rows


def test_null_is_no_group_where_a_condition_excludes_it(shop: Session) -> None:
    for sql in (
        "SELECT team, COUNT(*) FROM person WHERE team IS NOT NULL GROUP BY 1",
        "SELECT team, COUNT(*) FROM person WHERE team <> 'b' GROUP BY 1",
        f'SELECT "at"::date, COUNT(*) FROM sale WHERE {OCTOBER} GROUP BY 1',
    ):
        assert None not in [row[0] for row in shop.execute(sql).rows]


# What is left out is said

LEFT_OUT = [
    "SELECT country, COUNT(*) FROM person GROUP BY 1",
    "SELECT team, AVG(born) FROM person GROUP BY 1",
    "SELECT born, COUNT(*) FROM person GROUP BY 1",
    'SELECT "at"::date, COUNT(*) FROM sale GROUP BY 1',
]
ALL_IN = [
    "SELECT odd, COUNT(*) FROM person GROUP BY 1",
    "SELECT CASE WHEN team = 'a' THEN 'a' ELSE 'rest' END, COUNT(*) FROM person GROUP BY 1",
    "SELECT COUNT(*) FROM person",
    "SELECT team, COUNT(*) FROM person WHERE team IN ('a', 'b') GROUP BY 1",
    f'SELECT "at"::date, COUNT(*) FROM sale WHERE {OCTOBER} GROUP BY 1',
]


def left_out(session: Session, sql: str) -> list[str]:
    words = ("left out", "not declared", "in no group", "not counted", "outside")
    other = ("dpsql.empty_groups", "belong to nobody")
    notices = [notice for notice in session.explain(sql).notices if not any(words in notice for words in other)]
    return [notice for notice in notices if any(word in notice for word in words)]


@pytest.mark.spread
@pytest.mark.parametrize("sql", LEFT_OUT)
def test_rows_outside_of_declared_groups_are_said_to_be_left_out(shop: Session, sql: str) -> None:
    assert left_out(shop, sql)


@pytest.mark.parametrize("sql", ALL_IN)
def test_nothing_is_said_where_nothing_can_be_left_out(shop: Session, sql: str) -> None:
    assert not left_out(shop, sql)


# Empty groups are no rows

YEARS = "SELECT EXTRACT(YEAR FROM debut) AS y, COUNT(*) AS n FROM sale GROUP BY 1"
"""The seven years from 2014 to 2020, with 140 or 150 sales each; 46 are declared."""


def test_aggregates_over_groups_are_of_groups_that_are_there(shop: Session) -> None:
    mean, least, count = numbers(shop, f"SELECT AVG(n), MIN(n), COUNT(*) FROM ({YEARS}) AS t")
    assert (least, count) == (140, 7)
    assert mean == pytest.approx(1000 / 7)


def test_distinct_rows_that_are_counted_are_distinct_values(shop: Session) -> None:
    assert numbers(
        shop, "SELECT COUNT(*) FROM (SELECT DISTINCT item, EXTRACT(YEAR FROM debut) AS y FROM sale) AS t"
    ) == [21]


def test_the_first_groups_are_some_that_are_there(shop: Session) -> None:
    found = rows(shop, f"{YEARS} ORDER BY y LIMIT 3")
    assert [row[0] for row in found] == [2014, 2015, 2016]


def test_releases_are_joined_on_groups_that_are_there(shop: Session) -> None:
    one = "SELECT item, COUNT(*) AS n FROM sale WHERE price < 5 GROUP BY 1"
    other = "SELECT item, COUNT(*) AS n FROM sale WHERE price > 85 GROUP BY 1"
    assert rows(shop, f"SELECT a.item, a.n, b.n FROM ({one}) AS a JOIN ({other}) AS b ON a.item = b.item") == []


def test_a_difference_of_two_ranges_has_the_groups_that_are_there(shop: Session) -> None:
    sql = "SELECT EXTRACT(YEAR FROM s.debut) - p.born AS age, COUNT(*) FROM sale AS s JOIN person AS p ON p.id = s.pid GROUP BY 1"
    found = [row[0] for row in rows(shop, sql) if isinstance(row[0], float)]
    assert found
    assert min(found) >= 2014 - 1959
    assert max(found) <= 2020 - 1950


@pytest.mark.parametrize("bin_", ["FLOOR(price / 50) * 50", "WIDTH_BUCKET(price, 0, 500, 10)"])
def test_there_are_no_bins_beyond_a_range(shop: Session, bin_: str) -> None:
    """Prices are 0, 10, …, 90: two bins."""
    assert (
        len([row for row in rows(shop, f"SELECT {bin_} AS b, COUNT(*) FROM sale GROUP BY 1") if row[0] is not None])
        == 2
    )


def test_a_window_looks_at_the_group_before_that_is_there(shop: Session) -> None:
    sql = 'SELECT "at"::date AS d, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY "at"::date) AS k FROM sale WHERE "at" IS NOT NULL GROUP BY 1'
    found = sorted((row[2], row[0]) for row in shop.execute(sql).rows)
    assert str(found[0][1])[:10] == "2026-09-28"


def test_listed_groups_are_shown_though_nobody_is_in_them(shop: Session) -> None:
    assert ("z", 0.0) in rows(shop, "SELECT team, COUNT(*) FROM person GROUP BY 1")


def test_distinct_rows_of_undeclared_groups_are_distinct_values_or_refused(tmp_path: Path) -> None:
    """494 names, one person each: 0 are shown, and 0 is no answer."""
    setup = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO person SELECT i, 'n' || (i % 494) FROM generate_series(0, 493) AS t(i)",
    ]
    with case(tmp_path, setup, "  person: {columns: {id: {}, name: {}}}\n", epsilon=1) as session:
        try:
            (count,) = numbers(session, "SELECT COUNT(*) FROM (SELECT DISTINCT name FROM person) AS t")
        except Error as refused:
            assert refused.sqlstate == "0A000"
        else:
            assert count == 494


# The largest groups and totals

TOP = "item IN (SELECT item FROM sale GROUP BY item ORDER BY COUNT(*) DESC LIMIT 2)"


@pytest.mark.spread
@pytest.mark.parametrize("sets", ["ROLLUP (item)", "CUBE (item)", "GROUPING SETS ((item), ())"])
def test_totals_of_the_largest_groups_are_shown(shop: Session, sets: str) -> None:
    """Items 1 and 2: 500 and 300 sales."""
    found = rows(shop, f"SELECT item, COUNT(*) FROM sale WHERE {TOP} GROUP BY {sets}")
    assert found == [(1.0, 500.0), (2.0, 300.0), (None, 800.0)]


def test_the_key_of_a_choice_need_not_be_selected(shop: Session) -> None:
    assert rows(shop, f"SELECT COUNT(*) FROM sale WHERE {TOP} GROUP BY item") == [(300.0,), (500.0,)]


def test_a_range_of_many_values_is_said_to_be_chosen_from(tmp_path: Path) -> None:
    """A million numbers are declared, and 100 people have one each, or narrowed to 50,000 of them."""
    setup = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, number INTEGER)",
        "INSERT INTO person SELECT i, i * 10000 FROM generate_series(0, 99) AS t(i)",
    ]
    with case(tmp_path, setup, "  person: {columns: {id: {}, number: {range: [0, 999999]}}}\n") as session:
        narrowed = rows(session, "SELECT number, COUNT(*) FROM person WHERE number < 50000 GROUP BY 1")
        assert [row for row in narrowed if row[1]] == [(n * 10000.0, 1.0) for n in range(5)]
        notices = session.explain("SELECT number, COUNT(*) FROM person GROUP BY 1").notices
        assert any(("declared" in notice and "too many" in notice) or "100,000" in notice for notice in notices)


# Totals

TOTAL = ["CREATE TABLE person (id INTEGER PRIMARY KEY, team TEXT, year INTEGER, place TEXT)",
         "INSERT INTO person SELECT i, CASE WHEN i < 2000 THEN 'a' WHEN i < 4500 THEN 'b' END, CASE WHEN i < 2000 THEN 1960 WHEN i < 4500 THEN 1930 END, "
         "CASE WHEN i < 2000 THEN 'here' WHEN i < 4500 THEN 'gone' END FROM generate_series(0, 4999) AS t(i)",
         "CREATE TABLE town (name TEXT PRIMARY KEY)", "INSERT INTO town VALUES ('here')"]  # fmt: skip
TOTALS = "  town: {public: true}\n  person: {columns: {id: {}, team: {values: [a]}, year: {range: [1950, 1970]}, place: {values_from: town.name}}}\n"


@pytest.fixture(scope="module")
def total(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with case(tmp_path_factory.mktemp("total"), TOTAL, TOTALS) as session:
        yield session


@pytest.mark.parametrize(("key", "value"), [("team", "a"), ("year", 1960.0), ("place", "here")])
@pytest.mark.parametrize("sets", ["ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({}), ())"])
def test_a_total_has_the_rows_that_are_in_no_group(total: Session, key: str, value: object, sets: str) -> None:
    found = rows(total, f"SELECT {key}, GROUPING({key}), COUNT(*) FROM person GROUP BY {sets.format(key)}")
    shown = {row for row in found if row[2]}
    assert shown == {(value, 0.0, 2000.0), (None, 0.0, 500.0), (None, 1.0, 5000.0)}


def test_a_union_of_a_total_and_its_parts_is_right(total: Session) -> None:
    sql = "SELECT team, COUNT(*) FROM person GROUP BY team UNION ALL SELECT 'all', COUNT(*) FROM person"
    found = rows(total, sql)
    assert ("a", 2000.0) in found
    assert ("all", 5000.0) in found


def test_a_running_sum_of_declared_groups_does_not_hold_the_others(total: Session) -> None:
    found = rows(
        total, "SELECT team, SUM(COUNT(*)) OVER (ORDER BY team) FROM person WHERE team IS NOT NULL GROUP BY team"
    )
    assert found == [("a", 2000.0)]


def test_an_error_is_expected_of_a_total(total: Session) -> None:
    assert expected(total, "SELECT team, COUNT(*) FROM person GROUP BY ROLLUP (team)")


LEFT = "FROM person AS p LEFT JOIN place AS c ON c.country = p.country WHERE {} GROUP BY 1"


@pytest.mark.spread
@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ("c.region = 'APAC'", {"jp", "nz"}),
        ("NOT c.region IN ('APAC', 'EMEA')", {"us"}),
        ("c.region IS NOT NULL", {"de", "fr", "jp", "nz", "us"}),
        ("COALESCE(c.region, 'none') <> 'APAC'", {"de", "fr", "us", "None"}),
        ("c.region IS NULL", {"None"}),
    ],
)
def test_a_condition_on_an_outer_join_narrows_like_one_on_an_inner_join(
    shop: Session, test: str, shown: set[str]
) -> None:
    found = {str(key): n for key, n in rows(shop, f"SELECT p.country, COUNT(*) {LEFT.format(test)}")}
    counts = {"de": 20.0, "jp": 20.0, "us": 20.0, "None": 20.0}
    assert {key: n for key, n in found.items() if n} == {key: n for key, n in counts.items() if key in shown}
    if "c.region =" in test or "IN" in test:
        assert set(found) <= shown


# What random statements found


@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
def test_a_product_of_small_keys_is_declared(tmp_path: Path, accounting: str) -> None:
    """Seven days of the week by twenty-four hours are 168 groups, however many instants are behind them."""
    with case(tmp_path, SETUP, TABLES, accounting) as session:
        sql = 'SELECT EXTRACT(DOW FROM debut), EXTRACT(HOUR FROM "at"), COUNT(*) FROM sale GROUP BY 1, 2'
        answer = session.execute(sql)
        assert sum(float(str(row[2])) for row in answer.rows) == 1000
        assert not [one for one in answer.notices if "not shown" in one]


@pytest.mark.parametrize("frame", ["ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", ""])
def test_sums_along_groups_have_all_that_are_declared(shop: Session, frame: str) -> None:
    """The years before 2019 are 2018 and 2017, in which nobody bought: a day without sales is no day left out. PostgreSQL
    has no row for it: it is not shown, and a notice says what a frame counts. A session may ask for all of them."""
    sql = (
        f"SELECT EXTRACT(YEAR FROM debut) AS y, SUM(COUNT(*)) OVER (ORDER BY EXTRACT(YEAR FROM debut) {frame}) AS n "
        "FROM sale WHERE pid % 7 <> 3 AND debut IS NOT NULL GROUP BY 1"
    )
    answer = shop.execute(sql)
    frames = "frames of windows count each group that the policy declares as a row"
    assert any(frames in one for one in answer.notices) == bool(frame)
    counts = {2020 - k: 10 * sum(pid % 7 == k for pid in range(100)) for k in range(7) if k != 3}
    first = 2 if frame else 2025 - 1980
    found = {int(str(y)): n for y, n in answer.rows}
    every = {y: sum(counts.get(y - back, 0) for back in range(first + 1)) for y in range(1980, 2026)}
    assert found == {y: n for y, n in every.items() if y in counts}
    try:
        shop.execute("SET dpsql.empty_groups = show")
        answer = shop.execute(sql)
        assert {int(str(y)): n for y, n in answer.rows} == every
        assert any("a row for each group that the policy declares" in one for one in answer.notices)
    finally:
        shop.execute("RESET dpsql.empty_groups")
    hidden = "SELECT y, SUM(n) OVER (ORDER BY y) AS n FROM (SELECT * FROM ({}) AS g WHERE n > 0) AS t"
    years = hidden.format("SELECT EXTRACT(YEAR FROM debut) AS y, COUNT(*) AS n FROM sale WHERE pid % 7 <> 3 GROUP BY 1")
    assert "2017" not in {str(row[0]) for row in shop.execute(years).rows}


@pytest.mark.parametrize("measured", ["COUNT(*)", "AVG(price)", "COUNT(DISTINCT note)"])
def test_declared_totals_of_chosen_groups_have_no_empty_ones(shop: Session, measured: str) -> None:
    """Too many prices to list are chosen; of 36 months, those with sales are shown, and those without an instant."""
    sql = f"SELECT DATE_TRUNC('month', \"at\"), price, {measured} FROM sale GROUP BY ROLLUP (1, 2)"
    answer = shop.execute(sql)
    assert any("are left out where noisy sums show nobody" in one for one in answer.notices)
    totals = [row[0] for row in answer.rows if row[1] is None]
    assert sorted(str(one)[:7] for one in totals) == ["2026-09", "2026-10", "2026-11", "None", "None"]
    assert any(row[1] is not None for row in answer.rows)


def test_null_is_a_row_of_distinct_rows(shop: Session) -> None:
    """Teams a, b, q and NULL, of which q is not declared."""
    assert numbers(shop, "SELECT COUNT(*) FROM (SELECT DISTINCT odd FROM person) AS t") == [3]
    (count,) = numbers(shop, "SELECT COUNT(*) FROM (SELECT DISTINCT team FROM person) AS t")
    assert count in (3, 4)


def test_the_least_of_groups_stands_beside_their_number(shop: Session) -> None:
    sql = f"SELECT MIN(t.n), COUNT(*), MAX(t.n) FROM ({YEARS}) AS t"
    assert numbers(shop, sql) == [140, 7, 150]


def test_an_output_may_have_the_name_of_a_column(shop: Session) -> None:
    assert numbers(shop, f"SELECT MIN(t.n) AS n, COUNT(*) AS k FROM ({YEARS}) AS t") == [140, 7]
    assert numbers(shop, f"SELECT COUNT(*) AS n, MIN(n) AS least FROM ({YEARS}) AS t ORDER BY n") == [7, 140]
    values = (
        "SELECT COUNT(*) AS team FROM (SELECT DISTINCT team, odd FROM person WHERE team IS NOT NULL) AS t ORDER BY team"
    )
    assert numbers(shop, values) == [9]


CERTAIN = [
    "AVG(CASE WHEN odd THEN 1.0 ELSE 0 END)",
    "AVG(CASE WHEN odd THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN born > 1955 THEN 2.5e0 WHEN odd THEN -1 END)",
    "AVG(CAST(odd AS INTEGER))",
    "STDDEV(CASE WHEN odd THEN 0.5 ELSE 2 END)",
    "SUM(CASE WHEN odd THEN 1 ELSE 0 END) - SUM(CASE WHEN team = 'a' THEN 2 ELSE 0 END)",
]


@pytest.mark.parametrize("certain", CERTAIN)
def test_nothing_is_said_to_be_clipped_that_cannot_be(shop: Session, certain: str) -> None:
    said = " ".join(shop.explain(f"SELECT {certain} FROM person").notices)
    assert "clipped" not in said
    assert "cut off" not in said
    said = " ".join(shop.explain(f"SELECT {certain}, SUM(born) FROM person").notices)
    assert "born is clipped into [1950, 2000]" in said
    assert "cut off" in said


def test_what_is_in_no_group_is_not_overstated(shop: Session) -> None:
    """A price beyond the last bucket is in the one after it, and this one is listed."""
    sql = "SELECT WIDTH_BUCKET(price, {}, {}, 5), COUNT(*) FROM sale GROUP BY 1"
    said = {ends: " ".join(shop.explain(sql.format(*ends)).notices) for ends in [(0, 500), (100, 400), (-9, 600)]}
    assert "rows whose price is below 0 are in no group" in said[0, 500]
    assert "in no group" not in said[100, 400]
    assert "rows whose price is outside of 0 to 500 are in no group" in said[-9, 600]


def test_a_number_of_rows_that_is_read_off_is_not_said_to_cost(shop: Session) -> None:
    """A mean of numbers that are never NULL is measured with the number of rows."""
    sql = "SELECT EXTRACT(YEAR FROM debut), AVG(COALESCE(born, 1950)) FROM sale JOIN person ON id = pid GROUP BY 1"
    said = " ".join(shop.explain(sql).notices)
    assert "are left out where noisy sums show nobody" in said
    assert "of the price" not in said


def test_values_that_are_not_declared_are_told_of_where_finer_groups_have_them(shop: Session) -> None:
    """Days of visits and debuts are too many together to be listed, and a day alone is listed."""
    days = 'SELECT "at"::date AS d, debut, COUNT(*) AS n FROM sale WHERE "at" IS NOT NULL GROUP BY'
    told = "may also have values that are not declared, whose rows are in no group of "
    both = shop.execute(f"{days} ROLLUP (1, 2)")
    assert sum(told in notice and notice.startswith("groups of ") for notice in both.notices) == 1, both.notices
    for sets in ("GROUPING SETS ((1), (2), ())", "GROUPING SETS ((1, 2), ())", "1, 2"):
        assert not any("values that are not declared" in one for one in shop.execute(f"{days} {sets}").notices)
