"""Whether tables are declared as they were, asked in the transaction that reads them, at the cost of one short query.

Guarantee: two equal states have the same columns, types, constraints, indexes, triggers, children and row security. A
state is made of the versions (``xmin``) of the catalog's rows about the tables: whatever declares something anew writes
one of these rows. More may be written than declares something, such as by GRANT: an unequal state says to look.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from dpsql.engines.schema import SchemaTable

_STATE = """
WITH RECURSIVE named AS (SELECT name, to_regclass(name) AS oid FROM unnest({names}) AS t(name)),
relied AS (
    SELECT oid::oid FROM named WHERE oid IS NOT NULL
    UNION SELECT i.inhrelid FROM relied r JOIN pg_inherits i ON i.inhparent = r.oid
),
parents AS (
    SELECT DISTINCT c.confrelid AS oid FROM pg_constraint c JOIN relied r ON c.conrelid = r.oid WHERE c.contype = 'f'
),
facts(fact) AS (
    SELECT concat_ws(' ', 'name', name, oid::oid) FROM named
    UNION ALL SELECT concat_ws(' ', 'table', c.oid, c.xmin) FROM pg_class c JOIN relied r ON r.oid = c.oid
    UNION ALL SELECT concat_ws(' ', 'parent', c.oid, c.xmin, row_security_active(c.oid))
        FROM pg_class c JOIN parents p ON p.oid = c.oid
    UNION ALL SELECT concat_ws(' ', 'column', a.attrelid, a.attnum, a.xmin)
        FROM pg_attribute a JOIN relied r ON r.oid = a.attrelid WHERE a.attnum > 0
    UNION ALL SELECT concat_ws(' ', 'index', i.indexrelid, i.xmin) FROM pg_index i JOIN relied r ON r.oid = i.indrelid
    UNION ALL SELECT concat_ws(' ', 'constraint', c.oid, c.xmin)
        FROM pg_constraint c JOIN relied r ON r.oid = c.conrelid
    UNION ALL SELECT concat_ws(' ', 'trigger', g.oid, g.xmin)
        FROM pg_constraint c JOIN relied r ON r.oid = c.conrelid JOIN pg_trigger g ON g.tgconstraint = c.oid
    UNION ALL SELECT concat_ws(' ', 'child', i.inhrelid, i.inhparent, i.xmin)
        FROM pg_inherits i JOIN relied r ON r.oid = i.inhparent
    UNION ALL SELECT concat_ws(' ', 'label', e.oid, e.xmin) FROM pg_enum e
)
SELECT md5(string_agg(fact, ',' ORDER BY fact COLLATE "C")) FROM facts"""


def state_sql(tables: Iterable[SchemaTable], default_schema: str) -> str:
    """The query of the state of some tables, one text."""
    full = (exp.table_(one.own_name, db=one.schema or default_schema, quoted=True).sql("postgres") for one in tables)
    names = exp.Array(expressions=[exp.Literal.string(name) for name in sorted(full)])
    cast = exp.Cast(this=names, to=exp.DataType.build("TEXT[]", dialect="postgres"))
    return _STATE.format(names=cast.sql("postgres"))
