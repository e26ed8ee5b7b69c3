"""Connection strings of PostgreSQL, shown without their password."""

from __future__ import annotations


def without_password(url: str) -> str:
    """A PostgreSQL URL as it may be shown and written down.

    >>> without_password("postgresql://ana:a%2Fb@db.example.org:5433/clinic?sslmode=require&password=x")
    'postgresql://ana@db.example.org:5433/clinic?sslmode=require'
    """
    start, mark, query = url.partition("?")
    scheme, _, rest = start.partition("://")
    user, at, place = rest.rpartition("@")
    kept = [part for part in query.split("&") if part.partition("=")[0] not in ("password", "sslpassword")]
    return f"{scheme}://{user.partition(':')[0]}{at}{place}" + (mark + "&".join(kept) if any(kept) else "")
