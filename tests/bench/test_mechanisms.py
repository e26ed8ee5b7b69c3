"""The guide's table of mechanisms is of statements that run: each of its rows is asked, and foretold as it is printed."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from dpsql.interfaces.commands import demo_clinic
from tests.guide.blocks import GUIDE

from .mechanisms import MECHANISMS, Mechanism, measured

ROW = re.compile(r"^\| (.+?) \| ([\d.]+) \| (.*?) ?\| (.*?) ?\| ([\d.,]+) \| ([\d.,]+) \|$", re.MULTILINE)


def rows() -> dict[str, tuple[str, ...]]:
    """The measured rows of the page, by their names: price, textbook's number, EXPLAIN's, and both figures."""
    _, _, told = (GUIDE / "which-mechanism.md").read_text(encoding="utf-8").partition("\n## What was measured\n")
    table, _, _ = told.partition("\n\nWhat `EXPLAIN` tells")
    return {name: tuple(others) for name, *others in ROW.findall(table)}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    demo_clinic.build(folder)
    return folder


def test_the_page_has_a_row_for_each_mechanism_and_no_other() -> None:
    assert list(rows()) == [one.name for one in MECHANISMS]


@pytest.mark.parametrize("one", MECHANISMS, ids=lambda one: one.name)
def test_each_statement_of_the_table_runs_and_is_foretold_as_the_page_says(one: Mechanism, clinic: Path) -> None:
    told, within, mean = measured(one, 1, clinic)
    price, textbook, explained, _, _ = rows()[one.name]
    assert (float(price), textbook) == (one.epsilon, one.predicted)
    assert told == explained.partition(",")[0]
    assert math.isfinite(within)
    assert 0 <= mean <= within
