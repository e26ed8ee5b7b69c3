"""The kinds of columns: a type, what may be declared of it, values that fit and values that nobody expected."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from zlib import crc32


@dataclass(frozen=True, slots=True)
class Column:
    """A column with what the policy says of it.

    ``kind`` names a row of ``KINDS``, ``key`` and ``link`` are identifiers. ``listed`` and ``span`` are its declared
    values and range, ``source`` the public column that lists its values, ``most`` how many one person is credited with.
    """

    name: str
    kind: str
    type: str
    listed: tuple[object, ...] | None = None
    span: tuple[object, object] | None = None
    source: str | None = None
    not_null: bool = False
    most: int | None = None

    def total(self, table: str) -> object:
        """The most that one person's values in this table add up to, for some ranges: a number of the largest value."""
        if self.span is None or not isinstance(self.span[0], int | float | Decimal):
            return None
        largest = max(abs(end) for end in self.span)  # type: ignore[type-var, arg-type]
        times = (None, 1, 3)[crc32(f"{table} {self.span}".encode()) % 3]
        return largest * times if times and largest else None  # type: ignore[operator]

    def policy(self, total: object = None) -> str:
        if self.type == "JSON" or self.type.endswith("[]"):
            return "{max_items: 3}"
        said = [f"max_distinct: {self.most}"] if self.most is not None else []
        if total is not None:
            said.append(f"max_total: {total}")
        if self.listed is not None:
            said.append("values: [" + ", ".join(written(value) for value in self.listed) + "]")
        elif self.span is not None:
            said.append(f"range: [{self.span[0]}, {self.span[1]}]")
        elif self.source:
            said.append(f"values_from: {self.source}")
        return "{" + ", ".join(said) + "}"


