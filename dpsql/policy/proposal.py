"""A first policy from the schema of a database, never from its rows.

Guarantee: the text is a function of names, types and keys alone. It is valid YAML; where a privacy unit was found it
loads as it stands, and answers less, not more, than the owner may later allow. What only the owner can know is marked
``DECIDE``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from dpsql.engines import PEOPLE, Schema, SchemaColumn, SchemaTable, enumerated, holds_texts
from dpsql.policy.first_database import address_of
from dpsql.policy.guessed_keys import with_guessed_keys
from dpsql.policy.other_people import OtherPeople
from dpsql.policy.owner_answers import ColumnAnswer, OwnerAnswers, identifies
from dpsql.policy.policy import TableSection
from dpsql.policy.unit_path import foreign_key_paths, joinable
from rewriter.declared import Hop, Kind

_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_DOTTED = rf"{_WORD}\.{_WORD}"
_STEP = rf"{_WORD} -> {_DOTTED}"
_PATH = r"[A-Za-z0-9_./~@=%+-][A-Za-z0-9_./~@=%+*-]*"
_URL = r"[a-z]+:[A-Za-z0-9_./~@:?=&;%-]+|files"
MAX_LISTED = 100
_MOST_ROWS = "    # DECIDE: the most rows of one person; more are scaled down, and without it COUNT and SUM are refused"
_IF_PUBLIC = "With 'public: true' every analyst has all of its rows for free: only where none is about a person."


def _in_spans(table: SchemaTable) -> Iterator[str]:
    """The bound of a table that grows, where a column may say when its rows were made."""
    times = [one.name for one in table.columns.values() if one.type is not None and one.type.temporal]
    if times:
        yield "    # Where rows are added for years, give a bound that stays true, of spans of the time of a row:"
        yield f"    # time: {_quoted(times[0])}"
        yield "    # max_rows: ? per month, ? per day"
        yield "    # closed_after: ?  # such as 2 days: so late may rows of a day come; then it stands"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A column that may be the key of the people. ``reached_by`` are the tables whose foreign keys lead to it."""

    table: str
    column: str
    reached_by: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


def first_policy(
    schema: Schema,
    database_url: str,
    files: Mapping[str, str] | None = None,
    answers: OwnerAnswers | None = None,
    *,
    name: str = "",
) -> str:
    """The text of a commented policy for the database at ``database_url``, whose tables may be ``files``.

    The owner's answers are not asked again. Files have no name in common: the ledger over them has the ``name`` of the
    policy, so that two policies in one folder, about different people, do not share one.
    """
    answers = answers or OwnerAnswers()
    if files:
        schema = with_guessed_keys(schema)
    candidates = units(schema)
    if answers.unit is not None:
        chosen = Candidate(*answers.unit, _reaching(schema, answers.unit))
        candidates = [chosen, *(one for one in candidates if str(one) != str(chosen))]
    guesses = files and not answers.each_row
    guessed = ["# Files declare no keys: those below are guessed from names.", ""] if guesses else []
    unit = _EACH_ROW if answers.each_row else _unit(candidates, schema)
    lines = [
        *_head(database_url, name if files else ""),
        *guessed,
        *unit,
        *_rest(_PROFILE_OF_ROWS if answers.each_row else _PROFILE),
        "tables:",
    ]
    people = None if answers.each_row or not candidates else candidates[0]
    draft = replace(_Draft.of(schema, people, files or {}), answers=answers)
    shown: set[str] = set()
    for table in schema.tables.values():
        clash = table.name.lower() in shown
        shown.add(table.name.lower())
        lines += ["", *draft.table(table, clash=clash)]
    if not schema.tables:
        lines[-1] = "tables: {}  # DECIDE: the database has no table"
    elif all(line.lstrip().startswith("#") for line in lines[lines.index("tables:") + 1 :] if line):
        lines[lines.index("tables:")] = "tables:  # DECIDE: declare at least one"
    return "\n".join(lines) + "\n"


