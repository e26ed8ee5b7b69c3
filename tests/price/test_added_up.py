"""Windows that move with each refresh: days that are over are bought once, the numbers are sums of days."""

from __future__ import annotations

import datetime
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import dpsql.answer
from dpsql.accounting import PrivacyLoss
from dpsql.calendar_unit import CalendarUnit
from dpsql.calibrate import Calibration
from dpsql.mechanisms import Gaussian, Laplace
from dpsql.mechanisms.sampling import Sampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy
from dpsql.releases import Additive, ExactTable, NoisyTable
from dpsql.reuse.derive import Made
from dpsql.reuse.joined_periods import added_up
from rewriter.plan import Block, Plan, Sensitivity, Statistic
from tests.doubles import NoNoise
from tests.price.test_series import Clinic, measured_by

ROWS = "FROM visit WHERE made >= '2026-02-08 {0:02}:00' AND made < '2026-03-10 {0:02}:00'"
COUNTED = f"SELECT COUNT(*) AS n {ROWS}"
LASTING, PASSING = Fraction(1, 2) / 32, Fraction(1, 2) / 32 / 5
"""Of ρ = 1/2, for each of 28 to 32 days; and of one that is bought at each of 25 hours, until it has closed."""


def hourly(folder: Path, *, most: str = "6 per month, 1 per day", without: int | None = None, **changed: str) -> Clinic:
    found = Clinic(folder, most=most, closed="closed_after: 1 hour", **changed)
    path = folder / "policy.yaml"
    path.write_text(path.read_text().replace("1 day at 02:00", "1 hour"))
    found.now = datetime.datetime(2026, 3, 10, 12, 30, tzinfo=datetime.UTC)
    if without is not None:
        with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
            connection.execute("DELETE FROM visit WHERE patient_id = ?", [without])
    return found


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clinic:
    found = hourly(tmp_path)
    record(monkeypatch, [found])
    return found


def record(monkeypatch: pytest.MonkeyPatch, asked: list[Clinic]) -> None:
    """What is hidden is noted in the clinic that is asked: the last of these."""
    perturb = dpsql.answer.perturb

    def seen(exact: ExactTable, calibration: Calibration, sampler: Sampler) -> NoisyTable:
        asked[-1].measured.append((calibration, exact))
        return perturb(exact, calibration, sampler)

    monkeypatch.setattr(dpsql.answer, "perturb", seen)


def test_a_refresh_within_a_day_costs_what_is_new(clinic: Clinic) -> None:
    first = clinic.ask(COUNTED.format(12))
    assert first.price.rho == 29 * LASTING + 2 * PASSING
    assert measured_by(first) == (
        "measured day by day and added up: 2026-02-08 to 2026-03-09 measured now and kept;"
        " 2026-03-10 measured now and open"
    )
    assert not clinic.ask(COUNTED.format(12)).price
    for hour in (13, 14, 15):
        clinic.now += datetime.timedelta(hours=1)
        assert clinic.ask(COUNTED.format(hour)).price.rho == 2 * PASSING
    clinic.later(1)
    tomorrow = COUNTED.format(15).replace("02-08", "02-09").replace("03-10", "03-11")
    assert clinic.ask(tomorrow).price.rho == LASTING + 2 * PASSING, "the day that has closed, once and for good"


@pytest.mark.spread
@pytest.mark.parametrize(
    "asked",
    [
        f"SELECT COUNT(*), SUM(cost), AVG(cost) {ROWS}",
        f"SELECT COUNT(*) FILTER (WHERE cost > 10) {ROWS}",
        f"SELECT EXTRACT(HOUR FROM made) AS hour, COUNT(*) {ROWS} GROUP BY 1 ORDER BY 1",
        f"SELECT sex, COUNT(*) FROM visit JOIN patient ON id = patient_id {ROWS.removeprefix('FROM visit')}"
        " GROUP BY 1 ORDER BY 1",
        f"SELECT sex, COUNT(*) AS n FROM visit JOIN patient ON id = patient_id {ROWS.removeprefix('FROM visit')}"
        " GROUP BY 1 ORDER BY n DESC LIMIT 1",
    ],
)
@pytest.mark.parametrize("empty", ["show", "auto"])
def test_the_sum_of_the_days_is_the_number_of_the_window(tmp_path: Path, asked: str, empty: str) -> None:
    """Nobody is clipped here: each row is of a person of their own on that day."""
    clinic = hourly(tmp_path, most="300 per month, 40 per day")
    sql = asked.format(12)
    with duckdb.connect(str(clinic.folder / "clinic.duckdb")) as connection:
        truth = [tuple(map(float, row)) if len(row) == 3 else row for row in connection.execute(sql).fetchall()]
    opened = open_here(compared(load_policy(clinic.folder / "policy.yaml")), read=lambda: clinic.now)
    with closing(Proxy(opened, NoNoise(), silent=True)) as proxy:
        session = proxy.session()
        session.execute(f"SET dpsql.empty_groups = {empty}")
        answer = session.execute(sql)
    assert measured_by(answer)
    rows = [tuple(map(float, row)) if len(row) == 3 else tuple(row) for row in answer.rows]
    assert [tuple(map(_plain, row)) for row in rows] == [tuple(map(_plain, row)) for row in truth]


