"""What is kept of a statement has no trees, and is planned with as what it was made of."""

from __future__ import annotations

import gc

import pytest
from sqlglot import exp

from rewriter.at_rest import AtRest
from rewriter.dialects.duckdb import DUCKDB
from rewriter.program import rewrite
from rewriter.refused import Refused
from rewriter.statement.parser import Select, parse
from tests.default_run import thinned
from tests.golden.pairs import Pair, clinic, pairs

ANSWERED = [pair for pair in pairs() if not pair.path.stem.startswith("refused_")]


@pytest.mark.parametrize("pair", thinned(ANSWERED, 4), ids=[pair.path.stem for pair in ANSWERED])
def test_what_is_at_rest_is_in_use_again_as_it_was(pair: Pair) -> None:
    statement = parse(pair.sql)
    assert isinstance(statement, Select)
    try:
        program = rewrite(statement.tree, clinic(), DUCKDB, norms=(pair.norm,), others=pair.others, above=pair.above)
    except Refused:  # What is asked at an instant.
        return
    _check_same(program.outer.tree, program.outer.kept.tree)
    for question in (plan.question for plan in program.plans if plan.question is not None):
        query = question.query  # type: ignore[attr-defined]
        again = AtRest.of(query).in_use
        assert again == query
        for one, other in zip(query.trees, again.trees, strict=True):
            _check_same(one, other)


def _check_same(tree: exp.Expr, again: exp.Expr) -> None:
    """Equal to the last fact and note, and made of other nodes."""
    assert tree is not again
    for one, other in zip(tree.walk(), again.walk(), strict=True):
        assert (type(one), one.arg_key, one.index, one._meta) == (type(other), other.arg_key, other.index, other._meta)
        assert one is not other
        assert list(one.args) == list(other.args)
        facts = ((value, other.args[name]) for name, value in one.args.items() if name.startswith("fact "))
        assert all(fact is same for fact, same in facts)
        assert [node.parent for node in other.iter_expressions()] == [other] * len(list(other.iter_expressions()))


def test_no_node_is_kept() -> None:
    tree = exp.select("x", "y").from_("t").where("x IN (1, 2, NULL)")
    kept, seen = [AtRest.of((tree, tree))], set[int]()
    while kept:
        one = kept.pop()
        assert not isinstance(one, exp.Expr)
        if id(one) not in seen and not isinstance(one, type):
            seen.add(id(one))
            kept += gc.get_referents(one)
