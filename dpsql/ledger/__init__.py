"""The durable, append-only list of charges."""

from dpsql.ledger.charges import EVERYBODY, Charge, Limits, NoLedger, decimal
from dpsql.ledger.group_commit import Writer
from dpsql.ledger.ledger import Due, Ledger
from dpsql.ledger.receipt import Receipt

__all__ = ["EVERYBODY", "Charge", "Due", "Ledger", "Limits", "NoLedger", "Receipt", "Writer", "decimal"]
