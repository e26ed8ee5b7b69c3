"""Privacy losses, and whether one more fits."""

from dpsql.accounting.accountant import Accountant, Accounting
from dpsql.accounting.conversion import alone, check_covered, covers, largest_rho
from dpsql.accounting.loss import PrivacyLoss
from dpsql.accounting.target_error import Target, price_for, target

__all__ = [
    "Accountant",
    "Accounting",
    "PrivacyLoss",
    "Target",
    "alone",
    "check_covered",
    "covers",
    "largest_rho",
    "price_for",
    "target",
]
