"""Words and constants that the parser would read otherwise than PostgreSQL does."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewriter.statement.parser import Select, parse


@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        (
            "a - INTERVAL '1 month' + INTERVAL '1 day 2 hours'",
            "(a - INTERVAL '1 MONTH') + CAST('1 day 2 hours' AS INTERVAL)",
        ),
        ("2 * INTERVAL '1 day' + INTERVAL '01:00'", "(2 * INTERVAL '1 DAY') + CAST('01:00' AS INTERVAL)"),
        ("a - INTERVAL '1' MONTH + '2 days'::interval", "(a - INTERVAL '1 MONTH') + CAST(('2 days') AS INTERVAL)"),
        ("a - INTERVAL '1 month' + 2 * INTERVAL '1 day'", "(a - INTERVAL '1 MONTH') + (2) * INTERVAL '1 DAY'"),
    ],
)
def test_a_plus_behind_an_interval_binds_as_any_other(text: str, spelt: str) -> None:
    """The parser would take a constant behind it for another part of the interval."""
    read = parse(f"SELECT {text} FROM t")
    assert isinstance(read, Select)
    (added,) = read.tree.expressions
    assert isinstance(added, exp.Add)
    assert f"({added.this.sql('postgres')}) + {added.expression.sql('postgres')}" == spelt
