"""Dashboards that are bought as one are as accurate as any linear strategy, within a twentieth."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.workload import DASHBOARDS, compare, fill


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("people")
    fill(made)
    return made


@pytest.mark.parametrize("name", [name for name in DASHBOARDS if name != "fifty counts"])
def test_dashboards_are_near_the_optimum(folder: Path, name: str) -> None:
    found = compare(name, DASHBOARDS[name], folder, 0)
    assert 0.999 * found.optimum < found.together <= 1.05 * found.optimum