def people_tables(schema: Schema, unit: tuple[str, str], files: Mapping[str, str] | None = None) -> dict[str, bool]:
    """The tables that a first policy declares for a unit; True where a person may have several rows."""
    if files:
        schema = with_guessed_keys(schema)
    ways = _Draft.of(schema, Candidate(*unit, _reaching(schema, unit)), files or {}).ways
    return {name: bool(way) or not schema.tables[name].is_unique(unit[1]) for name, way in ways.items()}


def _reaching(schema: Schema, unit: tuple[str, str]) -> tuple[str, ...]:
    return tuple(name for name in schema.tables if name != unit[0] and _paths(schema, name, unit))


def units(schema: Schema) -> list[Candidate]:
    """Keys that may identify people, the likeliest first: tables named like people, then those that most tables reach.

    A table that comes to people by way of other people (an invoice's customer has an employee) counts for the others.
    A key that no foreign key refers to counts only if its table is named like people, or is the only one.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for table in schema.tables.values():
        for key in table.foreign_keys:
            if len(key.columns) == 1 and key.parent in schema.tables and _is_plain(key.parent, key.parent_columns[0]):
                found.setdefault((key.parent, key.parent_columns[0]), [])
        if len(table.primary_key) == 1 and (PEOPLE.search(table.name) or len(schema.tables) == 1):
            found.setdefault((table.name, table.primary_key[0]), [])
    for unit, reached in found.items():
        reached += [name for name in schema.tables if name != unit[0] and _paths(schema, name, unit)]
    candidates = [
        Candidate(*unit, tuple(reached))
        for unit, reached in found.items()
        if _is_plain(*unit) and _typed(schema, *unit)
    ]
    return sorted(
        candidates,
        key=lambda unit: (not PEOPLE.search(unit.table), -_nearest(schema, unit), -len(unit.reached_by)),
    )


def _nearest(schema: Schema, unit: Candidate) -> int:
    """How many tables lead to a unit without leading through a table that is named like other people."""
    others = {name for name in schema.tables if name != unit.table and PEOPLE.search(name)}
    ways = {name: _paths(schema, name, (unit.table, unit.column)) for name in unit.reached_by if name not in others}
    return sum(any(not others & {hop.parent for hop in way} for way in found) for found in ways.values())


def _paths(schema: Schema, table: str, unit: tuple[str, str]) -> list[tuple[Hop, ...]]:
    return list(foreign_key_paths(schema, table, unit, (table,)))


def _typed(schema: Schema, table: str, column: str) -> bool:
    found = schema.tables[table].columns.get(column)
    return found is not None and found.type is not None


def _head(database_url: str, name: str) -> Iterator[str]:
    yield "# A first policy, from the schema alone. Marks of DECIDE wait for what only the owner of the data knows."
    yield "# `dpsql check` lists what is missing. A table or column that is not named here does not exist for analysts."
    yield ""
    yield f"database: {_quoted(database_url, _URL)}"
    ledger = _quoted(f"sqlite:{f'{name}.ledger' if name else _ledger(database_url)}", _URL)
    yield f"ledger: {ledger}  # every charge is kept here: back it up, never reset it"
    yield ""


_OF_TEXTS = (
    "    # A CSV file does not say what its columns hold: one without a type: is text. Write for each of them",
    "    # {values: [?, ?]} of texts, or {type: T, range: [?, ?]}, where T is integer, double, date or timestamp.",
)


def _ledger(database_url: str) -> str:
    """A file beside a database file, else one that is named like the database."""
    address = address_of(database_url)
    if address.is_file:
        return os.fspath(PurePath(database_url.removeprefix(f"{address.scheme}:")).with_suffix(".ledger"))
    name = re.sub(r"[^A-Za-z0-9_-]", "", database_url.split("?")[0].rsplit("/", 1)[-1])
    return f"{name or 'dpsql'}.ledger"


_EACH_ROW = (
    "# Whose privacy is kept: each row is about another person.",
    "privacy_unit: row",
)


_MOST_NAMED = 4
_LIKE_A_KEY = re.compile(
    r"(?i:^id|_(id|nr|no|number|key)|^(person|patient|user|client|customer)(nr|no|number))$|[a-z]I[Dd]$"
)


def named_like_keys(schema: Schema) -> list[str]:
    """Columns that are named like the key of somebody, for a person who has several rows of one table."""
    named = [
        f"{table.name}.{name}"
        for table in schema.tables.values()
        for name, column in table.columns.items()
        if column.type is not None and _LIKE_A_KEY.search(name)
    ]
    return list(filter(re.compile(_DOTTED).fullmatch, named))[:_MOST_NAMED]


def _unit(candidates: list[Candidate], schema: Schema) -> Iterator[str]:
    yield "# Whose privacy is kept: the key of the people, or row if each row is about another person."
    if not candidates:
        yield "privacy_unit:  # DECIDE: no key that others refer to was found. Write table.column, or row"
        yield "# This file is written anew with its tables by dpsql init --unit TABLE.COLUMN, or --unit row."
        if named := named_like_keys(schema):
            yield f"# Columns that are named like keys: {', '.join(named)}. A person may have several rows there: then"
            yield "# give max_rows."
        return
    best, *others = candidates
    reach = (
        f"reached by {', '.join(map(_quoted, best.reached_by))}" if best.reached_by else "no foreign key leads to it"
    )
    yield f"privacy_unit: {_quoted(str(best), _DOTTED)}  # DECIDE: {reach}"
    if others:
        yield f"# Other keys that tables refer to: {', '.join(_quoted(str(other), _DOTTED) for other in others[:8])}"


_PROFILE = """\
# What `dpsql profile` pays for each table with a max_rows, once: analysts are then told how much it cuts off.
profile: {epsilon: 0.05}"""
_PROFILE_OF_ROWS = """\
# What `dpsql profile` pays for each column of values, once: analysts are then told how its values lie.
# profile: {epsilon: 0.05, values: [table.column]}"""


