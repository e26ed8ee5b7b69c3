"""Eleven questions, each in several spellings that PostgreSQL has the same rows for. The first is the plainest."""

from __future__ import annotations

from collections.abc import Mapping

from tests.policies import policy_text

TOP = "SELECT region FROM visit GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2"

SETUP = """
CREATE TABLE patient (id INTEGER PRIMARY KEY, region TEXT NOT NULL, birth INTEGER NOT NULL);
CREATE TABLE visit (id INTEGER PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patient (id), day DATE NOT NULL,
    region TEXT NOT NULL, cost INTEGER NOT NULL);
INSERT INTO patient SELECT i, 'r' || CASE WHEN i % 10 < 4 THEN 1 WHEN i % 10 < 7 THEN 2 ELSE i % 10 - 4 END, 1940 + i % 60
    FROM generate_series(0, 599) AS t (i);
INSERT INTO visit SELECT i, i % 600, DATE '2024-01-01' + CAST((i * 7 + CASE WHEN i < 600 THEN 0 WHEN i < 1200 THEN 40 ELSE 80 END) % 300 AS INTEGER),
    'r' || CASE WHEN i % 11 < 5 THEN 1 WHEN i % 11 < 8 THEN 2 ELSE i % 11 - 5 END, i * 13 % 50 FROM generate_series(0, 1499) AS t (i);
"""
POLICY = policy_text("""
database: duckdb:clinic.duckdb; ledger: sqlite:spellings.ledger; privacy_unit: patient.id
budget: {epsilon: 1e6, delta: 1e-3}; statement: {epsilon: 100, max_epsilon: 1000}
tables:
  patient: id, region [r1, r2, r3, r4, r5], birth 1940..2000
  visit(patient_id -> patient.id, max_rows: 3): id, day 2024-01-01..2024-12-31, region [r1, r2, r3, r4, r5],
      cost 0..50
""")

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "the mean in the two largest groups": (
        f"SELECT region, AVG(cost) AS a FROM visit WHERE region IN ({TOP}) GROUP BY region",
        f"SELECT v.region, AVG(v.cost) AS a FROM visit v WHERE v.region = ANY ({TOP}) GROUP BY 1",
        "SELECT region, AVG(cost) AS a FROM visit v WHERE EXISTS (SELECT 1 FROM"
        f" ({TOP}) t WHERE t.region = v.region) GROUP BY region",
        f"SELECT v.region, AVG(v.cost) AS a FROM visit v JOIN ({TOP}) t ON t.region = v.region GROUP BY v.region",
        f"SELECT t.region, AVG(v.cost) AS a FROM visit v JOIN ({TOP}) t ON v.region = t.region GROUP BY t.region",
        f"SELECT region, AVG(cost) AS a FROM visit JOIN ({TOP}) t USING (region) GROUP BY region",
        f"SELECT region, AVG(cost) AS a FROM visit NATURAL JOIN ({TOP}) t GROUP BY region",
        f"SELECT v.region, AVG(v.cost) AS a FROM visit v, ({TOP}) t WHERE v.region = t.region GROUP BY v.region",
        f"SELECT x.region, AVG(x.cost) AS a FROM (SELECT v.region, v.cost FROM visit v JOIN ({TOP}) t USING (region)) x"
        " GROUP BY x.region",
        f"SELECT region, AVG(cost) AS a FROM (SELECT * FROM visit WHERE region IN ({TOP})) x GROUP BY region",
        f"WITH t AS ({TOP}) SELECT region, AVG(cost) AS a FROM visit WHERE region IN (SELECT region FROM t) GROUP BY region",
        f"WITH t AS ({TOP}) SELECT v.region, AVG(v.cost) AS a FROM visit v JOIN t ON t.region = v.region GROUP BY 1",
        f"WITH t (r) AS ({TOP}), x AS (SELECT cost, r FROM visit, t WHERE region = r) SELECT r, AVG(cost) AS a FROM x"
        " GROUP BY r",
    ),
    "the whole beside its groups": (
        "SELECT region, COUNT(*) AS n, (SELECT COUNT(*) FROM visit) AS total FROM visit GROUP BY region",
        "SELECT v.region, COUNT(*) AS n, t.total FROM visit v CROSS JOIN (SELECT COUNT(*) AS total FROM visit) t"
        " GROUP BY v.region, t.total",
        "SELECT v.region, COUNT(*) AS n, t.total FROM visit v, (SELECT COUNT(*) AS total FROM visit) t GROUP BY 1, 3",
        "SELECT region, COUNT(*) AS n, MAX(total) AS total FROM visit JOIN (SELECT COUNT(*) AS total FROM visit) t ON TRUE"
        " GROUP BY region",
        "WITH t AS (SELECT COUNT(*) AS total FROM visit) SELECT region, COUNT(*) AS n, total FROM visit, t"
        " GROUP BY region, total",
        "WITH t AS (SELECT COUNT(*) AS total FROM visit) SELECT region, COUNT(*) AS n, (SELECT total FROM t) AS total"
        " FROM visit GROUP BY region",
        "SELECT g.region, g.n, t.total FROM (SELECT region, COUNT(*) AS n FROM visit GROUP BY region) g,"
        " (SELECT COUNT(*) AS total FROM visit) t",
        "WITH g AS (SELECT region, COUNT(*) AS n FROM visit GROUP BY region), t AS (SELECT COUNT(*) AS total FROM visit)"
        " SELECT g.region, n, total FROM g CROSS JOIN t",
        "SELECT g.region, g.n, t.total FROM (SELECT region, COUNT(*) AS n FROM visit GROUP BY region) g"
        " CROSS JOIN LATERAL (SELECT COUNT(*) AS total FROM visit) t",
        "SELECT region, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS total FROM visit GROUP BY region",
    ),
    "the first of each person": (
        "SELECT AVG(v.cost) AS a FROM visit v JOIN (SELECT patient_id, MIN(day) AS day FROM visit GROUP BY patient_id) f"
        " ON f.patient_id = v.patient_id AND f.day = v.day",
        "SELECT AVG(cost) AS a FROM visit JOIN (SELECT patient_id, MIN(day) AS day FROM visit GROUP BY patient_id) f"
        " USING (patient_id, day)",
        "SELECT AVG(cost) AS a FROM visit WHERE (patient_id, day) IN (SELECT patient_id, MIN(day) FROM visit"
        " GROUP BY patient_id)",
        "SELECT AVG(cost) AS a FROM visit v WHERE day = (SELECT MIN(day) FROM visit w WHERE w.patient_id = v.patient_id)",
        "SELECT AVG(cost) AS a FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS n FROM visit) v"
        " WHERE n = 1",
        "WITH f AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS n FROM visit)"
        " SELECT AVG(cost) AS a FROM f WHERE n = 1",
        "SELECT AVG(f.cost) AS a FROM patient p CROSS JOIN LATERAL (SELECT cost FROM visit WHERE patient_id = p.id"
        " ORDER BY day LIMIT 1) f",
        "SELECT AVG(f.cost) AS a FROM patient p, LATERAL (SELECT v.cost FROM visit v WHERE v.patient_id = p.id"
        " ORDER BY v.day LIMIT 1) AS f",
        "SELECT AVG(cost) AS a FROM (SELECT DISTINCT ON (patient_id) cost FROM visit ORDER BY patient_id, day) f",
    ),
    "how many rows": (
        "SELECT COUNT(*) AS n FROM visit",
        "SELECT COUNT(1) AS n FROM visit",
        "SELECT COUNT(id) AS n FROM visit v",
        "SELECT COUNT(*) AS n FROM (SELECT * FROM visit) x",
        "WITH x AS (SELECT id FROM visit) SELECT COUNT(*) AS n FROM x",
        "SELECT (SELECT COUNT(*) FROM visit) AS n",
        "SELECT n FROM (SELECT COUNT(*) AS n FROM visit) x",
        "SELECT COUNT(*) AS n FROM visit WHERE TRUE",
    ),
    "the totals of totals": (
        "SELECT region, SUM(cost) AS s, COUNT(*) AS n FROM visit WHERE day < '2024-06-01' GROUP BY region",
        "SELECT region, SUM(s) AS s, SUM(n) AS n FROM (SELECT region, day, SUM(cost) AS s, COUNT(*) AS n FROM visit"
        " GROUP BY 1, 2) x WHERE day < '2024-06-01' GROUP BY region",
        "WITH x AS (SELECT region AS r, day AS d, SUM(cost) AS s, COUNT(cost) AS n FROM visit WHERE day < '2024-06-01'"
        " GROUP BY r, d ORDER BY d) SELECT r AS region, SUM(s) AS s, SUM(n) AS n FROM x GROUP BY r",
        "WITH x AS (SELECT region, day, cost > 9 AS dear, SUM(cost) AS s, COUNT(*) AS n FROM visit GROUP BY 1, 2, 3),"
        " y AS (SELECT region, day, SUM(s) AS s, SUM(n) AS n FROM x GROUP BY 1, 2)"
        " SELECT region, SUM(s) AS s, SUM(n) AS n FROM y WHERE day < '2024-06-01' GROUP BY region",
        "SELECT region, SUM(s) FILTER (WHERE day < '2024-06-01') AS s, SUM(n) FILTER (WHERE day < '2024-06-01') AS n"
        " FROM (SELECT region, day, SUM(cost) AS s, COUNT(*) AS n FROM visit GROUP BY 1, 2) x GROUP BY region",
    ),
    "by a function of a finer key": (
        "SELECT EXTRACT(MONTH FROM day) AS m, COUNT(*) AS n FROM visit GROUP BY 1 HAVING COUNT(*) > 9",
        "SELECT EXTRACT(MONTH FROM day) AS m, SUM(n) AS n FROM (SELECT day, region, COUNT(*) AS n FROM visit"
        " GROUP BY day, region) x GROUP BY 1 HAVING SUM(n) > 9",
        "SELECT m, SUM(n) AS n FROM (SELECT EXTRACT(MONTH FROM day) AS m, region, COUNT(*) AS n FROM visit"
        " GROUP BY 1, 2) x GROUP BY m HAVING SUM(n) > 9 ORDER BY m",
    ),
    "people who have such a row": (
        "SELECT COUNT(*) AS n FROM patient WHERE id IN (SELECT patient_id FROM visit WHERE cost > 40)",
        "SELECT COUNT(*) AS n FROM patient p WHERE EXISTS (SELECT 1 FROM visit v WHERE v.patient_id = p.id AND cost > 40)",
        "SELECT COUNT(*) AS n FROM patient WHERE id = ANY (SELECT patient_id FROM visit WHERE cost > 40)",
        "SELECT COUNT(*) AS n FROM patient p JOIN (SELECT DISTINCT patient_id FROM visit WHERE cost > 40) x"
        " ON x.patient_id = p.id",
        "SELECT COUNT(*) AS n FROM patient p, (SELECT patient_id FROM visit WHERE cost > 40 GROUP BY patient_id) x"
        " WHERE x.patient_id = p.id",
        "WITH x AS (SELECT patient_id AS id FROM visit WHERE cost > 40) SELECT COUNT(*) AS n FROM patient WHERE id IN"
        " (SELECT id FROM x)",
        "WITH x AS (SELECT DISTINCT patient_id AS id FROM visit WHERE cost > 40) SELECT COUNT(*) AS n FROM patient"
        " JOIN x USING (id)",
        "SELECT COUNT(DISTINCT patient_id) AS n FROM visit WHERE cost > 40",
        "SELECT COUNT(*) AS n FROM (SELECT DISTINCT patient_id FROM visit WHERE cost > 40) x",
        "SELECT COUNT(*) AS n FROM patient p WHERE (SELECT COUNT(*) FROM visit v WHERE v.patient_id = p.id AND cost > 40) > 0",
        "SELECT COUNT(*) AS n FROM patient p CROSS JOIN LATERAL (SELECT MAX(cost) AS c FROM visit WHERE patient_id = p.id) m"
        " WHERE m.c > 40",
    ),
    "the mean of sums per person": (
        "SELECT AVG(s) AS a FROM (SELECT patient_id, SUM(cost) AS s FROM visit GROUP BY patient_id) x",
        "WITH x AS (SELECT SUM(cost) AS s FROM visit GROUP BY patient_id) SELECT AVG(s) AS a FROM x",
        "WITH x (p, s) AS (SELECT patient_id, SUM(cost) FROM visit GROUP BY 1) SELECT AVG(s) AS a FROM x",
        "SELECT AVG(x.s) AS a FROM (SELECT v.patient_id AS p, SUM(v.cost) AS s FROM visit v GROUP BY p) AS x",
        "SELECT AVG(sum) AS a FROM (SELECT patient_id, SUM(cost) FROM visit GROUP BY patient_id) x",
        "SELECT AVG(x.s) AS a FROM patient p JOIN (SELECT patient_id, SUM(cost) AS s FROM visit GROUP BY patient_id) x"
        " ON x.patient_id = p.id",
        "SELECT AVG((SELECT SUM(cost) FROM visit v WHERE v.patient_id = p.id)) AS a FROM patient p",
        "SELECT AVG(x.s) AS a FROM patient p, LATERAL (SELECT SUM(cost) AS s FROM visit WHERE patient_id = p.id) x",
        "SELECT AVG(x.s) AS a FROM patient p LEFT JOIN LATERAL (SELECT SUM(v.cost) AS s FROM visit v WHERE v.patient_id ="
        " p.id) x ON TRUE",
    ),
    "a value of the person by a value of the row": (
        "SELECT v.region, AVG(p.birth) AS a FROM visit v JOIN patient p ON p.id = v.patient_id GROUP BY v.region",
        "SELECT v.region, AVG(p.birth) AS a FROM visit v, patient p WHERE p.id = v.patient_id GROUP BY v.region",
        "SELECT v.region, AVG(birth) AS a FROM patient p JOIN visit v ON v.patient_id = p.id GROUP BY 1",
        "SELECT v.region, AVG(birth) AS a FROM visit v JOIN (SELECT id AS patient_id, birth FROM patient) p"
        " USING (patient_id) GROUP BY v.region",
        "SELECT v.region, AVG(birth) AS a FROM visit v NATURAL JOIN (SELECT id AS patient_id, birth FROM patient) p"
        " GROUP BY v.region",
        "SELECT v.region, AVG(p.birth) AS a FROM patient p RIGHT JOIN visit v ON v.patient_id = p.id GROUP BY v.region",
        "WITH p AS (SELECT id, birth FROM patient) SELECT region, AVG(birth) AS a FROM visit JOIN p ON p.id = patient_id"
        " GROUP BY region",
        "SELECT x.region, AVG(x.birth) AS a FROM (SELECT v.region, p.birth FROM visit v JOIN patient p ON p.id ="
        " v.patient_id) AS x GROUP BY x.region",
        "SELECT v.region, AVG(x.b) AS a FROM visit v, LATERAL (SELECT birth AS b FROM patient p WHERE p.id ="
        " v.patient_id) x GROUP BY v.region",
    ),
    "by a computed key": (
        "SELECT cost > 25 AS dear, COUNT(*) AS n FROM visit GROUP BY cost > 25",
        "SELECT cost > 25 AS dear, COUNT(*) AS n FROM visit GROUP BY 1",
        "SELECT cost > 25 AS dear, COUNT(*) AS n FROM visit GROUP BY dear",
        "SELECT dear, COUNT(*) AS n FROM (SELECT cost > 25 AS dear FROM visit) x GROUP BY dear",
        "WITH x AS (SELECT cost > 25 AS dear FROM visit) SELECT dear, COUNT(*) AS n FROM x GROUP BY 1",
        "WITH x (dear) AS (SELECT v.cost > 25 FROM visit AS v) SELECT x.dear, COUNT(*) AS n FROM x GROUP BY x.dear",
        "SELECT l.dear, COUNT(*) AS n FROM visit v, LATERAL (SELECT v.cost > 25) AS l (dear) GROUP BY l.dear",
        "SELECT l.dear, COUNT(*) AS n FROM visit v CROSS JOIN LATERAL (SELECT v.cost > 25 AS dear) AS l GROUP BY 1",
    ),
    "rows above the mean": (
        "SELECT COUNT(*) AS n FROM visit WHERE cost > (SELECT AVG(cost) FROM visit)",
        "SELECT COUNT(*) AS n FROM visit v, (SELECT AVG(cost) AS a FROM visit) m WHERE v.cost > m.a",
        "SELECT COUNT(*) AS n FROM visit v CROSS JOIN (SELECT AVG(cost) AS a FROM visit) m WHERE cost > a",
        "SELECT COUNT(*) AS n FROM visit v JOIN (SELECT AVG(cost) AS a FROM visit) m ON v.cost > m.a",
        "WITH m AS (SELECT AVG(cost) AS a FROM visit) SELECT COUNT(*) AS n FROM visit, m WHERE cost > a",
        "WITH m AS (SELECT AVG(cost) AS a FROM visit) SELECT COUNT(*) AS n FROM visit WHERE cost > (SELECT a FROM m)",
        "SELECT COUNT(*) AS n FROM visit v CROSS JOIN LATERAL (SELECT AVG(cost) AS a FROM visit) m WHERE v.cost > m.a",
    ),
}
