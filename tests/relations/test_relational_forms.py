"""One more person moves nothing further than is declared, by whatever ways rows are tied and however they are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from random import Random

import pytest

from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.answer.answers import drawn, with_answers
from tests.properties.drawing import world, worst_units
from tests.properties.neighbours import Databases, Unsound, check
from tests.properties.relational_forms import RelationalForms, with_hops, with_ways


def sound(seeds: Iterable[int], statements: int) -> tuple[list[float], Counter[str]]:
    """The shares of their bounds that people used, and why statements were refused."""
    shares: list[float] = []
    refused: Counter[str] = Counter()
    staged = 0
    for seed in seeds:
        random = Random(seed)
        place = world(random)
        if place.entity is None:
            continue
        place = with_ways(random, place)
        databases = Databases.of(place, worst_units(random, place, 3))
        catalog, relations = with_hops(databases.catalog()), RelationalForms(random, place)
        try:
            for _ in range(statements):
                sql, norm = relations.statement(), random.choice(list(Norm))
                statement = parse(sql)
                assert isinstance(statement, Select)
                try:
                    known, first = with_answers(statement.tree, catalog, DUCKDB, partial(drawn, random))
                    asked = [split(tree.copy(), known, DUCKDB) for tree in (*first, statement.tree)]
                    plans = [plan(query, norm, DUCKDB) for one in asked for query in one.groupings]
                    staged += bool(first)
                except Refused as reason:
                    refused[reason.message] += 1
                    continue
                for one in plans:
                    try:
                        shares += check(one, databases, random)
                    except Unsound as reason:
                        raise AssertionError(f"seed {seed}: {reason}\n{sql}\n{norm}: {one.sql}") from None
        finally:
            databases.close()
    assert staged > statements // 4, "hardly a statement has an earlier one"
    return shares, refused


def test_one_more_person_moves_no_form_further() -> None:
    shares, refused = sound(range(3), 8)
    assert len(shares) > 10, refused.most_common(5)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_one_more_person_moves_no_form_further_at_length(part: int) -> None:
    shares, refused = sound(range(40_000 + 1_000 * part, 40_000 + 1_000 * part + 60), 25)
    assert len(shares) > 1_000, refused.most_common(5)
