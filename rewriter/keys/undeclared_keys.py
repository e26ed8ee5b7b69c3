"""Rows whose keys are not among the declared values: whether there can be any, and the notices about them.

A declaration is the owner's word. Rows need not keep to it, so it proves nothing. Proofs come from constraints that the
database enforces, from the conditions of the statement, and from the values that an expression can have at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.columns import BEHIND, ColumnLimits, Origin, Path, Probe, Variable, named, range_of
from rewriter.declared import Kind, Scalar, measure
from rewriter.dialects import Read, reading_of
from rewriter.expressions import CYCLES, LIMITS, RISING, Domain, Values
from rewriter.keys.declared_lists import table_for
from rewriter.keys.enumeration import Enumeration, derived_table
from rewriter.release import Key


@dataclass(slots=True)
class Undeclared:
    """Values that rows may have outside of the lists of an enumeration, which ``conditions`` narrow."""

    enumeration: Enumeration
    conditions: Sequence[exp.Expr]

    def is_closed(self, expression: exp.Expr, key: Key) -> bool:
        """Whether every row has one of the listed values of a key, by proof."""
        return not any(self._outside(table, expression, key) for table in self._tied(_tables(expression)))

    def notes(self, expressions: Sequence[exp.Expr], keys: Sequence[Key]) -> tuple[str, ...]:
        """Which rows are in no group, one sentence for each list."""
        said: dict[str, None] = {}
        for expression, key in zip(expressions, keys, strict=True):
            for table in sorted(_tables(expression)):
                if found := self._outside(table, expression, key):
                    said[f"rows whose {found} are in no group"] = None
        return tuple(said)

    def _tied(self, tables: frozenset[str]) -> frozenset[str]:
        """``tables``, and all lists that conditions tie to them: a condition may need a row that is outside of such a
        list."""
        sets = [_tables(condition) for condition in self.conditions]
        while any(one & tables and not one <= tables for one in sets):
            tables = tables.union(*(one for one in sets if one & tables))
        return tables

    def _outside(self, table: str, expression: exp.Expr, key: Key) -> str:
        """The values that rows may have beside those of a list, in words; "" where there are none, by proof."""
        for variable, use in self.enumeration.uses.items():
            if table_for(variable) == table:
                if variable.table.public or not use.whole or self._runs_through(expression, variable):
                    return ""
                return self._of_column(variable)
        for place, (domain, node, path) in enumerate(self.enumeration.derived):
            if table == derived_table(place) and not _is_total(domain, node):
                return self._of_derived(list(_read(node, path)), key, *_open_ends(domain, node))
        return ""

    def _of_derived(self, read: Sequence[Variable | None], key: Key, low: bool, high: bool) -> str:
        """The values of columns for which an expression may have a value that is not listed, in words: values below a
        column's range if ``low``, above it if ``high``."""
        said = []
        for variable in dict.fromkeys(read):
            limits = ColumnLimits() if variable is None else self.enumeration.lists.facts.of_column(variable)
            if variable is None or (variable.column.range is None and None in (limits.low, limits.high)):
                return f"{key.text} is beyond what the declared bounds allow for"
            if variable.column.range is not None:
                said.append(_beyond(variable.column.name, variable.column.range, limits, low=low, high=high))
        return " or ".join(part for part in said if part)

    def _of_column(self, variable: Variable) -> str:
        column, limits = variable.column, self.enumeration.lists.facts.of_column(variable)
        if column.closed or column.type.kind is Kind.BOOLEAN:
            return ""
        if column.values is not None:
            declared = [value for value in column.values if value is not None]
            if limits.values is not None and limits.values <= {_probe(value) for value in declared}:
                return ""
            return f"{column.name} is not one of the {len(declared)} declared values"
        if column.values_from is not None:
            known = column.values_from in self.enumeration.lists.facts.listed_by(variable)
            return "" if known else f"{column.name} is not in {'.'.join(column.values_from)}"
        return "" if column.range is None else _beyond(column.name, column.range, limits)

    def _runs_through(self, expression: exp.Expr, variable: Variable) -> bool:
        """Whether a key is a part of a time, such as its month, of which a declared range has all."""
        node = expression
        while isinstance(node, exp.Paren | exp.Cast):
            node = node.this
        bounds = self.enumeration.lists.bounds(variable)
        cycle = _cycle(node)
        if cycle is None or bounds is None:
            return False
        alone = not any(table_for(variable) in _tables(condition) for condition in self.conditions)
        missing = not variable.column.nullable  # else what cannot be read is in the group of NULL
        return bounds.width > cycle and alone and not missing


def _is_total(domain: Domain, node: exp.Expr) -> bool:
    """Whether an expression has no other values, whatever rows hold: CASE with literals, a part of a time."""
    if isinstance(domain, Values) or LIMITS.of(node) == (domain.low, domain.high):
        return True
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return _cycle(node) is not None


def _cycle(node: exp.Expr) -> int | None:
    """Days after which a field of a time has had every value; None for what is no such field."""
    reading = reading_of(node)
    return None if reading is None or reading.read is not Read.FIELD else CYCLES.get(reading.unit)


def _open_ends(domain: Domain, node: exp.Expr) -> tuple[bool, bool]:
    """Whether values below the range of a column, and above it, give an expression one that is not listed. The bucket
    of a number beyond the last one is that bucket."""
    limits = LIMITS.of(node)
    if isinstance(domain, Values) or limits is None or not RISING.is_on(node):
        return True, True
    return limits[0] < domain.low, domain.high < limits[1]


def _beyond(
    name: str, declared: tuple[Scalar, Scalar], limits: ColumnLimits, *, low: bool = True, high: bool = True
) -> str:
    """Where values may lie outside of a declared range, given what conditions say of them."""
    ends = range_of(declared)
    if limits.values is not None and all(isinstance(one, type(ends.low)) and one in ends for one in limits.values):
        return ""
    below = low and (limits.low is None or limits.low < ends.low)
    above = high and (limits.high is None or limits.high > ends.high)
    if below and above:
        return f"{name} is outside of {declared[0]} to {declared[1]}"
    return f"{name} is below {declared[0]}" if below else f"{name} is above {declared[1]}" if above else ""


def _read(node: exp.Expr, path: Path) -> Iterator[Variable | None]:
    """The columns that an expression reads; None for what is no column of a table."""
    behind = BEHIND.of(node)
    if isinstance(behind, Variable):
        yield named(behind, path)
    elif isinstance(behind, Origin):
        yield from _read(behind.sql, (*path, node.text("table")))
    elif isinstance(node, exp.Column | exp.Query | exp.AggFunc | exp.Window):
        yield None
    else:
        for child in node.iter_expressions():
            yield from _read(child, path)


def _probe(value: Scalar) -> Probe:
    return value if isinstance(value, str | bool) else measure(value)


def _tables(node: exp.Expr) -> frozenset[str]:
    return frozenset(column.table for column in node.find_all(exp.Column))
