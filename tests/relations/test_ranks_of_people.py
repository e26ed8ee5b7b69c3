"""Ranks among people: without noise they are the engine's own, give or take a row at each quantile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import Error, NotSupportedError
from dpsql.proxy import Session
from rewriter.query.ranks_of_people import DENSE_NOTE, EQUAL_NOTE, NUMBERED_NOTE
from tests.properties.planted import case
from tests.relations.test_windows_of_people import both

__all__ = ["both"]

SHARE = "SELECT w, bed, {kind}() OVER ({over}) AS r FROM person"
SPENT = "SELECT pid, SUM(cost) AS s FROM visit GROUP BY pid"


def share(kind: str, over: str = "ORDER BY w") -> str:
    return f"({SHARE.format(kind=kind, over=over)}) AS t"


FORMS = (
    *(
        f"SELECT COUNT(*), SUM(w) FROM {share(kind, f'ORDER BY w{way}')} WHERE r {test}"
        for kind in ("PERCENT_RANK", "CUME_DIST")
        for way in ("", " DESC")
        for test in ("> 0.9", "<= 0.25", "BETWEEN 0.2 AND 0.7", "< 1 - 0.8", ">= 0 AND r < 0.5")
    ),
    *(
        f"SELECT {key} AS b, COUNT(*) FROM {share('PERCENT_RANK', 'ORDER BY w DESC')} GROUP BY 1 ORDER BY 1"
        for key in ("LEAST(FLOOR(r * 10), 9)", "FLOOR(4 * (1 - r) - 0.5)", "CEIL(r * 3 + 0.5)", "ROUND(10 * r)")
    ),
    f"SELECT CASE WHEN r <= 0.25 THEN 'a' WHEN r <= 0.75 THEN 'b' ELSE 'c' END AS b, COUNT(*) FROM {share('CUME_DIST')}"
    " GROUP BY 1 ORDER BY 1",
    f"SELECT 1, SUM(w) FILTER (WHERE 100 * r > 90), SUM(w), COUNT(*) FROM {share('PERCENT_RANK')}",
    f"SELECT bed, COUNT(*) FROM {share('PERCENT_RANK', 'PARTITION BY bed ORDER BY w')} WHERE r >= 0.8 GROUP BY bed ORDER BY 1",
    "SELECT bed, COUNT(*) FROM (SELECT bed, CUME_DIST() OVER (PARTITION BY bed, ward ORDER BY w DESC) AS r FROM person"
    " WHERE ward IS NOT NULL) AS t WHERE r <= 0.5 GROUP BY bed ORDER BY 1",
    "SELECT COUNT(*), AVG(t) FROM (SELECT t, PERCENT_RANK() OVER (ORDER BY t) AS r FROM person WHERE t IS NOT NULL) AS q"
    " WHERE r > 0.5",
    *(
        f"SELECT q, COUNT(*) FROM (SELECT NTILE({parts}) OVER (ORDER BY w) AS q FROM person) AS t GROUP BY q ORDER BY q"
        for parts in (10, 40, 100)
    ),
    "SELECT bed, q, COUNT(*) FROM (SELECT bed, NTILE(4) OVER (PARTITION BY bed ORDER BY w) AS q FROM person) AS t"
    " GROUP BY 1, 2 ORDER BY 1, 2",
    *(
        f"SELECT COUNT(*) FROM (SELECT NTILE(100) OVER (ORDER BY w DESC) AS q FROM person) AS t WHERE q {test}"
        for test in ("<= 5", "> 90", "= 7", "IN (1, 2, 50)", "<> 3", "BETWEEN 20 AND 29")
    ),
    "SELECT COUNT(*) FILTER (WHERE a > 0.5 AND b <= 0.1), COUNT(*) FILTER (WHERE c = 1) FROM (SELECT PERCENT_RANK() OVER"
    " (ORDER BY w) AS a, CUME_DIST() OVER (ORDER BY w DESC) AS b, NTILE(3) OVER (PARTITION BY bed ORDER BY w) AS c FROM"
    " person) AS t",
    "WITH a AS (SELECT id, w, PERCENT_RANK() OVER (ORDER BY w) AS r FROM person), b AS (SELECT w, r, 2 * r AS d FROM a)"
    " SELECT COUNT(*) FROM b WHERE d > 1 AND r < 0.9",
    "WITH a AS (SELECT w, PERCENT_RANK() OVER (ORDER BY w) AS r FROM person) SELECT (SELECT COUNT(*) FROM a WHERE r > 0.9),"
    " (SELECT COUNT(*) FROM a WHERE r < 0.5)",
)


@pytest.mark.spread
@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_a_rank_among_people_is_the_engines_own_but_for_a_row(both: tuple[Session, object], form: str) -> None:
    session, raw = both
    truth = raw.execute(form).fetchall()  # type: ignore[attr-defined]
    found = session.execute(form)
    assert len(found.rows) == len(truth), (found.rows, truth)
    for ours, theirs in zip(found.rows, truth, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            if isinstance(other, str):
                assert one == other
            else:
                # A row at an end of a part adds up to 1,000 to a sum.
                near = 3000 if abs(float(other)) > 2000 else 5
                assert float(str(one)) == pytest.approx(float(other), abs=near), (found.rows, truth)
    assert EQUAL_NOTE in found.notices
    assert sum("released first" in one for one in found.notices) <= form.count(" OVER ")


def test_buckets_of_a_rank_have_equal_shares(both: tuple[Session, object]) -> None:
    """DuckDB has no WIDTH_BUCKET, and PostgreSQL has the last row of all in a bucket of its own."""
    session, _ = both
    found = session.execute(
        f"SELECT WIDTH_BUCKET(r, 0, 1, 10) AS b, COUNT(*) FROM {share('PERCENT_RANK')} GROUP BY 1 ORDER BY 1"
    )
    assert [(int(str(b)), round(int(str(n)), -1)) for b, n in found.rows] == [(b, 60) for b in range(1, 11)]


def test_a_list_of_quantiles_is_one_stage(both: tuple[Session, object]) -> None:
    session, _ = both
    sql = "SELECT q, COUNT(*) FROM (SELECT NTILE(50) OVER (ORDER BY w) AS q FROM person WHERE w > 3) AS t GROUP BY q"
    assert any("each of the 2 has an equal part" in note for note in session.explain(sql).notices)


def test_parts_that_nothing_reads_are_not_released(both: tuple[Session, object]) -> None:
    session, _ = both
    notes = session.execute(
        "SELECT COUNT(*) FROM (SELECT NTILE(100) OVER (ORDER BY w) AS q FROM person WHERE w > 5) AS t WHERE q <= 20"
    ).notices
    assert any("(SELECT PERCENTILE_DISC(0.2) WITHIN GROUP (ORDER BY person.w)" in note for note in notes), notes


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT AVG(r) FROM {r}",
        "SELECT COUNT(*) FROM {r} WHERE r = 0.5",
        "SELECT COUNT(*) FROM {r} WHERE r > 0",
        "SELECT COUNT(*) FROM {r} WHERE r < 1",
        "SELECT COUNT(*) FROM {r} WHERE r * w > 0.5",
        "SELECT r > 0.5, MAX(r) FROM {r} GROUP BY 1",
        "SELECT COUNT(*) FROM (SELECT PERCENT_RANK() OVER (ORDER BY bed, id) AS r FROM person) AS t WHERE r > 0.5",
        "SELECT COUNT(*) FROM (SELECT DENSE_RANK() OVER (ORDER BY w, id) AS r FROM person) AS t WHERE r <= 100",
        "SELECT AVG(r) FROM (SELECT DENSE_RANK() OVER (ORDER BY w) AS r FROM person) AS t WHERE r <= 100",
        "SELECT COUNT(*) FROM (SELECT RANK() OVER (ORDER BY w, id) AS r FROM person) AS t WHERE r <= 100",
        "SELECT AVG(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY w) AS r FROM person) AS t WHERE r <= 100",
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY w) AS r FROM person) AS t WHERE r / 100 <= 1",
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY w) AS r FROM person) AS t WHERE FLOOR(r / 100.0) <= 1",
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY t) AS r FROM person) AS t WHERE r <= 100",
        "SELECT COUNT(*) FROM (SELECT DISTINCT r FROM {r}) AS d WHERE r > 0.5",
        "SELECT COUNT(*) FROM (SELECT r FROM {r} ORDER BY r LIMIT 10) AS d WHERE r > 0.5",
    ],
)
def test_other_uses_of_a_rank_are_refused_before_anything_is_charged(
    both: tuple[Session, object], statement: str
) -> None:
    session, _ = both
    before = session.execute("SELECT spent_epsilon FROM dpsql.budget").rows
    with pytest.raises(NotSupportedError) as refused:
        session.execute(statement.format(r=share("PERCENT_RANK")))
    assert "WHERE r > 0.9" in str(refused.value.hint)
    assert session.execute("SELECT spent_epsilon FROM dpsql.budget").rows == before


def test_sums_that_may_be_null_have_no_rank(both: tuple[Session, object]) -> None:
    session, _ = both
    sql = (
        "SELECT COUNT(*) FROM (SELECT PERCENT_RANK() OVER (ORDER BY s) AS r FROM (SELECT id, SUM(t) AS s FROM person"
        " GROUP BY id) AS x{known}) AS t WHERE r > 0.5"
    )
    with pytest.raises(NotSupportedError, match="compare people"):
        session.execute(sql.format(known=""))
    ((count,),) = session.execute(sql.format(known=" WHERE s IS NOT NULL")).rows
    assert 200 < int(str(count)) < 300


def test_the_hint_of_a_rank_is_answered(both: tuple[Session, object]) -> None:
    session, raw = both
    sql = (
        "SELECT COUNT(*) FROM (SELECT PERCENT_RANK() OVER (PARTITION BY ward ORDER BY t) AS r FROM person"
        " WHERE t IS NOT NULL AND ward IS NOT NULL) AS t WHERE r > 0.9"
    )
    ((ours,),), ((theirs,),) = session.execute(sql).rows, raw.execute(sql).fetchall()  # type: ignore[attr-defined]
    assert abs(int(str(ours)) - theirs) <= 4


def number(kind: str = "ROW_NUMBER", over: str = "ORDER BY w DESC") -> str:
    return f"(SELECT w, bed, {kind}() OVER ({over}) AS r FROM person) AS t"


NUMBERED = (
    *(
        f"SELECT COUNT(*), SUM(w) FROM {number(kind, f'ORDER BY w{way}')} WHERE r {test}"
        for kind in ("ROW_NUMBER", "RANK")
        for way in ("", " DESC")
        for test in ("<= 100", "< 2", "= 7", "BETWEEN 101 AND 200", "> 500", "<= 601", "<= 5000", "IN (1, 3)")
    ),
    f"SELECT COUNT(*), SUM(w) FROM {number(over='ORDER BY w DESC, bed')} WHERE 2 * r - 1 < 30",
    f"SELECT bed, COUNT(*), SUM(w) FROM {number(over='PARTITION BY bed ORDER BY w DESC')} WHERE r <= 20 GROUP BY bed"
    " ORDER BY bed",
    f"SELECT CASE WHEN r <= 10 THEN 'a' WHEN r <= 100 THEN 'b' ELSE 'c' END AS k, COUNT(*), SUM(w) FROM {number()}"
    " GROUP BY 1 ORDER BY 1",
    "SELECT COUNT(*), SUM(w) FROM (SELECT w FROM person ORDER BY w DESC LIMIT 100) AS t",
    "SELECT COUNT(*), SUM(x) FROM (SELECT w AS x, bed FROM person WHERE bed = 'x' ORDER BY x LIMIT 50 OFFSET 20) AS t",
    "WITH t AS (SELECT w FROM person ORDER BY 1 DESC FETCH FIRST 40 ROWS ONLY) SELECT COUNT(*), SUM(w) FROM t",
)


@pytest.mark.spread
@pytest.mark.parametrize("form", NUMBERED, ids=range(len(NUMBERED)))
def test_the_first_rows_of_people_are_the_engines_own(both: tuple[Session, object], form: str) -> None:
    """No two people have the same ``w``."""
    session, raw = both
    found = session.execute(form)
    assert [tuple(map(str, row)) for row in found.rows] == [
        tuple("None" if one is None else str(one) for one in row)
        for row in raw.execute(form).fetchall()  # type: ignore[attr-defined]
    ]
    assert NUMBERED_NOTE in found.notices


TOP = "SELECT pid, SUM(cost) AS s, ROW_NUMBER() OVER (ORDER BY SUM(cost) DESC) AS rn FROM visit GROUP BY pid"


@pytest.mark.parametrize(
    "form",
    [
        f"SELECT COUNT(*), SUM(s) FROM ({TOP}) AS t WHERE rn <= 100",
        f"SELECT COUNT(*), SUM(s) FROM ({SPENT} ORDER BY s DESC LIMIT 100) AS t",
        f"SELECT COUNT(*), SUM(s) FROM ({SPENT} ORDER BY SUM(cost) DESC LIMIT 100 OFFSET 100) AS t",
        f"SELECT COUNT(*) FILTER (WHERE rn <= 50), SUM(s) FILTER (WHERE rn <= 50) FROM ({TOP}) AS t",
    ],
)
def test_how_much_the_customers_who_spend_most_spend(both: tuple[Session, object], form: str) -> None:
    """Up to four customers spend as much as the one at such a rank."""
    session, raw = both
    ((people, spent),) = session.execute(form).rows
    ((known, known_spent),) = raw.execute(form).fetchall()  # type: ignore[attr-defined]
    assert abs(int(str(people)) - known) <= 4
    assert float(str(spent)) == pytest.approx(float(known_spent), abs=1000)


LISTED = (
    "SELECT COUNT(*), SUM(w) FROM person WHERE id IN (SELECT id FROM person ORDER BY w DESC LIMIT 100)",
    "SELECT COUNT(*), SUM(w) FROM person WHERE id = ANY (SELECT id FROM person ORDER BY w LIMIT 50 OFFSET 20)",
    "SELECT COUNT(*), SUM(w) FROM person WHERE id NOT IN (SELECT id FROM person WHERE bed = 'x' ORDER BY w LIMIT 50)",
    "SELECT bed, COUNT(*) FROM person p WHERE EXISTS (SELECT 1 FROM (SELECT id FROM person ORDER BY w LIMIT 99) t"
    " WHERE t.id = p.id) GROUP BY bed ORDER BY bed",
)
CUT_IN_VAIN = (
    "SELECT COUNT(*) FROM person p WHERE EXISTS (SELECT 1 FROM visit v WHERE v.pid = p.id ORDER BY cost DESC LIMIT 1)",
    "SELECT COUNT(*) FROM person p WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.pid = p.id AND cost > 5 LIMIT 3)",
)


@pytest.mark.parametrize("form", [*LISTED, *CUT_IN_VAIN])
def test_lists_of_first_rows_have_the_engines_own_rows(both: tuple[Session, object], form: str) -> None:
    session, raw = both
    found = session.execute(form)
    truth = raw.execute(form).fetchall()  # type: ignore[attr-defined]
    assert [tuple(map(str, row)) for row in found.rows] == [tuple(map(str, row)) for row in truth]
    assert (NUMBERED_NOTE in found.notices) is (form in LISTED)


@pytest.mark.parametrize(
    "form",
    [
        "SELECT COUNT(*) FROM person p WHERE EXISTS (SELECT 1 FROM visit v WHERE v.pid = p.id LIMIT 0)",
        "SELECT COUNT(*) FROM person p WHERE EXISTS (SELECT 1 FROM visit v WHERE v.pid = p.id ORDER BY cost LIMIT 1 OFFSET 1)",
        "SELECT COUNT(*) FROM person p WHERE id IN (SELECT v.pid FROM visit v WHERE v.pid = p.id ORDER BY cost LIMIT 1)",
    ],
)
def test_rows_that_are_counted_for_each_row_are_refused(both: tuple[Session, object], form: str) -> None:
    session, _ = both
    with pytest.raises(Error):
        session.execute(form)


@pytest.mark.parametrize("way", ["", " DESC"])
@pytest.mark.parametrize(
    ("offset", "count"), [(0, 1), (0, 130), (0, 131), (200, 170), (200, 171), (130, 1), (500, 900)]
)
def test_ties_of_the_last_row_are_first_rows(
    tied: tuple[Session, duckdb.DuckDBPyConnection], way: str, offset: int, count: int
) -> None:
    """The value that is passed over stands for all rows of it: so offsets are those of the parts."""
    session, raw = tied
    starts = [0, 130, 370, 371, 790] if not way else [0, 210, 629, 630, 870]
    offset = max(start for start in starts if start <= offset)
    ours = f"SELECT COUNT(*) FROM (SELECT w FROM person ORDER BY w{way} OFFSET {offset} FETCH NEXT {count} ROWS WITH TIES) t"
    theirs = (
        f"SELECT COUNT(*) FROM (SELECT RANK() OVER (ORDER BY w{way}) AS r FROM person) AS t"
        f" WHERE r > {offset} AND r <= {offset + count}"
    )
    assert [tuple(row) for row in session.execute(ours).rows] == raw.execute(theirs).fetchall()


def test_the_first_rows_in_an_order_have_a_value(both: tuple[Session, object]) -> None:
    session, _ = both
    sql = "SELECT COUNT(*) FROM (SELECT t FROM person{known} ORDER BY t DESC LIMIT 100) AS q"
    with pytest.raises(NotSupportedError, match="LIMIT over rows of people") as refused:
        session.execute(sql.format(known=""))
    assert "WHERE x IS NOT NULL ORDER BY x DESC LIMIT 100" in str(refused.value.hint)
    ((count,),) = session.execute(sql.format(known=" WHERE t IS NOT NULL")).rows
    assert 100 <= int(str(count)) <= 103


def test_shown_rows_of_people_are_no_ranks(both: tuple[Session, object]) -> None:
    session, _ = both
    assert session.execute("SELECT w FROM (SELECT w FROM person ORDER BY w DESC LIMIT 10) AS t").rows == ()


def test_a_quotient_of_parts_is_a_whole_number(both: tuple[Session, object]) -> None:
    session, raw = both
    sql = "SELECT COUNT(*) FROM (SELECT NTILE(10) OVER (ORDER BY w) AS q FROM person) AS t WHERE q {} <= 1"
    ((ours,),) = session.execute(sql.format("/ 2")).rows
    ((theirs,),) = raw.execute(sql.format("/ 2 - 0.5")).fetchall()  # type: ignore[attr-defined]
    assert abs(int(str(ours)) - theirs) <= 2, (ours, theirs)


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, duckdb.DuckDBPyConnection]]:
    """People of whom many have the same value, in parts that no quantile of a test divides evenly."""
    rows = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, w INTEGER NOT NULL)",
        "INSERT INTO person SELECT i, CASE WHEN i < 130 THEN 10 WHEN i < 370 THEN 20 WHEN i < 371 THEN 25 WHEN i < 790"
        " THEN 30 ELSE 40 END FROM range(1000) AS t(i)",
    ]
    raw = duckdb.connect()
    for statement in rows:
        raw.execute(statement)
    tables = "\n  person: {columns: {id: {}, w: {range: [0, 100]}}}\n"
    with closing(raw), case(tmp_path_factory.mktemp("tied"), rows, tables) as session:
        yield session, raw


@pytest.mark.parametrize("way", ["", " DESC"])
@pytest.mark.parametrize("kind", ["PERCENT_RANK", "CUME_DIST"])
def test_ties_are_on_the_side_where_the_engine_has_them(
    tied: tuple[Session, duckdb.DuckDBPyConnection], kind: str, way: str
) -> None:
    session, raw = tied
    cuts = ", ".join(f"COUNT(*) FILTER (WHERE r {sign} {at})" for at in (0.1, 0.3, 0.5, 0.6, 0.9) for sign in "<>")
    sql = f"SELECT {cuts} FROM (SELECT {kind}() OVER (ORDER BY w{way}) AS r FROM person) AS t"
    assert [tuple(row) for row in session.execute(sql).rows] == raw.execute(sql).fetchall()


DENSE = (
    *(
        f"SELECT COUNT(*), COUNT(*) FILTER (WHERE w > 15) FROM (SELECT w, DENSE_RANK() OVER (ORDER BY w{way}) AS r FROM person{{more}}) AS t WHERE r {test}"
        for way in ("", " DESC")
        for test in ("<= 1", "<= 3", "= 2", "BETWEEN 2 AND 4", "> 4", "<= 9", "IN (1, 5)")
    ),
)


@pytest.mark.parametrize("more", ["", " WHERE w <> 20"])
@pytest.mark.parametrize("form", DENSE, ids=range(len(DENSE)))
def test_a_dense_rank_counts_values(tied: tuple[Session, duckdb.DuckDBPyConnection], form: str, more: str) -> None:
    session, raw = tied
    sql = form.format(more=more)
    found = session.execute(sql)
    assert [tuple(map(str, row)) for row in found.rows] == [tuple(map(str, row)) for row in raw.execute(sql).fetchall()]
    assert DENSE_NOTE in found.notices
    assert any("values lie between value" in note or "values lie between each" in note for note in found.notices)


def test_a_dense_rank_of_a_part_counts_its_values(both: tuple[Session, object]) -> None:
    session, raw = both
    sql = (
        "SELECT bed, COUNT(*), SUM(w) FROM (SELECT bed, w, DENSE_RANK() OVER (PARTITION BY bed ORDER BY w DESC) AS r"
        " FROM person) AS t WHERE r <= 20 GROUP BY bed ORDER BY bed"
    )
    truth = raw.execute(sql).fetchall()  # type: ignore[attr-defined]
    assert [tuple(map(str, row)) for row in session.execute(sql).rows] == [tuple(map(str, row)) for row in truth]


PARETO = (
    f"SELECT COUNT(*) FILTER (WHERE r <= 0.2), SUM(s) FILTER (WHERE r <= 0.2) * 1.0 / SUM(s) FROM (SELECT s, PERCENT_RANK()"
    f" OVER (ORDER BY s DESC) AS r FROM ({SPENT}) AS x) AS t",
    f"SELECT COUNT(*) FILTER (WHERE r <= 0.2), SUM(s) FILTER (WHERE r <= 0.2) * 1.0 / SUM(s) FROM (SELECT s, CUME_DIST()"
    f" OVER (ORDER BY s DESC) AS r FROM ({SPENT}) AS x) AS t",
    f"WITH x AS ({SPENT}), t AS (SELECT s, NTILE(5) OVER (ORDER BY s DESC, pid) AS q FROM x) SELECT SUM(CASE WHEN q = 1 THEN"
    " 1 ELSE 0 END), SUM(CASE WHEN q = 1 THEN s ELSE 0 END) * 1.0 / SUM(s) FROM t",
    "SELECT COUNT(*) FILTER (WHERE q <= 2), SUM(s) FILTER (WHERE q <= 2) * 1.0 / SUM(s) FROM (SELECT pid, SUM(cost) AS s,"
    " NTILE(10) OVER (ORDER BY SUM(cost) DESC) AS q FROM visit GROUP BY pid) AS t",
    "SELECT COUNT(*) FILTER (WHERE r <= 0.2), SUM(s) FILTER (WHERE r <= 0.2) * 1.0 / SUM(s) FROM (SELECT pid, SUM(cost) AS s,"
    " PERCENT_RANK() OVER (ORDER BY SUM(cost) DESC) AS r FROM visit GROUP BY pid HAVING COUNT(*) > 0) AS t",
)


@pytest.mark.parametrize("form", PARETO)
def test_the_share_of_the_customers_who_spend_most(both: tuple[Session, object], form: str) -> None:
    session, raw = both
    ((people, part),) = session.execute(form).rows
    ((known, known_part),) = raw.execute(form).fetchall()  # type: ignore[attr-defined]
    assert float(str(people)) == pytest.approx(float(known), abs=6)
    assert float(str(part)) == pytest.approx(float(known_part), abs=0.02)


def test_first_rows_are_as_many_as_is_explained(tmp_path: Path) -> None:
    rows = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, w INTEGER NOT NULL)",
        "INSERT INTO person SELECT i, (i * 7919) % 20011 FROM range(20000) AS t(i)",
    ]
    tables = "\n  person: {columns: {id: {}, w: {range: [0, 20011]}}}\n"
    with case(tmp_path, rows, tables, epsilon=1, noise=True) as session:
        off: list[float] = []
        for number in range(20):
            found = session.execute(
                f"SELECT COUNT(*) FROM (SELECT w FROM person WHERE w > -{number + 1} ORDER BY w DESC LIMIT 500) AS t"
            )
            off.append(abs(int(str(found.rows[0][0])) - 500))
        (note,) = [one for one in found.notices if "where values lie evenly" in one]
        usual = int(note.split(";")[1].split()[0].replace(",", ""))
        assert usual < 100, note
        # The number of rows has noise of its own.
        assert sum(one <= usual + 10 for one in off) >= 18, (usual, off)


def test_parts_are_as_far_off_as_is_explained(tmp_path: Path) -> None:
    rows = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, w INTEGER NOT NULL)",
        "INSERT INTO person SELECT i, (i * 7919) % 20011 FROM range(20000) AS t(i)",
    ]
    tables = "\n  person: {columns: {id: {}, w: {range: [0, 20011]}}}\n"
    with case(tmp_path, rows, tables, epsilon=1, noise=True) as session:
        off: list[float] = []
        for number in range(6):
            found = session.execute(
                f"SELECT q, COUNT(*) FROM (SELECT NTILE(10) OVER (ORDER BY w) AS q FROM person WHERE w > -{number + 1}) AS t"
                " GROUP BY q ORDER BY q"
            )
            off += [abs(int(str(n)) - 2000) for _, n in found.rows]
        (note,) = [one for one in found.notices if "where values lie evenly" in one]
        usual = int(note.split(";")[1].split()[0].replace(",", ""))
        # A part lies between two quantiles, each of which is off.
        assert sum(one <= 2 * usual + 10 for one in off) >= 0.9 * len(off), (usual, off)
