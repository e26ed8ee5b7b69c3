"""Every example of README and guide runs, and shows what it is said to show: columns, rows, notices, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
from tests.guide.blocks import PAGES, WORDS, Block, blocks
from tests.guide.page_world import world

RUN = ("console", "sh", "sql", "python", "yaml")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    clinic.build(folder)
    return folder


def to_run(path: Path) -> list[Block]:
    return [block for block in blocks(path) if block.said != "not run"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem if path.parent.name == "guide" else "root")
def test_every_block_is_run_or_says_why_not(path: Path) -> None:
    for block in blocks(path):
        assert not block.said or block.said in WORDS, f"{block}: {block.said}"
        if block.said == "not run":
            assert len(block.more.split()) >= 3, f"{block}: give a reason"
        elif block.said not in ("file", "output"):
            assert block.language in RUN, f"{block}: {block.language}"


@pytest.mark.parametrize(
    "path",
    [path for path in PAGES if to_run(path)],
    ids=lambda path: path.stem if path.parent.name == "guide" else "root",
)
def test_the_examples_of_a_page_run_and_show_what_they_say(path: Path, built: Path) -> None:
    try:
        run(path, built)
    except AssertionError:
        # Noise shows a group of NULL that nobody is in, or hides a small one, once in 100 times; twice, once in 10,000.
        run(path, built)


def run(path: Path, built: Path) -> None:
    with world(built) as page:
        for block in to_run(path):
            page.run(block)
