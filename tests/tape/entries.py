"""What becomes of one statement, as data that can be kept: refused or not, plans, outer SQL, columns, price, notices."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpsql.errors import Error
from dpsql.prepare import Prepared
from dpsql.proxy import Proxy, Session
from rewriter.plan import Choice, Plan
from rewriter.refused import Refused
from tests.tape.worlds import Asked, OpenWorld

SECONDS = 120
"""A statement that takes longer to plan is slow, whatever it is."""
_CRASH = "XX000"

Entry = dict[str, Any]


class Slow(Exception):
    """A statement took too long to plan."""


def record(world: OpenWorld, asked: Asked) -> Entry:
    """What becomes of a statement. Raises nothing: a crash is an outcome."""
    entry: Entry = {"sql": asked.sql, "settings": dict(asked.settings), "refused": None}
    try:
        with _at_most(SECONDS):
            session = _session(world.proxy, asked)
            prepared = _prepared(session, asked)
            entry["plans"] = [plan_entry(plan) for plan in plans_of(prepared)]
            explanation = session.explain(asked.sql, asked.parameters)
            entry |= {
                "releases": [release.plan.identity[:16] for release in explanation.releases],
                "outer": explanation.outer_sql,
                "columns": [[column.name, str(column.type)] for column in explanation.columns],
                "expected": [None if error is None else float(f"{error:.6g}") for error in explanation.expected],
                "price": {
                    part: str(getattr(explanation.price, part))
                    for part in ("epsilon", "rho", "delta")
                    if getattr(explanation.price, part)
                }
                | ({"curve": list(map(str, explanation.price.curve))} if explanation.price.curve else {}),
                "notices": list(explanation.notices),
            }
            others = world.others if asked.spelt else {}
            entry["dialects"] = {name: _hash_of(other, asked) for name, other in others.items()}
    except Exception as error:
        for what in ("plans", "releases", "outer", "columns", "expected", "price", "notices"):
            entry.pop(what, None)
        entry["refused"] = refusal(error)
    return entry


def refusal(error: Exception) -> dict[str, Any]:
    """Why a statement is not answered, as an analyst would be told; of a bug of ours, what it is."""
    if isinstance(error, Slow):
        return {"sqlstate": "slow", "message": f"more than {SECONDS} s", "hint": "", "position": None}
    if isinstance(error, Error | Refused):
        return {name: getattr(error, name) for name in ("sqlstate", "message", "hint", "position")}
    return {"sqlstate": _CRASH, "message": f"{type(error).__name__}: {error}", "hint": "", "position": None}


def plans_of(prepared: Prepared) -> list[Plan]:
    """Every plan by which a statement may be measured, of all its stages."""
    options = [option for stage in prepared.stages for option in stage.program.options]
    return [plan for option in options for plan in option.all]


def plan_entry(plan: Plan) -> Entry:
    """The SQL of a plan, and how far one person moves what it measures."""
    return {
        "identity": plan.identity[:16],
        "sql": [text for text in (plan.sql, *(choice.sql for choice in plan.choices)) if text],
        "steps": [step.sql for step in plan.steps],
        "keys": [[key.text, str(key.type)] for key in plan.keys],
        "moves": moves(plan),
    }


def moves(plan: Plan) -> list[str]:
    """How far one person moves a plan's statistics, its groups and its picks."""
    found = []
    for block in plan.blocks:
        steps = ", ".join(f"{one.bound} of {one.granularity}" for one in block.statistics)
        declared = block.sensitivity
        found.append(
            f"l1 {declared.l1}, l2² {declared.l2_squared}, weight {block.weight}: {steps}; {block.prefix or ''}"
        )
    if (selection := plan.selection) is not None:
        found.append(
            f"selection in 1/{selection.granularity.denominator}, {selection.max_groups} groups, {selection.units} units"
        )
    if (top := plan.top) is not None:
        found.append(f"top {top.count}, reach {top.reach}")
    found += map(_moves_of_choice, plan.choices)
    return [*found, f"cells {plan.cells}"]


def _moves_of_choice(choice: Choice) -> str:
    declared = choice.sensitivity
    fractions = ", ".join(map(str, choice.fractions))
    where = f"{choice.low} to {choice.high} of {choice.granularity}, near {choice.window}, row {choice.row}"
    return f"pick {fractions}: l1 {declared.l1}, l2² {declared.l2_squared}, {where}"


def _session(proxy: Proxy, asked: Asked) -> Session:
    names = tuple(proxy.policy.analysts or ())
    session = proxy.session(names[0] if names else None)
    for name, value in asked.settings.items():
        session.change(name, value)
    return session


def _prepared(session: Session, asked: Asked) -> Prepared:
    found = session._prepared(asked.sql, asked.parameters)
    found = getattr(found, "prepared", found)  # Of an EXPLAIN.
    if not isinstance(found, Prepared):
        session.explain(asked.sql, asked.parameters)  # Says that it is not a query.
        raise AssertionError("only a query is prepared")
    return found


def _hash_of(proxy: Proxy, asked: Asked) -> str:
    """A hash of the SQL and the sensitivities in another dialect, or why there is none."""
    try:
        plans = plans_of(_prepared(_session(proxy, asked), asked))
    except (Error, Refused) as refused:
        return f"refused: {refused.sqlstate} {refused}"
    told = [(plan.sql, [choice.sql for choice in plan.choices], moves(plan)) for plan in plans]
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
