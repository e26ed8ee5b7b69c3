"""People are counted as often as is claimed, whatever an earlier answer is joined with before they meet it."""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path

import pytest

from dpsql.errors import Error, InternalError
from tests.answer.staged_neighbours import assert_sound, grow, two_policies, two_policies_of_postgres, two_sessions

ANSWERS = ("(SELECT COUNT(*) AS n FROM person)", "(SELECT AVG(score) AS n FROM person WHERE ill)")
BESIDE = (
    "SELECT z.n FROM {z} AS z",
    "SELECT z.n FROM {z} AS z, generate_series(1, 50) AS s(i)",
    "SELECT z.n FROM {z} AS z CROSS JOIN code",
    "SELECT z.n FROM {z} AS z LEFT JOIN code ON TRUE",
    "SELECT z.n FROM code, {z} AS z",
    "SELECT z.n FROM {z} AS z, (VALUES (1), (2), (3)) AS v(x)",
    "SELECT z.n FROM {z} AS z, UNNEST(ARRAY[1, 2, 3]) AS v(x)",
    "SELECT z.n FROM {z} AS z JOIN code ON TRUE ORDER BY z.n LIMIT 4",
    "SELECT DISTINCT z.n, code.name FROM {z} AS z, code",
    "SELECT z.n FROM {z} AS z, (SELECT part, COUNT(*) AS m FROM person GROUP BY part) AS y",
    "SELECT z.n FROM {z} AS z, (SELECT town, COUNT(*) AS m FROM person GROUP BY town) AS y",
    "SELECT SUM(z.n) OVER () AS n FROM {z} AS z, code",
    "SELECT s.i, MAX(z.n) AS n FROM {z} AS z, generate_series(1, 20) AS s(i) GROUP BY s.i",
    "SELECT (SELECT z.n FROM {z} AS z) AS n FROM generate_series(1, 30) AS s(i)",
    "SELECT z.n FROM {z} AS z UNION ALL SELECT k FROM code",
    "SELECT z.n FROM {z} AS z UNION SELECT k FROM code",
    "SELECT z.n FROM {z} AS z UNION ALL VALUES (1), (2), (3)",
    "WITH a AS {z}, b AS (SELECT a.n FROM a, code) SELECT b.n FROM b, code",
    "WITH z AS (SELECT n FROM {z} AS y) SELECT * FROM (SELECT * FROM z) AS x",
    "SELECT COUNT(*) AS n, generate_series(1, 50) AS i FROM person",
    "SELECT COUNT(*) AS n, UNNEST(ARRAY[1, 2, 3]) AS i FROM person",
    "SELECT part, COUNT(*) AS n, generate_series(1, 50) AS i FROM person GROUP BY part",
    "SELECT LEAST(c, 3) AS g, COUNT(*) AS n FROM (SELECT id, COUNT(*) AS c FROM person GROUP BY id) AS t GROUP BY 1",
)
"""An earlier answer with other rows beside it, by its name ``z``."""
ABOVE = (
    "SELECT COUNT(*) FILTER (WHERE ill), SUM(score) FROM person, ({q}) AS q WHERE id = 7 AND q.n > -1e9",
    "SELECT COUNT(DISTINCT id) FROM person CROSS JOIN ({q}) AS q",
    "SELECT AVG(score) FROM person LEFT JOIN ({q}) AS q ON q.n > -1e9",
    "SELECT part, COUNT(*) FROM person JOIN ({q}) AS q ON q.n > -1e9 GROUP BY part",
    "SELECT q.n > 5, COUNT(*) FROM person, ({q}) AS q GROUP BY 1",
    "SELECT SUM(amount) FROM visit, ({q}) AS q WHERE q.n > -1e9",
    "SELECT COUNT(*) FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY id ORDER BY score) AS rn FROM person) AS p, ({q}) AS q"
    " WHERE p.rn = 1",
    "SELECT AVG(m) FROM (SELECT id, AVG(score) AS m FROM person GROUP BY id) AS p, ({q}) AS q",
)
"""People joined with it, as ``q``."""


