"""What a statement reads for: charges of the windows in which it reads.

Guarantee: whatever is read in a window of a budget that renews is charged in that window. A statement that was charged
just before a window ended, and begins to read after it, is charged once more before it reads, in full; where that does
not fit any more, it is refused and reads nothing. So the charges of a window bound all that was sent to the database
while it was open. How long the database then takes is no part of it: whether a statement is paid again depends on the
clock and the ledger when it begins to read, and never on the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpsql.accounting import PrivacyLoss
from dpsql.ledger.ledger import Due, Ledger
from dpsql.ledger.receipt import Receipt


@dataclass(slots=True)
class Paid:
    """The durable charges of what is going to be read, all of ``dues`` in each window; a statement that is free has
    none."""

    _ledger: Ledger
    _analyst: str
    _dues: Sequence[Due]
    _receipt: Receipt
    loss: PrivacyLoss
    """All that was charged, in every window."""
    _ids: tuple[str, ...] = ()

    @classmethod
    def charged(cls, ledger: Ledger, analyst: str, dues: Sequence[Due], receipt: Receipt) -> Paid:
        """Charge for all that is due, durably and at once. Raises as :meth:`Ledger.charge`."""
        paid = cls(ledger, analyst, dues, receipt, PrivacyLoss())
        paid._charge()
        return paid

    def renew(self) -> None:
        """Right before a read: charge once more where a window has ended since. Raises as :meth:`Ledger.charge`."""
        while self._ids and not self._ledger.pays_now(self._ids, self._analyst):
            self._receipt.again = True
            self._charge()

    def _charge(self) -> None:
        ids = self._ledger.charge_together(self._analyst, self._dues, self._receipt)
        self._ids = tuple(filter(None, ids))
        self.loss = self.loss + self._ledger.together(self._dues)
