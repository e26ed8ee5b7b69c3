"""What a user's mypy reads of dpsql: the package says that it is typed, and its promised names have the types they are said to have."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
from fractions import Fraction
from typing import assert_type

import dpsql
import pandas as pd
import polars as pl

with dpsql.connect("policy.yaml", "ana", epsilon=0.2) as connection:
    assert_type(connection, dpsql.Connection)
    cursor = connection.execute("SELECT COUNT(*) FROM person WHERE age > ?", [40])
    assert_type(cursor, dpsql.Cursor)
    assert_type(cursor.epsilon, Fraction)
    assert_type(cursor.notices, tuple[str, ...])
    for row in cursor:
        assert_type(len(row), int)
    assert_type(cursor.df(margins=True), pd.DataFrame)
    for frame in cursor.fetch_df_batches():
        assert_type(frame, pd.DataFrame)
    assert_type(cursor.pl(), pl.DataFrame)
    told = connection.explain("SELECT COUNT(*) FROM person")
    assert_type(told.json, str)
    assert_type(told._repr_html_(), str)
    assert_type(connection.budget().left_epsilon, float)
try:
    connection.cursor().execute("SELECT 1")
except dpsql.BudgetExceeded as spent:
    assert_type(spent.sqlstate, str)
"""

WRONG = """
import dpsql

dpsql.connect(7)
dpsql.connect("policy.yaml").execute(b"SELECT 1")
dpsql.connect("policy.yaml").cursor().fetchmany("3")
dpsql.connect("policy.yaml").ask("SELECT 1")
"""


def mypy(*paths: Path) -> subprocess.CompletedProcess[str]:
    """What mypy says of programs, with the options and the cache of our own check, which takes a minute without it."""
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", *map(str, paths)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_a_program_is_checked_against_our_types(tmp_path: Path) -> None:
    assert files("dpsql").joinpath("py.typed").is_file()
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(PROGRAM)
    wrong.write_text(WRONG)
    said = mypy(right, wrong)
    found = [line.split(":")[:2] for line in said.stdout.splitlines() if ": error:" in line]
    assert [(Path(path).name, line) for path, line in found] == [(wrong.name, line) for line in "4567"], (
        said.stdout + said.stderr
    )