GROWING = (
    "SELECT COUNT(*), SUM(score) FROM person, tariff WHERE id = 7",
    "SELECT COUNT(DISTINCT id) FROM person JOIN tariff ON tariff.k <= person.part",
    "SELECT AVG(score) FROM person LEFT JOIN tariff ON TRUE",
    "SELECT COUNT(*) FROM person JOIN tariff ON tariff.k = person.part",
    "SELECT tariff.k, SUM(score) FROM person JOIN tariff ON tariff.k = person.part GROUP BY tariff.k",
    "SELECT MEDIAN(score) FROM person, tariff",
    "SELECT COUNT(*) FROM person JOIN drawn ON drawn.k = person.part",
    "SELECT SUM(amount) FROM visit LEFT JOIN drawn ON drawn.k = visit.number",
    "SELECT tariff.city, COUNT(*), COUNT(DISTINCT id) FROM person, tariff GROUP BY tariff.city",
    "SELECT tariff.city, AVG(score) FROM person JOIN tariff ON tariff.k <= person.part GROUP BY tariff.city",
    "SELECT tariff.city, SUM(COUNT(*)) OVER (ORDER BY tariff.city) FROM person, tariff GROUP BY tariff.city",
    "SELECT tariff.city, dpsql.over_blocks(AVG(score), blocks => 5, low => 0, high => 100) FROM person, tariff"
    " GROUP BY tariff.city",
)
"""People joined with public rows that grow, and grouped by them."""


WINDOWS = (
    "AVG(score) OVER ()",
    "COUNT(*) OVER (PARTITION BY part)",
    "SUM(score) OVER (PARTITION BY town)",
    "MAX(score) OVER (PARTITION BY ill, part)",
    "STDDEV(score) OVER (PARTITION BY part % 2)",
    "NTILE(3) OVER (ORDER BY score)",
    "NTILE(12) OVER (PARTITION BY part, ill ORDER BY score DESC)",
    "CASE WHEN PERCENT_RANK() OVER (PARTITION BY town ORDER BY score) > 0.6 THEN 3 ELSE 1 END",
    "FLOOR(5 * CUME_DIST() OVER (ORDER BY score DESC))",
)
ROWS_OF_WINDOWS = (
    "person",
    "person, code",
    "person JOIN visit ON pid = id",
    "person LEFT JOIN visit ON pid = id AND amount > 10",
    "person JOIN tariff ON tariff.k <= part",
    "(SELECT id, part, ill, town, SUM(score) AS score FROM person GROUP BY id, part, ill, town) AS p, code",
    "person JOIN (SELECT COUNT(*) AS n FROM visit) AS z ON z.n > -1e9, (VALUES (1), (2), (3)) AS s(i)",
)
KNOWN = "part IS NOT NULL AND town IS NOT NULL AND ill IS NOT NULL"
BESIDE_WINDOWS = (
    "SELECT COUNT(*), SUM(score) FROM (SELECT id, score, {w} AS m FROM {rows} WHERE score IS NOT NULL AND {known}) AS r WHERE score >= m",
    "SELECT part, AVG(m) FROM (SELECT part, {w} AS m FROM {rows} WHERE score > 3 AND {known}) AS r WHERE m BETWEEN 0 AND 100 GROUP BY 1",
    "SELECT m > 2, COUNT(DISTINCT id) FROM (SELECT id, {w} AS m FROM {rows} WHERE score < 80 AND {known}) AS r GROUP BY 1",
)
"""Windows across people, which are asked of the same rows first."""


def statements(part: int, parts: int) -> list[str]:
    """Each way to read an answer with each way to join people, in as many parts."""
    asked = product(ABOVE, BESIDE, ANSWERS)
    return [above.format(q=beside.format(z=answer)) for above, beside, answer in asked][part::parts]


def test_an_answer_beside_other_rows_multiplies_nobody(tmp_path: Path) -> None:
    with two_sessions(two_policies(tmp_path)) as (here, there):
        assert_sound(here, there, statements(0, 13), 0.8)


