"""The dashboard in ``examples/grafana`` asks for figures and labels that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "examples" / "grafana" / "dpsql.json"


def test_every_figure_and_label_is_one_of_ours() -> None:
    rows = re.findall(r"^\| `(dpsql_\w+)` \| (.*?) \|", (ROOT / "dpsql/guide/metrics.md").read_text(), re.MULTILINE)
    known = {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    asked = [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel["targets"]]
    used = set()
    for expression in asked:
        names = [re.sub("_bucket$", "", name) for name in re.findall(r"dpsql_\w+", expression)]
        assert names
        labels = set(re.findall(r"(\w+)(?:=|!=|=~)\"", expression))
        labels |= set(re.findall(r"\w+", "".join(re.findall(r"by \((.*?)\)", expression)))) - {"le"}
        for name in names:
            assert name in known, name
            assert labels <= known[name], expression
        used |= set(names)
    assert set(known) - used <= {"dpsql_budget_rho", "dpsql_logouts_total"}, "a new figure is drawn, or named here"


def test_panels_do_not_overlap() -> None:
    taken = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
