"""How each private table reaches the privacy unit: the declared steps, or the database's only foreign-key path.

Guarantee: a path that comes back starts at its table, ends at the key of the privacy unit, and joins columns of one
type, so that no join of it can raise.

People need not have a table of their own: the privacy unit may be a column of which a person has several rows (the
patient of each stay), and other tables refer to one of these rows by its own key. Such a path ends at that row, and
its last step is from the row to the person that it names itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dpsql.engines import ForeignKey, Schema, SchemaColumn, SchemaTable, Way, match, match_table, suggestion
from dpsql.policy.policy import TableSection
from dpsql.policy.problem import Problem, join
from rewriter.declared import Hop, Kind, When

MAX_HOPS = 8


class _Lost(Exception):
    """A table without a path; what is wrong was reported where it was found."""


@dataclass(slots=True)
class UnitPaths:
    """The paths of the tables that a policy declares, found once each.

    ``declared`` holds what the policy says of each table, ``names`` how the policy spells it; both by the database's
    name of the table. ``problems`` collects what is wrong.
    """

    schema: Schema
    declared: Mapping[str, TableSection]
    names: Mapping[str, str]
    unit: tuple[str, str]
    problems: list[Problem]
    _found: dict[str, tuple[Hop, ...] | None] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _others: dict[str, tuple[Hop, ...]] = field(default_factory=dict)

    def of(self, table: str) -> tuple[Hop, ...] | None:
        """The path of ``table``; None where there is none, and then a problem was reported."""
        if table not in self._found:
            self._open.append(table)
            try:
                self._found[table] = self._resolve(table)
            except _Lost:
                self._found[table] = None
            finally:
                self._open.pop()
        return self._found[table]

    def _resolve(self, table: str) -> tuple[Hop, ...]:
        ways = self.declared[table].unit
        if table == self.unit[0]:
            if ways is not None:
                raise self._report(table, "this is the table of the privacy unit itself: remove unit")
            return ()
        if ways is None:
            return self._only_path(table)
        path, *others = ways
        found = self._follow(table, path)
        self._others[table] = tuple(self._follow(table, other)[0] for other in others)
        return found

    def others(self, table: str) -> tuple[Hop, ...]:
        """The first steps of the other ways that the policy says of a table, in the database's names."""
        return self._others.get(table, ())

    def _follow(self, table: str, steps: tuple[Hop, ...]) -> tuple[Hop, ...]:
        """The declared ``steps``, continued by the path of the table that they end at."""
        path: list[Hop] = []
        current = table
        for step in steps:
            if path and (path[-1].parent, path[-1].parent_column) == self.unit:
                raise self._report(table, f"the privacy unit is reached before '{step!s}': remove that step")
            path.append(self._step(table, current, step))
            current = path[-1].parent
        last = path[-1]
        if last.parent == self.unit[0]:
            if (last.parent, last.parent_column) != self.unit or last.also:
                path.append(self._itself)
            self._same_way(table, path)
            return tuple(path)
        unit = ".".join(self.unit)
        if last.parent in self._open:
            raise self._report(table, f"goes round in a circle: {' -> '.join([*self._open, last.parent])}")
        rest = self.of(last.parent)
        if rest is None:
            raise self._report(table, f"ends at {last.parent}, which has no way to {unit} itself")
        whole = [*path, *rest]
        self._same_way(table, whole)
        return tuple(whole)

    @property
    def _itself(self) -> Hop:
        """The step from a row of people to the person that it names itself."""
        return Hop(self.unit[1], *self.unit, enforced=True)

    def _same_way(self, table: str, path: list[Hop]) -> None:
        """Behind its first step a way is that of the table it has come to, so that joined rows have one owner."""
        for place, hop in enumerate(path[:-1], start=1):
            theirs, ours = self.of(hop.parent), tuple(path[place:])
            if hop.parent == self.unit[0]:
                theirs = (self._itself,)
            if hop.parent in self._open or theirs is None:
                raise self._report(table, f"leads through {hop.parent}, which has no way of its own")
            if theirs != ours:
                text = f"goes on from {hop.parent} by '{ours[0]!s}', and the rows of {hop.parent} belong to people"
                raise self._report(table, f"{text} by '{theirs[0]!s}': end at {hop.parent}, or change its unit")

    def _step(self, table: str, current: str, step: Hop) -> Hop:
        """One step in the database's names, with what the database declares of it."""
        child = self.schema.tables[current]
        parent_name = match_table(step.parent, self.declared) or self._declared_as(step.parent)
        if parent_name is None:
            message = f"the table {step.parent} is not declared under tables: add it ('columns: {{}}' is enough)"
            if match_table(step.parent, self.schema.tables) is None:
                message = f"the database has no table {step.parent}: {suggestion(step.parent, self.schema.tables)}"
            raise self._report(table, message)
        if self.declared[parent_name].public:
            raise self._report(table, f"{step.parent} is public, so nobody's rows are reached through it")
        parent = self.schema.tables[parent_name]
        pairs = [(self._column(table, child, ours), self._column(table, parent, theirs)) for ours, theirs in step.pairs]
        for ours, theirs in pairs:
            self._joinable(table, child, ours, parent, theirs)
        (column, parent_column), *also = pairs
        when = None if step.when is None else self._condition(table, child, column, step.when)
        hop = Hop(column, parent_name, parent_column, also=tuple(also), when=when)
        hop = replace(hop, enforced=_enforces(child, hop))
        self._advise(table, hop)
        return hop

    def _condition(self, table: str, owner: SchemaTable, column: str, when: When) -> When:
        """The condition of a way of some rows, in the database's names. Analysts have to be able to say it."""
        found = self._column(table, owner, when.column)
        for name in (column, found):
            spec = self.declared[table].columns or {}
            spelt = match(name, spec)
            if spelt is None:
                raise self._report(table, f"no statement can say 'when {when}': name {name} under columns, too")
            if spec[spelt].owner is not None:
                raise self._report(table, f"{name} is said to be other people's: remove its owner, or this way")
        kind = owner.columns[found].type
        wanted = Kind.INTEGER if isinstance(when.value, int) else Kind.TEXT
        if kind is None or kind.kind is not wanted:
            raise self._report(table, f"{found} is {owner.columns[found].engine_type}, and {when.literal} is not")
        return When(found, when.value)

    def _declared_as(self, name: str) -> str | None:
        """The database's name of a table that the policy spells with its schema."""
        return next((real for real, spelt in self.names.items() if spelt == name), None)

    def _column(self, table: str, owner: SchemaTable, name: str) -> str:
        found = match(name, owner.columns)
        if found is None:
            raise self._report(table, f"{owner.name} has no column {name}: {suggestion(name, owner.columns)}")
        return found

    def _joinable(self, table: str, child: SchemaTable, column: str, parent: SchemaTable, parent_column: str) -> None:
        """Columns of two types would be compared by a cast, and a cast that fails tells of a row."""
        one, other = child.columns[column], parent.columns[parent_column]
        for owner, found in ((child, one), (parent, other)):
            if (why := unfit(found)) is not None:
                raise self._report(table, f"{owner.name}.{found.name} {why}")
        if not joinable(one, other):
            types = f"{column} is {one.engine_type} and {parent.name}.{parent_column} is {other.engine_type}"
            raise self._report(table, f"{types}: a foreign key needs one type")

    def _advise(self, table: str, hop: Hop) -> None:
        if not hop.enforced and hop.when is None:
            text = f"the database does not declare the foreign key '{hop!s}': rows without a match are left out,"
            self.problems.append(Problem(self._path(table), f"{text} by a join that takes time", "warning"))

    def _only_path(self, table: str) -> tuple[Hop, ...]:
        """The only way that the database's foreign keys lead, each table on it going its own."""
        steps = self._first_steps(table)
        unit = ".".join(self.unit)
        if not steps:
            hint = "add 'unit: column -> table.column', or 'public: true' if no row is about a person"
            raise self._report(table, f"no foreign key leads to {unit}: {hint}", key="")
        if len(steps) > 1:
            ways = "; ".join(map(str, steps[:3]))
            text = (
                f"{len(steps)} foreign keys lead to {unit}, so that a row may be about several people: {ways}. Choose"
            )
            raise self._report(
                table, f"{text} the one whose person is protected as unit, and see what check says", key=""
            )
        (hop,) = steps
        if hop.parent not in self.declared:
            message = f"its path to {unit} leads through {hop.parent}: declare that table, too ('columns: {{}}')"
            raise self._report(table, message, key="")
        self._joinable(table, self.schema.tables[table], hop.column, self.schema.tables[hop.parent], hop.parent_column)
        if (hop.parent, hop.parent_column) == self.unit:
            return (hop,)
        rest = self.of(hop.parent)
        if rest is None:
            raise self._report(table, f"leads through {hop.parent}, which has no way to {unit} itself", key="")
        return (hop, *rest)

    def _first_steps(self, table: str) -> list[Hop]:
        """The foreign keys of a table that lead to the unit, without those whose people are nobody's secret."""
        columns = self.declared[table].columns or {}
        open_ = {name.lower() for name, column in columns.items() if column.owner is not None}
        public = tuple(name for name, spec in self.declared.items() if spec.public)
        paths = foreign_key_paths(self.schema, table, self.unit, (*self._open, *public))
        return list(dict.fromkeys(path[0] for path in paths if path[0].column.lower() not in open_))

    def _path(self, table: str, key: str = "unit") -> str:
        return join("tables", self.names[table], *([key] if key else []))

    def _report(self, table: str, message: str, key: str = "unit") -> _Lost:
        self.problems.append(Problem(self._path(table, key), message))
        return _Lost()


