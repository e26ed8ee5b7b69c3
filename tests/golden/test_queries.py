"""Each accepted and each refused form, with the SQL or the refusal that it is expected to become."""

from __future__ import annotations

import duckdb
import pytest

from rewriter.declared.catalog import Catalog
from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.golden.pairs import FOLDER, Pair, clinic, pairs

PAIRS = pairs()


@pytest.fixture(scope="module")
def known() -> Catalog:
    return clinic()


@pytest.fixture(scope="module")
def empty() -> duckdb.DuckDBPyConnection:
    """The clinic before its first patient."""
    connection = duckdb.connect(":memory:")
    connection.execute((FOLDER / "clinic.sql").read_text(encoding="utf-8"))
    return connection


@pytest.mark.parametrize("pair", PAIRS, ids=[pair.path.stem for pair in PAIRS])
def test_a_query_becomes_what_was_read_and_approved(pair: Pair, known: Catalog) -> None:
    assert pair.rendered(known) == pair.expected, "python -m tests.golden.update, and read the diff"


@pytest.mark.parametrize("pair", PAIRS, ids=[pair.path.stem for pair in PAIRS])
def test_its_name_tells_whether_it_is_refused(pair: Pair) -> None:
    assert pair.path.stem.startswith("refused_") == pair.expected.startswith("-- refused: "), pair.expected[:200]
    if pair.expected.startswith("-- refused: "):
        assert pair.expected.strip().partition(" | ")[2], "a refusal says what would work"


@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.campaign)])
def test_every_planned_query_runs_on_an_empty_database(
    turn: int, known: Catalog, empty: duckdb.DuckDBPyConnection
) -> None:
    """Each in one norm, which is turned over from one query to the next."""
    ran, norms = 0, list(Norm)
    for number, pair in enumerate(PAIRS):
        norm = norms[(number + turn) % len(norms)]
        try:
            statement = parse(pair.sql)
            releases = ()
            if isinstance(statement, Select):
                releases = split(statement.tree, known, DUCKDB, with_others=pair.others).groupings
            plans = [plan(query, norm, DUCKDB) for query in releases]
        except Refused:
            continue
        for one in plans:
            for choice in one.choices:
                assert not empty.execute(choice.sql).fetchall(), pair.path.stem
            if not one.sql:
                continue
            rows = empty.execute(one.sql).fetchall()
            assert one.selection is None or not rows, pair.path.stem
            assert all(cell == 0 for row in rows for cell in row[len(one.keys) :]), pair.path.stem
            ran += 1
    assert ran > 30
