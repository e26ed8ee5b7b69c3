"""What the relational forms mean: without noise, answers are those of the engine itself, on both engines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from random import Random

import duckdb
import psycopg
import pytest

import dpsql
from dpsql.proxy import Proxy
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server

TABLES = """
CREATE TABLE kind (name text PRIMARY KEY, family text NOT NULL, weight int NOT NULL);
CREATE TABLE person (id int PRIMARY KEY, sex text NOT NULL, born int NOT NULL);
CREATE TABLE stay (id int PRIMARY KEY, person_id int NOT NULL REFERENCES person (id), kind text NOT NULL,
    day date NOT NULL, days int NOT NULL, UNIQUE (person_id, id));
CREATE TABLE sample (id int PRIMARY KEY, person_id int NOT NULL REFERENCES person (id), stay_id int REFERENCES stay (id),
    hour int NOT NULL, result int, batch int NOT NULL, FOREIGN KEY (person_id, stay_id) REFERENCES stay (person_id, id));
"""
POLICY = """
database: {database}
ledger: sqlite:{name}.ledger
privacy_unit: person.id
budget: {{epsilon: 1e6, delta: 1e-3}}
statement: {{epsilon: 100, max_epsilon: 1000}}
tables:
  kind: {{public: true}}
  person: {{columns: {{id: {{}}, sex: {{values: [F, M]}}, born: {{range: [1900, 2020]}}}}}}
  stay:
    unit: person_id -> person.id
    max_rows: 9
    columns: {{id: {{}}, person_id: {{}}, kind: {{values_from: kind.name}}, day: {{}}, days: {{range: [0, 30]}}}}
  sample:
    unit: {unit}
    max_rows: 60
    columns:
      id: {{}}
      person_id: {{}}
      stay_id: {{}}
      hour: {{range: [0, 100]}}
      result: {{range: [0, 50]}}
      batch: {{}}
