"""Databases that speak PostgreSQL's protocol and are others: which of them is read, and why another is not.

They are told by what they say of themselves when they are opened. What says PostgreSQL and nothing else is PostgreSQL:
Aurora, AlloyDB and RDS are, too. The reasons are their documentation's.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import psycopg


@dataclass(frozen=True, slots=True)
class Relative:
    """A database by its ``name``, and by words of its ``version()``, or of its extensions. A ``reason`` that is
    ``refused`` keeps it from being opened; any other is a concern."""

    name: str
    words: tuple[str, ...]
    reason: str
    refused: bool

    def __str__(self) -> str:
        return f"this is {self.name}: {self.reason}"


_UNENFORCED = "keys that it declares are not enforced, so that two people could share one"
_OLD = "it is a PostgreSQL of long ago, and its answers may differ from the planned ones"
_SHARDED = (
    "a row has no identity across its shards, so that privacy_unit: row is not answered; it is not tested by dpsql, and"
    " may refuse plans with grouping sets or subqueries"
)

RELATIVES = (
    Relative("Redshift", ("redshift",), _UNENFORCED, refused=True),
    Relative("Greenplum", ("greenplum",), _OLD, refused=True),
    Relative("Cloudberry", ("cloudberry",), _OLD, refused=True),
    Relative("CockroachDB", ("cockroach",), "its arithmetic and its texts are its own", refused=True),
    Relative("Materialize", ("materialize",), _UNENFORCED, refused=True),
    Relative("RisingWave", ("risingwave",), _UNENFORCED, refused=True),
    Relative("YugabyteDB", ("-yb-", "yugabyte"), _SHARDED, refused=False),
    Relative("Citus", ("citus",), _SHARDED, refused=False),
)


def relative(version: str, extensions: Collection[str] = ()) -> Relative | None:
    """The relative that a server is; None for PostgreSQL itself.

    >>> str(relative("PostgreSQL 15.2-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu"))[:18]
    'this is YugabyteDB'
    >>> relative("PostgreSQL 16.3 on aarch64-unknown-linux-gnu", ["plpgsql", "pg_stat_statements"]) is None
    True
    """
    said = (version.lower(), *(name.lower() for name in extensions))
    return next((one for one in RELATIVES if any(word in text for word in one.words for text in said)), None)


def relative_of(connection: psycopg.Connection[tuple[Any, ...]]) -> Relative | None:
    """The relative that the server of a connection is."""
    rows = connection.execute("SELECT version() UNION ALL SELECT extname::text FROM pg_catalog.pg_extension").fetchall()
    version, *extensions = (str(row[0]) for row in rows)
    return relative(version, extensions)
