"""What the bounds and the price of a policy do to questions, beside the true numbers.

For the owner's eyes alone: the numbers are as exact as a price can make them that nobody would pay. Each policy that is
tried has a ledger and kept releases of its own, which are thrown away; that of the owner is neither read nor charged.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median

from dpsql.engines import extent_scan, owned_rows_scan
from dpsql.errors import DataError, Error
from dpsql.opened import compared, open_here
from dpsql.policy import BOUNDS, MostRows, Place, Policy, TableSection, Written, ahead, steps_of
from dpsql.proxy import Proxy, Session
from dpsql.reply import Answer

EXACT = 10**7
"""A price at which the noise is far below the figures that are shown."""
_TIMES = (Fraction(1, 2), Fraction(2))
BAR = 1.96
_ENDS = ("low", "high")
_MOST_ROWS, _LONGEST_NUMBER = 10**9, 40
_SAME, _BETTER = 0.02, 0.05
"""By such a part errors may differ by the noise of bars; from such a part on another bound is better."""
_CHEAPEST, _DEAREST = 1e-4, 1e4


@dataclass(frozen=True, slots=True)
class ColumnFigures:
    """A measured column of a question's answer, the median over its rows: the ``true`` number, what is left ``within``
    the bounds, and the half-width of the 95 % bar. ``off``: how far bounds move a row, the root of the mean square."""

    name: str
    true: float
    within: float
    error: float
    off: float

    @property
    def bias(self) -> float:
        """The part of the true number by which bounds move it."""
        return (self.within - self.true) / abs(self.true) if self.true else 0.0

    @property
    def together(self) -> float:
        """The root mean square error of noise and bounds."""
        return math.hypot(self.error / BAR, self.off)


@dataclass(frozen=True, slots=True)
class QuestionFigures:
    """A question as it is answered: how many rows there are, and how many an answer showed; its columns."""

    rows: int
    shown: int
    columns: tuple[ColumnFigures, ...]


@dataclass(frozen=True, slots=True)
class DeclaredBound:
    """A bound that a policy declares, of a ``table`` or of a ``column`` of it, and its value as it is written."""

    table: str
    column: str
    key: str
    now: str

    @property
    def name(self) -> str:
        """As ``visit: max_rows`` or ``visit.cost: high``."""
        return f"{self.table}.{self.column}: {self.key}" if self.column else f"{self.table}: {self.key}"


@dataclass(frozen=True, slots=True)
class OtherBound:
    """A bound of the policy and another value of it."""

    name: str
    now: str
    value: str
    policy: Policy


# Policies that are tried


@contextmanager
def tried(policy: Policy) -> Iterator[Proxy]:
    """A proxy of a policy, with a ledger that is thrown away and admits everything."""
    with tempfile.TemporaryDirectory(prefix="dpsql-") as folder:
        at = Path(folder)
        budget = {"epsilon": Fraction(EXACT) ** 3, "per": None, "lifetime": None}
        if policy.budget.delta:
            budget["delta"] = Fraction(9, 10)
        other = policy.model_copy(
            update={
                "ledger": Place.of(f"sqlite:{at / 'ledger'}", at),
                "releases": None,
                "profile": None,
                "analysts": None,
                "owners": None,
                "workloads": None,
                "budget": policy.budget.model_copy(update=budget),
                "statement": policy.statement.model_copy(update={"max_epsilon": Fraction(EXACT)}),
            }
        )
        proxy = Proxy.of(open_here(compared(other)))
        try:
            yield proxy
        finally:
            proxy.close()


def _with_tables(policy: Policy, change: Callable[[str, TableSection], TableSection]) -> Policy:
    tables = {name: table if table.public else change(name, table) for name, table in policy.tables.items()}
    return policy.model_copy(update={"tables": tables})


def without_bounds(policy: Policy, trial: Proxy) -> Policy:
    """The policy whose bounds leave all rows and numbers as they are, which the database of its ``trial`` tells."""
    engine, catalog, seconds = trial.answering.opened.engine, trial.catalog, policy.limits.seconds
    most: dict[str, int] = {}
    ends: dict[tuple[str, str], tuple[Written, Written]] = {}
    for table in catalog.tables.values():
        if table.public:
            continue
        if catalog.unit is not None:
            way = steps_of(table.path)
            scan = partial(owned_rows_scan, table=table.name, people=catalog.unit, way=way, most=1 << 40)
            most[table.name.lower()] = max(1, int(engine.figures(scan, seconds)[7] or 1))
        for column in table.columns.values():
            if column.range is None or not column.type.numeric:
                continue
            found = engine.figures(partial(extent_scan, table=table.name, column=column.name), seconds)
            numbers = [Decimal(str(one)) for one in (*column.range, *found) if _is_finite(one)]
            whole = Written(f"{min(numbers):f}"), Written(f"{max(numbers):f}")
            ends[table.name.lower(), column.name.lower()] = whole

    def unbounded(name: str, table: TableSection) -> TableSection:
        columns = {
            column: said.model_copy(
                update={
                    "range": ends.get((name.lower(), column.lower()), said.range),
                    "max_total": None,
                    "max_distinct": None,
                }
            )
            for column, said in (table.columns or {}).items()
        }
        rows = None if table.max_rows is None else MostRows(most.get(name.lower(), 1 << 20))
        kept = {"max_rows": rows, "max_groups": None, "max_rows_per_group": None, "closed_after": None}
        return table.model_copy(update={**kept, "columns": columns if table.columns is not None else None})

    return _with_tables(policy, unbounded)


def _is_finite(number: object) -> bool:
    try:
        return number is not None and math.isfinite(float(str(number)))
    except ValueError:
        return False


# Figures of questions


def answered(proxy: Proxy, sql: str, epsilon: float | None = None) -> Answer | Error:
    """The answer at a price, the default one where none is given; why there is none."""
    try:
        return unreleased(proxy, epsilon).execute(sql)
    except Error as reason:
        return reason


def unreleased(proxy: Proxy, epsilon: float | None = None) -> Session:
    """A session for which nothing was released yet: what was bought before is free, and has nothing to gain. Statements
    cost ``epsilon``, the default price where none is given."""
    session = proxy.session(next(iter(proxy.policy.analysts or ()), None))
    session.settings = replace(session.settings, reuse=False)
    if epsilon is not None:
        session.settings = replace(session.settings, epsilon=Fraction(epsilon).limit_denominator(10**9))
    return session


def figures_of(proxy: Proxy, sql: str, true: Answer | Error) -> QuestionFigures | Error:
    """What is left of the true numbers within the bounds, and how an answer looks at the default price."""
    if isinstance(true, Error):
        return true
    bounded = answered(proxy, sql, EXACT)
    if isinstance(bounded, Error):
        return bounded
    noisy = answered(proxy, sql)
    if isinstance(noisy, Error):
        return noisy
    measured = [at for at in range(len(noisy.columns)) if any(row[at] is not None for row in noisy.margins)]
    rows, within = _by_key(true, measured), _by_key(bounded, measured)
    columns = []
    for at in measured:
        pairs = [(row[at], within[key][at] if key in within else 0) for key, row in rows.items()]
        numbers = [
            (float(str(one)), float(str(other))) for one, other in pairs if _is_finite(one) and _is_finite(other)
        ]
        errors = [row[at] for row in noisy.margins]
        known = [one for one in errors if one is not None and math.isfinite(one)]
        if numbers:
            off = math.sqrt(sum((one - other) ** 2 for one, other in numbers) / len(numbers))
            middle = median(one for one, _ in numbers), median(other for _, other in numbers)
            name = noisy.columns[at].name
            columns.append(ColumnFigures(name, *middle, median(known) if known else math.inf, off))
    return QuestionFigures(len(true.rows), len(noisy.rows), tuple(columns))


def _by_key(answer: Answer, measured: Sequence[int]) -> Mapping[tuple[object, ...], tuple[object, ...]]:
    keys = [at for at in range(len(answer.columns)) if at not in measured]
    return {tuple(row[at] for at in keys): row for row in answer.rows}


def price_for(proxy: Proxy, sql: str, found: QuestionFigures | Error, wanted: float | None) -> float | None:
    """The ε at which the widest column's bar is so large a part of its number; None where that is not known."""
    if wanted is None or isinstance(found, Error) or not found.columns:
        return None
    widest = max((one.error / abs(one.true) if one.true else math.inf) for one in found.columns)

    def expected(epsilon: float) -> float:
        found = unreleased(proxy, epsilon).explain(sql).expected
        return max((one for one in found if one is not None), default=math.inf)

    now = expected(float(proxy.policy.statement.epsilon))
    aim = now * wanted / widest if widest else math.inf
    if not (0 < aim < math.inf):
        return None
    low, high = _CHEAPEST, _DEAREST
    if expected(high) > aim:
        return None
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if expected(middle) <= aim else (middle, high)
    return high


