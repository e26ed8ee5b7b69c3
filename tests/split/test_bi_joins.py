"""How BI tools keep joins from counting twice, as they write it: answered with the figures of rows that repeat nothing."""

from __future__ import annotations

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Session


def hashed(key: str) -> str:
    """Looker's hash of a key, as a number."""
    return (
        f"('x' || MD5({key} ::varchar))::bit(64)::bigint::DECIMAL(65)  *18446744073709551616 "
        f"+ ('x' || SUBSTR(MD5({key} ::varchar),17))::bit(64)::bigint::DECIMAL(65)"
    )


def looker(value: str, key: str) -> str:
    """Looker's sum of a value over the different values of a key, in PostgreSQL's words."""
    return (
        f"COALESCE(COALESCE(CAST( ( SUM(DISTINCT (CAST(FLOOR(COALESCE({value} ,0)*(1000000*1.0)) AS DECIMAL(65,0))) + "
        f"{hashed(key)} ) - SUM(DISTINCT {hashed(key)}) )  AS DOUBLE PRECISION) "
        "/ CAST((1000000*1.0) AS DOUBLE PRECISION), 0), 0)"
    )


VISITS = "FROM public.visit AS visit LEFT JOIN public.patient AS patient ON visit.patient_id = patient.id"
WEIGHT = looker("patient.weight_kg", "patient.id")
ONCE = "SELECT DISTINCT {keys}, p.id, COALESCE(weight_kg, 0) AS w FROM visit v JOIN patient p ON p.id = v.patient_id"


@pytest.mark.parametrize(
    ("sql", "truth"),
    [
        (
            f'SELECT {WEIGHT} AS "patient.weight" {VISITS} LIMIT 500',
            f"SELECT SUM(w) FROM ({ONCE.format(keys='1')})",
        ),
        (
            f'SELECT visit.reason AS "visit.reason", {WEIGHT} AS "patient.weight" {VISITS} GROUP BY 1 ORDER BY 2 DESC '
            "LIMIT 500",
            f"SELECT reason, SUM(w) FROM ({ONCE.format(keys='reason')}) GROUP BY 1 ORDER BY 2 DESC",
        ),
        (
            'SELECT visit.reason AS "visit.reason", COALESCE(SUM(visit.cost ), 0) AS c, COUNT(*) AS n, '
            f"{WEIGHT} AS w, COUNT(DISTINCT patient.id ) AS people {VISITS} WHERE patient.sex = 'F' GROUP BY 1 "
            "HAVING COUNT(*) > 10 ORDER BY 1 LIMIT 500",
            "SELECT reason, SUM(LEAST(cost, 400)), COUNT(*), ANY_VALUE(s), COUNT(DISTINCT p.id) FROM visit v JOIN patient p "
            f"ON p.id = v.patient_id JOIN (SELECT reason AS r, SUM(w) AS s FROM ({ONCE.format(keys='reason')} "
            "WHERE sex = 'F') GROUP BY 1) ON r = reason WHERE sex = 'F' GROUP BY 1 ORDER BY 1",
        ),
        (
            f"SELECT ({WEIGHT} / NULLIF(COUNT(DISTINCT CASE WHEN  patient.weight_kg  IS NOT NULL THEN  patient.id   "
            f"ELSE NULL END), 0)) {VISITS}",
            "SELECT SUM(w) / COUNT(DISTINCT CASE WHEN weight_kg IS NOT NULL THEN id END) FROM "
            f"({ONCE.format(keys='weight_kg')})",
        ),
        (
            'SELECT keys."k", SUM("key".weight_kg) "patient__weight" FROM (SELECT DISTINCT visit.reason "k", patient.id '
            f'"id" {VISITS}) AS "keys" LEFT JOIN patient AS "key" ON "keys"."id" = "key".id GROUP BY 1 ORDER BY 2 DESC '
            "LIMIT 10000",
            f"SELECT reason, SUM(w) FROM ({ONCE.format(keys='reason')}) GROUP BY 1 ORDER BY 2 DESC",
        ),
    ],
)
def test_each_key_adds_its_value_once(ana: Session, data: duckdb.DuckDBPyConnection, sql: str, truth: str) -> None:
    assert_near(ana.execute(sql).rows, data.execute(truth).fetchall())


LEVEL = (
    'SELECT "patient"."region" AS "region", COUNT(*) AS "m" FROM "public"."patient" "patient" GROUP BY 1 '
    "HAVING (COUNT(1) > 0)"
)
SHARES = (
    "SELECT region, sex, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY region) FROM patient GROUP BY 1, 2 ORDER BY 1, 2"
)


@pytest.mark.parametrize("function", ["MIN", "MAX", "AVG"])
@pytest.mark.parametrize(
    "on",
    [
        'INNER JOIN ({level}) "t0" ON ("patient"."region" = "t0"."region")',
        'LEFT JOIN ({level}) "t0" ON ("patient"."region" IS NOT DISTINCT FROM "t0"."region")',
        'INNER JOIN ({level}) "t0" ON (("patient"."region" = "t0"."region") OR (("patient"."region" IS NULL) AND '
        '("t0"."region" IS NULL)))',
    ],
)
def test_a_level_of_detail_is_the_same_in_a_whole_group(
    ana: Session, data: duckdb.DuckDBPyConnection, on: str, function: str
) -> None:
    sql = (
        f'SELECT "patient"."region" AS "region", "patient"."sex" AS "sex", COUNT(*) * 1.0 / {function}("t0"."m") AS '
        f'"share" FROM "public"."patient" "patient" {on.format(level=LEVEL)} GROUP BY 1, 2 ORDER BY 1, 2'
    )
    assert_near(ana.execute(sql).rows, data.execute(SHARES).fetchall())


