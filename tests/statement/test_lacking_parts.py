"""Statements that lack a part are syntax errors, wherever the part is missing, and never our own error."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
import sqlglot

from dpsql.errors import Error
from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.proxy import Proxy, Session
from rewriter.refused import Refused
from rewriter.statement.lacking_parts import check_words
from rewriter.statement.parser import parse

AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "STDDEV", "VARIANCE", "BOOL_OR", "STRING_AGG", "ARRAY_AGG")
LACKING = ("{}(DISTINCT)", "{}(DISTINCT) FILTER (WHERE id > 3)", "{}(id,)", "{}(DISTINCT id,)", "{}(ALL)",
           "{}(DISTINCT) OVER (PARTITION BY sex)", "{}(id) OVER (PARTITION BY)", "{}(id) FILTER ()",
           "{}(id ORDER BY)")  # fmt: skip
PLACES = (
    "SELECT {} FROM patient",
    "SELECT sex FROM patient GROUP BY sex HAVING {} > 3",
    "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY {}",
    "SELECT COUNT(*) FROM patient WHERE id > (SELECT {} FROM patient)",
    "SELECT {} FROM (SELECT COUNT(*) AS id, sex FROM patient GROUP BY sex) AS t",
    "SELECT AVG(n) FROM (SELECT patient_id, {} AS n FROM visit GROUP BY patient_id) AS t",
    "SELECT dpsql.over_blocks({}) FROM patient",
    "SELECT {} FROM region",
    "WITH t AS (SELECT {} AS n FROM patient) SELECT n FROM t",
)
EMPTY_ROWS = ("() IS NULL", "() IS NOT NULL", "NOT ()", "() = ()", "() < ()", "() <> ()", "() = (id)", "id = ()",
              "() IN (())", "() IN ((1, 2))", "(id, sex) IN ((), ())", "id = ANY ()", "() IS NOT DISTINCT FROM ()",
              "() BETWEEN () AND ()", "id IN ()", "(()) IS NULL", "COALESCE(()) IS NULL", "CASE WHEN () THEN TRUE END",
              "CAST(() AS TEXT) = 'a'", "COUNT(()) > 3", "() OVERLAPS ()", "() LIKE 'a'", "(id, ()) = (1, ())")  # fmt: skip
CONDITIONS = (
    "SELECT COUNT(*) FROM patient WHERE {}",
    "SELECT COUNT(*) FILTER (WHERE {}) FROM patient",
    "SELECT COUNT(*) FROM patient HAVING {}",
    "SELECT {} AS a",
    "SELECT COUNT(*) FROM patient AS p JOIN visit AS v ON p.id = v.patient_id AND {}",
    "SELECT * FROM (SELECT COUNT(*) AS id FROM patient) AS t WHERE {}",
)
OTHERS = (
    "SELECT COUNT(*), FROM patient",
    "SELECT COUNT(*) FROM patient,",
    "SELECT sex, COUNT(*) FROM patient GROUP BY sex,",
    "SELECT COUNT(*) FROM patient GROUP BY",
    "SELECT COUNT(*) FROM patient ORDER BY",
    "SELECT COUNT(*) FROM patient JOIN visit USING ()",
    "SELECT COUNT(*) FROM patient JOIN region",
    "SELECT COUNT(*) FROM patient AS p CROSS JOIN visit AS v ON p.id = v.patient_id",
    "SELECT COUNT(*) FROM patient NATURAL JOIN visit USING (id)",
    "SELECT COUNT(*) FROM patient AS p JOIN visit AS v ON p.id = v.patient_id ON v.id > 3",
    "SELECT sex, COUNT(*) FROM patient ORDER BY sex GROUP BY sex",
    "SELECT sex, COUNT(*) FROM patient GROUP BY sex WHERE id > 3",
    "SELECT sex, COUNT(*) FROM patient HAVING COUNT(*) > 3 GROUP BY sex",
    "SELECT sex, COUNT(*) FROM patient GROUP BY sex LIMIT 3 ORDER BY sex",
    "SELECT COUNT(*) FROM patient WHERE id > 3 WHERE id < 9",
    "SELECT COUNT(*) AS n FROM patient ORDER BY n UNION SELECT COUNT(*) FROM visit",
    "SELECT COUNT(*) AS n FROM patient LIMIT 1 UNION SELECT COUNT(*) FROM visit",
    "SELECT COUNT(*) FROM patient INNER JOIN region",
    "SELECT COUNT(*) FROM patient AS p JOIN visit AS v WHERE p.id = v.patient_id",
    "SELECT COUNT(*) FROM patient JOIN region, region AS r",
    "SELECT n FROM (SELECT COUNT(*) AS n FROM patient JOIN region) AS t",
    "SELECT COUNT(*) FROM region JOIN patient JOIN visit ON id = patient_id",
    "WITH t AS (SELECT 1 FROM region JOIN region AS r GROUP BY 1) SELECT * FROM t",
    "SELECT DISTINCT ON () sex FROM patient",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP () FROM patient",
    "SELECT COUNT(*) FROM patient WHERE SUBSTRING(sex FROM) = 'F'",
    "SELECT COUNT(*) FROM patient WHERE id IN",
    "VALUES ()",
    "VALUES (1), ()",
    "SELECT COUNT(*) FROM (VALUES ()) AS t",
    "SELECT COUNT(*) FROM patient GROUP BY ROLLUP ()",
    "SELECT COUNT(*) FROM patient GROUP BY CUBE (())",
    "SELECT COUNT(*) FROM patient GROUP BY GROUPING SETS ()",
    "SELECT COUNT(*) FROM patient GROUP BY ((), sex)",
    "SELECT ROLLUP (1)",
    "SELECT COUNT(*) FROM patient WHERE CUBE (id)",
    "SELECT COUNT(*) FROM patient WHERE *",
    "SELECT COUNT(*) FROM patient WHERE NOT * OR sex = 'F'",
    "SELECT COUNT(*) FROM patient HAVING (*)",
    "SELECT COUNT(*) FROM patient AS p JOIN visit AS v ON *",
    "SELECT COUNT(*) FROM patient AS p WHERE EXISTS (SELECT 1 FROM visit AS v WHERE *)",
    "SELECT COUNT(*) FROM patient AS p WHERE EXISTS (SELECT 1 FROM visit AS v WHERE v.patient_id = p.id AND *)",
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("lacking")
    clinic.build(folder)
    proxy = Proxy.open(folder / clinic.POLICY)
    yield proxy.session("ana")
    proxy.close()


def state(session: Session, sql: str) -> str:
    try:
        session.describe(sql)
    except Error as refused:
        return refused.sqlstate
    return "answered"


@pytest.mark.quick
def test_an_aggregate_that_lacks_an_argument_is_a_syntax_error(session: Session) -> None:
    asked = [place.format(form.format(word)) for word, form, place in product(AGGREGATES, LACKING, PLACES)]
    assert [(sql, found) for sql in asked if (found := state(session, sql)) != "42601"] == []


@pytest.mark.quick
def test_an_empty_row_is_a_syntax_error(session: Session) -> None:
    asked = [place.format(test) for test, place in product(EMPTY_ROWS, CONDITIONS)]
    assert [(sql, found) for sql in asked if (found := state(session, sql)) != "42601"] == []


@pytest.mark.quick
@pytest.mark.parametrize("sql", OTHERS)
def test_a_list_that_lacks_an_item_is_a_syntax_error(session: Session, sql: str) -> None:
    assert state(session, sql) == "42601"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM patient GROUP BY ()",
        "SELECT sex, COUNT(*) FROM patient GROUP BY GROUPING SETS ((), (sex))",
        "SELECT sex, COUNT(*) FROM patient GROUP BY (), sex",
        "SELECT COUNT(ALL id) FROM patient",
        "SELECT SUM(COUNT(*)) OVER () FROM patient GROUP BY sex",
        "SELECT DISTINCT name FROM region",
        "SELECT now() IS NULL",
    ],
)
def test_what_may_be_empty_is_answered(session: Session, sql: str) -> None:
    assert state(session, sql) == "answered"


@pytest.mark.parametrize(
    ("sets", "same"),
    [
        ("ROLLUP (birth_year > 1950)", "(birth_year > 1950), ()"),
        ("CUBE (birth_year > 1950 AND sex = 'F')", "(birth_year > 1950 AND sex = 'F'), ()"),
        ("GROUPING  SETS (sex IS NULL, ROLLUP (birth_year > 1950))", "(sex IS NULL), (birth_year > 1950), ()"),
        ("ROLLUP (sex, (birth_year > 1950, sex))", "(sex, birth_year > 1950, sex), (sex), ()"),
    ],
)
def test_sets_of_groups_hold_conditions(session: Session, sets: str, same: str) -> None:
    """PostgreSQL takes any expression in ROLLUP; the parser alone would take no comparison."""
    asked = [f"SELECT COUNT(*) FROM patient GROUP BY {keys}" for keys in (sets, f"GROUPING SETS ({same})")]
    first, second = (session.execute(sql).rows for sql in asked)
    assert len(first) == len(second) > 1


@pytest.mark.parametrize(
    ("sql", "width"),
    [
        ("SELECT NULL, COUNT(*) FROM patient GROUP BY 1", 1),
        ("SELECT NULL AS a, sex, COUNT(*) FROM patient GROUP BY 1, 2", 2),
        ("SELECT DISTINCT NULL FROM patient", 1),
        ("SELECT COUNT(DISTINCT NULL) FROM patient", 1),
        ("SELECT COUNT(DISTINCT (NULL, sex)) FROM patient", 1),
        ("SELECT n, COUNT(*) FROM (SELECT id, NULL AS n FROM patient) AS t GROUP BY n", 1),
        ("SELECT NULL AS a, COUNT(*) FROM patient GROUP BY ROLLUP (NULL)", 2),
    ],
)
def test_a_null_without_a_type_is_grouped_and_counted_as_a_text(session: Session, sql: str, width: int) -> None:
    assert len(session.execute(sql).rows) == width


@pytest.mark.parametrize(
    "sql", ["SELECT 1 LIMIT 'a'", "SELECT * FROM (SELECT 1 OFFSET '') AS t", "SELECT 1 LIMIT '1.5'"]
)
def test_a_text_that_is_no_number_of_rows_is_told_as_such(sql: str) -> None:
    with pytest.raises(Refused, match="takes a number of rows") as refused:
        parse(sql)
    assert refused.value.sqlstate == "22P02"


@pytest.mark.parametrize("sql", ["SELECT 1 LIMIT ' 3 '", "SELECT 1 LIMIT '+3' OFFSET '0'", "SELECT 1 LIMIT 1.5"])
def test_a_text_that_is_a_number_of_rows_is_one(sql: str) -> None:
    parse(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT ON (id) id FROM patient AS p JOIN region AS r ON p.region = r.name ORDER BY id",
        "SELECT COUNT(*) FROM patient AS p LEFT JOIN visit AS v ON v.patient_id = p.id CROSS JOIN region, region AS b",
        "SELECT COUNT(*) FROM patient AS p JOIN (SELECT patient_id AS id FROM visit) AS v USING (id) NATURAL JOIN region",
        'SELECT t."join", t.x AS join FROM (SELECT 1 AS "join", 2 AS x) AS t JOIN (VALUES (1)) AS b(y) ON TRUE',
        "SELECT COUNT(*) FROM patient AS p JOIN region AS r ON r.name IS NOT DISTINCT FROM p.region WHERE p.id > 3",
        "SELECT COUNT(*) FROM patient AS p JOIN visit AS v CROSS JOIN region ON p.id = v.patient_id",
        "SELECT id FROM patient WHERE id > 3 UNION SELECT id FROM visit WHERE id > 3 ORDER BY id LIMIT 3",
        "(SELECT id FROM patient ORDER BY id LIMIT 3) UNION (SELECT id FROM visit ORDER BY id) ORDER BY id",
        "SELECT SUM(n) FILTER (WHERE n > 3) OVER (ORDER BY n) FROM t WHERE n > (SELECT 1 WHERE TRUE ORDER BY 1) ORDER BY 1",
        "SELECT n, SUM(n) OVER w FROM t ORDER BY n LIMIT 3",
        "SELECT n, SUM(n) OVER w FROM t WHERE n > 0 WINDOW w AS (PARTITION BY m ORDER BY n), v AS (ORDER BY n) ORDER BY n",
        "WITH a AS (SELECT 1 AS n ORDER BY n) SELECT n AS limit FROM a WHERE n IN (1, 2) GROUP BY n HAVING n > 0",
    ],
)
def test_a_join_that_has_its_condition_lacks_none(sql: str) -> None:
    check_words(sqlglot.tokenize(sql, read="postgres"))


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT 1 UNION SELECT 'a'", "22P02"),
        ("SELECT 1 UNION SELECT 'a'::text", "42804"),
        ("SELECT COUNT(*) FROM patient UNION SELECT sex FROM patient GROUP BY sex", "42804"),
        ("SELECT COUNT(*) FROM patient UNION ALL SELECT name FROM region", "42804"),
        ("SELECT n FROM (SELECT COUNT(*) AS n FROM patient EXCEPT SELECT 'a') AS t", "22P02"),
        ("SELECT 1 UNION SELECT '2'", "answered"),
        ("SELECT 1 UNION SELECT NULL UNION SELECT 2.5", "answered"),
        ("SELECT COUNT(*)::text FROM patient UNION ALL SELECT 'a'", "answered"),
        ("SELECT 'all', COUNT(*) FROM patient UNION ALL SELECT sex, COUNT(*) FROM patient GROUP BY sex", "answered"),
    ],
)
def test_both_sides_of_a_union_are_of_one_kind(session: Session, sql: str, found: str) -> None:
    assert state(session, sql) == found
