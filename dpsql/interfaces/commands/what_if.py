"""``dpsql check --data POLICY QUESTIONS``: what the bounds and the price of a policy do to the questions of a file.

For the owner's eyes alone, as all of ``check --data``: the numbers are as exact as a price can make them that nobody
would pay. Each policy that is tried has a ledger and kept releases of its own, which are thrown away; that of the owner
is neither read nor charged.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.text import Text

from dpsql.display import grid
from dpsql.engines import extent_scan, owned_rows_scan
from dpsql.errors import DataError, Error
from dpsql.interfaces.commands.statements_file import statements_of
from dpsql.opened import accountants, compared, open_here
from dpsql.policy import BOUNDS, MostRows, Place, Policy, TableSection, Written, ahead, steps_of
from dpsql.proxy import Proxy, Session
from dpsql.releases import bar
from dpsql.reply import Answer

_EXACT = 10**7
"""A price at which the noise is far below the figures that are shown."""
_TIMES = (Fraction(1, 2), Fraction(2))
_BAR = 1.96
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
        return math.hypot(self.error / _BAR, self.off)


@dataclass(frozen=True, slots=True)
class QuestionFigures:
    """A question as it is answered: how many rows there are, and how many an answer showed; its columns."""

    rows: int
    shown: int
    columns: tuple[ColumnFigures, ...]


@dataclass(frozen=True, slots=True)
class OtherBound:
    """A bound of the policy and another value of it."""

    name: str
    now: str
    value: str
    policy: Policy


def what_if(policy: Policy, asked: Sequence[str], console: Console, wanted: float | None = None) -> None:
    """Print what each question is worth, and what every other value of a bound would do to all of them together.

    ``asked`` are statements. ``wanted``: an error in parts of the number, for which the price is told.
    """
    with _tried(policy) as trial:
        with _tried(_without_bounds(policy, trial)) as whole:
            true = [_answered(whole, sql, _EXACT) for sql in asked]
        found = [_figures(trial, sql, one) for sql, one in zip(asked, true, strict=True)]
        prices = [_price_for(trial, sql, one, wanted) for sql, one in zip(asked, found, strict=True)]
        for number, (sql, one) in enumerate(zip(asked, found, strict=True), 1):
            console.print(Text(f"{number:>3}  {' '.join(sql.split())}"))
            if isinstance(one, Error):
                console.print(Text(f"     refused: {str(one).splitlines()[0]}"))
        usual = float(policy.statement.epsilon)
        console.print(_table(found, prices if wanted else None, usual), highlight=False)
        for line in _Priced(policy, trial).lines(asked, found, prices, wanted):
            console.print(Text(line))
        others = list(_other_bounds(policy, _read_by(trial, asked), "\n".join(asked)))
    kept = [(sql, one, exact) for sql, one, exact in zip(asked, found, true, strict=True) if _is_measured(one)]
    if others and kept:
        console.print(Text("\nOther bounds, over all of these questions", style="bold"))
        console.print(_tried_bounds(others, kept), highlight=False)


def questions_of(file: Path) -> list[str]:
    """The statements of a file, of which there is one at least. Raises :class:`DataError`."""
    found = statements_of(file)
    if not found:
        raise DataError(f"{file} has no statement", sqlstate="22023", hint="write SELECTs, with ; between them")
    return found


def part_of(written: str) -> float:
    """An error in per cent as a part of a number. Raises :class:`DataError`.

    >>> part_of("5"), part_of("2.5 %")
    (0.05, 0.025)
    """
    try:
        part = float(written.removesuffix("%")) / 100
    except ValueError:
        part = 0.0
    if not 0 < part < math.inf:
        raise DataError(f"an error of {written!r} is no part of a number", sqlstate="22023", hint="--error 5")
    return part


def _is_measured(found: QuestionFigures | Error) -> bool:
    return isinstance(found, QuestionFigures) and bool(found.columns)


# Policies that are tried


@contextmanager
def _tried(policy: Policy) -> Iterator[Proxy]:
    """A proxy of a policy, with a ledger that is thrown away and admits everything."""
    with tempfile.TemporaryDirectory(prefix="dpsql-") as folder:
        at = Path(folder)
        budget = {"epsilon": Fraction(_EXACT) ** 3, "per": None, "lifetime": None}
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
                "statement": policy.statement.model_copy(update={"max_epsilon": Fraction(_EXACT)}),
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


def _without_bounds(policy: Policy, trial: Proxy) -> Policy:
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


def _answered(proxy: Proxy, sql: str, epsilon: float | None = None) -> Answer | Error:
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


def _figures(proxy: Proxy, sql: str, true: Answer | Error) -> QuestionFigures | Error:
    """What is left of the true numbers within the bounds, and how an answer looks at the default price."""
    if isinstance(true, Error):
        return true
    bounded = _answered(proxy, sql, _EXACT)
    if isinstance(bounded, Error):
        return bounded
    noisy = _answered(proxy, sql)
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


def _price_for(proxy: Proxy, sql: str, found: QuestionFigures | Error, wanted: float | None) -> float | None:
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


class _Priced:
    """What questions cost of the owner's budget."""

    def __init__(self, policy: Policy, trial: Proxy) -> None:
        (self._total, *_), _ = accountants(policy)
        self._trial, self._statement = trial, policy.statement

    def lines(
        self,
        asked: Sequence[str],
        found: Sequence[QuestionFigures | Error],
        prices: Sequence[float | None],
        wanted: float | None,
    ) -> Iterator[str]:
        answered = [not isinstance(one, Error) for one in found]
        usual = float(self._statement.epsilon)
        every = [usual if ok else None for ok in answered]
        yield f"All of them once, at ε = {usual:g} each: {self._part(asked, every)} of the budget."
        if wanted is not None:
            missing = sum(ok and price is None for ok, price in zip(answered, prices, strict=True))
            without = f" without {missing} whose error no price is known for" if missing else ""
            part = self._part(asked, prices)
            yield f"All of them once, each with an error of {100 * wanted:g} %: {part} of the budget{without}."

    def _part(self, asked: Sequence[str], prices: Sequence[float | None]) -> str:
        used = (
            unreleased(self._trial, epsilon).explain(sql).price.part_of(self._total.limit)
            for sql, epsilon in zip(asked, prices, strict=True)
            if epsilon is not None
        )
        return f"{float(100 * sum(used)):.3g} %"


