"""Values as steps of a lattice: what is far beyond a declared range is clipped, and raises nothing."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dpsql.testing import measure


@pytest.mark.quick
def test_decimals_far_beyond_their_range_are_clipped_and_not_narrowed(tmp_path: Path) -> None:
    """What is counted in steps of few digits is what clipping left: a price of 33 digits is the end of the range."""
    with duckdb.connect(str(tmp_path / "far.duckdb")) as connection:
        connection.execute("CREATE TABLE sale (id INT PRIMARY KEY, price DECIMAL(18, 2), share DECIMAL(15, 2))")
        connection.execute(
            "INSERT INTO sale SELECT n, CASE n % 4 WHEN 0 THEN 9999999999999999.99 WHEN 1 THEN -9999999999999999.99"
            " WHEN 2 THEN 100.25 ELSE NULL END, CASE WHEN n % 3 = 0 THEN 9999999999999.99 ELSE 0.5 END FROM range(1200) a(n)"
        )
    (tmp_path / "far.yaml").write_text(
        "database: duckdb:far.duckdb\nledger: sqlite:ledger\nprivacy_unit: sale.id\nbudget: {epsilon: 10, delta: 1e-6}\n"
        "tables: {sale: {columns: {id: {}, price: {range: [0, 5000]}, share: {range: [0, 1]}}}}\n"
    )
    (found,) = measure("SELECT SUM(price * (1 - share)) FROM sale", tmp_path / "far.yaml")
    ((name, step),) = found.granularity.items()
    (total,) = found.groups.values()
    # 1 - 0.5 leaves half; 1 - 9999999999999.99 turns the sign, so that the end of the range is the other one.
    rows = [(n % 4, n % 3) for n in range(1200)]
    ends = {
        (0, False): 5000,
        (1, False): 0,
        (2, False): 50.125,
        (0, True): 0,
        (1, True): 5000,
        (2, True): 0,
        (3, False): 0,
        (3, True): 0,
    }
    assert float(total[name] * step) == sum(ends[kind, third == 0] for kind, third in rows)
