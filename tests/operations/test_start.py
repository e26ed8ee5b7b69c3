"""A process that opens a policy and is asked for a count: what it has loaded by then, and the room that it takes."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from dpsql.interfaces.commands.commands import main
from dpsql.proxy import Proxy
from rewriter.plan import Plan
from tests.policies import policy_text

MOST_AT_START = 290
"""MiB resident once a policy is open, all of Python and of DuckDB included: 190 to 225, by how much of its libraries a
machine keeps in memory, and 40 more for pandas where that is installed, which Arrow loads with the first array that it
makes: that is tried before anything is charged."""
NEEDED_LATER = ("scipy.sparse", "scipy.linalg", "scipy.optimize", "scipy.signal", "rich", "psycopg", "pygments")

_POLICY = policy_text("""
database: duckdb:start.duckdb; ledger: sqlite:start.ledger; privacy_unit: person.id; budget: {epsilon: 10}
statement: {epsilon: 1}
tables:
  person: id
""")

_PROGRAM = """
import json, sys
import dpsql
connection = dpsql.connect("start.yaml")
resident = next(line for line in open("/proc/self/status") if line.startswith("VmRSS"))
cursor = connection.cursor()
cursor.execute("SELECT COUNT(*) FROM person")
print(json.dumps({"MiB": int(resident.split()[1]) / 1024, "loaded": sorted(sys.modules), "rows": len(cursor.fetchall())}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what is resident is read from /proc")
def test_a_policy_is_opened_and_asked_without_what_other_statements_need(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "start.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO person SELECT * FROM range(1000)")
    (tmp_path / "start.yaml").write_text(_POLICY, encoding="utf-8")
    here = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(here)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["rows"] == 1
    assert not set(NEEDED_LATER).intersection(found["loaded"])
    assert found["MiB"] < MOST_AT_START


STATEMENTS, REMEMBERED = 800, 1150
"""Distinct statements that are asked, and plans that may be alive after them: those of 500 statements that are
remembered, where no more characters are, of 512 calibrations, and of some notices."""

LEFT_BEHIND = 5
"""Objects of a statement that is forgotten, at most, that go with the collector of cycles alone."""


def test_what_is_alive_of_many_statements_stays_within_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsql.proxy._CHARACTERS", 500_000)
    with duckdb.connect(str(tmp_path / "start.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, age INTEGER)")
        connection.execute("INSERT INTO person SELECT range, range % 90 FROM range(1000)")
    policy = _POLICY.replace("columns: {id: {}}", "columns: {id: {}, age: {range: [0, 90]}}")
    (tmp_path / "start.yaml").write_text(policy.replace("statement: {epsilon: 1}", "statement: {epsilon: 0.001}"))
    with closing(Proxy.open(tmp_path / "start.yaml")) as proxy:
        session = proxy.session()
        for number in range(STATEMENTS):
            session.execute(f"SELECT COUNT(*) FROM person WHERE age >= 20.{number + 1000}")
        gc.collect()
        assert sum(isinstance(one, Plan) for one in gc.get_objects()) < REMEMBERED
        remembered = proxy.memories.sizes["prepared statements"]
        proxy.memories.forget()
        assert gc.collect() < LEFT_BEHIND * remembered


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("serve", "--workers", "two"), "argument --workers: write a whole number from 1 to 256, not 'two'"),
        (("serve", "--workers", "0"), "argument --workers: write a whole number from 1 to 256, not '0'"),
        (("serve", "--grace", "nan"), "argument --grace: write a number from 0 to 3600, not 'nan'"),
        (("audit", "--minutes", "1e9"), "argument --minutes: write a number from 0.001 to 1440, not '1e9'"),
        (("synthesize", "--rows", "1.5"), "argument --rows: write a whole number from 1 to 10,000,000, not '1.5'"),
    ],
)
def test_a_wrong_number_is_told_with_what_would_be_right(
    options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([options[0], "policy.yaml", *options[1:]])
    assert said in capsys.readouterr().err
