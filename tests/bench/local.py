"""What it costs that people randomize their values themselves (local model), beside central noise at the same ε.

``python -m tests.bench local`` prints, for made people: the error of a count after their own randomized response or
RAPPOR, as the textbook predicts it, as an error bar tells it, and as it was over many draws of reports and noise, beside
the error of the same count over what they truly have, with central noise of the same ε alone; how often error bars
hold; and which of the commonest values of a dictionary RAPPOR finds, by ours and by non-negative least squares over all
bits (Erlingsson, Pihur, Korolova 2014).

Reports are drawn by the code of ``dpsql randomize``. Central ε is that of discrete Laplace noise, the same promise.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import dpsql
from dpsql.randomize import Secret, reports
from rewriter.declared import Randomization, Rappor, Response

PEOPLE = 20_000
REPEATS = 60
WORDS = tuple(f"w{place:02}" for place in range(50))


@dataclass(frozen=True, slots=True)
class LocalCase:
    """A law of reports and the shares of its values."""

    name: str
    law: Randomization
    shares: tuple[float, ...]

    @property
    def declared(self) -> str:
        values = ", ".join(f"'{one}'" for one in self.law.values)
        if isinstance(self.law, Response):
            how = f"response: {float(self.law.declared):g}"
        else:
            assert isinstance(self.law, Rappor)
            how = f"rappor: {{bits: {self.law.bits}, hashes: {self.law.hashes}, cohorts: {self.law.cohorts}}}"
        return f"{{values: [{values}], randomized: {{{how}}}}}"


def cases() -> list[LocalCase]:
    found = [LocalCase("two values", Response(("yes", "no"), Fraction(e)), (0.3, 0.7)) for e in ("0.5", "1.1", "3")]
    ten = tuple(map(str, range(10)))
    even = tuple(0.1 for _ in ten)
    found += [LocalCase("ten values", Response(ten, Fraction(e)), even) for e in ("1.1", "3")]
    return [*found, LocalCase("RAPPOR, ten words", rappor(ten), even)]


def rappor(values: tuple[str, ...]) -> Rappor:
    return Rappor(values, 64, 2, Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), 8)


def textbook(case: LocalCase, people: int) -> float:
    """The 95 % error of a count of the first value: as of Wang, Blocki, Li, Jha 2017,
    √((n₁·p(1-p) + (n - n₁)·q(1-q)) / (p-q)²). Of RAPPOR, that of the least bits that tell the value."""
    if isinstance(case.law, Response):
        p, q = float(case.law.keep), float(case.law.other)
    else:
        assert isinstance(case.law, Rappor)
        p, q = float(case.law.one) ** case.law.hashes, float(case.law.zero) ** case.law.hashes
    own = case.shares[0] * people
    return 1.96 * math.sqrt((own * p * (1 - p) + (people - own) * q * (1 - q)) / (p - q) ** 2)


@dataclass(slots=True)
class Drawn:
    """Errors of the first value's count, and how many error bars held, over fresh reports and noise."""

    errors: list[float]
    widths: list[float]
    held: int = 0
    asked: int = 0


def drawn(case: LocalCase, people: int, repeats: int, folder: Path) -> Drawn:
    """All draws are rows of one table, told apart by ``world``; each world is asked by a statement of its own."""
    truth = [case.law.values[at] for at in np.repeat(range(len(case.shares)), _sizes(case.shares, people))]
    _write(case, truth, repeats, folder)
    found = Drawn([], [])
    counts = {value: truth.count(value) for value in case.law.values}
    with dpsql.connect(str(folder / "policy.yaml")) as asking:
        cursor = asking.cursor()
        cursor.execute(f"SET dpsql.epsilon = {max(case.law.epsilon, 0.01):.6g}")
        for world in range(repeats):
            cursor.execute(f"SELECT x, COUNT(*) FROM person WHERE world = {world} GROUP BY x")
            for (value, count), (_, width) in zip(cursor.fetchall(), cursor.margins, strict=True):
                assert width is not None
                found.asked, found.held = found.asked + 1, found.held + (abs(count - counts[value]) <= width)
                if value == case.law.values[0]:
                    found.errors.append(abs(count - counts[value]))
                    found.widths.append(width)
    return found


def _sizes(shares: Sequence[float], people: int) -> list[int]:
    sizes = [round(one * people) for one in shares]
    sizes[-1] += people - sum(sizes)
    return sizes


