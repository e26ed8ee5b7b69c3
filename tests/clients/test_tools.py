"""Statements as PostGraphile, pgAdmin, Hasura, PostgREST, DBeaver and Prisma write them, over the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors

from dpsql.interfaces.commands import demo_clinic as clinic
from tests.clients.served import Served

REGIONS = sorted(name for name, *_ in clinic.REGIONS)
PATIENTS = 10_000
NEAR = 60
"""Further than noise at the price of these tests reaches."""


@pytest.fixture(scope="module")
def connection(server: Served) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as found:
        yield found


def asked(connection: psycopg.Connection, sql: str, *values: object) -> list[tuple[object, ...]]:
    """The rows of a statement whose parameters are named as on the wire."""
    return psycopg.RawCursor(connection).execute(sql, values or None).fetchall()


def adds_up(counts: dict[str, int]) -> bool:
    return sorted(counts) == REGIONS and abs(sum(counts.values()) - PATIENTS) < NEAR


def test_postgraphile_4_counts_people_beside_public_rows(connection: psycopg.Connection) -> None:
    """A connection in a connection, as ``{allRegions {nodes {name patientsByRegion {totalCount}}}}`` asks for it."""
    sql = """
    WITH a AS (
      SELECT to_json((json_build_object('name'::text, (b."name"), '@people'::text, (
        SELECT json_build_object('aggregates'::text, (
          SELECT json_build_object('totalCount'::text, count(1)) FROM "public"."patient" AS c WHERE (c."region" = b."name")
        ))
      )))) AS "@nodes"
      FROM (SELECT b.* FROM "public"."region" AS b WHERE (TRUE) AND (TRUE) ORDER BY b."name" ASC) b
    ), d AS (SELECT json_agg(to_json(a)) AS data FROM a)
    SELECT coalesce((SELECT d.data FROM d), '[]'::json) AS "data"
    """
    ((nodes,),) = asked(connection, sql)
    assert isinstance(nodes, list)
    rows = [row["@nodes"] for row in nodes]
    assert adds_up({row["name"]: row["@people"]["aggregates"]["totalCount"] for row in rows})


@pytest.mark.parametrize("condition", ["1 = 1", '(a."sex" = $1)'])
def test_postgraphile_counts_with_a_filter(connection: psycopg.Connection, condition: str) -> None:
    sql = f"""SELECT (SELECT json_build_object('totalCount'::text, count(1)) FROM "public"."patient" AS a
    WHERE {condition}) AS "aggregates" """
    ((found,),) = asked(connection, sql, *(["F"] if "$1" in condition else []))
    assert isinstance(found, dict)
    assert abs(found["totalCount"] - (5170 if "$1" in condition else PATIENTS)) < 400


def test_postgraphile_5_prints_days_of_a_preview(connection: psycopg.Connection) -> None:
    sql = """SELECT to_char(a."day", 'YYYY-MM-DD'::text) AS "0", a."cost"::text AS "1" FROM "public"."visit" AS a LIMIT 2"""
    assert asked(connection, sql) == []


def test_pgadmin_explains_with_the_options_of_its_button(connection: psycopg.Connection) -> None:
    options = "FORMAT JSON, ANALYZE false, VERBOSE false, COSTS false, TIMING false, BUFFERS false, SUMMARY false"
    ((told,),) = asked(
        connection, f"EXPLAIN ({options}, SETTINGS false) SELECT region, COUNT(*) FROM patient GROUP BY 1"
    )
    (explained,) = json.loads(str(told))
    (release,) = explained["Plan"]["Plans"]
    assert (release["Node Type"], release["Group Key"], release["Output"]) == ("Aggregate", ["region"], ["COUNT(*)"])
    assert "patient" in {scan["Relation Name"] for scan in release["Plans"]}


def test_pgadmin_is_told_that_explain_analyze_would_be_paid_for(connection: psycopg.Connection) -> None:
    with pytest.raises(errors.FeatureNotSupported, match="paid for"):
        asked(connection, "EXPLAIN (FORMAT JSON, ANALYZE true, BUFFERS true) SELECT COUNT(*) FROM patient")


def test_hasura_lists_public_rows(connection: psycopg.Connection) -> None:
    sql = """SELECT coalesce(json_agg("root"), '[]') AS "root" FROM (
      SELECT row_to_json((SELECT "e" FROM (SELECT "base"."name" AS "name", "base"."population" AS "people") AS "e")) AS "root"
      FROM (SELECT * FROM "public"."region" WHERE ('true')) AS "base") AS "all" """
    ((rows,),) = asked(connection, sql)
    assert isinstance(rows, list)
    assert {row["name"]: row["people"] for row in rows} == {row[0]: row[2] for row in clinic.REGIONS}


def test_hasura_aggregates(connection: psycopg.Connection) -> None:
    sql = """SELECT json_build_object('aggregate', json_build_object('count', COUNT(*))) AS "root"
    FROM (SELECT 1 FROM (SELECT * FROM "public"."patient" WHERE ('true')) AS "base") AS "all" """
    ((found,),) = asked(connection, sql)
    assert isinstance(found, dict)
    assert abs(found["aggregate"]["count"] - PATIENTS) < NEAR


def test_postgrest_wraps_groups(connection: psycopg.Connection) -> None:
    sql = """WITH source AS (
      SELECT "public"."patient"."region", COUNT("public"."patient"."id") AS "n" FROM "public"."patient" GROUP BY "public"."patient"."region"
    ) SELECT pg_catalog.count(t) AS page_total, coalesce(json_agg(t), '[]') AS body FROM (SELECT * FROM source) t"""
    ((total, body),) = asked(connection, sql)
    assert total == len(REGIONS)
    assert isinstance(body, list)
    assert adds_up({row["region"]: row["n"] for row in body})


def test_declared_keys_are_relations_for_tools_that_introspect(connection: psycopg.Connection) -> None:
    """Prisma, Hasura and PostgREST read them in ``pg_constraint``, with their columns one by one."""
    sql = """SELECT c.conrelid::regclass::text, a.attname, c.confrelid::regclass::text, b.attname
    FROM pg_catalog.pg_constraint c
    CROSS JOIN LATERAL unnest(c.conkey, c.confkey) AS k(own, other)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.own
    JOIN pg_catalog.pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other
    WHERE c.contype = 'f' AND c.connamespace = $1::regnamespace ORDER BY 1"""
    assert asked(connection, sql, "public") == [
        ("patient", "region", "region", "name"),
        ("visit", "patient_id", "patient", "id"),
    ]


# PostgREST, whose every read is one statement of this form (mainRead of its Query/Statements.hs)

READ = """WITH pgrst_source AS ( {} )  SELECT {} AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total,
    {} AS body, nullif(current_setting('response.headers', true), '') AS response_headers,
    nullif(current_setting('response.status', true), '') AS response_status, '' AS response_inserted
    FROM ( SELECT * FROM pgrst_source ) _postgrest_t"""
LISTED = "coalesce(json_agg(_postgrest_t), '[]')"


def read(connection: psycopg.Connection, source: str, *values: object, body: str = LISTED) -> tuple[object, ...]:
    (row,) = asked(connection, READ.format(source, "null::bigint", body), *values)
    assert row[3:] == (None, None, "")
    return row[:3]


def test_postgrest_sets_the_variables_of_a_request(server: Served) -> None:
    sql = """select set_config('search_path', $1, true), set_config($2, $3, true), set_config('role', $4, true),
        set_config('request.jwt.claims', $5, true), set_config('request.method', $6, true)"""
    values = ('"public"', "statement_timeout", "60000", "ana", '{"role":"ana"}', "GET")
    with psycopg.connect(server.dsn) as opened:
        opened.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
        assert asked(opened, sql, *values) == [tuple(value for value in values if value != "statement_timeout")]
        assert asked(opened, "SELECT current_setting('request.jwt.claims', true)::json ->> 'role'") == [("ana",)]
        ((method, many),) = asked(opened, "SELECT current_setting('request.method', true), COUNT(*) FROM patient")
        assert method == "GET"
        assert isinstance(many, int)
        assert abs(many - PATIENTS) < NEAR
        opened.rollback()
        assert asked(opened, "SELECT current_setting('request.method', true)") == [(None,)]


def test_postgrest_reads_public_rows(connection: psycopg.Connection) -> None:
    source = """SELECT "public"."region".* FROM "public"."region" WHERE "public"."region"."population" > $1
        ORDER BY "public"."region"."population" DESC NULLS LAST LIMIT $2 OFFSET $3"""
    none, total, body = read(connection, source, 1_000_000, 2, 0)
    assert (none, total) == (None, 2)
    assert isinstance(body, list)
    known = sorted(clinic.REGIONS, key=lambda one: -one[2])[:2]
    assert body == [{"name": one[0], "country": one[1], "population": one[2]} for one in known]


def test_postgrest_reads_one_row_as_an_object(connection: psycopg.Connection) -> None:
    source = 'SELECT "public"."region".* FROM "public"."region" WHERE "public"."region"."name" = $1'
    *_, body = read(connection, source, "Hesse", body="coalesce(json_agg(_postgrest_t)->0, 'null')")
    (known,) = [one for one in clinic.REGIONS if one[0] == "Hesse"]
    assert body == {"name": "Hesse", "country": known[1], "population": known[2]}
    assert read(connection, source, "Nowhere", body="coalesce(json_agg(_postgrest_t)->0, 'null')")[1:] == (0, None)


def test_postgrest_counts_rows_beside_a_page(connection: psycopg.Connection) -> None:
    source = """SELECT "public"."region".* FROM "public"."region" LIMIT $1 OFFSET $2 ),
        pgrst_source_count AS (SELECT 1 FROM "public"."region" """
    sql = READ.format(source, "(SELECT pg_catalog.count(*) FROM pgrst_source_count)", LISTED)
    ((total, page, *_),) = asked(connection, sql, 2, 0)
    assert (total, page) == (len(REGIONS), 2)


def test_postgrest_groups_and_filters_people(connection: psycopg.Connection) -> None:
    source = """SELECT "public"."patient"."region", COUNT("public"."patient"."id") AS "count" FROM "public"."patient"
        WHERE "public"."patient"."sex" = ANY($1) GROUP BY "public"."patient"."region" """
    _, total, body = read(connection, source, ["F", "M"])
    assert total == len(REGIONS)
    assert isinstance(body, list)
    assert adds_up({row["region"]: row["count"] for row in body})


def test_postgrest_explains_a_read(connection: psycopg.Connection) -> None:
    source = 'SELECT COUNT(*) AS "count" FROM "public"."patient"'
    ((told,),) = asked(connection, f"EXPLAIN (FORMAT JSON) {READ.format(source, 'null::bigint', LISTED)}")
    assert json.loads(str(told))[0]["Plan"]["Node Type"] == "Result"


def test_postgrest_counts_people_beside_public_rows(connection: psycopg.Connection) -> None:
    source = """SELECT "public"."region"."name", "region_patient_1"."count" AS "count" FROM "public"."region"
        LEFT JOIN LATERAL ( SELECT COUNT("patient_1"."id") AS "count" FROM "public"."patient" AS "patient_1"
        WHERE "patient_1"."region" = "public"."region"."name" ) AS "region_patient_1" ON TRUE"""
    *_, body = read(connection, source)
    assert isinstance(body, list)
    assert adds_up({row["name"]: row["count"] for row in body})


def test_postgrest_is_refused_rows_of_people(connection: psycopg.Connection) -> None:
    with pytest.raises(errors.FeatureNotSupported, match="not answered over people") as refused:
        read(connection, 'SELECT "public"."patient".* FROM "public"."patient" LIMIT $1 OFFSET $2', 5, 0)
    assert "values of people are not listed" in str(refused.value)


# Others


def test_postgraphile_4_is_refused_rows_of_people(connection: psycopg.Connection) -> None:
    sql = """with a as (select to_json((json_build_object('sex'::text, (b."sex")))) as "@nodes" from (
      select b.* from "public"."patient" as b where (TRUE) and (TRUE) order by b."id" ASC limit 3) b),
    d as (select json_agg(to_json(a)) as data from a) select coalesce((select d.data from d), '[]'::json) as "data" """
    with pytest.raises(errors.InsufficientPrivilege, match="a document of values of one person is a row of people"):
        asked(connection, sql)


def test_hasura_counts_people_beside_public_rows(connection: psycopg.Connection) -> None:
    sql = """SELECT coalesce(json_agg("root"), '[]') AS "root" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT
      "_root.base"."name" AS "name", "_root.ar.root.patients_aggregate"."patients_aggregate" AS "patients_aggregate") AS "_e"))
      AS "root" FROM (SELECT * FROM "public"."region" WHERE ('true')) AS "_root.base" LEFT OUTER JOIN LATERAL (
        SELECT json_build_object('aggregate', json_build_object('count', COUNT(*))) AS "patients_aggregate" FROM (
          SELECT 1 FROM "public"."patient" WHERE (("_root.base"."name") = ("region"))
        ) AS "_root.ar.root.patients_aggregate.base"
      ) AS "_root.ar.root.patients_aggregate" ON ('true')) AS "_root" """
    ((rows,),) = asked(connection, sql)
    assert isinstance(rows, list)
    assert adds_up({row["name"]: row["patients_aggregate"]["aggregate"]["count"] for row in rows})


def test_hasura_is_refused_rows_of_people(connection: psycopg.Connection) -> None:
    sql = """SELECT coalesce(json_agg("root"), '[]') AS "root" FROM (
      SELECT row_to_json((SELECT "e" FROM (SELECT "base"."sex" AS "sex") AS "e")) AS "root"
      FROM (SELECT * FROM "public"."patient" WHERE ('true') LIMIT 10) AS "base") AS "all" """
    with pytest.raises(errors.InsufficientPrivilege, match="a document of values of one person is a row of people"):
        asked(connection, sql)


DBEAVER = {
    "opens a table with a filter": "SELECT x.* FROM public.visit x WHERE x.reason = 'acute' AND x.cost > 10 LIMIT 200",
    "sorts it": "SELECT x.* FROM public.visit x WHERE x.reason = 'acute' ORDER BY x.cost DESC LIMIT 200",
}


@pytest.mark.parametrize("sql", DBEAVER.values(), ids=DBEAVER)
def test_dbeaver_sees_columns_and_no_row_of_people(connection: psycopg.Connection, sql: str) -> None:
    cursor = connection.execute(sql.encode())
    assert [column.name for column in cursor.description or ()] == ["patient_id", "day", "cost", "reason"]
    assert cursor.fetchall() == []


def test_dbeaver_counts_groups_and_lists_values(connection: psycopg.Connection) -> None:
    ((many,),) = asked(connection, "select count(*) from (SELECT x.* FROM public.visit x WHERE x.cost > 10) dbvrcnt")
    assert isinstance(many, int)
    assert many > 10_000
    grouped = asked(
        connection,
        "SELECT reason, COUNT(*) FROM (SELECT x.* FROM public.visit x) dbvrgrp GROUP BY reason ORDER BY 2 DESC LIMIT 200",
    )
    listed = asked(
        connection,
        "SELECT DISTINCT reason FROM public.visit WHERE reason IS NOT NULL ORDER BY reason LIMIT 200",
    )
    assert {reason for reason, _ in grouped} == {reason for (reason,) in listed}
    names = asked(connection, "SELECT x.* FROM public.region x ORDER BY x.name LIMIT 200")
    assert [row[0] for row in names] == REGIONS


def test_pgadmin_explains_as_of_postgresql_17(connection: psycopg.Connection) -> None:
    options = "ANALYZE OFF, VERBOSE OFF, COSTS OFF, BUFFERS OFF, TIMING OFF, SUMMARY OFF, SETTINGS OFF, WAL OFF"
    ((told,),) = asked(
        connection,
        f"EXPLAIN (FORMAT JSON, {options}, GENERIC_PLAN OFF, MEMORY ON, SERIALIZE NONE) SELECT COUNT(*) FROM patient",
    )
    assert json.loads(str(told))[0]["Plan"]["Node Type"] == "Result"
    with pytest.raises(errors.FeatureNotSupported, match="paid for"):
        asked(connection, "EXPLAIN (FORMAT JSON, SERIALIZE BINARY) SELECT COUNT(*) FROM patient")


@pytest.mark.parametrize("view", ["pg_stat_activity", "pg_locks"])
def test_pgadmin_is_told_that_no_session_is_shown(connection: psycopg.Connection, view: str) -> None:
    told: list[str] = []
    connection.add_notice_handler(lambda one: told.append(str(one.message_primary)))
    assert asked(connection, f"/*pga4dash*/ SELECT pid FROM pg_catalog.{view} ORDER BY pid") == []
    assert told == [f"{view} is empty here: no session is shown, not even this one"]
    assert asked(connection, "SELECT gid, database, owner, transaction, prepared FROM pg_prepared_xacts") == []


def test_pgadmin_is_told_that_nothing_is_counted(connection: psycopg.Connection) -> None:
    told: list[str] = []
    connection.add_notice_handler(lambda one: told.append(str(one.message_primary)))
    sql = """/*pga4dash*/ SELECT 'tps_stats' AS chart_name, pg_catalog.row_to_json(t) AS chart_data FROM (SELECT
    (SELECT sum(xact_commit) + sum(xact_rollback) FROM pg_catalog.pg_stat_database) AS "Transactions") t"""
    assert asked(connection, sql) == [("tps_stats", {"Transactions": 0})]
    assert told == ["pg_stat_database counts nothing here: nothing is told of what all sessions do"]


def test_a_session_cancels_its_own_statements_alone(connection: psycopg.Connection) -> None:
    with pytest.raises(errors.QueryCanceled):
        asked(connection, "SELECT pg_cancel_backend(pg_backend_pid())")
    assert asked(connection, "SELECT pg_cancel_backend($1)", 32_000) == [(False,)]
    with pytest.raises(errors.InsufficientPrivilege):
        asked(connection, "SELECT pg_terminate_backend(1)")
