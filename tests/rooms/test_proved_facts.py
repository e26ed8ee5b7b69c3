"""Facts that lower noise stand in one list: every place exists, every claim is on it, and each is lied about."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest

from rewriter.proved_facts import FACTS, ProvedFact, table
from tests.guide.blocks import GUIDE
from tests.mutation.bugs import BUGS

ROOT = Path(__file__).parents[2]
CLAIMS = {"unique", "unique_keys", "unique_columns", "constant", "numbered", "rises"}
"""Words of relations, sources, values and bounds that make a sensitivity smaller."""

HANDED_ON = {
    "rewriter.aggregates.booleans_as_counts:_negated": "NOT of a value is as constant as the value",
    "rewriter.columns.source:_nullable": "a value that may be NULL is as constant as it was",
    "rewriter.declared.contribution:": "where ONE is made",
    "rewriter.expressions.conjunction:both": "AND of two constant conditions",
    "rewriter.expressions.conjunction:present": "whether a constant value is there",
    "rewriter.expressions.value:Value.condition": "is told by who makes it",
    "rewriter.measure.moments:every": "AND of two constant conditions",
    "rewriter.outer.provenance:_shifted": "numbers above releases: a constant term of a sum",
    "rewriter.outer.provenance:literal": "numbers above releases: a constant term of a sum",
    "rewriter.per_person.person_rows:groups_of_several": "a bound beside the number of rows that change; keys are taken off",
    "rewriter.planner.drill_downs:_drill_down._key_of": "where a unit has one row, or of what a constant condition reads",
    "rewriter.planner.drill_downs:_interval": "an interval is as constant as its number",
    "rewriter.planner.drill_downs:_key": "a key that is only listed, or measured as its caller says",
    "rewriter.outer.provenance:_times": "numbers above releases: a constant term of a sum",
    "rewriter.planner.joint_rows:rows_alone": "is told by who asks",
    "rewriter.planner.plan_release:plan": "a name of its own for all keys being constant",
    "rewriter.relations.ownership:_believed": "keys that are claimed say where to clip, and `unique` is taken off",
    "rewriter.relations.shared_rows:shared_rows": "a bound beside the number of rows that change",
    "rewriter.split.earlier_answers:_relation": "what told_apart has found, held against the rows",
}
"""Who hands on what was claimed elsewhere, or means something else by the word."""


def named(place: str) -> object:
    module, _, definition = place.partition(":")
    found: object = importlib.import_module(module)
    for name in definition.split("."):
        if isinstance(found, FunctionType):
            return name in found.__code__.co_varnames or None
        found = vars(found)[name]
    return found


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_every_place_of_a_fact_exists(fact: ProvedFact) -> None:
    for place in (*fact.claimed, *fact.trusted):
        assert named(place) is not None, place


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_a_bug_is_planted_that_lies_about_a_fact(fact: ProvedFact) -> None:
    lies = [bug.name for bug in BUGS if bug.place in {*fact.claimed, *fact.trusted}]
    assert lies, f"plant a bug at one of {', '.join((*fact.claimed, *fact.trusted))}"


def test_facts_have_names_of_their_own_and_a_theorem() -> None:
    assert len({fact.name for fact in FACTS}) == len(FACTS)
    assert all(fact.theorem.endswith(".") and fact.claimed and fact.trusted and fact.otherwise for fact in FACTS)


def test_the_guide_shows_the_facts() -> None:
    assert table() in (GUIDE / "trust.md").read_text(encoding="utf-8"), "python -m tests.guide.write"


def claims(module: str, source: str) -> Iterator[str]:
    """The definitions that claim something which lowers noise: by name, or by the bound of one row."""
    tree = ast.parse(source)
    imported = {
        name.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rewriter.declared")
        for name in node.names
    }

    def within(node: ast.AST, path: tuple[str, ...]) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            inner = isinstance(child, ast.ClassDef | ast.FunctionDef)
            if isinstance(child, ast.Call) and any(
                word.arg in CLAIMS and not (isinstance(word.value, ast.Constant) and word.value.value in (False, None))
                for word in child.keywords
            ):
                yield f"{module}:{'.'.join(path)}"
            if isinstance(child, ast.Name) and child.id == "ONE" and "ONE" in imported:
                yield f"{module}:{'.'.join(path)}"
            yield from within(child, (*path, child.name) if inner else path)

    yield from within(tree, ())


def test_who_claims_a_fact_is_on_the_list() -> None:
    found = {
        place
        for path in (ROOT / "rewriter").rglob("*.py")
        for place in claims(".".join(path.relative_to(ROOT).with_suffix("").parts), path.read_text(encoding="utf-8"))
    }
    listed = {place for fact in FACTS for place in fact.claimed}
    assert found - listed - HANDED_ON.keys() == set(), "name the fact in rewriter/proved_facts.py, with its theorem"
    assert HANDED_ON.keys() <= found, f"nothing is handed on here any more: {sorted(HANDED_ON.keys() - found)}"


def test_a_claim_is_seen() -> None:
    made = "from rewriter.declared import ONE\n\nclass A:\n    def b(self):\n        return f(constant=True), ONE\n"
    assert set(claims("m", made)) == {"m:A.b"}
    assert set(claims("m", "def b():\n    return f(constant=False, unique=None)\n")) == set()
