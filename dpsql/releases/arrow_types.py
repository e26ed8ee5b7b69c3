"""The rewriter's types as Arrow's, in which tables come to the sandbox."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from dpsql.errors import OperationalError
from rewriter.declared import LISTS, Kind, Type

_LOG = logging.getLogger("dpsql.arrow")


@dataclass(slots=True)
class _Process:
    frames: bool = True


_PROCESS = _Process()


def without_frames() -> None:
    """Say that this process is dpsql's own, and that nobody in it asks for a data frame: Arrow, when it is made ready,
    does not load pandas, which takes a third of a second and 45 MB."""
    _PROCESS.frames = False


class _NoPandas:
    """Finds nothing else, and says of pandas that it is not there."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"nobody asks for {name} here", name=name)


@contextmanager
def _pandas_or_not() -> Iterator[None]:
    if _PROCESS.frames or "pandas" in sys.modules:
        yield
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def try_arrow() -> None:
    """Make Arrow ready before anything is charged. Raises :class:`OperationalError` where it does not work.

    Arrow looks for pandas with the first array that it makes. A pandas that does not load (made for another NumPy, half
    removed) raises there, once: afterwards Arrow goes on without it. Nothing here needs pandas but an answer that is
    asked for as its data frame.
    """
    try:
        with _pandas_or_not():
            pa.array([0])
    except Exception as without:
        _LOG.warning("pandas does not load and is left out: %s", type(without).__name__)
    try:
        pa.array([0])
    except Exception as broken:
        problem = OperationalError(
            f"pyarrow does not work in this environment: {type(broken).__name__}",
            sqlstate="58000",
            hint="install pyarrow again, and pandas, or remove pandas",
        )
    else:
        return
    raise problem


def let_copy() -> None:
    """Keep DuckDB from warning that Arrow's columns of a cursor are copied: a copy is small beside a row each.

    Said before each reading, since a program of which every warning is an error would lose a paid answer by it. Filters
    are not put back, which threads could not do at once.
    """
    warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)


def arrow_type(type_: Type) -> pa.DataType:
    """Arrow's type that holds every value of ``type_``; a HUGEINT of more than 38 digits does not fit."""
    if type_.kind is Kind.INTEGER:
        return {16: pa.int16(), 32: pa.int32(), 64: pa.int64(), 128: pa.decimal128(38, 0)}[type_.bits]
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision, type_.scale)
    return _PLAIN[type_.kind]


_PLAIN = {
    Kind.NULL: pa.null(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DOUBLE: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIMESTAMPTZ: pa.timestamp("us", tz="UTC"),
    **dict.fromkeys((Kind.JSON, Kind.JSONB, *LISTS), pa.string()),
    # Of an answer: PostgreSQL's text of it, whose months and days are no lengths.
    Kind.INTERVAL: pa.string(),
    Kind.TIME: pa.time64("us"),
}
