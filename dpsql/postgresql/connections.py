"""Connections to PostgreSQL: their defaults, the oldest version, and why one failed.

The driver is imported by whoever connects: a policy may name no server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psycopg

OLDEST = 15

DEFAULTS = {
    "application_name": "dpsql",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""Where the owner's URL says nothing."""


def reason(url: str, error: psycopg.Error) -> str:
    """The first line of what went wrong with a connection to ``url``, without the password in it."""
    import psycopg

    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return "the URL is not understood"
    why = (str(error).splitlines() or [type(error).__name__])[0].strip()
    password = _password(url)
    return why.replace(password, "…") if password else why


def _password(url: str) -> str:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        return str(conninfo_to_dict(url).get("password") or "")
    except psycopg.Error:
        return ""
