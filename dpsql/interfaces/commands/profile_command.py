"""``dpsql profile``: the profile of each table, bought where it is not, and what it tells of rows that are cut off."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dpsql.display import column, grid
from dpsql.engines import Patience
from dpsql.errors import DataError
from dpsql.inference.estimates import RowsProfile, ValuesProfile
from dpsql.ledger import Receipt
from dpsql.price import Profiles, loss_of
from dpsql.price_text import part_left, percent
from dpsql.proxy import Proxy


def profile(policy: Path, console: Console, tell: Callable[[str], None], *, price_only: bool) -> None:
    """Say what is lacking and its price, buy it unless only the price was asked for, and print what is bought.

    Raises :class:`dpsql.errors.Error`; nothing was charged unless it was to be read.
    """
    proxy = Proxy.open(policy)
    try:
        profiles = proxy.answering.profiles
        if profiles.epsilon is None:
            hint = "add profile: {epsilon: 0.05} to the policy"
            raise DataError("the policy asks for no profile", sqlstate="22023", hint=hint)
        if not profiles.tables and not profiles.values:
            raise _nothing_to_tell(profiles, rows=proxy.policy.privacy_unit is None)
        lacking = profiles.lacking()
        if lacking:
            tell(_price(proxy, [one.plans.name for one in lacking]))
        if lacking and not price_only:
            proxy.answering.buy_profiles(Patience.of(proxy.policy.limits.seconds), Receipt())
            tell(f"Left: {_left(proxy)}.")
        _show(profiles, console)
    finally:
        proxy.close()


def _nothing_to_tell(profiles: Profiles, *, rows: bool) -> DataError:
    """The refusal of a policy that asks for a profile of nothing, with the line that asks for one."""
    text = "no table has a max_rows for all rows of a person, so that there is nothing to profile"
    if rows:
        text = "under privacy_unit: row no rows are cut off, so that there is nothing to profile but values"
    if not (known := profiles.known_values):
        return DataError(
            text, sqlstate="22023", hint="give a column of numbers a range, and name it in values of profile"
        )
    table, column = known[0]
    name, price = f"{table}.{column}".replace("'", "''"), float(profiles.epsilon or 0)
    hint = f"how the values of a column lie is told with profile: {{epsilon: {price:g}, values: ['{name}']}}"
    return DataError(text, sqlstate="22023", hint=hint)


def _price(proxy: Proxy, tables: list[str]) -> str:
    profiles = proxy.answering.profiles
    budget = proxy.ledger.standings()[0].accountant
    part = percent(float(loss_of(profiles.lacking()).part_of(budget.limit)))
    each = float(profiles.epsilon or 0)
    return f"The profile of {', '.join(tables)} costs {part} of the total budget (ε = {each:g} each), once."


def _left(proxy: Proxy) -> str:
    standing = proxy.ledger.standings()[0]
    return f"{part_left(standing.spent.part_of(standing.accountant.limit))} of the total budget"


def _show(profiles: Profiles, console: Console) -> None:
    for name in profiles.tables:
        found = profiles.find(name)
        if found is None:
            console.print(Text(f"{name}: not bought"))
            continue
        console.print(Text(f"{name}, max_rows: {found.max_rows}", style="bold"))
        console.print(profile_grid(found), highlight=False)
        for line in told(found):
            console.print(Text(line))
        for line in chain.from_iterable(_told_means(profiles, found, one) for one in profiles.columns):
            console.print(Text(line))
        console.print()
    for of in profiles.values:
        console.print(Text(f"Values of {'.'.join(of)}", style="bold"))
        if (values := profiles.find_values(*of)) is None:
            console.print(Text("not bought"))
            continue
        console.print(values_grid(values), highlight=False)
        for line in told_values(values):
            console.print(Text(line))
        console.print()


def values_grid(found: ValuesProfile) -> object:
    """People by their values, with error bars; a person with values in several bins is in each with a part."""
    ends = [f"{end:,g}" for end in found.ends]
    names = [f"below {ends[0]}", *(f"{low} to {high}" for low, high in pairwise(ends)), f"above {ends[-1]}"]
    counts = counts_of_people([round(count) for count in found.people], found.margin)
    return grid([found.column, "people"], [names, counts], [True, True])


def told_values(found: ValuesProfile) -> list[str]:
    """What is beyond the range, and where half of the values lie; what cannot be told from noise is said to be so."""
    spread = found.spread
    if spread is None:
        return ["How values lie cannot be told from noise: there are too few people"]
    low, middle, high = (f"{spread.at(part):,.4g}" for part in (0.25, 0.5, 0.75))
    lines = [f"Half of the values are about between {low} and {high}, half below {middle}"]
    for one, way, end in zip(found.beyond, ("below", "above"), (found.ends[0], found.ends[-1]), strict=True):
        lines.append(f"Values {way} {end:,g}: {one or 'cannot be told from noise'}")
    return lines


def _told_means(profiles: Profiles, rows: RowsProfile, column: tuple[str, str]) -> Iterator[str]:
    """What bends the mean of a column of the table."""
    if column[0] != rows.table:
        return
    found = profiles.find_means(*column)
    if found is None:
        yield f"Mean of {column[1]}: not bought"
        return
    fewer, more = (f"{low:,.4g} to {high:,.4g}" for low, high in (found.fewer, found.more))
    most = f"{rows.max_rows} rows"
    yield f"Mean {column[1]} of a person with at most {most}: {fewer}; with more: {more}"
    yield f"A mean of all rows: {found.notice(rows) or 'how far it is bent cannot be told from noise'}"


def counts_of_people(measured: Sequence[int], margin: float) -> list[str]:
    """Measured counts with their error bars; of a count below 0, the most that its error bar allows.

    >>> counts_of_people([120, -7, -90], 56)
    ['120 ± 56', 'at most 49', 'at most 0']
    """
    shown = column(measured, [margin] * len(measured))
    return [
        text if count >= 0 else f"at most {max(0, math.floor(count + margin)):,}"
        for text, count in zip(shown, measured, strict=True)
    ]


def profile_grid(found: RowsProfile) -> object:
    """People by their rows, with error bars."""
    lows = [1, *(end + 1 for end in found.ends)]
    names = [f"{low}" if low == end else f"{low} to {end}" for low, end in zip(lows, found.ends, strict=False)]
    names.append(f"more than {found.ends[-1]}")
    counts = counts_of_people(list(found.people), found.people_margin)
    return grid(["rows of a person", "people"], [names, counts], [True, True])


def told(found: RowsProfile) -> list[str]:
    """What is beyond max_rows, in words; what cannot be told from noise is said to be so."""
    people, rows, most = found.people_beyond, found.rows_beyond, found.max_rows
    lines = [
        f"People with more than {most} rows: {people or 'cannot be told from noise'}",
        f"Rows beyond {most} of a person: {rows or 'cannot be told from noise'}",
    ]
    if rows is not None:
        lines.append(f"What a person has beyond {found.furthest:,} rows is not in the last figure.")
    return lines
