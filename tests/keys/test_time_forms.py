"""Times as BI tools write them: PostgreSQL's own answer, on both engines, and public keys."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.errors import Error
from dpsql.proxy import Proxy
from tests.doubles import open_without_noise
from tests.engines.postgres_server import Server, shared_server
from tests.policies import policy_text

TABLES = """
CREATE TABLE region(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE person(id INTEGER PRIMARY KEY);
CREATE TABLE visit(person_id INTEGER NOT NULL REFERENCES person(id), day DATE NOT NULL, ts TIMESTAMP NOT NULL,
  done TIMESTAMP NOT NULL, inst TIMESTAMPTZ NOT NULL, cost INTEGER NOT NULL, region INTEGER NOT NULL);
"""
ROWS = """
INSERT INTO region VALUES (1, 'north'), (2, 'south'), (3, 'east'), (4, 'east'), (9, 'nowhere');
INSERT INTO person SELECT n FROM generate_series(1, 100) g(n);
INSERT INTO visit SELECT 1 + n % 100, DATE '2024-01-01' + ((n * 37) % 90)::integer, start, start + (n % 3000) * INTERVAL '1 minute',
  start::timestamptz, n % 100, 1 + n % 4
  FROM (SELECT n, TIMESTAMP '2024-01-01' + ((n * 37) % 90) * INTERVAL '1 day'
    + ((n * n) % 86400) * INTERVAL '1 second' AS start FROM generate_series(1, 900) g(n)) s;
"""
POLICY = policy_text("""
database: {database}; ledger: sqlite:{name}.ledger; privacy_unit: person.id; budget: {epsilon: 900, delta: 1e-6}
statement: {epsilon: 1}
tables:
  region: public
  person: id
  visit(person_id -> person.id, max_rows: 20): day 2024-01-01..2024-03-31, ts 2024-01-01..2024-03-31,
      done 2024-01-01..2024-04-30, inst 2024-01-01..2024-03-31, cost 0..100, region <- region.id
""")
DAY = "ts >= '2024-01-05' AND ts < '2024-01-06'"
KEYS = [
    ("DATE_BIN('15 minutes', ts, TIMESTAMP '2001-01-01')", DAY),
    ("DATE_BIN('90 seconds', ts, TIMESTAMP '2001-01-01 00:00:30')", DAY),
    ("DATE_BIN('7 days', day, TIMESTAMP '2001-01-01')", "TRUE"),
    ("DATE_BIN('6 hours', inst, TIMESTAMPTZ '2001-01-01 01:00+00')", "TRUE"),
    ("TO_TIMESTAMP(FLOOR(EXTRACT(EPOCH FROM ts) / 3600) * 3600)", DAY),
    ("TO_TIMESTAMP(FLOOR(EXTRACT(EPOCH FROM inst) / 86400) * 86400)", "TRUE"),
    ("TO_TIMESTAMP(3600 * FLOOR((EXTRACT(EPOCH FROM ts)) / 86400))", "TRUE"),
    ("TO_TIMESTAMP(86400 * FLOOR(EXTRACT(EPOCH FROM day) / 86400))", "TRUE"),
    ("DATE_TRUNC('minute', ts) + INTERVAL '30 seconds' * FLOOR(EXTRACT(SECOND FROM ts) / 30)", DAY),
    *(
        (f"DATE_TRUNC('hour', {x}) + INTERVAL '{n} minutes' * FLOOR(EXTRACT(MINUTE FROM {x}) / {n})", DAY)
        for n in (5, 10, 15, 30)
        for x in ("ts", "inst")
    ),
    ("DATE_TRUNC('day', ts) + FLOOR(EXTRACT(HOUR FROM ts) / 6) * INTERVAL '6 hours'", "TRUE"),
    ("DATE_TRUNC('day', ts + cost % 3 * INTERVAL '1 day')", "TRUE"),
    ("EXTRACT(DAY FROM done - ts)", "TRUE"),
    ("DATE_PART('day', done - ts) * 24 + DATE_PART('hour', done - ts)", "TRUE"),
    ("DATE_PART('minute', done - ts)", "TRUE"),
    ("EXTRACT(YEAR FROM AGE(DATE '2026-01-20', day))", "TRUE"),
    ("EXTRACT(MONTH FROM AGE(day, DATE '2024-02-11'))", "TRUE"),
    ("EXTRACT(MONTH FROM AGE(ts, TIMESTAMP '2024-02-29 13:00'))", "TRUE"),
    ("EXTRACT(DAY FROM AGE(ts, TIMESTAMP '2024-02-29 13:00'))", "TRUE"),
    ("EXTRACT(HOUR FROM AGE(ts, TIMESTAMP '2024-01-31 13:20'))", "TRUE"),
    ("EXTRACT(HOUR FROM ts::time)", "TRUE"),
    ("EXTRACT(HOUR FROM inst::time)", "TRUE"),
    ("DATE_TRUNC('hour', ts)::time", "TRUE"),
    ("GREATEST(DATE_TRUNC('hour', inst)::time, '12:00')", "TRUE"),
    ("CASE WHEN ts::time < '12:00' THEN 'am' ELSE 'pm' END", "TRUE"),
    ("TO_CHAR(ts::time, 'HH24:00')", "TRUE"),
    *((f"TO_CHAR(cost, '{written}')", "TRUE") for written in ("FM999", "099", "990.0%", "FMS990", "999PR", "9")),
    ("TO_CHAR(cost / 10.0, 'FM99.9')", "cost < 5"),
    *(
        (f"TO_CHAR({x}, '{written}')", "TRUE")
        for x, written in (
            ("ts", "Dy"), ("ts", "DY"), ("day", "dy"), ("ts", "Mon"), ("ts", "Day"), ("inst", "FMDay"),
            ("ts", "FMMonth YYYY"), ("day", "Month"), ("ts", 'YYYY-"Q"Q'), ("ts", "Q"), ("ts", 'IYYY-"W"IW'),
            ("inst", "IYYY-IW ID"), ("ts", "YYYY-WW W"), ("ts", "HH24:00"), ("ts", "HH12 AM"), ("ts", "HH pm"),
            ("ts", "D"), ("day", 'YYYY-MM-DD"T"HH24:MI'), ("ts", "YY-Mon"), ("ts", "FMDD/FMMM %"), ("ts", "yyyy/mm"),
            ("ts", "MM/YYYY"), ("inst", "MM/YYYY"), ("day", "DD.MM.YYYY"), ("ts", "Q/YYYY"), ("ts", "IW/IYYY"),
            ("inst", "Dy DD Mon YYYY"), ("ts", "DDD/YYYY"), ("ts", "MM/IYYY"), ("ts", "HH24 DD/MM/YYYY"),
        )
    ),
]  # fmt: skip
CONDITIONS = [
    "done - ts > INTERVAL '1 hour'",
    "done - ts BETWEEN '01:00:00' AND INTERVAL '2 hours'",
    "(done - ts) * 2 <= '90 minutes'",
    "-(done - ts) / 2 < INTERVAL '-30 minutes'",
    "ts + (done - ts) = done",
    "ts >= TIMESTAMP '2024-03-31' + (-30 || ' day')::interval",
    "ts >= (SELECT (DATE_TRUNC('day', TIMESTAMPTZ '2024-03-31 10:20+00' AT TIME ZONE 'UTC') + (-29 || ' day')::interval))",
    "ts >= TIMESTAMP '2024-03-31' - 30 * INTERVAL '1 day'",
    "ts >= TIMESTAMP '2024-03-31' - cost * INTERVAL '1 day'",
    "ts < TO_TIMESTAMP(1704500000)",
    "inst < TO_TIMESTAMP(1704500000.5)",
    "ts < 'today' AND day <= 'yesterday' AND inst < 'tomorrow' AND done < 'now'",
    "day IN ('today', '2024-02-01') OR ts >= 'epoch' AND DATE_TRUNC('day', ts) <> 'today'",
    "day BETWEEN '2024-02-01' AND 'now' AND CURRENT_DATE > ts AND LOCALTIMESTAMP > done",
    "LOCALTIME >= '00:00' AND CURRENT_TIME::time <= TIME '23:59:59.999999' AND TIME 'now' >= '00:00'",
    "ts::time >= '09:00' AND CAST(ts AS TIME) < TIME '17:30' OR inst::time BETWEEN '01:00' AND '2:00 AM'",
    "ts::time - TIME '10:00' > INTERVAL '2 hours' AND ts::time + INTERVAL '7 hours' > '12:00'",
    "ts::time - INTERVAL '25 hours 30 minutes' < '03:00' OR EXTRACT(EPOCH FROM ts::time) < 3600",
    "day + ts::time < '2024-02-01 10:00' AND EXTRACT(SECOND FROM ts::time) < 30 AND ts::time::text < '12:00'",
    "AGE(ts, TIMESTAMP '2024-01-31') > INTERVAL '1 month' OR AGE(day, DATE '2024-03-31') < '-2 months -20 days'",
    "AGE(day) > INTERVAL '1 year'",
    "ts >= TIMESTAMP '2024-03-31' - INTERVAL '1.5 months 3.25 weeks -0.5 days 1.25 hours'",
    "ts >= TIMESTAMP '2024-03-31' - 'P1M2DT3H4M'::interval",
    "ts >= TIMESTAMP '2024-03-31' - INTERVAL '30 days 04:05:06' + -INTERVAL '1 day 2 hours' * 2",
    "ts >= TIMESTAMP '2024-03-31' + make_interval(days => -30, hours => 5)",
    "ts >= TIMESTAMP '2024-03-31' - make_interval(0, 1, 0, 3, 4)",
    "inst AT TIME ZONE INTERVAL '+02:00' < '2024-02-01'",
    "ts AT TIME ZONE 'Europe/Berlin' < '2024-02-01 00:00+00' AND inst AT TIME ZONE 'Asia/Kolkata' > '2024-01-03'",
    "TO_CHAR(cost * 1000, '999,999') LIKE '%9,000' OR TO_CHAR(cost::double precision / 8, 'FM990.0') = '1.2'",
]
INNER = "(SELECT day, COUNT(*) AS n, MIN(cost) AS low FROM visit GROUP BY 1) AS s"
HOURS = "(SELECT DATE_TRUNC('hour', ts) AS m, COUNT(*) AS n FROM visit GROUP BY 1) AS s"
CLOCK = "(SELECT DATE_TRUNC('hour', ts)::time AS k, COUNT(*) AS n FROM visit GROUP BY 1) AS s"
STATEMENTS = [
    f"SELECT DATE_BIN('7 days', day, TIMESTAMP '2030-01-01') AS w, SUM(n) FROM {INNER} GROUP BY 1",
    f"SELECT DATE_BIN('90 minutes', m, TIMESTAMP '2001-01-01 00:20') AS w, SUM(n) FROM {HOURS} GROUP BY 1",
    f"SELECT k, k < '12:00', EXTRACT(HOUR FROM k), k + INTERVAL '1 hour', n FROM {CLOCK} WHERE k > '00:30'",
    f"SELECT m::time AS t, SUM(n) FROM {HOURS} GROUP BY 1 HAVING m::time >= TIME '06:00'",
    f"SELECT day, n FROM {INNER} WHERE day BETWEEN '2024-02-01' AND 'yesterday' OR day = 'today'",
    f"SELECT day + INTERVAL '1 day 2 hours', day + 'P1D'::interval, day - -INTERVAL '1.5 days', day + 3 FROM {INNER}",
    f"SELECT AGE(DATE '2024-05-01', day)::text, n FROM {INNER} WHERE AGE(DATE '2024-05-01', day) < '2 months'",
    f"SELECT EXTRACT(DAY FROM AGE(DATE '2024-05-01', day)) AS d, SUM(n) FROM {INNER} GROUP BY 1",
    "SELECT TO_CHAR(COUNT(*), '999,999'), TO_CHAR(SUM(cost), 'FM9G999G990D00'), TO_CHAR(AVG(cost), '99D9') FROM visit",
    f"SELECT TO_CHAR(day, 'IYYY-\"W\"IW') AS w, TO_CHAR(SUM(n), 'FM00000') FROM {INNER} GROUP BY 1",
    "SELECT name FROM region WHERE name = 'now' OR name > 'today'",
    f"SELECT g.d, s.n FROM generate_series(DATE '2024-01-01', DATE '2024-01-10', '1 day') AS g(d) LEFT JOIN {INNER} ON s.day = g.d",
    f"SELECT d, COUNT(s.n) FROM generate_series(1, 3) AS g(d), {INNER} GROUP BY 1",
    "SELECT g.d, COUNT(v.cost), SUM(v.cost) FROM generate_series(DATE '2024-01-01', DATE '2024-03-10', '1 month') AS g(d) "
    "LEFT JOIN visit v ON v.ts >= g.d AND v.ts < g.d + INTERVAL '1 month' GROUP BY 1",
    "SELECT g.d, COUNT(v.cost) FROM generate_series(DATE '2024-01-01', DATE '2024-02-20', '7 days') AS g(d) "
    "LEFT JOIN visit v ON g.d <= v.inst AND v.cost > 50 AND g.d + '7 days'::interval > v.inst GROUP BY 1",
    "SELECT g.d, COUNT(*), AVG(v.cost) FROM visit v JOIN generate_series(DATE '2024-01-01', DATE '2024-01-10', '1 day') "
    "AS g(d) ON v.day = g.d WHERE v.cost < 70 GROUP BY 1",
    "SELECT g.d, COUNT(*) FROM visit v, generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-10', '1 day') AS g(d) "
    "WHERE v.ts >= g.d AND v.ts < g.d + INTERVAL '1 day' AND g.d > '2024-01-05' GROUP BY 1",
    "SELECT generate_series(1, 3) AS g, n FROM (SELECT COUNT(*) AS n FROM visit) AS s",
    "SELECT r.id, r.name, COUNT(v.cost) FROM region r LEFT JOIN visit v ON v.region = r.id GROUP BY r.id, r.name",
    "SELECT h, COUNT(v.cost) FROM generate_series(0, 23) AS h LEFT JOIN visit v ON EXTRACT(HOUR FROM v.ts) = h GROUP BY 1",
]
ZONES = [
    "INTERVAL '+00:00' HOUR TO MINUTE",
    "INTERVAL '-08:00' HOUR TO MINUTE",
    "INTERVAL '+02:00'",
    "LOCAL",
    "DEFAULT",
    "2",
    "-7",
    "'+02'",
    "'-3'",
    "UTC",
    "'UTC'",
    "'PST8PDT'",
    "'Asia/Kolkata'",
    "'europe/berlin'",
    "'Etc/GMT+5'",
]
REFUSED = [
    ("DATE_BIN('1 month', ts, TIMESTAMP '2001-01-01')", "0A000"),
    ("DATE_BIN('0 days', ts, TIMESTAMP '2001-01-01')", "22008"),
    ("DATE_BIN('1 day', ts, done)", "22007"),
    ("TO_CHAR(ts, 'YYYY-MM-DDTHH24')", "0A000"),
    ("TO_CHAR(ts, 'TMMonth')", "0A000"),
    ("TO_CHAR(cost, 'FM999th')", "0A000"),
    ("to_cha_(ts, 'YYYY')", "42883"),
    ("done - ts", "0A000"),
    ("EXTRACT(EPOCH FROM AGE(done, ts))", "0A000"),
    ("DATE_TRUNC('hour', ts::time)", "0A000"),
    ("AGE(done, ts)", "0A000"),
    ("ts::timetz", "0A000"),
]


@pytest.fixture(scope="module")
def server() -> Server:
    return shared_server()


@pytest.fixture(scope="module")
def database(server: Server) -> str:
    return server.database(f"SET timezone TO 'UTC'; {TABLES} {ROWS}")


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def proxy(
    request: pytest.FixtureRequest, server: Server, database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("time")
    place = server.url(database)
    if request.param == "duckdb":
        with duckdb.connect(str(folder / "time.duckdb")) as connection:
            connection.execute("SET timezone = 'UTC'")
            connection.execute(TABLES)
            connection.execute(ROWS)
        place = "duckdb:time.duckdb"
    (folder / "time.yaml").write_text(POLICY.format(database=place, name=request.param))
    opened = open_without_noise(folder / "time.yaml")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def truth(server: Server, database: str) -> Iterator[psycopg.Connection]:
    with server.owner(database) as connection:
        connection.execute("SET timezone TO 'UTC'")
        yield connection


def _plain(rows: object) -> list[tuple[object, ...]]:
    return sorted(tuple(map(_value, row)) for row in rows)  # type: ignore[attr-defined]


def _value(value: object) -> object:
    if isinstance(value, float | Decimal):
        return round(float(value), 6)
    return value.astimezone(datetime.UTC) if isinstance(value, datetime.datetime) and value.tzinfo else value


@pytest.mark.spread
@pytest.mark.parametrize(("key", "where"), KEYS)
def test_a_key_of_time_is_public_and_means_what_it_means(
    proxy: Proxy, truth: psycopg.Connection, key: str, where: str
) -> None:
    sql = f"SELECT {key} AS k, COUNT(*) AS n FROM visit WHERE {where} GROUP BY 1"
    answer = proxy.session().execute(sql)
    # A text has no order: groups that nobody is in are shown.
    there = [row for row in answer.rows if row[1] or not key.startswith("TO_CHAR")]
    assert _plain(there) == _plain(truth.execute(sql).fetchall())  # type: ignore[arg-type]
    assert not any("few people" in notice for notice in answer.notices)


@pytest.mark.spread
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_on_time_means_what_it_means(proxy: Proxy, truth: psycopg.Connection, condition: str) -> None:
    sql = f"SELECT COUNT(*) FROM visit WHERE {condition}"
    assert _plain(proxy.session().execute(sql).rows) == _plain(truth.execute(sql).fetchall())  # type: ignore[arg-type]


@pytest.mark.spread
@pytest.mark.parametrize("sql", STATEMENTS)
def test_above_releases_times_mean_what_they_mean(proxy: Proxy, truth: psycopg.Connection, sql: str) -> None:
    assert _plain(proxy.session().execute(sql).rows) == _plain(truth.execute(sql).fetchall())  # type: ignore[arg-type]


@pytest.mark.parametrize("spelt", ["SET TIME ZONE {}", "SET SESSION TIME ZONE {}"])
def test_a_zone_in_all_spellings_has_its_own_days(proxy: Proxy, truth: psycopg.Connection, spelt: str) -> None:
    sql, session = "SELECT inst::date AS k, COUNT(*) FROM visit GROUP BY 1", proxy.session()
    for zone in ZONES:
        session.execute(spelt.format(zone))
        truth.execute(spelt.format(zone))  # type: ignore[arg-type]
        assert _plain(session.execute(sql).rows) == _plain(truth.execute(sql).fetchall()), zone
    truth.execute("SET timezone TO 'UTC'")


@pytest.mark.spread
@pytest.mark.parametrize(("key", "state"), REFUSED)
def test_what_is_not_answered_is_refused(proxy: Proxy, key: str, state: str) -> None:
    with pytest.raises(Error) as refused:
        proxy.session().execute(f"SELECT {key} AS k, COUNT(*) FROM visit GROUP BY 1")
    assert refused.value.sqlstate == state


def test_formats_are_those_of_postgres_above_a_release_too(proxy: Proxy, truth: psycopg.Connection) -> None:
    sql = """SELECT TO_CHAR(m, 'Mon YYYY'), TO_CHAR(m, 'Q'), TO_CHAR(m, 'Month'), n
        FROM (SELECT DATE_TRUNC('month', ts) AS m, COUNT(*) AS n FROM visit GROUP BY 1) AS months"""
    assert _plain(proxy.session().execute(sql).rows) == _plain(truth.execute(sql).fetchall())


PRINTED = [
    ("TO_CHAR(ts, 'MM/YYYY')", "DATE_TRUNC('month', ts)"),
    ("TO_CHAR(inst, 'FMMonth YYYY')", "DATE_TRUNC('month', inst)"),
    ("STRFTIME(ts, '%-m/%Y')", "DATE_TRUNC('month', ts)"),
    ("STRFTIME('%m/%Y', ts)", "DATE_TRUNC('month', ts)"),
    ("TO_CHAR(day, '\"Q\"Q YYYY')", "DATE_TRUNC('quarter', day)"),
    ("TO_CHAR(ts, 'IW/IYYY')", "DATE_TRUNC('week', ts)"),
    ("TO_CHAR(ts, 'DD.MM.YYYY')", "DATE_TRUNC('day', ts)"),
]


@pytest.mark.spread
@pytest.mark.parametrize(("text", "period"), PRINTED)
def test_periods_printed_in_another_order_are_groups_of_the_periods(proxy: Proxy, text: str, period: str) -> None:
    session = proxy.session()
    periods = session.execute(f"SELECT {period} AS k, COUNT(*) FROM visit WHERE ts < '2024-02-10' GROUP BY 1")
    printed = session.execute(f"SELECT {text} AS k, COUNT(*) FROM visit WHERE ts < '2024-02-10' GROUP BY k")
    assert sorted(row[1] for row in printed.rows) == sorted(row[1] for row in periods.rows)
    assert "answered from what was released before, at no price" in printed.notices


def test_empty_ends_of_printed_periods_are_left_out(proxy: Proxy, truth: psycopg.Connection) -> None:
    sql = """SELECT TO_CHAR(ts, 'MM/YYYY') AS k, COUNT(*) AS n, GROUPING(TO_CHAR(ts, 'MM/YYYY')) AS g FROM visit
        WHERE day >= '2024-02-01' AND cost < 90 GROUP BY ROLLUP(TO_CHAR(ts, 'MM/YYYY')) HAVING COUNT(*) > 5 ORDER BY 1"""
    assert list(proxy.session().execute(sql).rows) == truth.execute(sql).fetchall()


def test_names_of_months_and_days_by_functions_of_their_own(proxy: Proxy, truth: psycopg.Connection) -> None:
    written = "SELECT MONTHNAME(ts) AS m, DAYNAME(day) AS d, COUNT(*) FROM visit WHERE cost < 50 GROUP BY 1, 2"
    meant = written.replace("MONTHNAME(ts)", "TO_CHAR(ts, 'FMMonth')").replace("DAYNAME(day)", "TO_CHAR(day, 'FMDay')")
    there = [row for row in proxy.session().execute(written).rows if row[2]]
    assert [(str(m).strip(), d, n) for m, d, n in sorted(there)] == truth.execute(meant + " ORDER BY 1, 2").fetchall()


def test_the_name_of_a_bucket_is_that_of_what_was_written(proxy: Proxy) -> None:
    sql = "SELECT DATE_TRUNC('hour', ts) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5), COUNT(*) FROM visit GROUP BY 1"
    assert [column.name for column in proxy.session().describe(sql)] == ["?column?", "count"]


def test_bins_of_instants_follow_the_clocks_of_the_session(proxy: Proxy, truth: psycopg.Connection) -> None:
    sql = """SELECT DATE_TRUNC('hour', inst) + INTERVAL '30 minutes' * FLOOR(EXTRACT(MINUTE FROM inst) / 30) AS b, COUNT(*)
        FROM visit WHERE inst >= '2024-01-05' AND inst < '2024-01-07' GROUP BY 1"""
    session = proxy.session()
    for zone in ("Asia/Kolkata", "Europe/Berlin", "UTC"):
        session.execute(f"SET timezone = '{zone}'")
        truth.execute(f"SET timezone TO '{zone}'")  # type: ignore[arg-type]
        assert _plain(session.execute(sql).rows) == _plain(truth.execute(sql).fetchall())


def test_one_argument_of_age_is_counted_from_today(proxy: Proxy, truth: psycopg.Connection) -> None:
    sql = "SELECT EXTRACT(YEAR FROM AGE(day)) AS y, COUNT(*) FROM visit GROUP BY 1"
    assert _plain(proxy.session().execute(sql).rows) == _plain(truth.execute(sql).fetchall())


DAYS = "generate_series(DATE '2023-12-25', DATE '2024-01-10', INTERVAL '1 day')"
SPINES = [
    "SELECT r.id, COUNT(v.cost) FROM region AS r LEFT JOIN visit AS v ON v.region > r.id GROUP BY 1",
    "SELECT n FROM generate_series(10, 1, -3) AS n",
    "SELECT g FROM generate_series(TIMESTAMP '2024-01-31', TIMESTAMP '2024-06-30', INTERVAL '1 month') AS g",
    f"SELECT g.d, COUNT(v.person_id) AS n FROM {DAYS} AS g(d) LEFT JOIN visit AS v ON v.day = g.d GROUP BY 1",
    f"""SELECT g::date AS d, COALESCE(n, 0) AS n FROM {DAYS} AS g
        LEFT JOIN (SELECT day, COUNT(*) AS n FROM visit GROUP BY day) AS v ON v.day = g::date""",
    f"""WITH days AS (SELECT {DAYS}::date AS d) SELECT d, COUNT(DISTINCT person_id) AS n
        FROM days LEFT JOIN visit ON day = d GROUP BY d""",
    """SELECT g.m, COUNT(v.cost) AS n, SUM(v.cost) AS s FROM generate_series(TIMESTAMP '2023-11-01', TIMESTAMP '2024-04-01',
        '1 month') AS g(m) LEFT JOIN visit AS v ON DATE_TRUNC('month', v.ts) = g.m GROUP BY 1""",
    f"""SELECT DATE_TRUNC('month', g.d) AS m, COUNT(v.cost) AS n, COUNT(*) FILTER (WHERE v.cost > 50) AS h
        FROM {DAYS} AS g(d) LEFT JOIN visit AS v ON v.day = g.d GROUP BY 1""",
    "SELECT r.name, COUNT(v.cost) AS n FROM region AS r LEFT JOIN visit AS v ON v.region = r.id GROUP BY r.name",
    "SELECT r.name, AVG(v.cost) AS a FROM region AS r LEFT JOIN visit AS v ON v.region = r.id GROUP BY r.name",
    "SELECT r.name, COUNT(v.cost) AS n FROM visit AS v RIGHT JOIN region AS r ON v.region = r.id GROUP BY r.name",
    "SELECT name, COUNT(person_id) AS n FROM region LEFT JOIN visit ON region.id = visit.region GROUP BY name",
    """SELECT r.id, SUM(COALESCE(v.cost, 0)) AS s, SUM(CASE WHEN v.cost > 50 THEN 1 ELSE 0 END) AS h, AVG(cost) AS a
        FROM region AS r LEFT JOIN visit AS v ON r.id = v.region AND v.day < '2024-02-01' GROUP BY r.id
        HAVING COUNT(v.cost) > 10 OR r.id = 9""",
    "SELECT r.name, COUNT(v.cost) AS n FROM region AS r LEFT JOIN visit AS v ON v.region = r.id WHERE v.cost > 50 GROUP BY 1",
    "SELECT r.name, COUNT(v.cost) AS n FROM region AS r LEFT JOIN visit AS v ON v.region = r.id WHERE r.id < 4 GROUP BY 1",
    """SELECT r.id, COUNT(p.id) AS n FROM region AS r LEFT JOIN visit AS v ON v.region = r.id
        LEFT JOIN person AS p ON p.id = v.person_id GROUP BY r.id""",
    """SELECT r.id, SUM(COUNT(v.cost)) OVER (ORDER BY r.id) AS n FROM region AS r LEFT JOIN visit AS v ON v.region = r.id
        GROUP BY r.id""",
    "SELECT COUNT(v.cost) AS n FROM region AS r LEFT JOIN visit AS v ON v.region = r.id",
]
NOBODY = [
    "SELECT r.name, COUNT(*) FROM region AS r LEFT JOIN visit AS v ON v.region = r.id GROUP BY r.name",
    "SELECT r.name, v.day, COUNT(v.cost) FROM region AS r LEFT JOIN visit AS v ON v.region = r.id GROUP BY 1, 2",
    "SELECT r.name, COUNT(v.cost) FROM region AS r LEFT JOIN visit AS v ON v.region = r.id WHERE v.cost IS NULL GROUP BY 1",
    "SELECT r.name, COUNT(COALESCE(v.cost, 0)) FROM region AS r LEFT JOIN visit AS v ON v.region = r.id GROUP BY 1",
    "SELECT r.id, AVG(COALESCE(v.cost, 0)) FROM region AS r LEFT JOIN visit AS v ON v.region = r.id GROUP BY 1",
    "SELECT r.id, SUM(v.cost + r.id) FROM region AS r LEFT JOIN visit AS v ON v.region = r.id GROUP BY 1",
    "SELECT g, COUNT(v.cost) FROM generate_series(1, 1000000) AS g LEFT JOIN visit AS v ON v.region = g GROUP BY 1",
]


@pytest.mark.spread
@pytest.mark.parametrize("sql", SPINES)
def test_what_nobody_matches_on_a_public_list_is_counted_as_0(
    proxy: Proxy, truth: psycopg.Connection, sql: str
) -> None:
    found = sorted(map(_shown, proxy.session().execute(sql).rows))
    assert found == sorted(map(_shown, truth.execute(sql).fetchall()))  # type: ignore[arg-type]


def _shown(row: object) -> tuple[str, ...]:
    shown = map(_value, row)  # type: ignore[call-overload]
    return tuple(f"{value:g}" if isinstance(value, float | int) else str(value) for value in shown)


@pytest.mark.spread
@pytest.mark.parametrize("sql", NOBODY)
def test_what_counts_rows_of_nobody_is_refused_with_a_form_that_works(proxy: Proxy, sql: str) -> None:
    with pytest.raises(Error) as refused:
        proxy.session().execute(sql)
    assert refused.value.sqlstate in ("0A000", "54001")
    assert refused.value.hint
