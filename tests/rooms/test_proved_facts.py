"""Facts that lower noise stand in one list: every place exists, every claim is on it, and each is lied about.

What is not on the list, no sensitivity may rest on. A sensitivity is the smaller, the more is known of how few rows,
groups and values one person has. Where the bounded SQL cuts people down to what is claimed, a false fact costs
rightness and never privacy. All others need a proof, a border at which they are held against what is really there,
and a test that lies about them. The theorems stand in the guide's table (``trust.md``), the places here.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import FunctionType

import pytest

from tests.guide.blocks import GUIDE
from tests.mutation.bugs import BUGS

ROOT = Path(__file__).parents[2]
CLAIMS = {"unique", "unique_keys", "unique_columns", "constant", "numbered", "rises"}
"""Words of relations, sources, values and bounds that make a sensitivity smaller."""

FACTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "two rows are one person's": (
        ("rewriter.dialects.dialect:Dialect.person_key", "dpsql.policy.unit_path:unfit"),
        ("rewriter.columns.source:_person_key", "rewriter.split.blocks_of_people:_answers"),
    ),
    "a row stands for itself": (("rewriter.columns.source:_row_identity",), ("rewriter.columns.source:_bound",)),
    "a person has one row of a table": (
        (
            "dpsql.policy.unique_keys:UniqueKeys._people",
            "rewriter.columns.source:_bound",
            "rewriter.relations.ownership:_multiplied",
            "rewriter.relations.ownership:own_both",
        ),
        ("rewriter.bound.ball:reach_squared", "rewriter.relations.ownership:_row_bound"),
    ),
    "a row of a table is met once": (
        (
            "dpsql.policy.unique_keys:UniqueKeys._declared",
            "rewriter.columns.source:base_table",
            "rewriter.relations.from_where:_compares_exactly",
            "rewriter.relations.from_where:_determined",
            "rewriter.relations.ownership:_Classes.follows",
        ),
        ("rewriter.relations.ownership:_meets_by_key", "rewriter.relations.ownership:_determined"),
    ),
    "public rows are so many, and repeat no value": (
        ("dpsql.engines.sql_engine:SQLEngine.public_profile", "dpsql.engines.schema:SchemaTable.stored"),
        ("rewriter.relations.ownership:_with_public",),
    ),
    "an earlier answer has one row": (
        ("rewriter.split.earlier_answers:told_apart",),
        ("rewriter.split.earlier_answers:_relation",),
    ),
    "columns tell the rows of an earlier answer apart": (
        ("rewriter.split.earlier_answers:told_apart",),
        ("rewriter.split.earlier_answers:_relation",),
    ),
    "written rows repeat no value": (
        ("rewriter.split.public_rows:written_rows",),
        ("rewriter.relations.ownership:_meets_by_key",),
    ),
    "the columns of a subquery hold a key": (
        (
            "rewriter.per_person.person_rows:unique_places",
            "rewriter.per_person.person_rows:of_units",
            "rewriter.per_person.person_rows:_determining",
            "rewriter.relations.relation:Relation.source",
        ),
        ("rewriter.relations.ownership:_meets_by_key",),
    ),
    "a person's rows are numbered": (
        (
            "rewriter.per_person.windows:_Reader._over",
            "rewriter.per_person.windows:_Reader.source",
            "rewriter.relations.row_number_bounds:_most",
            "rewriter.relations.row_number_bounds:_at_most",
        ),
        ("rewriter.relations.row_number_bounds:limited", "rewriter.relations.ownership:_keys_of"),
    ),
    "all rows of a release are of these times": (
        (
            "rewriter.planner.closed_windows:with_times",
            "rewriter.planner.closed_windows:_rows_until",
            "rewriter.planner.closed_windows:_needs_times",
        ),
        ("rewriter.planner.plan_release:plan",),
    ),
    "a person is one row after an aggregation": (
        (
            "rewriter.per_person.person_rows:of_units",
            "rewriter.planner.bound_histogram:bin_of",
            "rewriter.planner.bound_histogram:histograms",
            "rewriter.planner.rows_profile:means_query",
            "rewriter.planner.rows_profile:profile_queries",
            "rewriter.planner.rows_profile:profile_queries.over_people",
            "rewriter.planner.rows_profile:values_query",
            "rewriter.bound.ranks:_once_in_each_group",
        ),
        ("rewriter.bound.ball:reach_squared",),
    ),
    "a group is measured by itself": (
        ("rewriter.planner.plan_top_k:plan_top", "rewriter.planner.period_series:_within"),
        ("rewriter.planner.plan_release:plan",),
    ),
    "a person is in one block": (
        ("rewriter.split.blocks_of_people:_answers", "rewriter.split.blocks_of_people:_bounded"),
        ("rewriter.planner.answers_changed:AnswersChanged.sensitivity",),
    ),
    "a value is the same in all rows of a person": (
        (
            "rewriter.columns.source:Source.as_optional",
            "rewriter.columns.source:Source.constant",
            "rewriter.per_person.person_rows:of_units",
            "rewriter.per_person.window_functions:_aggregate",
            "rewriter.per_person.window_functions:_first",
            "rewriter.per_person.window_functions:_last",
            "rewriter.per_person.window_functions:_nth",
            "rewriter.relations.from_where:_of_owner",
            "rewriter.relations.membership:Subqueries._in",
            "rewriter.relations.membership:Subqueries.scalar",
            "rewriter.expressions.build:derive",
            "rewriter.expressions.build:literal",
            "rewriter.expressions.literals:interval_of",
        ),
        ("rewriter.planner.plan_release:plan", "rewriter.relations.ownership:_constant_public"),
    ),
    "no row of a joined table is left": (
        ("rewriter.relations.from_where:_unmatched", "rewriter.columns.source:may_be_missing"),
        ("rewriter.relations.ownership:_multiplied",),
    ),
    "there are so many groups": (
        ("rewriter.keys.key_sets:_counted", "rewriter.keys.key_sets:_values"),
        ("rewriter.planner.plan_release:plan", "rewriter.planner.answers_changed:AnswersChanged.sensitivity"),
    ),
    "groups are all combinations of their values": (
        ("dpsql.reuse.completed:Base.components",),
        (
            "rewriter.strategies.missing_components:MissingComponents.sensitivity",
            "rewriter.strategies.missing_components:MissingComponents.measured",
        ),
    ),
    "a list along a key is so long": (
        ("rewriter.keys.groups_along:steps_along",),
        ("rewriter.bound.series:with_prefixes",),
    ),
    "a period is closed, and lies in so many spans": (
        (
            "rewriter.declared.spans:touched_by_one",
            "rewriter.planner.period_series:_within",
            "rewriter.planner.closed_windows:_until",
        ),
        ("rewriter.planner.period_series:series_of", "rewriter.planner.touched_spans:touched_by"),
    ),
    "so many rows are of several people": (
        ("rewriter.relations.shared_rows:shared_rows", "rewriter.per_person.person_rows:groups_of_several"),
        ("rewriter.planner.answers_changed:answers_changed",),
    ),
    "one person more makes no number smaller": (
        (
            "rewriter.bound.ball:measured",
            "rewriter.bound.credited_values:credited",
            "rewriter.planner.answers_changed:AnswersChanged.block",
        ),
        ("dpsql.watched:watched_statement", "rewriter.planner.plan_top_k:plan_top"),
    ),
    "groupings of the same rows are clipped alike": (
        ("rewriter.planner.alike:said",),
        ("dpsql.inference.consistency.infer:_alike",),
    ),
    "a person has so many rows, groups, and rows in a group": (
        (
            "rewriter.bound.ball:Ball.shortening",
            "rewriter.declared.contribution:ContributionBound.times",
            "rewriter.relations.ownership:_is_parent",
        ),
        ("rewriter.bound.ball:reach_squared",),
    ),
    "a row adds no more than its range": (
        ("rewriter.expressions.value_lattice:clip_of", "dpsql.prepare.released_range:released_range"),
        ("rewriter.measure.moments:_measure", "rewriter.measure.second_moments:measured_moments"),
    ),
    "a person is credited with so many different values": (
        ("rewriter.bound.credited_values:_kept_of",),
        ("rewriter.bound.credited_values:Kept.sensitivity",),
    ),
    "a person names so many groups": (
        ("rewriter.bound.bounded_sql:_weight",),
        ("dpsql.mechanisms.threshold:threshold_steps",),
    ),
}
"""Where each fact is claimed, and where a sensitivity trusts it: places are ``module:definition``."""

BASES = {
    "a constraint of the database, looked at in the snapshot that is read",
    "rows that nobody changes while the policy is open",
    "the form of the statement",
    "a list that is in the engine's own SQL",
    "the bounded SQL clips each person",
    "the calendar and the proxy's clock",
}
"""Why a fact is true, whatever the rows are."""

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


@pytest.mark.parametrize("fact", FACTS)
def test_every_place_of_a_fact_exists(fact: str) -> None:
    for place in chain(*FACTS[fact]):
        assert named(place) is not None, place


@pytest.mark.parametrize("fact", FACTS)
def test_a_bug_is_planted_that_lies_about_a_fact(fact: str) -> None:
    claimed, trusted = FACTS[fact]
    assert claimed
    assert trusted
    lies = [bug.name for bug in BUGS if bug.place in {*claimed, *trusted}]
    assert lies, f"plant a bug at one of {', '.join((*claimed, *trusted))}"


def test_the_guide_proves_each_fact_and_no_other() -> None:
    """A row has the fact, its theorem, what it rests on, and what happens where it does not hold."""
    page = (GUIDE / "trust.md").read_text(encoding="utf-8")
    _, _, rows = page[page.index("| fact | theorem |") :].partition("|---|---|---|---|\n")
    cells = [re.split(r" ?\| ?", row)[1:-1] for row in rows.partition("\n\n")[0].splitlines()]
    assert [name for name, *_ in cells] == list(FACTS)
    assert all(theorem.endswith(".") and basis in BASES and otherwise for _, theorem, basis, otherwise in cells)


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
    listed = {place for claimed, _ in FACTS.values() for place in claimed}
    assert found - listed - HANDED_ON.keys() == set(), "name the fact above, and its theorem in trust.md"
    assert HANDED_ON.keys() <= found, f"nothing is handed on here any more: {sorted(HANDED_ON.keys() - found)}"


def test_a_claim_is_seen() -> None:
    made = "from rewriter.declared import ONE\n\nclass A:\n    def b(self):\n        return f(constant=True), ONE\n"
    assert set(claims("m", made)) == {"m:A.b"}
    assert set(claims("m", "def b():\n    return f(constant=False, unique=None)\n")) == set()
