"""``python -m tests.bench year [--people 20000] [--days 365] [--refresh day|hour] [--viewers 20] [--picture FILE]``: a dashboard over data that grow.

A PostgreSQL database gets its rows day by day, and viewers who use three tools refresh twelve tiles again and again. Each
month says how many statements were asked, bought, free and refused, how far each tile was off the truth, what was spent
of what was declared, and what the same would have cost if each refresh were bought.

In the second month every refresh of every viewer is sent, with the clock moved from refresh to refresh. In the other
months not all are: see ``ASKED``. What is counted without being sent has the very text that was sent before in the same
period of ``refresh``, and is free, as all of the second month shows.

With ``--people 0`` the tables are empty, for what is paid alone: prices depend on no row.

With ``--refresh hour`` answers stand for an hour, the windows of tiles end with the present hour, and every tile is sent
at each hour of each day.

Garbage is collected as ``dpsql serve`` does it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from dpsql.accounting import ZCDP, PrivacyLoss
from dpsql.errors import Error
from dpsql.mechanisms.sampling import ExactSampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy, Session
from dpsql.server.collector import settled
from tests.engines.postgres_server import start

from .growing import FIRST, HOURLY, PRICES, TOOLS, GrowingClinic, alert, hourly_tiles, policy_text, tiles

EPSILON, LIFETIME = 6, 40
BUDGET = f"{{epsilon: {EPSILON}, delta: 1e-6, per: month, lifetime: {{epsilon: {LIFETIME}, delta: 1e-5}}}}"
ASKED = 2
"""So many statements of a day are sent, of each tile in each tool's spelling: the first, and later ones. The others have
the same texts on the same day, and are counted as free when the later ones were."""
WHOLE = 2
"""The month of the dashboard in which all are sent."""


def half_width(margins: Sequence[Sequence[float | None]]) -> float | None:
    """The median half width of the bars of an answer's numbers, group by group; None where no number has a bar."""
    known = [row[-1] for row in margins if row and row[-1] is not None]
    return statistics.median(known) if known else None


def off(answer: Sequence[Sequence[object]], truth: Sequence[Sequence[object]]) -> float | None:
    """The median relative error of the numbers of an answer, group by group."""
    known = {row[:-1]: row[-1] for row in truth}
    found = [
        abs(float(row[-1]) - float(known[row[:-1]])) / max(1.0, abs(float(known[row[:-1]])))  # type: ignore[arg-type]
        for row in map(tuple, answer)
        if known.get(row[:-1]) is not None and row[-1] is not None  # nobody's mean is no number
    ]
    return statistics.median(found) if found else None


class Year:
    """What happened, month by month. ``real`` counts what was asked and not only counted."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.errors: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self.bars: dict[str, dict[str, float]] = defaultdict(dict)
        """The half width of each tile's bars, as a month saw it last."""
        self.spent: dict[str, float] = {}
        self.by_tile: dict[str, dict[str, PrivacyLoss]] = defaultdict(lambda: defaultdict(PrivacyLoss))
        self.bought_each: dict[str, PrivacyLoss] = defaultdict(PrivacyLoss)
        self.refusals: Counter[str] = Counter()
        self.real = 0

    def ask(
        self, month: str, tile: str, session: Session, sql: str, times: int, refresh: Callable[[int], None]
    ) -> Sequence[Sequence[object]]:
        """One tile in one spelling, asked by everybody who looks at it on a day; the first of them may pay. ``refresh``
        moves the clock to that of an asking."""
        rows: Sequence[Sequence[object]] = ()
        whole = list(self.counts).index(month) == WHOLE - 1
        real = times if whole else min(ASKED, times)
        for number in range(real):
            self.real += 1
            self.counts[month] += Counter(sent=1)
            refresh(number)
            try:
                answer = session.execute(sql)
            except Error as error:
                self.counts[month] += Counter(asked=times - number, refused=times - number)
                self.refusals[f"{error.message} | {sql[:60]}"] += 1
                return ()
            self.counts[month] += Counter({"asked": 1, "bought" if answer.price else "free": 1})
            self.by_tile[month][tile] += answer.price
            if (width := half_width(answer.margins)) is not None:
                self.bars[month][tile] = width
            rows = rows or answer.rows
            if number and answer.price:
                raise AssertionError("the same text on the same day is bought twice")
        refresh(0)
        self.counts[month] += Counter(asked=times - real, free=times - real)
        return rows


