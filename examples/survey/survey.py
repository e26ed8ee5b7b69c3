"""A survey in one CSV file, asked through dpsql, beside the truth that only the owner can see.

    pip install .
    python examples/survey/survey.py [FOLDER]

The answers are made up: `generate` draws them with a fixed seed. In one FOLDER the budget is spent once, and the same
questions are free when they are asked again; without FOLDER everything happens in a temporary one.
"""

from __future__ import annotations

import contextlib
import csv
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb

import dpsql

HERE = Path(__file__).parent
FILE, POLICY, QUESTIONS = "answers.csv", "survey.yaml", "questions.sql"
PEOPLE, SEED = 2_400, 20_260_301
HEAD = ("respondent", "team", "years", "remote_days", "satisfaction", "would_stay")
TEAMS = {"engineering": 0.34, "support": 0.22, "sales": 0.20, "design": 0.09, "finance": 0.08, "people": 0.07}
MOOD = {"engineering": 3.4, "support": 2.7, "sales": 3.2, "design": 3.7, "finance": 3.3, "people": 3.9}
"""The mean satisfaction of a team, before home days and years."""


def generate(people: int = PEOPLE, seed: int = SEED) -> list[tuple[object, ...]]:
    """One row for each person. Home days please, years tire, and who is content stays."""
    draw = random.Random(seed)  # noqa: S311 - nobody's secret: the people are made up
    rows: list[tuple[object, ...]] = []
    for person in range(1, people + 1):
        (team,) = draw.choices(list(TEAMS), list(TEAMS.values()))
        years, home = min(40, int(draw.expovariate(1 / 6))), draw.choice((0, 1, 2, 2, 3, 3, 4, 5))
        felt = MOOD[team] + 0.12 * (home - 2) - 0.03 * (years - 6) + draw.gauss(0, 0.9)
        satisfaction = min(5, max(1, round(felt)))
        stays = draw.random() < 0.15 + 0.16 * satisfaction
        answer = "yes" if stays else draw.choice(("no", "unsure"))
        rows.append((person, team, years, home, satisfaction, answer))
    return rows


def build(folder: Path, people: int = PEOPLE) -> None:
    """The CSV file and the policy, in a folder."""
    with (folder / FILE).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEAD)
        writer.writerows(generate(people))
    shutil.copy(HERE / POLICY, folder / POLICY)


def questions() -> list[str]:
    """The statements of ``questions.sql``, each with the comment that says what it asks."""
    return [one.strip() for one in (HERE / QUESTIONS).read_text().split(";") if one.strip()]


def truth(folder: Path, sql: str) -> list[tuple[object, ...]]:
    """What the owner sees, without noise."""
    with duckdb.connect() as database:
        database.execute(f"CREATE VIEW answers AS SELECT * FROM read_csv('{folder / FILE}')")
        return database.execute(sql).fetchall()


def show(folder: Path) -> None:
    """Ask each question, and print each row beside the true one."""
    with contextlib.closing(dpsql.connect(folder / POLICY, "hana")) as connection:
        for sql in questions():
            cursor = connection.cursor()
            cursor.execute(sql)
            print(sql.splitlines()[0])
            margins: Sequence[Sequence[float | None]] = cursor.margins
            for row, errors, true in zip(cursor.fetchall(), margins, truth(folder, sql), strict=True):
                told = (_told(value, error) for value, error in zip(row, errors, strict=True))
                print("  ", ", ".join(told), "  true:", ", ".join(map(_told, true)))
        print(f"Left: {connection.budget().statements_left} statements at the default price.")


def _told(value: object, error: float | None = None) -> str:
    shown = f"{value:.3g}" if isinstance(value, float) else f"{value}"
    return f"{shown} ± {error:.2g}" if error else shown


def main() -> None:
    with contextlib.ExitStack() as stack:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / FILE).exists():
            build(folder)
        show(folder)


if __name__ == "__main__":
    main()