# Other bounds


def read_by(proxy: Proxy, asked: Sequence[str]) -> frozenset[str]:
    """The tables of people that the questions read."""
    session, found = unreleased(proxy), set[str]()
    for sql in asked:
        try:
            found |= {table for one in session.explain(sql).releases for table in one.plan.tables}
        except Error:
            continue
    return frozenset(name.lower() for name in found)


def bounds_of(policy: Policy, names: Collection[str], asked: Sequence[str]) -> Iterator[DeclaredBound]:
    """The bounds of the tables with these names, in small letters, that questions may feel."""
    text = "\n".join(asked).lower()
    for name, table in policy.tables.items():
        if table.public or name.lower() not in names:
            continue
        for key in BOUNDS:
            now = getattr(table, key)
            if now is not None:
                yield DeclaredBound(name, "", key, str(now.rows if isinstance(now, MostRows) else now))
        for column, said in (table.columns or {}).items():
            if said.range is None or column.lower() not in text:
                continue
            if ahead(said.range[1]) is None and all(map(_is_finite, said.range)):
                yield from (
                    DeclaredBound(name, column, key, str(end)) for key, end in zip(_ENDS, said.range, strict=True)
                )


def with_bounds(policy: Policy, values: Mapping[DeclaredBound, str]) -> Policy:
    """The policy with other values of bounds. Raises :class:`DataError` where a bound cannot have its value."""
    for bound, value in values.items():
        table = policy.tables[bound.table]
        if bound.column:
            columns = dict(table.columns or {})
            said = columns[bound.column]
            low, high = said.range or (Written(value), Written(value))
            number = _finite(bound, value)
            ends = (number, high) if bound.key == _ENDS[0] else (low, number)
            columns[bound.column] = said.model_copy(update={"range": ends})
            policy = _changed(policy, bound.table, {"columns": columns})
        else:
            now, most = getattr(table, bound.key), _whole(bound, value)
            other = replace(now, rows=most) if isinstance(now, MostRows) else most
            policy = _changed(policy, bound.table, {bound.key: other})
    for bound in values:
        both = (policy.tables[bound.table].columns or {})[bound.column].range if bound.column else None
        if both is not None and not Fraction(both[0]) < Fraction(both[1]):
            raise DataError(
                f"the range [{both[0]}, {both[1]}] of {bound.table}.{bound.column} is empty",
                sqlstate="22023",
                hint="the low end is below the high one",
            )
    return policy


