"""Columns by which a row is about other people than its owner: a receiver beside the sender, a manager, a referrer.

Guarantee: no column that is declared leads to people beside the owner of its row, by a foreign key of the database or
by a way that the policy spells, unless the owner of the data says ``owner: public`` of it. A message belongs to its
sender, and is protected as the sender's alone: ``GROUP BY receiver`` would name a person, with the exact number of
messages but for one sender's worth of noise.

Where such a column leads to the very owner of its row, nobody else is meant: a foreign key of the database that
compares both says so, or a look at rows that cannot change.

What is left out is not read by anybody's query. The rest of such a row is still protected for its owner alone, whatever
else it may say of the other person; that is the owner's choice of ``unit``, and the text says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dpsql.engines import ForeignKey, Schema, Way, match
from dpsql.policy.policy import TableSection
from dpsql.policy.problem import Kind, Problem, join
from dpsql.policy.unit_path import key_of, steps_of
from rewriter.declared import Hop


@dataclass(frozen=True, slots=True)
class Agreement:
    """That no row of a table leads to somebody else by the ``other`` way than by its ``own``, the way to its owner.

    It is a claim about rows: ``people`` is the privacy unit, and the names are the database's.
    """

    table: str
    people: tuple[str, str]
    own: Way
    other: Way

    @property
    def tables(self) -> frozenset[str]:
        """Every table whose rows it is about."""
        return frozenset({self.table, *(step.parent for step in (*self.own, *self.other))})


Agreements = Mapping[Agreement, bool | None]
"""Whether ways agree in rows that cannot change; None where the engine failed. What is not there was not looked at."""


@dataclass(frozen=True, slots=True)
class OtherPeople:
    """The declared tables of a policy, by the database's names, with the ways to their owners."""

    schema: Schema
    declared: Mapping[str, TableSection]
    names: Mapping[str, str]
    unit: tuple[str, str]
    paths: Mapping[str, tuple[Hop, ...]]
    seen: Agreements = field(default_factory=dict)
    said: Mapping[str, tuple[Hop, ...]] = field(default_factory=dict)
    """The first steps of the other ways to the same person that the policy says of tables."""
    of_some: Mapping[str, tuple[Hop, ...]] = field(default_factory=dict)
    """The first steps of ways that the policy says of some rows of tables."""

    def problems(self) -> Iterator[Problem]:
        """Every declared column that leads to other people, and every public table that is about people."""
        for table in self.paths:
            own = self._own(table)
            yield from self._own_word(table, own)
            yield from self._believed(table)
            for key in self.keys(table):
                if self._agree(table, key):
                    continue
                for column in self._shown(table, own, key):
                    kind: Kind | None = "two people" if own is not None else None
                    yield Problem(self._path(table, column), self._text(table, own, column, key), kind=kind)

    def _believed(self, table: str) -> Iterator[Problem]:
        """What was seen of the ways of some rows. Privacy does not rest on them, but a column may name other people."""
        for hop in self.of_some.get(table, ()):
            path, claims = join("tables", self.names[table], "unit"), self._claims(table, key_of(hop)) or []
            seen = [self.seen.get(claim) for claim in claims]
            if False in seen:
                text = f"some rows lead to two different people by '{hop}': remove this way, or mend these rows"
                yield Problem(path, text, kind="two people")
            elif not seen or not all(seen):
                text = (
                    f"'{hop}' is believed: rows that are joined by it, and are two people's, do not meet; "
                    "dpsql check --data counts them"
                )
                yield Problem(path, text, "info")

    def same_people(self, table: str) -> tuple[Hop, ...]:
        """The first steps of the other ways to the owner of a row, along foreign keys whose columns are declared.

        A policy is opened only where these ways lead to nobody else, unless its owner says ``owner: public``.
        """
        own = self._own(table)
        if own is None:
            return ()
        found: dict[str, Hop] = {}
        for hop in self.said.get(table, ()):
            if hop.also and self._are_shown(table, hop.columns) and self._is_key(hop):
                found[str(hop)] = hop
        for key in self._keys(table):
            for column, theirs in zip(key.columns, key.parent_columns, strict=True):
                spelt = match(column, self.declared[table].columns or {})
                said = spelt is not None and (self.declared[table].columns or {})[spelt].owner is None
                whole = len(key.columns) == 1 or (len(key.columns) == 2 and self._same_person(table, own, key))
                if column != own and said and whole and self._is_of_people(key.parent, theirs):
                    found.setdefault(column, Hop(column, key.parent, theirs))
        return tuple(found.values())

    def _are_shown(self, table: str, columns: tuple[str, ...]) -> bool:
        """Whether analysts see these columns, and nobody else is meant by them."""
        spec = self.declared[table].columns or {}
        spelt = [match(name, spec) for name in columns]
        return all(name is not None and spec[name].owner is None for name in spelt)

    def _is_key(self, hop: Hop) -> bool:
        """Whether the database keeps several columns that are referred to unique together."""
        parent = self.schema.tables[hop.parent]
        return any(key <= frozenset(hop.parent_columns) for key in parent.composite_keys)

    def _is_of_people(self, table: str, column: str) -> bool:
        """Whether a column is a key of a table of people."""
        known = table in self.paths and not self.declared[table].public
        return known and ((table, column) == self.unit or self.schema.tables[table].is_unique(column))

    def agreements(self) -> Iterator[Agreement]:
        """The claims on which it rests that a column leads to nobody but the owner of its row, for all such columns."""
        for table in self.paths:
            own = self._own(table)
            for key in self.keys(table) if own is not None else ():
                if any(self._shown(table, own, key)):
                    yield from self._claims(table, key) or ()
            for hop in self.of_some.get(table, ()):
                yield from self._claims(table, key_of(hop)) or ()

    def _agree(self, table: str, key: ForeignKey) -> bool:
        """Whether rows that cannot change were seen to lead to nobody but their owners by a key."""
        claims = self._claims(table, key)
        return bool(claims) and all(self.seen.get(claim) is True for claim in claims or ())

    def _claims(self, table: str, key: ForeignKey) -> list[Agreement] | None:
        """The claims that a key leads to the owner alone; None where it cannot be said which people it leads to."""
        others = None if self._own(table) is None else self._onward((key,), {key.parent})
        if others is None:
            return None
        own = steps_of(self.paths[table])
        return [Agreement(table, self.unit, own, other) for other in others]

    def _onward(self, way: Way, met: set[str]) -> list[Way] | None:
        """Every way to people that goes on as ``way``: by the policy's word, and from other tables by foreign keys."""
        end = way[-1].parent
        if end in self.declared:
            return [(*way, *steps_of(self.paths[end]))] if end in self.paths else None
        found: list[Way] = []
        for key in self.schema.tables[end].references:
            if self._leads(key.parent):
                onward = None if key.parent in met else self._onward((*way, key), met | {key.parent})
                if onward is None:
                    return None
                found += onward
        return found

    def keys(self, table: str) -> Iterator[ForeignKey]:
        """The foreign keys of a table that lead to people beside the owners of its rows."""
        own = self._own(table)
        for key in self._keys(table):
            same = self._is_own_step(table, key) or (
                own in key.columns and (len(key.columns) == 1 or self._same_person(table, own, key))
            )
            if not same and not self._compared(table, own, key) and self._leads(key.parent):
                yield key

    def _is_own_step(self, table: str, key: ForeignKey) -> bool:
        """Whether a key is the first step of the way to the owner, in whatever order it names its columns."""
        pairs = set(zip(key.columns, key.parent_columns, strict=True))
        return any(hop.parent == key.parent and set(hop.pairs) == pairs for hop in self.paths[table][:1])

    def _own(self, table: str) -> str | None:
        """The column that says whose a row is; None for a public table."""
        if table == self.unit[0]:
            return self.unit[1]
        if not self.paths[table]:
            return None
        step = self.paths[table][0]
        return f"({', '.join(step.columns)})" if step.also else step.column

    def _own_word(self, table: str, own: str | None) -> Iterator[Problem]:
        spelt = match(own, self.declared[table].columns or {}) if own is not None else None
        if spelt is not None and (self.declared[table].columns or {})[spelt].owner is not None:
            text = "says whose the row is, and that person is protected: remove owner"
            yield Problem(join("tables", self.names[table], "columns", spelt, "owner"), text)

    def _keys(self, table: str) -> list[ForeignKey]:
        """The keys of a table: the foreign keys of the database, enforced or not, and the steps of the policy's ways.

        A view has no foreign keys: its columns are taken for those of the same name that tables have.
        """
        source = self.schema.tables[table]
        steps = (hop for path in self._ways(table) for hop in path)
        said = [key_of(hop) for hop in (*steps, *self.said.get(table, ()))]
        named = [
            ForeignKey((name,), key.parent, (theirs,))
            for name in (source.columns if source.view else ())
            for other in self.schema.tables.values()
            for key in other.references
            for column, theirs in zip(key.columns, key.parent_columns, strict=True)
            if column == name
        ]
        return list(dict.fromkeys((*source.references, *said, *named)))

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
            parents = {key.parent for key in known.references} if known is not None else set()
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

    def _compared(self, table: str, own: str | None, key: ForeignKey) -> bool:
        """Whether the database enforces of the row that a key refers to that it is the same person's.

        By a key of both columns and no other, since a row with a NULL in any of them is not held to it.
        """
        pairs = set(zip(key.columns, key.parent_columns, strict=True))
        single = len(key.columns) == 1 and self.schema.tables.get(key.parent) is not None
        if not single or not self.schema.tables[key.parent].is_unique(key.parent_columns[0]):
            return False
        return any(
            other.parent == key.parent
            and len(other.columns) == 2
            and pairs < set(zip(other.columns, other.parent_columns, strict=True))
            and self._same_person(table, own, other)
            for other in self.schema.tables[table].foreign_keys
        )

    def _shown(self, table: str, own: str | None, key: ForeignKey) -> Iterator[str]:
        """The columns of a key that analysts would see, without those whose values are nobody's secret.

        Of a public table every one counts: without the column its rows are about people all the same.
        """
        spec = self.declared[table]
        steps = (hop for path in self.paths.values() for hop in path if hop.parent == table)
        referred = {name for hop in steps for name in hop.parent_columns}
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
            f"{{owner: public}} if its values are nobody's secret. Either way the row protects nobody but its owner. "
            f"{self._remedy(table, own, key)}"
        )

    def _remedy(self, table: str, own: str, key: ForeignKey) -> str:
        """The advice about a key that may lead to other people, by the claims that rows were seen to keep."""
        claims = self._claims(table, key) or []
        if any(self.seen.get(claim) is False for claim in claims):
            return "Some rows lead to two different people"
        if any(claim in self.seen for claim in claims):
            return "Whether it is always the same person could not be seen"
        said = self._constraint(table, own, key)
        constraint = f"the constraint {said}, or " if said else ""
        return (
            f"If it is always the same person, {constraint}a DuckDB file of tables, whose rows do not change while it "
            f"is served, lets dpsql see so"
        )

    def _constraint(self, table: str, own: str, key: ForeignKey) -> str | None:
        """A foreign key by which the database itself would keep both people the same, where there is one."""
        theirs = self._own(key.parent) if key.parent in self.paths else None
        if theirs is None or len(key.columns) > 1 or key.parent == self.unit[0]:
            return None
        both = ForeignKey((own, *key.columns), key.parent, (theirs, *key.parent_columns))
        spelt = f"FOREIGN KEY ({', '.join(both.columns)}) REFERENCES {both.parent} ({', '.join(both.parent_columns)})"
        return spelt if self._same_person(table, own, both) else None
