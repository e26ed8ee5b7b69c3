"""What is known of a node goes with every copy of it, and changes neither its text nor what it equals."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from sqlglot import exp

import rewriter
from rewriter.declared.types import INTEGER, TEXT
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.fact import Fact
from rewriter.dialects.nodes import duplicate
from rewriter.expressions.compile import compile_expression
from rewriter.expressions.value import DOMAIN, LIMITS, LITERAL, Value
from rewriter.refused import Refused
from tests.properties.every_function import EVERY
from tests.properties.postgres_rows import SAME
from tests.properties.total_rows import parse

KINDS: tuple[Fact[object], ...] = (DOMAIN, LIMITS, LITERAL)  # type: ignore[assignment]


def rebuilt(node: exp.Expr) -> exp.Expr:
    return type(node)(
        **{name: rebuilt(part) if isinstance(part, exp.Expr) else part for name, part in node.args.items()}
    )


def known(node: exp.Expr) -> list[tuple[object, ...]]:
    return [tuple(kind.of(part) for kind in KINDS) for part in node.walk()]


@pytest.mark.parametrize("copied", [deepcopy, duplicate, rebuilt], ids=["copy", "duplicate", "rebuilt"])
def test_copies_know_what_their_nodes_know(copied: Callable[[exp.Expr], exp.Expr]) -> None:
    found = 0
    for text in EVERY:
        node = compile_expression(parse(text), SAME, DUCKDB).sql.copy()
        try:
            copy = copied(node)
        except Refused:  # too large to be copied
            continue
        assert known(copy) == known(node)
        assert copy == node
        found += any(any(facts) for facts in known(node))
    assert found > 100


def test_facts_of_one_kind_do_not_tell_nodes_apart() -> None:
    one, other = (LIMITS.on(exp.column("x"), limits) for limits in ((0, 1), (0, 2)))
    assert one == other
    assert one.sql("duckdb") == other.sql("postgres") == "x"


def test_a_text_has_a_size_and_nothing_else_has() -> None:
    with pytest.raises(TypeError):
        replace(Value.unknown(exp.column("t"), TEXT), size=None)
    with pytest.raises(TypeError):
        replace(Value.unknown(exp.column("i"), INTEGER), size=compile_expression(parse("t"), SAME, DUCKDB).size)


@pytest.mark.parametrize("fact", ["interval", "nullable", "constant", "domain"])
def test_a_fact_that_bounds_and_keys_follow_from_is_said_of_every_value(fact: str) -> None:
    known = {"interval": None, "nullable": True, "constant": False, "domain": None}
    Value(exp.column("i"), INTEGER, **known)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=fact):
        Value(exp.column("i"), INTEGER, **{name: said for name, said in known.items() if name != fact})  # type: ignore[arg-type]


def test_another_expression_of_the_same_values_is_no_literal() -> None:
    value = compile_expression(parse("5"), SAME, DUCKDB)
    column = value.carried_by(exp.column("c0"))
    assert (value.literal, value.limits) != (None, None)
    assert (column.literal, column.limits) == (None, None)


@pytest.mark.quick
def test_only_positions_are_read_from_the_notes_of_the_parser() -> None:
    files = {path.name for path in Path(rewriter.__path__[0]).rglob("*.py") if ".meta" in path.read_text()}
    assert files == {"text_positions.py"}
