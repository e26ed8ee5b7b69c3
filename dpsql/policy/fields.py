"""How the values of a policy file are read: each function takes what was written and gives an exact, valid value.

Guarantee: a returned value is valid. An invalid one raises :func:`wrong`, with a message that says how to correct it.
No message repeats a password or a whole file.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from dpsql.calendar_unit import UNITS
from dpsql.engines import ENGINES, SQLITE, Address, kind_of
from dpsql.errors import OperationalError
from dpsql.policy.secrets import without_secret
from dpsql.policy.yaml_text import Written, date, number, timestamp
from dpsql.refresh import LENGTHS, Refresh
from rewriter.declared import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    SPANS,
    TEXT,
    TIMESTAMP,
    Hop,
    Scalar,
    Type,
    When,
    decimal,
    zone_of,
)


def wrong(message: str) -> PydanticCustomError:
    """The error that pydantic collects. The message goes in as data: its braces are no template."""
    return PydanticCustomError("policy", "{message}", {"message": message})


def single(value: object) -> Written:
    """One value as it was written; an error for a list, a mapping or nothing at all."""
    if isinstance(value, Written):
        return value
    if isinstance(value, str | int | Fraction | Decimal) and not isinstance(value, bool):
        return Written(str(value))
    kind = {dict: "a mapping", list: "a list", type(None): "empty"}.get(type(value), "something else")
    raise wrong(f"one value is expected here, this is {kind}")


def exact(value: object) -> Fraction:
    """A decimal number, exactly.

    >>> exact("0.1"), exact("1e-6")
    (Fraction(1, 10), Fraction(1, 1000000))
    """
    if isinstance(value, Fraction):
        return value
    try:
        return Fraction(number(single(value)))
    except ValueError as error:
        if isinstance(error, PydanticCustomError):
            raise
        raise wrong(f"{error}: write a decimal number such as 0.5 or 1e-6") from None


def epsilon(value: object) -> Fraction:
    number = exact(value)
    if number <= 0:
        raise wrong(f"{show(number)} is not above 0: epsilon is a positive number such as 1")
    if number > 1_000_000:
        raise wrong(f"{show(number)} protects nobody: choose an epsilon of about 1 to 10")
    return number


def delta(value: object) -> Fraction:
    number = exact(value)
    if not 0 <= number < 1:
        raise wrong(f"{show(number)} is not a probability: choose one far below 1 / number of people, such as 1e-6")
    return number


def positive(value: object) -> Fraction:
    number = exact(value)
    if number <= 0:
        raise wrong(f"{show(number)} is not above 0")
    return number


def part(value: object) -> Fraction:
    number = exact(value)
    if not 0 < number < 1:
        raise wrong(f"{show(number)} is not a part of a price: choose one between 0 and 1, such as 0.2")
    return number


def show(number: Fraction) -> str:
    """An exact number, short; for people.

    >>> show(Fraction(1, 1000000)), show(Fraction(5, 2)), show(Fraction(10))
    ('1e-06', '2.5', '10')
    """
    try:
        return f"{float(number):g}"
    except OverflowError:
        return "a number beyond 1e308"


def count(value: object) -> int:
    text = single(value)
    if not re.fullmatch(r"[0-9][0-9_]{0,17}", text) or int(text.replace("_", "")) < 1:
        raise wrong(f"{text[:40]!r} is not a whole number of at least 1")
    return int(text.replace("_", ""))


@dataclass(frozen=True, slots=True)
class MostRows:
    """A bound on a person's rows: of all of them, or of those in each span of time."""

    rows: int
    per: str | None = None
    more: tuple[tuple[int, str], ...] = ()

    def __str__(self) -> str:
        others = "".join(f", {rows} per {per}" for rows, per in self.more)
        return str(self.rows) if self.per is None else f"{self.rows} per {self.per}{others}"


def most_rows(value: object) -> MostRows:
    """How many rows of a person count in full.

    >>> print(most_rows("40"), most_rows("10 per month"), most_rows("6 per month, 2 per day"))
    40 10 per month 6 per month, 2 per day
    """
    if isinstance(value, MostRows):
        return value
    first, *others = single(value).split(",")
    rows, per = _rows_in(first)
    more = [_rows_in(other) for other in others]
    spans = [per, *(span for _, span in more)]
    if more and (None in spans or len({*spans}) < len(spans)):
        raise wrong("several bounds are each of another span: write 6 per month, 2 per day")
    return MostRows(rows, per, tuple((number, span) for number, span in more if span))


