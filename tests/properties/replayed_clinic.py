"""The clinic of the golden queries with people in it, and without one of them, who is alone in whatever there is to be
alone in: a region, a diagnosis, a drug, a day; who has more rows than are allowed, and values beyond their ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rewriter.split.presence import Empty
from tests.golden.pairs import FOLDER, Pair, pairs
from tests.new_databases import new_database
from tests.properties.replayed import Asked

ALONE, PEOPLE = 7, 40
_POLICY = """
budget: {{epsilon: {budget}, accounting: {accounting}}}
statement: {{epsilon: 5, max_epsilon: 1000}}
analysts: {{ana: {{}}}}
refresh: 1 day
"""

CHANGING: Sequence[Asked] = (
    Asked("SELECT COUNT(*) > 20 AS many FROM patient", ("SET dpsql.watch = 'w'",)),
    Asked("SELECT COUNT(*) > 20 AS many FROM patient", ("SET dpsql.watch = 'w'",)),
    Asked("SELECT COUNT(*) > 1000 FROM visit WHERE reason = 'acute'", ("SET dpsql.watch = 'v'",)),
    Asked("SELECT region, COUNT(*) > 10 AS many FROM patient GROUP BY region", ("SET dpsql.watch = 'g'",)),
    Asked("SELECT reason FROM visit GROUP BY 1 HAVING SUM(cost) > 1000", ("SET dpsql.watch = 'h'",)),
    Asked("SELECT AVG(weight_kg) FROM patient WHERE weight_kg > (SELECT AVG(weight_kg) FROM patient)"),
    Asked("SELECT COUNT(*) FROM visit WHERE cost > (SELECT MAX(n) FROM (SELECT reason, COUNT(*) n FROM visit GROUP BY 1) t)"),
    Asked("SELECT region, COUNT(*) FROM patient GROUP BY 1 HAVING COUNT(*) > (SELECT COUNT(*) / 8 FROM patient)"),
    Asked("SELECT diagnosis, COUNT(*) FROM patient GROUP BY 1", ("SET dpsql.other = on", "SET dpsql.epsilon = 100")),
    Asked("SELECT SUM(score) FROM prescription", ("SET dpsql.intervals = on",)),
    Asked("SELECT drug, SUM(score), COUNT(*) FROM prescription GROUP BY 1"),
    Asked("SELECT COUNT(*) FROM patient WHERE region = 'east'"),
    Asked("SELECT region, COUNT(*) FROM patient GROUP BY 1"),
    Asked("SELECT reason, MEDIAN(cost) FROM visit GROUP BY 1"),
    Asked("SELECT region, (LOGREGR(smoker, ARRAY[1, height_cm])).coef FROM patient GROUP BY 1"),
    Asked("SELECT COUNT(*) FROM visit; SELECT 1"),
    Asked("SELECT 1 / 0 FROM patient"),
    Asked("SELECT COUNT(*) FROM patient", ("SET dpsql.epsilon = 1e9",)),
)  # fmt: skip
"""Watches, stages, learned bounds, named groups, and what fails."""

_MANY = ("SET dpsql.watch = 'many'",)
_BESIDE = (
    "SELECT region, COUNT(*) FROM patient, (SELECT z.n FROM (SELECT COUNT(*) AS n FROM patient) AS z,"
    " generate_series(1, 50) AS s(i)) AS q WHERE q.n > -1e9 GROUP BY 1"
)
_MOST = ("SET dpsql.epsilon = 100",)
_DAY = {"pure": 150, "approx": 150, "zcdp": 8000, "rdp": 8000}
"""The ε of a day, which has room for one statement of the most, and for all the others."""

WINDOWS: Sequence[Asked] = (
    Asked("SELECT COUNT(*) > 1000 FROM visit", _MANY),
    Asked("SELECT region, COUNT(*) > 10 FROM patient GROUP BY region", _MANY),
    Asked(_BESIDE),
    Asked("SELECT DATE_TRUNC('month', day), COUNT(*) FROM visit WHERE day <= CURRENT_DATE GROUP BY 1"),
    Asked("SELECT SUM(score) FROM prescription"),
    Asked("SELECT AVG(height_cm) FROM patient", _MOST),
    Asked("SELECT AVG(weight_kg) FROM patient", _MOST),
    Asked("SELECT COUNT(*) > 1000 FROM visit", _MANY, days=1),
    Asked("SELECT region, COUNT(*) > 10 FROM patient GROUP BY region", _MANY),
    Asked("SELECT AVG(weight_kg) FROM patient", _MOST),
    Asked(_BESIDE),
    Asked("SELECT DATE_TRUNC('month', day), COUNT(*) FROM visit WHERE day <= CURRENT_DATE GROUP BY 1"),
    Asked("SELECT SUM(score) FROM prescription"),
    Asked("SELECT COUNT(*) > 1000 FROM visit", _MANY, days=30),
)
"""Two days and one more: a watch, stages, a series, and a bound that is learned, each in several windows of a budget, of
which one is spent."""
SPENT = 6
"""The statement that a day has no budget for, and the next has."""


def clinic_over(folder: Path, accounting: str, *, whole: bool, daily: bool = False) -> Path:
    """A policy over the clinic, with or without the person; ``daily``: with a small budget that renews each day."""
    folder.mkdir(parents=True)
    with new_database(folder / "clinic.duckdb") as connection:
        connection.execute((FOLDER / "clinic.sql").read_text(encoding="utf-8"))
        for statement in _rows("" if whole else f" AND p <> {ALONE}"):
            connection.execute(statement)
    delta = ", delta: 1e-6" if accounting != "pure" else ""
    bounds = "max_epsilon: 1000" if accounting == "pure" else "max_epsilon: 1000, bounds: 0.2"
    budget = f"{_DAY[accounting]}{delta}, per: day, lifetime: {{epsilon: 1e6{delta}}}" if daily else f"1e6{delta}"
    said = _POLICY.format(budget=budget, accounting=accounting).replace("max_epsilon: 1000", bounds)
    lines = (FOLDER / "clinic.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("budget:", "statement:"))]
    path = folder / "clinic.yaml"
    path.write_text("".join(kept).replace("tables:\n", f"{said.lstrip()}tables:\n", 1))
    return path


def golden(part: int = 0, every: int = 1) -> list[Asked]:
    """The golden queries, each as its header says."""
    chosen = pairs()[part::every]
    return [Asked(pair.sql, _settings(pair), number % 40 == 5) for number, pair in enumerate(chosen)]


def _settings(pair: Pair) -> list[str]:
    found = ["SET dpsql.other = on"] if pair.others else []
    found += ["SET dpsql.empty_groups = hide"] if pair.empty is Empty.HIDE else []
    return found + ([f"SET timezone = '{pair.zone}'"] if pair.zone != "UTC" else [])


def _rows(but: str) -> list[str]:
    people = f"range(1, {PEOPLE + 1}) t(p) WHERE TRUE{but}"
    visits = f"range(1, {PEOPLE + 1}) t(p), range(CASE WHEN p = {ALONE} THEN 60 ELSE p % 4 END) v(n) WHERE TRUE{but}"
    alone = f"p = {ALONE}"
    return [
        f"""INSERT INTO patient SELECT p, CASE p % 2 WHEN 0 THEN 'F' ELSE 'M' END, CASE WHEN {alone} THEN 1801 ELSE
            1940 + p END, CASE WHEN {alone} THEN 2000000000 WHEN p % 5 = 0 THEN NULL ELSE 150 + p END, CASE WHEN {alone} THEN
            'inf'::DOUBLE WHEN p % 6 = 0 THEN NULL ELSE 50.5 + p END, {alone} OR p % 3 = 0,
            CASE WHEN {alone} THEN 'rare' ELSE 'd' || (p % 3) END, CASE WHEN {alone} THEN 'east' ELSE
            ['north', 'south', 'nowhere'][1 + p % 3] END FROM {people}""",
        f"""INSERT INTO visit SELECT p * 100 + n, p, CASE WHEN {alone} THEN DATE '2020-01-01' + n::INTEGER ELSE DATE
            '2024-03-01' + (p * n)::INTEGER END, CASE WHEN {alone} THEN -1000 + n * 999 WHEN n = 2 THEN NULL ELSE p * n + 0.25 END,
            CASE WHEN {alone} THEN 'chronic' ELSE ['check-up', 'acute', 'other'][1 + (p + n) % 3] END FROM {visits}""",
        f"""INSERT INTO prescription SELECT p * 100 + n, CASE WHEN {alone} THEN 'rare' || n % 2 ELSE 'drug' || p % 2 END,
            CASE WHEN {alone} THEN 'nan'::DOUBLE ELSE n / 2 END, 'note' || n, CASE WHEN {alone} THEN 9000000000000000000
            ELSE p * n END FROM {visits}""",
        f"INSERT INTO sample SELECT p * 100 + n, p * 100 + n, p, n % 3, p * 1.5 + n FROM {visits}",
        f"INSERT INTO referral SELECT p * 100 + n, p, p * 100 + n, DATE '2023-01-01' + (p + n)::INTEGER FROM {visits} AND n < 5",
        f"""INSERT INTO survey SELECT p, CASE WHEN p % 3 = 1 THEN 'yes' ELSE 'no' END, 1 + p % 3,
            repeat('10', 8) FROM {people}""",
        f"""INSERT INTO diary SELECT p, DATE '2024-01-01' + p::INTEGER, CASE WHEN {alone} THEN '{{"k": [1, "x"]}}' ELSE
            '{{"k": "a", "items": ["a", "b"]}}' END::JSON, CASE WHEN {alone} THEN ['only', NULL] ELSE ['cough', 'fever'] END,
            [p::INTEGER, 1] FROM {people}""",
    ]
