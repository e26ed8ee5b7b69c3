"""In PostgreSQL no expression raises, whatever a row holds, and it has DuckDB's value, or NULL."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from decimal import Decimal

import pytest
from postgres_rows import GUARDED, SAME, Twins
from test_total import FIXED
from total_rows import Grammar, parse

from rewriter.dialect_postgres import POSTGRES
from rewriter.errors import Refused
from rewriter.total import compile_expression
from rewriter.types import Scalar


@pytest.fixture(scope="module")
def twins() -> Iterator[Twins]:
    with Twins() as opened:
        yield opened


HUGE = re.compile(r"e-?\d{3}|POWER|EXP|COT|SIN")


def same(one: Scalar | None, other: Scalar | None) -> bool:
    if isinstance(one, float | Decimal | int) and isinstance(other, float | Decimal | int) and isinstance(other, float):
        return math.isclose(float(one), other, rel_tol=1e-9, abs_tol=1e-130)
    return one == other


def check(text: str, twins: Twins) -> tuple[int, int]:
    """How many rows have a value in DuckDB, and how many of them in PostgreSQL too.

    Where doubles are extreme, in a row or in the text, it may be another value, but no error.
    """
    expected = twins.in_duckdb(compile_expression(parse(text), SAME).sql)
    value = compile_expression(parse(text), GUARDED, POSTGRES)
    found = twins.in_postgres(value.sql)
    for ours, theirs, moderate in zip(found, expected, twins.moderate, strict=True):
        if moderate and not HUGE.search(text):
            assert ours is None or same(ours, theirs), (text, ours, theirs)
        assert value.nullable or ours is not None, text
    return sum(row is not None for row in expected), sum(row is not None for row in found)


@pytest.mark.parametrize("text", FIXED)
def test_a_chosen_expression_never_raises_and_has_the_value_of_duckdb(text: str, twins: Twins) -> None:
    try:
        check(text, twins)
    except Refused as refused:
        assert "%" in text, refused


@pytest.mark.parametrize("seed", range(6))
def test_a_random_expression_never_raises_and_has_the_value_of_duckdb(seed: int, twins: Twins) -> None:
    grammar = Grammar(random.Random(seed), depth=2)
    known = kept = 0
    for _ in range(60):
        text = grammar.expression()
        try:
            in_duckdb, in_postgres = check(text, twins)
        except Refused:
            continue
        known, kept = known + in_duckdb, kept + in_postgres
    assert kept > 0.9 * known