def _whole(bound: DeclaredBound, value: str) -> int:
    written = value.strip()
    is_number = len(written) <= _LONGEST_NUMBER and written.isascii() and written.isdigit()
    if not is_number or not 0 < int(written) <= _MOST_ROWS:
        hint = f"a whole number from 1 to {_MOST_ROWS}"
        raise DataError(f"{bound.name} cannot be {value[:40]!r}", sqlstate="22023", hint=hint)
    return int(written)


def _finite(bound: DeclaredBound, value: str) -> Written:
    if len(value) > _LONGEST_NUMBER or not _is_finite(value.strip()):
        raise DataError(f"{bound.name} cannot be {value[:40]!r}", sqlstate="22023", hint="a number such as 200")
    return Written(f"{Decimal(value.strip()):f}")


def _other_bounds(policy: Policy, names: Collection[str], asked: Sequence[str]) -> Iterator[OtherBound]:
    """Half and twice of every bound that the questions may feel; of a range, half and twice its width."""
    for bound in bounds_of(policy, names, asked):
        if bound.key == _ENDS[0]:
            continue
        for value in _ends(policy, bound) if bound.column else _times(int(bound.now)):
            other = with_bounds(policy, {bound: value})
            now, then = (_spelt(one, bound) for one in (policy, other))
            yield OtherBound(f"{bound.table}.{bound.column}: range" if bound.column else bound.name, now, then, other)


