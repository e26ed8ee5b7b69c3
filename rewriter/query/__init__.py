"""A statement in one spelling, whatever it was written as: names resolved, and then one rule a file."""

from rewriter.query.canonical_tree import canonical
from rewriter.query.distinct_sums import values_apart
from rewriter.query.lateral_subqueries import reads_outside
from rewriter.query.names_in_reach import AMBIGUOUS, BEFORE_COMMA, UNKNOWN
from rewriter.query.ranks_of_people import is_ranked

__all__ = ["AMBIGUOUS", "BEFORE_COMMA", "UNKNOWN", "canonical", "is_ranked", "reads_outside", "values_apart"]
