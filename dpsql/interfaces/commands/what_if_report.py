"""``dpsql check --data POLICY QUESTIONS``: what the bounds and the price of a policy do to the questions of a file.

For the owner's eyes alone, as all of ``check --data``. The figures are those of :mod:`dpsql.what_if`: nothing is
charged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dpsql.display import grid
from dpsql.errors import DataError, Error
from dpsql.interfaces.commands.statements_file import statements_of
from dpsql.opened import accountants
from dpsql.policy import Policy
from dpsql.proxy import Proxy
from dpsql.releases import bar
from dpsql.what_if import (
    EXACT,
    OTHERS,
    ColumnFigures,
    QuestionFigures,
    answered,
    figures_of,
    half_and_twice,
    per_cent,
    price_for,
    read_by,
    tried,
    unreleased,
    without_bounds,
)


def what_if(policy: Policy, asked: Sequence[str], console: Console, wanted: float | None = None) -> None:
    """Print what each question is worth, and what every other value of a bound would do to all of them together.

    ``asked`` are statements. ``wanted``: an error in parts of the number, for which the price is told.
    """
    with tried(policy) as trial:
        with tried(without_bounds(policy, trial)) as whole:
            true = [answered(whole, sql, EXACT) for sql in asked]
        found = [figures_of(trial, sql, one) for sql, one in zip(asked, true, strict=True)]
        prices = [price_for(trial, sql, one, wanted) for sql, one in zip(asked, found, strict=True)]
        for number, (sql, one) in enumerate(zip(asked, found, strict=True), 1):
            console.print(Text(f"{number:>3}  {' '.join(sql.split())}"))
            if isinstance(one, Error):
                console.print(Text(f"     refused: {str(one).splitlines()[0]}"))
        usual = float(policy.statement.epsilon)
        console.print(_table(found, prices if wanted else None, usual), highlight=False)
        for line in _Priced(policy, trial).lines(asked, found, prices, wanted):
            console.print(Text(line))
        names = read_by(trial, asked)
    others = half_and_twice(policy, names, list(zip(asked, found, true, strict=True)))
    if others:
        console.print(Text("\nOther bounds, over all of these questions", style="bold"))
        columns = [[str(line[at]) for line in others] for at in range(len(OTHERS))]
        console.print(grid(list(OTHERS), columns, [False, True, True, True, True, True, False]), highlight=False)


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
