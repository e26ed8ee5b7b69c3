"""Parameters of the wire as Python values, from text and from binary.

Guarantee: any bytes give a value or :class:`Undecodable`, and no byte beyond them is read. Drivers' own loaders are
made for what a server sends and trust its lengths; a client is not to be trusted. Text is read in PostgreSQL's output
forms alone: its input functions know many more, and are asked where this refuses.
"""

from __future__ import annotations

import datetime
import re
import struct
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TypeVar

from dpsql.errors import DataError

Read = TypeVar("Read", str, bytes)


class Undecodable(DataError):
    """22P02, 22P03, 22003, 22008 or 22021: the bytes are not a value of their type, or not one that is held here."""


TEXTS = frozenset({0, 18, 19, 25, 705, 1042, 1043})
"""unknown, "char", name, text, bpchar, varchar and no type at all: the same bytes in text and in binary."""
ARRAYS: Mapping[int, int] = {
    1000: 16, 1002: 18, 1003: 19, 1005: 21, 1007: 23, 1016: 20, 1028: 26, 1009: 25, 1014: 1042, 1015: 1043, 1021: 700,
    1022: 701, 1231: 1700, 1182: 1082, 1183: 1083, 1115: 1114, 1185: 1184, 1187: 1186, 2951: 2950,
}  # fmt: skip
"""Array types and the type of their items."""
MAX_DIGITS = 1_000
"""Of a number on either side of its point: a short text like ``1e999999999`` must not become a long one."""
MAX_DIMENSIONS = 6
_DATES = frozenset({1082, 1083, 1114, 1184})


def decode_parameter(oid: int, data: bytes, binary: bool) -> object:
    """A parameter as a Python value: None, bool, int, float, Decimal, str, date, naive datetime, or a list of these.
    An interval is the text of one.

    >>> decode_parameter(23, b"42", False), decode_parameter(1082, b"2020-02-01", False)
    (42, datetime.date(2020, 2, 1))
    >>> decode_parameter(1007, b"{1,NULL}", False)
    [1, None]
    """
    try:
        return (_array_binary if binary else _array_text)(oid, data) if oid in ARRAYS else _one(oid, data, binary)
    except UnicodeDecodeError:
        raise Undecodable("invalid byte sequence for encoding UTF8", sqlstate="22021", hint="send UTF8") from None
    except (ValueError, struct.error):
        state = "22P03" if binary else "22P02"
        raise Undecodable("invalid value of a parameter", sqlstate=state, hint="check its type") from None
    except OverflowError:
        state = "22008" if oid in _DATES or ARRAYS.get(oid) in _DATES else "22003"
        raise Undecodable("a parameter is out of range", sqlstate=state, hint="send another value") from None


def _one(oid: int, data: bytes, binary: bool) -> object:
    if oid in TEXTS:
        text = data.decode()
        if "\0" in text:
            raise Undecodable("a parameter holds a NUL character", sqlstate="22021", hint="remove it")
        return text
    if binary:
        return _named(_BINARIES, oid)(data)
    return _named(_TEXTS, oid)(data.decode().strip(" \t\n\r\v\f"))


def _named(readers: Mapping[int, Callable[[Read], object]], oid: int) -> Callable[[Read], object]:
    if oid not in readers:
        raise ValueError
    return readers[oid]


# Text


_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?")
_CLOCK = f"[ T]{_TIME.pattern}"
_TIMESTAMP = re.compile(_DATE.pattern + f"(?:{_CLOCK})?")
_ZONED = re.compile(f"({_DATE.pattern}{_CLOCK})(?:Z|([+-][0-9]{{2}})(?::?([0-9]{{2}}))?)")


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError
    return found


def _bool_text(text: str) -> bool:
    word = text.lower()
    for value, whole, least in ((True, "true", 1), (False, "false", 1), (True, "yes", 1), (False, "no", 1),
                                (True, "on", 2), (False, "off", 2), (True, "1", 1), (False, "0", 1)):  # fmt: skip
        if len(word) >= least and whole.startswith(word):
            return value
    raise ValueError