def _rest(profile: str) -> Iterator[str]:
    yield from f"""
# The total for these data, for all analysts together and for ever. An epsilon of 1 is strict, 10 is loose;
# delta is far below 1 / number of people.
budget: {{epsilon: 10, delta: 1e-6}}  # DECIDE
# For data that grow, a budget can renew: the promise then holds for each month by itself. What all months say together
# about one person is bounded by lifetime alone; without it, it grows from month to month, without end.
# budget: {{epsilon: 1, delta: 1e-6, per: month, lifetime: {{epsilon: 20, delta: 1e-5}}}}
statement: {{epsilon: 0.1, max_epsilon: 1}}  # default and cap of SET dpsql.epsilon
{profile}

# Who may ask. Without this section, any user on this machine is the one analyst.
# analysts:
#   ana: {{password: 'SCRAM-SHA-256$...', budget: {{epsilon: 3}}}}

# MIN and MAX over people are the ends of a column's declared range, for free; without this line they are
# picked from the data, approximately, at a price.
minmax: declared

# Change this text when the data has changed: answers are reused only within one version.
data_version: '1'
""".splitlines()
    yield ""


@dataclass(frozen=True, slots=True)
class _Draft:
    """The tables of a first policy. ``ways`` are those that it declares, with their steps to the unit."""

    schema: Schema
    unit: Candidate | None
    ways: Mapping[str, tuple[Hop, ...]]
    files: Mapping[str, str]
    answers: OwnerAnswers = field(default_factory=OwnerAnswers)

    @classmethod
    def of(cls, schema: Schema, unit: Candidate | None, files: Mapping[str, str]) -> _Draft:
        """A table is declared where one foreign key leads to the unit, or to a table that is declared itself."""
        if unit is None:
            return cls(schema, None, {}, files)
        ways: dict[str, tuple[Hop, ...]] = {unit.table: ()}
        steps = {name: _first_steps(schema, name, unit) for name in schema.tables if name != unit.table}
        while True:
            found = {
                name: (hop, *ways[hop.parent])
                for name, hops in steps.items()
                for hop in hops
                if name not in ways and len(hops) == 1 and hop.parent in ways
            }
            found = {name: way for name, way in found.items() if _is_walkable(schema, schema.tables[name], way)}
            if not found:
                return cls(schema, unit, ways, files)
            ways |= found

    def table(self, table: SchemaTable, *, clash: bool) -> Iterator[str]:
        """The lines of one table; in comments where the owner has to say first what its rows are."""
        name = _quoted(table.name)
        if clash:
            yield f"  # {name} is left out: another table's name differs only by case."
        elif self.answers.each_row or (table.name in self.ways and self.unit is not None):
            way = self.ways.get(table.name, ())
            yield f"  {name}:"
            if table.name in self.files:
                yield f"    files: {_quoted(self.files[table.name], _PATH)}"
            if self._holds_texts(table):
                yield from _OF_TEXTS
                yield "    # nulls: [NA, '']  # texts that stand for NULL, if any"
            if way:
                guessed = "  # DECIDE: guessed from names" if table.name in self.files else ""
                yield f"    unit: {_steps(way)}{guessed}"
            if way or self._has_several_rows(table):
                if (most := self.answers.max_rows.get(table.name)) is not None:
                    yield f"    max_rows: {most}"
                else:
                    yield _MOST_ROWS
                    yield "    # max_rows: ?"
                    yield from _in_spans(table)
            yield "    columns:"
            yield from self._columns(table)
        else:
            first, *others = self._asked(table)
            yield f"  # DECIDE: {first}"
            yield from (f"  # {line}" for line in others)
            yield f"  # {name}:"
            if table.name in self.files:
                yield f"  #   files: {_quoted(self.files[table.name], _PATH)}"
            yield f"  #   unit: {self._way_to_say(table)}"
            yield "  #   max_rows: ?"
            yield "  #   columns:"
            yield from (f"  #   {line[4:]}" for line in self._columns(table))

    def _has_several_rows(self, table: SchemaTable) -> bool:
        """Whether a person may have several rows in the table that names them: nothing keeps its key from repeating.

        The key of files is a guess. It is believed of a table that is named like people, and of no other: a person of
        ``visits.csv`` comes back.
        """
        if self.unit is None or self.unit.table != table.name:
            return False
        guessed = table.name in self.files and not PEOPLE.search(table.name)
        return guessed or not table.is_unique(self.unit.column)

    def _way_to_say(self, table: SchemaTable) -> str:
        """The unit of a table that is left out so far, as far as it is known."""
        if self.unit is None:
            return "column -> table.column"
        steps = _first_steps(self.schema, table.name, self.unit)
        if len(steps) == 1:
            return _steps((steps[0],))
        unit = _quoted(str(self.unit), _DOTTED)
        named = self.unit.column
        return f"{'column' if steps or not self._named_alike(table) else _quoted(named)} -> {unit}"

    def _named_alike(self, table: SchemaTable) -> bool:
        """Whether a column has the name and a type of the unit's, and leads there for all that is known: not ``id``,
        which is the name of each table's own key."""
        if self.unit is None or table.name == self.unit.table:
            return False
        own = self.schema.tables[self.unit.table].columns.get(self.unit.column)
        here = table.columns.get(self.unit.column)
        if own is None or here is None or self.unit.column.lower() in ("id", "key", "uuid"):
            return False
        return joinable(here, own) and _is_plain(self.unit.table, self.unit.column)

    def _asked(self, table: SchemaTable) -> Iterator[str]:
        """Questions to the owner about a table that is left out so far."""
        name = _quoted(table.name)
        if self.unit is None:
            yield f"whose are the rows of {name}? Give its way to the unit once that is known."
            yield _IF_PUBLIC
            return
        unit = _quoted(str(self.unit), _DOTTED)
        steps = _first_steps(self.schema, table.name, self.unit)
        if len(steps) > 1:
            columns = [_quoted(hop.column) for hop in steps]
            yield f"a row of {name} is about several people, since each of {_listed(columns)} leads to {unit}."
            yield "It can be protected for one of them: give that one as unit. The others are not protected by it:"
            yield "leave their columns out, or write {owner: public} where the values are nobody's secret."
        elif steps:
            yield f"the rows of {name} lead to {unit} through {_quoted(steps[0].parent)}, which is not declared yet."
        else:
            users = [other.name for other in self.schema.tables.values() if _refers(other, table.name)]
            verb = "refers" if len(users) == 1 else "refer"
            said = f", and {_listed(list(map(_quoted, users[:3])))} {verb} to it" if users else ""
            yield f"no foreign key leads from {name} to {unit}{said}."
            if PEOPLE.search(table.name):
                yield "It is named like other people, whom this policy does not protect: leave it out, or give a unit."
                return
            if self._named_alike(table):
                yield f"Its column {_quoted(self.unit.column)} has that name, and seems to be the way to them:"
                yield "say how many rows a person may have, or leave the table out."
                return
            yield "If a row may be about a person, give its way to them as unit."
            yield _IF_PUBLIC

    def _columns(self, table: SchemaTable) -> Iterator[str]:
        """A line for each column."""
        shown: set[str] = set()
        rows: list[tuple[str, str]] = []
        others = self._others(table)
        for column in table.columns.values():
            name = _quoted(column.name)
            if column.type is None:
                rows.append((f"      # {name}: {_quoted(column.engine_type[:60])} is not supported", ""))
            elif column.name.lower() in shown:
                rows.append((f"      # {name}: differs from another only by case", ""))
            elif column.name in others:
                rows.append((f"      # {name}: {{owner: public}}", f"DECIDE: {others[column.name]}"))
            elif identifies(column) and column.name not in self._keys(table):
                rows.append((f"      # {name}: left out, since it is named like what identifies people", ""))
            else:
                shown.add(column.name.lower())
                said = self.answers.columns.get((table.name, column.name))
                domain = _declared(said) if said is not None else _domain(column)
                rows.append((f"      {name}: {domain or '{}'}", "" if domain else self._hint(table, column)))
        width = max((len(left) for left, hint in rows if hint), default=0)
        for left, hint in rows:
            yield f"{left:<{width}}  # {hint}" if hint else left
        if not shown:
            yield "      {}"

    def _others(self, table: SchemaTable) -> dict[str, str]:
        """The columns that lead to people beside the owner of a row, each with what to say of it."""
        if self.unit is None or table.name not in self.ways:
            return {}
        declared = {name: TableSection() for name in self.ways}
        people = OtherPeople(self.schema, declared, {}, (self.unit.table, self.unit.column), self.ways)
        own = self.unit.column if table.name == self.unit.table else self.ways[table.name][0].column
        return {
            name: f"leads to other people by {_quoted(key.parent)}: leave it out if its values are anybody's secret"
            for key in people.keys(table.name)
            for name in key.columns
            if name != own
        }

    def _hint(self, table: SchemaTable, column: SchemaColumn) -> str:
        """A hint of the declarations that fit a column, by its keys and its type."""
        for key in table.foreign_keys:
            if key.columns == (column.name,) and _is_plain(key.parent, *key.parent_columns):
                parent = _quoted(f"{key.parent}.{key.parent_columns[0]}", _DOTTED)
                if key.parent in self.ways or self._leads(key.parent):
                    return ""
                if PEOPLE.search(key.parent):
                    return f"DECIDE: refers to {_quoted(key.parent)}, people whom this policy does not protect"
                return f"DECIDE: {{values_from: {parent}}} if that table is public"
        kind = column.type.kind if column.type else Kind.NULL
        if column.name in self._keys(table):
            return ""
        if column.type is not None and column.type.temporal:
            return "DECIDE: {range: [YYYY-MM-DD, YYYY-MM-DD]}"
        if column.type is not None and column.type.numeric:
            return "DECIDE: {range: [?, ?]}, or {values: [?, ?]} for a code"
        if kind is Kind.TEXT and self._holds_texts(table):
            return "DECIDE"
        if kind is Kind.TEXT:
            return "DECIDE: {values: [?, ?]}, or {values_from: table.column} of a public table"
        return ""

    def _holds_texts(self, table: SchemaTable) -> bool:
        """Whether the table's files say nothing of what its columns hold."""
        return table.name in self.files and holds_texts(self.files[table.name])

    def _leads(self, table: str) -> bool:
        """Whether the rows of a table lead to the unit, declared or not."""
        return (
            self.unit is not None and table in self.schema.tables and bool(_first_steps(self.schema, table, self.unit))
        )

    def _keys(self, table: SchemaTable) -> set[str]:
        """Columns that identify a row or a person: nobody sums them."""
        single = set(table.primary_key) if len(table.primary_key) == 1 else set()
        return single | ({self.unit.column} if self.unit is not None and self.unit.table == table.name else set())


