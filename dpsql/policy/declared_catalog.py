"""Policy and database together: the catalog, the only facts that the rewriter knows.

Guarantee: what the policy does not name is not in the catalog; what is declared fits the database's own types; and
``nullable`` and ``enforced`` are claims of the database, never of the policy; ``unique`` too, or it was seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.engines import Profile, Schema, SchemaColumn, SchemaTable, enumerated, match, match_table, suggestion
from dpsql.policy import fields
from dpsql.policy import policy as declared
from dpsql.policy.declared_literals import typed, typed_range, typed_step
from dpsql.policy.other_people import Agreement, Agreements, OtherPeople
from dpsql.policy.policy import BOUNDS, Policy
from dpsql.policy.problem import Kind as ProblemKind
from dpsql.policy.problem import PolicyError, Problem, join
from dpsql.policy.unique_keys import Claim, KnownKeys, Looks, UniqueKeys
from dpsql.policy.unit_path import UnitPaths, unfit
from rewriter.declared import (
    MOST_REPORTED,
    Catalog,
    Column,
    Grain,
    Hop,
    Kind,
    Randomization,
    Rappor,
    Response,
    Scalar,
    Spans,
    Table,
    measure,
)

_NOBODY = (
    "no table of people is declared, so that this policy protects nobody: everything in it is public. Declare the "
    "tables whose rows are about people, without public"
)

_TEXTS = re.compile(r"\.(csv|tsv)(\.gz)?$", re.IGNORECASE)
"""The names of files that do not say what their columns hold."""
_UNTYPED = "a column of a CSV file holds texts, unless the policy says its type"


@dataclass(frozen=True, slots=True)
class Fit:
    """How a policy fits a database. ``catalog`` holds what fits; it may be used only if no problem is an error.

    ``names`` maps the database's name of each table to the policy's. ``claims`` are the keys that are relied on without
    a constraint that enforces them. ``agreements`` are the ways that have to lead to the same people.
    """

    catalog: Catalog
    problems: tuple[Problem, ...]
    names: Mapping[str, str]
    claims: tuple[Claim, ...] = ()
    agreements: tuple[Agreement, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")


def catalog(
    policy: Policy,
    schema: Schema,
    public_profiles: Mapping[str, Profile] | None = None,
    looks: Looks | None = None,
    agreed: Agreements | None = None,
    let_pass: Collection[ProblemKind] = (),
) -> Catalog:
    """The catalog of ``policy`` over a database. Raises :class:`dpsql.policy.problem.PolicyError` with every error
    found.

    ``public_profiles`` holds the measured profiles of public tables, by the policy's or the database's name of the
    table. ``looks`` tells whether rows keep to the keys that no constraint enforces, and ``agreed`` whether ways lead
    to the same people. Problems of the kinds ``let_pass`` are ignored: for tests alone, over data that hold no secret.
    """
    found = fit(policy, schema, public_profiles, looks, agreed)
    errors = [problem for problem in found.errors if problem.kind not in let_pass]
    if errors:
        raise PolicyError(errors)
    return found.catalog


def fit(
    policy: Policy,
    schema: Schema,
    public_profiles: Mapping[str, Profile] | None = None,
    looks: Looks | None = None,
    agreed: Agreements | None = None,
) -> Fit:
    """The catalog as far as it goes, and everything that does not fit."""
    problems: list[Problem] = []
    agreements: tuple[Agreement, ...] = ()
    ways: dict[str, tuple[Hop, ...]] = {}
    names = _tables(policy, schema, problems)
    if all(spec.public for spec in policy.tables.values()):
        problems.append(Problem("tables", _NOBODY))
    specs = {real: policy.tables[name] for real, name in names.items()}
    unit = _unit(policy, schema, names, problems)
    paths, said = _paths(policy, schema, specs, names, unit, problems)
    of_some = {real: tuple(hop for hop in hops if hop.when is not None) for real, hops in said.items()}
    if unit is not None:
        of_all = {real: tuple(hop for hop in hops if hop.when is None) for real, hops in said.items()}
        others = OtherPeople(schema, specs, names, unit, paths, agreed or {}, of_all, of_some)
        problems += others.problems()
        ways = {real: others.same_people(real) for real in paths}
        agreements = tuple(dict.fromkeys(others.agreements()))
    keys = UniqueKeys(schema, specs, names, unit, paths, looks or {}, problems)
    tables: dict[str, Table] = {}
    for real, spec in specs.items():
        if real in paths:
            drafted = _Draft(
                policy, real, schema.tables[real], spec, join("tables", names[real]), keys.known[real], problems
            )
            tables[real] = drafted.table(
                paths[real],
                _named(real, unit, paths, of_some),
                _profile(public_profiles or {}, real, names[real]),
                entity=unit is not None and unit[0] == real,
            )
            tables[real] = replace(tables[real], ways=ways.get(real, ()), ways_when=of_some.get(real, ()))
    for real, table in list(tables.items()):
        tables[real] = _with_domains(
            table, schema.tables[real], specs[real], join("tables", names[real]), tables, problems
        )
    problems += _unmet(of_some, tables, names)
    known = Catalog(tables, unit, policy.minmax == "declared", policy.previews != "refuse", policy.limits.rows)
    return Fit(known, tuple(problems), names, tuple(keys.claims), agreements)


def _unmet(
    of_some: Mapping[str, Sequence[Hop]], tables: Mapping[str, Table], names: Mapping[str, str]
) -> Iterator[Problem]:
    """Ways of some rows by which no join is answered, since nothing says that the key they refer to is one row's."""
    for real, hops in of_some.items():
        for hop in hops:
            parent = tables.get(hop.parent)
            key = None if parent is None else parent.columns.get(hop.parent_column)
            if real in tables and (key is None or not key.unique):
                text = f"no join is answered by '{hop}': nothing says that {hop.parent}.{hop.parent_column} is a key"
                hint = f"declare it UNIQUE, or say key: {hop.parent_column} of {hop.parent}"
                yield Problem(join("tables", names[real], "unit"), f"{text}: {hint}", "warning")


