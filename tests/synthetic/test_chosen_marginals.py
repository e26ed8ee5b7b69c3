"""Marginals that are chosen round by round: all that rounds lose is within one charge, and choices are the right ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import exp
from pathlib import Path

import duckdb
import numpy as np
import pytest

import dpsql.chosen_marginals
from dpsql.accounting import PrivacyLoss
from dpsql.calibrate import Calibration
from dpsql.chosen_marginals import Purse
from dpsql.errors import BudgetExceeded, InternalError
from dpsql.mechanisms import HighestScore
from dpsql.mechanisms.sampling import ExactSampler
from dpsql.proxy import Proxy
from dpsql.releases import ExactTable, NoisyTable
from dpsql.synthetic import Marginals, ReleasedCounts, best
from tests.doubles import open_without_noise
from tests.mechanisms.laws import agreement
from tests.new_databases import new_database
from tests.policies import policy_text

PEOPLE = 300
POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:people.ledger; privacy_unit: person.id; budget: {budget}
statement: {epsilon: 0.5, max_epsilon: 8}
tables:
  person: id, region [N, S], plan [free, pro], age 18..90, vip
  visit(max_rows: 3): person_id, kind [a, b], cost 0..50
""")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_database(tmp_path / "people.duckdb") as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, region VARCHAR, plan VARCHAR, age INTEGER, vip BOOLEAN)"
        )
        # A plan goes with a region; nothing else depends on anything.
        connection.execute(
            "INSERT INTO person SELECT i, ['N', 'S'][1 + i % 2], ['free', 'pro'][1 + i % 2], 18 + i * 7 % 70, i % 3 = 0"
            f" FROM range({PEOPLE}) t(i)"
        )
        connection.execute("CREATE TABLE visit (person_id INTEGER REFERENCES person (id), kind VARCHAR, cost INTEGER)")
        connection.execute(f"INSERT INTO visit SELECT i // 2, ['a', 'b'][1 + i % 2], i % 60 FROM range({PEOPLE}) t(i)")
    policy(tmp_path)
    return tmp_path


def policy(folder: Path, budget: str = "{epsilon: 50, delta: 1e-6}") -> None:
    (folder / "policy.yaml").write_text(POLICY.format(budget=budget))


def opened(folder: Path, *, silent: bool = False) -> AbstractContextManager[Proxy]:
    return closing((open_without_noise if silent else Proxy.open)(folder / "policy.yaml"))


@dataclass
class Independent:
    """A model of columns that do not depend on each other, which learns each measured count as it is."""

    measured: list[ReleasedCounts] = field(default_factory=list)

    def fit(self, measured: Sequence[ReleasedCounts]) -> None:
        self.measured = list(measured)

    def fits(self, names: Sequence[str], part: Fraction) -> bool:
        assert 0 < part <= 1
        return True

    def predicted(self, names: Sequence[str]) -> np.ndarray:
        if any(set(names) <= set(one.names) for one in self.measured):
            return best(self.measured, names).numbers
        found = np.array(1.0)
        total = float(best(self.measured, names[:1]).numbers.sum()) or 1.0
        for name in names:
            found = np.multiply.outer(found, best(self.measured, (name,)).numbers / total)
        return found * total

    def rows(self, measured: Sequence[ReleasedCounts], rows: int | None) -> Mapping[str, np.ndarray]:
        raise AssertionError("no rows are drawn here")


