"""Arrays as PostgreSQL writes them: an answer has no arrays, but their texts, which a client can cast."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

_PLAIN = re.compile(r"[^\s{}\",\\]+")


def array_text(value: object) -> str | None:
    """The text of a list of values.

    >>> array_text([1, None, 2.0, True, "a b", "x", "NULL"])
    '{1,NULL,2,t,"a b",x,"NULL"}'
    """
    if value is None:
        return None
    return _item(value)


def _item(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "{" + ",".join(map(_item, value)) + "}"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    text = str(value)
    if isinstance(value, datetime.datetime | datetime.time):
        text = _clock_text(value)
    if _PLAIN.fullmatch(text) is not None and text.upper() != "NULL":
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'


def _clock_text(value: datetime.datetime | datetime.time) -> str:
    """A time with the digits of its second that are none of them 0, and as far from UTC as PostgreSQL says it.

    >>> _clock_text(datetime.datetime.fromisoformat("2025-01-01T10:00:00.5+05:30"))
    '2025-01-01 10:00:00.5+05:30'
    >>> _clock_text(datetime.datetime.fromisoformat("2025-01-01T10:00:00+00:00")), _clock_text(datetime.time(1, 2, 3))
    ('2025-01-01 10:00:00+00', '01:02:03')
    """
    away = value.utcoffset()
    text = str(value.replace(tzinfo=None))
    text = text.rstrip("0") if value.microsecond else text
    if away is None:
        return text
    sign, away = ("-", -away) if away < datetime.timedelta(0) else ("+", away)
    hours, minutes, seconds = away.seconds // 3600, away.seconds // 60 % 60, away.seconds % 60
    return (
        f"{text}{sign}{hours:02d}"
        + (f":{minutes:02d}" if minutes or seconds else "")
        + (f":{seconds:02d}" if seconds else "")
    )
