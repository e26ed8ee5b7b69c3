"""What an analyst's role may do on the shadow: read, and nothing that another session could notice.

Guarantee of ``harden``: after it, no role but the owner's can create or write anything, wait, lock, notify, end or
watch another backend, read a counter of what all backends do, change a setting by a function, or run a text as SQL.
``verify`` looks whether this is so, and whether every table is empty; the shadow does not serve otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import psycopg

from dpsql.errors import OperationalError
from dpsql.postgresql import SUPERUSER
from dpsql.server.shadow.shadow_schema import SCHEMA, literal, quoted

SERVER_SETTINGS = {
    "max_connections": "48",
    "track_activities": "off",
    "track_counts": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_workers": "0",
    "temp_file_limit": "64MB",
    "client_connection_check_interval": "500",
    "lo_compat_privileges": "off",
    "log_min_messages": "fatal",
    "log_min_error_statement": "panic",
}
"""Nothing is tracked or logged of what analysts ask, and no query takes more than its share. A query ends whose
connection was closed."""

HARMLESS = (
    "clock_timestamp", "gen_random_uuid", "random", "timeofday", "pg_advisory_unlock_all", "pg_is_in_recovery",
    "pg_table_size", "pg_indexes_size", "pg_relation_size", "pg_total_relation_size", "pg_database_size",
    "pg_tablespace_size", "pg_sequence_last_value", "pg_is_wal_replay_paused", "pg_last_xact_replay_timestamp",
    "pg_partition_ancestors", "pg_partition_tree", "pg_collation_actual_version",
    "pg_database_collation_actual_version", "pg_jit_available",
)  # fmt: skip
"""Volatile functions that clients ask for and that change nothing: a pool resets itself with pg_advisory_unlock_all."""

WATCHING = (
    "pg_stat_get_activity", "pg_stat_get_progress_info", "pg_stat_get_wal_senders", "pg_stat_get_wal_receiver",
    "pg_show_all_file_settings", "pg_hba_file_rules", "pg_prepared_xact",
)  # fmt: skip
"""Functions that are not volatile and show other sessions."""

COUNTING = "^pg_stat_get_(db_|wal$|slru$|archiver$|bgwriter_|checkpoint|buf_)"
"""Names of functions that count what all sessions do. A table's counters stay: ``track_counts`` is off."""

_CLOSED = f"""
SELECT p.oid::pg_catalog.regprocedure::text FROM pg_catalog.pg_proc p
WHERE p.prokind = 'f' AND p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
AND (p.provolatile = 'v' AND p.proname <> ALL (ARRAY[{", ".join(map(literal, HARMLESS))}])
     OR p.proname = ANY (ARRAY[{", ".join(map(literal, WATCHING))}])
     OR p.proname ~ {literal(COUNTING)}
     OR p.proname LIKE 'pg\\_stat\\_get\\_backend\\_%' OR p.proname LIKE '%\\_to\\_xml%')
"""

_WITHOUT_ROWS = """
WITH views AS MATERIALIZED (
    SELECT c.oid, c.relname, pg_catalog.pg_get_viewdef(c.oid) AS text FROM pg_catalog.pg_class c
    WHERE c.relkind = 'v' AND c.relnamespace = 'pg_catalog'::pg_catalog.regnamespace),
calls AS MATERIALIZED (
    SELECT DISTINCT pg_catalog.split_part(f, '(', 1) || '(' AS call FROM pg_catalog.unnest(%(closed)s::text[]) AS f),
closed AS MATERIALIZED (
    SELECT oid, relname FROM views WHERE EXISTS (SELECT FROM calls WHERE pg_catalog.strpos(text, call) > 0))
SELECT pg_catalog.format(
    'CREATE OR REPLACE VIEW pg_catalog.%%I AS SELECT %%s WHERE false', c.relname,
    pg_catalog.string_agg(pg_catalog.format(
        'NULL::%%s%%s AS %%I', pg_catalog.format_type(a.atttypid, a.atttypmod), ' COLLATE ' || l.oid::regcollation,
        a.attname), ', ' ORDER BY a.attnum))
FROM closed c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
GROUP BY c.oid, c.relname ORDER BY c.relname
"""
"""DDL of the system's views over functions that are closed: the same columns, and no row of any other session."""

_WITHOUT_COUNTS = """
SELECT pg_catalog.format(
    'CREATE OR REPLACE VIEW pg_catalog.pg_stat_database AS '
    'SELECT %s FROM (SELECT 0::oid AS datid, NULL::name AS datname'
    ' UNION ALL SELECT oid, datname FROM pg_catalog.pg_database) d',
    pg_catalog.string_agg(CASE
        WHEN a.attname IN ('datid', 'datname') THEN 'd.' || a.attname
        ELSE CASE WHEN a.attname LIKE 'checksum%' OR a.atttypid = 'timestamptz'::regtype THEN 'NULL' ELSE '0' END
            || pg_catalog.format('::%s AS %I', pg_catalog.format_type(a.atttypid, a.atttypmod), a.attname)
        END, ', ' ORDER BY a.attnum))
FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'pg_catalog.pg_stat_database'::regclass AND a.attnum > 0
"""
"""DDL of the view that dashboards draw: a row of each database, as of one in which nothing has happened yet."""