def _first_steps(schema: Schema, table: str, unit: Candidate) -> list[Hop]:
    """The foreign keys of a table that lead to the unit."""
    return list(dict.fromkeys(path[0] for path in _paths(schema, table, (unit.table, unit.column))))


def _refers(table: SchemaTable, name: str) -> bool:
    return table.name != name and any(key.parent == name for key in table.foreign_keys)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _steps(path: tuple[Hop, ...]) -> str:
    steps = [_quoted(f"{hop.column} -> {hop.parent}.{hop.parent_column}", _STEP) for hop in path]
    return steps[0] if len(steps) == 1 else f"[{', '.join(steps)}]"


def _declared(said: ColumnAnswer) -> str:
    """What an owner says of a column, as a policy spells it.

    >>> _declared(ColumnAnswer("date", ("2020-01-01", "now"))), _declared(ColumnAnswer(values=("DE", "a: b")))
    ('{type: date, range: [2020-01-01, now]}', "{values: [DE, 'a: b']}")
    """
    parts = [f"type: {_quoted(said.type)}"] if said.type else []
    if said.range is not None:
        parts.append(f"range: [{', '.join(said.range)}]")
    if said.values:
        parts.append(f"values: [{', '.join(map(_quoted, said.values))}]")
    return f"{{{', '.join(parts)}}}"


