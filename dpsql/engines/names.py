"""Names of a policy against names of a database: in any case, as PostgreSQL finds them, and the nearest in errors.

A name is no proof of anything: what is named like people is asked about, and nothing is decided by it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

PEOPLE = re.compile(
    r"patient|person|people|customer|client|user|member|employee|student|citizen|subscriber|respondent|household"
    r"|account|participant|subject|resident|worker|driver|rider|guest|donor|voter|teacher|player|passenger"
    r"|doctor|physician|nurse|staff|author|contact|owner|tenant|borrower|applicant|candidate",
    re.IGNORECASE,
)
"""What tables of people are named like."""


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
    """A hint of the name to try instead of an unknown one.

    >>> suggestion("patients", ["patient", "visit"])
    'did you mean patient?'
    """
    known = sorted(names)
    if near := difflib.get_close_matches(name.lower(), known, 1):
        return f"did you mean {near[0]}?"
    if not known:
        return "there is none"
    return f"there are {', '.join(known[:12])}{', …' if len(known) > 12 else ''}"
