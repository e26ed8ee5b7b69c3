"""The bounded SQL."""

from rewriter.bound.ball import deciding
from rewriter.bound.bounded_sql import bound
from rewriter.bound.credited_values import credit_notes
from rewriter.bound.ranks import quantiles
from rewriter.bound.series import with_prefixes
from rewriter.bound.sql_size import check_expanded

__all__ = ["bound", "check_expanded", "credit_notes", "deciding", "quantiles", "with_prefixes"]
