"""The price of a statement, and the error to expect."""

from dpsql.price.advice import beside_now, coarser, suggestions, trials
from dpsql.price.agreement import agreeing
from dpsql.price.expected_error import ReleasedBefore, error_notes, expected_errors, expected_of_items
from dpsql.price.learn_bounds import Bounds, Settled
from dpsql.price.pricing import Priced, Pricing, combined_in, notices
from dpsql.price.profiles import BUYER, Profiles, WantedProfile, loss_of

__all__ = [
    "BUYER",
    "Bounds",
    "Priced",
    "Pricing",
    "Profiles",
    "ReleasedBefore",
    "Settled",
    "WantedProfile",
    "agreeing",
    "beside_now",
    "coarser",
    "combined_in",
    "error_notes",
    "expected_errors",
    "expected_of_items",
    "loss_of",
    "notices",
    "suggestions",
    "trials",
]
