"""PEP 249's cursor: one answer at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dpsql.errors import InterfaceError, NotSupportedError, ProgrammingError
from dpsql.interfaces.python.dbapi_types import Description, arrow_type, describe
from dpsql.interfaces.python.python_lists import ITEMS, Row, with_lists, with_python_values

if TYPE_CHECKING:
    # Extras: where one is not installed, its frames are Any to a type checker.
    import pandas as pd
    import polars

    from dpsql.accounting import PrivacyLoss
    from dpsql.reply import Answer, Budget, Explanation, Margin

Parameters = Sequence[object] | Mapping[str, object]
Frame = TypeVar("Frame")


class Asking(Protocol):
    """A connection, as its cursors know it."""

    def check_open(self) -> None: ...

    def answer(self, operation: str, parameters: Parameters | None = None) -> Answer: ...

    def explain(self, operation: str, parameters: Parameters | None = None) -> Explanation: ...


class Cursor:
    """One answer at a time, with what PEP 249 does not know: its price and its error bars.

    ``epsilon``, ``price``, ``margins``, ``notices`` and ``remaining`` belong to the last statement, and stay
    when its rows have been fetched. ``rownumber`` counts the rows handed out.
    """

    lastrowid: None = None

    def __init__(self, connection: Asking) -> None:
        self.connection = connection
        self.arraysize = 1
        self._answer: Answer | None = None
        self._fetched: Sequence[Row] | None = None
        self._closed = False
        self._next = 0

    def execute(self, operation: str, parameters: Parameters | None = None) -> Cursor:
        """Answer the statement and charge for it. Returns the cursor itself."""
        self._check_open()
        self._answer, self._fetched, self._next = None, None, 0
        self._answer = self.connection.answer(operation, parameters)
        return self

    def executemany(self, operation: str, parameters: Sequence[Parameters]) -> None:
        """Refused: it writes, which is not allowed, or all answers but the last would be paid for and thrown away."""
        self._check_open()
        hint = "call execute for each set of parameters, and fetch each answer"
        raise NotSupportedError("executemany is for writing, and dpsql only reads", sqlstate="0A000", hint=hint)

    def fetchone(self) -> Row | None:
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[Row]:
        stop = self._next + (self.arraysize if size is None else max(size, 0))
        taken = list(self._rows[self._next : stop])
        self._next += len(taken)
        return taken

    def fetchall(self) -> list[Row]:
        return self.fetchmany(len(self._result().rows))

    def arrow(self, *, margins: bool = False) -> Any:
        """The whole answer as a ``pyarrow.Table`` of its types, arrays as lists; no row is fetched by that.

        With ``margins``, the half-width of each number's 95 % interval is a column ``NAME_margin`` beside it: infinite
        where none is known, null of what is exact, and of an array a list.
        """
        import pyarrow

        columns = self._result().columns
        rows = with_lists(columns, self._result().rows)
        known = self._result().every_margin if margins else ()
        named: list[tuple[str, Any]] = []
        for at, column in enumerate(columns):
            values = [row[at] for row in rows]
            named.append((column.name, pyarrow.array(values, arrow_type(column.type))))
            widths = [list(width) if isinstance(width := row[at], tuple) else width for row in known]
            if any(width is not None for width in widths):
                kind = pyarrow.list_(pyarrow.float64()) if column.type.kind in ITEMS else pyarrow.float64()
                named.append((f"{column.name}_margin", pyarrow.array(widths, kind)))
        return pyarrow.Table.from_arrays([array for _, array in named], names=[name for name, _ in named])

    def df(self, *, margins: bool = False) -> pd.DataFrame:
        """The whole answer as a ``pandas.DataFrame``, with ``margins`` as :meth:`arrow` has them: NaN of what is
        exact. No row is fetched by that."""
        _needed("pandas", "df()")
        return _framed(lambda: _with_lists(self.arrow(margins=margins)), "pl()")

    def fetch_df_batches(self, size: int = 10_000, *, margins: bool = False) -> Iterator[pd.DataFrame]:
        """The whole answer as frames of pandas of at most ``size`` rows each, in order, as :meth:`df` has them: one at
        least, so that they can be put together. No row is fetched by that."""
        _needed("pandas", "fetch_df_batches()")
        if size < 1:
            raise ProgrammingError("a batch has one row at least", sqlstate="22023")
        table = self.arrow(margins=margins)
        parts = [table.slice(start, size) for start in range(0, max(table.num_rows, 1), size)]
        return (_framed(partial(_with_lists, part), "pl()") for part in parts)

    def pl(self, *, margins: bool = False) -> polars.DataFrame:
        """The whole answer as a ``polars.DataFrame``, with ``margins`` as :meth:`arrow` has them. No row is fetched by
        that."""
        library = _needed("polars", "pl()")
        frame: polars.DataFrame = _framed(lambda: library.from_arrow(self.arrow(margins=margins)), "df()")
        return frame

    def plot(self, axes: Any = None) -> Any:
        """A chart of the whole answer with its error bars: matplotlib's ``Axes``, on ``axes`` where they are given."""
        from dpsql.interfaces.python.plots import plotted

        return plotted(self._result(), axes)

    def _repr_html_(self) -> str:
        """What a notebook shows: the whole answer, its error bars and its price. No row is fetched by that."""
        from dpsql.display import answer_html

        return answer_html(self._last())

    def explain(self, operation: str, parameters: Parameters | None = None) -> Explanation:
        """The plan, the price and the expected error; free, reads no data."""
        self._check_open()
        return self.connection.explain(operation, parameters)

    def close(self) -> None:
        """Closing twice is allowed; anything else on a closed cursor is an InterfaceError."""
        self._answer, self._fetched, self._closed = None, None, True

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Does nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing, as PEP 249 allows."""

    @property
    def description(self) -> tuple[Description, ...] | None:
        """A 7-tuple per column, or None before a statement and after one without rows."""
        if self._answer is None or not self._answer.columns:
            return None
        return tuple(describe(column.name, column.type) for column in self._answer.columns)

    @property
    def rowcount(self) -> int:
        """The number of rows of the answer, -1 where there is none."""
        return -1 if self.description is None or self._answer is None else len(self._answer.rows)

    @property
    def rownumber(self) -> int | None:
        return None if self.description is None else self._next

    @property
    def epsilon(self) -> Fraction:
        """The ε that the last statement paid, 0 where it was free."""
        return self._last().epsilon

    @property
    def price(self) -> PrivacyLoss:
        """The exact charge of the last statement."""
        return self._last().price

    @property
    def margins(self) -> tuple[tuple[Margin, ...], ...]:
        """Per row and column of the whole answer, the half-width of the cell's 95 % interval: infinite where none is
        known of a measured number, None for all that is exact, and of an array one for each item."""
        return self._last().every_margin

    @property
    def notices(self) -> tuple[str, ...]:
        return self._last().notices

    @property
    def remaining(self) -> Budget:
        """The budget left after the last statement."""
        return self._last().remaining

    @property
    def _rows(self) -> Sequence[Row]:
        answer = self._result()
        if self._fetched is None:
            self._fetched = with_python_values(answer.columns, answer.rows)
        return self._fetched

    def _last(self) -> Answer:
        self._check_open()
        if self._answer is None:
            raise ProgrammingError("no statement has been answered", sqlstate="24000")
        return self._answer

    def _result(self) -> Answer:
        answer = self._last()
        if not answer.columns:
            raise ProgrammingError(f"{answer.tag} has no rows", sqlstate="24000")
        return answer

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed", sqlstate="24000")
        self.connection.check_open()

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def __enter__(self) -> Cursor:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _with_lists(table: Any) -> pd.DataFrame:
    """A table as a data frame, whose arrays are lists and no arrays of NumPy."""
    frame: pd.DataFrame = table.to_pandas()
    for at, column in enumerate(table.columns):
        if str(column.type).startswith("list"):
            frame.isetitem(at, frame.iloc[:, at].to_numpy(dtype=object))
            for row, items in enumerate(column.to_pylist()):
                frame.iat[row, at] = items
    return frame


def _framed(make: Callable[[], Frame], other: str) -> Frame:
    """A data frame, or an error that names another way to the same rows."""
    try:
        return make()
    except Exception as cause:
        raise NotSupportedError(
            f"there is no data frame of it: {type(cause).__name__}, {cause}",
            sqlstate="0A000",
            hint=f"fetchall(), arrow() or {other}: the answer is kept",
        ) from cause


def _needed(library: str, method: str) -> Any:
    """A library of data frames, before a row is fetched."""
    try:
        return import_module(library)
    except Exception as cause:  # One that was made for another NumPy raises anything.
        raise NotSupportedError(
            f"{method} needs {library}: {cause}",
            sqlstate="0A000",
            hint=f"pip install {library}, or fetchall() or arrow(): no row was fetched",
        ) from cause