# Other bounds


def _read_by(proxy: Proxy, asked: Sequence[str]) -> frozenset[str]:
    """The tables of people that the questions read."""
    session, found = unreleased(proxy), set[str]()
    for sql in asked:
        try:
            found |= {table for one in session.explain(sql).releases for table in one.plan.tables}
        except Error:
            continue
    return frozenset(name.lower() for name in found)


def _other_bounds(policy: Policy, names: frozenset[str], text: str) -> Iterator[OtherBound]:
    """Half and twice of every bound that the questions may feel."""
    for name, table in policy.tables.items():
        if table.public or name.lower() not in names:
            continue
        for bound in BOUNDS:
            now = getattr(table, bound)
            for other in _times(now):
                yield OtherBound(f"{name}: {bound}", str(now), str(other), _changed(policy, name, {bound: other}))
        for column, said in (table.columns or {}).items():
            if said.range is None or column.lower() not in text.lower():
                continue
            for ends in _other_ends(said.range):
                columns = {**(table.columns or {}), column: said.model_copy(update={"range": ends})}
                label = f"{name}.{column}: range"
                yield OtherBound(label, _spelt(said.range), _spelt(ends), _changed(policy, name, {"columns": columns}))


def _changed(policy: Policy, name: str, update: Mapping[str, object]) -> Policy:
    return _with_tables(policy, lambda one, table: table.model_copy(update=update) if one == name else table)


def _times(bound: MostRows | int | None) -> Iterator[MostRows | int]:
    rows = bound.rows if isinstance(bound, MostRows) else bound
    for times in _TIMES:
        if rows is None or (other := math.ceil(rows * times)) == rows:
            continue
        yield replace(bound, rows=other) if isinstance(bound, MostRows) else other


def _other_ends(ends: tuple[Written, Written]) -> Iterator[tuple[Written, Written]]:
    """Ranges whose high end is half or twice as far from the low end; none of dates."""
    if ahead(ends[1]) is not None or any(not _is_finite(one) for one in ends):
        return
    low, high = (Fraction(one) for one in ends)
    for times in _TIMES:
        other = low + (high - low) * times
        if high.denominator == 1:
            other = Fraction(math.ceil(other))
        yield ends[0], Written(f"{Decimal(other.numerator) / Decimal(other.denominator):f}")


