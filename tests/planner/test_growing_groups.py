"""Groups of a public table that grows while dpsql serves: no sensitivity rests on a number that is not that of the read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.audit.pick_law import compare_picks
from dpsql.proxy import Session
from dpsql.testing import Measurement, measured
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.properties.planted import POLICY

BEFORE, AFTER = 20, 400
_SETUP = f"""
CREATE TABLE person (id int PRIMARY KEY);
CREATE TABLE city (name text PRIMARY KEY, land text);
CREATE TABLE visit (pid int REFERENCES person, c text, sex text, cost int);
INSERT INTO person VALUES (1), (2);
INSERT INTO city SELECT 'c' || i, 'x' FROM generate_series(1, {BEFORE}) AS t(i);
INSERT INTO visit SELECT 2, 'c' || i, 'F', 10 FROM generate_series(1, {AFTER}) AS t(i);
"""
_PERSON = f"INSERT INTO visit SELECT 1, 'c' || i, 'M', 90 FROM generate_series(1, {AFTER}) AS t(i)"
_GROWN = f"INSERT INTO city SELECT 'c' || i, 'y' FROM generate_series({BEFORE + 1}, {AFTER}) AS t(i)"
_TABLES = """
  person: {columns: {id: {}}}
  city: {public: true}
  visit:
    unit: pid -> person.id
    max_rows: 2
    columns: {pid: {}, c: {values_from: city.name}, sex: {values: [F, M]}, cost: {range: [0, 100]}}
"""
BLOCKS = "dpsql.over_blocks(AVG(cost), blocks => 4096)"
MEDIAN = "dpsql.over_blocks(AVG(cost), blocks => 4096, combine => 'median')"


@pytest.fixture
def grown(tmp_path: Path) -> Iterator[tuple[Session, psycopg.Connection]]:
    """A session that was opened before the public table grew, and the owner's connection."""
    server = shared_server()
    name = server.database(_SETUP)
    text = POLICY.format(database=server.url(name), delta=", delta: 1e-3", accounting="zcdp", epsilon=1)
    (tmp_path / "policy.yaml").write_text(text + _TABLES)
    proxy = open_without_noise(tmp_path / "policy.yaml")
    with server.owner(name) as owner:
        owner.execute(_GROWN)  # type: ignore[arg-type]
        yield proxy.session(), owner
    proxy.close()


def _both(grown: tuple[Session, psycopg.Connection], sql: str) -> tuple[Measurement, Measurement]:
    """What is measured without a person who is in all groups, and with that person."""
    session, owner = grown
    (without,) = measured(sql, session._opened)
    owner.execute(_PERSON)  # type: ignore[arg-type]
    (with_,) = measured(sql, session._opened)
    return without, with_


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT c, {BLOCKS} FROM visit GROUP BY c",
        f"SELECT sex, c, {BLOCKS} FROM visit GROUP BY sex, c",
        f"SELECT UPPER(c), {BLOCKS} FROM visit GROUP BY 1",
        f"SELECT name, {BLOCKS} FROM visit JOIN city ON c = name GROUP BY name",
        f"SELECT name, {BLOCKS} FROM visit LEFT JOIN city ON c = name GROUP BY name",
        "SELECT c, SUM(COUNT(*)) OVER (ORDER BY c) FROM visit GROUP BY c",
        "SELECT sex, c, SUM(COUNT(*)) OVER (PARTITION BY sex ORDER BY c) FROM visit GROUP BY sex, c",
        "SELECT c, SUM(SUM(cost)) OVER (ORDER BY c) FROM visit GROUP BY c",
    ],
)
def test_a_person_moves_an_answer_by_no_more_than_it_claims(
    grown: tuple[Session, psycopg.Connection], sql: str
) -> None:
    without, with_ = _both(grown, sql)
    assert without.plan.cells is not None
    assert len(with_.groups) <= without.plan.cells
    for block, (names, sensitivity) in zip(without.plan.blocks, without.blocks, strict=True):
        moved = []
        for name in names:
            before, after = ([cells[name] for cells in one.groups.values()] for one in (without, with_))
            if block.prefix is not None:
                before, after = (
                    list(block.prefix.measured(cells, list(one.groups)))
                    for cells, one in ((before, without), (after, with_))
                )
            moved += [abs(one - other) for one, other in zip(before, after, strict=True)]
        assert sum(moved) > 0
        assert sensitivity.l1 is None or sum(moved) <= sensitivity.l1
        assert sum(one * one for one in moved) <= sensitivity.l2_squared


def test_a_person_moves_the_weights_of_medians_by_no_more_than_they_claim(
    grown: tuple[Session, psycopg.Connection],
) -> None:
    without, with_ = _both(grown, f"SELECT c, {MEDIAN} FROM visit GROUP BY c")
    moved = compare_picks(without.plan, without.ranks, with_.ranks, without.groups)
    assert 0 < moved <= 1


def test_running_sums_are_answered_and_plain_groups_follow_the_table(
    grown: tuple[Session, psycopg.Connection],
) -> None:
    session, _ = grown
    answer = session.execute("SELECT c, SUM(COUNT(*)) OVER (ORDER BY c) FROM visit GROUP BY c")
    assert len(answer.rows) <= BEFORE + 1
    assert any("were counted when dpsql was started" in note for note in answer.notices)
    assert len(session.execute("SELECT c, COUNT(*) FROM visit GROUP BY c").rows) >= AFTER
