"""Two tapes, compared: every difference has a kind, and each kind says whether it is for the better.

A difference is better only where nothing has to be read to know it: something is answered that was refused, or costs less,
or is more accurate. A sensitivity that falls may be a gain or a broken promise: it is reported, whichever it is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from fractions import Fraction
from typing import Any

from tests.tape.entries import Entry
from tests.tape.recording import Tape

BETTER = ("newly answered", "price down", "error down", "new statement")
KINDS = (
    "newly refused",
    "now crashes",
    "missing statement",
    "sensitivity up",
    "sensitivity down",
    "sensitivity otherwise",
    "price up",
    "error up",
    "columns",
    "outer SQL",
    "number of plans",
    "SQL",
    "SQL of another dialect",
    "names alone",
    "identity",
    "sqlstate",
    "message",
    "hint",
    "position",
    "notices",
    *BETTER,
)
"""Every kind of difference, the gravest first."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference of one statement. ``what`` is alike for differences of one cause."""

    kind: str
    name: str
    what: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences of two tapes, and how many statements are ``equal``."""

    equal: int
    differences: tuple[Difference, ...]

    def fit(self, accepted: Collection[str] = ()) -> bool:
        """Whether everything is equal, better, or of a kind that is accepted."""
        return all(one.kind in BETTER or one.kind in accepted for one in self.differences)

    def lines(self, examples: int = 3, groups: int = 12) -> Iterator[str]:
        """What there is, for people: by kind, then by cause, the commonest first."""
        yield f"{self.equal} statements are equal, {len({one.name for one in self.differences})} are not"
        for kind in KINDS:
            found = [one for one in self.differences if one.kind == kind]
            if not found:
                continue
            yield f"\n{kind}: {len(found)}{' (better)' if kind in BETTER else ''}"
            causes: dict[str, list[Difference]] = defaultdict(list)
            for one in found:
                causes[re.sub(r"\d+", "#", one.what)].append(one)
            ordered = sorted(causes.values(), key=lambda some: -len(some))
            for alike in ordered[:groups]:
                yield f"  {len(alike)} × {alike[0].what}"
                for one in alike[:examples]:
                    yield f"      {one.name}"
                yield from (f"      {line}" for line in alike[0].lines)
            if len(ordered) > groups:
                yield f"  … and {len(ordered) - groups} causes more"


def compared(before: Tape, after: Tape) -> Comparison:
    """The differences of two tapes."""
    differences: list[Difference] = []
    equal = 0
    for name in sorted({*before.entries, *after.entries}):
        one, other = before.entries.get(name), after.entries.get(name)
        if one is None or other is None:
            kind = "new statement" if one is None else "missing statement"
            differences.append(Difference(kind, name, kind))
            continue
        world = name.partition(": ")[0]
        kept = frozenset((*before.words.get(world, ()), *after.words.get(world, ())))
        found = [replaced(one, name) for one in differences_of(one, other, kept)]
        differences += found
        equal += not found
    return Comparison(equal, tuple(differences))


def replaced(difference: Difference, name: str) -> Difference:
    """The difference, of a statement of this name."""
    return Difference(difference.kind, name, difference.what, difference.lines)


def differences_of(before: Entry, after: Entry, kept: Collection[str] = ()) -> list[Difference]:
    """How an entry differs from another one. Names that are ``kept`` are those of tables and columns.

    >>> told = {"sqlstate": "0A000", "message": "no", "hint": "", "position": None}
    >>> [(one.kind, one.what) for one in differences_of({"refused": None}, {"refused": told})]
    [('newly refused', '0A000: no')]
    """
    old, new = before["refused"], after["refused"]
    if old is not None and new is not None:
        return list(_of_refusals(old, new))
    if new is not None:
        kind = "now crashes" if new["sqlstate"].startswith(("XX", "slow")) else "newly refused"
        return [Difference(kind, "", f"{new['sqlstate']}: {new['message']}", _lines(after.get("sql", "")))]
    if old is not None:
        return [Difference("newly answered", "", f"{old['sqlstate']}: {old['message']}", _lines(after.get("sql", "")))]
    found = [
        *_of_plans(before["plans"], after["plans"], kept),
        *_of_prices(before["price"], after["price"]),
        *_of_columns(before["columns"], after["columns"]),
        *_of_notices(before["notices"], after["notices"]),
    ]
    if before["columns"] == after["columns"]:
        found += _of_errors(before["expected"], after["expected"])
    if before["outer"] != after["outer"]:
        same = unnamed(before["outer"], kept) == unnamed(after["outer"], kept)
        what = "the outer SELECT" if same else "the outer SELECT differs"
        found.append(
            Difference("names alone" if same else "outer SQL", "", what, _diff(before["outer"], after["outer"]))
        )
    if not found:
        for name in sorted({*before["dialects"], *after["dialects"]}):
            if before["dialects"].get(name) != after["dialects"].get(name):
                found.append(Difference("SQL of another dialect", "", name))
        if before["releases"] != after["releases"]:
            found.append(Difference("identity", "", "other identities of what is bought"))
    return found


def _of_refusals(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for kind in ("sqlstate", "message", "hint", "position"):
        if old[kind] != new[kind]:
            crash = kind == "sqlstate" and new[kind].startswith(("XX", "slow"))
            yield Difference("now crashes" if crash else kind, "", f"{old[kind]!r} is now {new[kind]!r}")


def _of_plans(old: Sequence[Entry], new: Sequence[Entry], kept: Collection[str]) -> Iterator[Difference]:
    if len(old) != len(new):
        yield Difference("number of plans", "", f"{len(old)} plans are now {len(new)}")
        return
    told = set()
    for one, other in zip(old, new, strict=True):
        if one["moves"] != other["moves"]:
            told.add(_of_moves(one["moves"], other["moves"]))
        before, after = ("\n".join([*plan["sql"], *plan["steps"]]) for plan in (one, other))
        if before != after:
            same = unnamed(before, kept) == unnamed(after, kept)
            what = "engine SQL" if same else "engine SQL differs"
            told.add(Difference("names alone" if same else "SQL", "", what, _diff(before, after)))
        elif one["identity"] != other["identity"] and one["moves"] == other["moves"]:
            keys = "" if one["keys"] == other["keys"] else f": keys {one['keys']} are now {other['keys']}"
            told.add(Difference("identity", "", f"the same SQL under another identity{keys}"))
    yield from sorted(told, key=lambda one: (KINDS.index(one.kind), one.what, one.lines))


def _of_moves(old: Sequence[str], new: Sequence[str]) -> Difference:
    """What one person moves, when it moved something else: up or down where every number does."""
    shape = [re.sub(r"\d+", "#", line) for line in old] == [re.sub(r"\d+", "#", line) for line in new]
    pairs = list(zip(_numbers(old), _numbers(new), strict=True)) if shape else []
    kind = "sensitivity otherwise"
    if pairs and all(a <= b for a, b in pairs):
        kind = "sensitivity up"
    elif pairs and all(a >= b for a, b in pairs):
        kind = "sensitivity down"
    changed = [(a, b) for a, b in zip(old, new, strict=False) if a != b] or [("; ".join(old), "; ".join(new))]
    return Difference(kind, "", f"{changed[0][0]}  is now  {changed[0][1]}")


def _numbers(lines: Sequence[str]) -> list[int]:
    # Without the 2 of l2² and the 1 of l1: those stand in both.
    return [int(number) for line in lines for number in re.findall(r"\d+", line)]


def _of_prices(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    if old == new:
        return
    parts = [(_parts(old, name), _parts(new, name)) for name in sorted({*old, *new})]
    pairs = [pair for a, b in parts for pair in zip(a, b, strict=False)]
    up = any(a < b for a, b in pairs)
    (a, b) = next((a, b) for a, b in pairs if a != b)
    names = ", ".join(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))
    share = f"× {float(b / a):.3g}" if a else "was free"
    yield Difference("price up" if up else "price down", "", f"{names} {share}", (f"{old} is now {new}",))


def _parts(price: Mapping[str, Any], name: str) -> list[Fraction]:
    value = price.get(name, "0")
    return [Fraction(part) for part in (value if isinstance(value, list) else [value] * (16 if name == "curve" else 1))]


def _of_columns(old: Sequence[Sequence[str]], new: Sequence[Sequence[str]]) -> Iterator[Difference]:
    if old != new:
        if len(old) != len(new):
            yield Difference("columns", "", f"{len(old)} columns are now {len(new)}", (f"{old} is now {new}",))
        else:
            changed = [f"{' '.join(a)} is now {' '.join(b)}" for a, b in zip(old, new, strict=True) if a != b]
            yield Difference("columns", "", changed[0], tuple(changed[1:4]))


def _of_errors(old: Sequence[float | None], new: Sequence[float | None]) -> Iterator[Difference]:
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    if not pairs:
        return
    worse = [(a, b) for a, b in pairs if b is None or (a is not None and b > a)]
    (a, b) = (worse or pairs)[0]
    share = f"× {b / a:.3g}" if a and b is not None else f"{a} is now {b}"
    yield Difference("error up" if worse else "error down", "", share)


def _of_notices(old: Sequence[str], new: Sequence[str]) -> Iterator[Difference]:
    gone, come = [one for one in old if one not in new], [one for one in new if one not in old]
    if gone or come:
        lines = (*(f"- {one}" for one in gone), *(f"+ {one}" for one in come))
        yield Difference("notices", "", lines[0], lines[1:])
    elif list(old) != list(new):
        yield Difference("notices", "", "in another order")


_TOKENS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_]\w*\s*\(?|\S""")


