"""A dashboard that is looked at every day of a year: what each month buys, and what is free.

    pip install .
    python examples/living/living.py                                  # a look every Monday, about a minute
    python examples/living/living.py --every 1 --until 2025-03-31     # every day of two months

A year does not pass meanwhile: the proxy reads a clock that this script moves, as the tests do. The members are made
up: `generate` draws them with a fixed seed. All rows of the year are there from the beginning; the range of `day`
ends with `now`, so that none of a later day counts.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

from dpsql.mechanisms.sampling import ExactSampler, Sampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy

HERE = Path(__file__).parent
DATABASE, POLICY = "living.duckdb", "living.yaml"
MEMBERS, SEED = 3_000, 20_250_106
FIRST, LAST = date(2025, 1, 1), date(2025, 12, 31)
BEGIN = date(2025, 2, 3)
"""The first look at the dashboard, a Monday: a month of entries is there by then."""

VIEWERS = 5
"""People who look at the dashboard on a day. The first of them may pay, the others see the same numbers."""

SCHEMA = """
CREATE TABLE member (id INTEGER PRIMARY KEY, plan TEXT NOT NULL);
CREATE TABLE entry (member_id INTEGER NOT NULL REFERENCES member (id), day DATE NOT NULL, minutes INTEGER NOT NULL);
"""
TILES = {
    "entries by day": (
        "SELECT day, COUNT(*) AS entries FROM entry\n"
        "WHERE day >= CURRENT_DATE - 28 AND day < CURRENT_DATE GROUP BY day ORDER BY day"
    ),
    "minutes by week": (
        "SELECT DATE_TRUNC('week', day) AS week, AVG(minutes) AS minutes FROM entry\n"
        "WHERE day >= DATE_TRUNC('week', CURRENT_DATE) - INTERVAL '56 days' "
        "AND day < DATE_TRUNC('week', CURRENT_DATE)\n"
        "GROUP BY 1 ORDER BY 1"
    ),
    "members who came in a month": (
        "SELECT plan, COUNT(DISTINCT member_id) AS members FROM entry JOIN member ON member.id = member_id\n"
        "WHERE day >= CURRENT_DATE - 28 AND day < CURRENT_DATE GROUP BY plan ORDER BY plan"
    ),
}
"""Each tile's statement: the window moves with the clock, and its text stays the same."""


def generate(members: int = MEMBERS, seed: int = SEED) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Members and entries: many come in winter, few in summer, and some no more."""
    draw = random.Random(seed)  # noqa: S311 - nobody's secret: the members are made up
    people, entries = [], []
    for member in range(1, members + 1):
        people.append((member, draw.choices(["basic", "plus"], [2, 1])[0]))
        often, day = draw.uniform(0.05, 0.4), FIRST + timedelta(days=int(draw.expovariate(1 / 60)))
        while day <= LAST:
            season = 1.3 if day.month in (1, 2, 10, 11) else 0.6 if day.month in (7, 8) else 1.0
            if draw.random() < often * season:
                entries.append((member, day, min(180, max(10, int(draw.gauss(70, 25))))))
            if draw.random() < 0.002:
                break
            day += timedelta(days=1)
    return people, entries


def build(folder: Path, members: int = MEMBERS) -> Path:
    """The database and its policy, in a folder of their own; the policy's path."""
    folder.mkdir(parents=True, exist_ok=True)
    people, entries = generate(members)
    with duckdb.connect(str(folder / DATABASE)) as connection:
        connection.execute(SCHEMA)
        for table, rows in (("member", people), ("entry", entries)):
            columns = {f"c{at}": list(values) for at, values in enumerate(zip(*rows, strict=True))}
            listed = ", ".join(f"unnest(${name}) AS {name}" for name in columns)
            connection.execute(f"INSERT INTO {table} SELECT * FROM (SELECT {listed})", columns)
    return Path(shutil.copy(HERE / POLICY, folder / POLICY))


@dataclass(slots=True)
class Month:
    """What happened in a month: statements that were asked, bought and free, and how far off the bought ones were."""

    asked: int = 0
    bought: int = 0
    used: Fraction | float = 0
    errors: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TILES})


class Dashboard:
    """A proxy over the gym, with a clock that is set."""

    def __init__(self, policy: Path, sampler: Sampler | None = None) -> None:
        self.day = BEGIN
        owner = shutil.copy(policy.parent / DATABASE, policy.parent / "owner.duckdb")
        self._proxy = Proxy(open_here(compared(load_policy(policy)), read=self._read), sampler or ExactSampler())
        # A copy: the proxy holds the file itself.
        self._owner = duckdb.connect(owner)

    def _read(self) -> datetime:
        return datetime.combine(self.day, time(12), UTC)

    def close(self) -> None:
        self._proxy.close()
        self._owner.close()

    def look(self, day: date) -> Iterator[tuple[str, Any, list[tuple[Any, ...]]]]:
        """One viewer's look on a day: each tile's name, its answer, and the truth that only the owner sees."""
        self.day = day
        session = self._proxy.session("lena")
        for name, sql in TILES.items():
            true = self._owner.execute(sql.replace("CURRENT_DATE", f"DATE '{day}'")).fetchall()
            yield name, session.execute(sql), true

    def used(self) -> float:
        """Which part of this month's budget is spent."""
        ((used,),) = self._proxy.session("lena").execute("SELECT used FROM dpsql.budget WHERE per = 'month'").rows
        return float(used)


def year(dashboard: Dashboard, every: int, last: date = LAST) -> dict[str, Month]:
    """All looks from BEGIN on, each by ``VIEWERS`` people: two looks are sent, the second for the others."""
    months: dict[str, Month] = {}
    day = BEGIN
    while day <= last:
        month = months.setdefault(f"{day:%Y-%m}", Month())
        for name, answer, true in dashboard.look(day):
            month.asked += VIEWERS
            month.bought += bool(answer.price)
            known = {str(row[0])[:10]: float(row[1]) for row in true}
            off = [abs(float(row[1]) / known[str(row[0])[:10]] - 1) for row in answer.rows if row[1] is not None]
            month.errors[name].append(statistics.median(off))
        for name, answer, _ in dashboard.look(day):
            if answer.price:
                raise AssertionError(f"{name} was paid for twice on {day}")
        month.used = dashboard.used()
        day += timedelta(days=every)
    return months


def show(months: dict[str, Month]) -> None:
    """A line for each month, and how far the tiles were off in it."""
    print(f"{'month':8} {'asked':>6} {'bought':>6} {'free':>6} {'spent':>6}   off by: {', '.join(TILES)}")
    for name, month in months.items():
        off = ", ".join(f"{statistics.median(found):.1%}" for found in month.errors.values())
        free = month.asked - month.bought
        print(f"{name:8} {month.asked:6} {month.bought:6} {free:6} {float(month.used):6.0%}   {off}")


def main() -> None:
    options = argparse.ArgumentParser(description="A dashboard of a year.")
    options.add_argument("--every", type=int, default=7, help="days between two looks (%(default)s)")
    options.add_argument("--until", type=date.fromisoformat, default=LAST, help="the last day (%(default)s)")
    chosen = options.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(Dashboard(build(Path(folder)))) as dashboard,
    ):
        show(year(dashboard, chosen.every, chosen.until))


if __name__ == "__main__":
    main()
