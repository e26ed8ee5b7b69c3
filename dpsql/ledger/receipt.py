"""The receipt of one statement: a value that is handed to every charge, and read when the statement has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dpsql.accounting import PrivacyLoss


@dataclass(slots=True)
class Receipt:
    """The durable charges of one statement, whatever became of it then.

    >>> from fractions import Fraction
    >>> receipt = Receipt()
    >>> receipt.add([PrivacyLoss(epsilon=Fraction(1)), PrivacyLoss()], ["3f", ""])
    >>> receipt.loss.epsilon, receipt.ids
    (Fraction(1, 1), ('3f',))
    """

    _paid: list[tuple[PrivacyLoss, str]] = field(default_factory=list)
    again: bool = False
    """Whether something was paid a second time, since a window of the budget ended before it was read."""
    check: Callable[[PrivacyLoss], None] | None = None
    """Raises where the statement's session may not pay so much in all: then nothing more is charged."""

    def admit(self, losses: Iterable[PrivacyLoss]) -> None:
        """Before a charge: raise what ``check`` raises of it, together with what the statement has paid."""
        if self.check is not None:
            self.check(sum(losses, self.loss))

    def add(self, losses: Iterable[PrivacyLoss], ids: Iterable[str]) -> None:
        """Write charges down. A charge of nothing has no id, and is none."""
        self._paid += [(loss, id_) for loss, id_ in zip(losses, ids, strict=True) if id_]

    def __bool__(self) -> bool:
        return bool(self._paid)

    @property
    def loss(self) -> PrivacyLoss:
        return sum((loss for loss, _ in self._paid), PrivacyLoss())

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(id_ for _, id_ in self._paid)
