"""The guide as a site: all pages in the order of the guide, every link and heading found, nothing from other servers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpsql.guide import names
from tests.guide.blocks import GUIDE

ROOT = GUIDE.parents[1]
pytest.importorskip("mkdocs", reason="the site needs its extra: pip install -e '.[site]'")
pytest.importorskip("material", reason="the site needs its extra: pip install -e '.[site]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_in_it_and_is_found(site: Path) -> None:
    pages = {path.stem for path in site.glob("*.html")}
    assert pages == {*names(), "index", "404"}
    found = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert {one["location"].partition("#")[0].removesuffix(".html") for one in found} == pages - {"404"}
    assert any("max_rows_per_group" in one["text"] for one in found if one["location"].startswith("choose-bounds"))


def test_it_goes_in_the_order_of_the_guide() -> None:
    """Six pages first, as the guide's list says, and then its sections without these."""
    head, *sections = re.split(r"^## ", (GUIDE / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    reading = re.findall(r"\]\(([\w-]+\.md)\)", head)
    assert len(reading) == 6
    told = [("Contents", ["README.md"]), ("First reading", reading)]
    for section in sections:
        listed = re.findall(r"^\| \[[\w-]+\]\(([\w-]+\.md)\)", section, re.MULTILINE)
        told.append((section.split("\n")[0].split(":")[0], [name for name in listed if name not in reading]))
    shown = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    parts = [part for part in re.split(r"^  - ", shown, flags=re.MULTILINE) if part]
    assert [(part.split(":")[0], re.findall(r"[\w-]+\.md", part)) for part in parts] == told


def test_what_is_marked_down_is_marked_up(site: Path) -> None:
    """A list or a table that only GitHub's Markdown knows would be a paragraph with bars and dashes."""
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        for paragraph in re.findall(r"<p>(.*?)</p>", text, re.DOTALL):
            assert not re.search(r"^([-*] |\d+\. |\||```)", paragraph, re.MULTILINE), f"{path.name}: {paragraph}"
        assert "```" not in text, path.name


def test_no_page_asks_another_server_for_anything(site: Path) -> None:
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        asked = re.findall(r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?([^"'\s>]+)""", text)
        asked += re.findall(r"""<link[^>]*rel=["']?(?:stylesheet|preconnect|icon)[^>]*href=["']?([^"'\s>]+)""", text)
        assert asked
        assert not [one for one in asked if re.match(r"(https?:)?//", one)], path.name