def _plain(value: object) -> object:
    return round(float(value), 6) if isinstance(value, int | float) or hasattr(value, "as_tuple") else value


@pytest.mark.parametrize(
    "asked",
    [
        f"SELECT EXTRACT(HOUR FROM made) AS hour, COUNT(*) {ROWS} GROUP BY 1 ORDER BY 1",
        f"SELECT sex, COUNT(*) AS n FROM visit JOIN patient ON id = patient_id {ROWS.removeprefix('FROM visit')}"
        " GROUP BY 1 ORDER BY n DESC LIMIT 1",
        f"SELECT sex, SUM(cost) AS n FROM visit JOIN patient ON id = patient_id {ROWS.removeprefix('FROM visit')}"
        " GROUP BY 1 ORDER BY n DESC LIMIT 1",
    ],
)
def test_groups_that_may_be_left_out_are_sums_of_days(clinic: Clinic, asked: str) -> None:
    """Which groups are shown, and which come first, is told by the sums: a refresh costs what is new."""
    with clinic.session() as session:
        assert session.execute(asked.format(12)).price.rho == 29 * LASTING + 2 * PASSING
    clinic.now += datetime.timedelta(hours=1)
    with clinic.session() as session:
        again = session.execute(asked.format(13))
    assert measured_by(again)
    assert again.price.rho == 2 * PASSING


def test_what_does_not_add_up_is_one_release(clinic: Clinic) -> None:
    for sql in (
        f"SELECT COUNT(DISTINCT patient_id) {ROWS}",
        f"SELECT COUNT(DISTINCT cost) {ROWS}",
        f"SELECT MEDIAN(cost) {ROWS}",
        f"SELECT COUNT(*) FROM (SELECT patient_id {ROWS} GROUP BY 1) AS t",
        f"SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, cost {ROWS}) AS t",
    ):
        assert not measured_by(clinic.ask(sql.format(12))), sql


def test_a_window_that_is_over_is_one_release(clinic: Clinic) -> None:
    """Nothing of it is bought again: to measure it in days would only be less accurate."""
    asked = "SELECT COUNT(*) FROM visit WHERE made >= '2026-02-05' AND made < '2026-03-07'"
    answer = clinic.ask(asked)
    assert not measured_by(answer)
    assert answer.price.rho == Fraction(1, 2)
    clinic.later(20)
    assert not clinic.ask(asked).price


def test_one_release_where_it_costs_less(tmp_path: Path) -> None:
    clinic = hourly(tmp_path, most="6 per month")
    assert not measured_by(clinic.ask(COUNTED.format(12))), "a day has the bound of a month"
    folder = tmp_path / "looked at once"
    folder.mkdir()
    clinic = hourly(folder, horizon="1 day")
    text = (folder / "policy.yaml").read_text()
    (folder / "policy.yaml").write_text(text.replace("refresh: 1 hour", "refresh: 1 day"))
    assert not measured_by(clinic.ask(COUNTED.format(12)))


@pytest.mark.parametrize("law", [Gaussian, Laplace])
def test_variances_of_days_add_up(law: type[Additive]) -> None:
    block = Block((Statistic("n", Fraction(1), 1, "count"),), Sensitivity(l1=1, l2_squared=1))
    plan = Plan("SELECT …", "duckdb", (), (block,), (), None, 1)
    scales = (Fraction(3), Fraction(3), Fraction(7), Fraction(1, 2))
    parts = [
        Made(plan, NoisyTable(((),), {"n": (10 * place,)}, {"n": law(scale)})) for place, scale in enumerate(scales)
    ]
    found = added_up(plan, parts).table
    assert tuple(found.statistics["n"]) == (60,)
    wanted = sum(law(scale).square for scale in scales)
    assert wanted <= found.noise["n"].square <= wanted * (1 + Fraction(1, 100)) + 1


