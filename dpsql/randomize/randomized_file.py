"""A file of people's answers to a file of reports: every column stays as it was but one, which is randomized.

Guarantee: a true value is read, drawn over and forgotten. None is printed, logged or written anywhere, in errors
either: these tell the number of a row at most, and no column of a CSV file, whose first line may be somebody's answers.
The new file is made whole or not at all, and never over another one. It is read and written in batches, so that memory
does not grow with it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from dpsql.errors import DataError
from dpsql.randomize.reports import Coins, reports
from rewriter.declared import (
    LEAST_EPSILON,
    MOST_BITS,
    MOST_COHORTS,
    MOST_EPSILON,
    MOST_HASHES,
    MOST_REPORTED,
    Randomization,
    Rappor,
    Response,
    Scalar,
)

PARQUET = frozenset({".parquet", ".pq"})
TABS = frozenset({".tsv", ".tab"})

_LONGEST = 1 << 26
"""The longest field of a CSV file, in characters."""

_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class ColumnToRandomize:
    """What to randomize: a column with its true ``values``, by randomized response at ε or by RAPPOR. Another value
    counts as ``other`` before anything is drawn, where one is given."""

    column: str
    values: tuple[str, ...]
    response: Fraction | None = None
    rappor: Rappor | None = None
    other: str | None = None

    @property
    def policy_line(self) -> str:
        """How the policy declares the column.

        >>> print(ColumnToRandomize("smoker", ("yes", "no, or no longer"), Fraction("1.1")).policy_line)
        smoker: {values: ["yes", "no, or no longer"], randomized: {response: 1.1}}
        """
        if self.rappor is None:
            how = f"response: {_decimal(self.response or Fraction(0))}"
        else:
            one = self.rappor
            how = (
                f"rappor: {{bits: {one.bits}, hashes: {one.hashes}, f: {_decimal(one.f)}, p: {_decimal(one.p)},"
                f" q: {_decimal(one.q)}, cohorts: {one.cohorts}}}"
            )
        name = self.column if self.column.isidentifier() else _quoted(self.column)
        return f"{name}: {{values: [{', '.join(map(_quoted, self.values))}], randomized: {{{how}}}}}"


@dataclass(frozen=True, slots=True)
class Randomized:
    """What was made: how many rows, how many of them without a report, and by which law. ``earlier`` are the files that
    reports of the same answers were written to before."""

    rows: int
    missing: int
    law: Randomization
    earlier: tuple[str, ...] = ()


def randomize_file(source: Path, target: Path, asked: ColumnToRandomize, draws: Coins) -> Randomized:
    """Write ``target``, a CSV or Parquet file like ``source`` with reports in one column. Raises :class:`DataError`."""
    kinds = [path.suffix.lower() in PARQUET for path in (source, target)]
    if kinds[0] is not kinds[1]:
        raise DataError("the file and its copy are both CSV or both Parquet", sqlstate="22023")
    _refuse(target)
    # What is half made has another name, so that nobody takes it for the whole.
    partial = target.with_name(f"{target.name}.partial")
    _refuse(partial)
    try:
        made = (_parquet if kinds[0] else _csv)(source, partial, asked, draws)
        _refuse(target)
        earlier = earlier_reports(source, asked.column)
        _note(source, target, asked.column)
        partial.rename(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return replace(made, earlier=earlier)


def _notes(source: Path) -> Path:
    return source.with_name(f"{source.name}.randomized")


def earlier_reports(source: Path, column: str) -> tuple[str, ...]:
    """The files that reports of this column of a file were written to, as the note beside it says."""
    try:
        lines = [line.split("\t") for line in _notes(source).read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(line[1] for line in lines if len(line) == 2 and line[0] == _one_line(column))


def _note(source: Path, target: Path, column: str) -> None:
    """Say beside a file that a column of it was randomized, for whoever does it again. It holds no value of a row."""
    with suppress(OSError), _notes(source).open("a", encoding="utf-8") as notes:
        notes.write(f"{_one_line(column)}\t{_one_line(str(target))}\n")


def _one_line(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _refuse(target: Path) -> None:
    if target.exists():
        raise DataError(f"{target} is there already", sqlstate="58P02", hint="name a file that is not there")


def law_of(asked: ColumnToRandomize, typed: Callable[[str], Scalar]) -> Randomization:
    """The law over the values, as a column has them."""
    if len(asked.values) < 2 or len(set(asked.values)) < len(asked.values) or "" in asked.values:
        raise DataError("two values or more are randomized, each named once", sqlstate="22023")
    if len(asked.values) > MOST_REPORTED:
        hint = "let --other stand for the rare ones"
        raise DataError(f"at most {MOST_REPORTED} values are randomized", sqlstate="22023", hint=hint)
    if asked.rappor is not None:
        return asked.rappor
    return Response(tuple(typed(value) for value in asked.values), asked.response or Fraction(0))


def _csv(source: Path, target: Path, asked: ColumnToRandomize, draws: Coins) -> Randomized:
    law = law_of(asked, str)
    with _rows_of(source) as rows, target.open("x", newline="", encoding="utf-8") as written:
        header = next(rows, [])
        place = _place(header, asked, "the first line names the columns, with a comma between them (a tab in .tsv)")
        copy = csv.writer(written, lineterminator="\n", delimiter=_delimiter(source))
        copy.writerow(header)
        count = missing = 0
        whole = _whole(rows, len(header))
        while batch := list(islice(whole, _BATCH)):
            found = list(reports(law, [_declared(row[place] or None, law, asked) for row in batch], draws))
            for row, report in zip(batch, found, strict=True):
                row[place] = "" if report is None else str(report)
            copy.writerows(batch)
            count, missing = count + len(found), missing + sum(one is None for one in found)
    return Randomized(count, missing, law)


@contextmanager
def _rows_of(source: Path) -> Iterator[Iterator[list[str]]]:
    """The rows of a CSV file; a mark of the byte order is none of its first name."""
    least = csv.field_size_limit(_LONGEST)
    try:
        with source.open(newline="", encoding="utf-8-sig") as read:
            yield _readable(read, _delimiter(source))
    finally:
        csv.field_size_limit(least)


def _readable(read: TextIO, delimiter: str) -> Iterator[list[str]]:
    """Rows; what is none is an error that quotes nothing of it."""
    try:
        yield from csv.reader(read, delimiter=delimiter, strict=True)
    except UnicodeDecodeError:
        hint = "iconv -f LATIN1 -t UTF-8 makes it so"
        raise DataError("the file is not UTF-8 text", sqlstate="22021", hint=hint) from None
    except csv.Error:
        hint = 'a field with a quote, a comma or a line end in it stands in quotes: "a ""b"", c"'
        raise DataError("the file is not CSV", sqlstate="22023", hint=hint) from None


def _whole(rows: Iterator[list[str]], width: int) -> Iterator[list[str]]:
    """Rows of so many fields; empty lines are no rows, but where there is one column."""
    for number, row in enumerate(rows, start=2):
        if not row and width > 1:
            continue
        if len(row) != width and row:
            raise DataError(f"row {number} has not as many fields as the first line", sqlstate="22023")
        yield row or [""]


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() in TABS else ","


def _parquet(source: Path, target: Path, asked: ColumnToRandomize, draws: Coins) -> Randomized:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dpsql.releases import try_arrow

    try_arrow()
    try:
        file = pq.ParquetFile(source)
    except pa.ArrowInvalid:
        raise DataError("the file is not Parquet", sqlstate="22023") from None
    schema = file.schema_arrow
    place = _place(schema.names, asked, f"there are {', '.join(schema.names)}")
    kind = schema.types[place]
    own = kind.value_type if pa.types.is_dictionary(kind) else kind
    law = law_of(asked, _typed(own, pa))
    if isinstance(law, Rappor):
        kind = pa.string()
    schema = schema.set(place, pa.field(asked.column, kind)).remove_metadata()
    texts = isinstance(law, Rappor) and not _is_text(own, pa)
    count = missing = 0
    with pq.ParquetWriter(target, schema) as writer:
        for batch in file.iter_batches(_BATCH):
            values = batch.column(place).to_pylist()
            if texts:
                values = [None if one is None else str(one).lower() for one in values]
            found = list(reports(law, [_declared(one, law, asked) for one in values], draws))
            columns: list[Any] = batch.columns
            columns[place] = pa.array(found, type=kind)
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            count, missing = count + len(found), missing + sum(one is None for one in found)
    return Randomized(count, missing, law)


def _typed(kind: Any, pa: Any) -> Callable[[str], Scalar]:
    """Reads a value as a column of this type has it."""
    if pa.types.is_boolean(kind):
        readers: dict[str, Scalar] = {"true": True, "false": False}
        return lambda text: _named(readers, text)
    if pa.types.is_integer(kind):
        return _integer
    if not _is_text(kind, pa):
        hint = "make texts, whole numbers or booleans of it: CAST(x AS INTEGER)"
        raise DataError(f"a column of {kind} is not randomized", sqlstate="22023", hint=hint)
    return str


def _is_text(kind: Any, pa: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _named(readers: dict[str, Scalar], text: str) -> Scalar:
    if text.lower() not in readers:
        raise DataError("the column holds booleans", sqlstate="22023", hint="--values true,false")
    return readers[text.lower()]


def _integer(text: str) -> Scalar:
    try:
        return int(text)
    except ValueError:
        raise DataError("the column holds whole numbers", sqlstate="22023", hint="--values 1,2,3") from None


def _place(names: Sequence[str], asked: ColumnToRandomize, hint: str) -> int:
    count = list(names).count(asked.column)
    if count != 1:
        said = "there is no column" if not count else "there are several columns"
        raise DataError(f"{said} {asked.column}", sqlstate="42703", hint=hint)
    return list(names).index(asked.column)


def _declared(value: Scalar | None, law: Randomization, asked: ColumnToRandomize) -> Scalar | None:
    if value is None or value in law.values:
        return value
    if asked.other is None:
        raise DataError(
            f"{asked.column} holds a value that is not among those named",
            sqlstate="22023",
            hint="name every value there may be, letter by letter, or --other V, the one that all others count as (NULL"
            " or NA in a CSV file, too: nothing is an empty field)",
        )
    return next(own for own, text in zip(law.values, asked.values, strict=True) if text == asked.other)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _decimal(number: Fraction) -> str:
    """A decimal with all its digits.

    >>> _decimal(Fraction("1.10")), _decimal(Fraction(3))
    ('1.1', '3')
    """
    places = next(count for count in range(_DIGITS + 1) if (number * 10**count).denominator == 1)
    return f"{Decimal(int(number * 10**places)).scaleb(-places):f}"


_DIGITS = 12


def _number(text: str) -> Fraction | None:
    """A decimal of at most twelve digits behind the point, so that a policy can hold it."""
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
    return found if abs(found) < 10**6 and (found * 10**_DIGITS).denominator == 1 else None


def epsilon_of(text: str) -> Fraction:
    """The ε of randomized response as a command line has it, exactly.

    >>> epsilon_of("1.1")
    Fraction(11, 10)
    """
    number = _number(text)
    if number is None or not LEAST_EPSILON <= number <= MOST_EPSILON:
        said = f"{text!r} is no ε from {float(LEAST_EPSILON):g} to {MOST_EPSILON}, as a decimal"
        raise DataError(said, sqlstate="22023", hint="--response 1.1")
    return number


def values_of(text: str) -> tuple[str, ...]:
    """The values that a command line names, as one line of a CSV file.

    >>> values_of('yes, no, "yes, at times"')
    ('yes', 'no', 'yes, at times')
    """
    try:
        return tuple(one.strip() for one in next(csv.reader([text], skipinitialspace=True, strict=True), []))
    except csv.Error:
        hint = """a value with a comma or a quote in it stands in quotes: 'yes,"no, never"'"""
        raise DataError("--values is one line of CSV", sqlstate="22023", hint=hint) from None


def parameters(text: str) -> Iterator[tuple[str, Fraction]]:
    """The parameters of RAPPOR as a command line has them.

    >>> dict(parameters("bits=64,f=0.5"))
    {'bits': Fraction(64, 1), 'f': Fraction(1, 2)}
    """
    for one in text.split(","):
        name, _, value = one.partition("=")
        number = _number(value)
        if number is None:
            raise DataError(f"{one!r} is no parameter", sqlstate="22023", hint="bits=64,hashes=2,f=0.5")
        yield name.strip(), number


def rappor_of(values: tuple[str, ...], text: str) -> Rappor:
    """RAPPOR over a dictionary, by its parameters.

    >>> rappor_of(("a", "b"), "bits=32,cohorts=4").one
    Fraction(5, 8)
    """
    known = {
        "hashes": Fraction(2),
        "f": Fraction(1, 2),
        "p": Fraction(1, 4),
        "q": Fraction(3, 4),
        "cohorts": Fraction(8),
    }
    given = dict(parameters(text))
    if "bits" not in given or given.keys() - known.keys() - {"bits"}:
        raise DataError(f"RAPPOR has bits, {', '.join(known)}", sqlstate="22023", hint="--rappor bits=64,hashes=2")
    found = known | given
    most = {"bits": MOST_BITS, "hashes": MOST_HASHES, "cohorts": MOST_COHORTS}
    if wrong := [name for name, end in most.items() if found[name].denominator != 1 or not 1 <= found[name] <= end]:
        said = f"{wrong[0]} is a whole number from 1 to {most[wrong[0]]}"
        raise DataError(said, sqlstate="22023", hint="--rappor bits=64,hashes=2,cohorts=8")
    bits, hashes, cohorts = (int(found[name]) for name in most)
    try:
        law = Rappor(values, bits, hashes, found["f"], found["p"], found["q"], cohorts)
        law.estimator([Fraction(1)] * len(values))
    except ValueError as problem:
        raise DataError(str(problem), sqlstate="22023") from None
    if law.epsilon > MOST_EPSILON:
        hint = "with p above 0 and q below 1, or f above 0"
        raise DataError(f"such reports hide nothing: ε is {law.epsilon:g}", sqlstate="22023", hint=hint)
    return law
