"""The mechanisms that hide statistics. To add one, write its file and put its class into ``NOISES``."""

from collections.abc import Iterator, Mapping

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.above_threshold import AboveThreshold
from dpsql.mechanisms.gaussian import Gaussian, sqrt_at_least
from dpsql.mechanisms.highest_score import HighestScore
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.mechanism import Mechanism
from dpsql.mechanisms.picking import Picking
from dpsql.mechanisms.threshold import Threshold
from dpsql.mechanisms.top_k import PICKS, TopK, part_of_picks
from dpsql.releases import Noise
from rewriter.declared import Sensitivity

NOISES: Mapping[str, type[Noise]] = {one.name: one for one in (Gaussian, Laplace, Picking)}
"""The mechanisms, by the names under which releases are stored."""


def hiding(sensitivity: Sensitivity, loss: PrivacyLoss) -> Iterator[Mechanism]:
    """The least noise of each mechanism that hides a vector at such a loss."""
    for kind in NOISES.values():
        found = kind.affordable(sensitivity, loss) if issubclass(kind, Mechanism) else None
        if found is not None:
            yield found


__all__ = [
    "NOISES",
    "PICKS",
    "AboveThreshold",
    "Gaussian",
    "HighestScore",
    "Laplace",
    "Mechanism",
    "Picking",
    "Threshold",
    "TopK",
    "hiding",
    "part_of_picks",
    "sqrt_at_least",
]
