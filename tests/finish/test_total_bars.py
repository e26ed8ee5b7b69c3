"""Bars of totals, shares and averages over all groups hold as often as they say, and are no wider than they need to be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.proxy import Proxy
from tests.doubles import NoNoise
from tests.finish.test_intervals_coverage import Repeated
from tests.new_databases import new_database
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:clinic.duckdb; ledger: sqlite:{how}.ledger; privacy_unit: patient.id
budget: {epsilon: 1000000, delta: {delta}, accounting: {how}}; statement: {epsilon: 0.1, max_epsilon: 10}
tables:
  patient: id, sex [F, M], ward [a, b, c, d, e, f, g, h, i, j, k, l], smoker
""")
PEOPLE, TIMES = 4000, 80
WARDS = "SELECT ward, COUNT(*) AS n FROM patient GROUP BY ward"
BOTH = "SELECT ward, sex, COUNT(*) AS n, COUNT(*) FILTER (WHERE smoker) AS m FROM patient GROUP BY ward, sex"
EXACT = {
    "total": f"SELECT SUM(n) AS v FROM ({WARDS}) AS g",
    "total of rounded numbers": f"SELECT SUM(m) AS v FROM ({BOTH}) AS g",
    "totals of wards": f"SELECT ward, SUM(n) AS v FROM ({BOTH}) AS g GROUP BY ward",
    "total beside each": f"SELECT ward, SUM(n) OVER () AS v FROM ({WARDS}) AS g",
    "share": f"SELECT ward, 100.0 * n / SUM(n) OVER () AS v FROM ({WARDS}) AS g",
    "share of the ward": f"SELECT ward, sex, n * 1.0 / SUM(n) OVER (PARTITION BY ward) AS v FROM ({BOTH}) AS g",
    "share of a subquery": f"WITH g AS ({WARDS}) SELECT ward, 100.0 * n / (SELECT SUM(n) FROM g) AS v FROM g",
    "share of a share": "SELECT ward, sex, SUM(n) OVER (PARTITION BY ward) * 1.0 / SUM(n) OVER () AS v"
    f" FROM ({BOTH}) AS g",
}  # fmt: skip
TRIED = {
    "with a limit": f"SELECT SUM(n) AS v FROM (SELECT * FROM ({WARDS}) AS h ORDER BY ward LIMIT 3) AS g",
    "of different numbers": f"SELECT SUM(DISTINCT n) AS v FROM ({WARDS}) AS g",
    "of all pairs": f"WITH g AS ({WARDS}) SELECT SUM(a.n) AS v FROM g AS a CROSS JOIN g AS b",
    "of rows made": f"SELECT SUM(n) AS v FROM (SELECT n, generate_series(1, 2) AS i FROM ({WARDS}) AS h) AS g",
    "of a filter": f"SELECT SUM(n) FILTER (WHERE ward <> 'a') AS v FROM ({WARDS}) AS g",
    "of large ones": f"SELECT SUM(n) OVER () AS v FROM ({WARDS}) AS g WHERE n > 10",
    "by a number": f"SELECT n, SUM(n) AS v FROM ({WARDS}) AS g GROUP BY n",
    "up to each": f"SELECT SUM(n) OVER (PARTITION BY sex ORDER BY n) AS v FROM ({BOTH}) AS g",
    "of a part": f"SELECT SUM(n) OVER (PARTITION BY m) AS v FROM ({BOTH}) AS g",
}


@pytest.fixture(scope="module", params=["zcdp", "pure"])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A clinic of twelve wards, of which nine have nobody or almost nobody in them."""
    folder: Path = tmp_path_factory.mktemp("clinic")
    with new_database(folder / "clinic.duckdb") as connection:
        connection.execute(
            "CREATE TABLE patient (id INTEGER PRIMARY KEY, sex TEXT NOT NULL, ward TEXT NOT NULL, smoker BOOLEAN NOT NULL)"
        )
        connection.execute(
            "INSERT INTO patient SELECT i, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END,"
            f" CASE WHEN i % 400 = 0 THEN 'd' ELSE 'abc'[1 + i % 3] END, i % 10 < 3 FROM range({PEOPLE}) t(i)"
        )
    path = folder / f"{request.param}.yaml"
    path.write_text(POLICY.format(how=request.param, delta="1e-6" if request.param == "zcdp" else "0"))
    opened = Proxy.open(path)
    yield opened
    opened.close()


def cells(proxy: Proxy, sql: str, times: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far each number of the busy wards is off, and how far the ends of its interval are from the truth."""
    session = proxy.session()
    repeated, sampler = Repeated(session, sql, "0.25"), ExactSampler()
    exact = repeated.answer(NoNoise()).rows
    truth = {row[:-3]: float(str(row[-3])) for row in exact if not row[:-3] or str(row[0]) in "abc"}
    off = []
    for _ in range(times):
        rows = {row[:-3]: row[-3:] for row in repeated.answer(sampler).rows}
        off.append([[float(str(end)) - value for end in rows[key]] for key, value in truth.items()])
    found = np.array(off)
    return found[..., 0], found[..., 1], found[..., 2]


@pytest.mark.spread
@pytest.mark.parametrize("name", EXACT)
def test_bars_hold_and_are_as_narrow_as_the_noise_allows(proxy: Proxy, name: str) -> None:
    """Of all answers, 95 in 100 hold but for four standard errors; a width is that of the errors, as far as these tell."""
    value, low, high = cells(proxy, EXACT[name], TIMES)
    held = ((low <= 1e-9) & (high >= -1e-9)).mean()
    assert held >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / TIMES)
    needed = 2 * 1.96 * np.std(value)
    assert 0.75 <= np.mean(high - low) / needed <= 1.4


@pytest.mark.parametrize("name", EXACT)
def test_bars_of_totals_take_no_replicates(proxy: Proxy, name: str) -> None:
    session = proxy.session()
    assert not session._proxy.prepare(EXACT[name], ()).outer.question.wanted  # type: ignore[union-attr]


@pytest.mark.parametrize("name", TRIED)
def test_totals_of_other_rows_are_tried(proxy: Proxy, name: str) -> None:
    prepared = proxy.session()._proxy.prepare(TRIED[name], ())
    assert prepared.outer.question.wanted  # type: ignore[union-attr]
