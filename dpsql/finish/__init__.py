"""Error bars of an answer's cells."""

from dpsql.finish.delivery import delivered
from dpsql.finish.error_bars import has_interval, widened_columns, widened_margins
from dpsql.finish.finisher import Finisher
from dpsql.finish.other_notes import others_notes
from dpsql.finish.present_groups import present_notes
from dpsql.finish.remembered import Finished

__all__ = [
    "Finished",
    "Finisher",
    "delivered",
    "has_interval",
    "others_notes",
    "present_notes",
    "widened_columns",
    "widened_margins",
]
