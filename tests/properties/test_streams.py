"""Neighbours over data that grow: two streams that differ by one person's rows at all times.

Series, drill-downs, refreshes, windows and watches together move no more than the ledger says: every integer that is
hidden is read on both streams, and compared with the sensitivity and the noise that were paid for, in all and in each
window of the budget.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

import dpsql.answer
from dpsql.accounting import ZCDP, PrivacyLoss
from dpsql.calendar_unit import CalendarUnit
from dpsql.calibrate import Calibration
from dpsql.ledger.charges import GRID
from dpsql.mechanisms import AboveThreshold
from dpsql.mechanisms.sampling import ExactSampler, Sampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy
from dpsql.releases import ExactTable, NoisyTable
from tests.bench.growing import FIRST, GrowingClinic, policy_text, tiles
from tests.engines.postgres_server import Server, shared_server

DAYS, BEGINS = 32, 28
WEEK = CalendarUnit("week")
BUDGET = "{epsilon: 60, delta: 1e-6, per: week, lifetime: {epsilon: 300, delta: 1e-5}}"
SHARES = "analysts: {ana: {budget: {epsilon: 50, per: week}}, bob: {}}\n"
WATCHED = {
    "many": ("COUNT(*) > 100000 AS alert FROM visit WHERE {}", True),
    "dear": ("AVG(cost) > 150 AS alert FROM visit WHERE {}", False),
    "odd": ("COUNT(*) NOT BETWEEN 0 AND 100000 AS alert FROM visit WHERE {}", False),
    "here": ("region, COUNT(*) > 100000 FROM visit JOIN patient ON patient_id = id WHERE {} GROUP BY region", True),
    "there": ("department FROM visit WHERE {} GROUP BY department HAVING SUM(cost) > 1000000", True),
}
"""Watches by name: what is asked of the last 40 days, and whether one person more moves its numbers one way alone."""

Released = tuple[Calibration, ExactTable]


@dataclass(frozen=True, slots=True)
class Compared:
    """An integer that was compared with a threshold, and what its watch pays for: how far a person moves it, for which ε."""

    integer: int
    threshold: int
    name: str
    sensitivity: int
    epsilon: Fraction

    @property
    def paid(self) -> PrivacyLoss:
        return AboveThreshold.price(ZCDP, self.epsilon, one_way=WATCHED[self.name][1])


def drills(asked: Mapping[str, str]) -> Sequence[str]:
    """A series by two keys, then what its cells add up to; the same of a release that is no series; a family of series."""
    window = asked["by region"].partition("WHERE ")[2].partition(" GROUP")[0]
    joined = "FROM visit JOIN patient ON patient_id = id WHERE"
    return (
        f"SELECT at::date AS day, region, COUNT(*) AS n {joined} {window} GROUP BY 1, 2",
        f"SELECT at::date AS day, COUNT(*) AS n {joined} {window} AND region = 'north' GROUP BY 1",
        f"SELECT at::date AS day, COUNT(*) FILTER (WHERE region IN ('north', 'east')) AS n {joined} {window} GROUP BY 1",
        f"SELECT COUNT(*) AS n {joined} {window} AND region = 'south'",
        f"SELECT at::date AS day, region, COUNT(*) AS n {joined} {window} GROUP BY ROLLUP (1, 2)",
    )


class Stream:
    """One of the two databases, its proxy, and what was hidden."""

    def __init__(self, server: Server, folder: Path, held: ExitStack, without: int | None) -> None:
        name = server.database()
        owner: psycopg.Connection = held.enter_context(server.owner(name))
        owner.autocommit = True
        self.clinic = GrowingClinic(owner, 150, seed=3, without=without)
        server.grant(owner)
        folder.mkdir()
        (folder / "policy.yaml").write_text(policy_text(server.url(name), BUDGET, "0.5") + SHARES)
        self.now = datetime.datetime.combine(FIRST, datetime.time(3), datetime.UTC)
        opened = open_here(compared(load_policy(folder / "policy.yaml")), read=lambda: self.now)
        self.proxy = held.enter_context(closing(Proxy(opened, ExactSampler())))
        self.released: list[Released] = []
        self.notices: list[str] = []
        self.free = 0
        self.watched: list[Compared] = []
        self.watching = ""
        self.lost: dict[datetime.datetime, PrivacyLoss] = {}
        """By what was hidden in each window."""
        self.asker = ""
        self.lost_by: dict[tuple[str, datetime.datetime], PrivacyLoss] = {}
        """The same by who asked for it."""
        self.thresholds: dict[datetime.datetime, dict[int, Compared]] = {}
        """With which numbers were compared in each window."""

    def hide(self, calibration: Calibration, exact: ExactTable) -> None:
        window = WEEK.begin(self.now)
        self.released.append((calibration, exact))
        self.lost[window] = self.lost.get(window, PrivacyLoss()) + calibration.loss
        own = (self.asker, window)
        self.lost_by[own] = self.lost_by.get(own, PrivacyLoss()) + calibration.loss

    def compare(self, integer: int, threshold: int, sensitivity: int, epsilon: Fraction) -> None:
        compared = Compared(integer, threshold, self.watching, sensitivity, epsilon)
        self.watched.append(compared)
        self.thresholds.setdefault(WEEK.begin(self.now), {})[threshold] = compared

    def paid_for_watches(self, window: datetime.datetime) -> PrivacyLoss:
        return sum((one.paid for one in self.thresholds[window].values()), PrivacyLoss())

    def day(self, number: int) -> None:
        day = FIRST + datetime.timedelta(days=number)
        self.clinic.grow(day)
        self.now = datetime.datetime.combine(day, datetime.time(3), datetime.UTC) + datetime.timedelta(days=1)
        if number < BEGINS:
            return
        ana, bob, watch = (self.proxy.session(analyst) for analyst in ("ana", "bob", "ana"))
        asked = tiles(self.now.date())
        for session, sqls in ((ana, [*asked.values(), *list(asked.values())[:3]]), (bob, drills(asked))):
            self.asker = "ana" if session is ana else "bob"
            for sql in sqls:
                answer = session.execute(sql)
                self.notices += answer.notices
                self.free += not answer.price
        for name, (sql, _) in WATCHED.items():
            self.watching = name
            watch.execute(f"SET dpsql.watch = '{name}'")
            for _ in range(2):
                watch.execute("SELECT " + sql.format("at >= now() - INTERVAL '40 days'"))


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stream, Stream]]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield from _streams(tmp_path_factory.mktemp("streams"), monkeypatch)


def _streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Stream, Stream]]:
    growing: list[Stream] = []
    drawn: list[int] = []
    made: dict[AboveThreshold, tuple[int, Fraction]] = {}
    perturb, of, noisy = dpsql.answer.perturb, AboveThreshold.of, AboveThreshold.noisy

    def seen(exact: ExactTable, calibration: Calibration, sampler: Sampler) -> NoisyTable:
        growing[-1].hide(calibration, exact)
        return perturb(exact, calibration, sampler)

    def calibrated(sensitivity: int, epsilon: Fraction) -> AboveThreshold:
        found = of(sensitivity, epsilon)
        made[found] = (sensitivity, epsilon)
        return found

    def asked(self: AboveThreshold, integer: int, noisy: int, sampler: Sampler) -> bool:
        """Always FALSE, by what the numbers are and without a chance that they are not: a TRUE is paid again."""
        growing[-1].compare(integer, noisy, *made[self])
        return False

    def apart(self: AboveThreshold, threshold: int, sampler: Sampler) -> int:
        """No two thresholds are alike, so that they are told apart."""
        drawn.append(noisy(self, threshold, sampler) + (len(drawn) << 40))
        return drawn[-1]

    monkeypatch.setattr(dpsql.answer, "perturb", seen)
    monkeypatch.setattr(AboveThreshold, "above", asked)
    monkeypatch.setattr(AboveThreshold, "of", calibrated)
    monkeypatch.setattr(AboveThreshold, "noisy", apart)
    with ExitStack() as held:
        server = shared_server()
        both = tuple(
            Stream(server, tmp_path / str(number), held, without)
            for number, without in enumerate((None, GrowingClinic.busiest(150, 3)))
        )
        for number in range(DAYS):
            for stream in both:
                growing.append(stream)
                stream.day(number)
        yield both[0], both[1]


def assert_charged(charged: PrivacyLoss, exact: PrivacyLoss) -> None:
    """No less than what was lost, and no more than what each charge of it is rounded up by."""
    assert (charged.delta, charged.curve) == (exact.delta, exact.curve)
    for one, other in ((charged.epsilon, exact.epsilon), (charged.rho, exact.rho)):
        assert 0 <= one - other < Fraction(1000, GRID)


def test_neighbouring_streams_move_no_more_than_the_ledger_says(streams: tuple[Stream, Stream]) -> None:
    here, there = streams
    # What is bought, when and at which price does not depend on anybody's rows.
    bills = [
        [(one.time, one.loss, one.statement) for one in stream.proxy.ledger.charges(limit=10**6)] for stream in streams
    ]
    assert bills[0] == bills[1]
    assert len(here.released) == len(there.released) > 5 * (DAYS - BEGINS)
    paid, moved = PrivacyLoss(), 0
    for (mine, own), (yours, other) in zip(here.released, there.released, strict=True):
        assert mine.plan.identity == yours.plan.identity
        paid += mine.loss
        moved += _moved(mine, own, other)
    assert moved > len(here.released) / 4, "the person hardly counts"
    # Days and months are measured by themselves; a person moves each of them by no more than the bound of its own.
    periods = [(calibration, calibration.plan.period) for calibration, _ in here.released if calibration.plan.period]
    assert len({period for _, period in periods}) > 30
    assert {round(_most_rows(one)) for one, _ in periods} == {2, 3, 6}
    said = "a day that is kept is as it was when it was asked first later than 1 day after its end"
    for stream in streams:
        assert any(note.startswith(said) for note in stream.notices)
        assert "derived from what was released before, at no price" in stream.notices
    assert here.free == there.free > 2 * (DAYS - BEGINS)
    assert_kept_when_closed(here)
    watched = sum((here.paid_for_watches(window) for window in here.thresholds), PrivacyLoss())
    charged = sum((one.loss for one in here.proxy.ledger.charges(limit=10**6)), PrivacyLoss())
    assert_charged(charged, paid + watched)
    assert all(one.spent.fits_within(one.accountant.limit) for one in here.proxy.ledger.standings())


def test_a_person_moves_what_is_watched_as_was_paid_for(streams: tuple[Stream, Stream]) -> None:
    """No number further than its noise is for, and one way alone where that was paid for; all groups of a watch are
    paid for together, since a person may be in each of them in the course of time."""
    here, there = streams
    assert len(here.watched) == len(there.watched)
    moved: dict[str, list[int]] = {name: [] for name in WATCHED}
    for mine, yours in zip(here.watched, there.watched, strict=True):
        assert (mine.name, mine.sensitivity, mine.epsilon) == (yours.name, yours.sensitivity, yours.epsilon)
        assert abs(mine.integer - yours.integer) <= mine.sensitivity
        moved[mine.name].append(mine.integer - yours.integer)
    for name, (_, one_way) in WATCHED.items():
        assert any(moved[name]), f"the person does not count in {name}"
        assert not one_way or min(moved[name]) >= 0 or max(moved[name]) <= 0
    # One for all days, which is paid for each bound, as its times begin to touch two months, and in each week.
    counts = {name: sum(one.name == name for one in here.watched) for name in WATCHED}
    assert counts["many"] == counts["dear"] == counts["odd"] == DAYS - BEGINS
    assert counts["here"] > 3 * counts["many"] < counts["there"], "one of each group"
    thresholds = [one for found in here.thresholds.values() for one in found.values()]
    assert sum(one.name == "many" for one in thresholds) == 3
    assert len({one.epsilon for one in thresholds}) == 3, "a share of the price for each of so many groups"


def test_each_window_pays_for_what_is_hidden_in_it(streams: tuple[Stream, Stream]) -> None:
    """Releases by their noise, and each threshold that a number is compared with in a window, once."""
    for stream in streams:
        week, _ = stream.proxy.ledger.standings()
        charged: dict[datetime.datetime, PrivacyLoss] = {}
        for one in stream.proxy.ledger.charges(limit=10**6):
            charged[WEEK.begin(one.time)] = charged.get(WEEK.begin(one.time), PrivacyLoss()) + one.loss
        assert len(charged) == len(stream.lost) == len(stream.thresholds) == 2
        for window, lost in stream.lost.items():
            assert_charged(charged[window], lost + stream.paid_for_watches(window))
            assert charged[window].fits_within(week.accountant.limit)
        assert not set.intersection(*map(set, stream.thresholds.values())), (
            "what answered in one window tells of its threshold"
        )


def test_each_window_of_a_share_pays_for_what_its_analyst_asked(streams: tuple[Stream, Stream]) -> None:
    for stream in streams:
        charged: dict[tuple[str, datetime.datetime], PrivacyLoss] = {}
        for one in stream.proxy.ledger.charges(limit=10**6):
            own = (one.analyst, WEEK.begin(one.time))
            charged[own] = charged.get(own, PrivacyLoss()) + one.loss
        assert {analyst for analyst, _ in charged} == {"ana", "bob"}
        for (analyst, window), lost in stream.lost_by.items():
            watched = stream.paid_for_watches(window) if analyst == "ana" else PrivacyLoss()
            assert_charged(charged[analyst, window], lost + watched)
        (share,) = stream.proxy.ledger.standings("ana")
        assert share.spent == charged["ana", WEEK.begin(stream.now)]
        assert share.spent.fits_within(share.accountant.limit)


def assert_kept_when_closed(stream: Stream) -> None:
    """What is measured of a period is bought again only until it has closed."""
    # Identities are those of what is asked, whenever it is; the price of a part is the same at each refresh.
    bought: dict[str, int] = {}
    for calibration, _ in stream.released:
        if calibration.plan.period is not None:
            bought[calibration.plan.identity] = bought.get(calibration.plan.identity, 0) + 1
    # Once while it is open, and once when it has closed; the month that is open, at each refresh.
    by_day = [count for count in bought.values() if count <= 2]
    assert len(by_day) > 40
    assert by_day.count(1) > 20


def _most_rows(calibration: Calibration) -> float:
    """How many rows of a person a release of counts is charged for."""
    (block,) = calibration.plan.blocks
    assert block.sensitivity.l2_squared is not None
    return math.sqrt(block.sensitivity.l2_squared) * float(block.statistics[0].granularity)


def _moved(calibration: Calibration, own: ExactTable, other: ExactTable) -> bool:
    """Whether a person moves what a release hides: never by more than was declared, and paid for."""
    found = False
    for measured in calibration.measured:
        names = [one.name for one in measured.block.statistics]
        mine, yours = _cells(own, names), _cells(other, names)
        changes = [a - b for key in mine.keys() | yours.keys() for a, b in zip(
            mine.get(key, [0] * len(names)), yours.get(key, [0] * len(names)), strict=True
        )]  # fmt: skip
        square = sum(change * change for change in changes)
        assert square <= measured.block.sensitivity.l2_squared, calibration.plan.sql
        assert measured.loss.fits_within(measured.share)
        found |= square > 0
    return found


def _cells(table: ExactTable, names: Sequence[str]) -> Mapping[object, list[int]]:
    columns = [list(table.statistics[name]) for name in names]
    return {key: [int(column[row]) for column in columns] for row, key in enumerate(map(tuple, table.keys))}


def test_windows_renew_while_the_stream_goes_on(streams: tuple[Stream, Stream]) -> None:
    here, _ = streams
    week, ever = here.proxy.ledger.standings()
    assert week.spent != ever.spent
    assert math.isfinite(week.accountant.epsilon_of(week.spent))
    assert week.renews is not None
    assert week.renews > here.now