def run(
    people: int,
    days: int,
    refreshes: int,
    viewers: int,
    epsilon: str,
    console: Console,
    *,
    hourly: bool = False,
    keep: Callable[[Year], None] = lambda _: None,
) -> Year:
    """The year, or so many days of it; ``keep`` is given what is known so far, every few days."""
    year, now, began = Year(), [datetime.datetime.combine(FIRST, datetime.time(3), datetime.UTC)], time.monotonic()
    used = time.process_time()
    server = start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            name = server.database()
            owner = server.owner(name)
            owner.autocommit = True
            clinic = GrowingClinic(owner, people)
            server.grant(owner)
            path = Path(folder) / "policy.yaml"
            path.write_text(policy_text(server.url(name), BUDGET, epsilon, hourly=hourly))
            opened = open_here(compared(load_policy(path)), read=lambda: now[0])
            with closing(Proxy(opened, ExactSampler())) as proxy, settled():
                for number in range(days):
                    day = FIRST + datetime.timedelta(days=number)
                    clinic.grow(day, 0 if hourly else 0.1)
                    if number < 31:
                        continue  # a month of rows, and then the dashboard begins
                    now[0] = datetime.datetime.combine(day, datetime.time(3), datetime.UTC) + datetime.timedelta(days=1)
                    if hourly:
                        now[0] -= datetime.timedelta(hours=27)
                        _one_day_by_hour(year, proxy, owner, now, people, epsilon)
                    else:
                        _one_day(year, proxy, owner, now, refreshes, viewers, people, epsilon)
                    if now[0].day in (1, 6, 11, 16, 21, 26):
                        took = f"{(time.monotonic() - began) / 60:.1f} minutes"
                        month = _month(now[0])
                        spent = f"ε = {year.spent.get(month, 0):.2f}"
                        cpu = f"{1000 * (time.process_time() - used) / max(1, year.real):.1f} ms of CPU a statement"
                        console.print(
                            f"{now[0]:%Y-%m-%d}: {dict(year.counts[month])}, {spent}, {took}, {cpu}", highlight=False
                        )
                        sys.stdout.flush()
                        keep(year)
    finally:
        server.process.close()
    return year


def _month(now: datetime.datetime) -> str:
    return f"{now:%Y-%m}"


def _one_day(
    year: Year,
    proxy: Proxy,
    owner: psycopg.Connection,
    clock: list[datetime.datetime],
    refreshes: int,
    viewers: int,
    people: int,
    epsilon: str,
) -> None:
    now = clock[0]
    month = _month(now)
    year.counts[month] += Counter()
    session, watch = proxy.session(), proxy.session()
    watch.execute("SET dpsql.watch = 'hardly anybody'")
    watch.execute(f"SET dpsql.epsilon = {PRICES['alert']}")
    for number, tool in enumerate(TOOLS[:viewers]):
        # Viewers are shared out among the tools; a tool that nobody uses asks nothing.
        lookers = len(range(number, viewers, len(TOOLS)))
        times = refreshes * lookers

        def refresh(asked: int, lookers: int = lookers) -> None:
            """All of a day's refreshes lie between 03:00 and 02:00, within one period."""
            clock[0] = now + asked // lookers * datetime.timedelta(hours=23) / refreshes

        def until_midnight(asked: int, lookers: int = lookers) -> None:
            """CURRENT_DATE of the alert is another day after midnight, perhaps in another window of the budget."""
            clock[0] = now + asked // lookers * datetime.timedelta(hours=20) / refreshes

        for tile, sql in tiles(now.date(), tool).items():
            session.execute(f"SET dpsql.epsilon = {PRICES.get(tile, epsilon)}")
            rows = year.ask(month, tile, session, sql, times, refresh)
            if rows and now.day in (5, 20):
                truth = owner.execute(sql.encode()).fetchall()
                if (error := off(rows, truth)) is not None:
                    year.errors[month][tile].append(error)
        year.ask(month, "alert", watch, alert(people), times, until_midnight)
    for tile in (*tiles(now.date()), "alert"):
        each = proxy._opened.accountant.price(Fraction(PRICES.get(tile, epsilon)), Fraction(0))
        year.bought_each[month] += each * refreshes
    _within_budget(year, month, proxy)


