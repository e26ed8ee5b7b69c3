"""Statements as PostGraphile, pgAdmin, Hasura, PostgREST and Prisma write them, over the wire."""

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
