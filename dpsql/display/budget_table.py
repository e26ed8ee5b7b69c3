"""The owner's view of the ledger: what was declared, what is spent, by whom, on which tables, on which days."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.text import Text

from dpsql.accounting import Accountant, PrivacyLoss
from dpsql.display.terminal_tables import grid
from dpsql.ledger import EVER, EVERYBODY, Charge, Span, Standing, spent_by_time
from dpsql.policy import Policy
from dpsql.price_text import part_left, percent, renewal
from dpsql.releases import up

Standings = Mapping[str, Sequence[Standing]]
"""How the filters of everybody, under the empty name, and of every analyst stand."""


def budget(policy: Policy, charges: Sequence[Charge], standings: Standings, paused: Collection[str] = ()) -> Group:
    """The whole ledger on one screen. All parts of a budget add up to the whole, under every accounting."""
    limits = [one.accountant for one in standings[EVERYBODY]]
    # Of all time where that is declared: then parts of all charges are parts of one whole.
    whole = limits[-1]
    every = whole.per is None or whole.of_rows
    recent = [one for one in charges if every or standings[EVERYBODY][-1].counts(one)]
    return Group(
        Text("\n".join(line for one in standings[EVERYBODY] for line in _lines(policy, one))),
        Text(f"Charges:  {len(charges)}, accounting {limits[0].accounting}"),
        Text(""),
        _analysts(policy, charges, standings, paused),
        *_by_time(charges, whole),
        Text(""),
        _by("table", recent, lambda charge: charge.tables, whole),
        Text(""),
        _by("day", recent, lambda charge: (f"{charge.time:%Y-%m-%d}",), whole),
    )


def _lines(policy: Policy, one: Standing) -> list[str]:
    limit = one.accountant
    when = f"for {limit.each}" if limit.each else "for ever"
    each = limit.price(policy.statement.epsilon, Fraction(0))
    used = one.spent.part_of(limit.limit)
    left = f"{part_left(used)}, or {limit.statements_left(one.spent, each)} statements at the default price"
    renews = "" if one.renews is None else f"; it renews on {renewal(limit.per, one.renews)}"
    return [
        f"Declared: ε = {float(limit.epsilon):g}, δ = {float(limit.delta):g} {when}",
        f"Spent:    {percent(float(used))} (ε = {up(limit.epsilon_of(one.spent))}){_of_rows(one)}",
        f"Left:     {left}{renews}",
    ]


def _by_time(charges: Sequence[Charge], limit: Accountant) -> list[RenderableType]:
    """What is spent of the rows of which times, where the budget is one of the rows of each period."""
    if not limit.of_rows:
        return []
    parts = [*spent_by_time((charge.span, charge.loss) for charge in charges)]
    times = [_times(span) for span, _ in parts]
    used = [percent(float(spent.part_of(limit.limit))) for _, spent in parts]
    return [Text(""), grid(["rows of", "used"], [times, used], [False, True])]


def _times(span: Span) -> str:
    begin = "" if span.begin == EVER.begin else f"from {span.begin:%Y-%m-%d}"
    end = "" if span.end == EVER.end else f"before {span.end:%Y-%m-%d}"
    return " ".join(filter(None, (begin, end))) or "all times"


def _of_rows(one: Standing) -> str:
    """Which rows it is about that so much is spent."""
    return "" if one.rows is None else f" of the rows from {one.rows.begin:%Y-%m-%d} to {one.rows.end:%Y-%m-%d}"


def _analysts(
    policy: Policy, charges: Sequence[Charge], standings: Standings, paused: Collection[str]
) -> RenderableType:
    names = sorted({*(policy.analysts or {}), *(charge.analyst for charge in charges)})
    rows = []
    for name in names:
        own = sum(charge.analyst == name for charge in charges)
        shares = [one for one in standings.get(name, ()) if one.whose == name]
        for one in shares:
            limit, used = one.accountant, one.spent.part_of(one.accountant.limit)
            of = f"ε = {float(limit.epsilon):g}" + (f" for {limit.each}" if limit.each else "")
            rows.append((name, str(own), of, percent(float(used)), part_left(used)))
        if not shares:
            rows.append((name, str(own), "the total", "", ""))
    columns = [[row[position] for row in rows] for position in range(5)]
    columns[0] = [f"{name} (paused)" if name in paused else name for name in columns[0]]
    return grid(["analyst", "charges", "share", "used", "left"], columns, [False, True, True, True, True])


def _by(
    what: str, charges: Sequence[Charge], names: Callable[[Charge], Iterable[str]], limit: Accountant
) -> RenderableType:
    groups: dict[str, list[Charge]] = {}
    for charge in charges:
        for name in names(charge):
            groups.setdefault(name, []).append(charge)
    ordered = sorted(groups)
    columns = [
        ordered,
        [str(len(groups[name])) for name in ordered],
        [percent(float(_sum(groups[name], limit).part_of(limit.limit))) for name in ordered],
    ]
    return grid([what, "charges", "used"], columns, [False, True, True])


def _sum(charges: Sequence[Charge], limit: Accountant) -> PrivacyLoss:
    """The sum of charges; of a budget of rows, that of the rows that were charged most."""
    if limit.of_rows:
        parts = (spent for _, spent in spent_by_time((charge.span, charge.loss) for charge in charges))
        return max(parts, key=lambda spent: spent.part_of(limit.limit), default=PrivacyLoss())
    return sum((charge.loss for charge in charges), start=PrivacyLoss())
