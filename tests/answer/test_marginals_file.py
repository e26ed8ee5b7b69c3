"""``dpsql workload … --marginals``: what was measured together, as other programs read it."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from dpsql.interfaces.commands.commands import main
from tests.new_databases import new_database
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:people.ledger; privacy_unit: person.id
budget: {epsilon: 100, delta: 1e-6}; statement: {epsilon: 0.5, max_epsilon: 4}
tables:
  person: id, region [N, E, S, W], plan [free, pro, max], vip, amount 0..9
""")
TILES = """
SELECT COUNT(*) FROM person; SELECT region, COUNT(*) FROM person GROUP BY 1; SELECT plan, COUNT(*) FROM person GROUP BY 1;
SELECT plan AS p, region AS r, COUNT(*) FROM person GROUP BY 1, 2; SELECT plan, COUNT(*) FROM person WHERE vip GROUP BY 1;
SELECT AVG(amount) FROM person
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_database(tmp_path / "people.duckdb") as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, region ENUM ('N', 'E', 'S', 'W') NOT NULL,"
            " plan ENUM ('free', 'pro', 'max') NOT NULL, vip BOOLEAN NOT NULL, amount INTEGER)"
        )
        connection.execute(
            "INSERT INTO person SELECT i, ['N', 'E', 'S', 'W'][1 + (i * i) % 4], ['free', 'pro', 'max'][1 + i // 7 % 3],"
            " i % 5 = 0, i % 9 FROM range(3000) t(i)"
        )
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "tiles.sql").write_text(TILES)
    return tmp_path


def test_the_file_has_what_was_measured_with_its_noise(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "out.parquet"
    command = ["workload", str(folder / "policy.yaml"), str(folder / "tiles.sql"), "--marginals", str(out)]
    assert main([*command, "--epsilon", "2"]) == 1
    assert "buy it with --buy" in capsys.readouterr().err
    assert main([*command, "--epsilon", "2", "--buy"]) == 0
    table = pq.read_table(out)
    domain = json.loads(table.schema.metadata[b"domain"])
    assert {name: set(values) for name, values in domain.items()} == {
        "region": {"N", "E", "S", "W"},
        "plan": {"free", "pro", "max"},
        "vip": {True, False},
    }
    factors = {tuple(row["attributes"]): row for row in table.to_pylist()}
    assert set(map(frozenset, factors)) >= {frozenset({"plan", "region"}), frozenset({"plan", "vip"})}
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as known:
        for clique, row in factors.items():
            assert row["shape"] == [len(domain[name]) for name in clique]
            assert len(row["numbers"]) == np.prod(row["shape"], dtype=int)
            shown = "".join(f"{name}, " for name in clique)
            true = {
                one[:-1]: one[-1]
                for one in known.execute(f"SELECT {shown}COUNT(*) FROM person GROUP BY ALL").fetchall()
            }
            for place, number in zip(np.ndindex(*row["shape"]), row["numbers"], strict=True):
                key = tuple(domain[name][at] for name, at in zip(clique, place, strict=True))
                assert abs(number - true.get(key, 0)) < 6 * row["stddev"] + 1, (clique, key)


def test_mbi_reads_it(folder: Path) -> None:
    """A graphical model fitted to the file agrees with the database about what was measured."""
    mbi = pytest.importorskip("mbi")
    out = folder / "out.parquet"
    path = [str(folder / "policy.yaml"), str(folder / "tiles.sql")]
    assert main(["workload", *path, "--epsilon", "4", "--buy", "--marginals", str(out)]) == 0
    table = pq.read_table(out)
    domain = {name: len(values) for name, values in json.loads(table.schema.metadata[b"domain"]).items()}
    measured = [
        mbi.LinearMeasurement(np.array(row["numbers"]), tuple(row["attributes"]), row["stddev"])
        for row in table.to_pylist()
    ]
    model = mbi.estimation.MirrorDescent().estimate(mbi.Domain(tuple(domain), tuple(domain.values())), measured)
    fitted = np.asarray(model.project(("region",)).datavector())
    assert fitted.sum() == pytest.approx(3000, abs=60)
