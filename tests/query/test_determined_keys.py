"""What PostgreSQL reads of groups without a key of its own, and comparisons with some of many rows: as DuckDB has it."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from tests.doubles import beside_duckdb
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:gym.duckdb; ledger: sqlite:gym.ledger; privacy_unit: member.id
budget: {epsilon: 10000, delta: 1e-6}; statement: {epsilon: 10, max_epsilon: 10}; minmax: declared
tables:
  club: public
  member: id, plan [free, plus, pro], sex [F, M]
  visit(member_id -> member.id, max_rows: 5): id, club_id <- club.id, day 2025-01-01..2025-03-31, until 2025-02-01..2025-06-30,
    minutes 5..94, props
""")
SETUP = (
    "CREATE TABLE club (id INTEGER PRIMARY KEY, city VARCHAR, opened DATE)",
    "INSERT INTO club VALUES (1, 'Wien', '2010-05-01'), (2, 'Graz', NULL), (3, 'Wien', '2012-02-29'), (4, 'Linz', NULL)",
    "CREATE TABLE member (id INTEGER PRIMARY KEY, plan VARCHAR NOT NULL, sex VARCHAR)",
    "INSERT INTO member SELECT range, ['free', 'plus', 'pro'][1 + range % 7 % 3], ['F', 'M', NULL][1 + range % 3]"
    " FROM range(300)",
    "CREATE TABLE visit (id INTEGER PRIMARY KEY, member_id INTEGER NOT NULL REFERENCES member (id),"
    " club_id INTEGER NOT NULL, day DATE NOT NULL, until DATE, minutes INTEGER, props JSON)",
    "INSERT INTO visit SELECT range, range % 300, 1 + range % 11 % 3, DATE '2025-01-01' + (range % 90)::int, DATE '2025-02-01' + (range % 150)::int,"
    " CASE WHEN range % 13 > 0 THEN 5 + range % 90 END,"
    " ['{\"plan\": null}', '{\"plan\": 1}', '{\"x\": 1}', NULL][1 + range % 4] FROM range(1500)",
)
DAYS = "generate_series(DATE '2025-01-05', DATE '2025-01-20', INTERVAL '1 day') AS day"


@pytest.fixture(scope="module")
def gym(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, duckdb.DuckDBPyConnection]]:
    """A gym, and the same rows in a DuckDB of the test's own."""
    with beside_duckdb(tmp_path_factory.mktemp("gym"), POLICY, SETUP) as (proxy, own):
        yield proxy.session("ana"), own


ALL = "(SELECT COUNT(*) FROM member AS o WHERE o.plan = m.plan)"
SAME = [
    # looked up by a key of the group
    f"SELECT m.plan, COUNT(*) * 1.0 / {ALL} AS share FROM member AS m WHERE m.sex = 'F' GROUP BY m.plan ORDER BY 1",
    f"SELECT m.plan, m.sex, {ALL}, COUNT(*) FROM member AS m WHERE m.sex = 'M' GROUP BY m.plan, m.sex"
    f" HAVING COUNT(*) > {ALL} / 4 ORDER BY 1, 2",
    f"SELECT m.plan FROM member AS m GROUP BY m.plan ORDER BY {ALL} DESC",
    # one of many values
    "SELECT COUNT(*) FROM visit WHERE minutes >= ANY (SELECT v.minutes FROM visit AS v WHERE v.minutes BETWEEN 5 AND 94)",
    "SELECT COUNT(*) FROM visit WHERE club_id > ANY (SELECT c.id FROM club AS c WHERE c.city = 'Wien')",
    "SELECT COUNT(*) FROM visit WHERE club_id < ANY (SELECT c.id FROM club AS c WHERE c.city = 'Wien')",
    # all of many values: with NULLs among them, and of none
    *(
        f"SELECT COUNT(*) FROM visit AS v WHERE v.minutes {sign} ALL (SELECT {rows})"
        for sign in (">=", "<", "<>", "=")
        for rows in (
            "c.id + 20 FROM club AS c WHERE c.city <> 'Linz'",
            "CASE WHEN c.id < 4 THEN c.id + 20 END FROM club AS c",
            "c.id FROM club AS c WHERE c.id > 9",
            "o.minutes FROM visit AS o WHERE o.member_id = v.member_id",
            "o.minutes FROM visit AS o WHERE o.member_id = v.member_id AND o.minutes IS NOT NULL",
            "o.minutes FROM visit AS o WHERE o.member_id = v.member_id AND o.id <> v.id AND o.club_id = 1",
        )
    ),
    "SELECT m.plan, COUNT(*) FROM member AS m WHERE 20 < ALL (SELECT v.minutes FROM visit AS v WHERE v.member_id = m.id)"
    " GROUP BY m.plan ORDER BY m.plan",
    # months by a number of each row, to the ends of shorter months
    "SELECT COUNT(*) FROM visit WHERE day + club_id * INTERVAL '1 month' <= until",
    "SELECT COUNT(*) FROM visit WHERE DATE '2025-03-31' - (club_id - 2) * INTERVAL '1 month' = TIMESTAMP '2025-02-28'",
    "SELECT COUNT(*) FROM visit WHERE day::timestamptz + club_id * INTERVAL '1 year' < TIMESTAMPTZ '2027-01-05'",
    "SELECT DATE_TRUNC('month', day + minutes * INTERVAL '1 month')::date AS m, COUNT(*) FROM visit"
    " WHERE minutes < 30 GROUP BY m ORDER BY m",
    "SELECT COUNT(*) FROM visit WHERE minutes * INTERVAL '1 month' > INTERVAL '1000 days'",
]