def test_a_group_has_the_noise_of_the_days_that_list_it() -> None:
    """A day of Berlin is listed by two days of UTC."""
    block = Block((Statistic("n", Fraction(1), 1, "count"),), Sensitivity(l1=1, l2_squared=1))
    plan = Plan("SELECT …", "duckdb", (), (block,), (), None, 1)
    noise = {"n": Gaussian(Fraction(3))}
    parts = [Made(plan, NoisyTable(((day,), (day + 1,)), {"n": (1, 10)}, noise)) for day in range(30)]
    found = added_up(plan, parts).table
    assert [*map(tuple, found.keys)] == [(day,) for day in range(31)]
    assert tuple(found.statistics["n"]) == (1, *[11] * 29, 10)
    assert 2 * noise["n"].square <= found.noise["n"].square <= 2.1 * noise["n"].square


DAY = CalendarUnit("day")


@pytest.fixture
def streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Clinic, Clinic]:
    asked: list[Clinic] = []
    record(monkeypatch, asked)
    both = []
    for number, without in enumerate((None, 7)):
        folder = tmp_path / str(number)
        folder.mkdir()
        both.append(hourly(folder, without=without, budget=", per: day, lifetime: {epsilon: 300, delta: 1e-5}"))
    here, there = both
    with here.staying_open(), there.staying_open():
        for hour in (12, 18, 24, 32):
            for clinic in both:
                asked.append(clinic)
                clinic.now = datetime.datetime(2026, 3, 10, 0, 30, tzinfo=datetime.UTC) + datetime.timedelta(hours=hour)
                until = f"{clinic.now:%Y-%m-%d %H}:00"
                where = f"made >= TIMESTAMP '{until}' - INTERVAL '30 days' AND made < TIMESTAMP '{until}'"
                clinic.ask(f"SELECT COUNT(*) FROM visit WHERE {where}")
                clinic.ask(f"SELECT sex, SUM(cost) FROM visit JOIN patient ON id = patient_id WHERE {where} GROUP BY 1")
                clinic.ask(
                    f"SELECT EXTRACT(HOUR FROM made) AS h, COUNT(*) AS n FROM visit WHERE {where} GROUP BY 1 LIMIT 3"
                )
    return here, there


def test_a_person_moves_hourly_windows_by_what_each_day_is_charged(streams: tuple[Clinic, Clinic]) -> None:
    """Two streams that differ by the busiest person's rows at all times, and the charges of each window."""
    here, there = streams
    assert len(here.measured) == len(there.measured) > 60
    moved = 0
    for (mine, own), (yours, other) in zip(here.measured, there.measured, strict=True):
        assert mine.plan.identity == yours.plan.identity
        assert mine.plan.period is not None
        for one in mine.measured:
            names = [statistic.name for statistic in one.block.statistics]
            changes = [
                a - b for name in names for a, b in zip(own.statistics[name], other.statistics[name], strict=True)
            ]
            square = sum(int(change) ** 2 for change in changes)
            assert square <= one.block.sensitivity.l2_squared
            assert one.loss.fits_within(one.share)
            moved += square > 0
    assert moved > 40, "the person hardly counts"
    opened = open_here(compared(load_policy(here.folder / "policy.yaml")), read=lambda: here.now)
    with closing(opened):
        charges = opened.ledger.charges(limit=10**6)
    charged: dict[datetime.datetime, PrivacyLoss] = {}
    for charge in charges:
        charged[DAY.begin(charge.time)] = charged.get(DAY.begin(charge.time), PrivacyLoss()) + charge.loss
    assert len(charged) == 2
    assert sum(charged.values(), PrivacyLoss()) == sum(
        (calibration.loss for calibration, _ in here.measured), PrivacyLoss()
    )
    # Each closed day once, and what is open once at each refresh.
    bought: dict[str, int] = {}
    for calibration, _ in here.measured:
        bought[calibration.plan.identity] = bought.get(calibration.plan.identity, 0) + 1
    assert set(bought.values()) <= {1, 2}