def test_the_largest_groups_are_the_same_where_null_equals_null(ana: Session, data: duckdb.DuckDBPyConnection) -> None:
    """Tableau's set of the three largest, as its two ways of comparing say it."""
    top = 'SELECT "visit"."reason" AS "reason", SUM("visit"."cost") AS "x" FROM "visit" GROUP BY 1 ORDER BY 2 DESC LIMIT 3'
    sql = 'SELECT "visit"."reason", COUNT(*) FROM "visit" INNER JOIN ({top}) "t0" ON ({on}) GROUP BY 1 ORDER BY 2'
    equal = '"visit"."reason" = "t0"."reason"'
    null = f'({equal}) OR (("visit"."reason" IS NULL) AND ("t0"."reason" IS NULL))'
    rows = [ana.execute(sql.format(top=top, on=on)).rows for on in (equal, null)]
    assert rows[0] == rows[1]
    assert_near(rows[0], data.execute(sql.format(top=top, on=equal)).fetchall())


def test_a_left_join_to_the_person_is_an_inner_one(ana: Session) -> None:
    """Rows of nobody are in no answer: with and without LEFT, the same release."""
    sql = "SELECT sex, COUNT(*) FROM visit {} JOIN patient ON visit.patient_id = patient.id GROUP BY sex"
    first = ana.execute(sql.format("LEFT"))
    again = ana.execute(sql.format(""))
    assert first.rows == again.rows
    assert not again.price


@pytest.mark.parametrize(
    ("sql", "works"),
    [
        (
            "SELECT SUM(DISTINCT patient.id * 1000 + weight_kg) - SUM(DISTINCT patient.id * 1000) FROM visit "
            "JOIN patient ON visit.patient_id = patient.id",
            "SELECT SUM(v) FROM (SELECT patient.id AS key, MAX(weight_kg) AS v FROM visit JOIN patient "
            "ON visit.patient_id = patient.id GROUP BY patient.id) AS t",
        ),
        (
            f"SELECT SUM(DISTINCT FLOOR(patient.weight_kg * 1000000) + {hashed('patient.id')} + {hashed('visit.reason')}) "
            f"- SUM(DISTINCT {hashed('patient.id')} + {hashed('visit.reason')}) {VISITS}",
            "SELECT SUM(v) FROM (SELECT patient.id AS key, reason, MAX(weight_kg) AS v FROM visit JOIN patient "
            "ON visit.patient_id = patient.id GROUP BY patient.id, reason) AS t",
        ),
    ],
)
def test_other_distinct_sums_are_refused_with_the_form_that_works(ana: Session, sql: str, works: str) -> None:
    with pytest.raises(Error, match=r"SUM\(v\) FROM \(SELECT key, MAX\(x\) AS v … GROUP BY key\)"):
        ana.execute(sql)
    ((value,),) = ana.execute(works).rows
    assert value


def assert_near(rows: object, truth: object) -> None:
    assert isinstance(rows, tuple)
    assert isinstance(truth, list)
    assert len(rows) == len(truth)
    for row, true in zip(rows, truth, strict=True):
        for value, expected in zip(row, true, strict=True):
            assert (value if isinstance(value, str) else float(value)) == (
                expected if isinstance(expected, str) else pytest.approx(float(expected), rel=0.002)
            )


def test_a_value_that_differs_within_a_group_is_not_that_of_the_group(ana: Session) -> None:
    level = "SELECT region, sex, COUNT(*) AS m FROM patient GROUP BY 1, 2"
    with pytest.raises(Error):
        ana.execute(f"SELECT p.region, MIN(t.m) FROM patient p JOIN ({level}) t ON p.region = t.region GROUP BY 1")


def test_who_has_no_row_is_kept_by_joins_that_lead_back(ana: Session, data: duckdb.DuckDBPyConnection) -> None:
    sql = (
        "SELECT COUNT(*) FROM patient p LEFT JOIN visit v ON v.patient_id = p.id LEFT JOIN patient q "
        "ON v.patient_id = q.id"
    )
    assert_near(ana.execute(sql).rows, data.execute(sql).fetchall())


def test_a_level_of_detail_over_other_groups_is_answered_in_the_form_of_the_hint(ana: Session) -> None:
    level = "SELECT region, COUNT(*) AS m FROM patient GROUP BY 1"
    sql = f"SELECT sex, AVG(t.m) FROM patient JOIN ({level}) t ON patient.region = t.region {{}} GROUP BY 1"
    with pytest.raises(Error, match="add WHERE m BETWEEN 0 AND 100"):
        ana.execute(sql.format(""))
    rows = ana.execute(sql.format("WHERE m BETWEEN 0 AND 10000")).rows
    assert len(rows) == 2