def _rows_in(text: str) -> tuple[int, str | None]:
    number, word, span = (part.strip() for part in text.partition(" per "))
    if word and span not in SPANS:
        raise wrong(f"{span[:40]!r} is not a span of time: write 10 per month, or per {', '.join(SPANS)}")
    return count(Written(number)), span or None


def seconds(value: object) -> float:
    number = exact(value)
    if not 0 < number <= 86_400:
        raise wrong(f"{show(number)} is not a number of seconds, above 0 and at most a day")
    return float(number)


WINDOWS = tuple(unit for unit in UNITS if unit != "hour")
_LENGTHS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}


def tick(value: object) -> datetime.timedelta:
    """A length of time that whole days are made of, or a whole number of days, such as 1 minute or 6 hours."""
    text = single(value)
    found = re.fullmatch(r"([0-9]{1,6})\s*(second|minute|hour|day)s?", text.strip(), re.IGNORECASE)
    seconds = 0 if found is None else int(found[1]) * _LENGTHS[found[2].lower()]
    if not seconds or (86_400 % seconds and seconds % 86_400):
        raise wrong(f"{text[:40]!r} is not a length of time that divides a day, such as 1 minute, 6 hours or 1 day")
    return datetime.timedelta(seconds=seconds)


def refresh(value: object) -> Refresh | None:
    """How long a release stands: a number of minutes, hours, days or weeks, and when they begin; None is for ever.

    >>> print(refresh("1 day at 02:00"), refresh("30 minutes"), refresh("never"))
    1 day at 02:00 30 minutes None
    """
    text = single(value).strip().lower()
    if text == "never":
        return None
    if (found := Refresh.parsed(text)) is None:
        raise wrong(f"{text[:40]!r} is no way to refresh: write one such as 1 hour, 1 day at 02:00, 1 week or never")
    return found


def length(value: object) -> datetime.timedelta:
    """A length of time; a month has 30 days, and a year 365.

    >>> length("2 days"), length("1 year").days
    (datetime.timedelta(days=2), 365)
    """
    text = single(value).strip().lower()
    units = {**LENGTHS, "month": 30 * LENGTHS["day"], "year": 365 * LENGTHS["day"]}
    found = re.fullmatch(r"([0-9]{1,5})\s*(minute|hour|day|week|month|year)s?", text)
    if found is None:
        raise wrong(f"{text[:40]!r} is no length of time: write one such as 6 hours, 2 days or 1 year")
    return datetime.timedelta(seconds=int(found[1]) * units[found[2]])


def horizon(value: object) -> datetime.timedelta:
    found = length(value)
    if found < datetime.timedelta(days=1):
        raise wrong("a horizon is at least 1 day: it is how long dashboards are going to be looked at")
    return found


def per(value: object) -> str:
    """The length of a budget's windows."""
    word = str(single(value))
    if word not in WINDOWS:
        raise wrong(f"{word[:40]!r} is not one of {', '.join(WINDOWS)}: leave it out for a budget of all time")
    return word


def rows_unit(value: object) -> str:
    """Whose rows a budget protects together: those of one person in one period."""
    word = str(single(value))
    if word not in (units := [f"person-{one}" for one in WINDOWS]):
        raise wrong(f"{word[:40]!r} is not one of {', '.join(units)}: leave it out for all rows of a person")
    return word


def zone(value: object) -> str:
    text = single(value)
    found = zone_of(text)
    if found is None:
        raise wrong(f"{text[:40]!r} is no time zone: write one such as UTC or Europe/Berlin")
    return found


def mebibytes(value: object) -> int:
    """A size of memory, such as 512MB or 4GB, as a number of MiB."""
    text = single(value)
    found = re.fullmatch(r"([0-9]{1,9})\s*([MG])i?B", text, re.IGNORECASE)
    size = 0 if found is None else int(found[1]) * (1024 if found[2] in "gG" else 1)
    if size < 16:
        raise wrong(f"{text[:40]!r} is not a size of at least 16MB, such as 512MB or 4GB")
    return size


def flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = single(value).lower()
    if word not in ("true", "false"):
        raise wrong(f"{word[:40]!r} is neither true nor false")
    return word == "true"


def choice(options: Collection[str]) -> Callable[[object], str]:
    """A reader of one word of ``options``: of a registry, those that are registered when it reads."""

    def choose(value: object) -> str:
        word = str(single(value))
        if word not in options:
            raise wrong(f"{word[:40]!r} is not one of {', '.join(options)}")
        return word

    return choose


def min_max(value: object) -> str:
    """Where MIN and MAX come from. ``refused`` is the old name of ``picked``, and says what they are not.

    >>> min_max("picked"), min_max("refused")
    ('picked', 'picked')
    """
    word = single(value)
    return "picked" if word == "refused" else choice(("picked", "declared"))(word)


def text(value: object) -> str:
    found = str(single(value))
    if not found.strip() or "\0" in found:
        raise wrong("an empty text")
    return found


_SCRAM = re.compile(r"SCRAM-SHA-256\$[1-9][0-9]{0,8}:[A-Za-z0-9+/]+=*\$[A-Za-z0-9+/]{43}=:[A-Za-z0-9+/]{43}=")


def password(value: object) -> str:
    """A SCRAM-SHA-256 verifier as PostgreSQL writes them, or a plain password."""
    found = text(value)
    if found.startswith("SCRAM-SHA-256$") and not _SCRAM.fullmatch(found):
        raise wrong("a broken verifier: it has the form SCRAM-SHA-256$iterations:salt$storedkey:serverkey")
    return found


def ways(value: object) -> tuple[tuple[Hop, ...], ...]:
    """The declared ways to the unit: steps, ``column -> table.column`` or a list of them, or a list of such lists.

    >>> [[str(hop) for hop in way] for way in ways("patient_id -> patient.id")]
    [['patient_id -> patient.id']]
    >>> [[str(hop) for hop in way] for way in ways([["a -> b.c"], ["(item", "nr) -> sale(item", "nr)", "d -> e.f"]])]
    [['a -> b.c'], ['(item, nr) -> sale(item, nr)', 'd -> e.f']]
    >>> [str(hop) for hop in ways([["a -> b.c"], ["d -> e.f when kind = 'e'"]])[1]]
    ["d -> e.f when kind = 'e'"]
    """
    items = list(value) if isinstance(value, list | tuple) else [value]
    nested = [isinstance(item, list | tuple) for item in items]
    if any(nested) and not all(nested):
        raise wrong("steps and lists of steps are mixed: [a -> b.c, …] is one way, [[…], […]] are several")
    found = [_steps(item) for item in items] if any(nested) else [_steps(items)]
    if len({(way[0].columns, way[0].when) for way in found}) < len(found):
        raise wrong("two ways begin with the same columns: say each once")
    later = [step for way in found for step in way[1:] if step.when is not None]
    if found[0][0].when is not None or later:
        raise wrong(
            f"'{(later or found[0])[0]}' holds on some rows only: it is a way of its own behind one of all rows, as in "
            "[[person -> people.id], [thing -> orders.id when kind = 'order']]"
        )
    return tuple(found)


def _steps(items: object) -> tuple[Hop, ...]:
    """The steps of one way. A list of YAML ends at each comma, also at those between parentheses."""
    written: list[object] = []
    for item in items if isinstance(items, list | tuple) else [items]:
        last = written[-1] if written else ""
        composite = isinstance(last, str) and last.lstrip().startswith("(")
        if isinstance(item, str) and isinstance(last, str) and composite and last.count("(") > last.count(")"):
            written[-1] = f"{last}, {item}"
        else:
            written.append(item)
    if not written:
        raise wrong("an empty list: write 'column -> table.column'")
    return tuple(_hop(item) for item in written)


