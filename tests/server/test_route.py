"""Which queries go to the shadow: those about catalogs, and those that can return no row. No other one."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp

from dpsql.server.session.route import Route, SetConfig, no_row, route, route_unparsed, settings_of
from rewriter.declared.catalog import Catalog, Column, Table
from rewriter.declared.types import INTEGER
from rewriter.refused import Refused
from rewriter.statement.parser import Select, parse
from tests.clients import corpus
from tests.golden.pairs import clinic

KNOWN = clinic()
MIXED_CASE = Catalog({"Patient": Table("Patient", {"id": Column("id", INTEGER)}, public=True)}, None)
SHADOWING = Catalog({"pg_people": Table("pg_people", {"id": Column("id", INTEGER)}, public=True)}, None)


def tree(sql: str) -> exp.Query:
    statement = parse(sql, {"1": None, "2": None})
    assert isinstance(statement, Select)
    return statement.tree


def goes(sql: str, known: Catalog = KNOWN) -> Route:
    return route(tree(sql), known)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT $1",
        "SELECT version(), current_user, now()",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(x, y)",
        "SELECT 1 UNION ALL SELECT 2",
        "SELECT * FROM (SELECT 1 AS x) AS patient",
        "SELECT * FROM generate_series(1, 3)",
        "SELECT * FROM pg_catalog.generate_series(1, 3) AS g(n)",
        "SELECT * FROM unnest(ARRAY[1, 2]) WITH ORDINALITY AS u(x, n)",
        "SELECT * FROM pg_get_keywords()",
        "SELECT * FROM pg_class",
        "SELECT * FROM PG_Class",
        "SELECT * FROM pg_catalog.pg_class",
        'SELECT * FROM "clinic"."pg_catalog"."pg_class"',
        "SELECT * FROM INFORMATION_SCHEMA.Tables",
        "SELECT * FROM information_schema.columns WHERE table_name = 'patient'",
        "SELECT 'patient'::regclass, count(*) FROM pg_attribute WHERE attrelid = 'public.patient'::regclass",
        "SELECT patient.relname FROM pg_class AS patient",
        "WITH names AS (SELECT relname FROM pg_class) SELECT * FROM names",
        "WITH RECURSIVE up AS (SELECT oid FROM pg_class UNION SELECT inhparent FROM pg_inherits JOIN up ON inhrelid = oid) SELECT * FROM up",
        "SELECT (SELECT count(*) FROM pg_index i WHERE i.indrelid = c.oid) FROM pg_class c, LATERAL (SELECT 1) AS one",
        "SELECT * FROM pg_class, nowhere",
        "SELECT 1 AS one ORDER BY one LIMIT 0",
        "SELECT 1 WHERE FALSE",
    ],
)
def test_catalogs_sessions_and_constants_go_to_the_shadow(sql: str) -> None:
    assert goes(sql) is Route.SHADOW


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM patient",
        "SELECT count(*) FROM PATIENT",
        'SELECT count(*) FROM "patient"',
        "SELECT count(*) FROM public.patient",
        'SELECT count(*) FROM "clinic"."public"."patient"',
        "SELECT count(*) FROM main.patient",
        "SELECT * FROM region",
        "SELECT * FROM dpsql.budget",
        'SELECT * FROM "dpsql".charges',
        "SELECT * FROM DPSQL.budget LIMIT 0",
        "SELECT * FROM nowhere",
        'SELECT * FROM "Patient"',
        "SELECT * FROM other.patient",
        "SELECT * FROM nowhere LIMIT 0",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM patient)",
        "SELECT 1 IN (SELECT id FROM patient)",
        "SELECT (SELECT count(*) FROM patient)",
        "SELECT * FROM generate_series(1, (SELECT count(*) FROM patient))",
        "SELECT 1 UNION ALL SELECT count(*) FROM patient",
        "WITH x AS (SELECT count(*) AS n FROM patient) SELECT * FROM x",
        "WITH x AS (SELECT count(*) AS n FROM patient), pg_x AS (SELECT * FROM x) SELECT * FROM pg_x",
        "WITH patient AS (SELECT count(*) AS n FROM patient) SELECT * FROM patient",
        "WITH patient AS (SELECT 1 AS n) SELECT * FROM patient",
        "SELECT * FROM LATERAL (SELECT count(*) FROM patient) AS x",
        "SELECT * FROM (VALUES ((SELECT count(*) FROM patient))) AS v",
        "SELECT count(*) FROM patient, generate_series(1, 3)",
        "SELECT count(*) FROM ONLY patient",
        "SELECT count(*) FROM patient TABLESAMPLE SYSTEM (10)",
        "SELECT count(*) FROM (patient CROSS JOIN visit) AS j",
        "SELECT (TABLE patient)",
        "SELECT array(SELECT id FROM patient)",
        "SELECT 1 /* /* */ */ FROM patient",
        "SELECT 1 -- pg_class\r FROM patient",
        "SELECT E'\\'' , count(*) FROM patient --'",
        "SELECT '\\' , count(*) FROM patient --'",
        "SELECT $a$ $b$ $a$ FROM patient --$b$",
        "SELECT 1 ORDER BY (SELECT count(*) FROM patient)",
        "SELECT 1 LIMIT (SELECT count(*) FROM patient)",
        "SELECT sum(1) OVER (ORDER BY (SELECT count(*) FROM patient))",
    ],
)
def test_tables_of_the_policy_and_what_does_not_exist_are_ours(sql: str) -> None:
    assert goes(sql) is Route.OURS


@pytest.mark.quick
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM patient LIMIT 0",
        "SELECT * FROM patient FETCH FIRST 0 ROWS ONLY",
        "SELECT * FROM patient LIMIT 0 OFFSET 5",
        "SELECT count(*) FROM patient LIMIT 0",
        "SELECT sex, avg(height_cm) FROM patient GROUP BY ROLLUP (sex) LIMIT 0",
        "SELECT * FROM patient JOIN visit ON visit.patient_id = patient.id WHERE 0 = 1",
        "SELECT * FROM patient WHERE FALSE",
        "SELECT * FROM patient WHERE (1 = 0)",
        "SELECT * FROM patient WHERE 1 <> 1",
        "SELECT * FROM patient WHERE sex = 'F' AND (0 = 1)",
        "SELECT DISTINCT upper(sex) FROM patient WHERE FALSE ORDER BY 1",
        "SELECT * FROM (SELECT * FROM patient WHERE 0 = 1) AS virtual_table",
        "SELECT * FROM (SELECT * FROM (SELECT sex FROM patient LIMIT 0) AS a) AS b LIMIT 1000",
        "(SELECT * FROM patient) LIMIT 0",
        "(SELECT * FROM patient LIMIT 0)",
        "SELECT id FROM patient WHERE FALSE UNION ALL SELECT id FROM visit LIMIT 0",
        "SELECT id FROM patient WHERE FALSE UNION SELECT id FROM visit WHERE 1 = 2",
        "SELECT sex, count(*) FROM patient WHERE FALSE GROUP BY sex",
        "SELECT sex FROM patient WHERE FALSE GROUP BY 1 HAVING count(*) > 0",
        "WITH x AS (SELECT * FROM patient) SELECT * FROM x LIMIT 0",
        "WITH x AS (SELECT * FROM patient) SELECT * FROM x WHERE 0 = 1",
        'SELECT "t0"."id" FROM "clinic"."public"."patient" AS "t0" LIMIT 0',
    ],
)
def test_a_query_that_returns_no_row_is_a_probe(sql: str) -> None:
    assert goes(sql) is Route.PROBE


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM patient LIMIT 1",
        "SELECT * FROM patient LIMIT NULL",
        "SELECT * FROM patient LIMIT ALL",
        "SELECT * FROM patient LIMIT $1",
        "SELECT * FROM patient LIMIT 0 + 1",
        "SELECT * FROM patient LIMIT '0'",
        "SELECT * FROM patient OFFSET 0",
        "SELECT * FROM patient WHERE TRUE",
        "SELECT * FROM patient WHERE 0 = 0",
        "SELECT * FROM patient WHERE 1 <> 0",
        "SELECT * FROM patient WHERE NULL",
        "SELECT * FROM patient WHERE NOT TRUE",
        "SELECT * FROM patient WHERE FALSE OR sex = 'F'",
        "SELECT * FROM patient WHERE NOT (FALSE AND sex = 'F')",
        "SELECT * FROM patient WHERE '0' = '1'",
        "SELECT * FROM patient WHERE 1 = 1.0",
        "SELECT * FROM patient WHERE id = 1",
        "SELECT count(*) FROM patient WHERE FALSE",
        "SELECT 1 + count(*) FROM patient WHERE FALSE",
        "SELECT coalesce(sum(height_cm), 0) FROM patient WHERE 0 = 1",
        "SELECT json_agg(id) FROM patient WHERE FALSE",
        "SELECT some_unknown_function(id) FROM patient WHERE FALSE",
        "SELECT 1 FROM patient WHERE FALSE HAVING TRUE",
        "SELECT 1 FROM patient WHERE FALSE ORDER BY count(*)",
        "SELECT count(*) FROM patient WHERE FALSE GROUP BY ()",
        "SELECT sex, count(*) FROM patient WHERE FALSE GROUP BY ROLLUP (sex)",
        "SELECT sex, count(*) FROM patient WHERE FALSE GROUP BY CUBE (sex)",
        "SELECT sex, count(*) FROM patient WHERE FALSE GROUP BY GROUPING SETS ((sex), ())",
        "SELECT count(*) FROM (SELECT * FROM patient LIMIT 0) AS x",
        "SELECT count(*) FROM (SELECT * FROM patient WHERE 0 = 1) AS x",
        "SELECT * FROM (SELECT * FROM patient LIMIT 0) AS x RIGHT JOIN visit ON TRUE",
        "SELECT * FROM visit LEFT JOIN (SELECT * FROM patient LIMIT 0) AS x ON TRUE",
        "SELECT * FROM patient WHERE id IN (SELECT id FROM visit WHERE FALSE)",
        "SELECT id FROM patient WHERE FALSE UNION ALL SELECT id FROM visit",
        "(SELECT id FROM patient LIMIT 0) UNION ALL SELECT id FROM visit",
        "WITH x AS (SELECT * FROM patient LIMIT 0) SELECT count(*) FROM x",
        "SELECT id FROM patient EXCEPT SELECT id FROM visit WHERE FALSE",
    ],
)
def test_what_may_return_a_row_is_no_probe(sql: str) -> None:
    assert goes(sql) is Route.OURS


SELECTS = (
    "id",
    "count(*)",
    "upper(s)",
    "sum(id) + 1",
    "CASE WHEN id > 0 THEN 1 END",
    "max(id) OVER ()",
    "coalesce(max(id), 7)",
)
SOURCES = (
    "t",
    "(SELECT * FROM t WHERE FALSE) AS t",
    "(SELECT * FROM t LIMIT 0) AS t",
    "(SELECT count(*) AS id, 'a' AS s FROM t WHERE 0 = 1) AS t",
)
CONDITIONS = "", "WHERE FALSE", "WHERE 1 = 0 AND id = 1", "WHERE 1 <> 1 OR id = 1", "WHERE 2 = 3"
GROUPS = "", "GROUP BY id, s", "GROUP BY ROLLUP (id, s)", "GROUP BY GROUPING SETS ((id, s), ())"
LIMITS = "", "LIMIT 0", "LIMIT 5", "HAVING TRUE"


def test_no_engine_finds_a_row_where_we_say_there_is_none() -> None:
    """Every combination of the parts, asked of a table with rows."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(id, s)")
    said = asked = 0
    for text in (
        f"SELECT {select} FROM {source} {condition} {group} {limit}"
        for select in SELECTS for source in SOURCES for condition in CONDITIONS for group in GROUPS for limit in LIMITS
    ):  # fmt: skip
        if not no_row(tree(text)):
            continue
        said += 1
        try:
            found = connection.execute(text).fetchall()
        except duckdb.Error:
            continue
        asked += 1
        assert found == [], text
    assert said > 500
    assert asked > 300


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM pg_class, patient",
        "SELECT * FROM patient JOIN information_schema.tables ON TRUE",
        "SELECT relname, (SELECT count(*) FROM patient) FROM pg_class",
        "SELECT * FROM pg_class, patient LIMIT 0",
        "SELECT * FROM pg_class WHERE EXISTS (SELECT 1 FROM dpsql.budget)",
        "SELECT id FROM patient UNION ALL SELECT oid FROM pg_class",
        "WITH c AS (SELECT * FROM pg_class) SELECT * FROM c, patient",
        "WITH patient AS (SELECT * FROM pg_class) SELECT * FROM patient",
        "SELECT count(*) FROM patient WHERE sex IN (SELECT usename FROM pg_user)",
    ],
)
def test_catalogs_and_tables_of_the_policy_do_not_mix(sql: str) -> None:
    with pytest.raises(Refused) as caught:
        goes(sql)
    assert caught.value.sqlstate == "0A000"
    assert caught.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT 1 AS x INTO TEMPORARY "#Tableau_1"',
        "SELECT * INTO copied FROM pg_class",
        "SELECT * INTO copied FROM patient LIMIT 0",
        "WITH x AS (INSERT INTO region VALUES ('x') RETURNING *) SELECT * FROM x",
        "WITH x AS (DELETE FROM region RETURNING *) SELECT * FROM x LIMIT 0",
        "WITH x AS (UPDATE pg_settings SET setting = 1 RETURNING *) SELECT * FROM x",
    ],
)
def test_what_writes_is_refused_wherever_it_hides(sql: str) -> None:
    with pytest.raises(Refused) as caught:
        goes(sql)
    assert caught.value.sqlstate in ("42501", "42601")


