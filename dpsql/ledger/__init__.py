"""The durable, append-only list of charges."""

from dpsql.ledger.charges import EVERYBODY, Charge, NoLedger, Standing, decimal
from dpsql.ledger.group_commit import Writer
from dpsql.ledger.ledger import Due, Filters, Ledger
from dpsql.ledger.orders import Order, Orders
from dpsql.ledger.paid import Paid
from dpsql.ledger.receipt import Receipt
from dpsql.ledger.row_times import EVER, Span, is_one_period, most_of, spent_by_time, whole_periods
from dpsql.ledger.tally import Limits
from dpsql.ledger.watch_states import WatchState, WatchStates

__all__ = [
    "EVER",
    "EVERYBODY",
    "Charge",
    "Due",
    "Filters",
    "Ledger",
    "Limits",
    "NoLedger",
    "Order",
    "Orders",
    "Paid",
    "Receipt",
    "Span",
    "Standing",
    "WatchState",
    "WatchStates",
    "Writer",
    "decimal",
    "is_one_period",
    "most_of",
    "spent_by_time",
    "whole_periods",
]