def _spelt(ends: tuple[Written, Written]) -> str:
    return f"[{ends[0]}, {ends[1]}]"


def _tried_bounds(
    others: Sequence[OtherBound], kept: Sequence[tuple[str, QuestionFigures | Error, Answer | Error]]
) -> object:
    """One line for each value: what it does to noise, to bias and to both, and which question suffers most."""
    lines = []
    for other in others:
        try:
            with _tried(other.policy) as trial:
                found = [(_figures(trial, sql, true), now) for sql, now, true in kept]
        except Error as reason:
            lines.append([other.name, other.now, other.value, "", "", "", str(reason).splitlines()[0]])
            continue
        noise, both, bias = [], [], [0.0]
        for then, now in found:
            if isinstance(then, Error) or isinstance(now, Error):
                continue
            for after, before in zip(then.columns, now.columns, strict=False):
                noise.append(_ratio(after.error, before.error))
                both.append(_ratio(after.together, before.together))
                bias.append(after.bias)
        if all(abs(one - 1) < _SAME for one in (*noise, *both)):
            continue
        worst = max(range(len(both)), key=both.__getitem__)
        told = f"better by {100 * (1 - _mean(both)):.0f} %" if _mean(both) < 1 - _BETTER else ""
        if both[worst] > 1 + _SAME and told:
            told += f", one question worse by {100 * (both[worst] - 1):.0f} %"
        lines.append(
            [
                other.name,
                other.now,
                other.value,
                f"× {_mean(noise):.2g}",
                per_cent(max(bias, key=abs)),
                f"× {_mean(both):.2g}",
                told,
            ]
        )
    return grid(
        ["bound", "now", "other", "noise", "largest bias", "noise and bias", ""],
        [[line[at] for line in lines] for at in range(7)],
        [False, True, True, True, True, True, False],
    )


def _ratio(after: float, before: float) -> float:
    if before == after or not math.isfinite(before) or not math.isfinite(after) or not before:
        return 1.0
    return max(after / before, 1e-6)


def _mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


# The page


def _table(found: Sequence[QuestionFigures | Error], prices: Sequence[float | None] | None, usual: float) -> object:
    """The questions by number: a line for each measured column."""
    lines: list[list[str]] = []
    for at, one in enumerate(found):
        price = "" if prices is None or (wanted := prices[at]) is None else f"{wanted:.2g}"
        if isinstance(one, Error):
            lines.append([f"{at + 1}", "", "refused", "", "", "", "", price])
            continue
        for number, column in enumerate(one.columns or (None,)):
            first = ["", ""] if number else [f"{at + 1}", f"{one.shown:,} of {one.rows:,}"]
            lines.append([*first, *_cells(column), "" if number else price])
    names = ["", "rows shown", "column", "true", "within bounds", "bias", f"95 % error at ε = {usual:g}", "ε wanted"]
    right = [True, True, False, True, True, True, True, True]
    kept = len(names) if prices is not None else len(names) - 1
    return grid(names[:kept], [[line[at] for line in lines] for at in range(kept)], right[:kept])


def _cells(column: ColumnFigures | None) -> list[str]:
    if column is None:
        return ["", "", "", "", ""]
    part = f" ({_size(100 * column.error / abs(column.true))} %)" if column.true and math.isfinite(column.error) else ""
    error = f"± {bar(column.error)}{part}" if math.isfinite(column.error) else "± ?"
    return [column.name, f"{column.true:,.6g}", f"{column.within:,.6g}", per_cent(column.bias), error]


def _size(number: float) -> str:
    """Two digits of a number, and all that are before the point.

    >>> _size(0.314), _size(166.2)
    ('0.31', '166')
    """
    return f"{number:.2g}" if number < 100 else f"{number:,.0f}"


def per_cent(part: float) -> str:
    """A bias, in per cent.

    >>> per_cent(-0.0123), per_cent(0.00001)
    ('-1.2 %', '0 %')
    """
    return f"{100 * part:+.2g} %" if abs(part) >= 1e-4 else "0 %"
