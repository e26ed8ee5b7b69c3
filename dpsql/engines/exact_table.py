"""An engine's answer to a plan as an :class:`ExactTable`, checked: a wrong shape is an error, never a wrong number."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpsql.releases import (
    ColumnarRows,
    ExactTable,
    IntegerColumn,
    Key,
    Rank,
    RankColumns,
    ValueColumn,
    arrow_type,
    concatenated,
    fits,
    let_copy,
    wide_units_of,
)
from rewriter.declared import BIGINT, Kind, Scalar, Type
from rewriter.front_door import OneScan
from rewriter.plan import Plan

_DIGITS = Context(prec=80)
_MANY = 512
"""Values of a group whose ranks are kept as columns: of fewer, each is looked at."""


class CursorRows(Protocol):
    """A cursor that has run a query, as far as it is read here. Some have the rest of their rows as an Arrow table."""

    @property
    def description(self) -> Sequence[Sequence[object]] | None: ...

    def fetchall(self) -> list[tuple[object, ...]]: ...

    def fetchmany(self, size: int, /) -> list[tuple[object, ...]]: ...


class WrongShape(Exception):
    """The answer does not have the columns and integers of its plan: a bug of ours. Without text: rows are secret."""


_FEW = 2048
"""Rows that are read as Python's values: fewer of them are sooner so."""


def read_table(execute: Callable[[str], CursorRows], plan: Plan) -> ExactTable:
    """All that a plan reads: its table, if there is one, and the ranks of each choice. Without a table there is one
    group, of which nothing is measured."""
    if not plan.sql and (plan.keys or plan.columns):
        raise WrongShape
    exact = exact_table(execute(plan.sql), plan) if plan.sql else ExactTable(((),), {})
    return with_ranks(exact, execute, plan)


def read_tables(execute: Callable[[str], CursorRows], scan: OneScan) -> tuple[ExactTable, ...]:
    """All that several plans read, the table of each from the rows with its number."""
    rows = execute(scan.sql)
    if [column[0] for column in rows.description or ()] != list(scan.names):
        raise WrongShape
    found: list[list[tuple[object, ...]]] = [[] for _ in scan.plans]
    for row in rows.fetchall():
        if type(level := row[0]) is not int or not 0 <= level < len(found):
            raise WrongShape
        found[level].append(tuple(row[place] for place in scan.columns[level]))
    tables = [exact_table(_RowsOfPlan(plan, some), plan) for plan, some in zip(scan.plans, found, strict=True)]
    return tuple(with_ranks(exact, execute, plan) for exact, plan in zip(tables, scan.plans, strict=True))


def with_ranks(exact: ExactTable, execute: Callable[[str], CursorRows], plan: Plan) -> ExactTable:
    """The table with the ranks of each choice of the plan."""
    ranks = {choice.name: ranks_of(execute(choice.sql), plan) for choice in plan.choices}
    return replace(exact, ranks=ranks) if ranks else exact


@dataclass(frozen=True, slots=True)
class _RowsOfPlan:
    """Some rows of a longer answer, as a cursor has them."""

    plan: Plan
    rows: list[tuple[object, ...]]

    @property
    def description(self) -> Sequence[Sequence[object]]:
        return [(name,) for name in (*(key.name for key in self.plan.keys), *self.plan.columns)]

    def fetchall(self) -> list[tuple[object, ...]]:
        return self.fetchmany(len(self.rows))

    def fetchmany(self, size: int, /) -> list[tuple[object, ...]]:
        some = self.rows[:size]
        del self.rows[:size]
        return some


def ranks_of(rows: CursorRows, plan: Plan) -> Mapping[Key, Sequence[Rank]]:
    """The ranks of a choice by group, lowest values first: those of a group with many values as columns."""
    names = [key.name for key in plan.keys]
    if [column[0] for column in rows.description or ()] != [*names, "v", "w", "below", "n"]:
        raise WrongShape
    columns = _columns_of(rows, len(names) + 4)
    spelt = [column if isinstance(column, Sequence) else column.to_pylist() for column in columns[: len(names)]]
    keys = [_converted(column, key.type) for column, key in zip(spelt, plan.keys, strict=True)]
    values, weights, below, totals = (_whole(column) for column in columns[len(names) :])
    codes: dict[Key, int] = {}
    groups = [codes.setdefault(key, len(codes)) for key in zip(*keys, strict=True)] if keys else []
    if not keys and len(values):
        codes[()] = 0
    group = np.array(groups, dtype=np.int64) if keys else np.zeros(len(values), dtype=np.int64)
    order = np.lexsort((values, group)) if keys else np.argsort(values, kind="stable")
    below = _placed(below, weights, group, order)
    ends = np.searchsorted(group[order], np.arange(len(codes) + 1))
    found: dict[Key, Sequence[Rank]] = {}
    for key, code in codes.items():
        own = order[ends[code] : ends[code + 1]]
        ranks = RankColumns(values[own], weights[own], below[own], int(totals[own[0]]))
        if (totals[own] != ranks.total).any() or (np.diff(ranks.values) <= 0).any():
            raise WrongShape
        found[key] = ranks if len(ranks) >= _MANY else tuple(ranks)
    return found


