"""``dpsql workload``: statements of a file planned as one, and bought with one charge."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console

from dpsql.declared_workloads import DeclaredWorkload
from dpsql.display import grid
from dpsql.errors import DataError
from dpsql.interfaces.commands.statements_file import statements_of
from dpsql.price_text import left_over, loss
from dpsql.proxy import Proxy
from dpsql.releases import bar
from dpsql.workload import WorkloadStatement

_LONGEST = 70


def workload(
    policy: Path,
    file: Path,
    analyst: str | None,
    epsilon: str | None,
    console: Console,
    *,
    buy: bool,
    marginals: Path | None = None,
) -> None:
    """Plan the statements of a file, or of a workload of the policy, print what each is worth alone and together, and
    buy them if asked to."""
    price = None if epsilon is None else price_of(epsilon)
    proxy = Proxy.open(policy)
    try:
        session = proxy.session(analyst)
        wanted = _wanted(proxy, file, price)
        plan, charged = session.buy(wanted, price) if buy else (session.workload(wanted, price), None)
        show(plan.statements, console)
        if charged is not None:
            told = f"Bought: {loss(charged)} was charged" if charged else "Bought before: nothing was charged"
            console.print(f"{told}. Every statement is free from now on.", highlight=False)
        elif plan.loss:
            console.print(f"The price of all: {loss(plan.loss)}. Nothing was charged: --buy buys it.", highlight=False)
        else:
            console.print("Bought before: every statement is free.", highlight=False)
        if marginals is not None:
            pq.write_table(proxy.marginals(wanted, plan), marginals)
            console.print(f"What was measured together is in {marginals}.", highlight=False)
        left = session.budget() if buy else session.budget_after(plan.loss)
        console.print(f"Left{'' if buy else ' after it'}: {left_over(left)}", highlight=False)
    finally:
        proxy.close()


def _wanted(proxy: Proxy, file: Path, price: Fraction | None) -> list[str] | DeclaredWorkload:
    declared = proxy.declared.named(str(file))
    if declared is not None:
        if price is not None:
            raise DataError(
                f"{declared.what} has its price in the policy", sqlstate="22023", hint="leave --epsilon out"
            )
        return declared
    return statements_of(file)


def show(statements: tuple[WorkloadStatement, ...], console: Console) -> None:
    """One line for each statement."""
    console.print(
        grid(
            ["", "statement", "alone", "together", ""],
            [
                [str(number) for number in range(1, len(statements) + 1)],
                [_shortened(one.sql) for one in statements],
                [_error(one.alone) for one in statements],
                [_error(one.together) for one in statements],
                ["together" if one.joined else "beside" if _error(one.together) else "" for one in statements],
            ],
            [True, False, True, True, False],
        )
    )


def _error(errors: tuple[float | None, ...]) -> str:
    """The errors to expect of the columns that have one."""
    return ", ".join(f"± {bar(one)}" for one in errors if one is not None)


def _shortened(sql: str) -> str:
    text = " ".join(sql.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def price_of(epsilon: str) -> Fraction:
    """The price that a command line names. Raises DataError 22023 for what is none."""
    try:
        found = Fraction(epsilon)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if found <= 0:
        raise DataError(f"{epsilon} is no price", sqlstate="22023", hint="--epsilon 1")
    return found
