"""What the guide says of accuracy: its tables are the kept runs', and the product still reaches what was aimed at."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .accuracy import Product, copied
from .accuracy_data import make_people
from .accuracy_measured import APPROACHES, OWN, measured
from .accuracy_questions import QUESTIONS, QUESTIONS_OF_ORDERS, QUESTIONS_OF_PEOPLE, Question
from .plain import predicted
from .promise import SESSIONS, Promise
from .statistics_questions import STATISTICS, Statistic
from .tpch import data as tpch

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "accuracy"


@pytest.fixture(scope="module")
def plot() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plot", EXAMPLE / "plot.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kept(name: str) -> list[Any]:
    runs: list[Any] = json.loads((EXAMPLE / f"{name}.json").read_text(encoding="utf-8"))["runs"]
    return runs


@pytest.mark.parametrize("name", ["figures", "statistics"])
def test_the_kept_runs_asked_what_is_asked_now(name: str) -> None:
    asked: Sequence[Question | Statistic] = STATISTICS if name == "statistics" else QUESTIONS
    expected = list({question.sql: question.name for question in asked}.items())
    assert [run["promise"] for run in kept(name)] == [str(Promise("1", statements=many)) for many in SESSIONS]
    for run in kept(name):
        assert [(found["sql"], found["question"]) for found in run["questions"]] == expected


@pytest.mark.parametrize("name", ["figures", "statistics"])
def test_the_guide_shows_the_kept_runs(plot: ModuleType, name: str) -> None:
    guide = (ROOT / "dpsql" / "guide" / "accuracy.md").read_text(encoding="utf-8")
    for run in kept(name):
        assert plot.table(run) in guide


@pytest.mark.parametrize("name", ["figures", "statistics"])
def test_the_readme_shows_their_factors(name: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    one, many = kept(name)
    for found, more in zip(one["questions"], many["questions"], strict=True):
        title = found["question"].split(", ε")[0]
        assert f"| {title} | {found['factor']:.2f}× | {more['factor']:.2f}× |" in readme


def test_factors_are_to_the_best_of_the_others(plot: ModuleType) -> None:
    """And the guide says where that is below 1."""
    assert tuple(plot.COLOURS) == APPROACHES
    for found in [found for run in kept("figures") for found in run["questions"]]:
        errors = {name: plot.error(found, name) for name in APPROACHES}
        others = min(error for name, error in errors.items() if error is not None and name not in OWN)
        factor = others / min(errors[name] for name in OWN)
        assert found["factor"] == pytest.approx(factor)
        assert ("behind" in plot.factor(found)) == (round(factor, 2) < 1)


def test_the_picture_is_drawn(plot: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (run, *_) = kept("figures")
    (first, *_) = run["questions"]
    refused = {**first, "approaches": {"plain, Laplace": {"rmse": 3.0}, "smartnoise-sql": {"refused": "not here"}}}
    plot.draw([{**run, "questions": [*run["questions"], refused]}], tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.duckdb"
    make_people(str(path))
    return path


def factor(question: Question, database: Path, folder: Path, least: int) -> float:
    """The plain approach's error, as its formula says, over the product's, as it is measured now."""
    with copied(question.table, database) as connection:
        truth = question.truth(connection)
    with Product(question, "zcdp", database, folder) as product:
        return predicted(question) / measured(product.answer, truth, 0.0, least).rmse


@pytest.mark.parametrize("question", [q for q in QUESTIONS_OF_PEOPLE if q.target], ids=lambda question: question.name)
def test_the_product_is_as_accurate_as_was_aimed_at(question: Question, people: Path, tmp_path: Path) -> None:
    repetitions = 60 if len(question.cells) < 100 else 15
    assert factor(question, people, tmp_path, repetitions) >= (question.target or 0)


@pytest.mark.campaign
def test_orders_per_month_are_as_accurate_as_was_aimed_at(tmp_path: Path) -> None:
    month = QUESTIONS_OF_ORDERS[0]
    assert factor(month, tpch.database(0.1), tmp_path, 30) >= (month.target or 0)