def _domain(column: SchemaColumn) -> str:
    """The values of a type that lists them itself: booleans and enumerations."""
    values: list[str] = []
    if column.type is not None and column.type.kind is Kind.BOOLEAN:
        values = ["true", "false"]
    elif column.type is not None and (labels := enumerated(column.engine_type)) is not None:
        values = [_quoted(label) for label in labels]
    if not 1 <= len(values) <= MAX_LISTED:
        return ""
    return f"{{values: [{', '.join([*values, *([] if column.not_null else ['null'])])}]}}"


def _is_walkable(schema: Schema, table: SchemaTable, path: tuple[Hop, ...]) -> bool:
    """Whether the policy can spell the path and the rewriter can join along it."""
    for hop in path:
        parent = schema.tables[hop.parent]
        one, other = table.columns.get(hop.column), parent.columns.get(hop.parent_column)
        if one is None or other is None or not joinable(one, other):
            return False
        if not _is_plain(hop.column, hop.parent, hop.parent_column):
            return False
        table = parent
    return True


def _is_plain(*names: str) -> bool:
    """Whether names can stand in ``column -> table.column``."""
    return all(name == name.strip() and name and not re.search(r"[.\0]|->", name) for name in names)


def _quoted(text: str, plain: str = _WORD) -> str:
    """``text`` as a YAML scalar on one line, whatever it holds; also what keeps a name inside its comment.

    >>> _quoted("visit"), _quoted("a\\nb: c")
    ('visit', '"a\\\\nb: c"')
    """
    if re.fullmatch(plain, text) and text.lower() not in ("null", "true", "false", "yes", "no", "on", "off", "y", "n"):
        return text
    if text.isprintable() and "'" not in text:
        return f"'{text}'"
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return {"\n": "\\n", "\t": "\\t"}.get(character, f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
