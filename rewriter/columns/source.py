"""What stands in a FROM clause once its name is resolved: a table of the catalog or a checked subquery."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rewriter.declared import ONE, Catalog, Column, ContributionBound, Interval, Kind, Missing, OwnerKey, Table, least
from rewriter.dialects import Dialect, Fact
from rewriter.expressions import LENGTHS, ConditionalKey, Value, position_of, read_column, text_size
from rewriter.once import once
from rewriter.refused import AMBIGUOUS_COLUMN, TOO_COMPLEX, UNKNOWN_COLUMN, Refused

MAX_BEHIND = 50_000
"""Syntax nodes behind one column."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared column of one table instance: what a key set can be enumerated over.

    ``lister`` is the public table that lists its values, where one does. ``picked``: it stands for the value of one of
    several rows, which an aggregate chose. ``most`` is how many different values one person has, NULL among them, where
    the rows of the table, or of the table that the column refers to, are bounded. ``on`` is the condition of the outer
    join by which it is ``optional``: a row without a match has NULL in every column of the table.
    """

    alias: str
    name: str
    table: Table = field(compare=False)
    column: Column = field(compare=False)
    lister: Table | None = field(default=None, compare=False)
    optional: bool = False
    picked: bool = field(default=False, compare=False)
    most: int | None = field(default=None, compare=False)
    on: exp.Expr | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """The expression behind a subquery's column; shared by the copies of the column's node.

    ``size`` is its syntax nodes and those behind its own columns: a column of a subquery may stand twice in that of the
    next, and whoever follows all of them follows 2ⁿ.
    """

    sql: exp.Expr
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        found = (BEHIND.of(part) for part in self.sql.walk())
        size = sum(behind.size if isinstance(behind, Origin) else 1 for behind in found)
        if size > MAX_BEHIND:
            raise Refused(
                "a column becomes too large when its subqueries are put in",
                hint="name each column of a subquery once, or compute it in fewer steps",
                sqlstate=TOO_COMPLEX,
            )
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, slots=True)
class Computed:
    """No expression over one row is behind a subquery's column: rows of two relations, or an aggregate per person.

    ``lacks`` are the bounds, learned or missing, that its range follows from. ``counts`` is the table whose rows of one
    person it is the number of, of which ``max_rows`` at most are meant.
    """

    lacks: frozenset[Missing]
    counts: str = ""


Behind = Variable | Origin | Computed

BEHIND: Fact[Behind] = Fact("behind")
"""What a column of a FROM item stands for."""
LISTED_COLUMN: Fact[Variable | None] = Fact("listed column")
"""Of an IN whose subquery reads public tables alone: the column that it lists; None where that is computed."""


def as_column(value: Value, column: exp.Column, behind: Behind) -> Value:
    """A value as the column of a subquery."""
    return value.carried_by(BEHIND.on(column, behind))


def variable_behind(node: exp.Expr) -> Variable | None:
    """The declared column that an expression is, through subqueries."""
    while True:
        behind = BEHIND.of(node)
        if isinstance(behind, Variable):
            return behind
        if not isinstance(behind, Origin):
            return None
        node = behind.sql


def nodes_behind(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, and of what the columns of subqueries in it are, down to declared columns."""
    for part in node.walk(prune=lambda inner: isinstance(BEHIND.of(inner), Variable)):
        yield part
        if isinstance(behind := BEHIND.of(part), Origin):
            yield from nodes_behind(behind.sql)


def columns_behind(node: exp.Expr) -> Iterator[tuple[str, str]]:
    """The columns that an expression is as they are, through subqueries: by our alias of the relation, and the name."""
    while True:
        behind = BEHIND.of(node)
        if isinstance(behind, Variable):
            yield behind.alias, behind.name
            return
        if isinstance(node, exp.Column):
            yield node.text("table"), node.name
        if not isinstance(behind, Origin):
            return
        node = behind.sql