def declared_columns(known: Catalog) -> dict[str, tuple[str, ...]]:
    """The tables that a catalog declares, by the database's names, with their columns."""
    return {name: tuple(table.columns) for name, table in known.tables.items()}


def _profile(profiles: Mapping[str, Profile], *names: str) -> Profile | None:
    return next((profiles[name] for name in names if name in profiles), None)


def _tables(policy: Policy, schema: Schema, problems: list[Problem]) -> dict[str, str]:
    """The declared tables that exist: the database's name of each to the policy's name of it."""
    names: dict[str, str] = {}
    for name in policy.tables:
        real = match_table(name, schema.tables)
        path = join("tables", name)
        if real is None:
            problems.append(Problem(path, f"the database has no table {name}: {suggestion(name, schema.tables)}"))
        elif any(real.lower() == other.lower() for other in names):
            problems.append(Problem(path, f"the table {real} is declared twice, or differs only by case from another"))
        else:
            names[real] = name
    return names


def _unit(policy: Policy, schema: Schema, names: Mapping[str, str], problems: list[Problem]) -> tuple[str, str] | None:
    """The privacy unit in the database's names; None under ``row``, and where it does not exist."""
    if policy.privacy_unit is None:
        return None
    name, column = policy.privacy_unit
    table = match_table(name, names) or next((real for real, spelt in names.items() if spelt == name), None)
    if table is None:
        message = f"the table {name} is not declared under tables: add it ('columns: {{}}' is enough)"
        if match_table(name, schema.tables) is None:
            message = f"the database has no table {name}: {suggestion(name, schema.tables)}"
        problems.append(Problem("privacy_unit", message))
        return None
    columns = schema.tables[table].columns
    found = match(column, columns)
    if found is None:
        problems.append(Problem("privacy_unit", f"{table} has no column {column}: {suggestion(column, columns)}"))
        return None
    if policy.tables[names[table]].public:
        problems.append(Problem("privacy_unit", f"{table} is declared public, and its rows are people: remove public"))
        return None
    if (why := unfit(columns[found])) is not None:
        problems.append(Problem("privacy_unit", f"{table}.{found} {why}"))
        return None
    return table, found