def foreign_key_paths(
    schema: Schema, table: str, unit: tuple[str, str], seen: tuple[str, ...]
) -> Iterator[tuple[Hop, ...]]:
    """Every path of declared single-column foreign keys that visits no table twice."""
    for key in schema.tables[table].foreign_keys:
        if len(key.columns) != 1 or key.parent in seen or key.parent not in schema.tables:
            continue
        hop = Hop(key.columns[0], key.parent, key.parent_columns[0], enforced=True)
        if (hop.parent, hop.parent_column) == unit:
            yield (hop,)
        elif len(seen) < MAX_HOPS:
            for rest in foreign_key_paths(schema, hop.parent, unit, (*seen, hop.parent)):
                yield (hop, *rest)


def unfit(key: SchemaColumn) -> str | None:
    """Why a column cannot hold the keys of people; None where it can. Two keys that are read as one would join the rows
    of two people; one person whose key has two spellings would be two.

    >>> from rewriter.declared import INTEGER
    >>> unfit(SchemaColumn("id", "interval", None))
    'has the type interval, which is no key: equal values may be spelt in several ways; use integers, a text or a uuid'
    >>> unfit(SchemaColumn("id", "integer", INTEGER)) is None
    True
    """
    if key.type is None or not key.type.keyed:
        text = "equal values may be spelt in several ways; use integers, a text or a uuid"
        return f"has the type {key.engine_type}, which is no key: {text}"
    if key.exact:
        return None
    better = ", such as numeric(38,0)" if key.engine_type.lower().startswith("numeric") else ""
    return f"has the type {key.engine_type}, of which two keys may be read as one: give it one that is exact{better}"


