"""Notices and refusals about ranks say the analyst's own words, and no name that a rule has made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dpsql
from tests.inference.test_undeclared_cells import write


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    with dpsql.connect(write(tmp_path_factory.mktemp("ranks"))) as connected:
        yield connected


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (
            "SELECT SUM(s) FROM (SELECT person_id, COUNT(*) AS s FROM visit GROUP BY person_id"
            " ORDER BY s DESC LIMIT 100) t",
            "row 100 of ORDER BY s DESC was released first",
        ),
        (
            "SELECT AVG(age) FROM (SELECT age, ROW_NUMBER() OVER (ORDER BY age) AS rn FROM person) q WHERE rn <= 100",
            "row 100 of ORDER BY age was released first",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT person_id, NTILE(4) OVER (ORDER BY COUNT(*)) AS tile FROM visit"
            " GROUP BY person_id) q"
            " WHERE tile = 1",
            "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY count) was released first",
        ),
    ],
)
def test_notices_have_no_made_names(connection: dpsql.Connection, sql: str, told: str) -> None:
    said = "\n".join(connection.execute(sql).notices)
    assert told in said
    for made in ("grouped", "limited", '"v1"', "v1", "PERCENTILE_DISC(row", '"e0"'):
        assert made not in said


def test_a_refusal_names_the_row_and_the_order(connection: dpsql.Connection) -> None:
    with pytest.raises(dpsql.NotSupportedError, match="row 3 of ORDER BY id has no bounds"):
        connection.execute("SELECT AVG(age) FROM (SELECT id, age FROM person ORDER BY id LIMIT 3) q")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM({0}) FROM (SELECT person_id, COUNT(*) AS {0} FROM visit GROUP BY person_id ORDER BY {0} LIMIT 90) t",
        "SELECT COUNT(*) FROM (SELECT person_id, COUNT(*) AS {0}, NTILE(4) OVER (ORDER BY COUNT(*)) AS tile FROM visit"
        " GROUP BY person_id) t WHERE tile = 3",
        "SELECT PERCENTILE_DISC(0.4) WITHIN GROUP (ORDER BY {0}) FROM (SELECT person_id, COUNT(*) AS {0} FROM visit"
        " GROUP BY person_id) t",
        "SELECT MODE() WITHIN GROUP (ORDER BY {0}) FROM (SELECT person_id, MAX(reason) AS {0} FROM visit"
        " GROUP BY person_id) t",
    ],
)
def test_the_same_pick_under_another_name_is_bought_once(connection: dpsql.Connection, sql: str) -> None:
    first = connection.execute(sql.format("n"))
    spent, rows = _spent(connection), first.fetchall()
    assert connection.execute(sql.format("visits")).fetchall() == rows
    assert _spent(connection) == spent


def _spent(connection: dpsql.Connection) -> object:
    return connection.execute("SELECT spent_epsilon FROM dpsql.budget").fetchall()