def unnamed(sql: str, kept: Collection[str]) -> str:
    """The SQL with its own names numbered by their first place: two texts are equal where only names differ.

    Keywords, functions and the names of tables and columns that are ``kept`` stay as they are.

    >>> unnamed('SELECT t1."age" AS k0 FROM people AS t1', {"age", "people"})
    'SELECT $0 . "age" AS $1 FROM people AS $0'
    """
    numbers: dict[str, int] = {}
    found = []
    for token in _TOKENS.findall(sql):
        name = token.strip().strip('"')
        ours = token[0] == '"' or (token[0].isalpha() and token == token.lower() and not token.endswith("("))
        if ours and name not in kept:
            found.append(f"${numbers.setdefault(name, len(numbers))}")
        else:
            found.append(token.strip())
    return " ".join(found)


def _diff(before: str, after: str, most: int = 8) -> tuple[str, ...]:
    """The first lines that differ, of SQL cut at its clauses."""
    old, new = (
        re.sub(r"\s+(SELECT|FROM|WHERE|GROUP BY|HAVING|ORDER BY|LEFT|JOIN|,)\b", r"\n\1", sql)
        for sql in (before, after)
    )
    lines = [
        line
        for line in unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=0)
        if line[:2] not in ("--", "++", "@@")
    ]
    return tuple(line[:240] for line in lines[:most])


def _lines(sql: str, most: int = 6) -> tuple[str, ...]:
    return tuple(line[:160] for line in sql.strip().splitlines()[:most])