def _integer_text(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        digits = _matched(_INTEGER, text)[0].lstrip("+-").lstrip("0")
        if len(digits) > 20:
            raise OverflowError
        number = int(text)
        if not least <= number <= most:
            raise OverflowError
        return number

    return read


def _float_text(text: str) -> float:
    word = text.lower().lstrip("+-")
    if word in ("nan", "inf", "infinity"):
        return float(text)
    number = float(_matched(_NUMBER, text)[0])
    if number in (float("inf"), float("-inf")):
        raise OverflowError
    return number


def _numeric_text(text: str) -> Decimal:
    if len(text) > 2 * MAX_DIGITS:
        raise OverflowError
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return Decimal(text)
    number = Decimal(_matched(_NUMBER, text)[0])
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or not -MAX_DIGITS <= exponent <= MAX_DIGITS or number.adjusted() > MAX_DIGITS:
        raise OverflowError
    return number


def _date_text(text: str) -> datetime.date:
    return datetime.date.fromisoformat(_matched(_DATE, text)[0])


def _time_text(text: str) -> datetime.time:
    return _moment("2000-01-01 " + _matched(_TIME, text)[0]).time()


def _timestamp_text(text: str) -> datetime.datetime:
    return _moment(_matched(_TIMESTAMP, text)[0])


def _moment(text: str) -> datetime.datetime:
    clock, point, fraction = text.partition(".")
    return datetime.datetime.fromisoformat(clock + point + fraction.ljust(6, "0") if point else clock)


def _zoned_text(text: str) -> datetime.datetime:
    # Without an offset it would be the session's time zone's, which is not known here: PostgreSQL is asked for it.
    found = _matched(_ZONED, text)
    hours, minutes = int(found[2] or 0), int(found[3] or 0)
    sign = -1 if (found[2] or "").startswith("-") else 1
    moment = _moment(found[1]) - datetime.timedelta(hours=hours, minutes=sign * minutes)
    return moment.replace(tzinfo=datetime.UTC)


_SMALL, _MIDDLE, _LARGE = 1 << 15, 1 << 31, 1 << 63
_TEXTS: Mapping[int, Callable[[str], object]] = {
    16: _bool_text, 21: _integer_text(-_SMALL, _SMALL - 1), 23: _integer_text(-_MIDDLE, _MIDDLE - 1),
    20: _integer_text(-_LARGE, _LARGE - 1), 26: _integer_text(0, (1 << 32) - 1), 700: _float_text, 701: _float_text,
    1700: _numeric_text, 1082: _date_text, 1083: _time_text, 1114: _timestamp_text, 1184: _zoned_text,
    2950: lambda text: str(uuid.UUID(text)),
}  # fmt: skip

# Each alternative can match in one way only, so that no text takes long.
_ITEM = re.compile(r'(?:\s*+"((?:[^"\\]|\\.)*+)"\s*+|([^{}",\\]*+))(,|\Z)', re.ASCII | re.DOTALL)


def _array_text(oid: int, data: bytes) -> list[object]:
    text = data.decode().strip(" \t\n\r\v\f")
    if len(text) < 2 or text[0] != "{" or text[-1] != "}":
        raise ValueError
    inner = text[1:-1]
    found: list[object] = []
    place = 0
    while inner.strip(" \t\n\r\v\f"):
        item = _ITEM.match(inner, place)
        if item is None:
            raise ValueError
        found.append(_item(ARRAYS[oid], item[1], item[2]))
        place = item.end()
        if not item[3]:
            break
    return found


def _item(oid: int, quoted: str | None, bare: str | None) -> object:
    if quoted is not None:
        return _one(oid, re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL).encode(), False)
    word = (bare or "").strip(" \t\n\r\v\f")
    if not word:
        raise ValueError
    return None if word.upper() == "NULL" else _one(oid, word.encode(), False)


# Binary


def _packed(layout: str) -> Callable[[bytes], object]:
    # The length must be the layout's: anything else raises.
    form = struct.Struct(layout)
    return lambda data: form.unpack(data)[0]


def _bool_binary(data: bytes) -> bool:
    if len(data) != 1:
        raise ValueError
    return data != b"\0"


_NOT_FINITE = {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}


