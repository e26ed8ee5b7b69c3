"""The example of a product in PostgreSQL: each panel of its dashboard is answered, with noise and without."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest

import dpsql
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server

EXAMPLE = Path(__file__).parents[2] / "examples" / "saas" / "saas.py"
CUSTOMERS = 1_200
ROWS = {"Monthly recurring revenue": 12, "Churn by month": 11, "Weekly retention": 13, "Cohorts": 78}


@pytest.fixture(scope="module")
def saas() -> ModuleType:
    spec = importlib.util.spec_from_file_location("saas", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["saas"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def owner(saas: ModuleType) -> Iterator[psycopg.Connection]:
    server = shared_server()
    with server.owner(server.database()) as connection:
        saas.load(connection, CUSTOMERS)
        yield connection


@pytest.fixture
def policy(saas: ModuleType, owner: psycopg.Connection, tmp_path: Path) -> Path:
    info = owner.info
    path: Path = saas.policy_for(
        tmp_path, f"postgresql://{saas.READER}:{saas.PASSWORD}@127.0.0.1:{info.port}/{info.dbname}"
    )
    return path


def truth(owner: psycopg.Connection, sql: str) -> list[tuple[Any, ...]]:
    return owner.execute(sql.encode()).fetchall()


def test_the_customers_are_the_same_wherever_they_are_drawn(saas: ModuleType) -> None:
    assert saas.generate(200) == saas.generate(200) != saas.generate(200, seed=1)
    people = saas.generate(200)
    assert len({row[:2] for row in people.invoice}) == len(people.invoice), "one invoice of a customer in a month"
    assert {row[0] for row in people.invoice} == {row[0] for row in people.customer}


def test_without_noise_each_panel_is_the_truth(saas: ModuleType, owner: psycopg.Connection, policy: Path) -> None:
    with contextlib.closing(open_without_noise(policy)) as proxy:
        session = proxy.session("mara")
        for panel in saas.panels():
            answer, true = session.execute(panel.sql), truth(owner, panel.sql)
            assert len(answer.rows) == ROWS.get(panel.title, len(true)), panel.title
            assert {row[:-1] for row in map(_plain, true)} <= {row[:-1] for row in map(_plain, answer.rows)}
            known = {row[:-1]: row[-1] for row in map(_plain, answer.rows)}
            for *keys, value in map(_plain, true):
                assert known[tuple(keys)] == pytest.approx(value, rel=1e-3, abs=1e-9), (panel.title, keys)


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        f"{cell:%Y-%m-%d}" if hasattr(cell, "year") else float(cell) if _number(cell) else cell for cell in row
    )


def _number(cell: object) -> bool:
    return cell is not None and not isinstance(cell, str)


def test_with_noise_each_panel_is_near_the_truth_and_free_when_it_is_shown_again(
    saas: ModuleType, owner: psycopg.Connection, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(dpsql.connect(policy, "mara")) as connection:
        for panel in saas.panels():
            cursor = connection.execute(panel.sql)
            assert cursor.epsilon > 0, panel.title
            true = {row[:-1]: row[-1] for row in map(_plain, truth(owner, panel.sql))}
            rows = [_plain(row) for row in cursor.fetchall()]
            assert rows, panel.title
            for row, errors in zip(rows, cursor.margins, strict=True):
                if errors[-1] is None:
                    continue
                exact = true.get(row[:-1], 0.0)
                # Four half-widths of 95 % are missed by chance once in 10^14; the intervals of a share are wider.
                assert abs(row[-1] - exact) <= 4 * errors[-1], (panel.title, row, exact)
        left = connection.budget().statements_left
    saas.show(policy, owner)
    assert f"{left} statements are left" in capsys.readouterr().out, "shown again, all of it is free"


def test_the_panels_ask_one_source_over_a_time_that_does_not_move_and_lie_side_by_side() -> None:
    dashboard = json.loads((EXAMPLE.parent / "dashboard.json").read_text())
    sources = {one["datasource"]["uid"] for panel in dashboard["panels"] for one in (panel, *panel["targets"])}
    assert sources == {"dpsql-saas"}
    assert not dashboard["refresh"]
    assert all(end.startswith("2025-") for end in dashboard["time"].values()), "a moving range is bought at each look"
    cells: list[tuple[int, int]] = []
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells += [(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]
    assert len(cells) == len(set(cells))
