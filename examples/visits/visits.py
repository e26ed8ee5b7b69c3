"""Retention, sessions and time between visits, asked through dpsql, beside the truth that only the owner can see.

    pip install .
    python examples/visits/visits.py [FOLDER]

The library is made up: `generate` draws its members with a fixed seed. In one FOLDER the budget is spent once, and the
same questions are free when they are asked again; without FOLDER everything happens in a temporary one.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import dpsql

HERE = Path(__file__).parent
DATABASE = "visits.duckdb"
POLICY = "visits.yaml"
MEMBERS = 20_000
SEED = 20_240_101
FIRST_DAY = datetime(2024, 1, 1)
DAYS = 366
OPENS, CLOSES = 8, 22
SCHEMA = """
CREATE TABLE member (id INTEGER PRIMARY KEY, branch TEXT NOT NULL);
CREATE TABLE loan (member_id INTEGER NOT NULL REFERENCES member (id), taken TIMESTAMP NOT NULL, kind TEXT NOT NULL);
"""
QUESTIONS = ("retention", "sessions", "hours", "gaps", "habits")
"""The files next to this one, in the order in which they are asked."""


def generate(members: int = MEMBERS, seed: int = SEED) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Members and loans. A member joins some day, comes again every few weeks, less and less, and then no more."""
    draw = random.Random(seed)  # noqa: S311 - nobody's secret: the members are made up
    people, loans = [], []
    for member in range(1, members + 1):
        people.append((member, draw.choices(["centre", "harbour", "hill"], [5, 3, 2])[0]))
        day, gap = draw.randrange(DAYS), draw.uniform(4, 40)
        visits = 0
        while day < DAYS and visits < 30:
            at = FIRST_DAY + timedelta(days=day, minutes=draw.randrange(OPENS * 60, CLOSES * 60 - 90))
            for _ in range(min(1 + int(draw.expovariate(0.7)), 8)):
                loans.append((member, at, draw.choices(["book", "film", "music"], [6, 3, 1])[0]))
                at += timedelta(seconds=draw.randrange(20, 900))
            visits += 1
            day += 1 + int(draw.expovariate(1 / gap))
            if draw.random() < 0.12:
                break
    return people, loans


def build(folder: Path, members: int = MEMBERS) -> None:
    """The database and its policy, in a folder of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / POLICY, folder / POLICY)
    if (folder / DATABASE).exists():
        return
    people, loans = generate(members)
    with duckdb.connect(str(folder / DATABASE)) as connection:
        connection.execute(SCHEMA)
        for table, rows in (("member", people), ("loan", loans)):
            columns = {f"c{place}": list(values) for place, values in enumerate(zip(*rows, strict=True))}
            listed = ", ".join(f"unnest(${name}) AS {name}" for name in columns)
            connection.execute(f"INSERT INTO {table} SELECT * FROM (SELECT {listed})", columns)


@dataclass(frozen=True, slots=True)
class Answer:
    """A table as it was released, with the half-widths of its columns (None: a key), and the true one."""

    title: str
    epsilon: float
    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    margins: tuple[tuple[float | None, ...], ...]
    truth: tuple[tuple[Any, ...], ...]


def ask(folder: Path, names: Sequence[str] = QUESTIONS, empty_groups: str = "auto") -> Iterator[Answer]:
    """Ask each question twice: the proxy, for a price, and the database itself, as only its owner may.

    ``empty_groups``: ``show`` has those, too, that may be empty as far as the released numbers tell.
    """
    for name in names:
        sql = (HERE / f"{name}.sql").read_text(encoding="utf-8")
        with dpsql.connect(folder / POLICY) as connection:
            cursor = connection.cursor().execute(f"SET dpsql.empty_groups = {empty_groups}").execute(sql)
            columns = tuple(column[0] for column in cursor.description or ())
            rows, margins, epsilon = cursor.fetchall(), cursor.margins, float(cursor.epsilon)
        title = sql.splitlines()[0].removeprefix("-- ")
        yield Answer(title, epsilon, columns, tuple(rows), tuple(margins), tuple(_truth(folder, sql)))


def _truth(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    # A copy: the proxy may hold the file itself.
    with tempfile.TemporaryDirectory() as temporary:
        copy = shutil.copy(folder / DATABASE, temporary)
        with duckdb.connect(copy, read_only=True) as owner:
            return owner.execute(sql).fetchall()


def show(answer: Answer, console: Console) -> None:
    """A line per group, each number with its half-width; retention as a triangle of percentages."""
    price = f"ε = {answer.epsilon:g}" if answer.epsilon else "free: it was answered before"
    console.print(f"[bold]{answer.title}[/bold]  [dim]{price}[/dim]")
    console.print(_triangle(answer) if answer.names[:2] == ("cohort", "months_later") else _lines(answer))


def _lines(answer: Answer) -> Table:
    keys = next((place for place, margin in enumerate(answer.margins[0]) if margin is not None), 0)
    true = {row[:keys]: row[keys:] for row in answer.truth}
    table = Table(*answer.names[:keys], box=SIMPLE_HEAD)
    for name in answer.names[keys:]:
        table.add_column(name, justify="right")
        table.add_column("true", justify="right", style="dim", header_style="dim")
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        numbers: list[str] = []
        for noisy, margin, exact in zip(row[keys:], margins[keys:], true.get(row[:keys], (None,) * 99), strict=False):
            numbers += [f"{_number(noisy)} ± {_number(margin)}", _number(exact)]
        table.add_row(*map(str, row[:keys]), *numbers)
    return table


def _triangle(answer: Answer) -> Table:
    """Of each cohort, the percentage that comes again; the noisy table alone says that."""
    members = {(int(cohort), int(later)): count for cohort, later, count in answer.rows}
    last = max(later for _, later in members)
    table = Table("cohort", "members", *map(str, range(1, last + 1)), box=SIMPLE_HEAD)
    for cohort in sorted({cohort for cohort, _ in members}):
        first = members.get((cohort, 0), 0)
        # A group that may be empty, as far as its noisy number tells, is not in the answer.
        later_ones = [members.get((cohort, later), 0) for later in range(1, last + 1 - cohort + 1)]
        shares = [f"{100 * count / max(first, 1):.0f}%" for count in later_ones]
        table.add_row(FIRST_DAY.replace(month=cohort).strftime("%B"), f"{first:,}", *shares)
    return table


def _number(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:,.2f}"


def main(arguments: Sequence[str]) -> int:
    console = Console()
    with contextlib.ExitStack() as stack:
        folder = Path(arguments[0]) if arguments else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        build(folder)
        for answer in ask(folder):
            show(answer, console)
        with dpsql.connect(folder / POLICY) as connection:
            budget = connection.budget()
        console.print(f"ε = {budget.spent_epsilon:.2f} of {float(budget.epsilon):g} is spent")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