@dataclass(frozen=True, slots=True)
class Source:
    """One item of a FROM clause. ``name`` is the analyst's word for it, ``alias`` ours.

    ``unit`` is the expression of the privacy unit where the source carries it itself (a subquery, the entity table,
    a table one hop away, rows as units); None for public sources and for tables that reach it through a chain.
    ``optional``: the null-supplying side of an outer join. ``filters`` hold on every row of it. ``numbered`` columns
    give each row of one unit another number. ``unique_columns`` and ``unique_keys`` are true of any data,
    ``claimed_keys`` are the owner's word. ``reached``: the item of a base table is joined along its path already, so
    that it carries its ``unit``. ``said`` is the aggregate by which a statement says whose each of its groups is.
    """

    name: str
    alias: str
    item: exp.Expr
    fields: Mapping[str, Value]
    private: bool
    bound: ContributionBound
    table: Table | None = None
    unit: exp.Expr | None = None
    optional: bool = False
    unique_columns: frozenset[str] = frozenset()
    unique_keys: tuple[frozenset[str], ...] = ()
    claimed_keys: tuple[frozenset[str], ...] = ()
    filters: tuple[Value, ...] = ()
    numbered: frozenset[str] = frozenset()
    reached: bool = False
    said: str = ""

    @property
    def table_name(self) -> str:
        """The table that it is, or what it is called."""
        return self.name if self.table is None else self.table.name

    def constant(self) -> Source:
        """The same source, each of whose columns has one value per unit."""
        return replace(self, fields={name: replace(value, constant=True) for name, value in self.fields.items()})

    def as_optional(self, on: exp.Expr | None = None, *, by_unit: bool = False) -> Source:
        """The same source on the null-supplying side of an outer join, whose condition is ``on`` where that is read.

        ``by_unit``: of one unit either all rows have a match or none; else a column that is constant per unit is NULL
        on some of them.
        """
        fields = {
            name: _nullable(value, on, constant=value.constant and by_unit) for name, value in self.fields.items()
        }
        return replace(self, fields=fields, optional=True)

    def reference(self, name: str) -> Value:
        """A fresh node for a column: nodes have one parent."""
        value = self.fields[name]
        return replace(value, sql=value.sql.copy())


def _nullable(value: Value, on: exp.Expr | None, *, constant: bool) -> Value:
    sql = value.sql.copy()
    behind = BEHIND.of(sql)
    ways = frozenset(replace(key, null=False) for key in value.ways)
    if isinstance(behind, Variable):
        BEHIND.on(sql, replace(behind, optional=True, on=on))
    elif isinstance(behind, Origin):
        BEHIND.off(sql)
    return replace(value, sql=sql, nullable=True, ways=ways, constant=constant)


def base_table(table: Table, name: str, alias: str, catalog: Catalog, dialect: Dialect) -> Source:
    """A table of the catalog as a source. Unit columns are not NULL: rows without a unit are dropped."""
    private = not table.public
    unit_column = _unit_column(table, catalog) if private else None
    keys = _keys(table, catalog) if private else {}
    single = (way for way in table.ways if private and not way.also)
    ways = {way.column: OwnerKey(way.parent, way.parent_column) for way in single}
    held = {unit_column, *(name for hop in table.path[:1] for name in hop.columns)}
    fields: dict[str, Value] = {}
    for column in table.columns.values():
        sql = read_column(column, exp.column(exp.to_identifier(column.name, quoted=True), alias), dialect)
        lister = catalog.tables[column.values_from[0]] if column.values_from is not None else None
        own = keys.get(column.name, frozenset())
        way = frozenset({ways[column.name]} if column.name in ways else ()) - own
        if column.name != unit_column:
            most = _most_values(table, column.name, catalog) if private else None
            BEHIND.on(sql, Variable(alias, column.name, table, column, lister, most=most))
        lengths = [len(one) for one in column.values or () if isinstance(one, str)]
        if lengths:
            LENGTHS.on(sql, (min(lengths), max(lengths)))
        fields[column.name] = Value(
            sql=sql,
            type=column.type,
            interval=column.interval,
            nullable=(column.nullable and column.name not in held) or _may_read_null(column),
            constant=False,
            domain=None,
            unit=column.name == unit_column,
            grain=column.grain,
            size=text_size(column.type),
            halves_away=column.type.kind is Kind.DOUBLE and _is_numeric(column),
            real=column.engine_type.upper() in ("FLOAT", "REAL"),
            keys=own,
            ways=way,
            randomized=column.randomized,
        )
    if private:
        fields |= _held_when(table, fields)
    unit: exp.Expr | None = None
    if private and catalog.unit is None:
        unit = _row_identity(table, alias, catalog, dialect)
    elif unit_column is not None:
        unit = _person_key(table, unit_column, alias, dialect)
    source = Source(
        name=name,
        alias=alias,
        item=exp.alias_(_item(table, dialect), alias, table=True),
        fields=fields,
        private=private,
        bound=_bound(table, alias, unit_column, catalog) if private else ContributionBound(),
        table=table,
        unit=unit,
        unique_columns=frozenset(column.name for column in table.columns.values() if column.unique),
        unique_keys=table.keys,
        claimed_keys=table.claimed,
    )
    return source if table.repeats_unit is None else reached(source, catalog, dialect)


