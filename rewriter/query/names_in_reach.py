"""Names in reach of one SELECT, by PostgreSQL's rules: items of FROM, merged columns, and the SELECTs around it.

A lookup that has no single result raises :class:`NoRule`: the statement then stays as it was written, and whoever
reads it next says what is wrong with it, at its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from sqlglot import exp
from sqlglot.dialects import DuckDB, Postgres

from rewriter.dialects import Fact
from rewriter.expressions import in_place_of
from rewriter.statement import folded

_PLAIN = re.compile("[a-z_][a-z_0-9]*")
_WORDS = frozenset(Postgres.Tokenizer.KEYWORDS) | frozenset(DuckDB.Tokenizer.KEYWORDS)


_R = TypeVar("_R")


class NoRule(Exception):
    """Something that the binder has no rule for."""


class NoColumn(NoRule):
    """A name that is no column of anything in reach."""


class SeveralColumns(NoRule):
    """A name that several columns in reach have."""


BEFORE_COMMA: Fact[bool] = Fact("before a comma")
"""On a column in the ON of a JOIN that an item of FROM before a comma has, which that ON does not see."""
UNKNOWN: Fact[bool] = Fact("no column")
"""On a column that there is none of: so says who answers the statement, unless something else is wrong before."""
AMBIGUOUS: Fact[bool] = Fact("several columns")
"""On a name of several columns, likewise."""


class TableName(str):
    """A column's name that no statement wrote, but a policy's table has, or a star that stands for it: a name without
    quotes means it in any case."""

    __slots__ = ()


@dataclass(eq=False, slots=True)
class FromItem:
    """One item of FROM. ``columns`` are its own names in order, by the name that they are called by. ``twins`` are
    columns whose name another one has before them, with this name: nothing but a star means them.
    """

    identifier: exp.Identifier
    columns: Mapping[str, str]
    twins: Mapping[str, str] = field(default_factory=dict)
    _lower: dict[str, list[str]] | None = None

    @property
    def name(self) -> str:
        return folded(self.identifier)

    def find(self, name: exp.Expr) -> str | None:
        """The column of this item that an identifier means; None where there is none."""
        wanted = folded(name)
        if wanted in self.twins.values():
            raise NoRule
        own = None if wanted in self.twins else self.columns.get(wanted)
        if own is not None or name.args.get("quoted"):
            return own
        if self._lower is None:
            self._lower = {}
            for one, own in self.columns.items():
                if isinstance(shown := self.twins.get(one, one), TableName):
                    self._lower.setdefault(shown.lower(), []).append(own)
        return one_of(self._lower.get(wanted, ()))

    def shown(self) -> Iterator[tuple[str, str]]:
        """What a star stands for: the columns' names, and their own ones."""
        return ((self.twins.get(own, name), own) for name, own in self.columns.items())


Column = tuple[FromItem, str]
Reference = tuple[Column, ...]
"""A column, or the first of several that is not NULL: what FULL JOIN … USING merges."""


@dataclass(eq=False, slots=True)
class JoinedItems:
    """Items between two commas of FROM. ``merged`` are the columns of USING, the last join's first; ``hidden`` are the
    columns behind them, which need their table's name."""

    items: list[FromItem]
    merged: dict[str, Reference] = field(default_factory=dict)
    hidden: set[tuple[int, str]] = field(default_factory=set)

    def find(self, name: exp.Expr) -> Iterator[Reference]:
        found = self.merged.get(folded(name))
        if found is not None:
            yield found
        for item in self.items:
            own = item.find(name)
            if own is not None and (id(item), own) not in self.hidden:
                yield ((item, own),)

    def star(self) -> Iterator[tuple[str, Reference]]:
        yield from self.merged.items()
        for item in self.items:
            for name, own in item.shown():
                if (id(item), own) not in self.hidden:
                    yield name, ((item, own),)

    def merge(self, names: Iterable[exp.Expr], other: FromItem, side: str) -> list[tuple[Reference, Reference]]:
        """Join ``other`` by the columns of USING; the pairs that are equal."""
        pairs: list[tuple[Reference, Reference]] = []
        merged: dict[str, Reference] = {}
        for name in names:
            left, own = one_of(self.find(name)), other.find(name)
            if left is None or own is None:
                raise NoRule
            right: Reference = ((other, own),)
            pairs.append((left, right))
            merged[folded(name)] = {"RIGHT": right, "FULL": (*left, *right)}.get(side, left)
            self.hidden |= {(id(item), column) for item, column in (*left, *right)}
        self.merged = merged | {name: one for name, one in self.merged.items() if name not in merged}
        self.items.append(other)
        return pairs


@dataclass(eq=False, slots=True)
class InReach:
    """What expressions of a SELECT see. ``parent`` is that of the SELECT around it."""

    parts: Sequence[JoinedItems]
    parent: InReach | None = None

    def local(self, name: exp.Expr) -> Reference | None:
        """The column of FROM that a name without a table means."""
        return one_of(one for part in self.parts for one in part.find(name))

    def has(self, name: exp.Expr) -> bool:
        """Whether FROM has a column of this name, or several."""
        return any(True for part in self.parts for _ in part.find(name))

    def resolve(self, node: exp.Column) -> Reference:
        """The column that a reference means, in the nearest SELECT that has one."""
        table = node.args.get("table")
        if node.args.get("db") is not None or not isinstance(node.this, exp.Identifier):
            raise NoRule
        scope: InReach | None = self
        while scope is not None:
            if table is None:
                found = scope.local(node.this)
                if found is not None:
                    return found
            else:
                item = scope.item(table)
                if item is not None:
                    own = item.find(node.this)
                    if own is None:
                        raise NoColumn
                    return ((item, own),)
            scope = scope.parent
        raise NoRule if table is not None else NoColumn

    def item(self, table: exp.Expr) -> FromItem | None:
        name = folded(table)
        return next((item for part in self.parts for item in part.items if item.name == name), None)

    def star(self, table: exp.Expr | None) -> list[tuple[str, Reference]]:
        """The columns that ``*`` or ``table.*`` stands for, with their names."""
        if table is None:
            return [one for part in self.parts for one in part.star()]
        item = self.item(table)
        if item is None:
            raise NoRule
        return [(name, ((item, own),)) for name, own in item.shown()]


def one_of(found: Iterable[_R]) -> _R | None:
    """The only result; None where there is none."""
    results = list(found)
    if len(results) > 1:
        raise SeveralColumns
    return results[0] if results else None


@lru_cache(maxsize=4096)
def _needs_quotes(name: str) -> bool:
    """Whether a name without quotes could be read as another one, or as a word of the language."""
    return _PLAIN.fullmatch(name) is None or name.upper() in _WORDS


def spelt(reference: Reference, written: exp.Column | None = None) -> exp.Expr:
    """A fresh node for a column, in the place of the one that was ``written``."""
    columns: list[exp.Expr] = []
    for item, name in reference:
        own: exp.Expr = exp.Identifier(this=name, quoted=_needs_quotes(name))
        table = exp.Identifier(this=item.identifier.name, quoted=bool(item.identifier.args.get("quoted")))
        if written is not None:
            in_place_of(own, written.this)
            if (named := written.args.get("table")) is not None:
                in_place_of(table, named)
        columns.append(exp.Column(this=own, table=table))
    return columns[0] if len(columns) == 1 else exp.Coalesce(this=columns[0], expressions=columns[1:])
