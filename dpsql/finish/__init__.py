"""Error bars of an answer's cells."""

from dpsql.finish.error_bars import in_zone, known_margins, widened_columns, widened_margins, widened_rows
from dpsql.finish.finisher import Finisher
from dpsql.finish.other_notes import others_notes
from dpsql.finish.present_groups import present_notes
from dpsql.finish.remembered import Finished

__all__ = [
    "Finished",
    "Finisher",
    "in_zone",
    "known_margins",
    "others_notes",
    "present_notes",
    "widened_columns",
    "widened_margins",
    "widened_rows",
]