def _held_when(table: Table, fields: Mapping[str, Value]) -> Mapping[str, Value]:
    """The columns that hold a key of a person on some of the rows, with the conditions that tell which."""
    found: dict[str, tuple[ConditionalKey, ...]] = {}
    for hop in table.ways_when:
        if hop.when is not None and {hop.column, hop.when.column} <= fields.keys():
            key = OwnerKey(hop.parent, hop.parent_column)
            condition = ConditionalKey(key, fields[hop.when.column].sql.sql(), hop.when.value)
            found[hop.column] = (*found.get(hop.column, ()), condition)
    return {name: replace(fields[name], ways_when=held) for name, held in found.items()}


def way_joins(table: Table, alias: str, catalog: Catalog, dialect: Dialect) -> tuple[list[exp.Join], exp.Expr]:
    """The joins along the path of a table of people to the column that holds the unit, and the unit."""
    joins: list[exp.Join] = []
    at, holder = alias, table
    for number, hop in enumerate(table.path[:-1]):
        after = f"{alias}_{number}"
        item = exp.alias_(table_node(catalog.tables[hop.parent], dialect), after, table=True)
        same = (exp.EQ(this=_column(at, ours), expression=_column(after, theirs)) for ours, theirs in hop.pairs)
        joins.append(exp.Join(this=item, on=exp.and_(*same, copy=False)))
        at, holder = after, catalog.tables[hop.parent]
    return joins, _person_key(holder, table.path[-1].column, at, dialect)


def reached(source: Source, catalog: Catalog, dialect: Dialect) -> Source:
    """A base table as its rows joined with their unit, which is then a column of it.

    Where a column repeats the unit, it is that column on the rows that are kept: those on which both are the same.
    """
    table = source.table
    if table is None or source.reached or (source.unit is not None and table.repeats_unit is None):
        return source
    joins, unit = way_joins(table, source.alias, catalog, dialect)
    rows = exp.Select(expressions=[_column(source.alias, name) for name in table.columns])
    rows = rows.from_(exp.alias_(table_node(table, dialect), source.alias, table=True), copy=False)
    rows.set("joins", joins)
    if table.repeats_unit is None:
        rows.append("expressions", exp.alias_(unit, exp.to_identifier(_UNIT_COLUMN, quoted=True)))
        key: exp.Expr = _column(source.alias, _UNIT_COLUMN)
    else:
        key = _person_key(table, table.repeats_unit, source.alias, dialect)
        same = exp.EQ(this=unit, expression=key.copy())
        joins[-1].set("on", exp.and_(joins[-1].args["on"], same, copy=False))
    item = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(source.alias)))
    return replace(source, item=item, unit=key, reached=True)


_UNIT_COLUMN = "dpsql_unit"


def _column(alias: str, name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), alias)


def _person_key(table: Table, name: str, alias: str, dialect: Dialect) -> exp.Expr:
    """The key of a person in a column of a table: the only place where a stored value becomes a privacy unit."""
    column = table.columns[name]
    return dialect.person_key(_column(alias, name), column.type, column.engine_type)


def _row_identity(table: Table, alias: str, catalog: Catalog, dialect: Dialect) -> exp.Expr:
    """A row's own key, different from that of any row of another table of people."""
    private = sorted(other.name for other in catalog.tables.values() if not other.public)
    return dialect.row_identity(alias, private.index(table.name), len(private))


def table_node(table: Table, dialect: Dialect) -> exp.Table:
    """A table in the engine's words, always with its schema, so that no CTE of the bounded query can hide it."""
    schema = exp.to_identifier(table.schema or dialect.default_schema, quoted=True)
    return _CATALOG_NAME.on(exp.Table(this=exp.to_identifier(table.own_name, quoted=True), db=schema), table.name)


_CATALOG_NAME: Fact[str] = Fact("catalog name")


def catalog_name(table: exp.Table) -> str:
    """What the catalog calls a table that the engine's SQL names, whatever its schema; its own name for any other."""
    return _CATALOG_NAME.of(table) or table.name


@once
def tables_read(rows: exp.Expr) -> frozenset[str]:
    """What the catalog calls the tables that the engine's SQL names anywhere in a tree; a function in FROM is none."""
    return frozenset(name for table in rows.find_all(exp.Table) if (name := catalog_name(table)))


