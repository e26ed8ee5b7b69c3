"""What releases are stored by: every field is written or declared to say nothing, and no text changes by accident."""

from __future__ import annotations

import dataclasses
import datetime
import types
import typing
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from rewriter.canonical_form import CLASSES, VERSION, ListedFields, canonical_form, identity_of
from rewriter.declared import Catalog, Sensitivity
from rewriter.declared.catalog import Column, Hop, Table
from rewriter.declared.randomization import Rappor, Response
from rewriter.declared.types import INTEGER, TEXT
from rewriter.plan import Block, Choice, ComponentBlock, KeyColumn, Linear, Output, Plan, Selection, Statistic, Top
from rewriter.strategies import Prefix, Toeplitz, Tree

COUNT = Statistic("s0", Fraction(1), 3, "count(*)")
BLOCK = Block((COUNT,), Sensitivity(l1=3, l2_squared=9))
KEY = KeyColumn("k0", TEXT, "sex")
CHOICE = Choice(
    *("c0", "SELECT 2", (Fraction(1, 2),), 0, 99, Fraction(1, 4)), Sensitivity(l1=None, l2_squared=4), 1, 50, "median"
)
PLAN = Plan("SELECT 1", "duckdb", (KEY,), (BLOCK,), (), Selection("s0", Fraction(1), 1), 2)
OTHERS = (
    replace(PLAN, selection=None, top=Top("s0", "a0", 10, True, 3, "count(*)")),
    replace(PLAN, selection=None, choices=(CHOICE, replace(CHOICE, fractions=(), candidates=("a", True, 1)))),
    replace(PLAN, selection=None, blocks=(replace(BLOCK, prefix=Prefix(Toeplitz(4), (0, 1), descending=True)),)),
    replace(PLAN, selection=None, blocks=(replace(BLOCK, prefix=Prefix(Tree(8, 2, 3), (1, 0), False)),)),
)
CATALOG = Catalog(
    {
        "visit": Table(
            "visit",
            {"cost": Column("cost", INTEGER, range=(0, 9), step=Fraction(1, 2)), "day": Column("day", TEXT)},
            path=(Hop("patient", "patient", "id"),),
            keys=(frozenset({"day", "patient"}),),
        )
    },
    ("patient", "id"),
)

IDENTITIES = [
    "4dfa42cccc21a221",
    "2729e3a1e83888d2",
    "9be7f20c534d5af5",
    "096ba67a54a48e14",
    "60c9703dfb6b43c5",
    "c8bb6f0177967f6d",
]


def test_the_text_of_a_plan_is_what_it_was() -> None:
    """A change here means that every release of today is bought once more: a new VERSION, and a line in CHANGELOG."""
    assert VERSION == "dpsql-2"
    assert canonical_form(PLAN) == (
        "plan {blocks: [block {sensitivity: sensitivity {l1: 3, l2_squared: 9}, statistics: [statistic {bound: 3, "
        'granularity: 1/1, name: "s0", text: "count(*)"}]}], dialect: "duckdb", keys: [key {name: "k0", text: "sex", '
        'type: type {kind: "text"}}], selection: selection {granularity: 1/1, max_groups: 1, name: "s0"}, '
        'sql: "SELECT 1"}'
    )
    assert canonical_form(CATALOG) == (
        'catalog {tables: {"visit": table {columns: {"cost": column {name: "cost", range: [0, 9], step: 1/2, type: '
        'type {bits: 32, kind: "integer"}}, "day": column {name: "day", type: type {kind: "text"}}}, keys: [set '
        '["day", "patient"]], name: "visit", path: [hop {column: "patient", parent: "patient", parent_column: "id"}]}}'
        ', unit: ["patient", "id"]}'
    )


def test_identities_are_what_they_were() -> None:
    assert [identity_of(one)[:16] for one in (PLAN, *OTHERS, CATALOG)] == IDENTITIES