def test_names_are_read_as_postgres_reads_them() -> None:
    assert goes("SELECT count(*) FROM patient", MIXED_CASE) is Route.OURS
    assert goes('SELECT * FROM "Patient" LIMIT 0', MIXED_CASE) is Route.PROBE
    assert goes('SELECT * FROM "patient" LIMIT 0', MIXED_CASE) is Route.OURS
    assert goes('SELECT * FROM "PG_CLASS"') is Route.OURS
    assert goes('SELECT * FROM "Information_Schema".tables') is Route.OURS


def test_a_table_of_the_policy_is_ours_even_where_it_is_named_like_a_catalog() -> None:
    assert goes("SELECT count(*) FROM pg_people", SHADOWING) is Route.OURS
    assert goes("SELECT count(*) FROM pg_class", SHADOWING) is Route.SHADOW
    with pytest.raises(Refused):
        goes("SELECT * FROM pg_people, pg_class", SHADOWING)


def test_settings_in_the_clothes_of_a_query() -> None:
    assert settings_of(tree("SELECT pg_catalog.set_config('Search_Path', '', false)")) == (
        SetConfig("search_path", "", False),
    )
    both = settings_of(tree("SELECT set_config('a.b', 'x', true) AS one, set_config('timezone', 'UTC', false)"))
    assert both == (SetConfig("a.b", "x", True), SetConfig("timezone", "UTC", False))
    assert settings_of(tree("SELECT 1")) is None
    asked = "SELECT set_config('bytea_output', 'hex', false) FROM pg_show_all_settings() WHERE name = 'bytea_output'"
    assert settings_of(tree(asked)) == (SetConfig("bytea_output", "hex", False),)
    assert settings_of(tree("SELECT set_config('a', 'b', false), count(*) FROM pg_class GROUP BY relname")) is None
    assert settings_of(tree("SELECT set_config('a', 'b', false) LIMIT 0")) is None
    assert settings_of(tree("SELECT set_config('a', 'b' || 'c', false)")) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT set_config(name, '0', false) FROM pg_settings",
        "SELECT 1 WHERE set_config('statement_timeout', '0', false) = '0'",
        "SELECT PG_CATALOG.SET_CONFIG('statement_timeout', '0' || '0', false)",
    ],
)
def test_a_setting_inside_of_a_query_is_refused(sql: str) -> None:
    with pytest.raises(Refused):
        goes(sql)


