"""One more person moves no answer over blocks of people by more than its declared sensitivity, on random worlds."""

from __future__ import annotations

from typing import Any

import pytest

from dpsql.audit.neighbour_law import MovedTooFar
from dpsql.audit.pick_law import compare_picks, picked_in
from dpsql.testing import measured
from rewriter.plan import Plan
from tests.properties.block_questions import FORMS, block_question, block_world
from tests.properties.campaign import Home, Tally, campaign
from tests.properties.neighbours import Databases
from tests.properties.planted import case
from tests.properties.postgres_databases import PostgresDatabases


def assert_sound(seeds: range, questions: int, home: Home) -> Tally:
    tally = campaign(seeds, questions, 2, Tally(), home=home, ask=block_question, drawn=block_world)
    assert not tally.leaks, f"{len(tally.leaks)} violations, the first:\n{tally.leaks[0]}"
    assert tally.executed >= 0.85 * tally.asked, f"refused: {tally.refused.most_common(5)}"
    assert tally.attained(0.9) > 0.03, "hardly a unit comes near a bound: they are loose, or the data is tame"
    return tally


@pytest.mark.parametrize(("home", "seeds"), [(Databases.of, range(1, 2)), (PostgresDatabases.of, range(107, 108))])
def test_one_more_person_moves_no_answer_over_blocks_further(home: Home, seeds: range) -> None:
    assert_sound(seeds, 12, home)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("home", [Databases.of, PostgresDatabases.of])
def test_one_more_person_moves_no_answer_over_blocks_further_at_length(home: Home, part: int) -> None:
    tally = assert_sound(range(400 * part, 400 * part + 25), 15, home)
    assert tally.features.keys() >= FORMS, f"not covered: {sorted(FORMS - tally.features.keys())}"


_TABLES = """
  person: {columns: {id: {}, sex: {values: [F, M]}, age: {range: [0, 100]}}}
"""


def test_the_law_looks_at_every_group_that_is_released_and_at_no_other(tmp_path: Any) -> None:
    """Of blocks: a person's going may change any number of groups that are not in the public key set."""
    setup = ["CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT, age INTEGER)"]
    setup += ["INSERT INTO person SELECT i, CASE WHEN i < 9 THEN 'FM' ELSE 'F' END, i FROM range(1, 30) AS t(i)"]
    sql = "SELECT sex, dpsql.over_blocks(AVG(age), blocks => 4, combine => 'median') FROM person GROUP BY sex"
    with case(tmp_path, setup, _TABLES) as session:
        (one,) = measured(sql, session._opened)
    plan: Plan = one.plan
    (choice,) = plan.choices
    ranks = one.ranks[choice.name]
    assert {key[0] for key in ranks} == {"F", "FM"}
    assert {key[0] for key in picked_in(plan, ranks, one.groups)} == {"F"}
    nobody: dict[str, dict[Any, Any]] = {choice.name: {}}
    with pytest.raises(MovedTooFar):
        compare_picks(plan, one.ranks, nobody, one.groups)
    unseen = {choice.name: {key: found for key, found in ranks.items() if key[0] == "F"}}
    assert compare_picks(plan, one.ranks, unseen, one.groups) == 0
