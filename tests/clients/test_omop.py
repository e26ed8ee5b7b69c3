"""The example of a hospital in OMOP's tables: its notebook runs, and each of its questions is answered near the truth."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import matplotlib
import pytest

import dpsql
from tests.doubles import open_without_noise

matplotlib.use("Agg")

EXAMPLE = Path(__file__).parents[2] / "examples" / "omop" / "omop.py"
PEOPLE = 1_500
NAMES = ["sexes", "prevalence", "quarters", "stays", "again", "both"]


@pytest.fixture(scope="module")
def omop() -> ModuleType:
    spec = importlib.util.spec_from_file_location("omop", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["omop"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(omop: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("omop")
    omop.build(folder, PEOPLE)
    return folder


@pytest.fixture(scope="module")
def truth(omop: ModuleType, built: Path) -> dict[str, list[tuple[Any, ...]]]:
    with duckdb.connect(str(built / omop.DATABASE), read_only=True) as owner:
        return {name: owner.execute(sql).fetchall() for name, sql in omop.questions().items()}


@pytest.fixture
def policy(omop: ModuleType, built: Path, tmp_path: Path) -> Path:
    for name in (omop.DATABASE, omop.POLICY):
        shutil.copy(built / name, tmp_path)
    path: Path = tmp_path / omop.POLICY
    return path


def test_the_patients_are_the_same_wherever_they_are_drawn(omop: ModuleType) -> None:
    assert omop.generate(200) == omop.generate(200) != omop.generate(200, seed=1)
    hospital = omop.generate(200)
    assert all(start <= end for *_, start, end in hospital.visit_occurrence)
    known = {number for number, *_ in hospital.concept}
    assert {row[2] for row in hospital.condition_occurrence} | {row[2] for row in hospital.visit_occurrence} <= known


def test_without_noise_the_questions_are_the_truth(
    omop: ModuleType, policy: Path, truth: dict[str, list[tuple[Any, ...]]]
) -> None:
    assert list(truth) == NAMES
    with contextlib.closing(open_without_noise(policy)) as proxy:
        session = proxy.session("ines")
        for name, sql in omop.questions().items():
            found = {row[:1]: row[1:] for row in _keyed(session.execute(sql).rows)}
            exact = {row[:1]: row[1:] for row in _keyed(truth[name])}
            assert found.keys() == exact.keys(), name
            for key, numbers in exact.items():
                # What is left of a difference is clipping: a few people have more visits than count.
                assert found[key] == pytest.approx(numbers, rel=0.02, abs=0.02), (name, key)


def test_with_noise_they_are_near_the_truth_and_free_again(
    omop: ModuleType, policy: Path, truth: dict[str, list[tuple[Any, ...]]]
) -> None:
    with contextlib.closing(dpsql.connect(policy, "ines")) as connection:
        for name, sql in omop.questions().items():
            cursor = connection.execute(sql)
            assert cursor.epsilon > 0, name
            exact = {row[0]: row for row in _keyed(truth[name])}
            for row, errors in zip(_keyed(cursor.fetchall()), _keyed(cursor.margins), strict=True):
                for value, error, number in zip(row[1:], errors[1:], exact[row[0]][1:], strict=True):
                    # Four half-widths of 95 % are missed by chance once in 10^14; clipping adds a fiftieth.
                    assert abs(float(value) - float(number)) <= 4 * error + 0.02 * abs(float(number)), (name, row)
            assert connection.execute(sql).epsilon == 0


def _keyed(rows: Any) -> list[tuple[Any, ...]]:
    """Rows whose first column is a key; a table of one row has none."""
    lone = len(rows) == 1
    return [(None, *row) if lone else (str(row[0])[:10], *row[1:]) for row in rows]


def test_the_notebook_runs_and_is_kept_with_its_output(
    omop: ModuleType, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(EXAMPLE.parents[2]))
    monkeypatch.setenv("DPSQL_POLICY", str(policy))
    kept = nbformat.read(EXAMPLE.parent / omop.NOTEBOOK, as_version=4)
    notebook = nbformat.from_dict(kept)
    before = [[sorted(output.get("data", {})) for output in cell.get("outputs", [])] for cell in kept.cells]
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(policy.parent)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in shown) == 1
    assert sum("<svg" in output.get("data", {}).get("text/html", "") for output in shown) == len(NAMES)
    after = [
        [sorted(set(output.get("data", {})) - _TOO_LONG) for output in cell.get("outputs", [])]
        for cell in notebook.cells
    ]
    assert after == before, "the kept output is that of these cells"


_TOO_LONG = {"text/plain"}
"""What a cell shows where there is no page: it is not kept."""
