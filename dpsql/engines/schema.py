"""What a database declares about itself, in no engine's words: tables, columns, keys. Never a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.types import Type


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column. ``type`` is None where the rewriter has no such type; ``engine_type`` is the engine's spelling."""

    name: str
    engine_type: str
    type: Type | None
    not_null: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """``columns`` refer to ``parent_columns`` of the table ``parent``, and the database enforces it."""

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SchemaTable:
    """A table or view. ``unique`` lists the column sets of its primary key and its unique constraints.

    ``schema`` is the engine's schema of the table where it is not the default one. A ``view`` has no constraints.
    """

    name: str
    columns: Mapping[str, SchemaColumn]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    schema: str | None = None
    view: bool = False

    def is_unique(self, column: str) -> bool:
        """Whether the database itself keeps two rows from sharing a value of ``column``."""
        return (column,) in (self.primary_key, *self.unique)


@dataclass(frozen=True, slots=True)
class Schema:
    """All tables of a database, by name."""

    tables: Mapping[str, SchemaTable]


@dataclass(frozen=True, slots=True)
class Profile:
    """What was measured of a *public* table: its row count, and the columns whose values are distinct and not NULL."""

    rows: int
    unique: frozenset[str] = frozenset()
