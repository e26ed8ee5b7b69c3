"""smartnoise-sql, asked one query for each of a question's counts, at an even share of ε (and the δ that it demands).

It needs an older OpenDP than some installations have, so it may live in another Python: this file is also the program
that that Python runs, and uses nothing of the project. Its SQL knows no FILTER, ROLLUP or ``date_trunc``: keys and conditions
are columns that are worked out beforehand. It returns no empty groups when its thresholding is off (which is generous
to it: unsafe, and never wrong); a group that it does not name counts as 0.
"""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

    from .accuracy_questions import Cell, Question

DELTA = 1e-6


class Unavailable(Exception):
    """There is no smartnoise-sql to ask."""


class WithSmartNoise:
    """A question by smartnoise-sql, in a process of its own."""

    def __init__(self, question: Question, connection: duckdb.DuckDBPyConnection, python: str | None) -> None:
        if python is None and importlib.util.find_spec("snsql") is None:
            hint = "pip install smartnoise-sql in another virtual environment, and name its Python by --smartnoise"
            raise Unavailable(f"smartnoise-sql is not installed here; {hint}")
        self._question = question
        self._names = [{str(value): value for value in key.values} for key in question.keys]
        self._folder = tempfile.TemporaryDirectory()
        _write(question, connection, Path(self._folder.name) / "rows.sqlite")
        task = {
            "database": str(Path(self._folder.name) / "rows.sqlite"),
            "epsilon": float(question.epsilon) / len(question.counts),
            "delta": DELTA / len(question.counts),
            "rows": question.rows,
            "keys": [_column(name) for name in _names(question)],
            "queries": [_query(question, place) for place in range(len(question.counts))],
        }
        command = [python or sys.executable, "-W", "ignore", __file__, json.dumps(task)]
        self._log = (Path(self._folder.name) / "log").open("w+")
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, text=True)

    def __enter__(self) -> WithSmartNoise:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()
        self._log.close()
        self._folder.cleanup()

    def answer(self) -> dict[Cell, float]:
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("the process has pipes")
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise Unavailable(f"smartnoise-sql stopped: {self._log.read().strip().splitlines()[-1:]}")
        cells: dict[Cell, float] = dict.fromkeys(self._question.cells, 0.0)
        for counts, rows in zip(self._question.counts, json.loads(line), strict=True):
            for *group, number in rows:
                cells[counts.column, self._keys(counts.by, group) if counts.at is None else counts.at] = number
        return cells

    def _keys(self, by: tuple[str, ...], group: list[str]) -> tuple[object, ...]:
        given = dict(zip(by, group, strict=True))
        keys = zip(self._question.keys, self._names, strict=True)
        return tuple(names[given[key.name]] if key.name in given else None for key, names in keys)


def _query(question: Question, place: int) -> str:
    by = [_column(name) for name in question.counts[place].by]
    grouped = f" GROUP BY {', '.join(by)}" if by else ""
    return f"SELECT {', '.join([*by, 'COUNT(*) AS number'])} FROM main.counted WHERE met_{place} = 1{grouped}"


def _column(name: str) -> str:
    """The column of a key: month and day are words of its grammar."""
    return f"key_{name}"


def _names(question: Question) -> list[str]:
    return [key.name for key in question.keys]


def _write(question: Question, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """The rows as SQLite has them: the person, each key as text, and for each count whether the row is in it."""
    keys = [f"CAST({key.sql} AS VARCHAR) AS {_column(key.name)}" for key in question.keys]
    met = [f"CAST({counts.where} AS INTEGER) AS met_{place}" for place, counts in enumerate(question.counts)]
    names = ["person_key", *map(_column, _names(question)), *(f"met_{i}" for i in range(len(question.counts)))]
    columns = [f"{question.unit} AS person_key", *keys, *met]
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM {question.table}").fetchall()
    with sqlite3.connect(path) as lite:
        lite.execute(f"CREATE TABLE counted ({', '.join(names)})")
        lite.executemany(f"INSERT INTO counted VALUES ({', '.join('?' * len(names))})", rows)
    lite.close()


# What follows runs in the Python that has smartnoise-sql.


def _serve(task: Mapping[str, Any]) -> None:
    """Answer all queries once for each line of the input."""
    from snsql import Privacy, from_connection

    _remember_scales()
    integer = {"type": "int", "lower": 0, "upper": 1}
    table: dict[str, object] = {f"met_{place}": integer for place in range(len(task["queries"]))}
    table |= {name: {"type": "string"} for name in task["keys"]}
    table |= {"person_key": {"type": "int", "private_id": True}}
    table |= {"max_ids": task["rows"], "sample_max_ids": task["rows"] > 1, "row_privacy": False}
    table |= {"censor_dims": False, "clamp_counts": False, "rows": 1_000_000}
    lite = sqlite3.connect(task["database"])
    privacy = Privacy(epsilon=task["epsilon"], delta=task["delta"])
    reader = from_connection(lite, privacy=privacy, metadata={"": {"main": {"counted": table}}}, engine="sqlite")
    for _ in sys.stdin:
        answers = [[list(row) for row in reader.execute(query)[1:]] for query in task["queries"]]
        print(json.dumps(answers), flush=True)


def _remember_scales() -> None:
    """Search for the scale of a mechanism's noise once. The search is most of its time, and finds the same every time."""
    from snsql.sql._mechanisms.laplace import Laplace

    search = Laplace._compute_noise_scale
    found: dict[tuple[object, ...], float] = {}

    def remembered(mechanism: Any) -> None:
        key = (mechanism.epsilon, mechanism.lower, mechanism.upper, mechanism.max_contrib)
        if key in found and mechanism.scale is None:
            mechanism.scale = found[key]
        search(mechanism)
        found[key] = mechanism.scale

    Laplace._compute_noise_scale = remembered


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
