"""Names of a policy against names of a database: in any case, as PostgreSQL finds them, and the nearest in errors.

A name is no proof of anything: what is named like people is asked about, and nothing is decided by it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

DEFAULT_SCHEMAS = ("public", "main")
"""What the schema is called whose tables are named without it."""
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


def match_table(name: str, names: Iterable[str]) -> str | None:
    """The same of a table, which may be named with its schema or without: ``analytics.orders`` is ``orders`` where no
    other is called so, and a table of the default schema may be called ``public.orders``.

    >>> known = ["orders", "analytics.orders", "analytics.visit"]
    >>> [match_table(name, known) for name in ("orders", "public.orders", "Analytics.Orders", "visit", "a.visit")]
    ['orders', 'orders', 'analytics.orders', 'analytics.visit', None]
    """
    known = list(names)
    if (found := match(name, known)) is not None:
        return found
    schema, _, own = name.rpartition(".")
    if schema.lower() in DEFAULT_SCHEMAS:
        return match(own, [other for other in known if "." not in other])
    alike = [other for other in known if "." in other and other.rpartition(".")[2].lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def suggestion(name: str, names: Iterable[str]) -> str:
    """A hint of the name to try instead of an unknown one.

    >>> suggestion("patients", ["patient", "visit"])
    'did you mean patient?'
    >>> suggestion("pid", ["id", "person_id"]), suggestion("pid", ["age", "id"])
    ('did you mean person_id?', 'there are age, id')
    """
    known = sorted(names)
    near = difflib.get_close_matches(name.lower(), known)
    alike = [one for one in near if len(name) > _SHORT or one[:1].lower() == name[:1].lower()]
    if alike := alike or [one for one in known if _abbreviates(name.lower(), one.lower())]:
        return f"did you mean {alike[0]}?"
    if not known:
        return "there is none"
    return f"there are {', '.join(known[:12])}{', …' if len(known) > 12 else ''}"


_SHORT = 3
"""A name of so few letters is no misspelling of one that begins otherwise."""


def _abbreviates(short: str, name: str) -> bool:
    """Whether a name begins like another one and has its letters in the same order."""
    letters = iter(name)
    return short[:1] == name[:1] and all(letter in letters for letter in short)
