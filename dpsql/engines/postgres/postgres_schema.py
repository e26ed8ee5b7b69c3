"""Reading a PostgreSQL's schema from its own catalog: names, types and constraints, never a row and no statistics.

Constraints that are relied on later (NOT NULL, unique, foreign keys) are read only where the server enforces them for
every row of a SELECT from the table: so not of views and foreign tables, not of tables with inheriting children, not
where a constraint is not validated or its triggers are off. A deferrable constraint counts: a transaction may break it,
but does not commit then, and nobody else reads what is not committed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, cast

import psycopg

from dpsql.engines.postgres.postgres_types import column_type, keeps_apart
from dpsql.engines.postgres.relatives import relative_of
from dpsql.engines.schema import Concern, ForeignKey, QualifiedName, Schema, SchemaColumn, SchemaTable

DEFAULT_SCHEMA = "public"

# Partitions are left out: their rows are their parent's. `loose` tables give rows that no constraint was checked for.
_VISIBLE = """
visible AS (
    SELECT c.oid, n.nspname, c.relname, c.relkind,
        c.relkind IN ('v', 'm', 'f')
        OR (c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid))
        OR (c.relkind = 'p' AND EXISTS (
            SELECT FROM pg_partition_tree(c.oid) t JOIN pg_class part ON part.oid = t.relid WHERE part.relkind = 'f'))
        AS loose
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND c.relpersistence <> 't'
        AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND has_schema_privilege(n.oid, 'USAGE')
        AND has_any_column_privilege(c.oid, 'SELECT')
)"""

# A domain is read as the type under it. Its own NOT NULL does not count: PostgreSQL lets some NULLs pass.
_COLUMNS = f"""
WITH RECURSIVE {_VISIBLE}, typed AS (
    SELECT a.attrelid, a.attnum, a.atttypid AS type, a.atttypmod AS modifier
    FROM pg_attribute a JOIN visible v ON v.oid = a.attrelid
    WHERE a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    UNION ALL
    SELECT d.attrelid, d.attnum, t.typbasetype, t.typtypmod
    FROM typed d JOIN pg_type t ON t.oid = d.type WHERE t.typtype = 'd'
)
SELECT v.nspname::text, v.relname::text, v.relkind IN ('v', 'm', 'f'), a.attname::text,
    CASE WHEN t.typtype = 'e' THEN (
        SELECT 'ENUM(' || string_agg('''' || replace(e.enumlabel, '''', '''''') || '''', ', ' ORDER BY e.enumsortorder)
            || ')' FROM pg_enum e WHERE e.enumtypid = t.oid)
    WHEN NOT COALESCE(o.collisdeterministic, true) THEN format_type(d.type, d.modifier) || ' (not deterministic)'
    ELSE format_type(d.type, d.modifier) END,
    a.attnotnull AND NOT v.loose AND NOT EXISTS (
        SELECT FROM pg_constraint k
        WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum] AND NOT k.convalidated)
FROM typed d JOIN pg_attribute a ON a.attrelid = d.attrelid AND a.attnum = d.attnum
    JOIN visible v ON v.oid = d.attrelid JOIN pg_type t ON t.oid = d.type
    LEFT JOIN pg_collation o ON o.oid = a.attcollation
WHERE t.typtype <> 'd'
ORDER BY v.nspname, v.relname, a.attnum"""

# Every unique index that is whole; an exclusion constraint may allow what a unique one does not.
_UNIQUE = f"""
WITH {_VISIBLE}
SELECT v.nspname::text, v.relname::text, i.indisprimary, array_agg(a.attname::text ORDER BY k.place)
FROM visible v JOIN pg_index i ON i.indrelid = v.oid
    CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
    JOIN pg_attribute a ON a.attrelid = v.oid AND a.attnum = k.attnum
WHERE i.indisunique AND i.indisvalid AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL
    AND (NOT v.loose OR v.relkind = 'm') AND k.place <= i.indnkeyatts
GROUP BY v.nspname, v.relname, i.indexrelid, i.indisprimary
ORDER BY 1, 2, i.indexrelid"""

# to_jsonb: columns that only a newer PostgreSQL has. A parent whose rows are hidden from us by its policies lacks them.
_FOREIGN_KEYS = f"""
WITH {_VISIBLE}
SELECT v.nspname::text, v.relname::text,
    (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY AS k(attnum, place)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum),
    n.nspname::text, p.relname::text,
    (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.confkey) WITH ORDINALITY AS k(attnum, place)
        JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.attnum),
    c.convalidated AND NOT v.loose
        AND COALESCE((to_jsonb(c) ->> 'conenforced')::bool, true)
        AND NOT COALESCE((to_jsonb(c) ->> 'conperiod')::bool, false)
        AND NOT row_security_active(c.confrelid)
        AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgconstraint = c.oid AND t.tgenabled NOT IN ('O', 'A'))