def _paths(
    policy: Policy,
    schema: Schema,
    specs: Mapping[str, declared.TableSection],
    names: Mapping[str, str],
    unit: tuple[str, str] | None,
    problems: list[Problem],
) -> tuple[dict[str, tuple[Hop, ...]], dict[str, tuple[Hop, ...]]]:
    """The path of every table that has one; public tables and rows as units have the empty path. Beside them the first
    steps of other ways to the same person, by the policy's word."""
    if policy.privacy_unit is None:
        for real, spec in specs.items():
            for key in ("unit", *BOUNDS):
                if getattr(spec, key) is not None:
                    message = "has no meaning under privacy_unit: row, where each row is its own unit: remove it"
                    problems.append(Problem(join("tables", names[real], key), message))
            source = schema.tables[real]
            hidden = (source.view and not source.numbered) or "rowid" in map(str.lower, source.columns)
            if not spec.public and (hidden or not source.told_apart):
                message = "the rows cannot be told apart: a table without a column rowid is needed, not a view"
                if spec.files is not None:
                    message = (
                        "the rows of a view cannot be told apart: write database: files, or name a key of the people"
                    )
                if not source.told_apart:
                    message = "rows have no identity in this database: name the column that tells people apart"
                problems.append(Problem(join("tables", names[real]), message))
        return dict.fromkeys(specs, ()), {}
    paths: dict[str, tuple[Hop, ...]] = {real: () for real, spec in specs.items() if spec.public}
    if unit is None:
        return paths, {}
    finder = UnitPaths(schema, specs, names, unit, problems)
    for real in specs:
        if real not in paths and (path := finder.of(real)) is not None:
            paths[real] = path
    return paths, {real: finder.others(real) for real in paths}


