"""Sizes of released figures, read again for a price: what is no finite number says nothing."""

from __future__ import annotations

import itertools
import math
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from dpsql.inference import estimates
from dpsql.price import expected_error
from dpsql.proxy import Proxy
from dpsql.releases import NoisyTable, ReleasedTable
from rewriter.plan import Plan
from tests.new_databases import new_database

POLICY = """
database: duckdb:people.duckdb
ledger: sqlite:people.ledger
privacy_unit: person.id
budget: {epsilon: 100000, delta: 1e-6}
tables: {person: {columns: {id: {}, g: {values: [0, 1, 2]}, x: {range: [0, 100]}}}}
"""
ODD = (
    math.nan,
    math.inf,
    -math.inf,
    Decimal("NaN"),
    Decimal("Infinity"),
    10**400,
    Decimal("1e400"),
    None,
    "NaN",
    0,
    0.0,
)


@pytest.mark.parametrize("word", ["STDDEV(x)", "SUM(x)", "MEDIAN(x)", "CORR(x, x)"])
def test_a_figure_that_is_no_number_does_not_end_its_statement(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_database(tmp_path / "people.duckdb") as connection:
        connection.execute(
            "CREATE TABLE person AS SELECT i::INTEGER AS id, i % 3 AS g, i % 90 AS x FROM range(300) t(i)"
        )
        connection.execute("ALTER TABLE person ADD PRIMARY KEY (id)")
    (tmp_path / "policy.yaml").write_text(POLICY)
    sql = f"SELECT g, {word} AS x FROM person GROUP BY g"
    with closing(Proxy.open(tmp_path / "policy.yaml")) as proxy:
        session = proxy.session()
        assert session.execute(sql).rows
        for value, how_many in itertools.product(ODD, (1, 2, 3)):
            monkeypatch.setattr(expected_error, "infer", partial(with_odd, value, how_many))
            for asked in (f"EXPLAIN {sql}", f"EXPLAIN (FORMAT JSON) {sql}"):
                assert session.execute(asked).rows, (value, how_many)


def with_odd(value: object, how_many: int, table: NoisyTable, plan: Plan) -> ReleasedTable:
    """What is inferred, with an odd figure in the first groups."""
    found = estimates.infer(table, plan)
    columns = [replace(one, values=[value] * how_many + list(one.values)[how_many:]) for one in found.columns]
    return replace(found, columns=tuple(columns))