def _hop(value: object) -> Hop:
    if isinstance(value, Hop):
        return value
    written, when = single(value), None
    if (condition := _WHEN.fullmatch(written)) is not None:
        when = When(condition["column"].strip('"'), _literal(condition["value"]))
    step = written if condition is None else condition["step"]
    column, arrow, target = (part.strip() for part in step.partition("->"))
    if column.startswith("(") and ("," in column or column.endswith(")")):
        if when is not None:
            raise wrong(f"{written[:80]!r} has several columns, and a condition: a way of some rows has one column")
        return _composite(written, column, target)
    table, dot, parent_column = (part.strip() for part in target.rpartition("."))
    if not (column and arrow and table and dot and parent_column):
        raise wrong(f"{written[:80]!r} is not a step: write 'column -> table.column'")
    return Hop(column, table, parent_column, when=when)


_WHEN = re.compile(r"(?P<step>.*?->.*?)\s+when\s+(?P<column>\S+?)\s*=\s*(?P<value>.*)", re.IGNORECASE | re.DOTALL)


def _literal(written: str) -> str | int:
    """The value of a condition: a text in quotes, or a whole number."""
    if re.fullmatch(r"-?\d{1,18}", written):
        return int(written)
    if re.fullmatch(r"'([^']|'')*'", written):
        return written[1:-1].replace("''", "'")
    raise wrong(f"{written[:80]!r} is no value of a condition: write when kind = 'order', or when kind = 7")


def _composite(written: str, ours: str, target: str) -> Hop:
    """``(item, ticket) -> sale(item, ticket)``."""
    table, _, theirs = target.partition("(")
    pairs = [
        [part.strip() for part in listed.strip().removeprefix("(").removesuffix(")").split(",")]
        for listed in (ours, theirs)
    ]
    closed = ours.endswith(")") and theirs.endswith(")") and table.strip()
    if not closed or not all(map(all, pairs)) or len(pairs[0]) != len(pairs[1]) or len(pairs[0]) < 2:
        raise wrong(f"{written[:80]!r} is not a step: write '(a, b) -> table(a, b)', or 'column -> table.column'")
    (column, parent_column), *also = zip(*pairs, strict=True)
    return Hop(column, table.strip(), parent_column, also=tuple(also))


def keys(value: object) -> tuple[tuple[str, ...], ...]:
    """The columns of one key, ``[order_id, line]``, or a list of several keys, ``[[id], [order_id, line]]``.

    >>> keys(["order_id", "line"]), keys([["id"], ["order_id", "line"]])
    ((('order_id', 'line'),), (('id',), ('order_id', 'line')))
    """
    items = value if isinstance(value, list | tuple) else [value]
    if not items:
        raise wrong("an empty list: name the columns of which no two rows share all values, such as [order_id]")
    nested = [isinstance(item, list | tuple) for item in items]
    if any(nested) and not all(nested):
        raise wrong("columns and lists of columns are mixed: [a, b] is one key, [[a], [b]] are two")
    return tuple(map(_key, items)) if nested[0] else (_key(items),)


def _key(items: Sequence[object]) -> tuple[str, ...]:
    columns = tuple(text(item) for item in items)
    if not columns or len({column.lower() for column in columns}) < len(columns):
        raise wrong("a key is a list of columns, each once")
    return columns


def files(value: object, info: ValidationInfo) -> tuple[str, ...]:
    """The files of a table, one or several, as absolute paths; ``*`` stands for some of a name, ``**`` for folders."""
    items = [text(item) for item in (value if isinstance(value, list | tuple) else [value])]
    if not items:
        raise wrong("an empty list: name files, such as visits/*.parquet")
    folder = (info.context or {}).get("folder") or Path()
    for item in items:
        if "://" in item:
            raise wrong(f"{item[:80]!r} is not on this machine: mount it or copy it, or read it with Spark")
    paths = tuple(os.path.abspath(folder / Path(item).expanduser()) for item in items)
    for item, path in zip(items, paths, strict=True):
        if kind_of(path) is None:
            ends = "write a name that ends in .parquet, .csv or .tsv, or the folder of a Delta or Iceberg table"
            raise wrong(f"{item[:80]!r} is neither Parquet nor CSV: {ends}")
    return paths


def parquet_file(value: object, info: ValidationInfo) -> Path:
    """A Parquet file, by its path from the policy's folder. There may be none yet."""
    path = Path(os.path.abspath(((info.context or {}).get("folder") or Path()) / Path(text(value)).expanduser()))
    if path.suffix != ".parquet":
        raise wrong(f"{path.name!r} is no Parquet file: write a name that ends in .parquet")
    return path