def written(value: object) -> str:
    """A scalar of the policy file."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else str(value)


def _in_span(random: Random, column: Column, tame: bool) -> object:
    low, high = column.span  # type: ignore[misc]
    if isinstance(low, datetime):
        return low + timedelta(seconds=random.randrange(int((high - low).total_seconds()) + 1))
    if isinstance(low, date):
        return low + timedelta(days=random.randrange((high - low).days + 1))
    if isinstance(low, float):
        return random.choice(
            [low, high, round(random.uniform(low, high) * 8) / 8 if tame else random.uniform(low, high)]
        )
    if isinstance(low, Decimal):
        return random.choice([low, high, low + (high - low) * random.randrange(101) / 100]).quantize(Decimal("0.01"))
    return random.choice([low, high, random.randint(low, high)])


def _listed(random: Random, column: Column, tame: bool) -> object:
    return random.choice(column.listed)  # type: ignore[arg-type]


_SPANS: dict[str, tuple[tuple[object, object], ...]] = {
    "small": ((0, 10), (-7, 5), (3, 3), (-20, -3), (100, 130), (0, 1)),
    "big": ((0, 10**6), (-(10**9), 10**9), (10**9, 10**9 + 50), (-(2**44), 2**45)),
    "tiny": ((0, 120), (-5, 5)),
    "ratio": ((0.0, 1.0), (-2.5, 7.0), (1000.0, 1000.0), (-3.0, -1.0), (-0.001, 5.0), (0.0, 1e9)),
    "money": ((Decimal("0.00"), Decimal("500.00")), (Decimal("-12.50"), Decimal("99.99"))),
    "day": ((date(2020, 1, 1), date(2020, 3, 31)), (date(2019, 12, 30), date(2020, 1, 2))),
    "at": ((datetime(2020, 1, 1), datetime(2020, 1, 20)),),
}
_LISTS: dict[str, tuple[tuple[object, ...], ...]] = {
    "cat": (("a", "b", "c"), ("a", "", "b", None), ("a",), ("a", "b", "c", "d", "e", None)),
    "flag": ((True, False), (True, False, None), (True,)),
}
TYPES = {
    "small": "INTEGER",
    "big": "BIGINT",
    "tiny": "SMALLINT",
    "ratio": "DOUBLE",
    "money": "DECIMAL(9,2)",
    "day": "DATE",
    "at": "TIMESTAMP",
    "cat": "VARCHAR",
    "flag": "BOOLEAN",
    "note": "VARCHAR",
    "bare": "INTEGER",
    "area": "VARCHAR",
}
_ODD: dict[str, tuple[object, ...]] = {
    "small": (2**31 - 1, -(2**31), 0, -1, 11, None),
    "big": (2**63 - 1, -(2**63), 0, 10**10, None),
    "tiny": (2**15 - 1, -(2**15), 200, None),
    "ratio": (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, -1e308, 1e17, 0.1, None),
    "money": (Decimal("9999999.99"), Decimal("-9999999.99"), Decimal("0.01"), None),
    "day": ("infinity", "-infinity", date(9999, 12, 31), date(1, 1, 1), None),
    "at": ("infinity", "-infinity", datetime(9999, 12, 31, 23, 59, 59), None),
    "cat": ("zz", "", "A", "é", None),
    "flag": (None, False),
    "note": ("", "n0", "N0", "x" * 300, "12", "2020-01-01", "%", None),
    "bare": (2**31 - 1, -(2**31), 0, None),
    "area": ("nowhere", "", None),
}


_OTHER_TYPES = {
    "big": ("HUGEINT",),
    "ratio": ("FLOAT",),
    "money": ("DECIMAL(38,2)", "DECIMAL(18,4)"),
    "at": ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS"),
}
"""What else may hold such values, in wild worlds."""
_ODD_OF_TYPES: dict[str, tuple[object, ...]] = {
    "HUGEINT": (2**127 - 1, -(2**127), 2**64, 0, None),
    "FLOAT": (math.nan, math.inf, -math.inf, -0.0, 1e-45, 3e38, -3e38, 0.1, None),
    "DECIMAL(38,2)": (Decimal("9" * 36 + ".99"), Decimal("-" + "9" * 36 + ".99"), Decimal("0.01"), None),
    "DECIMAL(18,4)": (Decimal("9" * 14 + ".9999"), Decimal("-" + "9" * 14 + ".9999"), Decimal("0.0001"), None),
}


def _odd(column: Column) -> tuple[object, ...]:
    return _ODD_OF_TYPES.get(column.type, _ODD[column.kind])


def column(random: Random, kind: str, *, not_null: bool, tame: bool) -> Column:
    lists = [values for values in _LISTS.get(kind, ()) if not (not_null and None in values)]
    listed = random.choice(lists) if lists else None
    spans = _SPANS.get(kind, ())
    # The last ones have no lattice on which sums are exact.
    exact = spans[: -2 if kind == "ratio" else -1] if tame and kind in ("big", "ratio") else spans
    span = random.choice(exact) if exact else None
    source = "region.name" if kind == "area" else None
    others = _OTHER_TYPES.get(kind, ())
    type_ = random.choice(others) if others and not tame and random.random() < 0.3 else TYPES[kind]
    most = random.choice([1, 2, 3]) if not tame and random.random() < 0.25 else None
    return Column(kind, kind, type_, listed, span, source, not_null, most)


def draw(random: Random, column: Column, areas: Sequence[object], *, tame: bool) -> object:
    """A value of a column: one that was declared, one at an end of the range, or one that nobody expected."""
    if not tame and not column.not_null and random.random() < 0.25:
        return random.choice(_odd(column))
    if not tame and random.random() < 0.1:
        return random.choice([value for value in _odd(column) if value is not None])
    if column.kind == "area":
        return random.choice(areas) if areas else (None if not column.not_null else "nowhere")
    if column.kind in ("note", "bare"):
        return f"n{random.randrange(4)}" if column.kind == "note" else random.randrange(5)
    if tame and column.listed is None and not column.not_null and random.random() < 0.08:
        return None
    return (_listed if column.listed is not None else _in_span)(random, column, tame)