def joinable(one: SchemaColumn, other: SchemaColumn) -> bool:
    """Whether two columns can be compared without a cast that may fail."""
    if one.type is None or other.type is None:
        return False
    if one.engine_type.lower() == other.engine_type.lower():
        return True
    if one.type.kind is Kind.TEXT:
        return other.type.kind is Kind.TEXT and all(_is_plain_text(found.engine_type) for found in (one, other))
    if one.type.kind is other.type.kind is Kind.DECIMAL:
        types = (one.type, other.type)
        if "money" in (one.engine_type, other.engine_type):
            return False  # PostgreSQL does not compare it with a numeric.
        return max(kind.precision - kind.scale for kind in types) + max(kind.scale for kind in types) <= 38
    return one.type.kind is other.type.kind


def _enforces(child: SchemaTable, hop: Hop) -> bool:
    return any(
        key.parent == hop.parent and set(zip(key.columns, key.parent_columns, strict=True)) == set(hop.pairs)
        for key in child.foreign_keys
    )


def steps_of(path: Sequence[Hop]) -> Way:
    """A path as the foreign keys along it. A row of people names its person itself: that is no step."""
    rows = path[:-1] if len(path) > 1 and path[-2].parent == path[-1].parent else path
    return tuple(key_of(hop) for hop in rows)


def key_of(hop: Hop) -> ForeignKey:
    return ForeignKey(hop.columns, hop.parent, hop.parent_columns, when=hop.when)


def _is_plain_text(engine_type: str) -> bool:
    return engine_type.lower().split("(")[0].strip() in ("varchar", "text", "string", "character varying")