def _named(
    table: str,
    unit: tuple[str, str] | None,
    paths: Mapping[str, tuple[Hop, ...]],
    of_some: Mapping[str, Sequence[Hop]],
) -> list[str]:
    """Columns of ``table`` that the policy names by naming the unit and the ways to it."""
    found = [unit[1]] if unit is not None and unit[0] == table else []
    found += [name for hop in paths[table][:1] for name in hop.columns]
    found += [name for path in paths.values() for hop in path if hop.parent == table for name in hop.parent_columns]
    found += [hop.parent_column for hops in of_some.values() for hop in hops if hop.parent == table]
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class _Draft:
    """One declared table on its way into the catalog."""

    policy: Policy
    name: str
    source: SchemaTable
    spec: declared.TableSection
    path: str
    keys: KnownKeys
    problems: list[Problem]

    def table(self, path: tuple[Hop, ...], named: Iterable[str], profile: Profile | None, *, entity: bool) -> Table:
        columns: dict[str, Column] = {}
        for name, spec in self._visible().items():
            column = self._column(name, spec, profile, entity=entity)
            if column is not None:
                columns[column.name] = column
        for name in named:
            column = None if name in columns else self._column(name, declared.ColumnSection(), profile, entity=entity)
            if column is not None:
                columns[name] = column
        spans = self._spans(columns)
        most = self.spec.max_rows
        rows = None if most is None else math.ceil(most.rows * (1 if spans is None else spans.count))
        return Table(
            name=self.name,
            columns=columns,
            public=self.spec.public,
            path=path,
            max_rows=rows or (1 if entity else None),
            max_groups=self.spec.max_groups,
            max_rows_per_group=self.spec.max_rows_per_group,
            rows=profile.rows if profile and self.spec.public else None,
            grows=profile is not None and self.spec.public and profile.grows,
            schema=self.source.schema,
            keys=(*self.source.composite_keys, *(frozenset(key) for key in self.keys.certain if len(key) > 1)),
            claimed=tuple(frozenset(key) for key in self.keys.claimed),
            one_row_of=tuple(key for key in self.keys.one_row_of if columns.keys() >= set(key)),
            spans=spans,
            closes=spans is not None and self.spec.closed_after is not None,
            view=self.source.view and self.spec.files is None,
            primary_key=self.source.primary_key if columns.keys() >= set(self.source.primary_key) else (),
        )

    def _spans(self, columns: Mapping[str, Column]) -> Spans | None:
        """The spans of time in which a person's rows are bounded, if they are."""
        spec = self.spec
        if spec.time is None:
            return None
        path, name = join(self.path, "time"), match(spec.time, columns)
        column = None if name is None else columns[name]
        if column is None or not column.type.temporal:
            self.problems.append(Problem(path, f"{spec.time} is no declared column of dates or times"))
            return None
        if column.range is None:
            self.problems.append(Problem(path, f"{column.name} needs a range: it says how many spans there are"))
            return None
        if spec.max_rows is None or spec.max_rows.per is None:
            return None
        low, high = map(measure, column.range)
        more = tuple((per, Fraction(rows, spec.max_rows.rows)) for rows, per in spec.max_rows.more)
        return Spans(column.name, spec.max_rows.per, low, high, more=more)

    def _visible(self) -> Mapping[str, declared.ColumnSection]:
        """The declared columns; of a public table that declares none, every column that has a type."""
        if self.spec.columns is not None:
            return self.spec.columns
        if not self.spec.public:
            return {}
        supported = (
            name for name, column in self.source.columns.items() if column.type is not None and not column.type.nested
        )
        return dict.fromkeys(supported, declared.ColumnSection())

    def _column(
        self, name: str, spec: declared.ColumnSection, profile: Profile | None, *, entity: bool
    ) -> Column | None:
        path = join(self.path, "columns", name)
        real = match(name, self.source.columns)
        if real is None:
            hint = suggestion(name, self.source.columns)
            self.problems.append(Problem(path, f"{self.source.name} has no column {name}: {hint}"))
            return None
        source = self.source.columns[real]
        if source.type is None:
            self.problems.append(Problem(path, f"the type {source.engine_type} is not supported: leave the column out"))
            return None
        if source.type.nested and self.spec.public:
            self.problems.append(
                Problem(
                    path, f"{source.type.one} of a public table is not read: leave it out, or make plain columns of it"
                )
            )
            return None
        values = self._values(source, spec, path)
        law = self._randomized(source, spec, values, path, entity=entity)
        if isinstance(law, Rappor):
            values = None  # Rows hold bits, and no value.
        return Column(
            name=real,
            type=source.type,
            nullable=not source.not_null,
            unique=self._unique(real, profile),
            values=values,
            closed=values is not None and _has_no_other(source, values),
            range=self._range(source, spec, path),
            engine_type=source.engine_type,
            max_distinct=spec.max_distinct,
            max_total=self._max_total(source, spec, path),
            step=self._step(source, spec, path),
            learns_total=not entity and self._learns_total(source, spec),
            grain=self._grain(source, spec, path),
            ahead=self._ahead(source, spec, path),
            randomized=law,
            max_items=self._max_items(source, spec, path),
            seen=profile.seen.get(real) if profile is not None and self.spec.public else None,
        )

    def _randomized(
        self,
        source: SchemaColumn,
        spec: declared.ColumnSection,
        values: tuple[Scalar | None, ...] | None,
        path: str,
        *,
        entity: bool,
    ) -> Randomization | None:
        """The law of a column of reports, one report a person."""
        if spec.randomized is None or values is None or source.type is None:
            return None
        told, path = spec.randomized, join(path, "randomized")
        known = tuple(value for value in values if value is not None)
        kinds = (Kind.TEXT,) if told.rappor is not None else (Kind.TEXT, Kind.BOOLEAN, Kind.INTEGER)
        one_row = entity or self.policy.privacy_unit is None or self._one_row()
        if source.type.kind not in kinds:
            what = "texts cohort:bits" if told.rappor is not None else "texts, whole numbers or booleans"
            self.problems.append(Problem(path, f"the reports are {what}, and {source.name} is {source.engine_type}"))
        elif self.spec.public:
            self.problems.append(Problem(path, "a public table holds no people: leave it out"))
        elif not one_row:
            text = "a person gives one report: move the column to the people's table, or declare max_rows: 1"
            self.problems.append(Problem(path, text))
        elif len(known) > MOST_REPORTED:
            self.problems.append(Problem(path, f"{len(known)} values are too many: list at most {MOST_REPORTED}"))
        else:
            return self._law(told, known, path)
        return None

    def _law(self, told: declared.RandomizedSection, values: tuple[Scalar, ...], path: str) -> Randomization | None:
        if told.response is not None:
            return Response(values, told.response)
        if (one := told.rappor) is None:
            return None
        law = Rappor(values, one.bits, one.hashes, one.f, one.p, one.q, one.cohorts)
        try:
            law.estimator([Fraction(1)] * len(values))
        except ValueError as error:
            self.problems.append(Problem(path, str(error)))
            return None
        return law

    def _one_row(self) -> bool:
        """Whether a person has one row, by the owner's word or a key."""
        most = self.spec.max_rows
        return most is not None and most.rows == 1 and most.per is None

    def _unique(self, column: str, profile: Profile | None) -> bool:
        measured = self.spec.public and profile is not None and column in profile.unique
        return measured or (column,) in self.keys.certain or self.source.is_unique(column)

    def _values(
        self, source: SchemaColumn, spec: declared.ColumnSection, path: str
    ) -> tuple[Scalar | None, ...] | None:
        if spec.values is None or source.type is None:
            return None
        values: list[Scalar | None] = []
        for index, written in enumerate(spec.values):
            try:
                value = None if written is None else typed(written, source.type)
            except ValueError as error:
                self.problems.append(Problem(join(path, "values", index), str(error)))
                continue
            values.append(value)
        if len(set(values)) < len(values):
            twice = next(value for index, value in enumerate(values) if value in values[:index])
            self.problems.append(Problem(join(path, "values"), f"{twice!r} is listed twice: list each value once"))
        return tuple(dict.fromkeys(values))

    def _range(self, source: SchemaColumn, spec: declared.ColumnSection, path: str) -> tuple[Scalar, Scalar] | None:
        if spec.range is None or source.type is None:
            return None
        try:
            low, high = spec.range
            # Of a range that follows the clock, the catalog has the low end until it is that of an instant.
            return typed_range(low, low if fields.ahead(high) is not None else high, source.type)
        except ValueError as error:
            problem = f"{_UNTYPED}: add type: integer, double or date" if self._is_untyped(source, spec) else str(error)
            self.problems.append(Problem(join(path, "range"), problem))
            return None

    def _is_untyped(self, source: SchemaColumn, spec: declared.ColumnSection) -> bool:
        """Whether a column holds texts only because the policy says nothing else of what is in a CSV file."""
        files = self.spec.files or ()
        untyped = spec.type is None and source.type is not None and source.type.kind is Kind.TEXT
        return untyped and any(_TEXTS.search(str(one)) for one in files)

    def _ahead(self, source: SchemaColumn, spec: declared.ColumnSection, path: str) -> Fraction | None:
        """How many days after the present a range ends that follows the clock."""
        end = "" if spec.range is None else spec.range[1]
        found = fields.ahead(end)
        if found is None or source.type is None:
            return None
        if source.type.kind is Kind.DATE and found.denominator != 1:
            self.problems.append(
                Problem(join(path, "range"), f"{end} is no whole number of days, and the column has days")
            )
        return found

    def _grain(self, source: SchemaColumn, spec: declared.ColumnSection, path: str) -> Grain | None:
        """The steps that literal instants are moved to."""
        if spec.grain is None or source.type is None:
            return None
        seconds, problem = int(spec.grain.total_seconds()), ""
        if not source.type.temporal:
            problem = f"{source.type.one} has no grain: it is of dates and times"
        elif source.type.kind is Kind.DATE and seconds % 86_400:
            problem = "dates have no hours: leave it out"
        elif self.spec.public:
            problem = "a public table is answered exactly: leave it out"
        if problem:
            self.problems.append(Problem(join(path, "grain"), problem))
            return None
        return Grain(seconds, self.policy.clock.zone)

    def _max_items(self, source: SchemaColumn, spec: declared.ColumnSection, path: str) -> int | None:
        """How many items a list has at most."""
        if spec.max_items is None or source.type is None:
            return None
        if not source.type.nested:
            self.problems.append(Problem(join(path, "max_items"), f"{source.type.one} has no items: leave it out"))
            return None
        return spec.max_items

    def _max_total(self, source: SchemaColumn, spec: declared.ColumnSection, path: str) -> Fraction | None:
        if spec.max_total is None or source.type is None:
            return None
        problem = ""
        if not source.type.numeric:
            problem = f"{source.type.one} has no total: leave it out"
        elif self.spec.public:
            problem = "a public table holds no people, and its values are not clipped: leave it out"
        elif self.policy.privacy_unit is None:
            problem = "has no meaning under privacy_unit: row, where each row is its own unit: give the column a range"
        if problem:
            self.problems.append(Problem(join(path, "max_total"), problem))
            return None
        return spec.max_total

    def _learns_total(self, source: SchemaColumn, spec: declared.ColumnSection) -> bool:
        """Whether the total of one person is left to be learned: of numbers with a range, many of a person."""
        numbers = source.type is not None and source.type.numeric and spec.range is not None
        open_ = spec.max_total is None and self.policy.statement.bounds is not None
        return numbers and open_ and not self.spec.public and self.policy.privacy_unit is not None

    def _step(self, source: SchemaColumn, spec: declared.ColumnSection, path: str) -> Fraction | None:
        if spec.step is None or source.type is None:
            return None
        try:
            return typed_step(spec.step, spec.range, source.type)
        except ValueError as error:
            self.problems.append(Problem(join(path, "step"), str(error)))
            return None


