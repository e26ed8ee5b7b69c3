"""The house: a file is found by its name, a class by its own, and each package's README walks through all of its rooms."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("rewriter", "dpsql")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_no_file_name_stands_twice() -> None:
    named = defaultdict(list)
    for path in MODULES:
        if path.stem not in ("__init__", "__main__"):
            named[path.name].append(path)
    assert len(named) > 300
    assert {name: paths for name, paths in named.items() if len(paths) > 1} == {}


def test_no_public_class_name_stands_twice() -> None:
    named = defaultdict(list)
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named[node.name].append(path)
    assert len(named) > 400
    assert {name: paths for name, paths in named.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_readme_names_every_file_and_no_other(package: str) -> None:
    """By the order of its list: a folder, then its files, then its folders."""
    text = (ROOT / package / "README.md").read_text()
    folder, named = "", set()
    for line in text.splitlines():
        if found := re.match(r"- \*\*`([\w/]+)/`\*\*", line):
            folder = found[1] + "/"
        elif found := re.match(r"- \*\*`(\w+\.py)`\*\*", line):
            named.add(found[1])
        elif found := re.match(r"  - `(\w+\.py)`", line):
            named.add(folder + found[1])
    there = {str(path.relative_to(ROOT / package)) for path in (ROOT / package).rglob("*.py")}
    assert named == {name for name in there if not name.endswith(("__init__.py", "__main__.py"))}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_says_what_it_is_for(package: str) -> None:
    doors = list((ROOT / package).rglob("__init__.py"))
    assert [str(path) for path in doors if not ast.get_docstring(ast.parse(path.read_text()))] == []
