"""The walk of ``python -m tests.bench walk`` over the dpsql that is installed here: all but clone, install and demo."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.bench import walk

DPSQL = Path(sys.executable).parent / "dpsql"


def test_a_csv_file_becomes_a_chart_and_psql_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clock = walk.Clock()
    chart = walk.first_chart(clock, DPSQL, tmp_path)
    assert all(branch in chart for branch in walk.BRANCHES)
    assert "±" in chart
    assert "█" in chart
    walk.over_the_wire(clock, DPSQL, tmp_path)
    assert "dpsql init library" in capsys.readouterr().out


def test_a_step_that_fails_ends_the_walk_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(walk.Stopped, match=r"dpsql check: exit code 1\n"):
        walk.Clock().run("dpsql check", DPSQL, "check", "none.yaml", cwd=tmp_path)


def test_an_answer_far_beyond_its_bars_ends_the_walk() -> None:
    rows, margins = [["north", 100]], [[None, 10.0]]
    walk.near(rows, margins, {"north": 120})
    with pytest.raises(walk.Stopped, match="in truth 140"):
        walk.near(rows, margins, {"north": 140})
    with pytest.raises(walk.Stopped, match="groups"):
        walk.near(rows, margins, {"south": 100})


def test_a_first_policy_that_asks_for_something_else_ends_the_walk() -> None:
    with pytest.raises(walk.Stopped, match="asks 0 times"):
        walk.decided("tables: {}")
