"""Retention, churn and revenue of a product in PostgreSQL: each panel of a Grafana dashboard, beside the truth.

    pip install .
    python examples/saas/saas.py                              # a PostgreSQL of its own, thrown away at the end
    python examples/saas/saas.py postgresql://owner@host/saas # fills that database, for a Grafana to ask

The customers are made up: `generate` draws them with a fixed seed. Only the owner can see the truth.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

import dpsql
from dpsql.postgresql.process import PostgresProcess

HERE = Path(__file__).parent
POLICY, DASHBOARD = "saas.yaml", "dashboard.json"
READER, PASSWORD = "dpsql_reader", "reader"
CUSTOMERS, SEED = 4_000, 20_250_101
FIRST, LAST = date(2025, 1, 1), date(2025, 12, 31)
PLANS = {"solo": (0.62, 19, 0.10), "team": (0.28, 59, 0.05), "business": (0.10, 149, 0.025)}
"""Of each plan: how many choose it, what a month costs, and how many leave it each month."""

SCHEMA = """
CREATE TABLE customer (id integer PRIMARY KEY, plan text NOT NULL, country text NOT NULL, joined date NOT NULL);
CREATE TABLE login (customer_id integer NOT NULL REFERENCES customer (id), day date NOT NULL,
    PRIMARY KEY (customer_id, day));
CREATE TABLE invoice (customer_id integer NOT NULL REFERENCES customer (id), month date NOT NULL,
    amount integer NOT NULL, PRIMARY KEY (customer_id, month));
"""
ROLE = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'dpsql_reader') THEN
        CREATE ROLE dpsql_reader LOGIN PASSWORD 'reader' NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
        ALTER ROLE dpsql_reader SET default_transaction_read_only = on;
    END IF;
END $$;
GRANT USAGE ON SCHEMA public TO dpsql_reader;
GRANT SELECT ON customer, login, invoice TO dpsql_reader;
"""


@dataclass(frozen=True, slots=True)
class People:
    """The rows of the three tables."""

    customer: list[tuple[int, str, str, date]]
    login: list[tuple[int, date]]
    invoice: list[tuple[int, date, int]]


def generate(customers: int = CUSTOMERS, seed: int = SEED) -> People:
    """A customer joins on some day, pays each month until leaving, and logs in on fewer and fewer days."""
    draw = random.Random(seed)  # noqa: S311 - nobody's secret: the customers are made up
    people = People([], [], [])
    for customer in range(1, customers + 1):
        (plan,) = draw.choices(list(PLANS), [share for share, _, _ in PLANS.values()])
        _, price, leaves = PLANS[plan]
        joined = FIRST + timedelta(days=int(365 * draw.random() ** 0.8))
        people.customer.append((customer, plan, draw.choices(["AT", "CH", "DE", "other"], [4, 2, 8, 3])[0], joined))
        month, paid_until = joined.replace(day=1), LAST
        while month <= LAST:
            people.invoice.append((customer, month, price))
            month = (month + timedelta(days=32)).replace(day=1)
            if draw.random() < leaves:
                paid_until = month - timedelta(days=1)
                break
        day, gap = joined, draw.uniform(2, 6)
        while day <= min(paid_until, LAST):
            people.login.append((customer, day))
            day += timedelta(days=1 + int(draw.expovariate(1 / gap)))
            gap *= 1.05
    return people


def load(owner: psycopg.Connection, customers: int = CUSTOMERS) -> None:
    """The tables, their rows, and the role that dpsql reads them with."""
    owner.execute(SCHEMA)
    people = generate(customers)
    for name, rows in (("customer", people.customer), ("login", people.login), ("invoice", people.invoice)):
        with owner.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as copy:
            for row in rows:
                copy.write_row(row)
    owner.execute(ROLE.encode())
    owner.execute("ANALYZE")


def policy_for(folder: Path, url: str) -> Path:
    """The policy with the address of a database, in a folder of its own: the ledger is made beside it."""
    text = (HERE / POLICY).read_text()
    path = folder / POLICY
    path.write_text(re.sub(r"(?m)^database: .*$", lambda _: f"database: {url}", text))
    return path


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of the dashboard: its title, its kind, and the statement as Grafana sends it."""

    title: str
    kind: str
    sql: str


def panels() -> list[Panel]:
    """The dashboard's panels. Grafana's macro for the time that it shows is written out, as Grafana does."""
    dashboard = json.loads((HERE / DASHBOARD).read_text())
    ends = [dashboard["time"][end].replace(".000Z", "Z") for end in ("from", "to")]
    found = []
    for panel in dashboard["panels"]:
        (target,) = panel["targets"]
        text = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 BETWEEN '{ends[0]}' AND '{ends[1]}'", target["rawSql"])
        found.append(Panel(panel["title"], panel["type"], text))
    return found


def show(policy: Path, owner: psycopg.Connection) -> None:
    """Ask each panel's statement, and print some rows of it beside the true ones."""
    with contextlib.closing(dpsql.connect(policy, "mara")) as connection:
        for panel in panels():
            cursor = connection.execute(panel.sql)
            price = f"ε = {float(cursor.epsilon):g}" if cursor.epsilon else "free"
            print(f"{panel.title}  ({price})")
            # The number is the last column; the others name its group.
            true = {tuple(map(_told, row[:-1])): row[-1] for row in owner.execute(panel.sql.encode()).fetchall()}
            for row, errors in list(zip(cursor.fetchall(), cursor.margins, strict=True))[:6]:
                told = ", ".join(_told(value, error) for value, error in zip(row, errors, strict=True))
                exact = true.get(tuple(_told(key) for key in row[:-1]))
                print(f"   {told}   true: {_told(exact) if exact is not None else '-'}")
        budget = connection.budget()
        print(f"Spent: {float(budget.used):.0%} of the budget; {budget.statements_left} statements are left")


def _told(value: Any, error: Any = None) -> str:
    if isinstance(value, date):
        return f"{value:%Y-%m}"
    shown = value if isinstance(value, str) else f"{float(value):,.4g}" if value % 1 else f"{int(value):,}"
    return f"{shown} ± {error:,.2g}" if error and error < 100 else f"{shown} ± {error:,.0f}" if error else shown


@contextlib.contextmanager
def database(arguments: Sequence[str]) -> Iterator[tuple[str, psycopg.Connection]]:
    """dpsql's address of a filled database, and the owner's connection; a server of our own where none is named."""
    if arguments:
        with psycopg.connect(arguments[0], autocommit=True) as owner:
            info = owner.info
            load(owner)
            yield f"postgresql://{READER}:{PASSWORD}@{info.host}:{info.port}/{info.dbname}", owner
        return
    with PostgresProcess.start(tcp=True) as server, psycopg.connect(server.dsn(), autocommit=True) as owner:
        load(owner)
        yield f"postgresql://{READER}:{PASSWORD}@127.0.0.1:{server.port}/postgres", owner


def main(arguments: Sequence[str]) -> None:
    with database(arguments) as (url, owner), tempfile.TemporaryDirectory() as folder:
        show(policy_for(Path(folder), url), owner)


if __name__ == "__main__":
    main(sys.argv[1:])
