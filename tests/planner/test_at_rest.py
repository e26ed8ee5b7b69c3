"""What is kept of a statement has its own trees alone, which are planned with as the ones that they were made of."""

from __future__ import annotations

import pytest

from rewriter.at_rest import in_use
from rewriter.dialects.duckdb import DUCKDB
from rewriter.program import rewrite
from rewriter.refused import Refused
from rewriter.statement.parser import Select, parse
from tests.default_run import thinned
from tests.golden.pairs import Pair, clinic, pairs

ANSWERED = [pair for pair in pairs() if not pair.path.stem.startswith("refused_")]


@pytest.mark.parametrize("pair", thinned(ANSWERED, 4), ids=[pair.path.stem for pair in ANSWERED])
def test_no_tree_that_is_kept_is_part_of_another(pair: Pair) -> None:
    statement = parse(pair.sql)
    assert isinstance(statement, Select)
    try:
        program = rewrite(statement.tree, clinic(), DUCKDB, norms=(pair.norm,), others=pair.others, above=pair.above)
    except Refused:  # What is asked at an instant.
        return
    assert not [node for node in program.outer.kept.tree.walk() if node.parent is not None]
    for question in (plan.question for plan in program.plans if plan.question is not None):
        query = question.query  # type: ignore[attr-defined]
        assert not [node for tree in query.trees for node in tree.walk() if node.parent is not None]
        found = in_use(query)
        assert found == query
        assert [node for node in found.rows.walk() if node.parent is None] == [found.rows]
