"""The example of a survey in one CSV file: its questions have the shape that was expected, with noise and without."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import dpsql
from tests.doubles import open_without_noise

EXAMPLE = Path(__file__).parents[2] / "examples" / "survey" / "survey.py"
SHAPES = [(6, 3), (6, 2), (6, 2), (1, 1)]
"""Rows and columns of each question."""


@pytest.fixture(scope="module")
def survey() -> ModuleType:
    spec = importlib.util.spec_from_file_location("survey", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["survey"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(survey: ModuleType, tmp_path: Path) -> Path:
    survey.build(tmp_path)
    return tmp_path


def test_the_answers_are_the_same_wherever_they_are_drawn(survey: ModuleType) -> None:
    assert survey.generate(300) == survey.generate(300) != survey.generate(300, seed=1)
    assert len({row[0] for row in survey.generate()}) == survey.PEOPLE


def test_without_noise_the_answers_are_the_truth(survey: ModuleType, folder: Path) -> None:
    proxy = open_without_noise(folder / survey.POLICY)
    with contextlib.closing(proxy):
        session = proxy.session("hana")
        for sql, shape in zip(survey.questions(), SHAPES, strict=True):
            answer, true = session.execute(sql), survey.truth(folder, sql)
            assert (len(answer.rows), len(answer.columns)) == shape
            for row, exact in zip(answer.rows, true, strict=True):
                # Without noise only the grid of a mean and of a slope is left.
                assert row == pytest.approx(exact, rel=0.02) if shape == (1, 1) else _alike(row, exact)


def _alike(row: tuple[object, ...], exact: tuple[object, ...]) -> bool:
    return row[0] == exact[0] and row[1:] == pytest.approx(exact[1:], rel=1e-3)


def test_with_noise_they_are_near_the_truth_within_the_budget_and_free_again(
    survey: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(dpsql.connect(folder / survey.POLICY, "hana")) as connection:
        for sql, shape in zip(survey.questions(), SHAPES, strict=True):
            cursor = connection.cursor()
            cursor.execute(sql)
            rows, margins, true = cursor.fetchall(), cursor.margins, survey.truth(folder, sql)
            # Who gave no answer comes last, and is shown where noise says that there is somebody.
            named = [row for row in rows if len(row) == 1 or row[0] is not None]
            assert (len(named), len(named[0])) == shape
            for row, errors, exact in zip(named, margins, true, strict=False):
                for value, error, number in zip(row, errors, exact, strict=True):
                    # Four half-widths of 95 % are missed by chance once in 10^14.
                    assert value == number if error is None else abs(float(value) - number) <= 4 * error
        left = connection.budget().statements_left
    survey.show(folder)
    assert f"Left: {left} statements" in capsys.readouterr().out, "asked again, all of it is free"
