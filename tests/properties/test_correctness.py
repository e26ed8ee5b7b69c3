"""With the noise off and bounds wide, answers equal the engine's own answer to the same SQL.

What differs on purpose: SUM over nothing is 0 and not NULL, every group of a public key set is answered, groups outside
of the declared domains are not, and selected groups of few people may be missing.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from dpsql.engines.duckdb.duckdb_engine import LOCKED
from dpsql.errors import Error
from dpsql.proxy import Session
from dpsql.reply import Answer
from rewriter.declared.types import DOUBLE
from rewriter.plan import Chosen, Figure, Moment, Plan, Ratio
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.properties.drawing import world
from tests.properties.postgres_databases import postgres_database
from tests.properties.questions import LARGEST, Question, question
from tests.properties.world import World

Key = tuple[object, ...]
Table = dict[Key, tuple[object, ...]]
SETTINGS = {
    "integer_division": "true",
    "error_on_division_by_zero": "false",
    "ieee_floating_point_ops": "false",
    "default_null_order": "nulls_last",
    "disabled_optimizers": LOCKED["disabled_optimizers"],
}
"""PostgreSQL's arithmetic. A quotient by zero, which PostgreSQL refuses, is NULL, as in dpsql."""


@dataclass(slots=True)
class Score:
    asked: int = 0
    compared: int = 0
    cells: int = 0
    exact: int = 0
    groups: int = 0
    unselected: int = 0
    modes: int = 0
    decided: int = 0
    undecided: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def oracle(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """DuckDB's answer to PostgreSQL's SQL; a cast that fails is NULL, and EVERY is BOOL_AND.

    A mean of integers or decimals, which is NUMERIC there, becomes an integer with halves rounded away from zero.
    """
    tree = sqlglot.parse_one(sql, read="postgres")
    means = {alias.alias for alias in tree.find_all(exp.Alias) if isinstance(alias.this, exp.Avg) and exact(alias.this)}
    for cast in list(tree.find_all(exp.Cast)):
        if type(cast) is exp.Cast:
            operand = cast.this.copy()
            if cast.to.this is exp.DType.INT and isinstance(operand, exp.Column) and operand.name in means:
                operand = exp.Round(this=operand)
            cast.replace(exp.TryCast(this=operand, to=cast.to.copy()))
    for every in [node for node in tree.find_all(exp.Anonymous) if node.name.upper() == "EVERY"]:
        every.replace(exp.LogicalAnd(this=every.expressions[0].copy()))
    cursor = connection.execute(tree.sql("duckdb"))
    return [column[0] for column in cursor.description or ()], cursor.fetchall()


def exact(node: exp.Expr) -> bool:
    return all(column.name in ("small", "big", "tiny", "money") for column in node.find_all(exp.Column))


def table(names: list[str], rows: list[tuple[object, ...]]) -> Table:
    """Rows by their key columns, which are the ones named g…"""
    keys = [place for place, name in enumerate(names) if name.startswith("g")]
    rest = [place for place, name in enumerate(names) if not name.startswith("g")]
    found = {tuple(plain(row[k]) for k in keys): tuple(row[place] for place in rest) for row in rows}
    assert len(found) == len(rows), "two rows of one group"
    return found


def plain(value: object) -> object:
    """A key that compares across types: numbers as numbers, days as midnights."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return Decimal(repr(value)) if isinstance(value, float) else value


def same(ours: object, theirs: object, lattice: float) -> bool:
    """Equal; doubles up to the resolution of their lattice. NULL of nothing may be 0."""
    if theirs is None:
        return ours is None or ours == 0
    if isinstance(ours, int | float | Decimal) and isinstance(theirs, int | float | Decimal):
        exact = not isinstance(ours, float) and not isinstance(theirs, float) and abs(theirs) < 2**50
        return ours == theirs if exact else abs(float(ours) - float(theirs)) <= lattice + 1e-9 * abs(float(theirs))
    return ours == theirs


def resolution(plans: Sequence[Plan]) -> float:
    """How far rounding to lattices of 2⁻²⁰ of the range may move a sum or mean of doubles over a tame world."""
    most = Fraction(0)
    for one in plans:
        step = {statistic.name: statistic.granularity for statistic in one.statistics}
        reach = {statistic.name: statistic.granularity * statistic.bound for statistic in one.statistics}
        for output in one.outputs:
            how = output.estimator
            if isinstance(how, Chosen):
                most = max([most, *(choice.granularity * 2**14 for choice in one.choices)])
            elif isinstance(how, Ratio):
                most = max(most, abs(how.low) / 16, abs(how.high) / 16)
            elif isinstance(how, Moment):
                spans = [axis.high - axis.low for axis in (how.x, how.y) if axis.degree]
                # An axis may have as few as 12 bits where one person has many rows.
                # A sum over rows is off by as much as all of them.
                rows = 16 if how.figure in (Figure.SQUARES, Figure.PRODUCTS) else 1
                most = max([most, *(4 * rows * max(span * span, 16 * span) for span in spans)])
            elif output.type == DOUBLE or any(step[name] > 1 for name, _ in how.terms):
                most = max([most, *(reach[name] for name, _ in how.terms)])
    return float(most) / 2**14


def compare(
    asked: Question, ours: Table, theirs: Table, *, public: bool, score: Score, lattice: float, rows: float
) -> None:
    """``rows``: how many there may be without turning a boolean, which a notice says."""
    for key, cells in theirs.items():
        if key not in ours:
            # NULL is a group where it is declared; of several grouping sets, always.
            undeclared = None in key and "grouping sets" not in asked.features
            assert not public or undeclared, f"the group {key} is missing: {asked.sql}"
            score.unselected += 1
            continue
        score.groups += 1
        for place, (mine, other) in enumerate(zip(ours[key], cells, strict=True)):
            if (other is None and "arithmetic" in asked.features) or (place and "window" in asked.features):
                # SUM over nothing counts as 0 here; a window runs over the groups that are answered.
                continue
            if isinstance(other, bool) and (mine is None or (rows > 1 and mine != other)):
                score.undecided += 1
                continue
            assert same(mine, other, lattice), f"{key}, column {place}: {mine!r}, DuckDB says {other!r}\n{asked.sql}"
            score.decided += isinstance(other, bool)
            score.cells += 1
            score.exact += mine == other
    for key in ours.keys() - theirs.keys():
        some = public or "grouping sets" in asked.features
        assert some, f"nobody is in the selected group {key}: {asked.sql}"
        first = ours[key][:1]
        assert first in ((), (0,), (None,)), f"the empty group {key} has {first}: {asked.sql}"


def largest(asked: Question, ours: Table, theirs: Table, *, public: bool, lattice: float) -> None:
    """The largest groups of all that are declared: each with its number, and none that is left out has more."""
    for key, cells in ours.items():
        expected = theirs.get(key, (None,))
        assert same(cells[0], expected[0], lattice), f"{key}: {cells[0]!r}, DuckDB says {expected[0]!r}\n{asked.sql}"
    shown = [float(cells[0]) for cells in ours.values() if isinstance(cells[0], int | float | Decimal)]
    for key, cells in theirs.items():
        left = cells[0]
        if public and shown and key not in ours and None not in key and isinstance(left, int | float | Decimal):
            assert left <= min(shown) + lattice + 1e-9 * abs(min(shown)), f"{key} is left out: {asked.sql}"


def commonest(asked: Question, ours: Table, counts: Table, rows: float, score: Score) -> None:
    """No value is more often in its group than the one that is answered; NULL where none is on more than few rows."""
    most: dict[Key, int] = {}
    for (*key, _), (count,) in counts.items():
        assert isinstance(count, int)
        most[tuple(key)] = max(most.get(tuple(key), 0), count)
    for key, (value,) in ours.items():
        if value is None:
            assert most.get(key, 0) <= rows, f"{key}: NULL, where a value is there {most[key]} times: {asked.sql}"
            continue
        often = counts.get((*key, plain(value)), (0,))
        assert often == (most.get(key, 0),), f"{key}: {value!r} is there {often} times: {asked.sql}"
        score.modes += 1


def few(answer: Answer) -> float:
    """How many rows a notice says that NULL may stand for, beside a mode, BOOL_OR or BOOL_AND."""
    found = [re.search(r"(?:up to|from) ([0-9,]+) (?:noisy )?rows", notice) for notice in answer.notices]
    return max((float(one[1].replace(",", "")) for one in found if one), default=0.0)


def in_duckdb(place: World, folder: Path) -> str:
    with duckdb.connect(str(folder / "world.duckdb")) as connection:
        place.fill(connection)
    return ""


def in_postgres(place: World, folder: Path) -> str:
    return shared_server().url(postgres_database(place))


def dear(policy: str, questions: int) -> str:
    """The policy with all of its budget for so many questions: the smaller margins are, the more is decided."""
    return policy.replace("{epsilon: 100,", f"{{epsilon: {math.isqrt(1_900_000 // questions)},")


def examine(
    seed: int, questions: int, folder: Path, score: Score, home: Callable[[World, Path], str] = in_duckdb
) -> None:
    random = Random(seed)
    place = world(random, tame=True)
    folder.mkdir()
    (folder / "policy.yaml").write_text(dear(place.policy(database=home(place, folder)), questions))
    theirs = duckdb.connect(":memory:", config=dict(SETTINGS))
    place.fill(theirs)
    proxy = open_without_noise(folder / "policy.yaml")
    try:
        session = proxy.session()
        for _ in range(questions):
            ask(question(random, place), session, theirs, score)
    finally:
        proxy.close()


def ask(asked: Question, session: Session, theirs: duckdb.DuckDBPyConnection, score: Score) -> None:
    score.asked += 1
    try:
        plans = [release.plan for release in session.explain(asked.sql).releases]
        answer = session.execute(asked.sql)
    except Error as error:
        if error.sqlstate in ("XX000", "58000"):
            raise AssertionError(f"{error}: {asked.sql}") from error
        score.refused[str(error)] += 1
        return
    names = [column.name for column in answer.columns]
    their_names, rows = oracle(theirs, asked.truth or asked.sql.removesuffix(LARGEST))
    assert names == their_names, asked.sql
    mine, other = table(names, list(answer.rows)), table(their_names, rows)
    public = all(one.selection is None for one in plans)
    if asked.counts:
        commonest(asked, mine, table(*oracle(theirs, asked.counts)), few(answer), score)
        score.compared += 1
        return
    if "largest" in asked.features:
        largest(asked, mine, other, public=public, lattice=resolution(plans))
        score.compared += 1
        return
    compare(asked, mine, other, public=public, score=score, lattice=resolution(plans), rows=few(answer))
    score.compared += 1


def assert_right(score: Score, questions: int) -> None:
    assert score.compared >= questions
    assert score.compared >= 0.9 * score.asked, score.refused.most_common(5)
    assert score.cells > 2 * questions
    assert score.exact > 0.6 * score.cells, "too few answers are exact"
    assert score.unselected < score.groups, "most groups are missing"
    assert score.decided > max(questions / 40, score.undecided), "too few booleans are decided"
    assert score.modes > questions / 100, "too few modes are compared"


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(100, 110), marks=pytest.mark.campaign)])
def test_answers_without_noise_equal_the_engines_own(seeds: range, tmp_path: Path) -> None:
    score = Score()
    for seed in seeds:
        examine(seed, 24, tmp_path / str(seed), score)
    assert_right(score, 21 * len(seeds))


def test_postgres_answers_the_same(tmp_path: Path) -> None:
    score = Score()
    for seed in range(400, 402):
        examine(seed, 20, tmp_path / str(seed), score, in_postgres)
    assert_right(score, 32)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_postgres_answers_the_same_at_length(part: int, tmp_path: Path) -> None:
    score = Score()
    for seed in range(5_000 + 100 * part, 5_000 + 100 * part + 30):
        examine(seed, 40, tmp_path / str(seed), score, in_postgres)
    assert_right(score, 1_000)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_answers_without_noise_equal_the_engines_own_at_length(part: int, tmp_path: Path) -> None:
    score = Score()
    for seed in range(1_000 + 100 * part, 1_000 + 100 * part + 30):
        examine(seed, 40, tmp_path / str(seed), score)
    assert_right(score, 1_000)