def _item(table: Table, dialect: Dialect) -> exp.Expr:
    """A table as it is read: of a public one whose keys nothing enforces, the first row of each key.

    The choice is among public rows, so that nobody's row decides it.
    """
    item: exp.Expr = table_node(table, dialect)
    names = [exp.column(exp.to_identifier(name, quoted=True)) for name in table.columns]
    for number, key in enumerate(table.one_row_of):
        on = [exp.column(exp.to_identifier(name, quoted=True)) for name in key]
        order = [*on, *(name for name in names if name not in on)]
        first = exp.Select(expressions=[name.copy() for name in names]).from_(
            item
            if number == 0
            else exp.Subquery(this=item, alias=exp.TableAlias(this=exp.to_identifier(f"k{number}"))),
            copy=False,
        )
        first.set("distinct", exp.Distinct(on=exp.Tuple(expressions=[name.copy() for name in on])))
        first.set("order", exp.Order(expressions=[exp.Ordered(this=name.copy()) for name in order]))
        item = first
    return exp.Subquery(this=item) if table.one_row_of else item


def may_be_missing(column: Column) -> bool:
    """Whether a row may have NULL where the column is read: also PostgreSQL's decimals can be NaN."""
    return column.nullable or _is_numeric(column) or _may_read_null(column)


def _is_numeric(column: Column) -> bool:
    """Whether PostgreSQL stores it as a NUMERIC, which is read as a decimal or, without digits, as a double."""
    return column.engine_type.lower().startswith("numeric")


def _may_read_null(column: Column) -> bool:
    """Whether reading maps some values to NULL: NaN, infinities, times outside of the calendar, failed conversions."""
    return column.type.kind in (
        Kind.DOUBLE,
        Kind.DATE,
        Kind.TIMESTAMP,
        Kind.TIMESTAMPTZ,
        Kind.JSON,
        Kind.TIME,
    ) or column.engine_type.upper() in (
        "UHUGEINT",
        "BIGNUM",
    )


def _unit_column(table: Table, catalog: Catalog) -> str | None:
    """The column that holds the unit's key, where the table has one."""
    if catalog.unit is None:
        return None
    if catalog.is_entity(table):
        return catalog.unit[1]
    return table.path[0].column if len(table.path) == 1 else table.repeats_unit


def _keys(table: Table, catalog: Catalog) -> Mapping[str, frozenset[OwnerKey]]:
    """Columns whose value implies the unit: the first column of a chain, and what no two rows share."""
    found = {column.name for column in table.columns.values() if column.unique}
    keys = {name: frozenset({OwnerKey(table.name, name)}) for name in found}
    for hop in (hop for hop in table.path[:1] if not hop.also):
        keys[hop.column] = keys.get(hop.column, frozenset()) | {OwnerKey(hop.parent, hop.parent_column)}
    if catalog.unit is not None and (own := _unit_column(table, catalog)) is not None:
        keys[own] = keys.get(own, frozenset()) | {OwnerKey(*catalog.unit)}
    return keys


def _bound(table: Table, alias: str, unit_column: str | None, catalog: Catalog) -> ContributionBound:
    if catalog.unit is None or (unit_column is not None and table.columns[unit_column].unique):
        return ONE
    if frozenset({unit_column}) in table.claimed:
        return replace(ONE, unique=False)
    if table.max_rows is None:
        undeclared = frozenset({table.name})
        bound = ContributionBound(table.learned_rows, table.max_groups, table.max_rows_per_group, undeclared=undeclared)
    else:
        spans = () if table.spans is None else (replace(table.spans, alias=alias),)
        bound = ContributionBound(
            table.max_rows, table.max_groups, table.max_rows_per_group, spans=spans, table=table.name
        )
    single = (frozenset({one.name}) for one in table.columns.values() if one.unique and not one.nullable)
    keys = (*table.keys, *single, *table.claimed)
    rest = [key - {unit_column} for key in keys]
    names = sorted({name for key in rest for name in key if name is not None})
    most = ((name, _most_values(table, name, catalog)) for name in names)
    values = tuple(((alias, name), count) for name, count in most if count is not None)
    return replace(bound, apart=tuple(frozenset((alias, name) for name in key) for key in rest), values=values)


