"""The Grafana of the compose file: it is told where dpsql is and who asks, and each panel of its dashboard is answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import dpsql
from dpsql.policy.policy import Policy

DOCKER = Path(__file__).parents[2] / "docker"
GRAFANA = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]["grafana"]
SOURCE = yaml.safe_load((DOCKER / "grafana" / "datasource.yaml").read_text())["datasources"][0]
DASHBOARD = json.loads((DOCKER / "grafana" / "dashboards" / "clinic.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]


def expanded(sql: str) -> str:
    """The statement as Grafana sends it: its macro for the time range that the dashboard shows is written out."""
    ends = [DASHBOARD["time"][end].replace(".000Z", "Z") for end in ("from", "to")]
    told = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 BETWEEN '{ends[0]}' AND '{ends[1]}'", sql)
    assert "$" not in told, "a macro that this test does not know"
    return told


@pytest.fixture
def connection(policy: Path) -> Iterator[dpsql.Connection]:
    with dpsql.connect(policy, "ana") as found:
        yield found


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_each_panel_is_answered_and_is_free_when_it_is_shown_again(
    panel: dict[str, Any], connection: dpsql.Connection
) -> None:
    (target,) = panel["targets"]
    sql = expanded(target["rawSql"])
    answer = connection.execute(sql)
    assert answer.epsilon > 0
    rows = answer.fetchall()
    assert rows
    assert all(cell is not None for row in rows for cell in row)
    assert connection.execute(sql).epsilon == 0
    if target["format"] == "time_series":
        assert (answer.description or [[None]])[0][0] == "time"
        assert len(rows) == 12


def test_the_panels_ask_dpsql_and_the_time_shown_does_not_move() -> None:
    sources = [one["datasource"] for panel in PANELS for one in (panel, *panel["targets"])]
    assert {(one["type"], one["uid"]) for one in sources} == {(SOURCE["type"], SOURCE["uid"])}
    assert not DASHBOARD["refresh"]
    assert all(end.startswith("2025-") for end in DASHBOARD["time"].values()), "a moving range is bought at each look"


def test_the_source_is_dpsql_as_an_analyst_of_the_policy() -> None:
    compose = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
    policy = Policy.parse((DOCKER / "policy.yaml").read_text())
    host, _, port = SOURCE["url"].partition(":")
    assert host in compose
    assert compose[host]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert SOURCE["user"] in (policy.analysts or {})
    assert SOURCE["secureJsonData"]["password"].removeprefix("$") in GRAFANA["environment"]
    mounted = dict(volume.split(":")[:2] for volume in GRAFANA["volumes"])
    paths = yaml.safe_load((DOCKER / "grafana" / "dashboards.yaml").read_text())["providers"]
    assert [one["options"]["path"] for one in paths] == [mounted["./grafana/dashboards"]]
    assert all(
        target.startswith("/etc/grafana/provisioning/")
        for source, target in mounted.items()
        if source.endswith(".yaml")
    )
