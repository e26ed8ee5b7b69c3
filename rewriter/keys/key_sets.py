"""Which groups may appear: a public key set, enumerated from declared domains, or groups selected under δ.

A key set is public when every key can be enumerated without looking at private rows: each declared column that the keys
read becomes a variable over its domain, and the key expressions are evaluated by the engine over all combinations,
filtered by what the conditions of the statement say of the same variables (:mod:`rewriter.keys.enumeration`). So
``date_trunc('month', day)`` over a declared range of days gives exactly the months the engine would name, in its own
types, and no month that WHERE leaves out. NULL is a group of every key that may be NULL.

Rows whose keys are not among the declared values: whether there can be any, and the notices about them.

A declaration is the owner's word. Rows need not keep to it, so it proves nothing. Proofs come from constraints that the
database enforces, from the conditions of the statement, and from the values that an expression can have at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.columns import (
    BEHIND,
    ColumnLimits,
    Facts,
    Origin,
    Path,
    Probe,
    Variable,
    columns_behind,
    named,
    nodes_behind,
    range_of,
    variable_behind,
)
from rewriter.declared import Kind, Scalar, Type, measure
from rewriter.dialects import Dialect, Read, reading_of, wrap
from rewriter.expressions import CYCLES, DOMAIN, LIMITS, RISING, SORTED, Domain, Value, Values
from rewriter.keys.declared_lists import MAX_CELLS, DeclaredLists, table_for
from rewriter.keys.enumeration import Enumeration, NotEnumerable, derived_table
from rewriter.keys.groups_along import values_of
from rewriter.keys.separate_keys import SeparateKeys, of_parts, parts, tables_of
from rewriter.once import once
from rewriter.release import Key, key_name


def plain_columns(keys: Iterable[Key]) -> list[tuple[str, str]]:
    """The columns that are keys as they are, each by our alias of its relation and its name."""
    return [column for key in keys for column in columns_behind(key.value.sql)]


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """``sql`` lists every group once, as columns ``k0``, ``k1``, … of ``types``; ``cells`` is how many at most.

    ``closed`` says of each key whether every row of people has one of its values, NULL too, by proof: the owner's list
    of values proves nothing, since rows may have others. ``listed`` says of each whether its values are listed one by
    one, by the owner, by CASE or since they are booleans, and ``lists_null`` whether NULL is a group of it: the owner
    named it or CASE can make it, and no condition forbids it. ``sorts`` says of each whether it is
    texts that sort as times do. ``notes`` tell an analyst which rows are in no group. ``hidden`` is how
    many of ``cells`` are of undeclared values, which no reader sees.
    """

    sql: exp.Select
    cells: int
    types: tuple[Type, ...]
    closed: tuple[bool, ...]
    listed: tuple[bool, ...] = ()
    lists_null: tuple[bool, ...] = ()
    sorts: tuple[bool, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: int = 0

    @property
    def ordered(self) -> tuple[bool, ...]:
        """Of each key, whether its values lie along an axis, so that neighbouring groups tell of each other."""
        known = zip(self.types, self.listed, self.sorts, strict=True)
        return tuple((kind.on_axis or sorts) and not listed for kind, listed, sorts in known)

    def may_lack(self, keys: Sequence[Key]) -> tuple[bool, ...]:
        """Of each key, whether it may be NULL, which no list names."""
        known = zip(keys, self.lists_null, strict=True)
        return tuple(key.value.nullable and not lists_null for key, lists_null in known)

    @property
    def exhaustive(self) -> bool:
        """Whether every row of people is in one of the groups, by proof."""
        return all(self.closed)


@dataclass(frozen=True, slots=True)
class KeySet:
    """The public groups, or None where they must be selected under δ; ``notes`` say why, where it is their number."""

    public: PublicKeys | None
    notes: tuple[str, ...] = ()


def public_keys(keys: Sequence[Key], filters: Sequence[Value], dialect: Dialect) -> PublicKeys | None:
    """The public key set of a GROUP BY, or None where the groups must be selected under δ."""
    return key_set(keys, filters, dialect).public


@once
def key_set(keys: Sequence[Key], filters: Sequence[Value], dialect: Dialect) -> KeySet:
    """The groups of a GROUP BY. ``filters`` hold on every row that is grouped. Sees no row of people."""
    enumeration = Enumeration(DeclaredLists(dialect, Facts.of(filters)))
    try:
        expressions = [enumeration.key(key.value) for key in keys]
    except NotEnumerable as reason:
        return KeySet(None, _few(reason.why))
    conditions = enumeration.narrow()
    needed = [
        exp.Not(this=exp.Is(this=wrap(expression.copy()), expression=exp.Null()))
        for expression, key in zip(expressions, keys, strict=True)
        if not key.value.nullable and enumeration.takes_null(expression)
    ]
    listed = _listed(enumeration, expressions, needed, conditions)
    if (behind := max(part.size for part in listed)) > MAX_CELLS:
        return KeySet(
            None, _few(f"{behind:,} declared values are behind the groups, no more than {MAX_CELLS:,} are read")
        )
    listed = [_counted(part, keys, filters) for part in listed]
    cells = math.prod(part.most for part in listed)
    if cells > MAX_CELLS:
        return KeySet(None, _few(f"there are {cells:,} declared groups, and no more than {MAX_CELLS:,} are listed"))
    columns = [
        exp.alias_(dialect.cast(expression, key.value.type), key_name(place))
        for place, (expression, key) in enumerate(zip(expressions, keys, strict=True))
    ]
    undeclared = Undeclared(enumeration, conditions)
    asked = None
    if any(key.declared is not None for key in keys):
        asked = public_keys([key.declared or key for key in keys], filters, dialect)
    found = PublicKeys(
        of_parts(columns, listed, [one for one in conditions if not tables_of(one)]),
        max(1, cells),
        tuple(key.value.type for key in keys),
        closed=tuple(undeclared.is_closed(expression, key) for expression, key in zip(expressions, keys, strict=True)),
        listed=tuple(_is_listed(key.value, bool(conditions)) for key in keys),
        lists_null=tuple(key.value.nullable and _lists_null(key.value) for key in keys),
        sorts=tuple(SORTED.is_on(key.value.sql) for key in keys),
        notes=undeclared.notes(expressions, keys) if asked is None else asked.notes,
        hidden=0 if asked is None else max(0, cells - asked.cells),
    )
    return KeySet(found)


def _few(why: str) -> tuple[str, ...]:
    return (f"{why}: groups of few people are not shown",) if why else ()


def _listed(
    enumeration: Enumeration, keys: Sequence[exp.Expr], needed: Sequence[exp.Expr], conditions: Sequence[exp.Expr]
) -> list[SeparateKeys]:
    """Separate lists, by as many of the conditions as can be asked. A condition that ties lists together may be left
    out, where they have too many values together."""
    for tight in (True, False):
        items, left = enumeration.items(keys, needed, conditions, tight=tight)
        found = parts(keys, items, left)
        if all(part.size <= MAX_CELLS for part in found):
            return list(found)
    loose = [one for part in found for one in part.loose(needed).conditions]
    return list(parts(keys, items, loose))


_WITHOUT_NULL = frozenset({"COALESCE", "LEAST", "GREATEST"})
"""Functions whose range leaves an operand out that others stand for where it is NULL."""


def _counted(part: SeparateKeys, keys: Sequence[Key], filters: Sequence[Value]) -> SeparateKeys:
    """The part with as many groups as are counted on: sensitivity, and the length of a series, follow from that.

    Theorem: combinations of lists are no more than the product of their lengths, and a key has no more values on them
    than its range has, but where NULL is listed of a column that is never NULL, and another operand stands for it. A
    list that grows is cut in the engine's SQL.
    """
    most = min(part.size, math.prod(_values(keys[place], filters, part.size) for place in part.places))
    return replace(part, most=most, cut=part.grows)


def _values(key: Key, filters: Sequence[Value], behind: int) -> int:
    """How many values of a key are listed at most, of ``behind`` combinations.

    CASE with three literals makes three groups, however many values its conditions tell apart.
    """
    found, domain = behind, key.value.domain
    if _WITHOUT_NULL.isdisjoint(map(_function, nodes_behind(key.value.sql))):
        known = values_of(key, filters)
        found = behind if known is None else min(found, known)
    if isinstance(domain, Values):
        found = min(found, len({*domain.values, *((None,) if key.value.nullable else ())}))
    return found


def _function(node: exp.Expr) -> str:
    return node.name.upper() if isinstance(node, exp.Anonymous) else type(node).__name__.upper()


def _is_listed(value: Value, narrowed: bool) -> bool:
    """Whether a reader expects every value of a key: not of what is computed or lies in a range, nor of what a
    condition left of public rows."""
    variable = variable_behind(value.sql)
    if variable is None:
        return isinstance(DOMAIN.of(value.sql), Values)
    column = variable.column
    if variable.table.public or column.values_from is not None:
        return not narrowed
    return column.values is not None or column.type.kind is Kind.BOOLEAN


def _lists_null(value: Value) -> bool:
    variable = variable_behind(value.sql)
    if variable is None:
        domain = DOMAIN.of(value.sql)
        return isinstance(domain, Values) and None in domain.values
    column = variable.column
    return None in (column.values or ())


@dataclass(slots=True)
class Undeclared:
    """Values that rows may have outside of the lists of an enumeration, which ``conditions`` narrow."""

    enumeration: Enumeration
    conditions: Sequence[exp.Expr]

    def is_closed(self, expression: exp.Expr, key: Key) -> bool:
        """Whether every row has one of the listed values of a key, by proof."""
        return not any(self._outside(table, expression, key) for table in self._tied(tables_of(expression)))

    def notes(self, expressions: Sequence[exp.Expr], keys: Sequence[Key]) -> tuple[str, ...]:
        """Which rows are in no group, one sentence for each list."""
        said: dict[str, None] = {}
        for expression, key in zip(expressions, keys, strict=True):
            for table in sorted(tables_of(expression)):
                if found := self._outside(table, expression, key):
                    said[f"rows whose {found} are in no group"] = None
        return tuple(said)

    def _tied(self, tables: frozenset[str]) -> frozenset[str]:
        """``tables``, and all lists that conditions tie to them: a condition may need a row that is outside of such a
        list."""
        sets = [tables_of(condition) for condition in self.conditions]
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
        alone = not any(table_for(variable) in tables_of(condition) for condition in self.conditions)
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
