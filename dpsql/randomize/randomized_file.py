"""A file of people's answers to a file of reports: every column stays as it was but one, which is randomized.

Guarantee: a true value is read, drawn over and forgotten. None is printed, logged or written anywhere, in errors
either; the new file is made whole or not at all, and never over another one.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpsql.errors import DataError
from dpsql.randomize.reports import Coins, reports
from rewriter.declared import MOST_EPSILON, Randomization, Rappor, Response, Scalar

PARQUET = frozenset({".parquet", ".pq"})


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
        """How the policy declares the column."""
        if self.rappor is None:
            how = f"response: {_decimal(self.response or Fraction(0))}"
        else:
            one = self.rappor
            how = (
                f"rappor: {{bits: {one.bits}, hashes: {one.hashes}, f: {_decimal(one.f)}, p: {_decimal(one.p)},"
                f" q: {_decimal(one.q)}, cohorts: {one.cohorts}}}"
            )
        return f"{self.column}: {{values: [{', '.join(self.values)}], randomized: {{{how}}}}}"


@dataclass(frozen=True, slots=True)
class Randomized:
    """What was made: how many rows, how many of them without a report, and by which law."""

    rows: int
    missing: int
    law: Randomization


def randomize_file(source: Path, target: Path, asked: ColumnToRandomize, draws: Coins) -> Randomized:
    """Write ``target``, a CSV or Parquet file like ``source`` with reports in one column. Raises :class:`DataError`."""
    if target.exists():
        raise DataError(f"{target} is there already", sqlstate="58P02", hint="name a file that is not there")
    kinds = [path.suffix.lower() in PARQUET for path in (source, target)]
    if kinds[0] is not kinds[1]:
        raise DataError("the file and its copy are both CSV or both Parquet", sqlstate="22023")
    try:
        return (_parquet if kinds[0] else _csv)(source, target, asked, draws)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def law_of(asked: ColumnToRandomize, typed: Callable[[str], Scalar]) -> Randomization:
    """The law over the values, as a column has them."""
    if len(asked.values) < 2 or len(set(asked.values)) < len(asked.values):
        raise DataError("two values or more are randomized, each named once", sqlstate="22023")
    if asked.rappor is not None:
        return asked.rappor
    return Response(tuple(typed(value) for value in asked.values), asked.response or Fraction(0))


def _csv(source: Path, target: Path, asked: ColumnToRandomize, draws: Coins) -> Randomized:
    law = law_of(asked, str)
    with source.open(newline="", encoding="utf-8") as read, target.open("x", newline="", encoding="utf-8") as written:
        rows = csv.reader(read)
        header = next(rows, [])
        place = _place(header, asked)
        copy = csv.writer(written, lineterminator="\n")
        copy.writerow(header)
        count = missing = 0
        for row in rows:
            if len(row) != len(header):
                raise DataError(f"row {count + 1} has not as many fields as the header", sqlstate="22023")
            value = _declared(row[place] or None, law, asked)
            report = next(reports(law, [value], draws))
            row[place] = "" if report is None else str(report)
            copy.writerow(row)
            count, missing = count + 1, missing + (report is None)
    return Randomized(count, missing, law)


def _parquet(source: Path, target: Path, asked: ColumnToRandomize, draws: Coins) -> Randomized:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(source)
    schema = file.schema_arrow
    place = _place(schema.names, asked)
    kind = schema.types[place]
    law = law_of(asked, _typed(kind, pa))
    texts = isinstance(law, Rappor)
    schema = schema.set(place, pa.field(asked.column, pa.string() if texts else kind)).remove_metadata()
    count = missing = 0
    with pq.ParquetWriter(target, schema) as writer:
        for batch in file.iter_batches():
            values = [_declared(one, law, asked) for one in batch.column(place).to_pylist()]
            found = list(reports(law, values, draws))
            columns: list[Any] = batch.columns
            columns[place] = pa.array(found, type=schema.types[place])
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            count, missing = count + len(found), missing + sum(one is None for one in found)
    return Randomized(count, missing, law)


def _typed(kind: Any, pa: Any) -> Callable[[str], Scalar]:
    if pa.types.is_boolean(kind):
        return lambda text: {"true": True, "false": False}[text.lower()]
    return int if pa.types.is_integer(kind) else str


def _place(names: Sequence[str], asked: ColumnToRandomize) -> int:
    if list(names).count(asked.column) != 1:
        raise DataError(f"there is no column {asked.column}", sqlstate="42703", hint=f"there are {', '.join(names)}")
    return list(names).index(asked.column)


def _declared(value: Scalar | None, law: Randomization, asked: ColumnToRandomize) -> Scalar | None:
    if value is None or value in law.values:
        return value
    if asked.other is None:
        raise DataError(
            f"{asked.column} holds a value that is not among those named",
            sqlstate="22023",
            hint="name every value there may be, or --other V, the one that all others count as",
        )
    return next(own for own, text in zip(law.values, asked.values, strict=True) if text == asked.other)


def _decimal(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.12g}"


def epsilon_of(text: str) -> Fraction:
    """The ε of randomized response as a command line has it, exactly.

    >>> epsilon_of("1.1")
    Fraction(11, 10)
    """
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if not 0 < number <= MOST_EPSILON:
        raise DataError(f"{text!r} is no ε above 0, up to {MOST_EPSILON}", sqlstate="22023", hint="--response 1.1")
    return number


def parameters(text: str) -> Iterator[tuple[str, Fraction]]:
    """The parameters of RAPPOR as a command line has them.

    >>> dict(parameters("bits=64,f=0.5"))
    {'bits': Fraction(64, 1), 'f': Fraction(1, 2)}
    """
    for one in text.split(","):
        name, _, value = one.partition("=")
        try:
            yield name.strip(), Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise DataError(f"{one!r} is no parameter", sqlstate="22023", hint="bits=64,hashes=2,f=0.5") from None


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
    whole = [int(found[name]) for name in ("bits", "hashes", "cohorts")]
    if any(found[name].denominator != 1 or found[name] < 1 for name in ("bits", "hashes", "cohorts")):
        raise DataError("bits, hashes and cohorts are whole numbers above 0", sqlstate="22023")
    try:
        law = Rappor(values, whole[0], whole[1], found["f"], found["p"], found["q"], whole[2])
        law.estimator([Fraction(1)] * len(values))
    except ValueError as problem:
        raise DataError(str(problem), sqlstate="22023") from None
    return law
