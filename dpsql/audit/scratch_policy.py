"""The owner's policy over made-up people: every bound and rule of it, with another database and a ledger of its own."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpsql.policy import Policy, Written, yaml_tree

LEDGER_NAME = "spent.ledger"
_DROPPED = ("ledger", "analysts", "owners", "releases", "refresh", "data_version", "workloads")


def scratch_policy(policy: Policy, database: str, epsilon: Fraction, folder: Path) -> Path:
    """A policy file in ``folder``. Statements cost ``epsilon`` each, and the total admits all that an audit asks.

    Bounds, keys, ranges, δ of a statement and the accounting are the owner's.
    """
    if policy.path is None:
        raise ValueError("a policy that is no file has no text")
    tree = yaml_tree(policy.path.read_text(encoding="utf-8-sig"))
    if not isinstance(tree, dict):
        raise ValueError("a policy is a mapping")
    tree = {name: value for name, value in tree.items() if name not in _DROPPED}
    tree["database"] = Written(database, quoted=True)
    tree["ledger"] = Written(f"sqlite:{folder / LEDGER_NAME}", quoted=True)
    tree["analysts"] = {"ana": {}}
    price = {"epsilon": _decimal(epsilon), "max_epsilon": _decimal(epsilon)}
    total = {"epsilon": Written("1e6"), "delta": Written("0"), "accounting": Written(policy.budget.accounting)}
    if policy.budget.delta:
        total["delta"], price["delta"] = Written("0.9"), _decimal(policy.statement.delta)
    if policy.statement.bounds is not None:
        price["bounds"] = _decimal(policy.statement.bounds)
    tree["budget"], tree["statement"] = total, price
    tree["tables"] = {name: _table(table) for name, table in tree["tables"].items()}
    folder.mkdir()
    path = folder / "policy.yaml"
    path.write_text(spelt(tree) + "\n", encoding="utf-8")
    return path


def _table(table: Any) -> Any:
    if not isinstance(table, dict):
        return table
    kept = {name: value for name, value in table.items() if name not in ("files", "nulls", "refresh")}
    if isinstance(kept.get("columns"), dict):
        kept["columns"] = {
            name: {key: value for key, value in column.items() if key != "type"} if isinstance(column, dict) else column
            for name, column in kept["columns"].items()
        }
    return kept


def spelt(tree: Any) -> str:
    """A tree of a policy as YAML on one line, every scalar as it was written.

    >>> spelt({"range": [Written("1"), None], "it's": Written("a: b", quoted=True)})
    "{'range': [1, null], 'it''s': 'a: b'}"
    """
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{_quoted(str(name))}: {spelt(value)}" for name, value in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(spelt, tree)) + "]"
    if tree is None:
        return "null"
    plain = not tree.quoted and tree and all(one.isalnum() or one in "._-+ " for one in tree)
    return str(tree) if plain else _quoted(tree)


def _quoted(text: str) -> str:
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    escaped = text.encode("unicode_escape").decode().replace('"', '\\"')
    return f'"{escaped}"'


def _decimal(number: Fraction) -> Written:
    return Written(str(Decimal(number.numerator) / Decimal(number.denominator)))
