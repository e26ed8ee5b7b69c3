"""Files that a release takes its version from say the same one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

import dpsql

ROOT = Path(__file__).parents[2]


def test_the_citation_names_the_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(cited["version"]) == dpsql.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert cited["license"] == project["license"]
    assert "version" in project["dynamic"] or project["version"] == dpsql.__version__