def _one_day_by_hour(
    year: Year, proxy: Proxy, owner: psycopg.Connection, clock: list[datetime.datetime], people: int, epsilon: str
) -> None:
    """Every tile at each hour, half an hour after it has begun."""
    begin = clock[0]
    month = _month(begin)
    year.counts[month] += Counter()
    session, watch = proxy.session(), proxy.session()
    watch.execute("SET dpsql.watch = 'hardly anybody'")
    watch.execute(f"SET dpsql.epsilon = {HOURLY['alert']}")
    for hour in range(24):
        now = begin + datetime.timedelta(hours=hour, minutes=30)

        def refresh(_: int, now: datetime.datetime = now) -> None:
            clock[0] = now

        for tile, sql in hourly_tiles(now).items():
            session.execute(f"SET dpsql.epsilon = {HOURLY.get(tile, epsilon)}")
            rows = year.ask(month, tile, session, sql, 1, refresh)
            compared_now = rows and begin.day in (5, 10, 20) and hour in (9, 15)
            error = off(rows, owner.execute(sql.encode()).fetchall()) if compared_now else None
            if error is not None:
                year.errors[month][tile].append(error)
            year.bought_each[month] += proxy._opened.accountant.price(Fraction(HOURLY.get(tile, epsilon)), Fraction(0))
        year.ask(month, "alert", watch, alert(people), 1, refresh)
    _within_budget(year, month, proxy)


def _within_budget(year: Year, month: str, proxy: Proxy) -> None:
    window = proxy.ledger.standings()[0]
    year.spent[month] = window.accountant.epsilon_of(window.spent)
    if not all(one.spent.fits_within(one.accountant.limit) for one in proxy.ledger.standings()):
        raise AssertionError("more is spent than was declared")


