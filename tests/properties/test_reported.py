"""Columns that people randomized themselves: sensitive as declared, and freed of it by what they truly have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from random import Random

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from tests.doubles import open_without_noise
from tests.properties.campaign import Home, Tally, campaign
from tests.properties.neighbours import Databases
from tests.properties.postgres_databases import PostgresDatabases
from tests.properties.questions import Question
from tests.properties.reported_worlds import FORMS, SITES, SURE, reported_question, reported_world, reports_of
from tests.properties.test_correctness import SETTINGS, dear, in_duckdb, in_postgres, oracle, table
from tests.properties.world import World


def assert_sound(seeds: range, questions: int, neighbours: int, home: Home) -> Tally:
    tally = campaign(seeds, questions, neighbours, Tally(), home=home, ask=reported_question, drawn=reported_world)
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"
    assert tally.executed >= 0.8 * tally.asked, f"refused: {tally.refused.most_common(5)}"
    return tally


def test_one_more_report_moves_no_statistic_by_more_than_its_sensitivity() -> None:
    assert_sound(range(120_000, 120_001), 1, 1, Databases.of)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("home", [Databases.of, PostgresDatabases.of])
def test_one_more_report_moves_no_statistic_further_at_length(home: Home, part: int) -> None:
    tally = assert_sound(range(121_000 + 100 * part, 121_015 + 100 * part), 20, 2, home)
    assert tally.features.keys() >= FORMS
    assert tally.attained(0.9) > 0.1


@dataclass(slots=True)
class Told:
    """What became of questions about a tame world."""

    asked: int = 0
    cells: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)


def right(asked: Question, session: Session, theirs: duckdb.DuckDBPyConnection, told: Told) -> None:
    """The answer without noise is the engine's own over what people truly have."""
    told.asked += 1
    try:
        answer = session.execute(asked.sql)
    except Error as error:
        assert error.sqlstate not in ("XX000", "58000"), f"{error}: {asked.sql}"
        told.refused[str(error)] += 1
        return
    names, rows = oracle(theirs, asked.sql)
    mine, truth = table([one.name for one in answer.columns], list(answer.rows)), table(names, rows)
    told.features.update(asked.features)
    for key, cells in truth.items():
        if key not in mine:
            assert None in key, f"the group {key} is missing: {asked.sql}"
            continue
        for ours, other in zip(mine[key], cells, strict=True):
            assert alike(ours, other), f"{key}: {ours!r}, DuckDB says {other!r}: {asked.sql}"
            told.cells += 1
    for key in mine.keys() - truth.keys():
        assert all(cell in (None, 0) for cell in mine[key]), f"nobody is in {key}: {mine[key]}: {asked.sql}"


def alike(ours: object, other: object) -> bool:
    """Equal, but for what the law leaves open. A sum over nobody is 0."""
    if other is None:
        return ours in (None, 0)
    assert isinstance(ours, int | float | Decimal), ours
    assert isinstance(other, int | float | Decimal)
    return abs(float(ours) - float(other)) <= 1e-3 + 1e-5 * abs(float(other))


def examined(seeds: range, questions: int, folder: Path, *, postgres: bool) -> Told:
    told = Told()
    for seed in seeds:
        random = Random(seed)
        place = reported_world(random, tame=True)
        here = folder / str(seed)
        here.mkdir()
        reported: World = replace(place, rows=reports_of(place, random))
        database = (in_postgres if postgres else in_duckdb)(reported, here)
        (here / "policy.yaml").write_text(dear(place.policy(database=database), questions))
        theirs = duckdb.connect(":memory:", config=dict(SETTINGS))
        place.fill(theirs)
        proxy = open_without_noise(here / "policy.yaml")
        try:
            session = proxy.session()
            for _ in range(questions):
                right(reported_question(random, place), session, theirs, told)
        finally:
            proxy.close()
    assert sum(told.refused.values()) <= 0.2 * told.asked, told.refused.most_common(5)
    assert told.cells > told.asked
    return told


def test_what_people_truly_have_is_answered(tmp_path: Path) -> None:
    examined(range(130_000, 130_001), 4, tmp_path, postgres=False)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("postgres", [False, True])
def test_what_people_truly_have_is_answered_at_length(postgres: bool, part: int, tmp_path: Path) -> None:
    told = examined(range(131_000 + 100 * part, 131_015 + 100 * part), 30, tmp_path, postgres=postgres)
    assert told.features.keys() >= FORMS


def test_sure_reports_are_those_of_one_value() -> None:
    for cohort in range(SURE.cohorts):
        blooms = [SURE.bloom(cohort, place) for place in range(len(SITES))]
        assert not any(one <= other for one in blooms for other in blooms if one is not other)
