"""The benchmark of time looks into the flow by the names of its stages: they must be there, and add up."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb

from dpsql.proxy import Proxy

from .small import _DATA, _POLICY, STATEMENTS
from .stages import STAGES, stopwatch


def test_every_stage_of_a_statement_is_timed_once(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "small.duckdb")) as connection:
        connection.execute(_DATA)
    (tmp_path / "small.yaml").write_text(_POLICY, encoding="utf-8")
    proxy = Proxy.open(tmp_path / "small.yaml")
    try:
        session = proxy.session()
        with stopwatch() as seconds:
            begun = time.perf_counter()
            for sql in STATEMENTS.values():
                session.execute(sql.replace("{number}", "5"))
            whole = time.perf_counter() - begun
    finally:
        proxy.close()
    assert all(seconds[stage] > 0 for stage in STAGES if stage != "rest")
    assert sum(seconds.values()) < whole