def _write(case: LocalCase, truth: Sequence[object], worlds: int, folder: Path) -> None:
    source = Secret()
    found = [report for _ in range(worlds) for report in reports(case.law, truth, source)]  # type: ignore[arg-type]
    table = {"id": np.arange(len(found)), "world": np.repeat(np.arange(worlds), len(truth)), "x": pa.array(found)}
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.register("rows", pa.table(table))
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, world INTEGER NOT NULL, x VARCHAR NOT NULL)")
        connection.execute("INSERT INTO person SELECT * FROM rows")
    (folder / "policy.yaml").write_text(
        f"database: duckdb:{folder}/people.duckdb\nledger: sqlite:{folder}/ledger\nprivacy_unit: person.id\n"
        "budget: {epsilon: 1e6, accounting: pure}\nstatement: {epsilon: 1, max_epsilon: 100}\ntables:\n  person:\n"
        f"    columns: {{id: {{}}, world: {{range: [0, {worlds}]}}, x: {case.declared}}}\n"
    )


def heavy(people: int, repeats: int, folder: Path) -> tuple[float, float, float, float]:
    """Of the ten commonest of 50 words by Zipf's law, how many are among the ten named, and of the five commonest how
    many among five: by ours, and by non-negative least squares over the counts of all bits, without central noise."""
    weights = np.array([1 / (place + 1) for place in range(len(WORDS))])
    case = LocalCase("words", rappor(WORDS), tuple(weights / weights.sum()))
    truth = [WORDS[at] for at in np.repeat(range(len(WORDS)), _sizes(case.shares, people))]
    _write(case, truth, repeats, folder)
    ours, bits = np.zeros(2), np.zeros(2)
    with dpsql.connect(str(folder / "policy.yaml")) as asking:
        cursor = asking.cursor()
        for world in range(repeats):
            sql = f"SELECT x, COUNT(*) AS n FROM person WHERE world = {world} GROUP BY x ORDER BY n DESC LIMIT 10"
            cursor.execute(sql)
            named = [row[0] for row in cursor.fetchall()]
            ours += [len({*named[:size]} & {*WORDS[:size]}) / size for size in (5, 10)]
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as plain:
        for world in range(repeats):
            rows = [row[0] for row in plain.execute("SELECT x FROM person WHERE world = ?", [world]).fetchall()]
            estimate = all_bits(rappor(WORDS), rows)
            named = [WORDS[at] for at in np.argsort(-estimate)]
            bits += [len({*named[:size]} & {*WORDS[:size]}) / size for size in (5, 10)]
    return (*(ours / repeats), *(bits / repeats))


def all_bits(law: Rappor, rows: Sequence[str]) -> np.ndarray:
    """The paper's decoding: the design matrix of the dictionary's bits by cohort, non-negative least squares."""
    from scipy.optimize import nnls

    counts, sizes = np.zeros((law.cohorts, law.bits)), np.zeros(law.cohorts)
    for row in rows:
        cohort, _, word = row.partition(":")
        counts[int(cohort)] += np.frombuffer(word.encode(), dtype=np.uint8) - ord("0")
        sizes[int(cohort)] += 1
    zero, one = float(law.zero), float(law.one)
    told = (counts - zero * sizes[:, None]) / (one - zero)
    design = np.zeros((law.cohorts * law.bits, len(law.values)))
    for cohort in range(law.cohorts):
        for place in range(len(law.values)):
            for bit in law.bloom(cohort, place):
                design[cohort * law.bits + bit, place] = 1 / law.cohorts
    return np.asarray(nnls(design, told.ravel())[0])


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench local")
    options.add_argument("--repeats", type=int, default=REPEATS)
    options.add_argument("--people", type=int, default=PEOPLE)
    asked = options.parse_args()
    print(f"Of {asked.people:,} people, {asked.repeats} draws. Errors are those that 95 of 100 stay below.\n")
    print("| values | ε | textbook | error bar | measured | bars hold | central at this ε | local costs |")
    print("|---|---|---|---|---|---|---|---|")
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            found = drawn(case, asked.people, asked.repeats, Path(folder))
        central = math.log(20) / case.law.epsilon
        measured = 1.96 * math.sqrt(statistics.fmean(one * one for one in found.errors))
        cells = [case.name, f"{case.law.epsilon:.3g}", f"{textbook(case, asked.people):.0f}"]
        cells += [f"{statistics.fmean(found.widths):.0f}", f"{measured:.0f}", f"{100 * found.held / found.asked:.1f} %"]
        cells += [f"{central:.1f}", f"{measured / central:.0f}×"]
        print(f"| {' | '.join(cells)} |", flush=True)
    print(
        "\n| words by RAPPOR, 50 in the dictionary | 5 of 5 commonest, ours | 10 of 10 | all bits, 5 of 5 | 10 of 10 |"
    )
    print("|---|---|---|---|---|")
    for people in (asked.people, 5 * asked.people):
        with tempfile.TemporaryDirectory() as folder:
            shares = heavy(people, max(asked.repeats // 10, 2), Path(folder))
        print(f"| {people:,} people | {' | '.join(f'{100 * one:.0f} %' for one in shares)} |", flush=True)


if __name__ == "__main__":
    main()