def _placed(
    below: NDArray[np.int64], weights: NDArray[np.int64], group: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The weight below each value: what is below the first value of its bucket, and what is before it there.

    Differences of sums are right modulo 2⁶⁴, and they are less.
    """
    starts, places = below[order], np.arange(len(order))
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (np.diff(starts) != 0) | (np.diff(group[order]) != 0)
    before = np.cumsum(weights[order]) - weights[order]
    first = np.maximum.accumulate(np.where(begins, places, 0))
    found = np.empty_like(below)
    found[order] = starts + before - before[first]
    return found


def _columns_of(rows: CursorRows, width: int) -> Sequence[Any]:
    """The columns of all rows: Arrow's where the engine has these."""
    arrow = getattr(rows, "to_arrow_table", None)
    if arrow is not None:
        let_copy()
        return [column.combine_chunks() for column in arrow().columns]
    return list(zip(*rows.fetchall(), strict=True)) or [()] * width


def _whole(column: Any) -> NDArray[np.int64]:
    """Integers of 64 bits: a column of an engine's, or of Python's values."""
    if isinstance(column, Sequence):
        return np.array([_integer(value) for value in column], dtype=np.int64)
    if column.null_count or not pa.types.is_signed_integer(column.type):
        raise WrongShape
    return column.to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def exact_table(rows: CursorRows, plan: Plan) -> ExactTable:
    """Keys, then statistics, then the weight, exactly as planned; integers only, no group twice; sorted by key.

    The order of an engine's rows can depend on the rows of one person; that of the keys cannot.
    """
    names = [*(key.name for key in plan.keys), *plan.columns]
    if [column[0] for column in rows.description or ()] != names:
        raise WrongShape
    width, bounds = len(plan.keys), bounds_of(plan)
    some = rows.fetchmany(_FEW)
    columns: list[Sequence[object]] = list(zip(*some, strict=True)) or [()] * len(names)
    keys = [
        ValueColumn(key.type, _converted(column, key.type)) for column, key in zip(columns, plan.keys, strict=False)
    ]
    statistics = [integers(column, bounds[name]) for name, column in zip(names[width:], columns[width:], strict=True)]
    count = len(some)
    if count == _FEW:
        rest = _rest(rows, len(names))
        count += len(rest[0])
        more = [_values(column, key.type) for column, key in zip(rest, plan.keys, strict=False)]
        keys = [concatenated(pair) for pair in zip(keys, more, strict=True)]
        statistics = [
            IntegerColumn(np.concatenate([one.array, _more(other, narrow=one.is_narrow).array]))
            for one, other in zip(statistics, rest[width:], strict=True)
        ]
    grouped = ColumnarRows(keys, count)
    if count > 1:
        order = _order(grouped)
        grouped, statistics = grouped.taken(order), [column.taken(order) for column in statistics]
    return ExactTable(grouped, dict(zip(names[width:], statistics, strict=True)))


def ordered_keys(rows: Sequence[tuple[object, ...]], plan: Plan) -> tuple[ColumnarRows, list[int]]:
    """Few keys, in order, and the place that each had. No group comes twice."""
    columns: list[Sequence[object]] = list(zip(*rows, strict=True)) or [()] * len(plan.keys)
    converted = zip(columns, plan.keys, strict=True)
    keys = ColumnarRows([ValueColumn(key.type, _converted(column, key.type)) for column, key in converted], len(rows))
    order = _order(keys)
    return keys.taken(order), order.tolist()


def bounds_of(plan: Plan) -> Mapping[str, int]:
    """The most that one person moves a cell of each column by."""
    bounds = {statistic.name: statistic.bound for statistic in plan.statistics}
    if plan.selection is not None:
        bounds.setdefault(plan.selection.name, int(plan.selection.units / plan.selection.granularity))
    return bounds


def _rest(rows: CursorRows, width: int) -> Sequence[Any]:
    """The columns of the rows that are left: Arrow's where the engine has these."""
    arrow = getattr(rows, "to_arrow_table", None)
    if arrow is None:
        return list(zip(*rows.fetchall(), strict=True)) or [()] * width
    let_copy()
    return [_one_array(column) for column in arrow().columns]


def _order(keys: ColumnarRows) -> NDArray[np.int64]:
    """The places of the groups in the order of their keys, NULL last. No group comes twice."""
    if len(keys) < _FEW:
        rows = list(keys)
        if len(set(rows)) != len(rows):
            raise WrongShape
        order = sorted(range(len(rows)), key=lambda row: [(value is None, value) for value in rows[row]])
        return np.array(order, dtype=np.int64)
    import pyarrow.compute as pc  # Here and not above: most answers are short, and it takes 9 MB.

    names = [str(place) for place in range(len(keys.columns))]
    table = pa.table([column.arrow for column in keys.columns], names=names)
    # NULLs come last unless told otherwise.
    found = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
    same = np.ones(len(keys) - 1, dtype=np.bool_)
    for column in table.take(found).columns:
        array = _one_array(column)
        one, other = array[:-1], array[1:]
        alike = pc.or_(pc.fill_null(pc.equal(one, other), False), pc.and_(one.is_null(), other.is_null()))
        same &= alike.to_numpy(zero_copy_only=False)
    if same.any():
        raise WrongShape
    return np.asarray(found, dtype=np.int64)


def _one_array(column: Any) -> Any:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def integers(column: Sequence[object], bound: int) -> IntegerColumn:
    """Exact integers, none of which moves by more than a bound with one person."""
    return _integers(column, narrow=fits(bound))


def _integers(column: Sequence[object], *, narrow: bool) -> IntegerColumn:
    """Exact integers; in 64 bits where they fit by declaration."""
    exact = [_integer(value) for value in column]
    try:
        return IntegerColumn(np.array(exact, dtype=np.int64)) if narrow else IntegerColumn.wide(exact)
    except OverflowError:
        raise WrongShape from None


def _more(column: Any, *, narrow: bool) -> IntegerColumn:
    """The same of an Arrow array: of the engine's integers, or of a decimal without a fraction."""
    if not isinstance(column, pa.Array):
        return _integers(column, narrow=narrow)
    if column.null_count:
        raise WrongShape
    if pa.types.is_integer(column.type) and column.type != pa.uint64():
        whole = IntegerColumn(column.cast(pa.int64()).to_numpy())
        return whole if narrow else whole.widened()
    if pa.types.is_decimal128(column.type) and column.type.scale == 0:
        wide = wide_units_of(column) if not narrow else None
        return wide if wide is not None else IntegerColumn(column.cast(pa.int64()).to_numpy())
    return _integers(column.to_pylist(), narrow=narrow)


def _values(column: Any, type_: Type) -> ValueColumn:
    """A key's values: as they come where Arrow has them in their type, else one by one."""
    wanted = arrow_type(type_)
    if not isinstance(column, pa.Array):
        return ValueColumn(type_, _converted(column, type_))
    if column.type == wanted and type_.kind in _AS_THEY_COME:
        return ValueColumn(type_, arrow=column)
    if pa.types.is_integer(column.type) and pa.types.is_integer(wanted):
        return ValueColumn(type_, arrow=column.cast(wanted))
    return ValueColumn(type_, _converted(column.to_pylist(), type_))


_AS_THEY_COME = {Kind.BOOLEAN, Kind.INTEGER, Kind.DECIMAL, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP, Kind.TIME}
"""Kinds of which every value of Arrow's type is one as the rewriter knows it."""


def _integer(value: object, type_: Type = BIGINT) -> int:
    """An exact integer: of the engine's integers, or of a decimal without a fraction. Never of a float."""
    if type(value) is int:
        return value
    if isinstance(value, Decimal) and value == (whole := int(value)):
        return whole
    raise WrongShape


def _converted(column: Sequence[object], type_: Type) -> list[Scalar | None]:
    convert = _KEYS[type_.kind]
    return [None if value is None else convert(value, type_) for value in column]


def _boolean(value: object, type_: Type) -> bool:
    if isinstance(value, bool):
        return value
    raise WrongShape


def _decimal(value: object, type_: Type) -> Decimal:
    """With the digits of its type: PostgreSQL has one group for 1.5 and 1.50 and shows whichever came first."""
    if isinstance(value, Decimal) or type(value) is int:
        spelt = Decimal(value).quantize(Decimal(1).scaleb(-type_.scale), context=_DIGITS)
        if spelt == value:
            return spelt
    raise WrongShape


def _double(value: object, type_: Type) -> float:
    """One zero, and no NaN: DuckDB has one group for both zeros and shows whichever came first."""
    if isinstance(value, float) and not math.isnan(value):
        return value + 0.0
    if isinstance(value, Decimal) or type(value) is int:
        return float(value)
    raise WrongShape


def _text(value: object, type_: Type) -> str:
    if isinstance(value, str):
        return value
    raise WrongShape


def _date(value: object, type_: Type) -> datetime.date:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    raise WrongShape


def _timestamp(value: object, type_: Type) -> datetime.datetime:
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value
    return datetime.datetime.combine(_date(value, type_), datetime.time())


def _time(value: object, type_: Type) -> datetime.time:
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return value
    raise WrongShape


def _null(value: object, type_: Type) -> Scalar:
    raise WrongShape


_KEYS: Mapping[Kind, Callable[[object, Type], Scalar]] = {
    Kind.NULL: _null,
    Kind.BOOLEAN: _boolean,
    Kind.INTEGER: _integer,
    Kind.DECIMAL: _decimal,
    Kind.DOUBLE: _double,
    Kind.TEXT: _text,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMPTZ: _timestamp,
    Kind.TIME: _time,
    Kind.INTERVAL: _null,
}
