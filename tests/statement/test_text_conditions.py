"""Texts are conditions where one is wanted, as PostgreSQL's boolean input reads them."""

import pytest

from rewriter.statement import Select, parse, plain_texts


@pytest.mark.parametrize(
    ("condition", "read"),
    [
        ("'true'", "TRUE"),
        ("(' YES ')", "(TRUE)"),
        ("x > 1 AND 'of'", "x > 1 AND FALSE"),
        ("NOT ('0') OR x", "NOT (FALSE) OR x"),
        ("'maybe'", "'maybe'"),
        ("'o'", "'o'"),
        ("x = 'true'", "x = 'true'"),
        ("x IN ('true', 'false')", "x IN ('true', 'false')"),
        ("COALESCE(x, 'true')", "COALESCE(x, 'true')"),
        ("1", "1"),
    ],
)
def test_a_text_is_read_where_a_condition_is_wanted(condition: str, read: str) -> None:
    statement = parse(f"SELECT 'true' FROM t WHERE {condition}")
    assert isinstance(statement, Select)
    assert plain_texts(statement.tree).sql("postgres") == f"SELECT 'true' FROM t WHERE {read}"
