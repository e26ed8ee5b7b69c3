"""``python -m tests.bench year [--people 20000] [--days 365] [--refreshes 24] [--viewers 20]``: a dashboard over data that grow.

A PostgreSQL database gets its rows day by day, and viewers refresh twelve tiles again and again. Each month says how
many statements were asked, bought, free and refused, how far each tile was off the truth, what was spent of what was
declared, and what the same would have cost if each refresh were bought.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import psycopg
from rich.console import Console
from rich.table import Table

from dpsql.accounting import ZCDP, PrivacyLoss
from dpsql.errors import Error
from dpsql.mechanisms.sampling import ExactSampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy, Session
from tests.engines.postgres_server import start

from .growing import FIRST, GrowingClinic, alert, policy_text, tiles

BUDGET = "{epsilon: 6, delta: 1e-6, per: month, lifetime: {epsilon: 40, delta: 1e-5}}"


def off(answer: Sequence[Sequence[object]], truth: Sequence[Sequence[object]]) -> float | None:
    """The median relative error of the numbers of an answer, group by group."""
    known = {row[:-1]: row[-1] for row in truth}
    found = [
        abs(float(row[-1]) - float(known[row[:-1]])) / max(1.0, abs(float(known[row[:-1]])))  # type: ignore[arg-type]
        for row in map(tuple, answer)
        if row[:-1] in known and row[-1] is not None
    ]
    return statistics.median(found) if found else None


class Year:
    """What happened, month by month."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.errors: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self.spent: dict[str, float] = {}
        self.bought_each: dict[str, PrivacyLoss] = defaultdict(PrivacyLoss)
        self.refusals: Counter[str] = Counter()

    def ask(self, month: str, session: Session, sql: str, times: int) -> Sequence[Sequence[object]] | None:
        """One tile, asked by everybody who looks at it; the first of them may pay."""
        rows = None
        for _ in range(times):
            self.counts[month]["asked"] += 1
            try:
                answer = session.execute(sql)
            except Error as error:
                self.counts[month]["refused"] += 1
                self.refusals[f"{error.message} | {sql[:60]}"] += 1
                return None
            self.counts[month]["bought" if answer.price else "free"] += 1
            rows = rows or answer.rows
        return rows


def run(people: int, days: int, refreshes: int, viewers: int, epsilon: str, console: Console) -> Year:
    year, now = Year(), [datetime.datetime.combine(FIRST, datetime.time(3), datetime.UTC)]
    server = start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            name = server.database()
            owner = server.owner(name)
            owner.autocommit = True
            clinic = GrowingClinic(owner, people)
            server.grant(owner)
            path = Path(folder) / "policy.yaml"
            path.write_text(policy_text(server.url(name), BUDGET, epsilon))
            with closing(Proxy(open_here(compared(load_policy(path)), read=lambda: now[0]), ExactSampler())) as proxy:
                for number in range(days):
                    day = FIRST + datetime.timedelta(days=number)
                    clinic.grow(day)
                    if number < 31:
                        continue  # a month of rows, and then the dashboard begins
                    now[0] = datetime.datetime.combine(day, datetime.time(3), datetime.UTC) + datetime.timedelta(days=1)
                    _one_day(year, proxy, owner, now[0], refreshes, viewers, people)
                    if now[0].day == 1:
                        console.print(f"{now[0]:%Y-%m-%d}: {dict(year.counts[_month(now[0])])}", highlight=False)
    finally:
        server.process.close()
    return year


def _month(now: datetime.datetime) -> str:
    return f"{now:%Y-%m}"


def _one_day(
    year: Year,
    proxy: Proxy,
    owner: psycopg.Connection,
    now: datetime.datetime,
    refreshes: int,
    viewers: int,
    people: int,
) -> None:
    month, times = _month(now), refreshes * viewers
    session, watch = proxy.session(), proxy.session()
    watch.execute("SET dpsql.watch = 'hardly anybody'")
    asked = tiles(now.date())
    for tile, sql in asked.items():
        rows = year.ask(month, session, sql, times)
        if rows is not None and now.day in (5, 20):
            truth = owner.execute(sql.encode()).fetchall()
            if (error := off(rows, truth)) is not None:
                year.errors[month][tile].append(error)
    year.ask(month, watch, alert(people), times)
    each = proxy._opened.accountant.price(session.settings.epsilon, Fraction(0))
    year.bought_each[month] += each * (refreshes * (len(asked) + 1))
    window = proxy.ledger.standings()[0]
    year.spent[month] = window.accountant.epsilon_of(window.spent)
    if not window.spent.fits_within(window.accountant.limit):
        raise AssertionError("more is spent than was declared")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench year", description=__doc__)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--refreshes", type=int, default=24, help="of a day")
    parser.add_argument("--viewers", type=int, default=20)
    parser.add_argument("--epsilon", default="0.05", help="of a statement")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    console = Console(width=150)
    year = run(options.people, options.days, options.refreshes, options.viewers, options.epsilon, console)
    table = Table(
        "month",
        "asked",
        "bought",
        "free",
        "refused",
        "spent ε of 6",
        "ε if each refresh of one viewer were bought",
        box=None,
    )
    for month, counts in year.counts.items():
        numbers = [f"{counts[name]:,}" for name in ("asked", "bought", "free", "refused")]
        alone = ZCDP.alone(year.bought_each[month], Fraction(1, 10**6))
        table.add_row(month, *numbers, f"{year.spent[month]:.2f}", "" if alone is None else f"{float(alone[0]):.0f}")
    console.print(table)
    errors = Table("tile", *year.errors, box=None)
    for tile in next(iter(year.errors.values()), {}):
        cells = [year.errors[month].get(tile, []) for month in year.errors]
        errors.add_row(tile, *(f"{statistics.median(cell):.1%}" if cell else "" for cell in cells))
    console.print("Median relative error of a tile's cells:")
    console.print(errors)
    for refusal, count in year.refusals.most_common(10):
        console.print(f"refused {count}: {refusal}", highlight=False)
    if options.json:
        told = {
            "counts": {month: dict(counts) for month, counts in year.counts.items()},
            "spent": year.spent,
            "errors": {month: dict(by_tile) for month, by_tile in year.errors.items()},
        }
        options.json.write_text(json.dumps(told, indent=1))
    sys.exit(1 if year.refusals else 0)
