"""Time zones: what a clock on the wall shows at an instant, and which instant a clock's time means.

A ``timestamptz`` is an instant. Everywhere inside it is the plain timestamp of UTC; a zone is looked at only where an
expression asks for a local time. A zone's rules are public constants (the IANA database), and so is a session's zone:
it is text that its client sent. Local times that a clock skips or shows twice mean what they mean in PostgreSQL: of two
readings, the one with the smaller offset from UTC.

Guarantee: a function of names and literals alone.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

UTC = "UTC"
"""The zone of a session that names none."""

_SAME_AS_UTC = frozenset({"utc", "gmt", "z", "zulu", "uct", "universal", "etc/utc", "etc/uct", "etc/zulu", "gmt0"})
_HOURS: Mapping[str, int] = {
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "AKST": -9, "AKDT": -8,
    "HST": -10, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "MET": 1, "MEST": 2, "EET": 2, "EEST": 3,
    "MSK": 3, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12,
}  # fmt: skip
"""Abbreviations that PostgreSQL knows as fixed distances from UTC, whatever the season."""

_DAY = datetime.timedelta(days=1)
_FIRST, _LAST = datetime.datetime.min, datetime.datetime.max


@cache
def _names() -> Mapping[str, str]:
    """Every zone's name by its lower-cased form; those of PostgreSQL's own directories are no names."""
    never = ("posix", "right", "System", "localtime", "Factory")
    return {name.lower(): name for name in available_timezones() if not name.startswith(never)}


def zone_of(name: str) -> str | None:
    """The zone that PostgreSQL's ``SET TIME ZONE 'name'`` means, in the database's spelling; None where there is none.

    A bare number counts hours to the east; after letters, as POSIX has it, hours to the west.

    >>> zone_of("europe/berlin"), zone_of("Zulu"), zone_of("-3"), zone_of("GMT+3"), zone_of("Mars/Base")
    ('Europe/Berlin', 'UTC', 'Etc/GMT+3', 'Etc/GMT+3', None)
    """
    spelt = name.strip().lower()
    if spelt in _SAME_AS_UTC:
        return UTC
    if re.fullmatch(r"[+-]?\d{1,2}(?:\.0*)?", spelt, re.ASCII):
        return fixed(int(float(spelt)))
    if (west := re.fullmatch(r"(?:[a-z]{3,6}|<[^>]*>)([+-]\d{1,2})(?::00)?", spelt, re.ASCII)) is not None:
        return fixed(-int(west[1]))
    return _names().get(spelt)


def zone_at(name: str) -> str | None:
    """The zone of ``AT TIME ZONE 'name'``, where an abbreviation comes before a zone of that name.

    >>> zone_at("CET"), zone_of("CET"), zone_at("America/Lima")
    ('Etc/GMT-1', 'CET', 'America/Lima')
    """
    hours = _HOURS.get(name.strip().upper())
    if hours is not None:
        return fixed(hours)
    # A distance is PostgreSQL's POSIX notation here, whose sign is the other one: nobody means that.
    return None if re.match(r"\s*[<+\-\d]", name) else zone_of(name)


def fixed(hours: int) -> str | None:
    """The zone that is always so many hours east of UTC.

    >>> fixed(2), fixed(0), fixed(15)
    ('Etc/GMT-2', 'UTC', None)
    """
    if hours == 0:
        return UTC
    return f"Etc/GMT{-hours:+d}" if -12 <= hours <= 14 else None


@cache
def _rules(zone: str) -> datetime.tzinfo:
    return datetime.UTC if zone == UTC else ZoneInfo(zone)


def shown(instant: datetime.datetime, zone: str) -> datetime.datetime:
    """An instant as a client gets it: aware, in a zone. The first and last hours of the calendar stay in UTC."""
    aware = instant.replace(tzinfo=datetime.UTC)
    try:
        return aware.astimezone(_rules(zone))
    except OverflowError:
        return aware


def local(instant: datetime.datetime, zone: str) -> datetime.datetime | None:
    """The local time at an instant, both plain; None outside of the years 1 to 9999.

    >>> local(datetime.datetime(2026, 7, 1), "Europe/Berlin")
    datetime.datetime(2026, 7, 1, 2, 0)
    """
    try:
        return instant.replace(tzinfo=datetime.UTC).astimezone(_rules(zone)).replace(tzinfo=None, fold=0)
    except OverflowError:
        return None


def instant(moment: datetime.datetime, zone: str) -> datetime.datetime | None:
    """The instant at which a zone's clock shows a time; None outside of the years 1 to 9999.

    >>> instant(datetime.datetime(2026, 3, 29, 2, 30), "Europe/Berlin")  # is skipped there
    datetime.datetime(2026, 3, 29, 1, 30)
    >>> instant(datetime.datetime(2026, 10, 25, 2, 30), "Europe/Berlin")  # is shown twice
    datetime.datetime(2026, 10, 25, 1, 30)
    """
    try:
        return moment - min(_offset(moment.replace(fold=fold), zone) for fold in (0, 1))
    except OverflowError:
        return None


def _offset(moment: datetime.datetime, zone: str) -> datetime.timedelta:
    return _rules(zone).utcoffset(moment) or datetime.timedelta(0)


def is_steady(moment: datetime.datetime, zone: str) -> bool:
    """Whether no clock is set within two days of an instant: local times around it are in the order of instants."""
    if zone == UTC:
        return True
    try:
        around = [local(moment + days * _DAY, zone) for days in (-2, -1, 0, 1, 2)]
    except OverflowError:
        return False
    gaps = {after - before for before, after in pairwise(around) if before and after}
    return None not in around and gaps == {_DAY}


def instants(zone: str) -> tuple[datetime.datetime, datetime.datetime]:
    """The first and last instants of the calendar whose local times are in it too."""
    if zone == UTC:
        return _FIRST, _LAST
    return instant(_FIRST, zone) or _FIRST, instant(_LAST, zone) or _LAST


def clocks(zone: str) -> tuple[datetime.datetime, datetime.datetime]:
    """The first and last local times of the calendar whose instants are in it too."""
    if zone == UTC:
        return _FIRST, _LAST
    return local(_FIRST, zone) or _FIRST, local(_LAST, zone) or _LAST


def grid(first: datetime.datetime, last: datetime.datetime, zone: str) -> int | None:
    """Seconds of the widest steps of UTC, at most an hour, that a zone's hours begin at between two instants.

    None where an offset is no whole number of quarter hours, as local times before zones were.

    >>> grid(datetime.datetime(2020, 1, 1), datetime.datetime(2026, 1, 1), "Asia/Kolkata")
    1800
    """
    step, at = 3600, first
    while at < last + _DAY:
        moment = shown(min(at, last), zone)
        step = math.gcd(step, int((moment.utcoffset() or datetime.timedelta(0)).total_seconds()))
        if last - at > 28 * _DAY:
            at += 28 * _DAY
        else:
            at += _DAY
    return step if step >= 900 else None
