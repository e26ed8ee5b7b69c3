"""What people's own devices do before data come: values become reports, by exact draws."""

from dpsql.randomize.randomized_file import (
    ColumnToRandomize,
    Randomized,
    epsilon_of,
    randomize_file,
    rappor_of,
    values_of,
)
from dpsql.randomize.reports import Coins, Secret, reports

__all__ = [
    "Coins",
    "ColumnToRandomize",
    "Randomized",
    "Secret",
    "epsilon_of",
    "randomize_file",
    "rappor_of",
    "reports",
    "values_of",
]
