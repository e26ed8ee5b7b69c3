"""The shadow's tables: what the policy declares, as DDL. It holds nothing that the policy does not say.

No CHECK, default, enum label or view body of the data's database goes in: they can carry data. A comment tells an
analyst what may be asked of a column: private or public, its range, whether its values are a key set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpsql.server.wire import bounded_text
from rewriter.declared import VIRTUAL_COLUMNS, Catalog, Column, Kind, Scalar, Table, Type
from rewriter.front_door import has_mode

SCHEMA = "dpsql"
"""The pseudo-schema of budget, charges and columns: visible here, answered from the ledger and the policy."""

LONGEST_LIST = 200
"""Characters of a key set that a comment spells out."""

VIRTUAL_COMMENTS = {
    "budget": "what is left of the privacy budget",
    "charges": "what your statements have cost",
    "columns": "what the policy declares",
}

_KINDS = {
    Kind.BOOLEAN: "boolean",
    Kind.DOUBLE: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
    Kind.TIMESTAMPTZ: "timestamptz",
    Kind.TIME: "time",
    Kind.INTERVAL: "interval",
    Kind.NULL: "text",
    **{kind: kind.value for kind in (Kind.JSON, Kind.JSONB, Kind.TEXTS, Kind.INTEGERS)},
}


def statements(catalog: Catalog) -> Iterator[str]:
    """The DDL of the whole shadow: tables first, then what refers to them.

    >>> from rewriter.declared.types import INTEGER
    >>> patient = Table("patient", {"id": Column("id", INTEGER, nullable=False, unique=True)}, max_rows=1)
    >>> for statement in list(statements(Catalog({"patient": patient}, ("patient", "id"))))[:3]:
    ...     print(statement)
    CREATE TABLE public."patient" ("id" integer NOT NULL, CONSTRAINT "patient_pkey" PRIMARY KEY ("id"))
    COMMENT ON TABLE public."patient" IS 'private: one person per row'
    COMMENT ON COLUMN public."patient"."id" IS 'private, identifies the person'
    """
    keys = primary_keys(catalog)
    for schema in schemas(catalog):
        yield f"CREATE SCHEMA {quoted(schema)}"
    for table in catalog.tables.values():
        yield (
            _view(table)
            if table.view
            else _create(_home(table), table.own_name, _columns(table), _constraints(table, keys.get(table.name, ())))
        )
        yield from _comments(catalog, table)
    for table in catalog.tables.values():
        yield from _foreign_key(catalog, table, keys)
    yield f"CREATE SCHEMA {SCHEMA}"
    yield f"COMMENT ON SCHEMA {SCHEMA} IS 'the privacy budget, and what the policy declares'"
    for name, columns in VIRTUAL_COLUMNS.items():
        short = name.removeprefix(f"{SCHEMA}_")
        yield _create(SCHEMA, short, [f"{quoted(column)} {type_name(type_)}" for column, type_ in columns.items()], ())
        yield f"COMMENT ON TABLE {SCHEMA}.{quoted(short)} IS {literal(VIRTUAL_COMMENTS.get(short, ''))}"
    for end in ("low", "high", "margin"):
        # Here so that a client finds them, and a statement that is only described has its types.
        result, body = ("float8", "SELECT 0::float8") if end == "margin" else ("anyelement", "SELECT $1")
        yield f"CREATE FUNCTION {SCHEMA}.{end}(anyelement) RETURNS {result} LANGUAGE sql IMMUTABLE AS '{body}'"


def schemas(catalog: Catalog) -> tuple[str, ...]:
    """Those of tables that stand in none of ours, and in no system's."""
    found = dict.fromkeys(table.schema for table in catalog.tables.values() if table.schema is not None)
    return tuple(name for name in found if _is_free(name))


def _is_free(schema: str) -> bool:
    return schema not in ("public", SCHEMA, "information_schema") and not schema.startswith("pg_")


def _home(table: Table) -> str:
    """The schema of a table here, as an identifier."""
    return "public" if table.schema is None or not _is_free(table.schema) else quoted(table.schema)


def _full(table: Table) -> str:
    return f"{_home(table)}.{quoted(table.own_name)}"


def tables(catalog: Catalog) -> Iterator[str]:
    """The qualified names of all tables of the shadow."""
    for table in catalog.tables.values():
        yield _full(table)
    for name in VIRTUAL_COLUMNS:
        yield f"{SCHEMA}.{quoted(name.removeprefix(f'{SCHEMA}_'))}"


def type_name(type_: Type) -> str:
    """PostgreSQL's name of a type.

    >>> from rewriter.declared.types import HUGEINT, SMALLINT, decimal
    >>> [type_name(each) for each in (SMALLINT, HUGEINT, decimal(8, 2))]
    ['smallint', 'numeric', 'numeric(8,2)']
    """
    if type_.kind is Kind.INTEGER:
        return {16: "smallint", 32: "integer", 64: "bigint", 128: "numeric"}[type_.bits]
    if type_.kind is Kind.DECIMAL:
        return f"numeric({type_.precision},{type_.scale})"
    return _KINDS[type_.kind]


def column_type(column: Column) -> str:
    """PostgreSQL's name of the type of a column: of texts, the one that the database has where it is another.

    >>> from rewriter.declared.types import TEXT
    >>> [column_type(Column("c", TEXT, engine_type=each)) for each in ("text", "character varying(16)", "uuid")]
    ['text', 'character varying(16)', 'text']
    """
    if column.type.kind is Kind.TEXT and bounded_text(column.engine_type) is not None:
        return column.engine_type
    return type_name(column.type)


