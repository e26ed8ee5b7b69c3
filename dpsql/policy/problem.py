"""Problems of a policy, wrong or unwise: a key path, a message, and how bad it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from dpsql.errors import OperationalError

CONFIG_FILE_ERROR = "F0000"

Severity = Literal["error", "warning", "info"]

Kind = Literal["two people"]
"""Problems that somebody may ask for: a table whose rows are about two people."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. ``path`` is the key path in the policy file; ``error`` alone keeps a policy from being used.

    >>> print(Problem("tables.visit.columns.cost.range", "low 5000 is above high 0"))
    tables.visit.columns.cost.range: low 5000 is above high 0
    """

    path: str
    message: str
    severity: Severity = "error"
    kind: Kind | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class PolicyError(OperationalError):
    """A policy that cannot be used. ``problems`` holds every error found; the message has one line for each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)), sqlstate=CONFIG_FILE_ERROR)


def join(path: str, *parts: str | int) -> str:
    """A key path, extended.

    >>> join("tables.sex.values", 2), join("", "budget", "delta")
    ('tables.sex.values[2]', 'budget.delta')
    """
    for part in parts:
        path = f"{path}[{part}]" if isinstance(part, int) else f"{path}.{part}" if path else part
    return path
