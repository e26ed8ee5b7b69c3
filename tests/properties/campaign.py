"""Campaigns: many random worlds, many random questions about each, every answer checked against its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from sqlglot import exp

from rewriter.declared.contribution import Norm
from rewriter.plan import Options, Plan
from rewriter.planner.family import families
from rewriter.planner.key_marginals import marginals
from rewriter.planner.plan_release import plan
from rewriter.planner.plan_top_k import plan_top
from rewriter.refused import Refused
from rewriter.split.splitter import split
from rewriter.statement import row_of_order, value_of_order
from rewriter.statement.parser import Select, parse
from tests.properties.drawing import world, worst_units
from tests.properties.neighbours import Databases, Failed, Neighbourhood, Unsound, check
from tests.properties.questions import Question, question
from tests.properties.world import Owner, World


@dataclass(frozen=True, slots=True)
class Leak:
    """Everything that is needed to see a violation again."""

    seed: int
    question: Question
    norm: Norm
    plan: Plan
    reason: str
    policy: str

    def __str__(self) -> str:
        where = f"seed {self.seed}: {self.reason}\n{self.question.sql}"
        return f"{where}\nclipped in {self.norm}: {self.plan.sql}\n{self.policy}"


@dataclass(slots=True)
class Tally:
    """What a campaign did. ``shares`` are, per pair, the largest share of a declared bound that one unit used."""

    asked: int = 0
    executed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    shares: list[float] = field(default_factory=list)
    leaks: list[Leak] = field(default_factory=list)

    @property
    def pairs(self) -> int:
        return len(self.shares)

    def attained(self, share: float) -> float:
        """The part of all pairs in which a unit used at least this share of a bound."""
        return sum(found >= share for found in self.shares) / max(1, self.pairs)


Home = Callable[[World, Sequence[Owner]], Neighbourhood]
"""Where a world and its neighbours are built: an engine."""


def campaign(
    seeds: Iterable[int],
    questions: int,
    neighbours: int,
    tally: Tally,
    stop_at_first: bool = False,
    home: Home = Databases.of,
    ask: Callable[[Random, World], Question] = question,
    drawn: Callable[[Random], World] = world,
) -> Tally:
    """Check ``questions`` questions about a world for each seed, each against ``neighbours`` neighbours."""
    for seed in seeds:
        random = Random(seed)
        place = drawn(random)
        databases = home(place, worst_units(random, place, neighbours))
        try:
            about(seed, place, databases, random, questions, tally, stop_at_first, ask)
        finally:
            databases.close()
        if tally.leaks and stop_at_first:
            break
    return tally


def with_ranks(tree: exp.Query) -> None:
    """Put ranks where numbers stand for them: one above 1 for a row of an order, one below -1 for a distinct value."""
    for called in tree.find_all(exp.PercentileDisc):
        number = called.this
        if isinstance(number, exp.Neg):
            called.set("this", value_of_order(int(number.this.name)))
        elif isinstance(number, exp.Literal) and number.is_int and int(number.name) > 1:
            called.set("this", row_of_order(int(number.name)))


def about(
    seed: int,
    place: World,
    databases: Neighbourhood,
    random: Random,
    questions: int,
    tally: Tally,
    stop_at_first: bool,
    ask: Callable[[Random, World], Question],
) -> None:
    catalog, dialect = databases.catalog(), databases.dialect
    for _ in range(questions):
        asked = ask(random, place)
        norm = random.choice([Norm.L1, Norm.L2])
        tally.asked += 1
        statement = parse(asked.sql)
        assert isinstance(statement, Select)
        with_ranks(statement.tree)
        try:
            # Every second question with a row of the groups that are not shown, where it can have one.
            program = split(statement.tree, catalog, dialect, with_others=tally.asked % 2 == 0)
            groupings = program.groupings
            plans = [plan(query, norm, dialect) for query in groupings]
            picked = [plan_top(query, norm, dialect) for query in groupings]
        except Refused as refused:
            tally.refused[refused.message] += 1
            continue
        tally.features.update(asked.features)
        if any(query.others for query in program.releases):
            tally.features["others"] += 1
        if any(picked):
            tally.features["groups picked first"] += 1
        options = [Options((one,)) for one in plans]
        beside = marginals(groupings, options, families(program.releases), (norm,), dialect, above=1).options
        if beside:
            tally.features["marginals"] += 1
        checked = [
            (one, random if query.only is None else Random(seed)) for one, query in zip(plans, groupings, strict=True)
        ]
        checked += [(one, random) for one in picked if one is not None]
        checked += [(one.first, Random(seed)) for one in beside]
        for one, drawing in checked:
            try:
                tally.shares += check(one, databases, drawing)
            except (Unsound, Failed) as reason:
                tally.leaks.append(Leak(seed, asked, norm, one, str(reason), place.policy()))
        tally.executed += 1
        if tally.leaks and stop_at_first:
            return
