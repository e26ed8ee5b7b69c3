"""Trees that are handed from room to room are changed by nobody but who made them, so what they are is found once."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewriter.declared.catalog import Catalog
from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.once import Changed, distrusting, remembering
from rewriter.planner.canonical_sql import canonical
from rewriter.program import rewrite
from rewriter.refused import Refused
from rewriter.statement.parser import Select, parse
from tests.default_run import thinned
from tests.golden.pairs import Pair, clinic, pairs

PAIRS = [pair for pair in pairs() if not pair.path.stem.startswith("refused_")]


@pytest.fixture(scope="module")
def known() -> Catalog:
    return clinic()


def _print(tree: exp.Expr) -> list[tuple[str, str, int | None]]:
    """A tree as it stands: its nodes, their texts, and whom each is a part of."""
    nodes = list(tree.walk())
    places = {id(node): place for place, node in enumerate(nodes)}
    return [(type(node).__name__, repr(node), places.get(id(node.parent))) for node in nodes]


@pytest.mark.parametrize("pair", thinned(PAIRS, 3), ids=[pair.path.stem for pair in PAIRS])
def test_no_tree_is_changed_after_it_was_asked(pair: Pair, known: Catalog) -> None:
    """Every remembered result is found again, and is the same: of each form of statement, with all that is planned."""
    statement = parse(pair.sql)
    if not isinstance(statement, Select):
        return
    before = _print(statement.tree)
    with distrusting():
        try:
            program = rewrite(statement.tree, known, DUCKDB, norms=tuple(Norm), others=pair.others, above=pair.above)
        except Refused:  # What is answered in one norm alone.
            program = None
    assert _print(statement.tree) == before
    if program is not None:
        assert (
            rewrite(statement.tree, known, DUCKDB, norms=tuple(Norm), others=pair.others, above=pair.above).options
            == program.options
        )


def test_a_tree_that_is_changed_after_it_was_asked_is_found() -> None:
    tree = exp.select("x").from_("t")
    with remembering(), distrusting():
        assert DUCKDB.sql(tree) == "SELECT x FROM t"
        tree.set("distinct", exp.Distinct())
        with pytest.raises(Changed):
            DUCKDB.sql(tree)


def test_each_tree_has_its_own_text() -> None:
    rows, other = exp.column("x", "t7"), exp.column("x", "t8")
    with remembering():
        assert canonical([rows], [other, rows]) == ("t1.x", ["t2.x", "t1.x"])
        assert canonical([other], [rows, other]) == ("t1.x", ["t2.x", "t1.x"])
        assert canonical([other, rows], [rows]) == ("t1.x\nt2.x", ["t2.x"])


def test_nothing_is_remembered_of_another_rewrite() -> None:
    tree = exp.column("x")
    with remembering():
        assert DUCKDB.sql(tree) == "x"
    tree.set("this", exp.to_identifier("y"))
    with remembering():
        assert DUCKDB.sql(tree) == "y"
