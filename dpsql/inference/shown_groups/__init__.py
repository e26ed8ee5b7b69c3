"""Which declared groups are shown, by evidence of many groups together: never by a group's own noise."""

from dpsql.inference.shown_groups.counted import EstimatedGroups, counted_groups, ends_of_mean
from dpsql.inference.shown_groups.discoveries import FALSE, discovered
from dpsql.inference.shown_groups.ends import LOST, SPEAKS, SURE, DecidingBlock, TrimmedEnds, blocks_of, trimmed_ends

__all__ = [
    "FALSE",
    "LOST",
    "SPEAKS",
    "SURE",
    "DecidingBlock",
    "EstimatedGroups",
    "TrimmedEnds",
    "blocks_of",
    "counted_groups",
    "discovered",
    "ends_of_mean",
    "trimmed_ends",
]
