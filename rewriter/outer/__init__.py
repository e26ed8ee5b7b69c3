"""The SQL that stands above releases."""

from rewriter.outer.checks import check_outer, outer_sql
from rewriter.outer.null_for_errors import total_sql
from rewriter.outer.over_replicates import REPLICATE, REPLICATES, replicated_sql
from rewriter.outer.provenance import (
    EXTREME,
    OTHER,
    PUBLIC,
    Affine,
    Either,
    Form,
    Listed,
    Mean,
    Measured,
    Other,
    Quotient,
    Rounding,
    Running,
    Term,
    is_moderate,
    slots_of,
)
from rewriter.outer.tracing import Traced, row_column, trace

__all__ = [
    "EXTREME",
    "OTHER",
    "PUBLIC",
    "REPLICATE",
    "REPLICATES",
    "Affine",
    "Either",
    "Form",
    "Listed",
    "Mean",
    "Measured",
    "Other",
    "Quotient",
    "Rounding",
    "Running",
    "Term",
    "Traced",
    "check_outer",
    "is_moderate",
    "outer_sql",
    "replicated_sql",
    "row_column",
    "slots_of",
    "total_sql",
    "trace",
]
