"""Keys that names speak of, where a database declares none: guesses for an owner to confirm, and no facts."""

from __future__ import annotations

from dataclasses import replace

from dpsql.engines import PEOPLE, ForeignKey, Schema, SchemaTable, match


def with_guessed_keys(schema: Schema) -> Schema:
    """A schema with a key of each table that is named like people, and the references to it that are named like it.

    Where no table is, the first column of one that is named like the key of people is taken for theirs.
    """
    keys = {name: key for name, table in schema.tables.items() if PEOPLE.search(name) and (key := _key(table))}
    if not keys:
        keys = dict(_named_keys(schema)[:1])
    tables = {
        name: replace(
            table,
            primary_key=(keys[name],) if name in keys else (),
            foreign_keys=tuple(
                ForeignKey((column,), people, (key,))
                for people, key in keys.items()
                if people != name
                for column in _referring(table, people, key)
            ),
        )
        for name, table in schema.tables.items()
    }
    return Schema(tables)


def _key(table: SchemaTable) -> str | None:
    names = ("id", *_references(table.name, "id"))
    return next((found for name in names if (found := match(name, table.columns))), None)


def _references(people: str, key: str) -> tuple[str, ...]:
    """How a reference to people may be named: ``patient_id`` for the ``id`` of ``patient`` or ``patients``."""
    own = (key.lower(),) if key.lower() != "id" else ()
    return (*own, *(f"{one}{end}" for one in _singulars(people) for end in ("_id", "id", "_key", "key")))


def _referring(table: SchemaTable, people: str, key: str) -> list[str]:
    """The columns that may refer to people: by the key's name, or else by that of one of them, as ``person``."""
    by_key = _references(people, key)
    return [column for column in table.columns if column.lower() in by_key] or [
        column for column in table.columns if column.lower() in _singulars(people)
    ]


def _singulars(people: str) -> tuple[str, ...]:
    """A table's name, and what one row of it may be called.

    >>> _singulars("Patients"), _singulars("people")
    (('patients', 'patient'), ('people', 'person'))
    """
    name = people.lower()
    return tuple(
        dict.fromkeys(
            (name, name.removesuffix("people") + "person" if name.endswith("people") else name.removesuffix("s"))
        )
    )


def _named_keys(schema: Schema) -> list[tuple[str, str]]:
    return [
        (name, column)
        for name, table in schema.tables.items()
        for column in table.columns
        if PEOPLE.search(column) and column.lower().endswith(("id", "key"))
    ]
