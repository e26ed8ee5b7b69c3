"""The schema that a database declares, in no engine's words: tables, columns, keys. Never a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from dpsql.engines.names import match, match_table
from dpsql.errors import OperationalError
from rewriter.declared import Interval, Type, When

QualifiedName = tuple[str, str]
"""An engine's schema, and the name of a table in it."""

PROFILED_ROWS = 10_000_000
"""Public tables with more rows are not searched for unique columns and ranges; constraints are known without it."""


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column. ``type`` is None where the rewriter has no such type; ``engine_type`` is the engine's spelling.

    ``exact`` is False where two values that the engine tells apart may be read as one: then no constraint of the
    database makes what is read unique.
    """

    name: str
    engine_type: str
    type: Type | None
    not_null: bool = False
    exact: bool = True


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """``columns`` refer to ``parent_columns`` of the table ``parent``, and the database enforces it.

    ``schema`` is the parent's, where it may be another one than the child's. ``when``: on these rows alone, and by the
    policy's word; no database declares such a key.
    """

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    schema: str | None = field(default=None, compare=False)
    when: When | None = None


@dataclass(frozen=True, slots=True)
class SchemaTable:
    """A table or view. ``unique`` lists the column sets of its primary key and its unique constraints.

    ``loose_keys`` are foreign keys that are declared but not enforced for all rows, and the ends of foreign keys
    through tables that may not be read. They state an intention, and nothing else rests on them. ``schema`` is the
    engine's schema of the table where it is not the default one, and ``name`` begins with it then. A ``view`` has no
    constraints. A table that is ``computed`` has columns that are made when they are read, by the clock perhaps. Rows
    that are not ``told_apart`` have no identity by which the engine knows one from another. A view whose rows are
    ``numbered`` tells them apart by their places in its files.
    """

    name: str
    columns: Mapping[str, SchemaColumn]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    loose_keys: tuple[ForeignKey, ...] = ()
    schema: str | None = None
    view: bool = False
    computed: bool = False
    told_apart: bool = True
    numbered: bool = False

    @property
    def own_name(self) -> str:
        """What it is called in its schema."""
        return self.name if self.schema is None else self.name.removeprefix(f"{self.schema}.")

    @property
    def stored(self) -> bool:
        """Whether each value is stored, so that nothing but a write changes what is read."""
        return not (self.view or self.computed)

    @property
    def references(self) -> tuple[ForeignKey, ...]:
        """The foreign keys that the database declares, enforced or not."""
        return (*self.foreign_keys, *self.loose_keys)

    def is_unique(self, column: str) -> bool:
        """Whether the database itself keeps two rows from sharing a value of ``column``, as it is read."""
        return (column,) in (self.primary_key, *self.unique) and self.columns[column].exact

    @property
    def composite_keys(self) -> tuple[frozenset[str], ...]:
        """The column sets that the database keeps two rows from sharing, as they are read: not NULL, and of several."""
        found = dict.fromkeys(frozenset(key) for key in (self.primary_key, *self.unique) if len(key) > 1)
        return tuple(
            key for key in found if all(self.columns[name].exact and self.columns[name].not_null for name in key)
        )

    def readable(self, name: str) -> tuple[SchemaColumn, Type]:
        """A column, in any case, with its type. Raises :class:`OperationalError`."""
        column = self.columns.get(match(name, self.columns) or "")
        if column is None or column.type is None:
            raise OperationalError(f"{self.name} has no readable column {name}", sqlstate="42703")
        return column, column.type


@dataclass(frozen=True, slots=True)
class Schema:
    """All tables of a database, by name."""

    tables: Mapping[str, SchemaTable]

    def table(self, name: str) -> SchemaTable:
        """A table by its name, in any case. Raises :class:`OperationalError`."""
        found = self.tables.get(match_table(name, self.tables) or "")
        if found is None:
            known = ", ".join(sorted(self.tables)[:12])
            raise OperationalError(f"the database has no table {name}", sqlstate="42P01", hint=f"there are {known}")
        return found

    @classmethod
    def of(cls, tables: Mapping[QualifiedName, SchemaTable], default: str) -> Schema:
        """Tables by their names: those of the ``default`` schema alone, the others after their schema's, as in
        ``analytics.orders``. A foreign key whose parent is not to be found is left out.
        """

        def called(full: QualifiedName) -> str:
            return full[1] if full[0] == default else f"{full[0]}.{full[1]}"

        return cls(
            {
                called(full): replace(
                    tables[full],
                    name=called(full),
                    foreign_keys=tuple(_kept(tables[full].foreign_keys, full[0], tables, called)),
                    loose_keys=tuple(_kept(tables[full].loose_keys, full[0], tables, called)),
                )
                for full in sorted(tables, key=lambda full: (full[0] != default, full))
            }
        )


def _kept(
    keys: Iterable[ForeignKey], home: str, tables: Collection[QualifiedName], called: Callable[[QualifiedName], str]
) -> Iterator[ForeignKey]:
    for key in keys:
        parent = (key.schema or home, key.parent)
        if parent in tables:
            yield replace(key, parent=called(parent))


@dataclass(frozen=True, slots=True)
class Concern:
    """Something about a database that its owner may want to change; of one ``table``, or of all of it.

    An ``error`` keeps a policy that declares the table from being used.
    """

    text: str
    table: str | None = None
    severity: Literal["error", "warning"] = "warning"


@dataclass(frozen=True, slots=True)
class Profile:
    """The measured profile of a *public* table: how many rows it has, or is planned to have where it ``grows``; of rows
    that last, the columns whose values are distinct and not NULL; and where numbers and dates lie, dates in days."""

    rows: int
    unique: frozenset[str] = frozenset()
    seen: Mapping[str, Interval] = field(default_factory=dict)
    grows: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """A look at the rows of a table, for some columns: whether two rows share all their values, and whether a row lacks
    one. ``lasting``: nobody can change the rows while they are open.

    It is for the owner's eyes: whether a policy is opened may depend on it, and nothing that an analyst sees.
    """

    repeats: bool
    nulls: bool
    lasting: bool


def enumerated(engine_type: str) -> tuple[str, ...] | None:
    """The labels of an enumeration, as every schema spells it; None for another type.

    >>> enumerated("ENUM('a', 'it''s')"), enumerated("VARCHAR")
    (('a', "it's"), None)
    """
    if not (engine_type.startswith("ENUM(") and engine_type.endswith(")")):
        return None
    return tuple(label.replace("''", "'") for label in re.findall(r"'((?:[^']|'')*)'", engine_type))
