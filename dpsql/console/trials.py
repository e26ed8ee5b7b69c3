"""An owner's trials: questions under other bounds and another price, beside the true numbers.

Guarantee: the page is for an owner on this machine alone. It was asked for when the server was started, its console
listens on this machine, the request comes from this machine, and no proxy says that it passed it on. Nothing is
charged, and nothing of a trial is kept: neither its numbers nor its ledger.
"""

from __future__ import annotations

import ipaddress
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from starlette.requests import Request

from dpsql.errors import Error, error
from dpsql.policy import Policy
from dpsql.releases import bar
from dpsql.what_if import OTHERS, ColumnFigures, DeclaredBound, QuestionFigures, Trial, beside, bounds_of, per_cent
from rewriter.front_door import pieces

MOST_QUESTIONS = 20
LONGEST = 64 * 1024
_PASSED_ON = ("forwarded", "via", "x-real-ip")

_running = threading.Lock()
"""One trial at a time: it reads all rows, several times."""


def is_on_this_machine(request: Request) -> bool:
    """Whether a request was sent by this machine itself, as far as a server can see."""
    try:
        near = request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        near = False
    passed = any(name in _PASSED_ON or name.startswith("x-forwarded") for name in request.headers)
    return near and not passed


@dataclass(frozen=True, slots=True)
class ShownPair:
    """A figure under the owner's policy and under the tried one; one text where they are alike."""

    now: str
    then: str

    @property
    def same(self) -> bool:
        return self.now == self.then


@dataclass(frozen=True, slots=True)
class ShownFigures:
    """A measured column of a question."""

    name: str
    true: str
    within: ShownPair
    bias: ShownPair
    error: ShownPair


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    sql: str
    problem: str
    rows: int
    shown: ShownPair
    columns: tuple[ShownFigures, ...]


@dataclass(frozen=True, slots=True)
class ShownBound:
    """A bound as a field of the form: its name there, the policy's value, and the value that is tried."""

    name: str
    now: str
    value: str


@dataclass(frozen=True, slots=True)
class ShownTrial:
    questions: tuple[ShownQuestion, ...]
    bounds: tuple[ShownBound, ...]
    heads: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    changed: tuple[str, ...]
    """What the policy would say, of each bound and price that is another."""


def tried_by_owner(policy: Policy, form: Mapping[str, str]) -> ShownTrial:
    """The trial that a form asks for: its ``questions``, ``epsilon`` and bounds by name; ``others``: those of half and
    of twice, too. Raises :class:`dpsql.errors.Error`."""
    text = form.get("questions", "")
    if len(text) > LONGEST:
        raise error("the questions are too long", sqlstate="54001")
    asked = [piece for _, piece, _ in pieces(text)]
    if not asked:
        raise error("there is no question", sqlstate="42601", hint="write SELECTs, with ; between them")
    if len(asked) > MOST_QUESTIONS:
        raise error(f"there are {len(asked)} questions", sqlstate="54001", hint=f"at most {MOST_QUESTIONS} at once")
    epsilon = _price(form.get("epsilon", ""), policy.statement.epsilon)
    names = {name.lower() for name, table in policy.tables.items() if not table.public}
    known = [one for one in bounds_of(policy, names, asked) if form.get(one.name, one.now).strip() != one.now]
    values = {one: form[one.name] for one in known}
    if not _running.acquire(blocking=False):
        raise error("another trial is running", sqlstate="53300", hint="wait until it has ended")
    try:
        trial = beside(policy, asked, values, epsilon, "others" in form)
    finally:
        _running.release()
    return _shown(trial, values, epsilon, policy.statement.epsilon)


def _price(written: str, usual: Fraction) -> Fraction:
    if not written.strip():
        return usual
    try:
        found = Decimal(written.strip()[:40])
        if found.is_finite() and Decimal("1e-6") <= found <= 1000:
            return Fraction(found)
    except InvalidOperation:
        pass
    raise error(f"ε cannot be {written[:40]!r}", sqlstate="22023", hint="a number from 0.000001 to 1000")


def _shown(trial: Trial, values: Mapping[DeclaredBound, str], epsilon: Fraction, usual: Fraction) -> ShownTrial:
    bounds = tuple(ShownBound(one.name, one.now, values.get(one, one.now).strip()) for one in trial.bounds)
    changed = [f"{one.name}: {one.now} → {one.value}" for one in bounds if one.value != one.now]
    if epsilon != usual:
        changed.append(f"statement: epsilon: {float(usual):g} → {float(epsilon):g}")
    questions = tuple(_question(one.sql, one.now, one.then) for one in trial.questions)
    return ShownTrial(questions, bounds, OTHERS, trial.others, tuple(changed))


def _question(sql: str, now: QuestionFigures | Error, then: QuestionFigures | Error) -> ShownQuestion:
    if isinstance(now, Error) or isinstance(then, Error):
        problem = now if isinstance(now, Error) else then
        return ShownQuestion(sql, str(problem).replace("\n", " "), 0, ShownPair("", ""), ())
    columns = tuple(_column(*pair) for pair in zip(now.columns, then.columns, strict=False))
    return ShownQuestion(sql, "", now.rows, ShownPair(f"{now.shown:,}", f"{then.shown:,}"), columns)


def _column(now: ColumnFigures, then: ColumnFigures) -> ShownFigures:
    return ShownFigures(
        now.name,
        f"{now.true:,.6g}",
        ShownPair(f"{now.within:,.6g}", f"{then.within:,.6g}"),
        ShownPair(per_cent(now.bias), per_cent(then.bias)),
        ShownPair(_error(now), _error(then)),
    )


def _error(column: ColumnFigures) -> str:
    if not math.isfinite(column.error):
        return "± ?"
    part = f" ({100 * column.error / abs(column.true):.2g} %)" if column.true else ""
    return f"± {bar(column.error)}{part}"
