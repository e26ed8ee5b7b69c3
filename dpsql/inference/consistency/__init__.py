"""Tables of one statement that agree with each other."""

from dpsql.inference.consistency.agree import agreeing, sums_of
from dpsql.inference.consistency.evidence import DerivedTable, Evidence
from dpsql.inference.consistency.infer import infer_all

__all__ = ["DerivedTable", "Evidence", "agreeing", "infer_all", "sums_of"]