@dataclass(frozen=True, slots=True)
class StatementsFile:
    """A file of SQL statements, as it was when the policy was read."""

    path: Path
    text: str


def statements(value: object, info: ValidationInfo) -> StatementsFile:
    """The file of statements, by its path from the policy's folder."""
    path = Path(os.path.abspath(((info.context or {}).get("folder") or Path()) / Path(text(value)).expanduser()))
    try:
        return StatementsFile(path, path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise wrong(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'not a UTF-8 text'}") from None


def names(value: object) -> tuple[str, ...]:
    """Names, one or several."""
    return tuple(text(item) for item in (value if isinstance(value, list | tuple) else [value]))


def null_texts(value: object) -> tuple[str, ...]:
    """Texts of fields, one or several, the empty one too.

    >>> null_texts(["NA", ""])
    ('NA', '')
    """
    found = tuple(str(single(item)) for item in (value if isinstance(value, list | tuple) else [value]))
    if not found or any("\0" in one for one in found):
        raise wrong("no text: write [NA, '']")
    return found


_TYPES = {str(one): one for one in (BOOLEAN, INTEGER, BIGINT, DOUBLE, TEXT, DATE, TIMESTAMP)}
_DECIMAL = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)")


def column_type(value: object) -> Type:
    """A type by its name.

    >>> str(column_type("Decimal(12, 2)"))
    'decimal(12,2)'
    """
    if isinstance(value, Type):
        return value
    word = re.sub(r"\s", "", text(value)).lower()
    digits = _DECIMAL.fullmatch(word)
    try:
        return _TYPES[word] if digits is None else decimal(int(digits[1]), int(digits[2]))
    except (KeyError, ValueError):
        known = ", ".join((*_TYPES, "decimal(12, 2)"))
        raise wrong(f"{word[:40]!r} is not one of {known}") from None


def probability(value: object) -> Fraction:
    """A number from 0 to 1, exactly as written.

    >>> probability("0.25"), probability("1/3")
    (Fraction(1, 4), Fraction(1, 3))
    """
    try:
        number = Fraction(single(value))
    except (ValueError, ZeroDivisionError):
        raise wrong("a probability is expected here, such as 0.25") from None
    if not 0 <= number <= 1:
        raise wrong("a probability is from 0 to 1")
    return number


def domain(value: object) -> tuple[Written | None, ...]:
    """A list of single values as written; None is NULL."""
    if not isinstance(value, list | tuple):
        raise wrong("a list is expected here, such as [F, M]")
    if not value:
        raise wrong("an empty list has no value to answer about: list the values, or leave the key out")
    if nested := [index for index, item in enumerate(value) if isinstance(item, dict | list)]:
        raise wrong(f"item {nested[0]} is not a single value")
    return tuple(None if item is None else single(item) for item in value)


_FOLLOWS = re.compile(r"now(?:\s*([+-])\s*([0-9]{1,5})\s*(minute|hour|day|week)s?)?", re.IGNORECASE)


def ahead(written: str) -> Fraction | None:
    """How many days after the present a range ends that follows the clock; None of any other end.

    >>> ahead("now"), ahead("now + 30 days"), ahead("now - 6 hours"), ahead("2026-01-01")
    (Fraction(0, 1), Fraction(30, 1), Fraction(-1, 4), None)
    """
    found = _FOLLOWS.fullmatch(written.strip())
    if found is None:
        return None
    days = Fraction(0) if found[2] is None else Fraction(int(found[2]) * LENGTHS[found[3].lower()], LENGTHS["day"])
    return -days if found[1] == "-" else days


def ends(value: object) -> tuple[Written, Written]:
    """A lowest and a highest value as written: two numbers or two dates, in order. The highest may follow the clock.

    >>> ends([Written("2024-01-01"), Written("now + 30 days")])
    ('2024-01-01', 'now + 30 days')
    """
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise wrong("two values are expected here: [lowest, highest]")
    low, high = (single(item) for item in value)
    if ahead(low) is not None:
        raise wrong("the low end does not follow the clock: write a date, such as [2024-01-01, now]")
    one = _end(low)
    if ahead(high) is not None:
        if not isinstance(one, datetime.datetime):
            raise wrong(f"{low} and {high} are not of one kind: give two numbers or two dates")
        return low, high
    other = _end(high)
    if isinstance(one, datetime.datetime) != isinstance(other, datetime.datetime):
        raise wrong(f"{low} and {high} are not of one kind: give two numbers or two dates")
    if one > other:  # type: ignore[operator]
        raise wrong(f"low {low} is above high {high}")
    return low, high


