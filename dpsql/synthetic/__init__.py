"""Made-up people: rows of a table that are drawn from what was measured of it, and never from its rows."""

from dpsql.synthetic.attributes import Attribute, Unmodelled, attributes
from dpsql.synthetic.comparison import Comparison, MeanCompared, compared, means
from dpsql.synthetic.made_up_table import made_table
from dpsql.synthetic.marginals import AdaptiveModel, AdaptivePlan, Draw, Marginals, MarginalsPlan, ReleasedCounts, best

__all__ = [
    "AdaptiveModel",
    "AdaptivePlan",
    "Attribute",
    "Comparison",
    "Draw",
    "Marginals",
    "MarginalsPlan",
    "MeanCompared",
    "ReleasedCounts",
    "Unmodelled",
    "attributes",
    "best",
    "compared",
    "made_table",
    "means",
]
