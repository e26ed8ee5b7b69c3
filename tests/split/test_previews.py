"""What tools send to see what is there: a few rows of people are answered by their columns, at no price."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.errors import Error
from dpsql.interfaces.commands.demo_clinic import POLICY, build
from dpsql.proxy import Session
from rewriter.split.previews import PREVIEWED
from rewriter.statement.fold_constants import array_texts
from tests.doubles import open_without_noise

PREVIEWS = [
    ("SELECT * FROM patient LIMIT 200", "id sex birth_year height_cm weight_kg smoker diagnosis region"),
    ("SELECT * FROM (SELECT cost, reason FROM visit WHERE cost > 3) AS virtual_table LIMIT 1", "cost reason"),
    ("SELECT reason AS r, cost / 2.0 FROM visit ORDER BY cost FETCH FIRST 10 ROWS ONLY", "r ?column?"),
    ("WITH v AS (SELECT * FROM visit LIMIT 100) SELECT cost FROM v", "cost"),
    ("SELECT sex FROM patient UNION ALL SELECT sex FROM patient LIMIT 3", "sex"),
    ("SELECT patient_id FROM visit GROUP BY patient_id LIMIT 5", "patient_id"),
    ("SELECT sex FROM patient WHERE id IN (SELECT patient_id FROM visit LIMIT 3) LIMIT 3", "sex"),
]
REFUSED = [
    ("SELECT patient_id, COUNT(*) AS n FROM visit GROUP BY patient_id LIMIT 5", "42501", "AVG.n. FROM .SELECT"),
    ("SELECT patient_id, SUM(cost) FROM visit GROUP BY 1 ORDER BY 2 DESC LIMIT 5", "42501", "AVG.n. FROM .SELECT"),
    ("SELECT * FROM patient", "42501", "rows of people"),
    ("SELECT COUNT(*) FROM (SELECT * FROM visit LIMIT 10) AS v", "42501", "LIMIT over rows"),
    ("SELECT nothing FROM patient LIMIT 10", "42703", "nothing"),
    ("SELECT * FROM (SELECT nothing FROM patient LIMIT 3) AS p LIMIT 10", "42703", "nothing"),
    ("SELECT RANDOM() FROM patient LIMIT 10", "0A000", "random"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("previews")
    build(found)
    text = (found / POLICY).read_text(encoding="utf-8")
    strict = text.replace("clinic.ledger", "strict.ledger") + "\npreviews: refuse\n"
    (found / "strict.yaml").write_text(strict, encoding="utf-8")
    return found


@pytest.fixture
def ana(folder: Path) -> Iterator[Session]:
    proxy = open_without_noise(folder / POLICY)
    yield proxy.session("ana")
    proxy.close()


@pytest.mark.parametrize(("sql", "columns"), PREVIEWS)
def test_a_preview_has_columns_and_no_row(ana: Session, sql: str, columns: str) -> None:
    spent = ana.budget().spent_epsilon
    answer = ana.execute(sql)
    assert ([column.name for column in answer.columns], answer.rows) == (columns.split(), ())
    assert PREVIEWED in answer.notices
    assert ana.budget().spent_epsilon == spent


def test_a_preview_has_the_types_of_what_it_previews(ana: Session) -> None:
    names = {str(column.type) for column in ana.execute("SELECT * FROM visit LIMIT 1").columns}
    assert {"integer", "date", "text"} <= names


@pytest.mark.parametrize(("sql", "state", "said"), REFUSED)
def test_what_no_preview_is_stays_refused(ana: Session, sql: str, state: str, said: str) -> None:
    with pytest.raises(Error, match=said) as refused:
        ana.execute(sql)
    assert refused.value.sqlstate == state


@pytest.mark.parametrize("sql", [sql for sql, _ in PREVIEWS])
def test_an_owner_may_have_previews_refused(folder: Path, sql: str) -> None:
    proxy = open_without_noise(folder / "strict.yaml")
    try:
        with pytest.raises(Error, match="LIMIT over rows of people"):
            proxy.session("ana").execute(sql)
    finally:
        proxy.close()


@pytest.mark.parametrize("word", ["select", "not", "SELECT", "order", "from"])
def test_every_word_is_a_name_after_as(ana: Session, word: str) -> None:
    answer = ana.execute(f"SELECT COUNT(*) AS {word}, 1 AS b FROM patient")
    assert [column.name for column in answer.columns] == [word.lower(), "b"]


ARRAYS = [
    ("sex = ANY('{F}')", "sex IN ('F')"),
    ("sex = ANY('{F,M}'::text[])", "sex IN ('F', 'M')"),
    ("sex <> ALL(ARRAY['F', 'X']::text[])", "sex NOT IN ('F', 'X')"),
    ("birth_year = ANY('{1980, 1990}'::int[])", "birth_year IN (1980, 1990)"),
    ("NOT birth_year = ANY('{1980}')", "birth_year <> 1980"),
    ("sex = ANY('{}')", "FALSE"),
    ("sex IN (SELECT UNNEST('{F,X}'::text[]))", "sex IN ('F', 'X')"),
    ("sex NOT IN (SELECT UNNEST(ARRAY['F', 'X']))", "sex NOT IN ('F', 'X')"),
    ("sex = ANY(SELECT UNNEST(ARRAY['F']))", "sex = 'F'"),
    ("birth_year IN (SELECT * FROM UNNEST('{1980,1990}'::int[]))", "birth_year IN (1980, 1990)"),
    ("sex IN (SELECT UNNEST('{}'::text[]))", "FALSE"),
    ("sex NOT IN (SELECT UNNEST(ARRAY['F', NULL]))", "FALSE"),
]


@pytest.mark.parametrize(("array", "listed"), ARRAYS)
def test_an_array_that_is_written_out_is_a_list(ana: Session, array: str, listed: str) -> None:
    answers = [ana.execute(f"SELECT COUNT(*) FROM patient WHERE {test}").rows for test in (array, listed)]
    assert answers[0] == answers[1]


def test_what_is_missing_in_an_array_is_missing_in_the_list(ana: Session) -> None:
    answers = [
        ana.execute(f"SELECT COUNT(*) FROM patient WHERE {test}").rows
        for test in (
            "diagnosis IN (SELECT UNNEST('{asthma,NULL}'::text[]))",
            "diagnosis NOT IN (SELECT UNNEST('{asthma,NULL}'::text[]))",
        )
    ]
    alone = ana.execute("SELECT COUNT(*) FROM patient WHERE diagnosis = 'asthma'").rows
    assert answers == [alone, ((0,),)]


JOINED = [
    "SELECT k.r, COUNT(*) FROM patient JOIN UNNEST('{Tyrol,Hesse}'::text[]) AS k (r) ON k.r = region GROUP BY 1 ORDER BY 1",
    "SELECT r, COUNT(*) FROM UNNEST(ARRAY['Tyrol', 'Hesse']) AS r JOIN patient ON r = region GROUP BY 1 ORDER BY 1",
    "WITH k AS (SELECT UNNEST(ARRAY['Hesse', 'Tyrol']) AS r) SELECT r, COUNT(*) FROM k JOIN patient ON r = region "
    "GROUP BY 1 ORDER BY 1",
]


@pytest.mark.parametrize("sql", JOINED)
def test_an_array_is_rows_beside_people(ana: Session, sql: str) -> None:
    listed = "SELECT region, COUNT(*) FROM patient WHERE region IN ('Hesse', 'Tyrol') GROUP BY 1 ORDER BY 1"
    assert ana.execute(sql).rows == ana.execute(listed).rows


@pytest.mark.parametrize(
    ("array", "rows"),
    [
        ("UNNEST(ARRAY[3, 1]) AS u", ((1,), (3,))),
        ("UNNEST('{b,a}'::text[]) AS u (x)", (("a",), ("b",))),
        ("UNNEST('{2025-01-01}'::date[])", ((datetime.date(2025, 1, 1),),)),
        ("(SELECT UNNEST(ARRAY[2, NULL]::int[]) AS x) AS t", ((2,), (None,))),
    ],
)
def test_an_array_is_rows_where_nobody_is(ana: Session, array: str, rows: tuple[tuple[object, ...], ...]) -> None:
    answer = ana.execute(f"SELECT * FROM {array} ORDER BY 1")
    assert (answer.rows, bool(answer.price)) == (rows, False)


def test_an_array_parameter_is_a_list(ana: Session) -> None:
    text = "SELECT COUNT(*) FROM patient WHERE sex = ANY(?)"
    asked = [ana.execute(text, [value]).rows for value in (["F", "M"], "{F,M}")]
    assert asked[0] == asked[1] == ana.execute("SELECT COUNT(*) FROM patient WHERE sex IN ('F', 'M')").rows


@pytest.mark.parametrize("spelt", ["", "a", "{a", "{a,,b}", "{a,}", "{{a}}", "{a b\\", '{"a}', "{a}b"])
def test_what_no_array_is_has_no_elements(spelt: str) -> None:
    assert array_texts(spelt) is None