@pytest.mark.parametrize("sql", SAME)
def test_groups_and_comparisons_mean_the_same(gym: tuple[Session, duckdb.DuckDBPyConnection], sql: str) -> None:
    ana, own = gym
    found, expected = ana.execute(sql).rows, own.execute(sql).fetchall()
    assert expected
    assert [[str(cell)[:8] for cell in row] for row in found] == [[str(cell)[:8] for cell in row] for row in expected]


@pytest.mark.parametrize("side", ["JOIN", "LEFT JOIN"])
def test_columns_beside_a_primary_key_are_shown_of_its_groups(
    gym: tuple[Session, duckdb.DuckDBPyConnection], side: str
) -> None:
    """DuckDB wants them in GROUP BY."""
    ana, own = gym
    sql = f"SELECT c.city, c.id, COUNT(v.id) AS n, c.opened FROM club AS c {side} visit AS v ON v.club_id = c.id GROUP BY c.id"
    found = ana.execute(f"{sql} ORDER BY n DESC, c.city").rows
    assert list(found) == own.execute(f"{sql}, c.city, c.opened ORDER BY n DESC, c.city").fetchall()


def test_a_column_beside_another_column_than_the_primary_key_is_grouped_by(
    gym: tuple[Session, duckdb.DuckDBPyConnection],
) -> None:
    with pytest.raises(Error, match="neither in GROUP BY"):
        gym[0].execute(
            "SELECT c.city, c.opened, COUNT(*) FROM club AS c JOIN visit AS v ON v.club_id = c.id GROUP BY c.city"
        )


def test_a_series_is_called_as_its_values(gym: tuple[Session, duckdb.DuckDBPyConnection]) -> None:
    ana, own = gym
    sql = (
        "WITH s AS (SELECT day::date AS day FROM {}) SELECT s.day, COUNT(DISTINCT v.member_id), COUNT(v.id) FROM s"
        " LEFT JOIN visit AS v ON v.day = s.day GROUP BY s.day ORDER BY 1"
    )
    assert list(ana.execute(sql.format(DAYS)).rows) == own.execute(sql.format(f"{DAYS}(day)")).fetchall()


