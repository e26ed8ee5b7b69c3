"""A made-up clinic in PostgreSQL that grows day by day: people, visits and logins, with seasons and late rows."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator

import numpy as np
import psycopg

FIRST = datetime.date(2026, 1, 1)
REGIONS = ("north", "south", "east", "west")
DEPARTMENTS = tuple(f"d{number:02d}" for number in range(20))

TABLES = f"""
CREATE TABLE patient (id integer PRIMARY KEY, region text NOT NULL CHECK (region IN {REGIONS}), born integer NOT NULL);
CREATE TABLE visit (
    patient_id integer NOT NULL REFERENCES patient (id), at timestamp NOT NULL, department text NOT NULL,
    cost integer NOT NULL, urgent boolean NOT NULL
);
CREATE TABLE login (patient_id integer NOT NULL REFERENCES patient (id), at timestamp NOT NULL);
"""

POLICY = """
database: {database}
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {budget}
statement: {{epsilon: {epsilon}, max_epsilon: 1}}
refresh: {refresh}
clock: {{zone: UTC, tick: {tick}}}
tables:
  patient:
    columns: {{id: {{}}, region: {{values: [north, south, east, west]}}, born: {{range: [1920, 2026]}}}}
  visit:
    unit: patient_id -> patient.id
    time: at
    closed_after: 1 day
    max_rows: 6 per month, 2 per day
    columns:
      patient_id: {{}}
      at: {{range: [2026-01-01, now]}}
      department: {{values: [{departments}]}}
      cost: {{range: [0, 500]}}
      urgent: {{}}
  login:
    unit: patient_id -> patient.id
    time: at
    closed_after: 1 day
    max_rows: 15 per month, 3 per day
    columns: {{patient_id: {{}}, at: {{range: [2026-01-01, now]}}}}
"""


class GrowingClinic:
    """One database, filled up to a day. ``without`` leaves one person out, at all times."""

    def __init__(self, owner: psycopg.Connection, people: int, seed: int = 1, without: int | None = None) -> None:
        self._owner = owner
        self._random = np.random.default_rng(seed)
        self._people = people
        self._without = without
        self._habit = self._random.gamma(2.0, 0.5, people)
        owner.execute(TABLES)
        self._copy(
            "patient",
            (
                (
                    number,
                    REGIONS[self._random.choice(4, p=[0.4, 0.3, 0.2, 0.1])],
                    int(self._random.integers(1930, 2010)),
                )
                for number in range(people)
            ),
        )

    @staticmethod
    def busiest(people: int, seed: int) -> int:
        """Whom the most rows are about, most likely."""
        return int(np.random.default_rng(seed).gamma(2.0, 0.5, people).argmax())

    def grow(self, day: datetime.date, late: float = 0.1) -> None:
        """The rows of one day, and the tenth of the day before's that come late."""
        year = day.timetuple().tm_yday / 365
        season = 1 + 0.4 * math.cos(2 * math.pi * year) - (0.5 if day.weekday() >= 5 else 0)
        self._copy("visit", self._rows(day, 0.035 * season, late, visits=True))
        self._copy("login", self._rows(day, 0.09 * season, late, visits=False))

    def _rows(self, day: datetime.date, rate: float, many: float, *, visits: bool) -> Iterator[tuple[object, ...]]:
        # As many draws whoever is left out: neighbours differ by one person's rows alone.
        times = self._random.poisson(np.minimum(self._habit * rate, 3))
        for person in np.repeat(np.arange(self._people), times).tolist():
            late = 1 if self._random.random() < many and day > FIRST else 0
            seconds = int(np.clip(self._random.normal(13, 4), 0, 23.99) * 3600)
            at = datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(days=-late, seconds=seconds)
            department = DEPARTMENTS[min(19, int(self._random.exponential(4)))]
            cost, urgent = int(min(500, self._random.gamma(2, 60))), bool(self._random.random() < 0.15)
            yield (person, at, department, cost, urgent) if visits else (person, at)

    def _copy(self, table: str, rows: Iterator[tuple[object, ...]]) -> None:
        place = 0
        with self._owner.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows:
                if row[place] != self._without:
                    copy.write_row(row)


def policy_text(database: str, budget: str, epsilon: str, *, hourly: bool = False) -> str:
    """The owner's policy over such a clinic. ``hourly``: answers stand for an hour, and rows are there half an hour after
    their time; a person counts once a day."""
    refresh, tick = ("1 hour", "1 hour") if hourly else ("1 day at 02:00", "1 day")
    known = {"database": database, "budget": budget, "epsilon": epsilon, "refresh": refresh, "tick": tick}
    text = POLICY.format(departments=", ".join(DEPARTMENTS), **known)
    if not hourly:
        return text
    text = text.replace("closed_after: 1 day", "closed_after: 30 minutes")
    return text.replace("2 per day", "1 per day").replace("3 per day", "1 per day")


