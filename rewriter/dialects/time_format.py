"""Formats of times: PostgreSQL's letters for TO_CHAR as fields of our own, which each engine spells.

A field is ``%`` and a letter, most of them those of ``strftime``; before the letter ``-`` leaves out padding, ``9``
pads a name to nine letters, ``^`` and ``_`` are for capitals and small letters. ``%%`` is a percent sign.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

_NUMBERS = {
    "YYYY": "Y", "YY": "y", "IYYY": "G", "MM": "m", "DDD": "j", "DD": "d", "HH24": "H", "HH12": "I", "HH": "I",
    "MI": "M", "SS": "S", "MS": "L", "US": "f", "IW": "V", "WW": "W", "W": "w", "ID": "u", "D": "D", "Q": "q",
}  # fmt: skip
_NAMES = {"Month": "9B", "Mon": "b", "Day": "9A", "Dy": "a"}
_WORDS: Mapping[str, str] = {
    **{spelt: letter for word, letter in _NUMBERS.items() for spelt in (word, word.lower())},
    **_NAMES,
    **{word.upper(): f"^{letter}" for word, letter in _NAMES.items()},
    **{word.lower(): f"_{letter}" for word, letter in _NAMES.items()},
    "PM": "p",
    "AM": "p",
    "pm": "_p",
    "am": "_p",
}
_UNPADDED = frozenset("mdHIMSj")
_LETTERS: Mapping[str, str] = {letter: word for word, letter in reversed([*_WORDS.items()])}
_FIELD = re.compile(r"%(-?)([9^_]*)([A-Za-z%])")
_PATTERN = re.compile("|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True)))
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_UNKNOWN = re.compile(
    r"FM|Y,YYY|YYY|Y|IYY|IY|I|IDDD|SSSSS?|FF[1-6]|AD|BC|[ABP]\.[CDM]\.|CC|J|RM|TZ[HM]?|OF|TM|FX|[A-Za-z\\]",
    re.IGNORECASE,
)
"""What PostgreSQL gives a meaning, or might, and is not answered."""


@dataclass(frozen=True, slots=True)
class FormatField:
    """A part of a pattern: a ``letter`` with its ``flags``, or the ``text`` between fields."""

    letter: str = ""
    flags: str = ""
    text: str = ""


def pattern_of(written: str) -> str | None:
    """The pattern of a format as PostgreSQL writes it; None where a part of it is not understood.

    >>> pattern_of('IYYY-"W"IW'), pattern_of("FMDD Mon, HH12 AM"), pattern_of("DDth"), pattern_of("999")
    ('%G-W%V', '%-d %b, %I %p', None, None)
    """
    found: list[str] = []
    position = 0
    while position < len(written):
        if (quoted := _QUOTED.match(written, position)) is not None:
            found.append(re.sub(r"\\(.)", r"\1", quoted[1]).replace("%", "%%"))
            position = quoted.end()
            continue
        start = position + 2 if written.startswith(("FM", "fm"), position) else position
        word = _PATTERN.match(written, start)
        if word is not None and not _goes_on(written, start, word.end()):
            letter = _WORDS[word[0]]
            if start > position and letter not in _UNPADDED and "9" not in letter:
                return None
            found.append(f"%{'-' if start > position and letter in _UNPADDED else ''}{_fill(letter, start > position)}")
            position = word.end()
        elif start > position or _UNKNOWN.match(written, position) or written[position] == '"':
            return None
        else:
            found.append(written[position].replace("%", "%%"))
            position += 1
    pattern = "".join(found)
    return pattern if any(one.letter for one in fields(pattern)) else None


def _fill(letter: str, filled: bool) -> str:
    return letter.replace("9", "") if filled else letter


def _goes_on(written: str, start: int, end: int) -> bool:
    """Whether PostgreSQL reads a longer word there, or a suffix such as TH."""
    longer = _UNKNOWN.match(written, start)
    known = longer is not None and longer.end() > end
    return known or written[end : end + 2].upper() in ("TH", "SP")


def fields(pattern: str) -> Iterator[FormatField]:
    """The parts of a pattern, in order."""
    position = 0
    for match in _FIELD.finditer(pattern):
        if match.start() > position:
            yield FormatField(text=pattern[position : match.start()])
        yield FormatField(text="%") if match[3] == "%" else FormatField(match[3], match[1] + match[2])
        position = match.end()
    if position < len(pattern):
        yield FormatField(text=pattern[position:])


def is_of_clock(pattern: str) -> bool:
    """Whether all that a pattern prints is the time of day.

    >>> is_of_clock("%H:%M"), is_of_clock("%d %H")
    (True, False)
    """
    return letters_of(pattern) <= set("HIMSLfp")


_CALENDARS = ("YmdHMSL", "YmdHMSf", "YjHMSL", "YjHMSf", "Yq", "YW", "GVu")
"""Units from the longest on, each within the one before."""


def is_in_order(pattern: str) -> bool:
    """Whether texts of years 1 to 9999 sort as the times do that they are printed of: all fields have one length each,
    and the longest unit is first.

    >>> is_in_order("%Y-%m"), is_in_order("%G-W%V"), is_in_order("%m/%Y"), is_in_order("%Y-%-m"), is_in_order("%b")
    (True, True, False, False, False)
    """
    printed = [one for one in fields(pattern) if one.letter]
    units = "".join(one.letter for one in printed)
    return bool(units) and not any(one.flags for one in printed) and any(one.startswith(units) for one in _CALENDARS)


def letters_of(pattern: str) -> frozenset[str]:
    """The fields that a pattern prints.

    >>> sorted(letters_of("%Y-%m, %b"))
    ['Y', 'b', 'm']
    """
    return frozenset(one.letter for one in fields(pattern) if one.letter)


_WITHIN = {
    "year": "Yy", "quarter": "q", "month": "mbB", "week": "GV", "day": "djaADuwW", "hour": "H",
    "minute": "M", "second": "S",
}  # fmt: skip
"""The fields that are the same in all of a period, beside those of the longer periods that it is within."""
_LONGER = ("year", "quarter", "month", "day", "hour", "minute", "second")
_MONTHLY, _DAILY = ("m", "b", "B"), ("j", "md", "bd", "Bd")
_TOLD = {
    "year": ("Y",),
    "quarter": ("Yq",),
    "month": tuple("Y" + one for one in _MONTHLY),
    "week": ("GV",),
    "day": tuple("Y" + one for one in _DAILY),
    **{unit: tuple(f"Y{one}{clock}" for one in _DAILY)
       for unit, clock in (("hour", "H"), ("minute", "HM"), ("second", "HMS"))},
}  # fmt: skip
"""The fields of which each set tells a period from all others."""


def period_told(letters: Collection[str]) -> str | None:
    """The period that fields tell: all times of the years 1 to 9999 within it have the same, and no other one has them.

    They hold a set of fields that tells it, and no field that differs within it. A day, and what is shorter, is in one
    week; a month and a longer period are not.

    >>> [period_told(one) for one in ("Yq", "Ymb", "GV", "Ymda", "YjV", "YmdH", "Ym9", "Yd", "YmV")]
    ['quarter', 'month', 'week', 'day', 'day', 'hour', None, None, None]
    """
    held = frozenset(letters)
    for unit, sets in _TOLD.items():
        longer = _LONGER[: _LONGER.index(unit) + 1] if unit in _LONGER else ("week",)
        same = {letter for one in longer for letter in _WITHIN[one]}
        same |= set(_WITHIN["week"]) if "day" in longer else set()
        if held <= same and any(held.issuperset(one) for one in sets):
            return unit
    return None


def in_letters(pattern: str) -> str:
    """A pattern as PostgreSQL writes it.

    >>> in_letters(pattern_of('FMMonth YYYY, "week" IW'))
    'FMMonth YYYY", week "IW'
    """
    return "".join(_in_letters(one) for one in fields(pattern))


def _in_letters(field: FormatField) -> str:
    if not field.letter:
        plain = re.fullmatch(r'[^A-Za-z0-9"\\]*', field.text) is not None
        escaped = field.text.replace("\\", "\\\\").replace('"', '\\"')
        return field.text if plain else f'"{escaped}"'
    flags = field.flags.replace("-", "")
    if field.letter in "AB" and "9" not in flags:
        return "FM" + _LETTERS["".join(flag for flag in flags if flag in "^_") + "9" + field.letter]
    return ("FM" if "-" in field.flags else "") + _LETTERS[flags + field.letter]


# How many texts there are

_PERIODS = {
    "S": Fraction(1, 86_400), "M": Fraction(1, 1440), "H": Fraction(1, 24), "I": Fraction(1, 24), "p": Fraction(1, 2),
    "m": Fraction(28), "b": Fraction(28), "B": Fraction(28), "q": Fraction(90), "Y": Fraction(365), "y": Fraction(365),
    "G": Fraction(364), "V": Fraction(7), "L": Fraction(1, 86_400_000), "f": Fraction(1, 86_400_000_000),
}  # fmt: skip
"""The least days for which a field stays as it is; a day where it is not named."""
_CYCLES = {
    "S": 60, "M": 60, "H": 24, "I": 12, "p": 2, "d": 31, "j": 366, "m": 12, "b": 12, "B": 12, "q": 4, "a": 7, "A": 7,
    "u": 7, "D": 7, "V": 53, "W": 53, "w": 5, "L": 1000, "f": 1_000_000, "y": 100,
}  # fmt: skip


def most_texts(pattern: str, days: Fraction) -> int:
    """How many texts a pattern prints at most of times in so many days.

    >>> most_texts("%a", Fraction(90)), most_texts("%Y-%m", Fraction(90)), most_texts("%m %V", Fraction(30))
    (7, 5, 32)
    """
    letters = {one.letter for one in fields(pattern) if one.letter}
    finest = min(_PERIODS.get(letter, Fraction(1)) for letter in letters)
    if letters & set("GV") and letters & set("YymbBq"):
        finest = min(finest, Fraction(1))  # a week ends in the middle of a month
    product = 1
    for letter in letters:
        product *= _CYCLES.get(letter, int(days // 364) + 2)
    return min(product, int(days // finest) + 2)


def finest_unit(pattern: str) -> str:
    """The finest unit of time that a pattern reads, by which times are listed.

    >>> finest_unit("%Y-%m-%d %H"), finest_unit("%b")
    ('hour', 'day')
    """
    letters = {one.letter for one in fields(pattern)}
    for unit, group in (("microsecond", "Lf"), ("second", "S"), ("minute", "M"), ("hour", "HIp")):
        if letters & set(group):
            return unit
    return "day"