def _changed(policy: Policy, name: str, update: Mapping[str, object]) -> Policy:
    return _with_tables(policy, lambda one, table: table.model_copy(update=update) if one == name else table)


def _times(now: int) -> Iterator[str]:
    for times in _TIMES:
        if (other := math.ceil(now * times)) != now:
            yield str(other)


def _ends(policy: Policy, bound: DeclaredBound) -> Iterator[str]:
    """High ends half and twice as far from the low end."""
    ends = (policy.tables[bound.table].columns or {})[bound.column].range
    if ends is None:
        return
    low, high = (Fraction(one) for one in ends)
    for times in _TIMES:
        other = low + (high - low) * times
        if high.denominator == 1:
            other = Fraction(math.ceil(other))
        yield plain(other)


def _spelt(policy: Policy, bound: DeclaredBound) -> str:
    table = policy.tables[bound.table]
    if not bound.column:
        return str(getattr(table, bound.key))
    ends = (table.columns or {})[bound.column].range
    return "" if ends is None else f"[{ends[0]}, {ends[1]}]"


Asked = tuple[str, QuestionFigures | Error, Answer | Error]
"""A question, its figures, and the true answer."""

OTHERS = ("bound", "now", "other", "noise", "largest bias", "noise and bias", "")
"""The columns of :func:`half_and_twice`."""


def half_and_twice(policy: Policy, names: Collection[str], asked: Sequence[Asked]) -> list[tuple[str, ...]]:
    """Half and twice of every bound: a line each, with what it does to noise, to bias and to both over all questions.

    A bound that changes nothing has no line.
    """
    kept = [one for one in asked if isinstance(one[1], QuestionFigures) and one[1].columns]
    found = [_tried_bound(other, kept) for other in _other_bounds(policy, names, [sql for sql, _, _ in asked])]
    return [line for line in found if line] if kept else []


def with_rows(policy: Policy, name: str, key: str, most: MostRows) -> Policy:
    """The policy with another bound on rows, ``max_rows`` or ``max_rows_per_group``, of the table with this name."""
    value = most if key == "max_rows" else most.rows
    return _with_tables(
        policy, lambda one, table: table.model_copy(update={key: value}) if one.lower() == name.lower() else table
    )


def with_range(policy: Policy, name: str, column: str, low: Fraction, high: Fraction) -> Policy:
    """The policy with another range of a column of the table with this name."""
    ends = tuple(Written(plain(end)) for end in (low, high))

    def ranged(table: TableSection) -> TableSection:
        columns = {
            one: said.model_copy(update={"range": ends}) if one.lower() == column.lower() else said
            for one, said in (table.columns or {}).items()
        }
        return table.model_copy(update={"columns": columns})

    return _with_tables(policy, lambda one, table: ranged(table) if one.lower() == name.lower() else table)


def asked_under(policy: Policy, questions: Sequence[str]) -> list[Asked]:
    """The questions that are answered with figures under a policy, each with its true answer."""
    with tried(policy) as trial:
        with tried(without_bounds(policy, trial)) as whole:
            true = [answered(whole, sql, EXACT) for sql in questions]
        asked = [(sql, figures_of(trial, sql, one), one) for sql, one in zip(questions, true, strict=True)]
    return [one for one in asked if isinstance(one[1], QuestionFigures) and one[1].columns]


@dataclass(frozen=True, slots=True)
class ErrorBeside:
    """How large the errors of questions are beside the present ones: ``all`` together, and that of the ``worst``.

    An error is the root of squared bias and variance. ``all`` is the root of the mean square over questions: a question
    whose error grows n times outweighs n² - 1 questions that lose theirs altogether.
    """

    all: float = math.inf
    worst: float = math.inf
    sql: str = ""


def error_beside(policy: Policy, asked: Sequence[Asked]) -> ErrorBeside:
    """The errors of ``asked`` questions under another policy; infinite where it, or a question, is refused."""
    try:
        with tried(policy) as trial:
            then = [figures_of(trial, sql, true) for sql, _, true in asked]
    except Error:
        return ErrorBeside()
    found: list[tuple[float, str]] = []
    for (sql, now, _), other in zip(asked, then, strict=True):
        if isinstance(now, Error) or isinstance(other, Error):
            return ErrorBeside()
        pairs = zip(other.columns, now.columns, strict=False)
        ratios = [_ratio(after.together, before.together) ** 2 for after, before in pairs]
        found.append((math.sqrt(sum(ratios) / len(ratios)) if ratios else 1.0, sql))
    if not found:
        return ErrorBeside()
    return ErrorBeside(math.sqrt(sum(one**2 for one, _ in found) / len(found)), *max(found))


