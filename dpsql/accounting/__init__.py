"""Privacy losses, and whether one more fits."""

from collections.abc import Mapping

from dpsql.accounting.accountant import Accountant
from dpsql.accounting.accounting import MOST_DELTA, Accounting, Allowance
from dpsql.accounting.approx import APPROX
from dpsql.accounting.conversion import largest_rho, smallest_epsilon
from dpsql.accounting.curves import steepest
from dpsql.accounting.loss import ORDERS, PrivacyLoss, admits
from dpsql.accounting.payment import check_covered, covers
from dpsql.accounting.pure import PURE
from dpsql.accounting.rdp import RDP
from dpsql.accounting.target_error import Target, price_for, target
from dpsql.accounting.zcdp import ZCDP

ACCOUNTINGS: Mapping[str, Accounting] = {one.name: one for one in (ZCDP, PURE, APPROX, RDP)}
"""The ways of accounting, by the names that policies give them. A policy that gives none has the first that takes its
delta, or its lack of one."""

__all__ = [
    "ACCOUNTINGS",
    "APPROX",
    "MOST_DELTA",
    "ORDERS",
    "PURE",
    "RDP",
    "ZCDP",
    "Accountant",
    "Accounting",
    "Allowance",
    "PrivacyLoss",
    "Target",
    "admits",
    "check_covered",
    "covers",
    "largest_rho",
    "price_for",
    "smallest_epsilon",
    "steepest",
    "target",
]