PRICES = {"visits by day": "0.2", "alert": "0.2"}
"""The ε of tiles that ask for more than the default."""
TOOLS = ("Grafana", "Superset", "Metabase")


HOURLY = {"visits by day": "0.05", "month over month": "0.02", "alert": "0.2"}
"""The same of a dashboard that is refreshed each hour."""


def hourly_tiles(now: datetime.datetime) -> dict[str, str]:
    """The dashboard of Superset with windows that end with the present hour. Those of different people, which do not add
    up over days, end with a day that is over."""
    until = f"{now:%H}:00:00'"
    found = tiles(now.date())
    people = ("active people", "retention")
    moving = {tile: sql.replace("00:00:00'", until) for tile, sql in found.items() if tile not in people}
    ended = found["retention"].replace(
        "at >= TIMESTAMP", f"at < TIMESTAMP '{now.date()} 00:00:00' AND at >= TIMESTAMP", 1
    )
    return {**moving, "active people": found["active people"], "retention": ended}


def tiles(today: datetime.date, tool: str = "Superset") -> dict[str, str]:
    """A dashboard, as a tool spells it on one day; the last tile is an alert."""
    ago, month = today - datetime.timedelta(days=30), today.replace(day=1)

    def at(table: str) -> str:
        return f'"public"."{table}"."at"' if tool == "Metabase" else "at"

    def times(table: str, since: datetime.date | None, until: datetime.date | None) -> str:
        word = "timestamp" if tool == "Metabase" else "TIMESTAMP"
        ends = [(sign, end) for sign, end in ((">=", since), ("<", until)) if end is not None]
        return " AND ".join(f"{at(table)} {sign} {word} '{end} 00:00:00'" for sign, end in ends)

    def window(table: str) -> str:
        if tool == "Grafana":
            return f"at >= '{ago}T00:00:00Z' AND at < '{today}T00:00:00Z'"
        return times(table, ago, today)

    def cut(unit: str) -> str:
        """The key, with its name."""
        if tool == "Metabase":
            return f"CAST(DATE_TRUNC('{unit}', {at('visit')}) AS date)"
        return f"DATE_TRUNC('{unit}', at)"

    name = {"Grafana": '"time"', "Superset": "__timestamp", "Metabase": '"at"'}[tool]
    visit, login, patient = (
        f'"public"."{one}"' if tool == "Metabase" else one for one in ("visit", "login", "patient")
    )
    limit = {"Grafana": "", "Superset": " LIMIT 1000", "Metabase": " LIMIT 2000"}[tool]
    by_day, by_month = cut("day"), cut("month")
    return {
        "visits, 30 days": f"SELECT COUNT(*) AS visits FROM {visit} WHERE {window('visit')}{limit}",
        "active people": f"SELECT COUNT(DISTINCT patient_id) AS active FROM {login} WHERE {window('login')}{limit}",
        "cost, 30 days": f"SELECT SUM(cost) AS cost FROM {visit} WHERE {window('visit')}{limit}",
        "visits by day": f"SELECT {by_day} AS {name}, COUNT(*) AS n FROM {visit} WHERE {times('visit', ago, today)}"
        f" GROUP BY {by_day} ORDER BY 1{limit}",
        "month over month": f"SELECT {by_month} AS {name}, COUNT(*) AS n FROM {visit}"
        f" WHERE {times('visit', None, today)} GROUP BY {by_month} ORDER BY 1{limit}",
        "top 10": f"SELECT department, COUNT(*) AS n FROM {visit} WHERE {window('visit')}"
        " GROUP BY department ORDER BY n DESC LIMIT 10",
        "by region": f"SELECT region, COUNT(*) AS n FROM {visit} JOIN {patient} ON patient_id = id"
        f" WHERE {times('visit', ago, today)} GROUP BY region ORDER BY 1{limit}",
        "urgent": f"SELECT AVG(CASE WHEN urgent THEN 1.0 ELSE 0.0 END) AS share FROM {visit}"
        f" WHERE {window('visit')}{limit}",
        "mean cost": f'SELECT AVG("cost") AS "avg" FROM {visit} WHERE {window("visit")}{limit}',
        "retention": f"SELECT COUNT(*) AS kept FROM {patient} WHERE id IN (SELECT patient_id FROM {login} WHERE"
        f" {times('login', month, None)}) AND id IN (SELECT patient_id FROM {login} WHERE"
        f" {times('login', ago, month)}){limit}",
        "logins by hour": f"SELECT EXTRACT(HOUR FROM {at('login')}) AS hour, COUNT(*) AS n FROM {login}"
        f" WHERE {window('login')} GROUP BY 1 ORDER BY 1{limit}",
    }


def alert(people: int) -> str:
    """Whether hardly anybody came of late: it is asked for years, and is FALSE."""
    return (
        f"SELECT COUNT(*) < {people // 20 or -1000} AS alert FROM visit WHERE at >= CURRENT_DATE - INTERVAL '14 days'"
    )
