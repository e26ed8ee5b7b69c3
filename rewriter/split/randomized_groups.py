"""GROUP BY a column that people randomized themselves: one release without that key, and a row for each true value.

Groups of reports are not groups of people who have the same value. So the release is grouped by the other keys alone,
and has each aggregate once for every declared value of the column, freed of the randomization
(:mod:`rewriter.aggregates.debiased_calls`); above it, each row becomes one row for each value. The values are the
owner's, so all of them are shown, whatever the data, unless those alone are asked for that somebody surely has
(:mod:`rewriter.split.surely_present`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from sqlglot import exp

from rewriter.aggregates import MAX_AGGREGATES, Grouped, Supports, compile_aggregate, with_filter
from rewriter.declared import Scalar, Type
from rewriter.dialects import Dialect, named_table
from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.relations import BlockScope
from rewriter.release import Aggregate, Key, aggregate_name, key_name, margin_name
from rewriter.split.surely_present import SurelyPresent

_ALIAS = "dpsql_by_value"


@dataclass(frozen=True, slots=True)
class RandomizedKey:
    """The place of a key that is a column of reports, its type, and the true values that it is grouped by."""

    place: int
    column: exp.Column
    type: Type
    values: tuple[Scalar | None, ...]

    def constant(self, value: Scalar | None) -> exp.Expr:
        """A value as the column has it: a NULL of another type would make all of them texts."""
        return exp.cast(exp.Null() if value is None else exp.convert(value), str(self.type))


def by_true_values(
    grouped: Grouped,
    scope: BlockScope,
    dialect: Dialect,
    where: Sequence[exp.Expr] = (),
    surely: SurelyPresent | None = None,
) -> Grouped:
    """``grouped`` without keys that people randomized, which its outer SELECT makes of the columns by value. ``where``
    are the conditions over what people randomized, which its aggregates ask. ``surely``: only values are shown that
    somebody surely has."""
    found = _randomized(grouped)
    if not found:
        return grouped
    name = found[0].column.name
    if grouped.sets:
        raise Refused(
            f"grouping sets over {name}, which people randomized themselves, are not answered",
            hint=f"GROUP BY {name} alone, and ask for the total beside it",
        )
    kept = [at for at in range(len(grouped.keys)) if all(at != one.place for one in found)]
    values = list(product(*(one.values for one in found)))
    if len(values) * len(grouped.calls) > MAX_AGGREGATES:
        raise Refused(
            f"{len(values)} values of {name} with {len(grouped.calls)} aggregates are too many columns",
            hint=f"ask for fewer aggregates at once: {MAX_AGGREGATES} in all",
            sqlstate=TOO_COMPLEX,
        )
    counted = _counted(grouped)
    if surely is not None and counted is None:
        raise Refused(
            f"which values of {name} somebody surely has follows from their numbers of rows",
            hint="add COUNT(*), or SET dpsql.empty_groups = show",
        )
    table = grouped.outer.args["from_"].this.name
    rows: list[exp.Select] = []
    calls: list[exp.Expr] = []
    aggregates: list[Aggregate] = []
    shared: Supports = {}
    for combination in values:
        tests = [_is(one.column, value) for one, value in zip(found, combination, strict=True)]
        own = [with_filter(call, tests) for call in grouped.calls]
        compiled = [compile_aggregate(call, scope, dialect, shared) for call in own]
        nobody = all(one.debiasing is not None and not one.debiasing.parts for one in compiled)
        if compiled and nobody and _excluded([*where, *tests], scope, dialect):
            continue  # WHERE excludes who truly has these values.
        of_value = {one.place: one.constant(value) for one, value in zip(found, combination, strict=True)}
        columns = [
            exp.alias_(of_value[at] if at in of_value else exp.column(key_name(kept.index(at)), table), f"dpsql_k{at}")
            for at in range(len(grouped.keys))
        ]
        for at, (call, aggregate) in enumerate(zip(own, compiled, strict=True)):
            columns.append(exp.alias_(exp.column(aggregate_name(len(calls)), table), f"dpsql_a{at}"))
            calls.append(call)
            aggregates.append(aggregate)
        row = exp.Select(expressions=columns).from_(named_table(table), copy=False)
        number = aggregate_name(len(calls) - len(grouped.calls) + (counted or 0))
        if surely is not None:
            row.set("where", exp.Where(this=surely.condition(table, number, len(values), bool(kept))))
        elif None in combination and counted is not None:
            # Who reported nothing is a group where the noise allows to say so.
            columns_ = (exp.column(name, table) for name in (number, margin_name(number)))
            row.set("where", exp.Where(this=exp.GT(this=next(columns_), expression=next(columns_))))
        rows.append(row)
    if not rows:
        raise Refused(f"no value of {name} is left by WHERE", hint="ask for one of its declared values")
    if not (kept or calls):
        return replace(grouped, keys=(), outer=_over(grouped, table, [_without_from(one) for one in rows]))
    return Grouped(
        tuple(grouped.keys[at] for at in kept),
        tuple(aggregates),
        _over(grouped, table, rows),
        tuple(calls),
    )


def values_of_keys(grouped: Grouped) -> int:
    """How many values the keys have together that people randomized; 0 where there is no such key."""
    found = [len(one.values) for one in _randomized(grouped)]
    return math.prod(found) if found else 0


def _excluded(tests: Sequence[exp.Expr], scope: BlockScope, dialect: Dialect) -> bool:
    """Whether no row is counted where all these conditions hold."""
    how = compile_aggregate(with_filter(exp.Count(this=exp.Star()), tests), scope, dialect).debiasing
    return how is not None and not how.parts


def _counted(grouped: Grouped) -> int | None:
    """The place of a count of rows among the aggregates."""
    counts = (at for at, call in enumerate(grouped.calls) if isinstance(call, exp.Count))
    return next((at for at in counts if isinstance(grouped.calls[at].this, exp.Star)), None)


def _randomized(grouped: Grouped) -> list[RandomizedKey]:
    found = []
    for place, key in enumerate(grouped.keys):
        law = key.value.randomized
        if law is not None:
            values = (*law.values, None) if key.value.nullable else law.values
            found.append(RandomizedKey(place, _column(key), key.value.type, values))
    return found


def _column(key: Key) -> exp.Column:
    if key.column is None:
        raise AssertionError("a randomized key is a column")
    return key.column


def _is(column: exp.Column, value: Scalar | None) -> exp.Expr:
    if value is None:
        return exp.Is(this=column.copy(), expression=exp.Null())
    return exp.EQ(this=column.copy(), expression=exp.convert(value))


def _without_from(select: exp.Select) -> exp.Select:
    select.set("from_", None)
    return select


def _over(grouped: Grouped, table: str, rows: Sequence[exp.Select]) -> exp.Select:
    """The outer SELECT over the rows by value."""
    outer: exp.Select = grouped.outer.copy()
    for column in [one for one in outer.find_all(exp.Column) if one.table == table]:
        column.set("this", exp.to_identifier(f"dpsql_{column.name}"))
        column.set("table", exp.to_identifier(_ALIAS))
    together: exp.Query = rows[0]
    for one in rows[1:]:
        together = exp.Union(this=together, expression=one, distinct=False)
    outer.from_(exp.Subquery(this=together, alias=exp.TableAlias(this=exp.to_identifier(_ALIAS))), copy=False)
    return outer
