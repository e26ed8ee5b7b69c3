"""The intervals that ``SET dpsql.intervals = on`` shows hold the truth as often as they say, in the real pipeline.

The tables are measured once, exactly; every repetition draws fresh noise for them, and goes on as any answer does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.answer import Released
from dpsql.finish.error_bars import pieced
from dpsql.finish.propagate import _joint
from dpsql.inference.intervals.widths import half_width
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.perturb import perturb
from dpsql.prepare.prepared import Prepared
from dpsql.price.learn_bounds import Settled
from dpsql.proxy import Proxy, Session
from dpsql.releases.tables import NoisyTable
from dpsql.reply import Answer
from dpsql.reuse.derive import Made
from rewriter.outer.provenance import Affine
from tests.doubles import NoNoise
from tests.finish.finished import finished
from tests.mechanisms.laws import masses
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:clinic.duckdb; ledger: sqlite:{how}.ledger; privacy_unit: patient.id
budget: {epsilon: 1000000, delta: {delta}, accounting: {how}}; statement: {epsilon: 0.1, max_epsilon: 10}
tables:
  patient: id, sex [F, M], region [n, e, s, w, x], smoker, rare, weight 0..200
""")

COUNT = "SELECT COUNT(*) FROM patient"
SMALL = "SELECT COUNT(*) FROM patient WHERE rare"
QUESTIONS = {
    "count": COUNT,
    "small count": SMALL,
    "nobody": "SELECT COUNT(*) FROM patient WHERE rare AND smoker",
    "sum": "SELECT SUM(weight) FROM patient",
    "mean": "SELECT AVG(weight) FROM patient",
    "mean in pounds": "SELECT AVG(weight) * 2.2 FROM patient",
    "difference": "SELECT COUNT(*) FILTER (WHERE smoker) - COUNT(*) FILTER (WHERE NOT smoker) FROM patient",
    "percentage": "SELECT 100.0 * COUNT(*) FILTER (WHERE smoker) / NULLIF(COUNT(*), 0) FROM patient",
    "quotient of tables": "SELECT a.n * 1.0 / b.n FROM (SELECT COUNT(*) AS n FROM patient WHERE sex = 'F') AS a, "
    "(SELECT COUNT(*) AS n FROM patient WHERE region = 'n') AS b",
}
TRIED = {
    "rolled-up total": "SELECT SUM(n) FROM (SELECT region, COUNT(*) AS n FROM patient GROUP BY region) AS t",
    "share of the total": "SELECT MAX(p) FROM (SELECT COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS p FROM patient "
    "GROUP BY region) AS t",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("clinic")
    with duckdb.connect(str(found / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, sex TEXT NOT NULL, region TEXT NOT NULL, "
                           "smoker BOOLEAN NOT NULL, rare BOOLEAN NOT NULL, weight DOUBLE NOT NULL)")  # fmt: skip
        connection.execute(
            "INSERT INTO patient SELECT i, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END, 'neswx'[1 + (i % 7) * 5 // 7],"
            " i % 10 < 3, i % 2000 = 5, 40 + i % 61 FROM range(6000) t(i)"
        )
    for how, delta in (("zcdp", "1e-6"), ("pure", "0")):
        (found / f"{how}.yaml").write_text(POLICY.format(how=how, delta=delta))
    return found


class Repeated:
    """One statement, measured once, answered over and over with fresh noise."""

    def __init__(self, session: Session, sql: str, epsilon: str) -> None:
        session.execute(f"SET dpsql.epsilon = {epsilon}")
        session.execute("SET dpsql.intervals = on")
        session.execute("SET dpsql.reuse = off")
        prepared = session._proxy.prepare(sql, ())
        assert isinstance(prepared, Prepared)
        self.session, self.prepared = session, prepared
        self.priced = session._proxy.answering.pricing.price(prepared, session.settings)
        engine = session._opened.engine
        self.exact = [engine.run(calibration.plan) for calibration in self.priced.calibrations]

    def answer(self, sampler: ExactSampler | NoNoise) -> Answer:
        fresh: dict[str, Made] = {}
        for exact, calibration in zip(self.exact, self.priced.calibrations, strict=True):
            fresh[calibration.plan.identity] = Made(calibration.plan, perturb(exact, calibration, sampler))
        return finished(self.session, Released(Settled(self.prepared), self.priced, self.priced.loss, fresh))

    def outcomes(self) -> Iterator[bool | None]:
        """Whether the interval holds the truth, which is the answer without noise; None where there is none."""
        (truth, *_), *_ = self.answer(NoNoise()).rows
        sampler = ExactSampler()
        while True:
            ((value, low, high),) = self.answer(sampler).rows
            assert low is None or value is None or low <= value <= high  # type: ignore[operator]
            yield None if low is None else low <= truth <= high  # type: ignore[operator]

    def held(self, times: int) -> int:
        """How often it holds, or is not known, which is seldom."""
        found = list(islice(self.outcomes(), times))
        assert found.count(None) < 0.1 * times, "an interval that is not known holds nothing"
        return times - found.count(False)

    def attainable(self) -> float:
        """How often the narrowest interval that holds at least 95 % holds, on the lattice of a sum of noises.

        Laplace noise of scale 1 is within 3 steps 97.3 % of the time, and within 2 only 92.7 %.
        """
        form = self.prepared.outer.measured[0].form
        if not isinstance(form, Affine):
            return 0.95
        tables = [NoisyTable(exact.keys, exact.statistics, calibration.noise)
                  for exact, calibration in zip(self.exact, self.priced.calibrations, strict=True)]  # fmt: skip
        _, pieces, _ = pieced(tables, [calibration.plan for calibration in self.priced.calibrations], self.prepared,
                              consistent=True, rows=10_000)  # fmt: skip
        terms = [(noise, weight) for noise, weight, _ in _joint(form, Affine(), [(pieces[0], 0)])]
        if any(weight.denominator != 1 for _, weight in terms):
            return 0.95
        mass, reach = np.ones(1), 0
        for noise, weight in terms:
            assert abs(weight) == 1
            more = int(45 * noise.scale) + 60
            mass, reach = np.convolve(mass, masses(noise.name, float(noise.scale), more)), reach + more
        width, one_sided = (int(half_width(tuple(terms), alpha)) for alpha in (0.05, 0.1))
        two = mass[reach - width : reach + width + 1].sum()
        # Of what cannot be negative, a small number is missed on one side only.
        one = mass[: reach + one_sided + 1].sum() if len(terms) == 1 else 0.0
        return float(max(two, one))


@pytest.fixture(scope="module", params=["zcdp", "pure"])
def session(request: pytest.FixtureRequest, folder: Path) -> Iterator[Session]:
    proxy = Proxy.open(folder / f"{request.param}.yaml")
    yield proxy.session()
    proxy.close()


@pytest.mark.campaign
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("name", [*QUESTIONS, *TRIED])
def test_intervals_hold_the_truth_as_often_as_they_say(session: Session, name: str, epsilon: str) -> None:
    repeated = Repeated(session, (QUESTIONS | TRIED)[name], epsilon)
    found = repeated.held(2000) / 2000
    # What is tried is on a lattice too, and even where it need not be.
    most = 0.985 if name in TRIED else max(0.97, repeated.attainable() + 0.015)
    assert 0.935 <= found <= most, f"{name} at {epsilon}: {found:.4f}"


def test_a_short_run_of_the_same(session: Session) -> None:
    """All questions together; half-widths that are a fifth too narrow show: 126 of 1,080 intervals miss then.

    54 are expected to, or fewer; 49 more, or less, are seen once in 10⁸ runs.
    """
    times, held, wanted = 60, 0, 0.0
    for sql, epsilon in product(QUESTIONS.values(), ("0.1", "1")):
        repeated = Repeated(session, sql, epsilon)
        held += repeated.held(times)
        wanted += repeated.attainable() * times
    asked = 2 * times * len(QUESTIONS)
    assert abs(held - wanted) <= 0.045 * asked, f"{held} of {asked}"


@pytest.mark.quick
@pytest.mark.parametrize("name", TRIED)
def test_a_short_run_of_what_is_tried(session: Session, name: str) -> None:
    """A sequential test (Wald 1945): 90 % held is refused once in e¹⁸ runs, 60 % passes once in a hundred.

    At 95 %, 12 to 20 answers decide.
    """
    evidence = 0.0
    for holds in Repeated(session, TRIED[name], "1").outcomes():
        evidence += math.log(0.9 / 0.6) if holds else math.log(0.1 / 0.4)
        assert evidence > -18
        if evidence > math.log(100):
            break
