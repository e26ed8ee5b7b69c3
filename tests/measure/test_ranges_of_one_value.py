"""A column that is declared to have one value: whatever its rows hold, that value is what is added up."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Proxy
from tests.doubles import open_without_noise
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:people.ledger; privacy_unit: person.id
budget: {epsilon: 100000, delta: 1e-6}; statement: {epsilon: 1, max_epsilon: 10}
tables:
  person: id, zero 0..0, five 5..5, price 2.5..2.5, real -3..-3, day 2020-01-01..2020-01-01, wide -1e300..1e300,
      whole -1e15..1e15
""")
VALUE = {"zero": 0.0, "five": 5.0, "price": 2.5, "real": -3.0}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder: Path = tmp_path_factory.mktemp("one_value")
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, zero INTEGER, five BIGINT, price NUMERIC(8, 2), real DOUBLE,"
            " day DATE, wide DOUBLE, whole NUMERIC(20, 2))"
        )
        connection.execute(
            "INSERT INTO person SELECT i, i, i * 3, i / 7, i - 50, DATE '2020-01-01' + i::INTEGER, i * 1e290, i"
            " FROM range(200) t(i)"
        )
    (folder / "policy.yaml").write_text(POLICY)
    with closing(open_without_noise(folder / "policy.yaml")) as found:
        yield found


@pytest.mark.parametrize("column", VALUE)
def test_values_are_moved_to_the_one_that_is_declared(proxy: Proxy, column: str) -> None:
    def told(aggregate: str) -> float:
        return float(proxy.session().execute(f"SELECT {aggregate} FROM person").rows[0][0])  # type: ignore[arg-type]

    value = VALUE[column]
    assert told(f"SUM({column})") == pytest.approx(200 * value, abs=1e-6)
    assert told(f"SUM({column}) FILTER (WHERE id > 99)") == pytest.approx(100 * value, abs=1e-6)
    for mean in ("AVG", "MEDIAN", "MIN", "MAX"):
        assert told(f"{mean}({column})") == pytest.approx(value, abs=1e-2), mean
    for spread in (f"VAR_POP({column})", f"COVAR_POP({column}, {column})", f"REGR_SXX({column}, {column})"):
        assert told(spread) == pytest.approx(0, abs=1e-2), spread


def test_the_notice_names_the_range_that_is_declared(proxy: Proxy) -> None:
    assert "zero is clipped into [0, 0]" in proxy.session().execute("SELECT SUM(zero) FROM person").notices


@pytest.mark.spread
@pytest.mark.parametrize("column", ["zero", "five", "price", "real", "day", "wide", "whole"])
@pytest.mark.parametrize("epsilon", ["1", "0.000001"])
def test_no_figure_of_an_extreme_range_is_our_error(proxy: Proxy, column: str, epsilon: str) -> None:
    """Each is asked, explained, and explained again where its own numbers are in the store."""
    session = proxy.session()
    session.execute(f"SET dpsql.epsilon = {epsilon}")
    one = ("SUM", "AVG", "STDDEV", "VAR_POP", "MEDIAN", "MIN", "MAX", "COUNT")
    forms = [f"{word}({column})" for word in one]
    forms += [
        f"{word}({column}, {other})" for word in ("CORR", "COVAR_POP", "REGR_SLOPE") for other in (column, "wide")
    ]
    forms += [f"dpsql.over_blocks({word}({column}))" for word in ("AVG", "STDDEV")]
    forms += [
        f"dpsql.over_blocks(CORR({column}, wide))",
        f"SUM({column} * {column})",
        f"LINREGR({column}, ARRAY[1, wide])",
    ]
    bad = []
    for form in forms:
        for sql in (f"SELECT {form} FROM person", f"SELECT five, {form} FROM person GROUP BY five"):
            for statement in (sql, f"EXPLAIN {sql}", sql, f"EXPLAIN (FORMAT JSON) {sql}"):
                try:
                    session.execute(statement)
                except Error as refused:
                    bad += [statement] if refused.sqlstate == "XX000" else []
    assert bad == []
