"""An owner's orders from the console: a form about one analyst becomes a line of the ledger.

Guarantee: an order names an analyst whom the policy or the ledger knows, and the owner who gave it, and is durable
before the page says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpsql.console.owner_figures import MOST_CHARGES, analysts_of
from dpsql.errors import error
from dpsql.ledger import Ledger, Order
from dpsql.policy import Policy


def ordered(policy: Policy, ledger: Ledger, owner: str, form: Mapping[str, str]) -> None:
    """Write down what the form says of ``name``: ``act`` is pause, resume or share. Raises
    :class:`dpsql.errors.Error`."""
    name, act = form.get("name", ""), form.get("act", "")
    if name not in analysts_of(policy, ledger.charges(limit=MOST_CHARGES)):
        raise error(f"there is no analyst {name[:64]!r}", sqlstate="42704")
    ledger.order(name, Order.asked(owner, act, form.get("share", "")))
