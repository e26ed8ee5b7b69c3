"""``sqlalchemy.create_engine("dpsql:///policy.yaml?analyst=ana")``: dpsql as a SQLAlchemy dialect, in this process.

Reflection speaks from the policy's catalog alone: it costs nothing, and no reflected fact depends on a private row.
The dialect only reads. DDL and DML compile as usual and are refused by the proxy, so that a program hears one
reason, "dpsql only reads", whatever it tried.

Why PostgreSQL's compiler: the proxy reads PostgreSQL's SELECT. Why not its dialect: that one asks ``pg_catalog``,
which a connection in this process does not have. Over the wire, ``postgresql+psycopg://`` is the dialect to use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import ModuleType
from typing import Any

from dpsql.errors import install

try:
    from sqlalchemy import exc, types
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDDLCompiler, PGIdentifierPreparer, PGTypeCompiler
    from sqlalchemy.engine import default
    from sqlalchemy.engine.url import URL
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(f"dpsql's dialect needs SQLAlchemy; {install('sqlalchemy')}", name=missing.name) from None

from dpsql.server.shadow import SCHEMA, VIRTUAL_COMMENTS, column_comment, primary_keys, table_comment
from rewriter.declared import VIRTUAL_COLUMNS, Catalog, Kind, Table, Type

__all__ = ["DPSQLDialect", "column_type"]

PUBLIC = "public"

_PLAIN: Mapping[Kind, Callable[[], types.TypeEngine[Any]]] = {
    Kind.BOOLEAN: types.BOOLEAN,
    Kind.DOUBLE: postgresql.DOUBLE_PRECISION,
    Kind.TEXT: types.TEXT,
    Kind.DATE: types.DATE,
    Kind.TIMESTAMP: postgresql.TIMESTAMP,
    Kind.TIMESTAMPTZ: lambda: postgresql.TIMESTAMP(timezone=True),
    Kind.JSON: postgresql.JSON,
    Kind.JSONB: postgresql.JSONB,
    Kind.TEXTS: lambda: postgresql.ARRAY(types.TEXT),
    Kind.DOUBLES: lambda: postgresql.ARRAY(postgresql.DOUBLE_PRECISION),
    Kind.INTEGERS: lambda: postgresql.ARRAY(types.BIGINT),
    Kind.BOOLEANS: lambda: postgresql.ARRAY(types.BOOLEAN),
    Kind.DATES: lambda: postgresql.ARRAY(types.DATE),
    Kind.TIMESTAMPS: lambda: postgresql.ARRAY(postgresql.TIMESTAMP),
    Kind.TIMESTAMPTZS: lambda: postgresql.ARRAY(postgresql.TIMESTAMP(timezone=True)),
    Kind.TIMES: lambda: postgresql.ARRAY(types.TIME),
    Kind.DECIMALS: lambda: postgresql.ARRAY(types.NUMERIC),
    Kind.INTERVALS: lambda: postgresql.ARRAY(postgresql.INTERVAL),
    Kind.TIME: types.TIME,
    Kind.INTERVAL: postgresql.INTERVAL,
    Kind.NULL: types.TEXT,
}
_INTEGERS: Mapping[int, Callable[[], types.TypeEngine[Any]]] = {
    16: types.SMALLINT,
    32: types.INTEGER,
    64: types.BIGINT,
    128: lambda: types.NUMERIC(38, 0),
}


def column_type(of: Type) -> types.TypeEngine[Any]:
    """SQLAlchemy's type of a declared column.

    >>> from rewriter.declared.types import HUGEINT, decimal
    >>> column_type(HUGEINT), column_type(decimal(8, 2))
    (NUMERIC(precision=38, scale=0), NUMERIC(precision=8, scale=2))
    """
    if of.kind is Kind.INTEGER:
        return _INTEGERS[of.bits]()
    if of.kind is Kind.DECIMAL:
        return types.NUMERIC(of.precision, of.scale)
    return _PLAIN[of.kind]()


class _Exact:
    """Numbers as the program asked for them: a release may be a float where the exact column is a decimal."""

    asdecimal: bool

    def bind_processor(self, dialect: Any) -> None:
        return None

    def result_processor(self, dialect: Any, coltype: object) -> Callable[[Any], Any]:
        wanted, convert = (Decimal, _decimal) if self.asdecimal else (float, float)
        return lambda value: value if value is None or isinstance(value, wanted) else convert(value)


def _decimal(value: Any) -> Decimal:
    return Decimal(str(value))


class _Numeric(_Exact, types.Numeric[Any]):
    pass


class _Float(_Exact, types.Float[Any]):
    pass


class DPSQLDialect(default.DefaultDialect):
    """PostgreSQL's SELECT over :mod:`dpsql`, reflected from the policy.

    ``dpsql:///policy.yaml`` is relative, ``dpsql:////etc/policy.yaml`` absolute. ``analyst``, ``epsilon``, ``reuse``
    and other settings go into the query; the analyst may also be the user name: ``dpsql://ana@/policy.yaml``.
    """

    name = "dpsql"
    driver = "dpsql"
    default_paramstyle = "qmark"
    default_schema_name = PUBLIC
    max_identifier_length = 63
    statement_compiler = PGCompiler
    ddl_compiler = PGDDLCompiler
    type_compiler_cls = PGTypeCompiler
    type_compiler = PGTypeCompiler  # SQLAlchemy 1.4's name of it
    preparer = PGIdentifierPreparer
    colspecs = {types.Numeric: _Numeric, types.Float: _Float}  # noqa: RUF012  (the base class's own form)
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_native_enum = False
    supports_comments = True
    supports_schemas = True
    supports_sequences = False
    supports_alter = False
    supports_default_values = False
    supports_empty_insert = False
    supports_multivalues_insert = False
    use_insertmanyvalues = False
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    supports_unicode_statements = True
    supports_unicode_binds = True
    returns_unicode_strings = True
    returns_native_bytes = True
    postfetch_lastrowid = False
    preexecute_autoincrement_sequences = False
    construct_arguments = postgresql.dialect.construct_arguments
    # What PostgreSQL's compilers ask their dialect.
    supports_smallserial = True
    supports_virtual_generated_columns = True
    _supports_create_index_concurrently = False
    _supports_drop_index_concurrently = False
    _backslash_escapes = False
    _supports_jsonb_subscripting = True

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        import dpsql

        return dpsql

    dbapi = import_dbapi  # type: ignore[assignment]  # SQLAlchemy 1.4's name of it

    def create_connect_args(self, url: URL) -> tuple[Sequence[Any], dict[str, Any]]:
        if url.host or url.port or url.password:
            raise exc.ArgumentError(
                "dpsql:///policy.yaml opens a policy in this process; use postgresql+psycopg:// for a server"
            )
        given: dict[str, Any] = dict(url.query)
        if repeated := sorted(name for name, value in given.items() if not isinstance(value, str)):
            raise exc.ArgumentError(f"given twice in the URL: {', '.join(repeated)}")
        if url.username:
            given.setdefault("analyst", url.username)
        if url.database:
            given["policy"] = url.database
        return (), given

    # Connections: every statement stands alone, so that levels, savepoints and rollbacks change nothing

    def _get_server_version_info(self, connection: Any) -> None:
        return None

    def _get_default_schema_name(self, connection: Any) -> str:
        return PUBLIC

    def get_isolation_level_values(self, dbapi_conn: Any) -> Sequence[Any]:
        return ("AUTOCOMMIT",)

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        return "AUTOCOMMIT"

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        return "AUTOCOMMIT"

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        return None

    def do_ping(self, dbapi_connection: Any) -> bool:
        dbapi_connection.check_open()
        return True

    def do_savepoint(self, connection: Any, name: str) -> None:
        return None

    def do_rollback_to_savepoint(self, connection: Any, name: str) -> None:
        return None

    def do_release_savepoint(self, connection: Any, name: str) -> None:
        return None

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        return getattr(e, "sqlstate", "") == "08003"

    # Reflection

    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        return [SCHEMA, PUBLIC]

    def has_schema(self, connection: Any, schema_name: str, **kw: Any) -> bool:
        return schema_name in (SCHEMA, PUBLIC)

    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return list(_tables(connection, schema))

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        return table_name in _tables(connection, schema)

    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        table, catalog = _found(connection, table_name, schema)
        if table is None:
            columns = VIRTUAL_COLUMNS[f"{SCHEMA}_{table_name}"]
            return [_column(name, of, nullable=True, comment=None) for name, of in columns.items()]
        return [
            _column(column.name, column.type, column.nullable, column_comment(catalog, table, column))
            for column in table.columns.values()
        ]

    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        table, catalog = _found(connection, table_name, schema)
        key = None if table is None else primary_keys(catalog).get(table.name)
        if key is None:
            return {"constrained_columns": [], "name": None, "comment": None}
        return {"constrained_columns": list(key), "name": f"{table_name}_pkey", "comment": None}

    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        table, catalog = _found(connection, table_name, schema)
        return [
            {
                "name": f"{table_name}_{hop.column}_fkey",
                "constrained_columns": [hop.column],
                "referred_schema": schema,
                "referred_table": hop.parent,
                "referred_columns": [hop.parent_column],
                "options": {},
                "comment": None,
            }
            for hop in (() if table is None else table.path[:1])
            if not hop.also and catalog.tables[hop.parent].columns[hop.parent_column].unique
        ]

    def get_unique_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        table, catalog = _found(connection, table_name, schema)
        if table is None:
            return []
        key = primary_keys(catalog).get(table.name)
        return [
            {"name": f"{table_name}_{name}_key", "column_names": [name], "comment": None}
            for name, column in table.columns.items()
            if column.unique and (name,) != key
        ]

    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        table, catalog = _found(connection, table_name, schema)
        return {"text": VIRTUAL_COMMENTS.get(table_name) if table is None else table_comment(catalog, table)}

    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return _nothing(connection, table_name, schema)

    def get_check_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return _nothing(connection, table_name, schema)

    def get_table_options(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        _found(connection, table_name, schema)
        return {}

    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return []

    get_materialized_view_names = get_temp_view_names = get_temp_table_names = get_sequence_names = get_view_names

    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **kw: Any) -> Any:
        raise exc.NoSuchTableError(view_name)

    def has_sequence(self, connection: Any, sequence_name: str, schema: str | None = None, **kw: Any) -> bool:
        return False


def _catalog(connection: Any) -> Catalog:
    catalog: Catalog = connection.connection.catalog
    return catalog


def _tables(connection: Any, schema: str | None) -> Sequence[str]:
    if schema in (None, PUBLIC):
        return tuple(_catalog(connection).tables)
    return tuple(name.removeprefix(f"{SCHEMA}_") for name in VIRTUAL_COLUMNS) if schema == SCHEMA else ()


def _found(connection: Any, name: str, schema: str | None) -> tuple[Table | None, Catalog]:
    """The declared table, or None for a relation of the schema ``dpsql``. Raises NoSuchTableError for anything else."""
    if name not in _tables(connection, schema):
        raise exc.NoSuchTableError(name if schema is None else f"{schema}.{name}")
    catalog = _catalog(connection)
    return (None if schema == SCHEMA else catalog.tables[name]), catalog


def _nothing(connection: Any, name: str, schema: str | None) -> list[Any]:
    _found(connection, name, schema)
    return []


def _column(name: str, of: Type, nullable: bool, comment: str | None) -> dict[str, Any]:
    kind = column_type(of)
    return {
        "name": name,
        "type": kind,
        "nullable": nullable,
        "default": None,
        "autoincrement": False,
        "comment": comment,
    }
