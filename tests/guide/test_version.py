"""One version, wherever it is told, and a changelog by versions."""

from __future__ import annotations

import re
from importlib.metadata import version

import yaml

import dpsql
from tests.guide.blocks import GUIDE

ROOT = GUIDE.parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
VERSIONS = re.findall(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)$", CHANGELOG, re.MULTILINE)


def test_all_that_tell_the_version_agree() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    services = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
    images = {image for one in services if (image := one["image"]).startswith("dpsql:")}
    assert cited == dpsql.__version__ == VERSIONS[0][0]
    assert images == {f"dpsql:{dpsql.__version__}"}
    assert version("dpsql") == dpsql.__version__, "install the checkout again: pip install -e ."


def test_the_changelog_goes_by_versions_newest_first() -> None:
    titles = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert titles == ["Unreleased", *(f"{number} ({day})" for number, day in VERSIONS)]
    numbers = [tuple(map(int, number.split("."))) for number, _ in VERSIONS]
    assert numbers == sorted(numbers, reverse=True)
    assert [day for _, day in VERSIONS] == sorted((day for _, day in VERSIONS), reverse=True)


def test_each_version_says_first_what_an_operator_must_do() -> None:
    order = ["Security", "Breaking", "New", "Fixed"]
    for part in re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]:
        told = re.findall(r"^### (.+)$", part, re.MULTILINE)
        assert told == [title for title in order if title in told], part.splitlines()[0]


def test_versions_that_are_mended_are_told() -> None:
    first = dpsql.__version__.split(".")[0]
    assert f"| the newest {first}.x | yes" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