def _tried_bound(other: OtherBound, kept: Sequence[Asked]) -> tuple[str, ...]:
    try:
        with tried(other.policy) as trial:
            found = [(figures_of(trial, sql, true), now) for sql, now, true in kept]
    except Error as reason:
        return (other.name, other.now, other.value, "", "", "", str(reason).splitlines()[0])
    noise, both, bias = [], [], [0.0]
    for then, now in found:
        if isinstance(then, Error) or isinstance(now, Error):
            continue
        for after, before in zip(then.columns, now.columns, strict=False):
            noise.append(_ratio(after.error, before.error))
            both.append(_ratio(after.together, before.together))
            bias.append(after.bias)
    if all(abs(one - 1) < _SAME for one in (*noise, *both)):
        return ()
    worst = max(range(len(both)), key=both.__getitem__)
    told = f"better by {100 * (1 - _mean(both)):.0f} %" if _mean(both) < 1 - _BETTER else ""
    if both[worst] > 1 + _SAME and told:
        told += f", one question worse by {100 * (both[worst] - 1):.0f} %"
    largest = per_cent(max(bias, key=abs))
    return (other.name, other.now, other.value, f"× {_mean(noise):.2g}", largest, f"× {_mean(both):.2g}", told)


def _ratio(after: float, before: float) -> float:
    if before == after or not math.isfinite(before) or not math.isfinite(after) or not before:
        return 1.0
    return max(after / before, 1e-6)


def _mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


def plain(number: Fraction) -> str:
    """A number as a policy has it, without an exponent.

    >>> plain(Fraction(1, 4)), plain(Fraction(20000))
    ('0.25', '20000')
    """
    return f"{Decimal(number.numerator) / Decimal(number.denominator):f}"


def per_cent(part: float) -> str:
    """A bias, in per cent.

    >>> per_cent(-0.0123), per_cent(0.00001)
    ('-1.2 %', '0 %')
    """
    return f"{100 * part:+.2g} %" if abs(part) >= 1e-4 else "0 %"


# Another policy beside the owner's


@dataclass(frozen=True, slots=True)
class BesideFigures:
    """A question under the owner's policy (``now``), and under the one that is tried (``then``)."""

    sql: str
    now: QuestionFigures | Error
    then: QuestionFigures | Error


@dataclass(frozen=True, slots=True)
class Trial:
    """What other bounds and another price do to questions. ``others`` are the lines of :func:`half_and_twice`."""

    questions: tuple[BesideFigures, ...]
    bounds: tuple[DeclaredBound, ...]
    others: tuple[tuple[str, ...], ...] = ()


def beside(
    policy: Policy, asked: Sequence[str], values: Mapping[DeclaredBound, str], epsilon: Fraction, others: bool = False
) -> Trial:
    """Ask each question under the policy and under one with other bounds, at its own default price and at another.

    With ``others``, every bound of the tried policy is halved and doubled, too. Raises :class:`dpsql.errors.Error`
    where the database or the tried policy cannot be opened; a question that is refused has its reason as its figures.
    """
    other = with_bounds(policy, values)
    other = other.model_copy(update={"statement": other.statement.model_copy(update={"epsilon": epsilon})})
    with tried(policy) as trial:
        with tried(without_bounds(policy, trial)) as whole:
            true = [answered(whole, sql, EXACT) for sql in asked]
        now = [figures_of(trial, sql, one) for sql, one in zip(asked, true, strict=True)]
        names = read_by(trial, asked)
    with tried(other) as trial:
        then = [figures_of(trial, sql, one) for sql, one in zip(asked, true, strict=True)]
    lines = half_and_twice(other, names, list(zip(asked, then, true, strict=True))) if others else []
    questions = tuple(BesideFigures(*one) for one in zip(asked, now, then, strict=True))
    return Trial(questions, tuple(bounds_of(policy, names, asked)), tuple(lines))
