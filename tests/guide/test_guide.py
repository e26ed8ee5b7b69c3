"""The guide is whole: every page is listed and found, every link leads somewhere, and what the code has stands in it."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.errors import DataError
from dpsql.guide import CONTENTS, names, page
from dpsql.interfaces.commands import main
from dpsql.policy import Policy
from dpsql.server.operations import metrics
from dpsql.server.workers import added_figures
from dpsql.settings import NAMES
from tests.guide import statement_forms
from tests.guide.blocks import GUIDE, PAGES, README, ROOT
from tests.guide.first_words import WORDS, unexplained
from tests.guide.generated import DEFAULTS, FORMS, GENERATED, SECTIONS, documented, readers

EVERY = (*PAGES, ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md")


def test_every_page_is_listed_once() -> None:
    listed = re.findall(r"^\| \[([\w-]+)\]\(\1\.md\) \| .+ \|$", (GUIDE / "README.md").read_text(), re.MULTILINE)
    assert len(set(listed)) == len(listed)
    assert {*listed, CONTENTS} == {path.stem for path in GUIDE.glob("*.md")}
    assert tuple(listed) == names()


def test_the_readme_fits_on_a_few_screens() -> None:
    assert len(README.read_text().splitlines()) <= 180


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        where = (path.parent / file).resolve() if file else path
        assert where.exists(), f"{path.name}: {target}"
        assert where.is_relative_to(ROOT), f"{path.name}: {target}"
        if path.parent == GUIDE:
            assert where.is_relative_to(GUIDE), f"{path.name}: {target} is not in the wheel"
        if anchor:
            assert anchor in set(anchors(where)), f"{path.name}: {target}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_words_of_the_field_are_explained_where_a_page_says_them_first(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.stem == "glossary":
        assert set(WORDS) <= set(anchors(path))
        return
    for word in unexplained(text):
        line = text[: word.start].count("\n") + 1
        pytest.fail(f"{path.name}:{line}: {text[word.start : word.end]} does not lead to glossary.md#{word.anchor}")


def test_the_pictures_are_small_and_are_shown() -> None:
    pictures = sorted((GUIDE / "pictures").iterdir())
    shown = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    for picture in pictures:
        assert picture.stat().st_size < 120_000, picture.name
        assert f"](pictures/{picture.name})" in shown, picture.name
    assert len(pictures) >= 3


def anchors(path: Path) -> Iterator[str]:
    """Headings, as they are linked to."""
    for title in re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
        kept = [c for c in title.lower() if c in " -_" or unicodedata.category(c)[0] in "LN"]
        yield "".join(kept).replace(" ", "-")


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_pages_that_are_made_of_the_code_are_up_to_date(name: str) -> None:
    assert (GUIDE / f"{name}.md").read_text(encoding="utf-8") == GENERATED[name](), "python -m tests.guide.write"


def test_the_page_of_statements_has_those_of_the_golden_queries() -> None:
    """What it says of each engine is held where the queries are planned in every dialect."""
    text = statement_forms.PAGE.read_text(encoding="utf-8")
    assert list(statement_forms.told()) == [statement_forms.form(pair) for pair in statement_forms.listed()]
    assert len(statement_forms.told()) == text.count("\n|") - 2 > 200


def test_every_key_of_a_policy_is_explained_and_has_a_form() -> None:
    for _, section, _ in SECTIONS:
        for name in section.model_fields:
            if (section, name) != (Policy, "path"):
                assert documented(section)[name].endswith("."), f"{section.__name__}.{name} has no docstring"
    policy = Policy.parse(
        "{database: 'duckdb:a', ledger: 'sqlite:a', privacy_unit: t.id, budget: {epsilon: 10, delta: 1e-6}, tables: {t: {}}}"
    )
    assert all(section.model_fields[name] for section, name in DEFAULTS)
    assert policy.statement.epsilon * 10 == policy.statement.max_epsilon == 1
    assert policy.statement.delta * 1000 == policy.budget.delta
    used = {
        reader
        for _, section, _ in SECTIONS
        for f in section.model_fields.values()
        for reader in readers(f.annotation, f.metadata)
    }
    assert set(FORMS) <= used


def test_values_of_a_policy_are_spelt_as_an_owner_writes_them() -> None:
    """No cell is what Python calls a thing; what has keys of its own says where they are told."""
    rows = [line for line in (GUIDE / "policy-keys.md").read_text().splitlines() if line.startswith("| `")]
    for row in rows:
        _, _, value, default, _, _ = re.split(r"(?<!\\\\) ?\| ?", row)
        assert not re.search(r"\bmapping\b|datetime|0:00|=", value + default), row


def test_every_setting_is_documented() -> None:
    rows = [line for line in (GUIDE / "settings.md").read_text().splitlines() if line.startswith("| `")]
    for name in NAMES:
        assert any(f"`{name}`" in row.split("|")[1] for row in rows), f"the guide has no row for {name}"


def test_every_figure_is_documented_and_there() -> None:
    source = "".join(Path(one.__file__).read_text() for one in (metrics, added_figures))
    code = set(re.findall(r'"(dpsql_\w+)"', source))
    counters = set(re.findall(r'Counter\(\s*"(dpsql_\w+)"', source))
    rows = set(re.findall(r"^\| `(dpsql_\w+)` \|", (GUIDE / "metrics.md").read_text(), re.MULTILINE))
    assert rows == {name + "_total" * (name in counters) for name in code}


def test_every_sqlstate_is_documented_and_there() -> None:
    first = [line.split("|")[1] for line in (GUIDE / "errors.md").read_text().splitlines() if line.startswith("| `")]
    rows = {state for cell in first for state in re.findall(r"`(\w{5})`", cell)}
    raised, written = set(), set()
    for path in [*(ROOT / "dpsql").rglob("*.py"), *(ROOT / "rewriter").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and re.fullmatch(r"[0-9A-Z]{5}", node.value)
            ):
                written.add(node.value)
            if isinstance(node, ast.keyword) and node.arg == "sqlstate" and isinstance(node.value, ast.Constant):
                raised.add(node.value.value)
    assert rows - written == set()
    assert raised - rows - {"00000"} == set()


# The command


def test_the_list_and_a_page_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guide"]) == 0
    assert capsys.readouterr().out == page(CONTENTS)
    assert main(["guide", "Policy-Keys"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# Policy keys\n\nEvery key")
    assert "<!--" not in printed


@pytest.mark.parametrize("name", [CONTENTS, *names()])
def test_no_page_shows_what_is_meant_for_the_tests(name: str) -> None:
    assert "<!--" not in page(name)
    assert page(name).startswith("# ")


def test_a_terminal_gets_it_drawn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["guide", "glossary"]) == 0
    printed = capsys.readouterr().out
    assert "## " not in printed
    assert "Whom the promise protects" in printed


def test_an_unknown_page_has_its_nearest_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guide", "glossery"]) == 1
    assert "HINT: did you mean glossary?" in capsys.readouterr().err
    with pytest.raises(DataError, match="owner-duckdb") as found:
        page("duckdb")
    assert "HINT: did you mean" in str(found.value)
    with pytest.raises(DataError, match="dpsql guide lists the pages"):
        page("../../etc/passwd")
