"""Privacy losses, and whether one more fits."""

from collections.abc import Mapping

from dpsql.accounting.accountant import Accountant
from dpsql.accounting.accounting import MOST_DELTA, Accounting, Allowance
from dpsql.accounting.approx import APPROX
from dpsql.accounting.conversion import check_covered, covers, largest_rho, smallest_epsilon
from dpsql.accounting.loss import PrivacyLoss
from dpsql.accounting.pure import PURE
from dpsql.accounting.target_error import Target, price_for, target
from dpsql.accounting.zcdp import ZCDP

ACCOUNTINGS: Mapping[str, Accounting] = {one.name: one for one in (ZCDP, PURE, APPROX)}
"""The ways of accounting, by the names that policies give them. A policy that gives none has the first that takes its
delta, or its lack of one."""

__all__ = [
    "ACCOUNTINGS",
    "APPROX",
    "MOST_DELTA",
    "PURE",
    "ZCDP",
    "Accountant",
    "Accounting",
    "Allowance",
    "PrivacyLoss",
    "Target",
    "check_covered",
    "covers",
    "largest_rho",
    "price_for",
    "smallest_epsilon",
    "target",
]
