"""How wide the noise of a plan must be for its price."""

from dpsql.calibrate.calibration import (
    NOMINAL_GROUP,
    CalibratedBlock,
    Calibration,
    affordable,
    calibrate,
    margins,
    measure,
    turning_notes,
)
from dpsql.calibrate.picks import rank_notes
from dpsql.calibrate.price_shares import marginals_above, shares
from dpsql.calibrate.sort_or_pick import is_as_good, only_sorted, picks_note, ranked

__all__ = [
    "NOMINAL_GROUP",
    "CalibratedBlock",
    "Calibration",
    "affordable",
    "calibrate",
    "is_as_good",
    "marginals_above",
    "margins",
    "measure",
    "only_sorted",
    "picks_note",
    "rank_notes",
    "ranked",
    "shares",
    "turning_notes",
]
