"""``dpsql check`` says where nobody can ask anything, or hardly anything, at the default price."""

from __future__ import annotations

import math

import pytest

from dpsql.engines import Schema
from dpsql.policy import Policy, problems

POLICY = """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: row
budget: {{{budget}, delta: {delta}{accounting}}}
analysts: {{ana: {{budget: {{epsilon: {share}}}}}, bob: {{}}}}
tables: {{}}
"""


def said(budget: str, share: str, delta: str = "1e-6", accounting: str = "") -> dict[str, list[str]]:
    text = POLICY.format(budget=budget, share=share, delta=delta, accounting=accounting)
    found: dict[str, list[str]] = {}
    for one in problems(Policy.parse(text), Schema({})):
        if "statement" in one.message and "at the default price" in one.message:
            found.setdefault(one.path, []).append(f"{one.severity}: {one.message}")
    return found


def test_a_share_that_pays_nothing_is_a_warning() -> None:
    """Under zCDP a total (ε, δ) allows ρ with ρ + 2√(ρ ln(1/δ)) = ε at most by the plain conversion; the tight one
    leaves a few per cent more. At ε = 0.3 that is far below ρ = 0.1²/2."""
    root = math.sqrt(math.log(1e6) + 0.3) - math.sqrt(math.log(1e6))
    assert 1.3 * root**2 < 0.1**2 / 2
    [(path, [message])] = said("epsilon: 10", "0.3, per: day").items()
    assert path == "analysts.ana.budget.epsilon"
    assert message.startswith(
        "warning: the share 0.3 pays no statement at the default price 0.1 in each day: under zcdp"
    )


def test_a_month_that_pays_four_says_so() -> None:
    found = said("epsilon: 1, per: month, lifetime: {epsilon: 20}", "1")
    assert found == {
        "budget.epsilon": ["info: epsilon 1 pays 4 statements at the default price 0.1 in each month"],
        "analysts.ana.budget.epsilon": ["info: the share 1 pays 4 statements at the default price 0.1 in each month"],
    }


@pytest.mark.parametrize(("share", "many"), [("0.1", 1), ("0.35", 3), ("0.99", 9), ("1", None), ("0.09", 0)])
def test_under_pure_accounting_it_is_a_division(share: str, many: int | None) -> None:
    found = said("epsilon: 10", share, "0", ", accounting: pure").get("analysts.ana.budget.epsilon", [])
    if many is None:
        assert found == []
    elif many:
        assert found == [f"info: the share {share} pays {many} statement{'s' * (many > 1)} at the default price 0.1"]
    else:
        assert found[0].startswith("warning: the share 0.09 pays no statement")


def test_enough_is_not_worth_a_word() -> None:
    assert said("epsilon: 10, per: month, lifetime: {epsilon: 100}", "5") == {}