def _most_values(table: Table, name: str, catalog: Catalog) -> int | None:
    """How many different values of a column one person has, at most: as many as rows, as many as there are rows of the
    same person in the table that it refers to, and as many as there are whole numbers or days in its declared range.
    """
    if catalog.unit is None:
        return 1
    column = table.columns[name]
    whole = column.range is not None and column.type.kind in (Kind.INTEGER, Kind.DATE)
    ranged = math.floor(Interval.of(*column.range).width) + 1 + column.nullable if whole and column.range else None
    referred = (catalog.tables[hop.parent] for hop in table.path[:1] if name in hop.columns)
    return least((ranged, *(_most_rows(one, catalog) for one in (table, *referred))))


def _most_rows(table: Table, catalog: Catalog) -> int | None:
    """How many rows one person has, by the owner's word or a key."""
    unit_column = _unit_column(table, catalog)
    single = unit_column is not None and (
        table.columns[unit_column].unique or frozenset({unit_column}) in (*table.keys, *table.claimed)
    )
    return 1 if single else table.max_rows


def find_field(sources: Sequence[Source], node: exp.Column) -> tuple[Source, str]:
    """The source and the column that a reference means, by PostgreSQL's rules. Raises :class:`Refused`."""
    where = position_of(node.this)
    if node.args.get("db") or node.args.get("catalog") or not isinstance(node.this, exp.Identifier):
        raise Refused(
            "a column is named by at most table.column", hint="use an alias", sqlstate=UNKNOWN_COLUMN, position=where
        )
    qualifier = node.args.get("table")
    candidates = sources
    if qualifier is not None:
        candidates = [source for source in sources if _matches(source.name, qualifier)]
        if not candidates:
            dotted = f"{qualifier.name}.{node.name}"
            quoted = any(dotted.lower() == name.lower() for source in sources for name in source.fields)
            raise Refused(
                f"there is no {qualifier.name!r} in FROM",
                hint=f'a name with a dot is written in double quotes: "{dotted}"'
                if quoted
                else nearest_name(qualifier.name, (source.name for source in sources)),
                sqlstate=UNKNOWN_COLUMN,
                position=where,
            )
    found = [(source, name) for source in candidates for name in source.fields if _matches(name, node.this)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Refused(
            f"column {node.name!r} is ambiguous",
            hint=f"write {found[0][0].name}.{found[0][1]}",
            sqlstate=AMBIGUOUS_COLUMN,
            position=where,
        )
    written = node.name if qualifier is None else f"{qualifier.name}.{node.name}"
    raise Refused(
        f"there is no column {written!r}",
        hint=_instead(node, [name for source in candidates for name in source.fields]),
        sqlstate=UNKNOWN_COLUMN,
        position=where,
    )


def _instead(node: exp.Column, known: Sequence[str]) -> str:
    """What a hint says of a column that there is not: a text in the wrong quotes, a name of SELECT, or one like it."""
    near = nearest_name(node.name, known)
    if near.startswith("did you mean"):
        return near
    if node.this.args.get("quoted"):
        text = node.name.replace("'", "''")
        return f"a text stands in single quotes, '{text}'; double quotes name a column"
    clause = node.find_ancestor(exp.Where, exp.Select)
    items = clause.parent.expressions if isinstance(clause, exp.Where) and clause.parent is not None else []
    for item in items:
        if item.alias.lower() == node.name.lower():
            clauses = (
                "a condition on an aggregate stands in HAVING" if item.find(exp.AggFunc) else "write its expression"
            )
            return f"{node.name} is a name of SELECT, which WHERE cannot see: {clauses}"
    if (
        not node.args.get("table")
        and isinstance(node.parent, exp.EQ | exp.NEQ | exp.In | exp.Like)
        and node.parent.this is not node
    ):
        return f"{near}; a text stands in single quotes, '{node.name}'"
    return near


def _matches(name: str, identifier: exp.Expr) -> bool:
    return name == identifier.name if identifier.args.get("quoted") else name.lower() == identifier.name.lower()


def nearest_name(name: str, known: Iterable[str]) -> str:
    """A hint that names what is spelt like a name that there is not, or else what there is.

    A second column of one name, which is told apart as ``id#2`` where names are bound, is called as it was.

    >>> nearest_name("pateint", ["patient", "visit"]), nearest_name("x", ["patient", "visit"])
    ('did you mean patient?', 'there are patient, visit')
    >>> nearest_name("idd", ["id", "id#2"])
    'did you mean id?'
    """
    every = list(dict.fromkeys(known))
    names = [one for one in every if one.rpartition("#")[0] not in every]
    close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "there are " + ", ".join(names[:12]) if names else "nothing is visible here"
