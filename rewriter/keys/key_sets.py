"""Which groups may appear: a public key set, enumerated from declared domains, or groups selected under δ.

A key set is public when every key can be enumerated without looking at private rows: each declared column that the keys
read becomes a variable over its domain, and the key expressions are evaluated by the engine over all combinations,
filtered by what the conditions of the statement say of the same variables (:mod:`rewriter.keys.enumeration`). So
``date_trunc('month', day)`` over a declared range of days gives exactly the months the engine would name, in its own
types, and no month that WHERE leaves out. NULL is a group of every key that may be NULL.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.columns import Facts, columns_behind, nodes_behind, variable_behind
from rewriter.declared import Kind, Type
from rewriter.dialects import Dialect, wrap
from rewriter.expressions import DOMAIN, SORTED, Value, Values
from rewriter.keys.declared_lists import MAX_CELLS, DeclaredLists
from rewriter.keys.enumeration import Enumeration, NotEnumerable
from rewriter.keys.groups_along import values_of
from rewriter.keys.separate_keys import SeparateKeys, of_parts, parts, tables_of
from rewriter.keys.undeclared_keys import Undeclared
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