def _end(written: Written) -> int | Decimal | datetime.datetime:
    """A number, or the moment that a date begins with."""
    for reader in (number, date, timestamp):
        try:
            found: Scalar = reader(written)
        except ValueError as error:
            if "digits" in str(error) or "calendar" in str(error):
                raise wrong(str(error)) from None
            continue
        if isinstance(found, datetime.date) and not isinstance(found, datetime.datetime):
            return datetime.datetime.combine(found, datetime.time())
        return found  # type: ignore[return-value]
    raise wrong(f"{written[:40]!r} is neither a number nor a date YYYY-MM-DD, nor now + 30 days")


def reference(value: object) -> tuple[str, str]:
    """A column, ``table.column``."""
    if isinstance(value, tuple):
        return value
    written = text(value)
    table, dot, column = (part.strip() for part in written.rpartition("."))
    if not (table and dot and column):
        raise wrong(f"{written[:80]!r} is not a column: write table.column")
    return table, column


def references(value: object) -> tuple[tuple[str, str], ...]:
    """Columns of tables, each once.

    >>> references(["visit.cost"])
    (('visit', 'cost'),)
    """
    items = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(reference(item) for item in items))


def unit(value: object) -> tuple[str, str] | None:
    """The privacy unit: the key column of the people, or None for ``row``."""
    if isinstance(value, str) and value.strip() == "row":
        return None
    try:
        return reference(value)
    except PydanticCustomError:
        raise wrong("names no unit: write table.column of the people's key, or row") from None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a database or a ledger is; the path of a file is absolute.

    >>> Place.of("duckdb:clinic.duckdb", Path("/srv")).target
    '/srv/clinic.duckdb'
    """

    address: Address
    target: str = field(repr=False)

    @classmethod
    def of(cls, written: str, folder: Path) -> Place:
        """Read ``written``; a relative path starts at ``folder``. Raises ValueError."""
        scheme, _, target = (part.strip() for part in written.partition(":"))
        address = ENGINES.address_of(scheme) or (SQLITE if scheme == SQLITE.scheme else None)
        if address is not None and not address.follows and written.strip() == scheme:
            return cls(address, "")
        if address is not None and address.is_server and target.startswith(address.follows):
            return cls(address, f"{address.scheme}:{target}")
        if address is not None and address.is_file and target and not target.startswith((":memory:", "//")):
            return cls(address, os.path.abspath(folder / Path(target).expanduser()))
        raise ValueError("not understood")

    @property
    def kind(self) -> str:
        return self.address.scheme

    @property
    def path(self) -> str:
        """The path of a file; for a server there is none, and its address is given."""
        return self.target

    @property
    def holds_password(self) -> bool:
        return self.address.is_server and without_secret(self.target) != self.target

    def __str__(self) -> str:
        if not self.address.follows:
            return self.kind
        return f"{self.kind}:{self.target}" if self.address.is_file else self.target


def place(*of: Address) -> Callable[[object, ValidationInfo], Place]:
    """A reader of a :class:`Place` of one kind of several, and of any engine's where none is named; the folder of
    relative paths is in pydantic's context."""

    def locate(value: object, info: ValidationInfo) -> Place:
        if isinstance(value, Place):
            return value
        written = text(value)
        try:
            found = Place.of(written, (info.context or {}).get("folder") or Path())
        except ValueError:
            raise wrong(f"not understood: write one of {', '.join(map(str, of or ENGINES.addresses))}") from None
        except OperationalError as broken:
            raise wrong(f"{broken.message}; {broken.hint}") from None
        if found.address not in (addresses := of or ENGINES.addresses):
            raise wrong(f"{found.kind} cannot serve here: write one of {', '.join(map(str, addresses))}")
        return found

    return locate
