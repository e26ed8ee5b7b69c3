"""Formats of numbers: PostgreSQL's letters for TO_CHAR of a number, read into the parts that are printed.

PostgreSQL prints a number into a field of fixed width: what stands before its first digit are blanks, the sign among
them; ``FM`` leaves blanks and the last zeros of decimals out. Digits that do not fit are all printed as ``#``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_DIGITS = 30
_TOKEN = re.compile(r'FM|MI|PR|SG|S|[.,DG90]|"(?:[^"\\]|\\.)*"|[$%() /*=€£:_+-]', re.IGNORECASE)
_SIGNS = frozenset({"S", "MI", "PR", "SG"})
_POINTS = {"D": ".", "G": ","}


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """``whole`` has the places before the point, ``9``, ``0`` and ``,``, and ``decimals`` those behind it; ``point`` is
    whether one is printed. ``sign`` is the word for the sign, at the end where ``after``. ``before`` and ``behind`` are
    printed as they are; ``fills``: the field is as wide for each number.

    >>> format_of("FM999,990.00 %").whole, format_of("99D9S").sign, format_of("999th")
    ('999,990', 'S', None)
    """

    whole: str
    decimals: str
    point: bool
    sign: str
    after: bool
    before: str
    behind: str
    fills: bool

    @property
    def digits(self) -> int:
        """How many digits there are room for before the point."""
        return len(self.whole) - self.whole.count(",")

    @property
    def first_zero(self) -> int:
        """The place before the point from which zeros are printed; the number of places where there is none."""
        plain = self.whole.replace(",", "")
        return plain.index("0") if "0" in plain else len(plain)

    @property
    def kept(self) -> int:
        """How many decimals are printed though they are zeros, where the last zeros are left out."""
        return self.decimals.rfind("0") + 1

    @property
    def written(self) -> str:
        """The format as PostgreSQL writes it, whatever the locale: a point is ``.`` and a separator ``,``.

        >>> format_of("$FM9G990D0MI") is None, format_of("FM9G990D0MI").written
        (True, 'FM9,990.0MI')
        """
        sides = [_quoted(self.before), _quoted(self.behind)]
        sides[self.after] = self.sign + sides[1] if self.after else sides[0] + self.sign
        point = "." if self.point else ""
        return f"{'' if self.fills else 'FM'}{sides[0]}{self.whole}{point}{self.decimals}{sides[1]}"

    @property
    def longest(self) -> int:
        """The most characters that are printed."""
        return sum(map(len, (self.whole, self.decimals, self.before, self.behind))) + 4


def format_of(written: str) -> NumberFormat | None:
    """The format that PostgreSQL reads in a text; None where a part of it is not understood."""
    tokens = _tokens(written)
    if tokens is None:
        return None
    fills = "FM" not in tokens
    tokens = [one for one in tokens if one != "FM"]
    signs = [one for one in tokens if one in _SIGNS]
    if len(signs) > 1:
        return None
    places = [at for at, one in enumerate(tokens) if one in "90"]
    if not places:
        return None
    first, last = places[0], places[-1]
    while first and tokens[first - 1] == ".":
        first -= 1
    while last + 1 < len(tokens) and tokens[last + 1] == ".":
        last += 1
    head, body, tail = tokens[:first], tokens[first : last + 1], tokens[last + 1 :]
    if any(one not in "90.," for one in body) or body.count(".") > 1 or body[-1] == "," or "," in head + tail:
        return None
    whole, _, decimals = "".join(body).partition(".")
    if "," in decimals or whole.startswith(",") or not whole or len(whole) + len(decimals) > MOST_DIGITS:
        return None
    before, behind = (tuple(one for one in part if one not in _SIGNS) for part in (head, tail))
    sign, after = (signs[0], signs[0] in tail) if signs else ("", False)
    if (sign == "PR" and not after) or (signs and not _beside(tail if after else head, sign, after=after)):
        return None
    texts = ("".join(map(_literal, before)), "".join(map(_literal, behind)))
    return NumberFormat(whole, decimals, "." in body, sign, after, *texts, fills)


def _tokens(written: str) -> list[str] | None:
    found: list[str] = []
    position = 0
    while position < len(written):
        token = _TOKEN.match(written, position)
        if token is None:
            return None
        word = token[0] if token[0].startswith('"') else token[0].upper()
        found.append(_POINTS.get(word, word))
        position = token.end()
    return found if found.count("FM") <= 1 and "FM" not in found[1:] else None


def _beside(part: list[str], sign: str, *, after: bool) -> bool:
    """Whether a sign stands directly beside the number."""
    return part.index(sign) == (0 if after else len(part) - 1)


def _quoted(spelt: str) -> str:
    escaped = spelt.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if spelt else ""


def _literal(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1]) if token.startswith('"') else token
