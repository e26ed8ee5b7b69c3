"""The example of a living dashboard: each period is paid for once, days that are over stay, and the numbers are near the truth."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from datetime import date, timedelta
from pathlib import Path
from types import ModuleType

import pytest

from tests.doubles import NoNoise

EXAMPLE = Path(__file__).parents[2] / "examples" / "living" / "living.py"
MEMBERS = 400


@pytest.fixture(scope="module")
def living() -> ModuleType:
    spec = importlib.util.spec_from_file_location("living", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["living"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def policy(living: ModuleType, tmp_path: Path) -> Path:
    path: Path = living.build(tmp_path, MEMBERS)
    return path


def test_the_members_are_the_same_wherever_they_are_drawn(living: ModuleType) -> None:
    people, entries = living.generate(100)
    assert living.generate(100) == (people, entries) != living.generate(100, seed=1)
    assert len({row[:2] for row in entries}) == len(entries), "one entry of a member on a day"


def test_without_noise_the_tiles_are_the_truth_of_their_day(living: ModuleType, policy: Path) -> None:
    with contextlib.closing(living.Dashboard(policy, NoNoise())) as dashboard:
        for day in (living.BEGIN, living.BEGIN + timedelta(days=45)):
            for name, answer, true in dashboard.look(day):
                found = {str(row[0])[:10]: float(row[1]) for row in answer.rows}
                assert found == pytest.approx({str(row[0])[:10]: float(row[1]) for row in true}, rel=0.02), (name, day)


def test_a_day_later_the_days_that_are_over_are_the_same_and_the_window_costs_less(
    living: ModuleType, policy: Path
) -> None:
    day = living.BEGIN
    with contextlib.closing(living.Dashboard(policy)) as dashboard:
        first = {name: answer for name, answer, _ in dashboard.look(day)}
        spent = dashboard.used()
        assert all(answer.price for answer in first.values())
        assert not any(answer.price for _, answer, _ in dashboard.look(day)), "for the other viewers it is free"
        later = {name: answer for name, answer, _ in dashboard.look(day + timedelta(days=1))}
        weeks = "minutes by week"
        assert 0 < later[weeks].price.rho < first[weeks].price.rho, "last week has closed: it is measured once more"
        tile = "entries by day"
        was, now = (dict(answers[tile].rows) for answers in (first, later))
        over = [one for one in now if date.fromisoformat(str(one)[:10]) < day - timedelta(days=1)]
        assert len(over) > 15
        assert all(was[one] == now[one] for one in over if one in was)
        assert 0 < later[tile].price.rho < first[tile].price.rho
        used = dashboard.used()
        assert used < 2 * spent
        last = {name: answer for name, answer, _ in dashboard.look(day + timedelta(days=2))}
        assert not last[weeks].price, "the same weeks, and all of them are closed"


def test_the_months_of_a_run_are_told_and_stay_within_their_budget(
    living: ModuleType, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(living.Dashboard(policy)) as dashboard:
        months = living.year(dashboard, 28, date(2025, 3, 3))
    assert list(months) == ["2025-02", "2025-03"]
    assert all(month.asked == 5 * 3 and 0 < month.used < 1 for month in months.values())
    living.show(months)
    assert "2025-03" in capsys.readouterr().out
