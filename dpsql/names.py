"""Names of a policy against names of a database: in any case, as PostgreSQL finds them, and the nearest in errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def match(name: str, names: Iterable[str]) -> str | None:
    """The name as the database spells it: the same, else the only one that differs by case alone.

    >>> match("Patient", ["patient", "visit"]), match("ID", ["Id", "id"])
    ('patient', None)
    """
    known = list(names)
    if name in known:
        return name
    folded = [other for other in known if other.lower() == name.lower()]
    return folded[0] if len(folded) == 1 else None


def suggestion(name: str, names: Iterable[str]) -> str:
    """What to try instead of an unknown name.

    >>> suggestion("patients", ["patient", "visit"])
    'did you mean patient?'
    """
    known = sorted(names)
    if near := difflib.get_close_matches(name.lower(), known, 1):
        return f"did you mean {near[0]}?"
    if not known:
        return "there is none"
    return f"there are {', '.join(known[:12])}{', …' if len(known) > 12 else ''}"
