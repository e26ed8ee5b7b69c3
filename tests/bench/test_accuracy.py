"""What the README says of accuracy: its table is the kept run's, and the product still reaches what was aimed at."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from .accuracy import Product, copied
from .accuracy_data import make_people
from .accuracy_measured import APPROACHES, measured
from .accuracy_questions import QUESTIONS, QUESTIONS_OF_ORDERS, QUESTIONS_OF_PEOPLE, Question
from .plain import predicted
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


@pytest.fixture(scope="module")
def figures() -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((EXAMPLE / "figures.json").read_text(encoding="utf-8"))["questions"]
    return found


def test_the_kept_run_asked_what_is_asked_now(figures: list[dict[str, object]]) -> None:
    kept = [(f["question"], f["sql"], f["epsilon"], f["target"]) for f in figures]
    assert kept == [(q.name, q.sql, q.epsilon, q.target) for q in QUESTIONS]


def test_the_readme_shows_the_kept_run(plot: ModuleType, figures: list[dict[str, object]]) -> None:
    assert tuple(plot.COLOURS) == APPROACHES
    assert plot.table(figures) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_kept_run_reached_the_targets(plot: ModuleType, figures: list[dict[str, object]]) -> None:
    for question, found in zip(QUESTIONS, figures, strict=True):
        assert plot.factor(found, "dpsql, zcdp") >= (question.target or 1), question.name


def test_the_picture_is_drawn(plot: ModuleType, figures: list[dict[str, object]], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    refused = {**figures[0], "approaches": {"plain, pure": {"rmse": 3.0}, "smartnoise-sql": {"refused": "not here"}}}
    plot.draw([*figures, refused], tmp_path / "picture.png")
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
