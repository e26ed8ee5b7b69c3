"""Passwords of the servers that a policy names: from the environment or from a file, never from a command line.

Guarantee: a password that comes from here is in no policy, in no argument of a process, and in no message or log:
whoever shows a URL shows it without its password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from dpsql.errors import OperationalError
from dpsql.postgresql import without_password

DATABASE = "DPSQL_DATABASE_PASSWORD"
LEDGER = "DPSQL_LEDGER_PASSWORD"
METRICS = "DPSQL_METRICS_PASSWORD"
"""Names of environment variables; with _FILE behind, of a file that holds the password."""


def secret(name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """The value of ``name``, or the first line of the file that ``name_FILE`` names. Raises OperationalError.

    >>> secret("DPSQL_DATABASE_PASSWORD", {"DPSQL_DATABASE_PASSWORD": "open sesame"})
    'open sesame'
    >>> secret("DPSQL_DATABASE_PASSWORD", {}) is None
    True
    """
    given = os.environ if environment is None else environment
    value, file = given.get(name), given.get(f"{name}_FILE")
    if value is not None and file is not None:
        raise OperationalError(f"{name} and {name}_FILE are both set", sqlstate="F0000", hint="keep one of them")
    if file is None:
        return value
    try:
        lines = Path(file).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "it is not a text"
        raise OperationalError(f"{name}_FILE cannot be read: {why}", sqlstate="58030") from None
    if not lines or not lines[0]:
        raise OperationalError(f"{name}_FILE names an empty file", sqlstate="F0000")
    return lines[0]


def without_secret(url: str) -> str:
    """The URL of a server as it may be shown and written down.

    >>> without_secret("spark:sc://h:15002/;token=x;catalog=lake"), without_secret("postgresql://ana:x@h/clinic")
    ('spark:sc://h:15002/;catalog=lake', 'postgresql://ana@h/clinic')
    """
    return re.sub(r";token=[^;]*", "", url) if _is_spark(url) else without_password(url)


def _is_spark(url: str) -> bool:
    return "sc://" in url.partition(";")[0]


def with_secret(url: str, name: str) -> str:
    """The URL of a server with the password that the environment gives for it; the path of a file as it is.

    >>> with_secret("sqlite:clinic.ledger", LEDGER)
    'sqlite:clinic.ledger'
    """
    if "://" not in url:
        return url
    password = secret(name)
    if password is None:
        return url
    if without_secret(url) != url:
        raise OperationalError(
            f"the policy has a password, and so has {name}", sqlstate="F0000", hint="take it out of the policy"
        )
    if _is_spark(url):
        start, _, rest = url.partition(";")
        return f"{start.rstrip('/')}/;token={quote(password, safe='')}{';' + rest if rest else ''}"
    start, mark, query = url.partition("?")
    return f"{start}?{query + '&' if mark and query else ''}password={quote(password, safe='')}"