def _numeric_binary(data: bytes) -> Decimal:
    """Digits to the base 10,000, ``weight`` of them after the first and before the point; ``scale`` decimals shown."""
    count, weight, sign, scale = struct.unpack_from("!HhHH", data)
    if len(data) != 8 + 2 * count or (sign not in (0, 0x4000) and sign not in _NOT_FINITE):
        raise ValueError
    if sign in _NOT_FINITE:
        return Decimal(_NOT_FINITE[sign])
    if count > MAX_DIGITS // 4 or abs(weight) > MAX_DIGITS // 4 or scale > MAX_DIGITS:
        raise OverflowError
    groups = struct.unpack_from(f"!{count}H", data, 8)
    if any(group > 9999 for group in groups):
        raise ValueError
    digits = "".join(f"{group:04d}" for group in groups)
    excess = 4 * (count - weight - 1) - scale
    digits = digits[: max(len(digits) - excess, 0)] if excess > 0 else digits + "0" * -excess
    return Decimal((int(sign == 0x4000 and bool(digits.strip("0"))), tuple(map(int, digits)), -scale))


_FIRST_DAY = datetime.date(2000, 1, 1).toordinal()
_EPOCH = datetime.datetime(2000, 1, 1)


def _date_binary(data: bytes) -> datetime.date:
    (days,) = struct.unpack("!i", data)
    if not 1 <= days + _FIRST_DAY <= datetime.date.max.toordinal():
        raise OverflowError
    return datetime.date.fromordinal(days + _FIRST_DAY)


def _time_binary(data: bytes) -> datetime.time:
    (since,) = struct.unpack("!q", data)
    if not 0 <= since < 86_400_000_000:
        raise OverflowError
    return (_EPOCH + datetime.timedelta(microseconds=since)).time()


def _interval_binary(data: bytes) -> str:
    """The text of an interval, whose three parts PostgreSQL never turns into each other.

    >>> _interval_binary(struct.pack("!qii", -1_500_000, 3000, 0)), _interval_binary(bytes(16))
    ('3000 days -1.500000 seconds', '0 seconds')
    """
    micros, days, months = struct.unpack("!qii", data)
    sign, (seconds, rest) = "-" if micros < 0 else "", divmod(abs(micros), 1_000_000)
    parts = [f"{months} months"] * bool(months) + [f"{days} days"] * bool(days)
    if micros or not parts:
        parts.append(f"{sign}{seconds}.{rest:06d} seconds" if rest else f"{sign}{seconds} seconds")
    return " ".join(parts)


def _instant_binary(data: bytes) -> datetime.datetime:
    return _timestamp_binary(data).replace(tzinfo=datetime.UTC)


def _timestamp_binary(data: bytes) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(microseconds=struct.unpack("!q", data)[0])


_BINARIES: Mapping[int, Callable[[bytes], object]] = {
    16: _bool_binary, 21: _packed("!h"), 23: _packed("!i"), 20: _packed("!q"), 26: _packed("!I"), 700: _packed("!f"),
    701: _packed("!d"), 1700: _numeric_binary, 1082: _date_binary, 1083: _time_binary, 1114: _timestamp_binary,
    1184: _instant_binary, 1186: _interval_binary,
    2950: lambda data: str(uuid.UUID(bytes=data)),
}  # fmt: skip


def _array_binary(oid: int, data: bytes) -> list[object]:
    dimensions, _, item = struct.unpack_from("!iiI", data)
    if not 0 <= dimensions <= MAX_DIMENSIONS or not _alike(item, ARRAYS[oid]):
        raise ValueError
    sizes = [struct.unpack_from("!ii", data, 12 + 8 * number)[0] for number in range(dimensions)]
    place, left = 12 + 8 * dimensions, 1
    for size in sizes:
        left *= size
        if size < 0 or left > len(data) // 4:
            raise ValueError
    items: list[object] = []
    for _ in range(left if sizes else 0):
        (length,) = struct.unpack_from("!i", data, place)
        end = place + 4 + max(length, 0)
        if length < -1 or end > len(data):
            raise ValueError
        items.append(None if length == -1 else _one(ARRAYS[oid], data[place + 4 : end], True))
        place = end
    if place != len(data):
        raise ValueError
    for size in reversed(sizes[1:]):
        items = [items[start : start + size] for start in range(0, len(items), size)] if size else []
    return items


def _alike(one: int, other: int) -> bool:
    return one == other or (one in TEXTS and other in TEXTS)
