"""The example of retention and sessions: its questions are answered near the truth, and one member is in few cells."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.policy.check_policy import problems
from dpsql.policy.policy import Policy

EXAMPLE = Path(__file__).parents[2] / "examples" / "visits" / "visits.py"
MEMBERS = 4_000


@pytest.fixture(scope="module")
def visits() -> ModuleType:
    spec = importlib.util.spec_from_file_location("visits", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["visits"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(visits: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("visits")
    visits.build(path, MEMBERS)
    return path


def test_the_members_are_the_same_wherever_they_are_drawn(visits: ModuleType) -> None:
    people, loans = visits.generate(500)
    assert visits.generate(500) == (people, loans)
    assert visits.generate(500, seed=1) != (people, loans)
    assert len(people) == len({member for member, _, _ in loans}) == 500
    assert all(one[1] <= other[1] for one, other in itertools.pairwise(loans) if one[0] == other[0])


def test_the_policy_has_no_problem(folder: Path) -> None:
    policy = Policy.load(folder / "visits.yaml")
    engine = DuckDBEngine.open(policy.database.path)
    try:
        assert problems(policy, engine.schema()) == []
    finally:
        engine.close()


def test_every_question_is_answered_near_the_truth_and_paid_for_once(visits: ModuleType, folder: Path) -> None:
    answers = list(visits.ask(folder, empty_groups="show"))
    assert len(answers) == len(visits.QUESTIONS)
    for answer in answers:
        assert answer.epsilon > 0
        keys = next(place for place, margin in enumerate(answer.margins[0]) if margin is not None)
        truth = {row[:keys]: row[keys:] for row in answer.truth}
        assert truth.keys() <= {row[:keys] for row in answer.rows}, answer.title
        for row, margins in zip(answer.rows, answer.margins, strict=True):
            exact = truth.get(row[:keys], (0,) * 9)
            for noisy, margin, true in zip(row[keys:], margins[keys:], exact, strict=False):
                # Five half-widths are ten standard deviations; clipping moves nothing by more than a hundredth.
                assert abs(noisy - true) <= 5 * margin + 0.01 * abs(true), (answer.title, row, true)
    again = list(visits.ask(folder, empty_groups="show"))
    assert all(answer.epsilon == 0 for answer in again)
    assert [answer.rows for answer in again] == [answer.rows for answer in answers]


def test_retention_has_the_cells_that_can_be_and_costs_a_member_twelve_of_them(
    visits: ModuleType, folder: Path
) -> None:
    (retention,) = visits.ask(folder, ["retention"], empty_groups="show")
    cells = [(int(cohort), int(later)) for cohort, later, _ in retention.rows]
    assert cells == [(cohort, later) for cohort in range(1, 13) for later in range(13 - cohort)]
    everybody = sum(count for _, later, count in retention.rows if later == 0)
    assert abs(everybody - MEMBERS) < 12 * 5 * retention.margins[0][2]
    # 1.96 standard deviations of noise for a norm of √12 at ε = 0.5 are 14 to 15; for √100 rows they would be 42.
    assert 13 < retention.margins[0][2] < 16


def test_cells_that_are_hidden_are_few_people_and_the_others_are_as_released(visits: ModuleType, folder: Path) -> None:
    (every,) = visits.ask(folder, ["retention"], empty_groups="show")
    (some,) = visits.ask(folder, ["retention"])
    assert set(some.rows) <= set(every.rows)
    hidden = {row[:2] for row in every.rows} - {row[:2] for row in some.rows}
    # 78 empty groups reach two half-widths in 1 of 100 answers: three more are six standard deviations.
    assert all(count <= 5 * every.margins[0][2] for *cell, count in every.truth if tuple(cell) in hidden)


def test_the_example_prints_every_question(
    visits: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert visits.main([str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "is spent" in shown
    for name in visits.QUESTIONS:
        title = (EXAMPLE.parent / f"{name}.sql").read_text().splitlines()[0].removeprefix("-- ")
        assert title[:40] in shown
