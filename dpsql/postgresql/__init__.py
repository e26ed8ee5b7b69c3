"""What every PostgreSQL of ours shares."""

from dpsql.postgresql.binaries import Binaries, find_binaries
from dpsql.postgresql.connections import DEFAULTS, OLDEST, reason
from dpsql.postgresql.process import SUPERUSER, PostgresProcess
from dpsql.postgresql.urls import without_password

__all__ = [
    "DEFAULTS",
    "OLDEST",
    "SUPERUSER",
    "Binaries",
    "PostgresProcess",
    "find_binaries",
    "reason",
    "without_password",
]
