"""What BI tools send for joins that repeat rows: no person moves it further than is paid, and it means what they mean."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import duckdb
import pytest

from tests.doubles import open_without_noise
from tests.properties.bi_forms import FORMS, bi_question
from tests.properties.campaign import Home, Tally, campaign
from tests.properties.drawing import world
from tests.properties.neighbours import Databases
from tests.properties.postgres_databases import PostgresDatabases
from tests.properties.test_correctness import SETTINGS, Score, ask, dear
from tests.properties.world import World


def of_people(random: Random, *, tame: bool = False) -> World:
    """A world in which rows of a table lead to people."""
    return next(found for found in iter(lambda: world(random, tame=tame), None) if found.entity is not None)


def assert_still(seeds: Iterable[int], questions: int, home: Home) -> Tally:
    tally = campaign(seeds, questions, 2, Tally(), home=home, ask=bi_question, drawn=of_people)
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"
    assert tally.executed >= 0.9 * tally.asked, f"refused: {tally.refused.most_common(5)}"
    return tally


def test_one_more_person_moves_no_statistic_of_a_tool_further() -> None:
    assert_still(range(95_000, 95_001), 6, Databases.of)


@pytest.mark.campaign
@pytest.mark.parametrize("home", [Databases.of, PostgresDatabases.of])
@pytest.mark.parametrize("part", range(3))
def test_one_more_person_moves_no_statistic_of_a_tool_further_at_length(home: Home, part: int) -> None:
    tally = assert_still(range(95_100 + 100 * part, 95_140 + 100 * part), 25, home)
    assert tally.features.keys() >= FORMS
    assert tally.attained(0.9) > 0.1


def examined(seeds: Iterable[int], questions: int, folder: Path) -> Score:
    score = Score()
    for seed in seeds:
        random = Random(seed)
        place = of_people(random, tame=True)
        (folder / str(seed)).mkdir()
        with duckdb.connect(str(folder / str(seed) / "world.duckdb")) as connection:
            place.fill(connection)
        (folder / str(seed) / "policy.yaml").write_text(dear(place.policy(folder=""), questions))
        theirs = duckdb.connect(":memory:", config=dict(SETTINGS))
        place.fill(theirs)
        proxy = open_without_noise(folder / str(seed) / "policy.yaml")
        try:
            for _ in range(questions):
                drawn = bi_question(random, place)
                if drawn.truth:  # Which groups are the largest is not the reader's to say where some are not declared.
                    ask(drawn, proxy.session(), theirs, score)
        finally:
            proxy.close()
    assert score.compared >= 0.9 * score.asked, score.refused.most_common(5)
    return score


def test_answers_are_those_of_plain_sql(tmp_path: Path) -> None:
    assert examined(range(96_000, 96_002), 4, tmp_path).cells > 5


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(3))
def test_answers_are_those_of_plain_sql_at_length(tmp_path: Path, part: int) -> None:
    assert examined(range(96_100 + 100 * part, 96_140 + 100 * part), 30, tmp_path).cells > 3_000
