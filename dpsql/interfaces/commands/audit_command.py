"""``dpsql audit``: what could be shown about a person, beside what is claimed, as an owner reads it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn

from dpsql.audit import ENOUGH, ERROR, PolicyAudit, ShownStatement, Told, audit_policy
from dpsql.display import grid
from dpsql.errors import DataError
from dpsql.opened import load_policy


def audit(path: Path, minutes: float, epsilon: str, scratch: str | None, console: Console) -> bool:
    """Audit a policy, print what was found, and say whether no more than is claimed could be shown."""
    try:
        price = Fraction(epsilon)
    except (ValueError, ZeroDivisionError):
        price = Fraction(0)
    if not 0 < price <= 64:
        raise DataError(f"{epsilon} is no price", sqlstate="22023", hint="--epsilon 1")
    policy = load_policy(path)
    where = "a PostgreSQL of yours for trials" if scratch else "a DuckDB of its own"
    console.print(
        f"Made-up people in {where}: no row of yours is read, and nothing is charged to your ledger.\n", highlight=False
    )
    if scratch is None and policy.database.kind == "postgresql":
        console.print(
            "Your database is PostgreSQL: its bounded SQL is tried too with --scratch postgresql://…\n", highlight=False
        )
    with _bar() as told:
        found = audit_policy(policy, minutes=minutes, epsilon=price, server=scratch, progress=told)
    show(found, console)
    return found.passed


@contextmanager
def _bar() -> Iterator[Told]:
    """A bar on a terminal; elsewhere nothing."""
    with Progress(*Progress.get_default_columns()[:3], TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("audit", total=1.0)
        yield lambda part, text: bar.update(task, completed=min(part, 1.0), description=text)


def show(found: PolicyAudit, console: Console) -> None:
    """Both tables, what was left out, and the verdict."""
    console.print("Without noise: what the worst person moves, of what noise is scaled for", style="bold")
    console.print(
        grid(
            ["statement", "moves", "worst person"],
            [
                [one.sql for one in found.moved],
                ["TOO FAR" if one.broken else f"{one.share:.0%}" for one in found.moved],
                [one.broken or str(one.extreme) for one in found.moved],
            ],
            [False, True, False],
        )
    )
    if found.shown:
        console.print(f"\nOver the wire: two servers, with and without a person of {found.worst}", style="bold")
        console.print(
            grid(
                ["statement", "charged", "ε claimed", "at δ", "ε shown", "at most", "answers", ""],
                [
                    [one.sql for one in found.shown],
                    [one.charged for one in found.shown],
                    [f"{one.claimed:.3g}" for one in found.shown],
                    [f"{one.delta:.2g}" for one in found.shown],
                    [f"{one.shown:.3g}" for one in found.shown],
                    [f"{one.could_show:.3g}" for one in found.shown],
                    [f"{one.answers:,}" for one in found.shown],
                    [_said(one) for one in found.shown],
                ],
                [False, False, True, True, True, True, True, False],
            )
        )
        console.print(
            "at most: what so many answers would show of ones that give all of the claim away", highlight=False
        )
    for sql, reason in found.skipped.items():
        console.print(f"not asked: {sql}: {reason}", highlight=False, markup=False)
    console.print(f"\n{_verdict(found)}", highlight=False)


def _said(one: ShownStatement) -> str:
    if not one.passed:
        return one.wrong or "ABOVE THE CLAIM"
    return "too few answers" if one.too_few else ""


def _verdict(found: PolicyAudit) -> str:
    sure = f"{1 - ERROR:.1%} confidence, all statements together"
    if not found.moved:
        return "Nothing could be asked: the policy answers none of the audit's statements."
    if found.passed:
        most = max(
            (one.shown / one.claimed for one in found.shown if one.claimed and not math.isinf(one.shown)), default=0
        )
        short = [one for one in found.shown if one.too_few]
        if short:
            which = (
                "every statement"
                if len(short) == len(found.shown)
                else f"{len(short)} of {len(found.shown)} statements"
            )
            return (
                f"Nothing is wrong as far as was looked ({sure}), but {which} had too few answers to tell: not even"
                f" {ENOUGH:.0%} of a claim could have been shown by them. Run it longer, with more --minutes."
            )
        if not found.shown:
            return "Passed without noise, exactly. Nothing was asked over the wire."
        return f"Passed: no more than is claimed could be shown; at most {most:.0%} of a claim ({sure})."
    return f"FAILED: more could be shown than is claimed ({sure}). Do not serve people's data with this installation."
