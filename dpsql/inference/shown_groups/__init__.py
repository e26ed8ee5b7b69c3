"""Which declared groups are shown, by evidence of many groups together: never by a group's own noise."""

from dpsql.inference.shown_groups.counted import EstimatedGroups, MeasuredNumber, counted_groups, ends_of_mean
from dpsql.inference.shown_groups.discoveries import FALSE, discovered
from dpsql.inference.shown_groups.ends import (
    BlockNoise,
    DecidingBlock,
    Independent,
    TrimmedEnds,
    blocks_of,
    distances_below,
    trimmed_ends,
)
from dpsql.inference.shown_groups.speaking import ONE_SIDED, SPEAKS, SURE, chance_of_each, kept_by

__all__ = [
    "FALSE",
    "ONE_SIDED",
    "SPEAKS",
    "SURE",
    "BlockNoise",
    "DecidingBlock",
    "EstimatedGroups",
    "Independent",
    "MeasuredNumber",
    "TrimmedEnds",
    "blocks_of",
    "chance_of_each",
    "counted_groups",
    "discovered",
    "distances_below",
    "ends_of_mean",
    "kept_by",
    "trimmed_ends",
]
