"""All that stands in front: :func:`parse` reads one statement, :func:`rewrite` makes a :class:`Program` of a query.

A program has the plans of its releases, and the SELECT over the released tables. What plans are made of is in
:mod:`rewriter.plan` and :mod:`rewriter.declared`; why a statement is not answered, in :mod:`rewriter.refused`.
"""

from rewriter.expressions import read_column
from rewriter.keys import has_mode
from rewriter.outer import (
    EXTREME,
    REPLICATE,
    REPLICATES,
    Affine,
    Described,
    Either,
    Form,
    Listed,
    Mean,
    Measured,
    Other,
    OuterSelect,
    Question,
    Quotient,
    Rounding,
    Running,
    Term,
    row_column,
    running_outputs,
    runs_along,
    slots_of,
    total_sql,
)
from rewriter.planner import SMALLER, Family, OneScan, Shape, exponents, histogram_plans, one_scans
from rewriter.program import Program, rewrite
from rewriter.split import Empty, label
from rewriter.statement import (
    MAX_BYTES,
    Explain,
    Parameters,
    Select,
    SetSetting,
    ShowSetting,
    Transaction,
    folded,
    parse,
)
from rewriter.strategies import Prefix, PrefixStrategy, Toeplitz, Tree

__all__ = [
    "EXTREME",
    "MAX_BYTES",
    "REPLICATE",
    "REPLICATES",
    "SMALLER",
    "Affine",
    "Described",
    "Either",
    "Empty",
    "Explain",
    "Family",
    "Form",
    "Listed",
    "Mean",
    "Measured",
    "OneScan",
    "Other",
    "OuterSelect",
    "Parameters",
    "Prefix",
    "PrefixStrategy",
    "Program",
    "Question",
    "Quotient",
    "Rounding",
    "Running",
    "Select",
    "SetSetting",
    "Shape",
    "ShowSetting",
    "Term",
    "Toeplitz",
    "Transaction",
    "Tree",
    "exponents",
    "folded",
    "has_mode",
    "histogram_plans",
    "label",
    "one_scans",
    "parse",
    "read_column",
    "rewrite",
    "row_column",
    "running_outputs",
    "runs_along",
    "slots_of",
    "total_sql",
]