def drawn(told: Mapping[str, Mapping[str, Mapping[str, object]]], picture: Path) -> None:
    """What a year costs and how far off its tiles are, as a picture."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    months = [month for month in told["counts"] if told["errors"].get(month)]  # not one that has just begun
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(9, 7.6), constrained_layout=True, height_ratios=(2, 3))
    above.bar(
        months, [told["each"][month] for month in months], color="#d9a441", label="each refresh of one viewer bought"
    )  # type: ignore[arg-type]
    above.bar(months, [told["spent"][month] for month in months], color="#2f6f9f", label="spent")  # type: ignore[arg-type]
    above.axhline(EPSILON, color="#a33", linewidth=1.2, label=f"declared for each month: ε = {EPSILON}")
    above.set_yscale("log")
    above.set_ylim(1, 300)
    above.set_ylabel("ε of a month, δ = 1e-6")
    asked = sum(int(counts.get("asked", 0)) for counts in told["counts"].values())  # type: ignore[call-overload]
    refused = sum(int(counts.get("refused", 0)) for counts in told["counts"].values())  # type: ignore[call-overload]
    sent = told["real"]["asked for real"]
    said = f"{asked:,} statements ({sent:,} sent, the others with the same texts), {refused:,} refused"
    above.set_title(f"A dashboard of twelve tiles for a year: {said}", fontsize=10)
    above.legend(fontsize=8, ncol=3, loc="upper center")
    names = sorted({tile for tiles_ in told["errors"].values() for tile in tiles_})
    for place, tile in enumerate(names):
        values = [told["errors"].get(month, {}).get(tile) for month in months]
        known = [100 * statistics.median(one) if one else float("nan") for one in values]  # type: ignore[type-var,call-overload]
        below.plot(
            months,
            known,
            marker="osD^v"[place % 5],
            color="k" if place == 10 else f"C{place % 10}",
            markersize=3.5,
            linewidth=1,
            label=tile,
        )
    below.set_yscale("log")
    below.set_ylabel("median relative error of a tile, %")
    below.legend(fontsize=8, ncol=6, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    for axes in (above, below):
        axes.tick_params(axis="x", rotation=30, labelsize=8)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench year", description=__doc__)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--refresh", choices=("day", "hour"), default="day", help="how long an answer stands")
    parser.add_argument("--refreshes", type=int, default=24, help="of a day, by a viewer")
    parser.add_argument("--viewers", type=int, default=20)
    parser.add_argument("--epsilon", default="0.05", help="of a statement")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="where to draw it, as SVG or PNG")
    parser.add_argument("--again", type=Path, metavar="FILE", help="draw what an earlier run has written as JSON")
    options = parser.parse_args()
    if options.again:
        drawn(json.loads(options.again.read_text()), options.picture)
        return
    console = Console(width=170)
    hourly = options.refresh == "hour"
    if hourly:
        options.refreshes, options.viewers = 24, 1

    def keep(year: Year) -> None:
        if options.json:
            options.json.write_text(json.dumps(_told(year), indent=1))

    year = run(
        options.people,
        options.days,
        options.refreshes,
        options.viewers,
        options.epsilon,
        console,
        hourly=hourly,
        keep=keep,
    )
    keep(year)
    told = _told(year)
    _print(year, told, console, options)
    if options.picture:
        drawn(told, options.picture)
    sys.exit(1 if year.refusals else 0)


def _told(year: Year) -> dict[str, dict[str, Any]]:
    months = list(year.counts)
    each = {month: ZCDP.alone(year.bought_each[month], Fraction(1, 10**6)) for month in months}
    return {
        "counts": {month: dict(counts) for month, counts in year.counts.items()},
        "spent": dict(year.spent),
        "each": {month: 0.0 if found is None else float(found[0]) for month, found in each.items()},
        "bars": {month: dict(widths) for month, widths in year.bars.items()},
        "errors": {month: dict(by_tile) for month, by_tile in year.errors.items()},
        "tiles": {
            month: {tile: float(loss.rho) for tile, loss in some.items()} for month, some in year.by_tile.items()
        },
        "real": {"asked for real": year.real},
    }


def _print(year: Year, told: Mapping[str, Mapping[str, object]], console: Console, options: argparse.Namespace) -> None:
    table = Table(
        "month", "asked", "sent", "bought", "free", "refused", f"spent ε of {EPSILON} declared",
        "ε if each refresh of one viewer were bought", box=None,
    )  # fmt: skip
    for month, counts in year.counts.items():
        numbers = [f"{counts[name]:,}" for name in ("asked", "sent", "bought", "free", "refused")]
        table.add_row(month, *numbers, f"{year.spent[month]:.2f}", f"{told['each'][month]:.0f}")
    console.print(table)
    total = sum(counts["asked"] for counts in year.counts.values())
    console.print(
        f"{options.viewers} viewers, {options.refreshes} refreshes a day, in the spellings of {', '.join(TOOLS[: options.viewers])}."
        f" Of {total:,} statements {year.real:,} were sent: all of the second month, from refresh to refresh, and of the other"
        f" months {ASKED} of each tile on each day in each spelling. The rest is counted: it has the same text on the same"
        " day, whose last asking was free.",
        highlight=False,
    )
    months = list(year.errors)
    errors = Table("tile", *months, box=None)
    for tile in next(iter(year.errors.values()), {}):
        cells = [year.errors[month].get(tile, []) for month in months]
        errors.add_row(tile, *(f"{statistics.median(cell):.1%}" if cell else "" for cell in cells))
    console.print("Median relative error of a tile's cells:")
    console.print(errors)
    prices = Table("tile", *year.by_tile, box=None)
    for tile in next(iter(year.by_tile.values()), {}):
        prices.add_row(tile, *(f"{1000 * float(some[tile].rho):.1f}" for some in year.by_tile.values()))
    console.print("Spent on each tile, in thousandths of ρ:")
    console.print(prices)
    known = list(year.bars)
    shown = dict.fromkeys(known[at] for at in (0, len(known) // 2, -1)) if known else {}
    widths = Table("tile", *shown, box=None)
    for tile in dict.fromkeys(tile for month in shown for tile in year.bars[month]):
        cells = (year.bars[month].get(tile) for month in shown)
        widths.add_row(tile, *("" if cell is None else f"{cell:,.4g}" for cell in cells))
    console.print("Half width of the bars of a tile's numbers, at the first, the middle and the last month:")
    console.print(widths)
    for refusal, count in year.refusals.most_common(10):
        console.print(f"refused {count}: {refusal}", highlight=False)