def _with_domains(
    table: Table,
    source: SchemaTable,
    spec: declared.TableSection,
    path: str,
    tables: Mapping[str, Table],
    problems: list[Problem],
) -> Table:
    """The table, with each ``values_from`` in the database's names. A domain is read from public tables alone."""
    columns = dict(table.columns)
    for name, declaration in (spec.columns or {}).items():
        real = match(name, columns)
        if declaration.values_from is None or real is None:
            continue
        try:
            listed = _domain_source(columns[real], declaration.values_from, tables)
        except ValueError as error:
            problems.append(Problem(join(path, "columns", name, "values_from"), str(error)))
            continue
        closed = _refers(source, real, *listed)
        columns[real] = replace(columns[real], values_from=listed, closed=closed)
    return replace(table, columns=columns)


def _has_no_other(source: SchemaColumn, values: Iterable[Scalar | None]) -> bool:
    """Whether the type of a column has no other values than these: an enumeration, or booleans."""
    if source.type is not None and source.type.kind is Kind.BOOLEAN:
        return {True, False} <= set(values)
    labels = enumerated(source.engine_type)
    return source.exact and labels is not None and set(labels) <= set(values)


def _refers(source: SchemaTable, column: str, table: str, listed: str) -> bool:
    """Whether the database keeps every value of a column among those of a public one, NULL apart."""
    return source.columns[column].exact and any(
        key.columns == (column,) and key.parent == table and key.parent_columns == (listed,)
        for key in source.foreign_keys
    )


def _domain_source(column: Column, reference: tuple[str, str], tables: Mapping[str, Table]) -> tuple[str, str]:
    """The public column that ``reference`` names. Raises ValueError."""
    source = tables.get(match_table(reference[0], tables) or "")
    if source is None or not source.public:
        raise ValueError(f"{reference[0]} is not declared as a public table: declare it with 'public: true'")
    listed = source.columns.get(match(reference[1], source.columns) or "")
    if listed is None:
        raise ValueError(f"{source.name} has no column {reference[1]}: {suggestion(reference[1], source.columns)}")
    if listed.type.kind is not column.type.kind:
        raise ValueError(f"{source.name}.{listed.name} is {listed.type}, and {column.name} is {column.type}")
    return source.name, listed.name
