"""Rows as often as there are numbers between two values of theirs: no more than the plan says, whatever a row holds."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.testing import measure
from tests.doubles import open_without_noise
from tests.new_databases import new_database

POLICY = """
database: duckdb:{}
ledger: sqlite:{}
privacy_unit: person.id
budget: {{epsilon: 10000, delta: 1e-6}}
statement: {{epsilon: 10, max_epsilon: 10}}
tables:
  person: {{columns: {{id: {{}}}}}}
  stay:
    unit: person_id -> person.id
    max_rows: 3
    columns:
      id: {{}}
      nights: {{range: [0, 20]}}
      begun: {{range: [2024-01-01, 2024-01-31]}}
      ended: {{range: [2024-01-01, 2024-02-28]}}
"""
NUMBERS = "SELECT COUNT(*) AS n FROM stay CROSS JOIN LATERAL generate_series(0, nights) AS g(night)"
TIMES = "SELECT COUNT(*) AS n FROM stay AS s, generate_series(s.begun, s.ended, INTERVAL '1 day') AS g(d)"
KEYED = "SELECT night, COUNT(*) AS n FROM (SELECT generate_series(1, nights) AS night FROM stay) AS t GROUP BY night"


def policy_at(folder: Path, strange: str = "") -> Path:
    """Forty people of two stays each; ``strange`` is one more row of a person of their own."""
    folder.mkdir()
    with new_database(folder / "d.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INT PRIMARY KEY)")
        connection.execute("CREATE TABLE stay (id INT, person_id INT, nights INT, begun TIMESTAMP, ended TIMESTAMP)")
        connection.execute("INSERT INTO person SELECT range FROM range(41)")
        connection.execute(
            "INSERT INTO stay SELECT i, i % 40, i % 20, TIMESTAMP '2024-01-05' + INTERVAL (i) HOUR, "
            "TIMESTAMP '2024-01-06' + INTERVAL (3 * i) HOUR FROM range(80) AS r(i)"
        )
        if strange:
            connection.execute(f"INSERT INTO stay VALUES (99, 40, {strange})")
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(folder / "d.duckdb", folder / "d.ledger"))
    return path


@pytest.mark.spread
@pytest.mark.parametrize("text", [NUMBERS, TIMES, KEYED])
@pytest.mark.parametrize(
    "strange",
    [
        "20, '2024-01-01', '2024-02-28'",
        "3000000, '2024-01-01', '2024-02-28'",
        "100000, '1024-01-01', '9024-01-01'",
        "NULL, NULL, 'infinity'",
    ],
)
def test_a_strange_row_moves_no_statistic_further(tmp_path: Path, text: str, strange: str) -> None:
    (without,), (with_all,) = (
        measure(text, policy_at(tmp_path / name, row)) for name, row in (("a", ""), ("b", strange))
    )
    for names, sensitivity in with_all.blocks:
        cells = [
            abs(with_all.groups.get(key, {}).get(name, 0) - without.groups.get(key, {}).get(name, 0))
            for key in {*with_all.groups, *without.groups}
            for name in names
        ]
        assert any(cells) is ("NULL" not in strange)
        assert sum(one * one for one in cells) <= sensitivity.l2_squared
        assert sensitivity.l1 is None or sum(cells) <= sensitivity.l1


def test_a_series_has_no_more_rows_than_the_ends_of_its_ranges_allow(tmp_path: Path) -> None:
    (found,) = measure("SELECT COUNT(*) FROM (SELECT generate_series(0, nights) AS n FROM stay) AS t",
                       policy_at(tmp_path / "a", "3000000, NULL, NULL"))  # fmt: skip
    (count,) = found.groups[()].values()
    step = found.granularity["s0"]
    assert count * step == sum(i % 20 + 1 for i in range(80)) + 21


def test_times_are_those_of_the_engine(tmp_path: Path) -> None:
    path = policy_at(tmp_path / "a")
    with duckdb.connect(str(tmp_path / "a" / "d.duckdb"), read_only=True) as connection:
        theirs = connection.execute(
            "SELECT CAST(d AS DATE), COUNT(*) FROM (SELECT UNNEST(generate_series(begun, ended, INTERVAL '1 day')) AS d"
            " FROM stay) AS t GROUP BY 1 ORDER BY 1"
        ).fetchall()
    proxy = open_without_noise(path)
    with dpsql.connect(proxy) as connection:
        ours = connection.execute(
            f"SELECT d::date, COUNT(*) FROM ({TIMES.replace('COUNT(*) AS n', 'd')}) AS t GROUP BY 1"
        )
        assert sorted(ours.fetchall()) == theirs
    proxy.close()


@pytest.mark.parametrize(
    ("series", "why"),
    [
        ("0, id", "how long this series is is not known"),
        ("0, nights, -1", "the step of a series is a whole number above 0"),
        ("0.5, nights", "a series of"),
        ("begun, ended, INTERVAL '1 month'", "the step of a series over a row's own times"),
        ("0, nights * 1000000", "a series of up to"),
    ],
)
def test_a_series_without_bounds_is_refused(tmp_path: Path, series: str, why: str) -> None:
    proxy = open_without_noise(policy_at(tmp_path / "a"))
    with dpsql.connect(proxy) as connection, pytest.raises(dpsql.NotSupportedError, match=why) as refused:
        connection.execute(f"SELECT COUNT(*) FROM stay CROSS JOIN LATERAL generate_series({series}) AS g(n)")
    assert refused.value.hint
    proxy.close()
