"""The relations of the schema ``dpsql`` that anybody may read: budget, charges and declared columns."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.declared.types import BIGINT, BOOLEAN, DOUBLE, TEXT, TIMESTAMP, TIMESTAMPTZ, Type

VIRTUAL_COLUMNS: Mapping[str, Mapping[str, Type]] = {
    "dpsql_budget": {
        "analyst": TEXT,
        "accounting": TEXT,
        "epsilon": DOUBLE,
        "delta": DOUBLE,
        "spent_epsilon": DOUBLE,
        "left_epsilon": DOUBLE,
        "statements_left": BIGINT,
        "used": DOUBLE,
        "per": TEXT,
        "renews": TIMESTAMPTZ,
    },
    "dpsql_charges": {
        "time": TIMESTAMP,
        "analyst": TEXT,
        "epsilon": DOUBLE,
        "rho": DOUBLE,
        "delta": DOUBLE,
        "tables": TEXT,
        "statement": TEXT,
        "used": DOUBLE,
    },
    "dpsql_columns": {
        "table_name": TEXT,
        "column_name": TEXT,
        "data_type": TEXT,
        "public": BOOLEAN,
        "low": TEXT,
        "high": TEXT,
        "key_set": BOOLEAN,
        "refresh": TEXT,
        "fresh_since": TIMESTAMPTZ,
    },
}
"""Columns of each relation, by its name in an outer SELECT. Their rows depend on policy and ledger alone."""
