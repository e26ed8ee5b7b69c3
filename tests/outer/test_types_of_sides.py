"""Sums above releases keep their own types, whatever is asked of the sides of a UNION."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import parse_one

from rewriter.declared import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, TEXT, TIMESTAMP, decimal
from rewriter.outer.operand_types import check_types
from rewriter.outer.to_duckdb import spelled, summed_types
from rewriter.refused import Refused
from rewriter.statement import output_name
from rewriter.statement.parser import Select, parse

COLUMNS = {"t": {"n": INTEGER, "m": BIGINT, "word": TEXT}}
MORE = {"t": {"n": INTEGER, "x": DOUBLE, "yes": BOOLEAN, "d": DATE, "ts": TIMESTAMP, "word": TEXT}}


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


@pytest.mark.parametrize(
    "condition",
    [
        "n = 'abc'", "'abc' < n", "n IN (1, 'abc')", "n BETWEEN '1' AND 'abc'", "n = '1.5'", "x = 'abc'",
        "yes = 'maybe'", "COUNT(*) > 'abc'", "COALESCE(n, 'abc') = 1",
    ],
)  # fmt: skip
def test_a_quoted_literal_is_a_value_of_the_type_beside_it(condition: str) -> None:
    with pytest.raises(Refused) as refused:
        check_types(parse_one(f"SELECT {condition} FROM t", read="postgres"), MORE)
    assert refused.value.sqlstate == "22P02"


@pytest.mark.parametrize(
    "condition",
    ["n = ' 12 '", "n = '-3'", "x = '1.5'", "x > '-Infinity'", "yes = 'off'", "word = 'abc'", "d > '2024-01-01'"],
)
def test_a_quoted_literal_that_is_such_a_value_is_answered(condition: str) -> None:
    check_types(parse_one(f"SELECT {condition} FROM t", read="postgres"), MORE)


RELEASED = {"dpsql_r0": {"n": BIGINT, "total": decimal(38, 0), "mean": DOUBLE}, "t": {"x": DOUBLE}}


@pytest.mark.parametrize(
    ("shown", "other"),
    [
        *((one, True) for one in ("mean::text", "mean || '%'", "CONCAT(total / 3)", "COALESCE(mean, 0)::text")),
        *((one, True) for one in ("(100.0 * n / 7)::text", "CASE WHEN n > 1 THEN mean END::text")),
        *((one, False) for one in ("mean", "ROUND(mean, 1)::text", "n::text", "total::text", "(n * 1.5)::text")),
        *((one, False) for one in ("(mean::float / 3)::text", "(n / 3)::text", "TO_CHAR(mean, 'FM990.0')")),
    ],
)
def test_a_mean_that_is_printed_may_have_other_digits(shown: str, other: bool) -> None:
    """PostgreSQL prints a NUMERIC with sixteen digits and more, and a double with those that tell it from others."""
    assert check_types(parse_one(f"SELECT {shown} FROM dpsql_r0", read="postgres"), RELEASED) is other
    deeper = f"SELECT x::text FROM (SELECT {shown} AS x FROM dpsql_r0) AS s"
    assert check_types(parse_one(deeper, read="postgres"), RELEASED) is (other or shown == "mean")
    assert not check_types(parse_one("SELECT x::text FROM t", read="postgres"), RELEASED)


@pytest.mark.parametrize("field", ["HOUR", "minute", "SECOND", "microseconds"])
def test_a_date_has_no_time_of_day(field: str) -> None:
    with pytest.raises(Refused, match="a date has no") as refused:
        check_types(parse_one(f"SELECT EXTRACT({field} FROM d) FROM t", read="postgres"), MORE)
    assert refused.value.sqlstate == "0A000"
    check_types(parse_one(f"SELECT EXTRACT({field} FROM ts), EXTRACT(DAY FROM d) FROM t", read="postgres"), MORE)


@pytest.mark.parametrize("field", ["hour", "MINUTE", "second", "microseconds"])
def test_date_part_reads_a_date_as_a_timestamp(field: str) -> None:
    read = parse(f"SELECT DATE_PART('{field}', d) FROM t")
    assert isinstance(read, Select)
    check_types(read.tree, MORE)
    assert [output_name(one) for one in read.tree.expressions] == ["date_part"]


@pytest.mark.parametrize("name", ["ABS", "CEIL", "FLOOR", "ROUND", "SIGN", "TRUNC"])
def test_a_quoted_number_is_a_double_to_functions_of_one_number(name: str) -> None:
    tree = parse_one(f"SELECT {name}('-1.5') FROM t", read="postgres")
    shown = spelled(tree, MORE).sql("duckdb")
    assert duckdb.execute(shown.replace(" FROM t", "")).fetchone() == (OF_ONE[name],)


OF_ONE = {"ABS": 1.5, "CEIL": -1, "FLOOR": -2, "ROUND": -2, "SIGN": -1, "TRUNC": -1}