FROM visible v JOIN pg_constraint c ON c.conrelid = v.oid
    JOIN pg_class p ON p.oid = c.confrelid JOIN pg_namespace n ON n.oid = p.relnamespace
WHERE c.contype = 'f'
ORDER BY v.nspname, v.relname, c.conname"""

# The catalog tells of foreign keys of tables that we may not read, too: by way of those a column may lead to people.
_WAYS = f"""
WITH RECURSIVE {_VISIBLE}, led AS (
    SELECT c.conrelid AS child, c.conkey, c.confrelid AS parent, c.confkey
    FROM pg_constraint c JOIN visible v ON v.oid = c.conrelid WHERE c.contype = 'f'
    UNION
    SELECT l.child, l.conkey, c.confrelid, c.confkey
    FROM led l JOIN pg_constraint c ON c.conrelid = l.parent AND c.contype = 'f'
    WHERE l.parent NOT IN (SELECT oid FROM visible)
)
SELECT DISTINCT v.nspname::text, v.relname::text, a.attname::text, p.nspname::text, p.relname::text, b.attname::text
FROM led l JOIN visible v ON v.oid = l.child JOIN visible p ON p.oid = l.parent
    JOIN pg_attribute a ON a.attrelid = l.child AND a.attnum = ANY (l.conkey)
    JOIN pg_attribute b ON b.attrelid = l.parent AND b.attnum = l.confkey[1]
WHERE NOT EXISTS (SELECT FROM pg_constraint c WHERE c.contype = 'f' AND c.conrelid = l.child AND c.confrelid = l.parent
    AND c.conkey = l.conkey)
ORDER BY 1, 2, 3, 4, 5"""

# Whatever changes a row of the catalog writes it anew, in another transaction. Triggers of a foreign key are on both of
# its tables; a partition of a partition may give rows that no constraint was checked for.
_DECLARED = """
WITH wanted AS (
    SELECT c.oid, c.xmin, c.relkind FROM unnest(%(schemas)s::name[], %(names)s::name[]) AS named (own, name)
        JOIN pg_namespace n ON n.nspname = named.own
        JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = named.name
),
written AS (
    SELECT 'table' AS what, oid, xmin, row_security_active(oid)::int AS part FROM wanted
    UNION ALL SELECT 'column', attrelid, a.xmin, attnum FROM pg_attribute a JOIN wanted ON attrelid = oid
    UNION ALL SELECT 'constraint', k.oid, k.xmin, 0 FROM pg_constraint k JOIN wanted ON conrelid = wanted.oid
    UNION ALL SELECT 'index', indexrelid, i.xmin, 0 FROM pg_index i JOIN wanted ON indrelid = oid
    UNION ALL SELECT 'trigger', t.oid, t.xmin, 0
        FROM wanted JOIN pg_constraint k ON conrelid = wanted.oid JOIN pg_trigger t ON tgconstraint = k.oid
    UNION ALL SELECT 'child', inhrelid, i.xmin, 0 FROM pg_inherits i JOIN wanted ON inhparent = oid
    UNION ALL SELECT 'partition', relid, '0', level
        FROM wanted CROSS JOIN LATERAL pg_partition_tree(oid) WHERE relkind = 'p'
    UNION ALL SELECT 'label', e.oid, e.xmin, 0 FROM wanted JOIN pg_attribute ON attrelid = wanted.oid
        JOIN pg_enum e ON enumtypid = atttypid
)
SELECT md5(string_agg(written::text, ' ' ORDER BY what, oid, part)) FROM written"""

_ROLE = """
SELECT r.rolsuper, r.rolbypassrls, r.rolcreaterole OR r.rolcreatedb OR r.rolreplication
    OR pg_has_role('pg_execute_server_program', 'MEMBER') OR pg_has_role('pg_write_server_files', 'MEMBER')
    OR pg_has_role('pg_read_server_files', 'MEMBER') OR pg_has_role('pg_signal_backend', 'MEMBER')
