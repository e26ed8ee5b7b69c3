"""A row that is chosen by a share of the number of rows: without noise it is the engine's own, or the one beside it."""

from __future__ import annotations

import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from rewriter.query.row_at_share import SHARE_NOTE
from tests.relations.test_windows_of_people import both

__all__ = ["both"]

WOMEN = "person p JOIN visit v ON v.pid = p.id WHERE p.bed = 'x'"
FORMS = (
    "SELECT w FROM person ORDER BY w LIMIT 1 OFFSET (SELECT COUNT(*) / 4 FROM person)",
    "SELECT w AS x FROM person ORDER BY x DESC LIMIT 1 OFFSET (SELECT COUNT(*) / 10 FROM person AS other)",
    "SELECT q.w FROM person q WHERE q.bed = 'x' ORDER BY 1 LIMIT 1"
    " OFFSET (SELECT CAST(FLOOR(COUNT(*) * 0.9) AS INT) FROM person WHERE bed = 'x')",
    "SELECT w FROM person ORDER BY w OFFSET ((SELECT COUNT(w) FROM person) / 3) ROWS FETCH FIRST ROW ONLY",
    f"SELECT v.cost FROM {WOMEN} ORDER BY v.cost LIMIT 1 OFFSET (SELECT (COUNT(*) - 1) / 2 FROM {WOMEN})",
    "SELECT AVG(w) FROM (SELECT w FROM person ORDER BY w LIMIT 2 - MOD((SELECT COUNT(*) FROM person), 2)"
    " OFFSET (SELECT (COUNT(*) - 1) / 2 FROM person)) AS t",
    "SELECT COUNT(*) FROM person WHERE w > (SELECT w FROM person ORDER BY w LIMIT 1 OFFSET"
    " (SELECT 3 * COUNT(*) / 4 FROM person))",
    "WITH t AS (SELECT w AS x FROM person WHERE bed = 'y') SELECT x FROM t ORDER BY x LIMIT 1"
    " OFFSET (SELECT COUNT(*) / 2 FROM t)",
)


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_a_row_at_a_share_of_the_rows_is_a_quantile(both: tuple[Session, object], form: str) -> None:
    session, raw = both
    ((truth,),) = raw.execute(form).fetchall()  # type: ignore[attr-defined]
    found = session.execute(form)
    assert float(str(found.rows[0][0])) == pytest.approx(float(truth), abs=6)
    assert SHARE_NOTE in found.notices


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT w FROM person ORDER BY w LIMIT 1 OFFSET (SELECT COUNT(*) / 4 FROM visit)",
        "SELECT w FROM person ORDER BY w LIMIT 1 OFFSET (SELECT COUNT(*) / 4 FROM person WHERE w > 3)",
        "SELECT w, bed FROM person ORDER BY w LIMIT 1 OFFSET (SELECT COUNT(*) / 4 FROM person)",
        "SELECT w FROM person ORDER BY bed LIMIT 1 OFFSET (SELECT COUNT(*) / 4 FROM person)",
        "SELECT w FROM person ORDER BY w LIMIT 1 OFFSET (SELECT 2 * COUNT(*) FROM person)",
        "SELECT w FROM person ORDER BY w LIMIT 1 OFFSET (SELECT COUNT(*) * COUNT(*) FROM person)",
        "SELECT w FROM person ORDER BY w LIMIT (SELECT COUNT(*) / 4 FROM person)",
        "SELECT w FROM person ORDER BY w LIMIT 1 OFFSET (SELECT MAX(w) FROM person)",
        "SELECT w FROM person ORDER BY w OFFSET ((SELECT COUNT(*) FROM person) / 4) ROWS FETCH FIRST 1 ROW WITH TIES",
        "SELECT w FROM person ORDER BY w LIMIT 2 - MOD((SELECT COUNT(*) FROM person), 2)"
        " OFFSET (SELECT (COUNT(*) - 1) / 2 FROM person)",
    ],
)
def test_no_empty_table_stands_for_rows_that_are_chosen_by_a_count(both: tuple[Session, object], sql: str) -> None:
    session, _ = both
    with pytest.raises(Error, match="LIMIT and OFFSET by a number of rows would pick people") as refused:
        session.execute(sql)
    assert "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY x)" in str(refused.value)
    quantile = "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY w)"
    assert session.execute(f"SELECT {quantile} FROM person").rows[0][0] is not None