@pytest.mark.parametrize("accounting", ["", ", accounting: rdp"])
@pytest.mark.parametrize(
    ("table", "epsilon"), [("person", Fraction(1, 10)), ("person", Fraction(4)), ("visit", Fraction(1))]
)
def test_what_rounds_lose_is_within_the_one_charge_before_the_first_read(
    folder: Path, table: str, epsilon: Fraction, accounting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pick and each noise, by its own law and how far one person moves what it hides."""
    policy(folder, "{epsilon: 50, delta: 1e-6" + accounting + "}")
    lost: list[Fraction] = []
    charges_at_reads: list[int] = []
    with opened(folder) as proxy:
        pick, perturb, run = HighestScore.pick, dpsql.chosen_marginals.perturb, proxy.answering.reader.reading

        def picked(self: HighestScore, scores: Sequence[int], sampler: object) -> int:
            lost.append((2 * self.rate * self.sensitivity) ** 2 / 8)
            return pick(self, scores, sampler)  # type: ignore[arg-type]

        def perturbed(exact: ExactTable, calibration: Calibration, sampler: object) -> NoisyTable:
            [block] = calibration.measured
            lost.append(block.block.sensitivity.l2_squared / (2 * block.mechanism.scale**2))
            return perturb(exact, calibration, sampler)  # type: ignore[arg-type]

        def reading(plans: object) -> object:
            charges_at_reads.append(len(proxy.ledger.charges(limit=10)))
            found = run(plans)  # type: ignore[arg-type]
            read = found.table

            class Watched:
                def table(self, *args: object, **named: object) -> object:
                    charges_at_reads.append(len(proxy.ledger.charges(limit=10)))
                    return read(*args, **named)  # type: ignore[arg-type]

            return Watched()

        monkeypatch.setattr(HighestScore, "pick", picked)
        monkeypatch.setattr(dpsql.chosen_marginals, "perturb", perturbed)
        monkeypatch.setattr(proxy.answering.reader, "reading", reading)
        marginals = Marginals(proxy, proxy.session(), table)
        plan = marginals.adaptive(epsilon)
        assert plan is not None
        measured, charged = marginals.choose(plan, Independent())
        assert charged == plan.loss == proxy.answering.pricing.price_of(epsilon, selects=False)
        assert charges_at_reads[0] == 0
        assert set(charges_at_reads[1:]) == {1}
        assert len(proxy.ledger.charges(limit=10)) == 1
    single = sum(len(one) == 1 for one in plan.cliques)
    assert len(lost) == single + 2 * (len(measured) - single) > single
    assert Fraction(99, 100) * epsilon**2 / 2 < sum(lost) <= epsilon**2 / 2


def test_a_purse_pays_no_more_than_was_charged() -> None:
    purse = Purse(PrivacyLoss(rho=Fraction(1, 2)))
    purse.pay(PrivacyLoss(rho=Fraction(1, 3)))
    purse.pay(PrivacyLoss(rho=Fraction(1, 6)))
    with pytest.raises(InternalError):
        purse.pay(PrivacyLoss(rho=Fraction(1, 10**30)))
    assert purse.spent.rho == Fraction(1, 2)


@pytest.mark.parametrize("table", ["person", "visit"])
def test_one_person_moves_no_score_further_than_is_paid_for(
    folder: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first scores with and without a person: those of the same predictions."""
    seen: list[tuple[list[int], int]] = []
    pick = HighestScore.pick

    def picked(self: HighestScore, scores: Sequence[int], sampler: object) -> int:
        seen.append((list(scores), self.sensitivity))
        return pick(self, scores, sampler)  # type: ignore[arg-type]

    class Even(Independent):
        def predicted(self, names: Sequence[str]) -> np.ndarray:
            return np.full(tuple(best(self.measured, (name,)).numbers.size for name in names), 20.0)

    monkeypatch.setattr(HighestScore, "pick", picked)
    first: list[tuple[list[int], int]] = []
    for person in (None, 0, 7):
        if person is not None:
            with duckdb.connect(str(folder / "people.duckdb")) as database:
                database.execute(f"INSERT INTO visit SELECT {person}, 'a', 7 FROM range(9)")
                database.execute(f"DELETE FROM visit WHERE person_id = {person} AND cost <> 7")
                if table == "person":
                    database.execute("DELETE FROM visit")
                    database.execute(f"DELETE FROM person WHERE id = {person}")
        for path in folder.glob("people.ledger*"):
            path.unlink()
        seen.clear()
        with opened(folder, silent=True) as proxy:
            marginals = Marginals(proxy, proxy.session(), table)
            plan = marginals.adaptive(Fraction(1))
            assert plan is not None
            marginals.choose(plan, Even())
        first.append(seen[0])
    moved = [
        max(abs(new - old) for new, old in zip(after, before, strict=True))
        for (before, _), (after, _) in pairwise(first)
    ]
    # Rows that are replaced are a person who goes and one who comes.
    steps = 2 if table == "visit" else 1
    assert all(0 < one <= steps * first[0][1] for one in moved)


def test_the_counts_that_a_model_gets_wrong_are_chosen(folder: Path) -> None:
    """Region goes with plan: without noise, the first pick has both. All counts are those of the rows."""
    with opened(folder, silent=True) as proxy:
        marginals = Marginals(proxy, proxy.session(), "person", ("region", "plan", "vip"))
        plan = marginals.adaptive(Fraction(4))
        assert plan is not None
        measured, _ = marginals.choose(plan, Independent())
    assert {"region", "plan"} <= set(measured[3].names)
    by = {one.name: one for one in plan.attributes}
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as database:
        for one in measured:
            keys = ", ".join(by[name].key for name in one.names)
            expected = np.zeros(one.numbers.shape)
            for *row, many in database.execute(f"SELECT {keys}, COUNT(*) FROM person GROUP BY ALL").fetchall():
                expected[tuple(by[name].cell(key) for name, key in zip(one.names, row, strict=True))] = many
            assert np.array_equal(one.numbers, expected), one.names


def test_the_same_rounds_are_bought_once(folder: Path) -> None:
    with opened(folder) as proxy:
        marginals = Marginals(proxy, proxy.session(), "person")
        plan = marginals.adaptive(Fraction(1))
        assert plan is not None
        first, charged = marginals.choose(plan, Independent())
        assert charged
    with opened(folder) as proxy:
        marginals = Marginals(proxy, proxy.session(), "person")
        plan = marginals.adaptive(Fraction(1))
        assert plan is not None
        assert not plan.loss
        again, charged = marginals.choose(plan, Independent())
        assert not charged
        assert len(proxy.ledger.charges(limit=10)) == 1
        dearer = marginals.adaptive(Fraction(2))
        assert dearer is not None
        assert dearer.loss
    assert [(one.names, one.deviation, one.numbers.tolist()) for one in first] == [
        (one.names, one.deviation, one.numbers.tolist()) for one in again
    ]


def test_rounds_are_for_ledgers_whose_losses_add_up_as_rho(folder: Path) -> None:
    policy(folder, "{epsilon: 50}")
    with opened(folder) as proxy:
        assert Marginals(proxy, proxy.session(), "person").adaptive(Fraction(1)) is None


def test_a_budget_that_does_not_reach_is_said_before_the_charge(folder: Path) -> None:
    policy(folder, "{epsilon: 0.6, delta: 1e-6}")
    with opened(folder) as proxy:
        marginals = Marginals(proxy, proxy.session(), "person")
        plan = marginals.adaptive(Fraction(4))
        assert plan is not None
        with pytest.raises(BudgetExceeded):
            marginals.choose(plan, Independent())
        assert proxy.ledger.charges(limit=10) == ()


def test_a_pick_has_the_exponential_law_that_its_price_is_of() -> None:
    """ρ = ε²/8 with ε = 2 · rate · sensitivity."""
    pick, scores, draws = HighestScore.of_rho(3, Fraction(9, 2)), (0, 1, -2, 1), 4_000
    assert pick.rate == 1
    found = Counter(pick.pick(scores, ExactSampler()) for _ in range(draws))
    total = sum(exp(score) for score in scores)
    law = {place: exp(score) / total for place, score in enumerate(scores)}
    assert agreement(found, law, draws) > 1e-4
