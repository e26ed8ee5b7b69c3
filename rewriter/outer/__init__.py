"""The SQL that stands above releases."""

from rewriter.outer.checked_outer import Described, OuterSelect, outer_select
from rewriter.outer.independence import running_outputs, runs_along
from rewriter.outer.null_for_errors import total_sql
from rewriter.outer.outer_constants import constants_sql
from rewriter.outer.over_replicates import REPLICATE, REPLICATES
from rewriter.outer.provenance import (
    EXTREME,
    AddedUp,
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
    slots_of,
)
from rewriter.outer.question import Question
from rewriter.outer.released_columns import row_column

__all__ = [
    "EXTREME",
    "REPLICATE",
    "REPLICATES",
    "AddedUp",
    "Affine",
    "Described",
    "Either",
    "Form",
    "Listed",
    "Mean",
    "Measured",
    "Other",
    "OuterSelect",
    "Question",
    "Quotient",
    "Rounding",
    "Running",
    "Term",
    "constants_sql",
    "outer_select",
    "row_column",
    "running_outputs",
    "runs_along",
    "slots_of",
    "total_sql",
]
