"""Columns that may name people whom nothing protects, though no foreign key says so: hints, and no proof of anything.

What is known, by foreign keys and by the policy's own ways, is the matter of :mod:`dpsql.policy.other_people`, and an
error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from dpsql.engines import PEOPLE, Schema, SchemaTable, match
from dpsql.policy.declared_catalog import Fit
from dpsql.policy.policy import ColumnSection as DeclaredColumn
from dpsql.policy.policy import Policy
from dpsql.policy.policy import TableSection as DeclaredTable
from dpsql.policy.problem import Problem, join
from dpsql.policy.unit_path import joinable
from rewriter.declared import Hop, Table

_WORD = "leave it out, or say {owner: public}"


def spoken(spec: DeclaredTable, table: Table) -> Iterator[tuple[str, DeclaredColumn]]:
    """The policy's declarations of columns, by the database's names."""
    for name, column in (spec.columns or {}).items():
        real = match(name, table.columns)
        if real is not None:
            yield real, column


def unsaid(policy: Policy, schema: Schema, found: Fit) -> list[tuple[str, str]]:
    """Columns of people's tables that could be compared with the key of the people, and whose values neither the policy
    nor the database explains: by table and column."""
    unit = found.catalog.unit
    if unit is None or unit[0] not in found.catalog.tables:
        return []
    key = schema.tables[unit[0]].columns[unit[1]]
    return [
        (real, name)
        for real, table in found.catalog.tables.items()
        for name, said in spoken(policy.tables[found.names[real]], table)
        if said == DeclaredColumn()
        and not table.public
        and (real, name) != unit
        and not _is_explained(schema.tables[real], table, name)
        and joinable(schema.tables[real].columns[name], key)
    ]


def _is_explained(source: SchemaTable, table: Table, name: str) -> bool:
    """Whether a column is the table's own key, its way to the unit, or refers to something by a foreign key."""
    referring = {column for key in source.references for column in key.columns}
    return (
        table.columns[name].unique
        or name in referring
        or name in {own for hop in (*table.path[:1], *table.ways_when) for own in hop.columns}
    )


def hints(policy: Policy, schema: Schema, found: Fit, referring: Collection[tuple[str, str]]) -> Iterator[Problem]:
    """Columns that the owner should look at. ``referring`` are columns of which every value is the key of somebody."""
    ways = {
        hop.column.lower(): (name, hop)
        for name, other in found.catalog.tables.items()
        for hop in other.path[:1]
        if not hop.also
    }
    for real, table in found.catalog.tables.items():
        if table.public:
            continue
        own = {name for hop in (*table.path[:1], *table.ways_when) for name in hop.columns}
        said = {name for name, column in spoken(policy.tables[found.names[real]], table) if column.owner is not None}
        for name in table.columns:
            if name in own | said:
                continue
            text = _Hint(schema.tables[real], name, found, ways).text((real, name) in referring)
            if text:
                yield Problem(join("tables", found.names[real], "columns", name), text, "warning")


@dataclass(frozen=True, slots=True)
class _Hint:
    """A column of a table of people, and the columns that lead to people elsewhere, by their names."""

    source: SchemaTable
    name: str
    found: Fit
    ways: Mapping[str, tuple[str, Hop]]

    def text(self, refers: bool) -> str:
        parent = next((key.parent for key in self.source.references if self.name in key.columns), None)
        if parent is not None:
            return self._of_key(parent)
        if refers:
            unit = ".".join(self.found.catalog.unit or ())
            return f"every value is one of {unit}: if it names other people, {_WORD}"
        table, hop = self.ways.get(self.name.lower(), ("", None))
        if hop is None or (hop.parent, hop.parent_column) == (self.source.name, self.name):
            return ""
        return f"is named like {table}.{hop.column}, which leads to people: if it names other people, {_WORD}"

    def _of_key(self, parent: str) -> str:
        """The hint about a foreign key that does not lead to the people of the policy."""
        if self.found.catalog.unit is None:
            text = f"refers to {parent}: whoever is in several rows by it is protected in one row at a time"
            return f"{text}. Name the key of the people as privacy_unit"
        if parent in self.found.catalog.tables or not PEOPLE.search(parent):
            return ""
        return f"refers to {parent}, whose rows may be people, and this policy does not protect them: {_WORD}"