def quoted(name: str) -> str:
    """An identifier.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    r"""A text that means the same under any setting of ``standard_conforming_strings``.

    >>> literal("it's"), literal("\\n")
    ("'it''s'", "E'\\\\n'")
    """
    doubled = text.replace("'", "''")
    return "E'" + doubled.replace("\\", "\\\\") + "'" if "\\" in doubled else f"'{doubled}'"


def _create(schema: str, name: str, columns: Sequence[str], constraints: Sequence[str]) -> str:
    return f"CREATE TABLE {schema}.{quoted(name)} ({', '.join([*columns, *constraints])})"


def _view(table: Table) -> str:
    """A view without the body that it has in the database, and without constraints, which a view has none of."""
    columns = [f"NULL::{column_type(column)} AS {quoted(column.name)}" for column in table.columns.values()]
    return f"CREATE VIEW {_full(table)} AS SELECT {', '.join(columns)} WHERE false"


def _columns(table: Table) -> list[str]:
    return [
        f"{quoted(column.name)} {column_type(column)}{'' if column.nullable else ' NOT NULL'}"
        for column in table.columns.values()
    ]


def primary_keys(catalog: Catalog) -> Mapping[str, tuple[str, ...]]:
    """The primary key of each table: the database's own, where its columns are never NULL; else the unique column that
    the unit or a foreign key names. A view has none."""
    keys = {
        table.name: table.primary_key
        for table in catalog.tables.values()
        if table.primary_key and not any(table.columns[name].nullable for name in table.primary_key)
    }
    named = [catalog.unit] if catalog.unit is not None else []
    named += [
        (hop.parent, hop.parent_column) for table in catalog.tables.values() for hop in table.path if not hop.also
    ]
    named += [column.values_from for table in catalog.tables.values() for column in table.columns.values()
              if column.values_from is not None]  # fmt: skip
    for table, name in named:
        column = catalog.tables[table].columns[name]
        if column.unique and not column.nullable and not catalog.tables[table].view:
            keys.setdefault(table, (name,))
    return keys


def _constraints(table: Table, key: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    if key:
        names = ", ".join(map(quoted, key))
        found.append(f"CONSTRAINT {quoted(f'{table.own_name}_pkey')} PRIMARY KEY ({names})")
    if not table.public:  # that a public column has no value twice may be chance, and no rule
        found += [
            f"UNIQUE ({quoted(name)})" for name, column in table.columns.items() if column.unique and (name,) != key
        ]
    return found


def _foreign_key(catalog: Catalog, table: Table, keys: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """The first step of the way to the unit, and columns whose values are listed in a public table, where PostgreSQL
    has a key of the same kind to refer to."""
    for own, parent_name, parent_column in _references(table):
        parent = catalog.tables[parent_name]
        column = parent.columns[parent_column]
        is_key = keys.get(parent.name) == (column.name,) or (column.unique and not (parent.public or parent.view))
        if is_key and column.type.kind is table.columns[own].type.kind:
            yield (
                f"ALTER TABLE {_full(table)} ADD FOREIGN KEY ({quoted(own)}) "
                f"REFERENCES {_full(parent)} ({quoted(column.name)})"
            )


def _references(table: Table) -> Iterator[tuple[str, str, str]]:
    """Each column that refers to another table's column, once; a view has no keys."""
    if table.view:
        return
    hops = [hop for hop in table.path[:1] if not hop.also]
    yield from ((hop.column, hop.parent, hop.parent_column) for hop in hops)
    for name, column in table.columns.items():
        if column.values_from is not None and name not in {hop.column for hop in hops}:
            yield (name, *column.values_from)


def _comments(catalog: Catalog, table: Table) -> Iterator[str]:
    name = _full(table)
    yield f"COMMENT ON {'VIEW' if table.view else 'TABLE'} {name} IS {literal(table_comment(catalog, table))}"
    for column in table.columns.values():
        yield f"COMMENT ON COLUMN {name}.{quoted(column.name)} IS {literal(column_comment(catalog, table, column))}"


def table_comment(catalog: Catalog, table: Table) -> str:
    if table.public:
        return "public: rows are answered"
    if catalog.unit is None:
        return "private: one person per row"
    if catalog.is_entity(table):
        return "private: one person per row"
    bound = "" if table.max_rows is None else f", at most {table.max_rows} rows of one person count"
    return f"private: aggregates only{bound}"


def column_comment(catalog: Catalog, table: Table, column: Column) -> str:
    said = ["public" if table.public else "private"]
    if catalog.unit == (table.name, column.name):
        said.append("identifies the person")
    if column.range is not None:
        end = column.range[1] if column.ahead is None else column.moving_end
        said.append(f"range {column.range[0]} to {end}")
    if column.values_from is not None:
        said.append(f"key set {'.'.join(column.values_from)}")
    if column.values is not None:
        listed = ", ".join("NULL" if value is None else _spelt(value) for value in column.values)
        said.append(f"key set {listed}" if len(listed) <= LONGEST_LIST else f"key set of {len(column.values)} values")
    approximate = [] if table.public else _approximate(catalog, column)
    if len(approximate) > 1:
        said.append(f"{', '.join(approximate[:-1])} and {approximate[-1]} are approximate")
    elif approximate:
        said.append(f"{approximate[0]} is approximate")
    return ", ".join(said)


def _approximate(catalog: Catalog, column: Column) -> list[str]:
    """The aggregates of a column of people that are values or decisions, and so have no noise to show."""
    found = ["MIN", "MAX"] if column.range is not None and not catalog.declared_extremes else []
    found += ["BOOL_OR", "BOOL_AND"] if column.type.kind is Kind.BOOLEAN else []
    return [*found, "MODE"] if has_mode(column) else found


def _spelt(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
