"""Privacy losses, and whether one more fits."""

from dpsql.accounting.accountant import NORMS, Accountant, Accounting, alone, largest_rho
from dpsql.accounting.loss import PrivacyLoss
from dpsql.accounting.price_parts import check_covered, covers, split_price, within
from dpsql.accounting.target_error import Target, price_for, target

__all__ = [
    "NORMS",
    "Accountant",
    "Accounting",
    "PrivacyLoss",
    "Target",
    "alone",
    "check_covered",
    "covers",
    "largest_rho",
    "price_for",
    "split_price",
    "target",
    "within",
]