"""
STATEMENTS = (
    # the first of public rows
    "SELECT COUNT(*) FROM stay WHERE kind = (SELECT name FROM kind WHERE weight > 1 ORDER BY name LIMIT 1)",
    "SELECT COUNT(*) FROM stay WHERE kind = (SELECT name AS n FROM kind ORDER BY n DESC NULLS LAST FETCH FIRST ROW ONLY)",
    "SELECT COUNT(*) FROM stay WHERE days > (SELECT weight FROM kind ORDER BY 1 DESC NULLS LAST LIMIT 1) - 5",
    # lists of a person's own rows, NULLs among them, and no rows
    "SELECT COUNT(*) FROM person AS p WHERE p.id % 9 * 10 IN (SELECT a.hour FROM sample AS a WHERE a.person_id = p.id)",
    "SELECT p.sex, COUNT(*) FROM person AS p WHERE 20 NOT IN (SELECT a.result FROM sample AS a WHERE a.person_id = p.id)"
    " GROUP BY p.sex",
    "SELECT COUNT(*) FROM person AS p WHERE p.sex = 'F' OR NOT (50 = ANY (SELECT a.result FROM sample AS a"
    " WHERE a.person_id = p.id AND a.hour > 50))",
    "SELECT COUNT(*) FROM stay AS t WHERE t.days NOT IN (SELECT a.result FROM sample AS a WHERE a.person_id = t.person_id"
    " AND a.hour > t.days) OR t.days = ANY (SELECT a.hour FROM sample AS a WHERE a.person_id = t.person_id)",
    "SELECT COUNT(*) FROM stay AS t WHERE t.kind NOT IN (SELECT k.name FROM kind AS k WHERE k.weight > t.days)",
    # the value of a person's first row
    "SELECT AVG(r), COUNT(*) FROM (SELECT p.id, (SELECT a.result FROM sample AS a WHERE a.person_id = p.id"
    " ORDER BY a.hour DESC, a.id LIMIT 1) AS r FROM person AS p) AS x",
    "SELECT COALESCE((SELECT t.kind FROM stay AS t WHERE t.person_id = p.id ORDER BY t.day, t.id FETCH FIRST ROW ONLY), '-'),"
    " COUNT(*) FROM person AS p GROUP BY 1",
    "SELECT p.sex, SUM((SELECT t.days FROM stay AS t WHERE t.person_id = p.id ORDER BY t.id DESC LIMIT 1)) FROM person AS p"
    " WHERE (SELECT a.result FROM sample AS a WHERE a.person_id = p.id AND a.hour < 50 ORDER BY a.id LIMIT 1) IS NULL"
    " GROUP BY p.sex",
    "SELECT COUNT(*) FROM stay AS t WHERE t.days > (SELECT a.result FROM sample AS a WHERE a.stay_id = t.id ORDER BY a.id"
    " LIMIT 1)",
    # aggregates of the rows that compare with one of a public list, or with another one of the same person
    "SELECT k.name, (SELECT COUNT(*) FROM stay AS t WHERE t.days >= k.weight AND t.days < k.weight * 5) AS n FROM kind AS k"
    " ORDER BY 1",
    "SELECT g.h, (SELECT SUM(a.result) * 1.0 / COUNT(*) FROM sample AS a WHERE a.hour BETWEEN g.h AND g.h + 29) AS m"
    " FROM generate_series(0, 120, 30) AS g(h) ORDER BY g.h DESC",
    "SELECT COALESCE(b.low, -1), (SELECT COUNT(*) FROM sample AS a WHERE a.hour >= b.low AND a.hour < b.high), (SELECT AVG(a.result) FROM"
    " sample AS a WHERE a.hour >= b.low AND a.hour < b.high) FROM (VALUES (0, 50), (50, NULL), (NULL, 9)) AS b(low, high)",
    "WITH hours AS (SELECT h FROM generate_series(0, 90, 30) AS g(h)) SELECT h FROM hours WHERE (SELECT COUNT(DISTINCT"
    " a.person_id) FROM sample AS a WHERE a.hour > hours.h) > 2",
    "SELECT k.name, x.n FROM kind AS k, LATERAL (SELECT COUNT(*) AS n FROM stay AS t WHERE t.kind = k.name AND t.days >"
    " k.weight) AS x ORDER BY 1",
    "SELECT m.n, (SELECT COUNT(*) FROM stay AS t WHERE DATE_TRUNC('month', t.day) = m.d AND ABS(t.days - 9) < m.n) FROM"
    " (VALUES (TIMESTAMP '2024-01-01', 5), (TIMESTAMP '2024-02-01', 9)) AS m(d, n) ORDER BY 1",
    "SELECT COUNT(*) FROM sample AS a WHERE (SELECT COUNT(*) FROM sample AS b WHERE b.person_id = a.person_id"
    " AND b.hour < a.hour) >= 2",
    "SELECT COUNT(*) FROM sample AS a WHERE (SELECT COUNT(*) FROM sample AS b WHERE b.person_id = a.person_id"
    " AND b.result > a.result) = 0",
    "SELECT t.kind, AVG((SELECT SUM(u.days) FROM stay AS u WHERE u.person_id = t.person_id AND u.day <= t.day)) FROM stay"
    " AS t GROUP BY t.kind",
    "WITH x AS (SELECT person_id, hour FROM sample WHERE hour > 20) SELECT AVG((SELECT COUNT(*) FROM x AS y WHERE"
    " y.person_id = x.person_id AND y.hour < x.hour - 10)) FROM x",
    "SELECT SUM(days) FROM stay, kind WHERE kind = name AND days > (SELECT 0.9 * AVG(result) FROM sample, stay AS u WHERE"
    " sample.person_id = stay.person_id AND u.id = stay_id AND hour < 90)",
    "SELECT COUNT(*) FROM stay AS t WHERE t.days > (SELECT AVG(u.days) FROM stay AS u WHERE u.person_id = t.person_id"
    " AND u.id <> t.id)",
    # groups of aggregates that are looked up for each row, each joined once: in GROUP BY, FILTER, HAVING, LATERAL, DISTINCT
    "SELECT p.sex, (SELECT COUNT(*) FROM stay AS t WHERE t.person_id = p.id AND t.days > 5) AS n, COUNT(*) FROM person AS p"
    " GROUP BY 1, 2",
    "SELECT p.sex, x.n + 1 AS n, COUNT(*) FROM person AS p, LATERAL (SELECT COUNT(*) AS n, SUM(t.days) AS d FROM stay AS t"
    " WHERE t.person_id = p.id) AS x WHERE x.n > 0 GROUP BY p.sex, x.n HAVING AVG(x.d) > 3 ORDER BY p.sex, x.n",
    "SELECT CASE WHEN (SELECT COUNT(*) FROM stay AS t WHERE t.person_id = p.id) > 2 THEN 'often' ELSE 'seldom' END AS k,"
    " COUNT(*), AVG((SELECT COUNT(*) FROM stay AS t WHERE t.person_id = p.id)) FROM person AS p GROUP BY 1",
    "SELECT p.sex, COUNT(*) FILTER (WHERE (SELECT SUM(t.days) FROM stay AS t WHERE t.person_id = p.id) > 20) AS n"
    " FROM person AS p GROUP BY p.sex",
    "SELECT COALESCE(p.sex, 'all'), COUNT(*), AVG(p.born) FROM person AS p"
    " GROUP BY ROLLUP (p.sex, (SELECT COUNT(*) FROM stay AS t WHERE t.person_id = p.id))",
    "SELECT DISTINCT p.sex, (SELECT COUNT(*) FROM stay AS t WHERE t.person_id = p.id) > 0 AS stayed FROM person AS p",
    "SELECT COALESCE((SELECT AVG(o.born) FROM person AS o WHERE o.sex = p.sex) < p.born, FALSE) AS younger, COUNT(*)"
    " FROM person AS p GROUP BY 1",
    # what is computed of looked-up aggregates: of each row, of groups of everybody's rows
    "SELECT k.name, (SELECT COUNT(*) + 1 FROM stay WHERE stay.kind = k.name) AS n FROM kind AS k ORDER BY 1",
    "SELECT k.name, (SELECT COALESCE(SUM(days), 0) + k.weight * COUNT(*) FROM stay WHERE stay.kind = k.name AND days > 3) AS n"
    " FROM kind AS k ORDER BY 1",
    "SELECT k.name, (SELECT (SELECT COUNT(*) FROM stay WHERE stay.kind = k.name)) AS n FROM kind AS k ORDER BY 1",
    "SELECT k.name, (SELECT COALESCE((SELECT 2 * COUNT(*) FROM stay WHERE stay.kind = k.name), 0) - 1) AS n FROM kind AS k"
    " ORDER BY 1",
    "SELECT p.sex, AVG((SELECT COALESCE(SUM(days), 0) FROM stay WHERE stay.person_id = p.id)) FROM person AS p GROUP BY 1",
    "SELECT COUNT(*) FROM person AS p WHERE 2 > (SELECT 1 + COUNT(*) FROM stay AS s WHERE s.person_id = p.id)",
    "SELECT COUNT(*) FROM person AS p WHERE (SELECT 2 * COUNT(*) - 1 FROM stay WHERE stay.person_id = p.id) > 4",
    "SELECT SUM((SELECT CASE WHEN COUNT(*) > 2 THEN 1 ELSE 0 END FROM stay WHERE stay.person_id = p.id)) FROM person AS p",
    # texts that stand for conditions, and rows that are counted as a whole
    "SELECT COUNT(*) FROM stay WHERE ('true') AND (days > 3 OR 'f')",
    "SELECT COUNT(t), SUM(t.n) FROM (SELECT * FROM (SELECT kind, COUNT(*) AS n FROM stay GROUP BY kind) AS s) AS t",
    # what is released first, and is a constant then
    "SELECT COUNT(*) FROM stay WHERE days > (SELECT AVG(days) FROM stay)",
    "SELECT COUNT(*) FROM stay WHERE days > (SELECT AVG(days) FROM stay WHERE kind = 'none')",
    "SELECT kind, COUNT(*) FROM stay WHERE days <= (SELECT 1.2 * AVG(days) FROM stay WHERE days > 3) GROUP BY kind",
    "WITH m (a) AS (SELECT AVG(days) AS b FROM stay) SELECT COUNT(*) FROM stay, m WHERE days > m.a",
    "WITH m AS (SELECT AVG(days) AS a FROM stay) SELECT COUNT(*) FROM stay WHERE days > (SELECT a / 2 FROM m)",
    "WITH w AS (SELECT person_id, SUM(days) AS d FROM stay GROUP BY person_id) SELECT COUNT(*) FROM w WHERE d > (SELECT"
    " AVG(d) FROM w)",
    "SELECT COUNT(*) FROM stay AS t JOIN (SELECT kind, AVG(days) AS a FROM stay GROUP BY kind) AS g ON g.kind = t.kind"
    " WHERE t.days > g.a",
    "SELECT g.kind, COUNT(*) FROM stay AS t JOIN (SELECT kind, AVG(days) AS a FROM stay GROUP BY kind) AS g"
    " ON g.kind = t.kind WHERE t.days > g.a GROUP BY g.kind",
    "SELECT COUNT(*) FROM stay AS t LEFT JOIN (SELECT kind, AVG(days) AS a FROM stay WHERE days > 3 GROUP BY kind) AS g"
    " ON g.kind = t.kind AND t.days > g.a WHERE g.kind IS NULL",
    "SELECT COALESCE(g.kind, 'other') AS k, COUNT(*) FROM stay AS t LEFT JOIN (SELECT kind FROM stay GROUP BY kind"
    " HAVING SUM(days) > 500) AS g ON g.kind = t.kind GROUP BY 1",
    "SELECT SUM(CASE WHEN days > (SELECT AVG(days) FROM stay) THEN 1 ELSE 0 END) FROM stay",
    "SELECT COUNT(*) FROM stay WHERE days > (SELECT AVG(days) FROM stay WHERE days > (SELECT AVG(days) FROM stay))",
    "SELECT COUNT(*) FROM (SELECT SUM(days) AS d FROM stay GROUP BY person_id) AS t WHERE d > (SELECT AVG(d) FROM"
    " (SELECT SUM(days) AS d FROM stay GROUP BY person_id) AS u)",
    "SELECT COUNT(*) FROM stay AS t WHERE t.days > (SELECT AVG(s.days) FROM stay AS s WHERE s.kind = t.kind)",
    "SELECT COUNT(*) FROM stay WHERE kind IN (SELECT kind FROM stay GROUP BY kind HAVING COUNT(*) > 20) AND days > 3",
    "WITH k AS (SELECT DISTINCT kind FROM stay WHERE days > 25) SELECT COUNT(*) FROM (SELECT t.id FROM stay AS t"
    " JOIN k ON t.kind = k.kind) AS own",
    # how far from it: what was released has a range, and so has what is computed with it
    "SELECT AVG(ABS(days - (SELECT AVG(days) FROM stay))) FROM stay",
    "SELECT SUM((days - (SELECT 2 * AVG(days) - 7 FROM stay WHERE days > 2)) ^ 2) / COUNT(*) FROM stay",
    "WITH m AS (SELECT AVG(days) AS a, COUNT(*) AS n FROM stay) SELECT kind, SUM(POWER(t.days - m.a, 2)) FROM stay AS t"
    " CROSS JOIN m GROUP BY kind",
    "SELECT AVG(t.days - g.a) FROM stay AS t JOIN (SELECT kind, AVG(days) AS a FROM stay GROUP BY kind) AS g"
    " ON g.kind = t.kind WHERE t.kind <> 'none'",
    "SELECT AVG(hour - (SELECT CAST(AVG(hour) AS INT) + 500 FROM sample)) FROM sample",
    "SELECT STDDEV(hour - (SELECT AVG(hour) / 3 FROM sample)) FROM sample",
    # numbers of public tables, which lie where their rows have them
    "SELECT AVG(k.weight), SUM(t.days * k.weight) FROM stay AS t JOIN kind AS k ON k.name = t.kind",
    "SELECT t.kind, AVG(k.weight - t.days) FROM stay AS t JOIN kind AS k ON k.name = t.kind GROUP BY t.kind",
    "SELECT AVG(w) FROM (SELECT t.person_id, SUM(k.weight) AS w FROM stay AS t JOIN kind AS k ON k.name = t.kind"
    " GROUP BY t.person_id) AS p",
    "SELECT k.weight, COUNT(*) FROM stay AS t JOIN kind AS k ON k.name = t.kind GROUP BY k.weight",
    # what is looked up for each row
    "SELECT COUNT(*) FROM stay AS t WHERE t.days > (SELECT AVG(s.days) FROM stay AS s WHERE s.person_id = t.person_id)",
    "SELECT COUNT(*) FROM person AS p WHERE 2 < (SELECT COUNT(*) FROM stay AS s WHERE s.person_id = p.id)",
    "SELECT COUNT(*) FROM person AS p WHERE (SELECT COUNT(*) FROM stay WHERE person_id = p.id AND days > 25) = 0",
    "SELECT sex, SUM(n) FROM (SELECT p.sex, (SELECT COUNT(*) FROM stay AS s WHERE s.person_id = p.id) AS n"
    " FROM person AS p) AS t GROUP BY sex",
    "SELECT COUNT(*) FROM stay AS t JOIN kind AS k ON t.kind = k.name"
    " WHERE t.days > (SELECT 2 * AVG(weight) FROM kind WHERE family = k.family)",
    "SELECT COUNT(*) FROM stay AS t, kind AS k WHERE t.kind = k.name AND k.weight > 1 AND k.family = 'x'"
    " AND t.days > (SELECT AVG(s.days) FROM stay AS s WHERE s.kind = k.name)",
    # other ways to the person
    "SELECT COUNT(*), COUNT(DISTINCT s.person_id) FROM sample AS s JOIN stay AS t ON s.stay_id = t.id",
    "SELECT COUNT(*) FROM sample AS a JOIN sample AS b ON a.stay_id = b.stay_id AND a.id < b.id WHERE a.hour < 50",
    "SELECT COUNT(*), SUM(m) FROM (SELECT stay_id, MAX(result) AS m FROM sample WHERE stay_id IS NOT NULL"
    " GROUP BY stay_id) AS g JOIN stay AS t ON t.id = g.stay_id",
    "SELECT COUNT(*), COUNT(m) FROM stay AS t LEFT JOIN (SELECT stay_id, MAX(result) AS m FROM sample"
    " WHERE stay_id IS NOT NULL GROUP BY stay_id) AS g ON t.id = g.stay_id",
    "SELECT SUM(n) FROM (SELECT COUNT(*) OVER (PARTITION BY stay_id ORDER BY hour, id) AS n FROM sample"
    " WHERE stay_id IS NOT NULL) AS w WHERE n <= 2",
    "SELECT COUNT(*) FROM stay AS a JOIN stay AS b ON a.id = b.id",
    "SELECT COUNT(*), SUM(r) FROM person AS p LEFT JOIN (SELECT batch, MAX(person_id) AS who, MAX(result) AS r FROM sample"
    " GROUP BY batch) AS g ON g.who = p.id",
    # set operations
    "SELECT COUNT(*) FROM (SELECT person_id, kind FROM stay WHERE days < 9 UNION SELECT person_id, kind FROM stay) AS u",
    "SELECT COUNT(*) FROM (SELECT person_id, kind FROM stay WHERE days < 9 INTERSECT"
    " SELECT person_id, kind FROM stay WHERE days > 4) AS u",
    "SELECT COUNT(*) FROM (SELECT person_id FROM stay EXCEPT SELECT person_id FROM sample) AS u",
    "SELECT COUNT(*) FROM (SELECT id FROM stay UNION SELECT stay_id FROM sample WHERE stay_id IS NOT NULL"
    " UNION SELECT id FROM stay) AS u JOIN stay AS t ON t.id = u.id",
    # numbers of values in sets
    "SELECT COUNT(*) FROM (SELECT kind FROM stay WHERE days < 9 INTERSECT SELECT kind FROM stay WHERE days > 4) AS u",
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT kind, days FROM stay EXCEPT SELECT DISTINCT kind, days FROM stay"
    " WHERE days > 4 EXCEPT (SELECT kind, days FROM stay WHERE days IN (1, 2) GROUP BY kind, days)) AS u",
    "SELECT 2 * COUNT(*) + 1 FROM ((SELECT batch FROM sample WHERE hour < 60) EXCEPT (SELECT batch FROM sample WHERE hour"
    " > 90 UNION ALL SELECT days FROM stay)) AS u",
    "SELECT COUNT(*) FROM (SELECT result AS r, result AS s FROM sample EXCEPT SELECT result, hour FROM sample) AS u",
    "SELECT COUNT(1) FROM (SELECT result FROM sample INTERSECT SELECT result FROM sample WHERE result IS NULL) AS u",
    "SELECT COUNT(*) FROM (SELECT kind FROM stay WHERE days < 9 INTERSECT SELECT kind FROM stay WHERE days > 4 INTERSECT"
    " SELECT kind FROM stay WHERE days <> 6) AS u LIMIT 100",
    "SELECT COUNT(*) FROM (SELECT hour, result FROM sample UNION SELECT result, hour FROM sample) AS u",
    "SELECT COUNT(*) FROM (SELECT t.kind, family FROM stay AS t, kind AS k WHERE t.kind = k.name EXCEPT SELECT t.kind,"
    " family FROM stay AS t JOIN kind AS k ON t.kind = k.name WHERE days > 9 OR weight = 1) AS u",
    # FULL JOIN
    "SELECT COUNT(*), COUNT(a.person_id), COUNT(b.person_id) FROM (SELECT person_id, kind FROM stay WHERE days < 9"
    " GROUP BY 1, 2) AS a FULL JOIN (SELECT person_id, kind FROM stay WHERE days > 4 GROUP BY 1, 2) AS b"
    " ON a.person_id = b.person_id AND a.kind = b.kind",
    "SELECT COUNT(*) FROM person AS p FULL JOIN stay AS t ON p.id = t.person_id AND t.days > 9",
    "SELECT COUNT(*) FROM person AS p FULL JOIN stay AS t ON p.id = t.person_id AND t.days > 9 WHERE t.days < 20",
    "SELECT COUNT(*), COUNT(t.id), COUNT(person_id) FROM (SELECT id AS person_id FROM person WHERE born > 1950) AS p"
    " FULL JOIN stay AS t USING (person_id)",
    "SELECT kind, COUNT(*), COUNT(a.n), COUNT(b.n) FROM (SELECT person_id, kind, 1 AS n FROM stay WHERE days < 9"
    " GROUP BY 1, 2) AS a FULL JOIN (SELECT person_id, kind, 1 AS n FROM stay WHERE days > 4 GROUP BY 1, 2) AS b"
    " USING (person_id, kind) GROUP BY kind ORDER BY kind",
    # rows of values among those of a subquery
    "SELECT COUNT(*) FROM stay WHERE (person_id, days) IN (SELECT person_id, MAX(days) FROM stay GROUP BY person_id)",
    "SELECT COUNT(*) FROM stay WHERE (days, person_id) NOT IN (SELECT MIN(days), person_id FROM stay GROUP BY 2)",
    "SELECT COUNT(*) FROM sample AS a WHERE (person_id, result) IN (SELECT person_id, result FROM sample WHERE hour < 50)",
    "SELECT COUNT(*) FROM sample AS a WHERE (person_id, result) NOT IN (SELECT person_id, result FROM sample AS b"
    " WHERE b.hour < 20)",
    "SELECT COUNT(*) FROM sample WHERE ((person_id, stay_id, result) IN (SELECT person_id, stay_id, batch - 3 * person_id"
    " + 3 FROM sample WHERE hour < 20)) IS NULL",
    "SELECT COUNT(*) FROM (SELECT id AS c0, born AS c1 FROM person) AS listed WHERE (listed.c0, 1)"
    " IN (SELECT person_id, 1 FROM stay WHERE days > 4)",
    "SELECT COUNT(*) FROM (SELECT id AS this, born AS other FROM person) AS t WHERE (this, other)"
    " NOT IN (SELECT person_id, 1900 + 10 * days FROM stay WHERE days > 4)",
    "SELECT COUNT(*) FROM stay WHERE (kind, 'a') IN (SELECT name, family FROM kind WHERE weight > 1)",
    "SELECT SUM(CASE WHEN ROW(kind, days) IN (SELECT name, weight FROM kind) THEN 1 ELSE 2 END) FROM stay",
    # GROUP BY a key, with what follows from it
    "SELECT k.name, k.family, k.weight, COUNT(*) FROM stay AS t JOIN kind AS k ON t.kind = k.name GROUP BY k.name",
    "SELECT k.family FROM stay AS t JOIN kind AS k ON t.kind = k.name GROUP BY k.name HAVING COUNT(*) > 1",
    # names, different values, frames
    "WITH stay AS (SELECT person_id, SUM(days) AS days FROM stay GROUP BY person_id) SELECT COUNT(*), SUM(days) FROM stay",
    "SELECT SUM(s), SUM(m) FROM (SELECT person_id, SUM(DISTINCT result) AS s, AVG(DISTINCT hour) AS m FROM sample"
    " GROUP BY person_id) AS d",
    "SELECT SUM(n) FROM (SELECT COUNT(*) OVER (PARTITION BY person_id ORDER BY hour RANGE BETWEEN 6 PRECEDING"
    " AND CURRENT ROW) AS n FROM sample) AS w",
    # public groups and numbers
    "SELECT COUNT(*) FROM stay AS t JOIN (SELECT DISTINCT name FROM kind WHERE weight > 1) AS k ON k.name = t.kind",
    "SELECT COUNT(*) FROM stay AS t JOIN (SELECT family, MAX(name) AS name FROM kind GROUP BY family) AS k"
    " ON k.name = t.kind",
    "SELECT COUNT(*) FROM stay AS t JOIN (SELECT name FROM kind UNION SELECT 'none' FROM kind) AS k ON k.name = t.kind",
    "SELECT COUNT(*) FROM stay AS t WHERE t.days > (SELECT MAX(weight) FROM kind)",
    "SELECT COUNT(*) FROM stay AS t WHERE t.kind = (SELECT name FROM kind WHERE family = 'nothing')",
    # rows as often as there are numbers or times between two values of theirs
    "SELECT COUNT(*), SUM(n) FROM (SELECT id, generate_series(3, days) AS n FROM stay) AS g",
    "SELECT n, COUNT(*) FROM stay CROSS JOIN LATERAL generate_series(0, days, 10) AS g(n) GROUP BY n",
    "SELECT COUNT(*), SUM(n) FROM stay AS t CROSS JOIN LATERAL (SELECT generate_series(-2, 15 - t.days) AS n) AS g",
    "SELECT SUM(n) FROM (SELECT UNNEST(l) AS n FROM (SELECT ARRAY(SELECT * FROM generate_series(1, days)) AS l FROM stay)"
    " AS a) AS b",
    "SELECT COUNT(*), SUM(EXTRACT(DAY FROM d)) FROM stay AS t, generate_series(TIMESTAMP '2024-02-20', TIMESTAMP"
    " '2024-02-20' + days * INTERVAL '1 day', INTERVAL '36 hours') AS g(d)",
    "SELECT SUM(EXTRACT(DAY FROM d)) FROM (SELECT id, generate_series(TIMESTAMP '2024-02-20', TIMESTAMP '2024-02-20' +"
    " days * INTERVAL '1 day', INTERVAL '1 day')::date AS d FROM stay) AS g",
    "SELECT COUNT(*), SUM(n) FROM stay, generate_series(1, 3) AS g(n) WHERE days > n",
    "SELECT kind, n, COUNT(*) FROM stay, generate_series(1, days) AS g(n) WHERE kind = 'day' AND n < 3 GROUP BY 1, 2",
    # lists of a table's own values
    "WITH k AS (SELECT DISTINCT kind, CASE WHEN kind LIKE '%c%' THEN 1 ELSE 0 END AS c FROM stay WHERE kind <> 'day')"
    " SELECT COUNT(*), SUM(t.days) FROM stay AS t JOIN k ON t.kind = k.kind WHERE k.c = 0",
    # lists that other people's rows decide on
    "WITH k AS (SELECT DISTINCT kind, days > 4 AS long FROM stay) SELECT COUNT(*) FROM stay AS t JOIN k ON t.kind ="
    " k.kind WHERE k.long",
    "WITH k AS (SELECT DISTINCT kind FROM stay WHERE days > 9) SELECT COUNT(*) FROM stay AS t JOIN k ON t.kind = k.kind",
    # percentiles by ranks
    "SELECT MIN(CASE WHEN n < 0.5 * m THEN 99 ELSE days END) AS half FROM (SELECT days, ROW_NUMBER() OVER (ORDER BY days)"
    " AS n, COUNT(*) OVER () AS m FROM stay) AS r",
    "SELECT MIN(CASE WHEN n < 0.25 * m THEN 99 ELSE c END) AS q FROM (SELECT COUNT(*) AS c, ROW_NUMBER() OVER (ORDER BY"
    " COUNT(*)) AS n, (SELECT COUNT(DISTINCT person_id) FROM stay) AS m FROM stay GROUP BY person_id) AS r",
)


def rows(random: Random) -> list[str]:
    kinds = [(name, random.choice(["a", "b"]), random.randint(0, 12)) for name in ("ward", "icu", "day", "home")]
    people = [(n, random.choice("FM"), random.randint(1900, 2020)) for n in range(60)]
    stays, samples = [], []
    for person, *_ in people:
        for _ in range(random.choice([0, 1, 2, 5])):
            day = f"2024-0{random.randint(1, 9)}-11"
            stays.append((len(stays), person, random.choice(kinds)[0], day, random.randint(0, 30)))
    for _ in range(400):
        stay, person, *_ = random.choice(stays)
        own = random.choice([stay, stay, stay, None])
        samples.append(
            (len(samples), person, own, random.randint(0, 100), random.choice([None, 3, 20, 50]), person * 3)
        )
    tables = {"kind": kinds, "person": people, "stay": stays, "sample": samples}
    return [f"INSERT INTO {name} VALUES {', '.join(map(_spelt, content))}" for name, content in tables.items()]


def _spelt(row: tuple[object, ...]) -> str:
    return "(" + ", ".join("NULL" if value is None else f"'{value}'" for value in row) + ")"


@pytest.fixture(scope="module", params=["duckdb", "duckdb by the stay", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, object]]:
    folder, setup = tmp_path_factory.mktemp("forms"), ";".join([TABLES.rstrip(";\n "), *rows(Random(7))])
    name, unit = "forms", "person_id -> person.id"
    if request.param == "postgres":
        database = shared_server().url(shared_server().database(setup))
        engine: object = psycopg.connect(database)
    else:
        database = f"duckdb:{name}.duckdb"
        with duckdb.connect(str(folder / f"{name}.duckdb")) as connection:
            connection.execute(setup)
        engine = duckdb.connect()
        engine.execute(setup)
    if request.param == "duckdb by the stay":
        # A sample that leads nowhere is nobody's.
        unit = "stay_id -> stay.id"
        engine.execute("DELETE FROM sample WHERE stay_id IS NULL")  # type: ignore[attr-defined]
    path = folder / f"{name}.yaml"
    path.write_text(POLICY.format(database=database, name=name, unit=unit))
    with closing(open_without_noise(path)) as proxy, closing(engine):  # type: ignore[type-var]
        yield proxy, engine


@pytest.mark.spread
@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_form_means_what_the_engine_says(sql: str, place: tuple[Proxy, object]) -> None:
    proxy, engine = place
    with closing(dpsql.connect(proxy)) as connection:
        ours = connection.execute(sql).fetchall()
    if isinstance(engine, duckdb.DuckDBPyConnection):
        # It does not know that the other columns follow from the key.
        sql = sql.replace("GROUP BY k.name", "GROUP BY k.name, k.family, k.weight")
        # Its series are lists.
        sql = re.sub(r"(SELECT (?:id, )?)(generate_series\((?:[^()]|\([^()]*\))*\))", r"\1UNNEST(\2)", sql)
    theirs = engine.execute(sql).fetchall()  # type: ignore[attr-defined]
    assert sorted(map(_plain, ours)) == sorted(map(_plain, theirs))


REFUSED = (
    "SELECT COUNT(*) FROM stay WHERE kind = (SELECT name FROM kind ORDER BY weight LIMIT 1)",
    "SELECT COUNT(*) FROM stay WHERE days > (SELECT days FROM stay ORDER BY id LIMIT 1)",
    "SELECT AVG(days - (SELECT s.days FROM stay AS s WHERE s.person_id = t.person_id AND s.day < t.day ORDER BY s.day DESC"
    " LIMIT 1)) FROM stay AS t",
    "SELECT SUM(CASE WHEN 9 IN (SELECT t.days FROM stay AS t WHERE t.person_id = p.id) THEN 1 ELSE 0 END) FROM person AS p",
    "SELECT COUNT(*) FROM stay AS t WHERE (SELECT COUNT(*) FROM stay AS u WHERE u.kind = t.kind AND u.days < t.days) > 1",
    "SELECT COUNT(*) FROM stay AS t WHERE (SELECT COUNT(*) FROM stay AS u WHERE u.days < t.days) > 1",
    "SELECT b.low, (SELECT COUNT(*) FROM sample AS a WHERE a.hour < b.low OR b.low IS NULL) FROM (VALUES (9), (NULL)) AS b(low)",
    "SELECT COUNT(*) FROM stay WHERE (kind, days) IN (SELECT kind, days FROM stay WHERE days > 4)",
    "SELECT COUNT(*) FROM sample AS a JOIN sample AS b ON a.batch = b.batch",
    "SELECT kind FROM stay WHERE days < 9 INTERSECT SELECT kind FROM stay WHERE days > 4",
    "SELECT COUNT(*) FROM (SELECT kind FROM stay WHERE days < 9 EXCEPT SELECT kind FROM stay WHERE days > 4) AS u"
    " WHERE kind <> 'a'",
    "SELECT COUNT(*), MAX(kind) FROM (SELECT DISTINCT kind FROM stay EXCEPT SELECT kind FROM stay GROUP BY kind) AS u",
    "SELECT DISTINCT batch FROM sample EXCEPT SELECT DISTINCT batch FROM sample WHERE hour > 50",
    "WITH u AS (SELECT DISTINCT batch FROM sample INTERSECT SELECT DISTINCT hour FROM sample) SELECT COUNT(*), 1 FROM u"
    " WHERE batch > 1",
    "SELECT COUNT(*) FROM stay AS t FULL JOIN kind AS k ON t.kind = k.name",
    "SELECT COUNT(*) FROM stay WHERE days = (SELECT AVG(days) FROM stay)",
    "SELECT COUNT(*) FROM stay AS t WHERE t.days = (SELECT AVG(s.days) FROM stay AS s WHERE s.kind = t.kind)",
    "SELECT COUNT(*) FROM stay AS t WHERE t.days > (SELECT AVG(s.days) FROM stay AS s WHERE s.kind < t.kind)",
)


@pytest.mark.spread
@pytest.mark.parametrize("sql", REFUSED)
def test_what_compares_people_is_refused_with_a_form_that_works(sql: str, place: tuple[Proxy, object]) -> None:
    with closing(dpsql.connect(place[0])) as connection, pytest.raises(dpsql.NotSupportedError) as refused:
        connection.execute(sql)
    assert refused.value.hint


def _plain(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(value if value is None or isinstance(value, str) else round(float(value), 2) for value in row)  # type: ignore[arg-type]
