"""The keys that a policy relies on, and what stands behind each of them.

Guarantee: whatever ownership or a sensitivity rests on is true of every state that the database can be in while it is
open: a constraint of the database (which is watched), or a look at rows that cannot change. A key that is only claimed
of people's rows says where people are clipped, and of a public table's rows the bounded SQL reads one of each key.
What is not so is an error, and the policy is not opened.

Why the key of a chain has to be certain: where two people's orders share a number, their items belong to both, and no
choice between the two is free of the other's rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dpsql.engines import Look, Schema, SchemaTable, match, suggestion
from dpsql.policy.policy import TableSection
from dpsql.policy.problem import Problem, join
from dpsql.policy.unit_path import unfit
from rewriter.declared import Hop

Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """Columns that the policy takes for a key of a table, in the database's names, without a constraint behind it.

    ``lasting``: the key has to hold even after rows change, so that a look at rows that can change does not help.

    >>> Claim("orders", ("id",)) == Claim("orders", ("id",), lasting=True)
    True
    """

    table: str
    columns: Columns
    lasting: bool = field(default=False, compare=False)


Looks = Mapping[Claim, Look | None]
"""What was seen of claims; None where the engine failed. A claim that is not there was not looked at."""


@dataclass(slots=True)
class KnownKeys:
    """The keys of one table: ``certain`` whatever happens, ``claimed`` by the owner's word, and those by which a public
    table is read one row each."""

    certain: list[Columns] = field(default_factory=list)
    claimed: list[Columns] = field(default_factory=list)
    one_row_of: list[Columns] = field(default_factory=list)


@dataclass(slots=True)
class UniqueKeys:
    """The known keys of the declared tables, by the database's name of each table.

    ``names`` are the policy's names of the tables; ``problems`` collects the problems, ``claims`` the keys that are
    relied on without a constraint.
    """

    schema: Schema
    declared: Mapping[str, TableSection]
    names: Mapping[str, str]
    unit: tuple[str, str] | None
    paths: Mapping[str, tuple[Hop, ...]]
    looks: Looks
    problems: list[Problem]
    claims: list[Claim] = field(default_factory=list)
    known: dict[str, KnownKeys] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = {real: KnownKeys() for real in self.paths}
        for real in self.paths:
            for place, key in enumerate(self.declared[real].key or ()):
                self._declared(real, key, place)
        if self.unit is not None:
            self._people(*self.unit)
        for child, hop in self._chains():
            self._parent(child, hop)

    def _declared(self, real: str, key: Columns, place: int) -> None:
        """A key by its own word, ``key``."""
        table, spec = self.schema.tables[real], self.declared[real]
        path = join("tables", self.names[real], "key", *([place] if len(spec.key or ()) > 1 else []))
        columns = self._columns(table, key, path)
        if columns is None or _enforced(table, columns):
            return
        look = self._look(Claim(real, columns))
        what = f"{real}.{columns[0]}" if len(columns) == 1 else f"({', '.join(columns)}) of {real}"
        if look is None:
            self.problems.append(Problem(path, f"{_unseen(what)}: declare it UNIQUE there, or remove it here"))
        elif look.repeats:
            self.problems.append(Problem(path, f"rows share values of {what}, so it is no key: remove it"))
        elif look.nulls:
            self.problems.append(Problem(path, f"rows have NULL in {what}, so it is no key: remove it"))
        elif look.lasting:
            self.known[real].certain.append(columns)
        elif not spec.public:
            self.known[real].claimed.append(columns)
        elif (loose := next((table.columns[name] for name in columns if not table.columns[name].exact), None)) is None:
            self.known[real].certain.append(columns)
            self.known[real].one_row_of.append(columns)
        else:
            self.problems.append(Problem(path, f"{real}.{loose.name} {unfit(loose)}"))

    def _columns(self, table: SchemaTable, key: Columns, path: str) -> Columns | None:
        found: list[str] = []
        for name in key:
            real = match(name, table.columns)
            if real is None:
                message = f"{table.name} has no column {name}: {suggestion(name, table.columns)}"
            elif table.columns[real].type is None:
                message = f"the type {table.columns[real].engine_type} of {name} is not supported"
            else:
                found.append(real)
                continue
            self.problems.append(Problem(path, message))
        return tuple(found) if len(found) == len(key) else None

    def _people(self, real: str, column: str) -> None:
        """The people's own key: one row each, unless the owner says how many."""
        if real not in self.paths or self.declared[real].max_rows is not None:
            return
        if self.schema.tables[real].is_unique(column):
            return
        look = self._look(Claim(real, (column,)))
        if look is not None and look.repeats:
            text = f"rows share values of {real}.{column}, the key of the people"
            hint = "declare max_rows if a person has several rows, or name a key that is unique"
            self.problems.append(Problem(join("tables", self.names[real]), f"{text}: {hint}"))
        elif look is not None and look.lasting:
            self.known[real].certain.append((column,))

    def _chains(self) -> Iterator[tuple[str, Hop]]:
        """Every step that does not end at the people's own key, with the table that goes it."""
        for child, path in self.paths.items():
            for hop in path[:1]:
                if self.unit is not None and (hop.parent, hop.parent_column, hop.also) != (*self.unit, ()):
                    yield child, hop

    def _parent(self, child: str, hop: Hop) -> None:
        """A key on the way to the unit: a row of the child belongs to one person because it is one."""
        parent = self.schema.tables[hop.parent]
        if _enforced(parent, hop.parent_columns):
            return
        claim = Claim(hop.parent, hop.parent_columns, lasting=True)
        look = self._look(claim)
        if look is not None and look.lasting and not look.repeats:
            self.known[hop.parent].certain.append(claim.columns)
            return
        columns = ", ".join(hop.parent_columns)
        key = f"({columns}) of {hop.parent}" if hop.also else f"{hop.parent}.{columns}"
        if look is None:
            text, hint = _unseen(key), f"declare it UNIQUE, or give {child} a column with the person's own key"
        elif look.repeats:
            text = f"rows share values of {key}, so that a row of {child} belongs to two people"
            hint = f"name a key of {hop.parent} that is unique, or a way of {child} that does not lead through it"
        else:
            text = (
                f"nothing keeps {key} unique: if two rows shared a value, a row of {child} would belong to two people"
            )
            hint = f"add UNIQUE ({columns}) to the table {hop.parent}"
            if parent.view:
                hint = f"{hop.parent} is a view: name a table, or give {child} a column with the person's own key"
        self.problems.append(Problem(join("tables", self.names[child], "unit"), f"{text}: {hint}"))

    def _look(self, claim: Claim) -> Look | None:
        if claim not in self.claims:
            self.claims.append(claim)
        return self.looks.get(claim, Look(repeats=False, nulls=False, lasting=False))


def _enforced(table: SchemaTable, columns: Columns) -> bool:
    """Whether a constraint makes these columns a key, or some of them."""
    return any(table.is_unique(name) for name in columns) or any(
        key <= frozenset(columns) for key in table.composite_keys
    )


def _unseen(what: str) -> str:
    return f"whether {what} is a key could not be seen"
