"""Quantiles and modes by the exponential mechanism."""

from dpsql.mechanisms.quantiles.mode import Commonest
from dpsql.mechanisms.quantiles.one import Cost, Exponential, Quantile, TooFar, together, unit_weight
from dpsql.mechanisms.quantiles.pick import Columns, Pick, RankError, Ranks, paid_mechanism
from dpsql.mechanisms.quantiles.several import COUNT, Joint
from dpsql.mechanisms.quantiles.spread import SHARE, Around

__all__ = [
    "COUNT",
    "SHARE",
    "Around",
    "Columns",
    "Commonest",
    "Cost",
    "Exponential",
    "Joint",
    "Pick",
    "Quantile",
    "RankError",
    "Ranks",
    "TooFar",
    "paid_mechanism",
    "together",
    "unit_weight",
]