_TOO_MUCH = """
SELECT 'relation ' || c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')
AND pg_catalog.has_table_privilege(%(role)s, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
UNION ALL SELECT 'schema ' || n.nspname FROM pg_catalog.pg_namespace n
WHERE pg_catalog.has_schema_privilege(%(role)s, n.oid, 'CREATE')
UNION ALL SELECT 'database ' || d.datname FROM pg_catalog.pg_database d
WHERE pg_catalog.has_database_privilege(%(role)s, d.oid, 'CREATE, TEMP')
OR d.datname <> pg_catalog.current_database() AND pg_catalog.has_database_privilege(%(role)s, d.oid, 'CONNECT')
UNION ALL SELECT 'language ' || l.lanname FROM pg_catalog.pg_language l
WHERE l.lanpltrusted AND pg_catalog.has_language_privilege(%(role)s, l.oid, 'USAGE')
UNION ALL SELECT 'role ' || r.rolname FROM pg_catalog.pg_roles r WHERE r.rolname = %(role)s
AND (r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls
     OR EXISTS (SELECT FROM pg_catalog.pg_auth_members m WHERE m.member = r.oid))
UNION ALL SELECT 'function ' || f FROM unnest(%(closed)s::text[]) AS f
WHERE pg_catalog.has_function_privilege(%(role)s, f, 'EXECUTE')
"""


def harden(connection: psycopg.Connection, database: str, analysts: Sequence[str], schemas: Sequence[str] = ()) -> None:
    """Make the analysts' roles, and take everything from everybody that reading does not need."""
    closed = _closed(connection)
    ours = ", ".join(["public", *map(quoted, schemas)])
    commands = [
        f"REVOKE ALL ON DATABASE {quoted(database)}, template0, template1 FROM PUBLIC",
        f"GRANT CONNECT ON DATABASE {quoted(database)} TO PUBLIC",
        f'ALTER DATABASE {quoted(database)} SET search_path = "$user", {ours}',
        f"REVOKE ALL ON SCHEMA {ours} FROM PUBLIC",
        f"GRANT USAGE ON SCHEMA {ours}, {SCHEMA} TO PUBLIC",
        # information_schema shows keys only to those who may do more than read: REFERENCES is a right to nothing here.
        f"GRANT SELECT, REFERENCES ON ALL TABLES IN SCHEMA {ours}, {SCHEMA} TO PUBLIC",
        "REVOKE UPDATE ON pg_catalog.pg_settings FROM PUBLIC",
        "REVOKE USAGE ON LANGUAGE plpgsql, sql FROM PUBLIC",
        f"REVOKE EXECUTE ON FUNCTION {', '.join(closed)} FROM PUBLIC",
    ]
    commands.append("SET LOCAL allow_system_table_mods = on")
    commands += [row[0] for row in connection.execute(_WITHOUT_ROWS, {"closed": closed}).fetchall()]
    commands += [row[0] for row in connection.execute(_WITHOUT_COUNTS.encode()).fetchall()]
    commands.append("SET LOCAL allow_system_table_mods = off")
    commands += [f"CREATE ROLE {quoted(name)} LOGIN" for name in analysts]
    for command in commands:
        connection.execute(command.encode())


def verify(connection: psycopg.Connection, analysts: Sequence[str], tables: Iterable[str]) -> None:
    """Raise :class:`OperationalError` where a role can do more than read, or a table has a row."""
    closed = _closed(connection)
    for name in analysts:
        found = connection.execute(_TOO_MUCH, {"role": name, "closed": closed}).fetchall()
        if found:
            raise OperationalError(f"the catalog's role {name} has rights on {found[0][0]}", sqlstate="58000")
    for table in tables:
        if connection.execute(f"SELECT FROM {table} LIMIT 1".encode()).fetchall():
            raise OperationalError(f"the catalog's table {table} is not empty", sqlstate="58000")


def check_role(name: str) -> None:
    """A name that PostgreSQL gives to a role as it is. Raises :class:`OperationalError`."""
    if name == SUPERUSER or name in ("", "public", "none") or name.startswith("pg_") or "\0" in name:
        raise OperationalError(f"an analyst cannot be called {name!r}", sqlstate="42939", hint="choose another name")
    if len(name.encode()) > 63:
        raise OperationalError(f"the name {name[:20]}… is longer than 63 bytes", sqlstate="42622")


def _closed(connection: psycopg.Connection) -> list[str]:
    return [row[0] for row in connection.execute(_CLOSED.encode()).fetchall()]