FROM pg_roles r WHERE r.rolname = current_user"""

_WRITABLE = """
SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    AND (has_any_column_privilege(c.oid, 'INSERT, UPDATE') OR has_table_privilege(c.oid, 'DELETE, TRUNCATE, TRIGGER'))
ORDER BY c.relname"""

_CREATABLE = """
SELECT n.nspname::text FROM pg_namespace n WHERE has_schema_privilege(n.oid, 'CREATE') AND n.nspname !~ '^pg_'
ORDER BY n.nspname"""

_HIDDEN = f"WITH {_VISIBLE} SELECT v.relname::text FROM visible v WHERE row_security_active(v.oid) ORDER BY v.relname"

_Rows = list[tuple[Any, ...]]


def read_schema(connection: psycopg.Connection[tuple[Any, ...]]) -> Schema:
    """Tables, views, materialized views and foreign tables that the role may read, by name."""
    columns: dict[QualifiedName, dict[str, SchemaColumn]] = defaultdict(dict)
    views: set[QualifiedName] = set()
    for schema, table, view, name, engine_type, not_null in _fetch(connection, _COLUMNS):
        type_ = column_type(engine_type)
        columns[schema, table][name] = SchemaColumn(name, engine_type, type_, not_null, keeps_apart(engine_type))
        if view:
            views.add((schema, table))
    primary: dict[QualifiedName, tuple[str, ...]] = {}
    unique: dict[QualifiedName, list[tuple[str, ...]]] = defaultdict(list)
    for schema, table, is_primary, names in _fetch(connection, _UNIQUE):
        if is_primary:
            primary[schema, table] = tuple(names)
        elif tuple(names) not in unique[schema, table]:
            unique[schema, table].append(tuple(names))
    keys: dict[QualifiedName, list[ForeignKey]] = defaultdict(list)
    loose: dict[QualifiedName, list[ForeignKey]] = defaultdict(list)
    for schema, table, names, parent_schema, parent, parent_names, certain in _fetch(connection, _FOREIGN_KEYS):
        key = ForeignKey(tuple(names), parent, tuple(parent_names), parent_schema)
        (keys if certain else loose)[schema, table].append(key)
    for schema, table, name, parent_schema, parent, parent_name in _fetch(connection, _WAYS):
        loose[schema, table].append(ForeignKey((name,), parent, (parent_name,), parent_schema))
    told_apart = relative_of(connection) is None
    tables = {
        full: SchemaTable(
            name=full[1],
            columns=found,
            primary_key=primary.get(full, ()),
            unique=tuple(unique[full]),
            foreign_keys=tuple(key for key in keys[full] if set(key.columns) <= found.keys()),
            loose_keys=tuple(key for key in loose[full] if set(key.columns) & found.keys()),
            schema=None if full[0] == DEFAULT_SCHEMA else full[0],
            view=full in views,
            told_apart=told_apart,
        )
        for full, found in columns.items()
    }
    return Schema.of(tables, DEFAULT_SCHEMA)


def read_declared(connection: psycopg.Connection[tuple[Any, ...]], tables: Iterable[SchemaTable]) -> object:
    """A mark of how some tables are declared, in the snapshot of a transaction: the same as long as nothing that
    :func:`read_schema` says of their columns and constraints has changed. Cheap enough for every statement."""
    full = [(table.schema or DEFAULT_SCHEMA, table.own_name) for table in tables]
    names = {"schemas": [schema for schema, _ in full], "names": [name for _, name in full]}
    return connection.execute(cast("Any", _DECLARED), names).fetchall()


def read_concerns(connection: psycopg.Connection[tuple[Any, ...]]) -> tuple[Concern, ...]:
    """Warnings about dpsql's role: rights that it should not have, and tables that it does not see."""
    found: list[Concern] = []
    if (other := relative_of(connection)) is not None:
        found.append(Concern(str(other)))
    [(superuser, bypasses, mighty)] = _fetch(connection, _ROLE)
    if superuser:
        found.append(Concern("dpsql connects as a superuser: give it a role that may read the declared tables alone"))
    else:
        if mighty:
            found.append(Concern("dpsql's role may do more to the server than read: take those rights away"))
        if bypasses:
            found.append(Concern("dpsql's role bypasses row-level security: ALTER ROLE … NOBYPASSRLS"))
        if tables := [name for (name,) in _fetch(connection, _WRITABLE)]:
            found.append(Concern(f"dpsql's role may write to {_listed(tables)}: grant it SELECT alone"))
        if schemas := [name for (name,) in _fetch(connection, _CREATABLE)]:
            found.append(Concern(f"dpsql's role may create tables in {_listed(schemas)}: REVOKE CREATE ON SCHEMA"))
    for (name,) in _fetch(connection, _HIDDEN):
        text = "row-level security hides rows from dpsql's role: answers are about the others"
        found.append(Concern(f"{text}, and no foreign key to it is relied on", name))
    return tuple(found)


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    return ", ".join(known[:5]) + (f" and {len(known) - 5} more" if len(known) > 5 else "")


def _fetch(connection: psycopg.Connection[tuple[Any, ...]], sql: str) -> _Rows:
    return connection.execute(cast("Any", sql)).fetchall()
