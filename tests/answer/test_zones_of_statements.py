"""Zones: periods, windows and dates over every transition of a year, in zones that change by an hour, by half an hour,
and at midnight."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from dpsql.calendar_unit import CalendarUnit
from dpsql.clock import Clock
from dpsql.closing import Closing
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy
from dpsql.refresh import Refresh
from tests.doubles import NoNoise
from tests.price.test_series import Clinic

ZONES = ("Europe/Berlin", "Australia/Lord_Howe", "America/Santiago")
MINUTE, HOUR, DAY = (datetime.timedelta(minutes=many) for many in (1, 60, 1440))
LENGTHS = [
    Refresh(DAY),
    Refresh(DAY, 2 * HOUR),
    Refresh(DAY, 150 * MINUTE),
    Refresh(7 * DAY, 23 * HOUR + 30 * MINUTE),
    Refresh(HOUR),
    Refresh(30 * MINUTE),
    Refresh(10 * MINUTE),
    Refresh(6 * HOUR),
]


def transitions(zone: str) -> list[datetime.datetime]:
    """When clocks of a zone are put on or back in 2026, to the minute: by looking at every minute of the year."""
    place, now = ZoneInfo(zone), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    hours = [now + HOUR * many for many in range(365 * 24)]
    found = []
    for one, other in pairwise(hours):
        if one.astimezone(place).utcoffset() != other.astimezone(place).utcoffset():
            minutes = (one + MINUTE * many for many in range(61))
            found += [
                after
                for before, after in pairwise(minutes)
                if before.astimezone(place).utcoffset() != after.astimezone(place).utcoffset()
            ]
    return found


def around(zone: str, hours: int = 30, every: int = 1) -> Iterator[list[datetime.datetime]]:
    """The minutes around each transition: all within two hours of it, and each so manieth of the others."""
    for moved in transitions(zone):
        minutes = (many for many in range(-60 * hours, 60 * hours) if abs(many) <= 120 or many % every == 0)
        yield [moved + MINUTE * many for many in minutes]


def local(instant: datetime.datetime, zone: str) -> datetime.datetime:
    return instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


@pytest.mark.parametrize("zone", ZONES)
def test_each_zone_has_two_transitions(zone: str) -> None:
    assert len(transitions(zone)) == 2


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("length", LENGTHS, ids=str)
def test_a_period_begins_when_clocks_show_it_first(zone: str, length: Refresh, every: int) -> None:
    """A period of hours or days: whichever number of periods clocks have shown at most is the present one. All of them
    begin at a tenth minute."""
    one = Refresh(length.length, length.after, zone)
    for minutes in around(zone, every=every):
        begins = [one.begin(instant) for instant in minutes]
        assert begins == sorted(begins), "an earlier answer comes back"
        names = [one.name(instant) for instant in minutes]
        assert len(set(names)) == len(set(begins))
        shift = max(abs((local(b, zone) - local(a, zone)) - (b - a)) for a, b in pairwise(minutes))
        number = [(local(instant, zone) - one.after - datetime.datetime.min) // one.length for instant in minutes]
        for place, (instant, begin) in enumerate(zip(minutes, begins, strict=True)):
            end = one.end(instant)
            assert begin <= instant < end
            assert one.begin(end) == end
            assert one.begin(end - datetime.timedelta(microseconds=1)) == begin
            assert end - begin <= one.length + shift
            if shift % one.length:
                assert names[place] == str(max(number[: place + 1]))
            else:
                assert end - begin <= one.length, "an answer is older than its period"


@pytest.mark.parametrize("zone", ZONES)
def test_days_of_a_budget_are_as_long_as_those_of_the_zone(zone: str) -> None:
    day, place, found = CalendarUnit("day", zone), ZoneInfo(zone), []
    begin = day.begin(datetime.datetime(2026, 1, 1, 12, tzinfo=place).astimezone(datetime.UTC))
    for _ in range(365):
        end = day.end(begin)
        assert day.begin(end) == end
        assert day.begin(end - datetime.timedelta(microseconds=1)) == begin
        found.append(end - begin)
        begin = end
    moved = HOUR / 2 if "Howe" in zone else HOUR
    assert sorted(found) == [DAY - moved, *[DAY] * 363, DAY + moved]


@pytest.mark.parametrize("zone", ZONES)
def test_nothing_closes_that_clocks_may_show_again(zone: str) -> None:
    for minutes in around(zone, 5):
        shown = [local(instant, zone) for instant in minutes]
        for end in {one.replace(minute=one.minute // 30 * 30) for one in shown}:
            closed = [Closing(datetime.timedelta(), zone).is_closed(end, instant) for instant in minutes]
            assert closed == sorted(closed)
            later = [min(shown[place:]) for place in range(len(shown))]
            assert all(least >= end for least, now in zip(later, closed, strict=True) if now)
            passed = sum(least >= end for least in later)
            assert passed - sum(closed) <= 60, "later than by the hour that comes twice"


@pytest.mark.spread
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("tick", [MINUTE, 30 * MINUTE, HOUR, DAY])
def test_ticks_never_go_back(zone: str, tick: datetime.timedelta) -> None:
    for minutes in around(zone):
        found = [Clock(tick, zone).tick_of(instant) for instant in minutes]
        assert found == sorted(found)
        assert all(one <= instant for one, instant in zip(found, minutes, strict=True))


READ = ("CURRENT_DATE", "now()::date", "'today'::date", "DATE_TRUNC('day', now())::date", "CURRENT_TIMESTAMP::date")


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("zone", ZONES)
def test_the_date_of_the_clock_is_that_of_its_zone(tmp_path: Path, zone: str, every: int) -> None:
    clinic = Clinic(tmp_path)
    path = tmp_path / "policy.yaml"
    path.write_text(path.read_text().replace("horizon:", f"clock: {{zone: {zone}}}\nhorizon:"))
    opened = open_here(compared(load_policy(path)), read=lambda: clinic.now)
    sql = (
        f"SELECT {', '.join(READ)}, CURRENT_TIME, now()::time, LOCALTIMESTAMP, now(), (now() - INTERVAL '1 day')::date"
    )
    with closing(Proxy(opened, NoNoise(), silent=True)) as proxy:
        for moved in (*transitions(zone), datetime.datetime(2026, 11, 22, 23, 30, tzinfo=datetime.UTC)):
            for hours in range(-13, 13, every):
                clinic.now = moved + HOUR * hours
                there, session = local(clinic.now, zone), proxy.session()
                row = session.execute(sql).rows[0]
                assert set(row[:5]) == {there.date()}
                assert row[5:9] == (there.time(), there.time(), there, clinic.now)
                assert row[9] == there.date() - DAY
                session.execute("SET timezone = 'Asia/Tokyo'")
                row = session.execute(sql).rows[0]
                assert set(row[:5]) == {local(clinic.now, "Asia/Tokyo").date()}


def test_the_autumn_hour_does_not_bring_yesterdays_answer_back(tmp_path: Path) -> None:
    """At 02:40 a new day of answers has begun; half an hour later clocks show 02:10, which was yesterday's."""
    clinic = Clinic(tmp_path)
    path = tmp_path / "policy.yaml"
    path.write_text(
        path.read_text().replace("refresh: 1 day at 02:00", "refresh: 1 day at 02:30\nclock: {zone: Europe/Berlin}")
    )
    found = []
    for month, day, hour, minute in ((10, 24, 12, 0), (10, 25, 0, 40), (10, 25, 1, 10), (10, 25, 1, 40)):
        clinic.now = datetime.datetime(2026, month, day, hour, minute, tzinfo=datetime.UTC)
        answer = clinic.ask("SELECT COUNT(*) FROM visit")
        found.append((bool(answer.price), answer.rows))
    assert [bought for bought, _ in found] == [True, True, False, False]
    assert found[1][1] == found[2][1] == found[3][1]
