"""Sums above releases keep their own types, whatever is asked of the sides of a UNION."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from rewriter.declared import BIGINT, INTEGER, TEXT
from rewriter.outer.operand_types import check_types
from rewriter.outer.to_duckdb import summed_types
from rewriter.refused import Refused

COLUMNS = {"t": {"n": INTEGER, "m": BIGINT, "word": TEXT}}


def test_what_was_asked_of_the_sides_is_not_taken_for_what_is_asked_of_sums() -> None:
    tree = parse_one(
        "SELECT SUM(n) AS n FROM (SELECT n, m FROM t UNION ALL SELECT n, m FROM t) AS u UNION ALL SELECT SUM(m) FROM t",
        read="duckdb",
    )
    check_types(tree, COLUMNS)
    sums = [node for node in tree.walk() if node.key == "sum"]
    found = summed_types(tree, sums, COLUMNS)
    assert [found[id(node)] for node in sums] == [INTEGER if node.this.name == "n" else BIGINT for node in sums]


@pytest.mark.parametrize("sides", ["n FROM t UNION SELECT word", "word FROM t EXCEPT SELECT n + 1"])
def test_a_number_and_a_text_are_no_sides_of_one_column(sides: str) -> None:
    with pytest.raises(Refused) as refused:
        check_types(parse_one(f"SELECT {sides} FROM t", read="duckdb"), COLUMNS)
    assert refused.value.sqlstate == "42804"
