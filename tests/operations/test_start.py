"""A process that opens a policy and is asked for a count: what it has loaded by then, and the room that it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

MOST_AT_START = 290
"""MiB resident once a policy is open, all of Python and of DuckDB included: 190 to 225, by how much of its libraries a
machine keeps in memory, and 40 more for pandas where that is installed, which Arrow loads with the first array that it
makes: that is tried before anything is charged."""
NEEDED_LATER = ("scipy.sparse", "scipy.linalg", "scipy.optimize", "scipy.signal", "rich", "psycopg", "pygments")

_POLICY = """\
database: duckdb:start.duckdb
ledger: sqlite:start.ledger
privacy_unit: person.id
budget: {epsilon: 10}
statement: {epsilon: 1}
tables:
  person: {columns: {id: {}}}
"""

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