def test_every_field_is_written_or_says_nothing() -> None:
    seen = _classes(Plan) | _classes(ComponentBlock) | _classes(Catalog) | {Response, Rappor}
    reached = {name for name in CLASSES if name in {one.__name__ for one in seen}}
    assert reached == set(CLASSES), "listed, and in no plan and no catalog"
    for class_ in seen:
        listed = CLASSES.get(class_.__name__)
        if listed is None:
            continue
        names = [name.rpartition("=")[2] for name in (*listed.written, *listed.left_out)]
        assert sorted(names) == sorted(field.name for field in dataclasses.fields(class_)), class_


def test_every_class_of_what_is_written_is_listed() -> None:
    for root in (Plan, Catalog):
        for class_ in _classes(root, written=True):
            assert class_.__name__ in CLASSES


def test_a_renamed_field_keeps_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = dataclasses.make_dataclass("Renamed", ["k", ("norm", int)])
    monkeypatch.setitem(CLASSES, "Renamed", ListedFields("sensitivity", ("l1=norm", "l2_squared=k")))  # type: ignore[misc]
    assert canonical_form(renamed(9, 3)) == canonical_form(Sensitivity(l1=3, l2_squared=9))


def test_no_two_classes_have_one_tag() -> None:
    assert len({listed.tag for listed in CLASSES.values()}) == len(CLASSES)


@pytest.mark.quick
@pytest.mark.parametrize(
    "other",
    [
        replace(PLAN, sql="SELECT 2"),
        replace(PLAN, dialect="postgres"),
        replace(PLAN, keys=(replace(KEY, name="k1"),)),
        replace(PLAN, keys=(replace(KEY, type=INTEGER),)),
        replace(PLAN, blocks=(replace(BLOCK, weight=Fraction(2)),)),
        replace(PLAN, blocks=(replace(BLOCK, sensitivity=Sensitivity(l1=None, l2_squared=9)),)),
        replace(PLAN, blocks=(replace(BLOCK, statistics=(replace(COUNT, granularity=Fraction(1, 2)),)),)),
        replace(PLAN, selection=None),
        *OTHERS,
    ],
)
def test_what_is_measured_differently_has_another_name(other: Plan) -> None:
    assert other.identity != PLAN.identity


def test_what_is_shown_differently_has_the_same_name() -> None:
    output = Output("a0", INTEGER, Linear((("s0", Fraction(1)),)), "count(*)")
    shown = replace(PLAN, outputs=(output,), notes=("a note",), cells=7, clips=True, keys=(replace(KEY, family="f"),))
    assert shown.identity == PLAN.identity


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (1, 1.0), (1, Fraction(1)), ("1", 1), (Decimal("1.0"), Decimal("1.00")), (None, "null"), (0.0, -0.0)],
)
def test_values_that_sql_tells_apart_have_different_texts(one: object, other: object) -> None:
    assert canonical_form(one) != canonical_form(other)


def test_days_and_instants_are_told_apart() -> None:
    assert canonical_form(datetime.date(2025, 3, 1)) != canonical_form(datetime.datetime(2025, 3, 1))


def test_what_is_not_listed_has_no_text() -> None:
    with pytest.raises(TypeError, match="Linear is not listed"):
        canonical_form(Linear(()))


def _classes(class_: type, *, written: bool = False) -> set[type]:
    """The dataclasses that a class is made of; those of what is ``written`` alone."""
    found: set[type] = set()
    waiting = [class_]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        listed = CLASSES.get(one.__name__)
        hints = typing.get_type_hints(one)
        for field in dataclasses.fields(one):
            if not written or listed is None or field.name not in listed.left_out:
                waiting += _dataclasses(hints[field.name])
    return found


def _dataclasses(hint: object) -> list[type]:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return [hint]
    inside = typing.get_args(hint) if not isinstance(hint, types.UnionType) else hint.__args__
    return [class_ for one in inside for class_ in _dataclasses(one)]