def test_the_recorded_clients_are_routed_as_they_should_be() -> None:
    known = corpus.shop()
    ours = [query for text in corpus.recorded() for query in corpus.queries(text) if "FROM customers" in query]
    assert len(ours) >= 4
    assert {corpus.routed(query, known) for query in ours if "pg_" not in query} == {Route.OURS}
    assert len(corpus.catalog_queries()) >= 297


def test_a_text_that_we_cannot_parse_goes_to_the_shadow_only_if_it_names_no_table() -> None:
    arrays = "SELECT COALESCE(proallargtypes::regtype[], proargtypes::regtype[])::text[] FROM pg_catalog.pg_proc"
    with pytest.raises(Refused):
        parse(arrays)
    assert route_unparsed(arrays, KNOWN) is Route.SHADOW
    assert route_unparsed(arrays + ";", KNOWN) is Route.SHADOW
    assert route_unparsed("/* dbt */ " + arrays, KNOWN) is Route.SHADOW
    for more in [
        ", patient",
        ", PATIENT",
        ', "patient"',
        ', public."patient" AS p',
        ', U&"p\\0061tient"',
        ", u&\"p!0061tient\" UESCAPE '!'",
        " JOIN /* */ visit ON true",
        ", dpsql.budget",
        "; SELECT 1",
        "; SELECT count(*) FROM patient",
        " WHERE set_config('a', 'b', false) = ''",
        " UNION SELECT 1 INTO x",
    ]:
        assert route_unparsed(arrays + more, KNOWN) is None, more
    for text in [
        "SELECT * FROM nowhere",
        "",
        "NOTIFY pg_class",
        "COPY pg_class TO STDOUT",
        "SELECT 'pg_class'",
        "SELECT $$pg_class$$",
        "x" * 100_000,
    ]:
        assert route_unparsed(text, KNOWN) is None, text
    assert route_unparsed(arrays + " WHERE proname = 'patient'", KNOWN) is Route.SHADOW
