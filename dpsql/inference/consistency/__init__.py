"""Tables of one statement that agree with each other."""

from dpsql.inference.consistency.agree import FEW, agreeing, sums_of
from dpsql.inference.consistency.evidence import DerivedTable, Evidence
from dpsql.inference.consistency.infer import FinishedParts, agreed, infer_all, joins_in
from dpsql.inference.consistency.leaves import MOST_LEAVES
from dpsql.inference.consistency.shown import shown_tables

__all__ = [
    "FEW",
    "MOST_LEAVES",
    "DerivedTable",
    "Evidence",
    "FinishedParts",
    "agreed",
    "agreeing",
    "infer_all",
    "joins_in",
    "shown_tables",
    "sums_of",
]
