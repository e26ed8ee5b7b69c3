"""In Spark no expression raises, whatever a row holds, and it has DuckDB's value, or NULL, or is refused."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import exp

sys.path.insert(0, str(Path(__file__).parents[1] / "expressions"))

from test_total import FIXED

from dpsql.engines.spark.spark_session import SparkLine, connect
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.java_patterns import java_pattern
from rewriter.dialects.spark import SPARK
from rewriter.expressions.compile import compile_expression
from rewriter.refused import Refused
from tests.engines.spark_rows import OURS, THEIRS, SparkTwins
from tests.engines.spark_server import shared_spark
from tests.properties.every_function import EVERY
from tests.properties.total_rows import parse

# Of a double's digits beyond the 17th, each engine has its own.
OWN_DIGITS = {"x::numeric(38,30)"}
TOGETHER = 40
"""Expressions of one query."""


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SparkTwins, SparkLine]]:
    server = shared_spark()
    made = SparkTwins(server, tmp_path_factory.mktemp("twins"))
    line = connect(server.url.removeprefix("spark:"))
    line.begin()
    yield made, line
    line.close()


def compiled() -> list[tuple[str, exp.Expr, exp.Expr]]:
    """Every expression that both engines answer."""
    found = []
    for text in (text for text in FIXED + EVERY if text not in OWN_DIGITS):
        try:
            ours = compile_expression(parse(text), OURS, SPARK).sql
            SPARK.sql(ours)
            found.append((text, ours, compile_expression(parse(text), THEIRS, DUCKDB).sql))
        except Refused:
            continue
    return found


COMPILED = compiled()


def same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-300) or (math.isnan(one) and math.isnan(other))
    return one is None or one == other


def test_few_expressions_are_refused() -> None:
    assert len(COMPILED) > 0.85 * len([text for text in FIXED + EVERY if "h" not in text])


@pytest.mark.spark
@pytest.mark.parametrize("place", range(0, len(COMPILED), TOGETHER))
def test_every_function_is_equal_or_null_and_never_raises(twins: tuple[SparkTwins, SparkLine], place: int) -> None:
    made, line = twins
    some = COMPILED[place : place + TOGETHER]
    expected = made.in_duckdb([theirs for _, _, theirs in some])
    found = made.in_spark(line, [ours for _, ours, _ in some])
    for text, ours, theirs in zip(
        (one for one, *_ in some), zip(*found, strict=True), zip(*expected, strict=True), strict=True
    ):
        wrong = [pair for pair in zip(ours, theirs, strict=True) if not same(*pair)]
        assert not wrong, text
        missing = sum(one is None for one in ours) - sum(one is None for one in theirs)
        assert missing <= len(ours) // 4, text


@pytest.mark.quick
@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "(a|aa)*b", "(a*)*", ".*a.*b.*c", "(?:a+){2,}", "[[:alpha:]]+", "[a&&b]", r"\s"]
)
def test_a_pattern_that_takes_long_is_refused(pattern: str) -> None:
    with pytest.raises(Refused):
        java_pattern(pattern)


FORMATS = ("[YYYY] {MM} #DD", "HH12:MI:SS.MS AM pm", "DAY, FMDD mon YY", "FMDDD US Month FMHH24", '"o\'clock" HH24')


@pytest.mark.spark
def test_times_are_printed_as_duckdb_prints_them(twins: tuple[SparkTwins, SparkLine]) -> None:
    made, line = twins
    texts = ["TO_CHAR(p, '{}')".format(one.replace("'", "''")) for one in FORMATS]
    ours, theirs = (
        [compile_expression(parse(text), columns, dialect).sql for text in texts]
        for columns, dialect in ((OURS, SPARK), (THEIRS, DUCKDB))
    )
    assert made.in_spark(line, ours) == made.in_duckdb(theirs)


@pytest.mark.quick
@pytest.mark.parametrize("sql", ["x::text", "b * b / i", "t LIKE u"])
def test_what_spark_says_in_another_way_is_refused(sql: str) -> None:
    with pytest.raises(Refused):
        compile_expression(parse(sql), OURS, SPARK)


@pytest.mark.quick
@pytest.mark.parametrize("field", ["IYYY", "IW", "WW", "W", "ID", "D", "Q"])
def test_a_field_of_times_that_java_writes_in_another_way_is_refused(field: str) -> None:
    with pytest.raises(Refused, match="this field"):
        SPARK.sql(compile_expression(parse(f"TO_CHAR(p, '{field}')"), OURS, SPARK).sql)
