"""``python -m tests.bench large [--people N …] [--epsilon E …]``: how large data have to be for which question.

Made-up people with visits, in tables of several sizes. Each question is asked afresh at each price, and the half-width
of its error bar is told beside its number, in per cent: the median over the rows of the answer. Whoever has more people
has errors that are as many times smaller.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
from rich.console import Console

from dpsql.proxy import Proxy
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:made.duckdb; ledger: sqlite:made.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1e-6}; statement: {epsilon: 0.5, max_epsilon: 100}
tables:
  person: id, ill, region [r0, r1, r2, r3, r4, r5, r6, r7, r8, r9], age 18..90, income 0..200000
  visit(person_id -> person.id, max_rows: 12): day 2025-01-01..2025-12-31, cost 0..400
""")
QUESTIONS: Mapping[str, str] = {
    "how many people are ill (a fifth)": "SELECT COUNT(*) FROM person WHERE ill",
    "mean income": "SELECT AVG(income) FROM person",
    "median income": "SELECT MEDIAN(income) FROM person",
    "people by region (10)": "SELECT region, COUNT(*) FROM person GROUP BY region",
    "mean income by region (10)": "SELECT region, AVG(income) FROM person GROUP BY region",
    "visits (5 a person, at most 12)": "SELECT COUNT(*) FROM visit",
    "visits by month (12)": "SELECT DATE_TRUNC('month', day), COUNT(*) FROM visit GROUP BY 1",
    "cost by month (12)": "SELECT DATE_TRUNC('month', day), SUM(cost) FROM visit GROUP BY 1",
    "income by year of age, as a slope": "SELECT REGR_SLOPE(income, age) FROM person",
}
ROWS = """
CREATE TABLE person AS SELECT i::INTEGER AS id, i % 5 = 0 AS ill, 'r' || (i * 7 % 10) AS region,
    18 + (i * 29 % 73)::INTEGER AS age,
    LEAST(200000, (.4 + (i * 29 % 73) / 60) * EXP(10.4 + .5 * SQRT(-2 * LN(.0005 + .999 * ((i * 617) % 1000) / 1000)) * COS(i)))::DOUBLE AS income
    FROM range({people}) AS t(i);
ALTER TABLE person ADD PRIMARY KEY (id);
CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person(id), day DATE NOT NULL, cost DOUBLE);
INSERT INTO visit SELECT i, DATE '2025-01-01' + ((i * 31 + j * 73) % 365)::INTEGER, 20 + (i * 13 + j * 57) % 200
    FROM range({people}) AS t(i), range(9) AS v(j) WHERE j < 2 + i % 7;
"""


def relative_errors(people: int, epsilons: Sequence[float]) -> Iterator[tuple[str, list[float | None]]]:
    """Of each question, the half-width beside the number at each price; None where the number is not told from 0."""
    with tempfile.TemporaryDirectory() as folder:
        with duckdb.connect(f"{folder}/made.duckdb") as connection:
            connection.execute(ROWS.format(people=people))
        path = Path(folder) / "policy.yaml"
        path.write_text(POLICY)
        proxy = Proxy.open(path)
        try:
            session = proxy.session()
            session.execute("SET dpsql.reuse = off")
            for name, sql in QUESTIONS.items():
                found = []
                for epsilon in epsilons:
                    session.execute(f"SET dpsql.epsilon = {epsilon}")
                    answer = session.execute(sql)
                    parts = [
                        margin / abs(float(str(value))) if value else math.inf
                        for row, margins in zip(answer.rows, answer.margins, strict=True)
                        for value, margin in zip(row, margins, strict=True)
                        if margin is not None
                    ]
                    middle = statistics.median(parts) if parts else math.inf
                    found.append(middle if middle < 1 else None)
                yield name, found
        finally:
            proxy.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench large", description=__doc__)
    parser.add_argument("--people", type=int, nargs="+", default=[500, 5_000, 50_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 0.5, 1])
    options = parser.parse_args()
    console = Console()
    tables = [dict(relative_errors(people, options.epsilon)) for people in options.people]
    heads = [f"{people:,}, ε = {epsilon:g}" for people in options.people for epsilon in options.epsilon]
    console.print(f"| question | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}", markup=False, soft_wrap=True)
    for name in QUESTIONS:
        cells = [_told(part) for table in tables for part in table[name]]
        console.print(f"| {name} | {' | '.join(cells)} |", markup=False, soft_wrap=True, highlight=False)


def _told(part: float | None) -> str:
    """A relative error in per cent; a dash where the number is not told from 0.

    >>> _told(0.0123), _told(None), _told(0.347)
    ('1.2 %', '–', '35 %')
    """
    return "–" if part is None else f"{100 * part:.2g} %"
