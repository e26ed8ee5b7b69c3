"""The receipt of one statement: a value that is handed to every charge, and read when the statement has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dpsql.accounting import PrivacyLoss
from dpsql.ledger.row_times import Span, most_of


@dataclass(slots=True)
class Receipt:
    """The durable charges of one statement, whatever became of it then.

    >>> from fractions import Fraction
    >>> from dpsql.ledger.row_times import EVER
    >>> receipt = Receipt()
    >>> receipt.add([(PrivacyLoss(epsilon=Fraction(1)), EVER), (PrivacyLoss(), EVER)], ["3f", ""])
    >>> receipt.loss.epsilon, receipt.ids
    (Fraction(1, 1), ('3f',))
    """

    _paid: list[tuple[PrivacyLoss, Span, str]] = field(default_factory=list)
    again: bool = False
    """Whether something was paid a second time, since a window of the budget ended before it was read."""
    check: Callable[[PrivacyLoss], None] | None = None
    """Raises where the statement's session may not pay so much in all: then nothing more is charged."""

    def admit(self, charges: Iterable[tuple[PrivacyLoss, Span]]) -> None:
        """Before charges: raise what ``check`` raises of them, together with what the statement has paid."""
        if self.check is not None:
            self.check(most_of([*((span, loss) for loss, span, _ in self._paid), *((s, one) for one, s in charges)]))

    def add(self, charges: Iterable[tuple[PrivacyLoss, Span]], ids: Iterable[str]) -> None:
        """Write charges down, with the times of the rows that they are about. A charge of nothing has no id, and is
        none."""
        self._paid += [(*charge, id_) for charge, id_ in zip(charges, ids, strict=True) if id_]

    def __bool__(self) -> bool:
        return bool(self._paid)

    @property
    def loss(self) -> PrivacyLoss:
        """Of the rows that were charged most."""
        return most_of((span, loss) for loss, span, _ in self._paid)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(id_ for *_, id_ in self._paid)
