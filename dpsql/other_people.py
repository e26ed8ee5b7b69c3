"""Columns by which a row is about other people than its owner: a receiver beside the sender, a manager, a referrer.

Guarantee: no column that is declared leads to people beside the owner of its row, by a foreign key of the database or
by a way that the policy spells, unless the owner of the data says ``owner: public`` of it. A message belongs to its
sender, and is protected as the sender's alone: ``GROUP BY receiver`` would name a person, with the exact number of
messages but for one sender's worth of noise.

What is left out is not read by anybody's query. The rest of such a row is still protected for its owner alone, whatever
else it may say of the other person; that is the owner's choice of ``unit``, and the text says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dpsql.engines.schema import ForeignKey, Schema, SchemaTable
from dpsql.names import match
from dpsql.policy import Table
from dpsql.problem import Problem, join
from rewriter.catalog import Hop


@dataclass(frozen=True, slots=True)
class OtherPeople:
    """The declared tables of a policy, by the database's names, with the ways to their owners."""

    schema: Schema
    declared: Mapping[str, Table]
    names: Mapping[str, str]
    unit: tuple[str, str]
    paths: Mapping[str, tuple[Hop, ...]]

    def problems(self) -> Iterator[Problem]:
        """Every declared column that leads to other people, and every public table that is about people."""
        for table in self.paths:
            own = self._own(table)
            yield from self._own_word(table, own)
            for key in self.keys(table):
                for column in self._shown(table, own, key):
                    yield Problem(self._path(table, column), self._text(table, own, column, key))

    def keys(self, table: str) -> Iterator[ForeignKey]:
        """The foreign keys of a table that lead to people beside the owners of its rows."""
        own = self._own(table)
        for key in self._keys(table):
            same = own in key.columns and (len(key.columns) == 1 or self._same_person(table, own, key))
            if not same and self._leads(key.parent):
                yield key

    def _own(self, table: str) -> str | None:
        """The column that says whose a row is; None for a public table."""
        if table == self.unit[0]:
            return self.unit[1]
        return self.paths[table][0].column if self.paths[table] else None

    def _own_word(self, table: str, own: str | None) -> Iterator[Problem]:
        spelt = match(own, self.declared[table].columns or {}) if own is not None else None
        if spelt is not None and (self.declared[table].columns or {})[spelt].owner is not None:
            text = "says whose the row is, and that person is protected: remove owner"
            yield Problem(join("tables", self.names[table], "columns", spelt, "owner"), text)

    def _keys(self, table: str) -> list[ForeignKey]:
        """What the database says that columns refer to, enforced or not, and the steps that the policy's ways take.

        A view has no foreign keys: its columns are taken for those of the same name that tables have.
        """
        source = self.schema.tables[table]
        steps = (hop for path in self._ways(table) for hop in path)
        said = [ForeignKey((hop.column,), hop.parent, (hop.parent_column,)) for hop in steps]
        named = [
            ForeignKey((name,), key.parent, (theirs,))
            for name in (source.columns if source.view else ())
            for other in self.schema.tables.values()
            for key in _references(other)
            for column, theirs in zip(key.columns, key.parent_columns, strict=True)
            if column == name
        ]
        return list(dict.fromkeys((*_references(source), *said, *named)))

    def _ways(self, table: str) -> Iterator[tuple[Hop, ...]]:
        for child, path in self.paths.items():
            tables = (child, *(hop.parent for hop in path))
            yield tuple(hop for at, hop in zip(tables, path, strict=False) if at == table)

    def _leads(self, table: str) -> bool:
        """Whether rows of a table are about people: those of the policy by its word, others by their foreign keys."""
        reached, waiting = {table}, [table]
        while waiting:
            found = waiting.pop()
            if found in self.declared:
                if not self.declared[found].public:
                    return True
                continue
            known = self.schema.tables.get(found)
            parents = {key.parent for key in _references(known)} if known is not None else set()
            waiting += parents - reached
            reached |= parents
        return False

    def _same_person(self, table: str, own: str | None, key: ForeignKey) -> bool:
        """Whether a key of several columns refers to a row of the same person: it compares both rows' owners."""
        if key.parent not in self.paths or own is None:
            return False
        theirs, ours = self._own(key.parent), self.paths[table]
        parents = self.paths[key.parent]
        compared = theirs is not None and (own, theirs) in zip(key.columns, key.parent_columns, strict=True)
        ends = (parents[0].parent, parents[0].parent_column) if parents else self.unit
        return compared and bool(ours) and (ours[0].parent, ours[0].parent_column) == ends

    def _shown(self, table: str, own: str | None, key: ForeignKey) -> Iterator[str]:
        """The columns of a key that analysts would see, without those whose values are nobody's secret.

        Of a public table every one counts: without the column its rows are about people all the same.
        """
        spec = self.declared[table]
        referred = {hop.parent_column for path in self.paths.values() for hop in path if hop.parent == table}
        for name in key.columns:
            said = (spec.columns or {}).get(match(name, spec.columns or {}) or "")
            if name != own and (said.owner is None if said is not None else spec.public or name in referred):
                yield name

    def _path(self, table: str, column: str) -> str:
        columns = self.declared[table].columns or {}
        spelt = match(column, columns)
        parts = ("public",) if spelt is None else ("columns", spelt)
        return join("tables", self.names[table], *parts)

    def _text(self, table: str, own: str | None, column: str, key: ForeignKey) -> str:
        target = f"{key.parent}.{key.parent_columns[key.columns.index(column)]}"
        people = "" if key.parent == self.unit[0] else f", which leads to {'.'.join(self.unit)}"
        if own is None:
            return (
                f"{column} of {table} refers to {target}{people}: its rows are about people, and public gives all of "
                f"them to everybody. Give {table} its unit, or say {column}: {{owner: public}} if it is nobody's secret"
            )
        return (
            f"a row of {table} is about two people: it is protected as that of {own} alone, and {column} refers to "
            f"{target}{people}. Leave {column} out, as where it is the same person anyway, or say {column}: "
            f"{{owner: public}} if its values are nobody's secret. Either way the row protects nobody but its owner"
        )


def _references(table: SchemaTable) -> tuple[ForeignKey, ...]:
    return (*table.foreign_keys, *table.loose_keys)