def test_an_answer_beside_other_rows_multiplies_no_row_as_unit(tmp_path: Path) -> None:
    with two_sessions(two_policies(tmp_path, unit="row")) as (here, there):
        assert_sound(
            here, there, [sql for sql in statements(3, 23) if "visit" not in sql and "PARTITION" not in sql], 0.5
        )


def windows(every: int) -> list[str]:
    asked = product(BESIDE_WINDOWS, ROWS_OF_WINDOWS, WINDOWS)
    return [above.format(w=window, rows=rows, known=KNOWN) for above, rows, window in asked][::every]


def test_a_window_across_people_multiplies_nobody(tmp_path: Path) -> None:
    with two_sessions(two_policies(tmp_path)) as (here, there):
        assert_sound(here, there, windows(11), 0.8)


@pytest.mark.campaign
def test_a_window_across_people_multiplies_nobody_at_length(tmp_path: Path) -> None:
    with two_sessions(two_policies(tmp_path)) as (here, there):
        assert_sound(here, there, windows(1), 0.8)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
def test_an_answer_beside_other_rows_multiplies_nobody_at_length(tmp_path: Path, part: int) -> None:
    with two_sessions(two_policies(tmp_path)) as (here, there):
        assert_sound(here, there, statements(part, 4), 0.8)


def test_public_rows_that_come_by_the_clock_multiply_nobody(tmp_path: Path) -> None:
    """A view has one row when the policy is opened and plans are made, and 51 when people are joined with it; a
    generated column tells rows apart at first, and then does not."""
    started = time.monotonic()
    with two_sessions(two_policies(tmp_path, later=4)) as (here, there):
        for sql in GROWING:
            try:
                here.explain(sql)
                there.explain(sql)
            except Error as reason:
                pytest.fail(f"{reason}: {sql}")
        assert here.execute("SELECT COUNT(*) FROM tariff").rows == ((1,),)
        time.sleep(max(0.0, 4.5 - (time.monotonic() - started)))
        assert_sound(here, there, GROWING, 1)
        answer = here.execute(GROWING[-4])
        assert [row[0] for row in answer.rows] == ["a", "c0"], (
            "as many as there was room for, in the order of their keys"
        )
        assert "no more than 2 groups of public rows are listed until the policy is opened anew" in answer.notices


def test_more_rows_than_a_form_allows_never_reach_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever claims that an answer has one row, and is wrong, reads nobody: it is held against what was released."""
    monkeypatch.setattr("rewriter.split.earlier_answers.told_apart", lambda _: frozenset())
    with two_sessions(two_policies(tmp_path)) as (here, _):
        with pytest.raises(InternalError):
            here.execute(f"SELECT COUNT(*) FROM person, ({BESIDE[8].format(z=ANSWERS[0])}) AS q WHERE q.n > -1e9")
        assert len(here._opened.ledger.charges()) == 1, "the second stage was charged"


def test_public_rows_that_others_write_multiply_nobody(tmp_path: Path) -> None:
    """The same of tables and views of a server, that have grown since the policy was opened."""
    policies, databases = two_policies_of_postgres(tmp_path)
    with two_sessions(policies) as (here, there):
        for sql in GROWING:
            here.explain(sql)
            there.explain(sql)
        grow(databases)
        assert_sound(here, there, GROWING, 1)


def test_an_answer_beside_other_rows_multiplies_nobody_of_postgres(tmp_path: Path) -> None:
    with two_sessions(two_policies_of_postgres(tmp_path)[0]) as (here, there):
        assert_sound(here, there, statements(5, 23), 0.8)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(2))
def test_an_answer_beside_other_rows_multiplies_nobody_of_postgres_at_length(tmp_path: Path, part: int) -> None:
    with two_sessions(two_policies_of_postgres(tmp_path)[0]) as (here, there):
        assert_sound(here, there, statements(part, 2), 0.8)
