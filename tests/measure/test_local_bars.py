"""Error bars of sums and means of numbers that people randomized: they hold the truth, and are no wider than it takes."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np
import pytest

from dpsql.randomize import Secret, reports
from rewriter.declared.randomization import Response
from tests.doubles import open_without_noise

WORLDS, PEOPLE = 300, 400
LAW = Response(tuple(range(1, 9)), Fraction(2))
SHARES = (40, 20, 100, 30, 50, 60, 20, 80)
TRUTH = np.repeat(LAW.values, SHARES)


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """The same people in many worlds, who reported anew in each."""
    folder = tmp_path_factory.mktemp("local_bars")
    found = reports(LAW, [int(one) for one in TRUTH] * WORLDS, Secret())
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, world INTEGER NOT NULL, drink INTEGER NOT NULL, side BOOLEAN NOT NULL)"
        )
        table = {"world": np.repeat(np.arange(WORLDS), PEOPLE), "drink": np.array(list(found), dtype=np.int64)}
        connection.register("told", {"world": table["world"], "drink": table["drink"]})
        connection.execute(
            "INSERT INTO person SELECT row_number() OVER () AS id, world, drink, drink > 0 AND row_number() OVER () % 2 = 0 FROM told"
        )
        connection.execute("CREATE TABLE visit (person INTEGER NOT NULL REFERENCES person (id))")
        connection.execute("INSERT INTO visit SELECT id FROM person")
    (folder / "policy.yaml").write_text(
        f"database: duckdb:{folder}/people.duckdb\nledger: sqlite:{folder}/ledger\nprivacy_unit: person.id\n"
        "budget: {epsilon: 1e6, accounting: pure}\nstatement: {epsilon: 1, max_epsilon: 100}\ntables:\n"
        f"  person:\n    columns:\n      id: {{}}\n      world: {{values: {list(range(WORLDS))}}}\n"
        "      side: {values: [true, false]}\n"
        "      drink: {values: [1, 2, 3, 4, 5, 6, 7, 8], randomized: {response: 2}}\n"
        "  visit:\n    unit: person -> person.id\n    max_rows: 1\n    columns: {person: {}}\n"
    )
    proxy = open_without_noise(folder / "policy.yaml")
    yield proxy.session()
    proxy.close()


FIGURES = {
    "SUM(drink)": float(TRUTH.sum()),
    "AVG(drink)": float(TRUTH.mean()),
    "SUM(CASE WHEN drink > 4 THEN 1 WHEN drink = 2 THEN -3 ELSE 0 END)": float(
        (TRUTH > 4).sum() - 3 * (TRUTH == 2).sum()
    ),
}
FROM = ("person AS p", "visit AS v JOIN person AS p ON p.id = v.person")


@pytest.mark.parametrize("source", FROM)
@pytest.mark.parametrize("figure", FIGURES)
def test_bars_hold_the_truth_and_are_tight(asking, figure: str, source: str) -> None:  # type: ignore[no-untyped-def]
    """Of 300 worlds 95 % are held, by 5 standard deviations; a bar is what errors are, to a quarter (5 of 4.1 %)."""
    answer = asking.execute(f"SELECT world, {figure} FROM {source} GROUP BY world")
    values = np.array([float(row[1]) for row in answer.rows])
    widths = np.array([float(one[1]) for one in answer.margins])
    assert len(values) == WORLDS
    assert (np.abs(values - FIGURES[figure]) <= widths).mean() >= 0.95 - 5 * np.sqrt(0.05 * 0.95 / WORLDS)
    errors = np.sqrt(np.mean((values - FIGURES[figure]) ** 2))
    assert 0.75 <= widths.mean() / 1.96 / errors <= 1.35


def test_two_keys_have_bars_that_hold(asking) -> None:  # type: ignore[no-untyped-def]
    answer = asking.execute("SELECT world, side, AVG(drink) FROM person GROUP BY world, side")
    sides = {side: float(TRUTH[(1 - side) :: 2].mean()) for side in (0, 1)}
    held = [
        abs(float(row[2]) - sides[int(row[1])]) <= one[2] for row, one in zip(answer.rows, answer.margins, strict=True)
    ]
    assert np.mean(held) >= 0.95 - 5 * np.sqrt(0.05 * 0.95 / len(held))