@pytest.mark.parametrize(
    ("refused", "told", "hinted"),
    [
        (
            "SELECT COUNT(*) FROM visit WHERE minutes >= ALL (SELECT v.minutes FROM visit AS v WHERE v.club_id = 2)",
            "x > (SELECT MAX(y) FROM …)",
            "SELECT COUNT(*) FROM visit WHERE minutes >= (SELECT MAX(v.minutes) FROM visit AS v WHERE v.club_id = 2)",
        ),
        (
            "SELECT v.low, COUNT(*) FROM visit JOIN (SELECT d AS low, LEAD(d) OVER (ORDER BY d) AS high FROM"
            " (VALUES (DATE '2025-01-01'), (DATE '2025-02-01')) AS w(d)) AS v ON visit.day >= v.low AND visit.day < v.high"
            " GROUP BY v.low",
            "(VALUES (DATE '2025-01-01', DATE '2025-02-01')) AS v(low, high)",
            "SELECT v.low, COUNT(*) FROM visit JOIN (VALUES (DATE '2025-01-01', DATE '2025-02-01'))"
            " AS v(low, high) ON visit.day >= v.low AND visit.day < v.high GROUP BY v.low",
        ),
        (
            "SELECT plan, COUNT(*) AS n FROM member GROUP BY plan ORDER BY n DESC FETCH FIRST 2 ROWS WITH TIES",
            "RANK() OVER (ORDER BY n DESC) AS r FROM …) AS t WHERE r <= 10",
            "SELECT plan, n FROM (SELECT plan, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM member"
            " GROUP BY plan) AS t WHERE r <= 2 ORDER BY n DESC",
        ),
        (
            "SELECT COUNT(*) FROM visit WHERE props ? 'plan'",
            "x -> 'key' IS NOT NULL",
            "SELECT COUNT(*) FROM visit WHERE (props -> 'plan') IS NOT NULL",
        ),
        (
            "SELECT COUNT(*) FROM visit WHERE props::jsonb ->> 'plan' = '1'",
            "leave the cast out: x ->> 'city'",
            "SELECT COUNT(*) FROM visit WHERE (props ->> 'plan') = '1'",
        ),
        (
            "SELECT COUNT(*) FROM visit WHERE NOT (minutes < ANY (SELECT c.id * 20 FROM club AS c))",
            "NOT (x < ANY (SELECT y …)) is x >= (SELECT MAX(y) …)",
            "SELECT COUNT(*) FROM visit WHERE minutes >= (SELECT MAX(c.id * 20) FROM club AS c)",
        ),
        (
            "SELECT club_id, COUNT(*), SUM(DISTINCT minutes) FROM visit GROUP BY ROLLUP (club_id)",
            "(SELECT k, SUM(DISTINCT x) AS s … GROUP BY k) AS a JOIN (SELECT k, COUNT(*) AS n … GROUP BY k) AS b USING (k)",
            "SELECT club_id, n, s FROM (SELECT club_id, SUM(DISTINCT minutes) AS s FROM visit GROUP BY club_id) AS a"
            " JOIN (SELECT club_id, COUNT(*) AS n FROM visit GROUP BY club_id) AS b USING (club_id) ORDER BY 1",
        ),
    ],
)
def test_what_is_refused_is_answered_as_its_hint_says(
    gym: tuple[Session, duckdb.DuckDBPyConnection], refused: str, told: str, hinted: str
) -> None:
    ana, own = gym
    with pytest.raises(Error) as raised:
        ana.execute(refused)
    assert told in str(raised.value)
    assert list(ana.execute(hinted).rows) == own.execute(hinted).fetchall()


@pytest.mark.parametrize(
    ("key", "listed"),
    [
        ("d", "d is outside of 2025-01-01 to 2025-06-30"),
        ("DATE_TRUNC('month', d)", "d is outside of 2025-01-01 to 2025-06-30"),
        ("m", "m is outside of 5 to 94"),
    ],
)
def test_columns_of_a_union_have_the_groups_that_either_side_declares(
    gym: tuple[Session, duckdb.DuckDBPyConnection], key: str, listed: str
) -> None:
    """Also groups of one person: who may be hidden are people in groups that nobody declared."""
    ana, own = gym
    sql = (
        f"SELECT {key}, COUNT(*) FROM (SELECT day AS d, minutes AS m FROM visit WHERE id < 40 AND minutes IS NOT NULL"
        f" UNION ALL SELECT until, minutes FROM visit WHERE id BETWEEN 20 AND 50 AND minutes IS NOT NULL) AS u"
        f" GROUP BY 1 HAVING COUNT(*) > 0 ORDER BY 1"
    )
    answer = ana.execute(sql)
    assert [(str(day)[:10], n) for day, n in answer.rows] == [
        (str(day)[:10], n) for day, n in own.execute(sql).fetchall()
    ]
    assert any(listed in notice for notice in answer.notices)


@pytest.mark.parametrize(
    "condition",
    [
        "NOT minutes >= ALL (SELECT c.id FROM club AS c)",
        "minutes >= ALL (SELECT o.minutes FROM visit AS o)",
        "day + (minutes * INTERVAL '1 month' + INTERVAL '1 day') > DATE '2025-01-01'",
        "day + minutes / 2.0 * INTERVAL '1 month' > DATE '2025-01-01'",
        "EXTRACT(MONTH FROM minutes * INTERVAL '1 month') > 1",
        "day + COALESCE(minutes * INTERVAL '1 month', INTERVAL '3 days') > DATE '2025-01-01'",
    ],
)
def test_what_has_another_meaning_is_refused(gym: tuple[Session, duckdb.DuckDBPyConnection], condition: str) -> None:
    """ALL in NOT is not FALSE where it is not TRUE, and months have no length of their own."""
    with pytest.raises(Error):
        gym[0].execute(f"SELECT COUNT(*) FROM visit WHERE {condition}")
