"""Error bars of an answer's cells."""

from dpsql.finish.error_bars import (
    exact_bars,
    in_zone,
    known_margins,
    pieced,
    selected_bars,
    tried_bars,
    widened_columns,
    widened_margins,
    widened_rows,
)
from dpsql.finish.other_notes import others_notes
from dpsql.finish.present_groups import present_notes
from dpsql.finish.remembered import Finished, FinishedAnswers, undefined_notes

__all__ = [
    "Finished",
    "FinishedAnswers",
    "exact_bars",
    "in_zone",
    "known_margins",
    "others_notes",
    "pieced",
    "present_notes",
    "selected_bars",
    "tried_bars",
    "undefined_notes",
    "widened_columns",
    "widened_margins",
    "widened_rows",
]
