"""What the owner and the database say: tables, types, bounds on contributions."""

from rewriter.declared.catalog import DEFAULT_SCHEMAS, Catalog, Column, Hop, OwnerKey, Table
from rewriter.declared.contribution import ONE, ContributionBound, Norm, Repeated, least
from rewriter.declared.earlier_answer import AnsweredColumn, EarlierAnswer
from rewriter.declared.interval import Interval, measure
from rewriter.declared.moving_ends import Grain
from rewriter.declared.randomization import MOST_EPSILON, Randomization, Rappor, Response
from rewriter.declared.sensitivity import Sensitivity
from rewriter.declared.spans import SPANS, Spans
from rewriter.declared.time_zones import (
    UTC,
    clocks,
    fixed,
    grid,
    instant,
    instants,
    is_steady,
    local,
    shown,
    zone_at,
    zone_of,
)
from rewriter.declared.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    INTERVAL,
    NULL,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Kind,
    Scalar,
    Type,
    decimal,
)
from rewriter.declared.undeclared import Learned, Missing
from rewriter.declared.virtual_relations import VIRTUAL_COLUMNS

__all__ = [
    "BIGINT",
    "BOOLEAN",
    "DATE",
    "DEFAULT_SCHEMAS",
    "DOUBLE",
    "HUGEINT",
    "INTEGER",
    "INTERVAL",
    "MOST_EPSILON",
    "NULL",
    "ONE",
    "SMALLINT",
    "SPANS",
    "TEXT",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "UTC",
    "VIRTUAL_COLUMNS",
    "AnsweredColumn",
    "Catalog",
    "Column",
    "ContributionBound",
    "EarlierAnswer",
    "Grain",
    "Hop",
    "Interval",
    "Kind",
    "Learned",
    "Missing",
    "Norm",
    "OwnerKey",
    "Randomization",
    "Rappor",
    "Repeated",
    "Response",
    "Scalar",
    "Sensitivity",
    "Spans",
    "Table",
    "Type",
    "clocks",
    "decimal",
    "fixed",
    "grid",
    "instant",
    "instants",
    "is_steady",
    "least",
    "local",
    "measure",
    "shown",
    "zone_at",
    "zone_of",
]
