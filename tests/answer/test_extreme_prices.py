"""Whatever a statement costs, it is refused before the charge or answered."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Proxy

PRICES = (
    *("1e-6", "1", "50", "1e6"),
    *(pytest.param(price, marks=pytest.mark.campaign) for price in ("1e-3", "300", "1000")),
)
STATEMENTS = (
    "SELECT COUNT(*), AVG(weight), STDDEV(weight), SUM(weight) FROM patient",
    "SELECT sex, year, COUNT(*) FROM patient GROUP BY GROUPING SETS ((sex), (year))",
    "SELECT sex, year, COUNT(*), AVG(weight) FROM patient GROUP BY CUBE (sex, year)",
    "SELECT sex, year, SUM(weight) FROM patient GROUP BY ROLLUP (sex, year)",
    "SELECT year, SUM(COUNT(*)) OVER (ORDER BY year) FROM patient GROUP BY year",
    "SELECT year, SUM(SUM(weight)) OVER (ORDER BY year) FROM patient GROUP BY year",
    "SELECT name, COUNT(*) FROM patient GROUP BY name ORDER BY COUNT(*) DESC LIMIT 2",
    "SELECT year, COUNT(*) FROM patient GROUP BY year ORDER BY COUNT(*) DESC LIMIT 2",
    "SELECT sex, MEDIAN(weight), MODE() WITHIN GROUP (ORDER BY year) FROM patient GROUP BY sex",
    "SELECT COUNT(*) FILTER (WHERE weight > 62), COUNT(*) FILTER (WHERE weight > 65), COUNT(*) FROM patient",
    "SELECT CORR(weight, year), COUNT(DISTINCT year), BOOL_OR(weight > 67) FROM patient",
    "SELECT sex FROM patient GROUP BY sex HAVING COUNT(*) > 3",
)


@pytest.fixture(scope="module", params=["pure", "zcdp", "approx"])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("prices")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE patient AS SELECT i AS id, CASE WHEN i % 3 > 0 THEN 'F' ELSE 'M' END AS sex, 'n' || i % 4 AS name,"
            " 60 + i % 9 AS weight, (2000 + i % 40)::INTEGER AS year FROM range(800) t(i)"
        )
    delta, selection = ("0", "") if request.param == "pure" else ("1e-3", ", delta: 1e-6")
    (folder / "policy.yaml").write_text(
        f"""
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {{epsilon: 1000000, delta: {delta}, accounting: {request.param}}}
statement: {{epsilon: 1, max_epsilon: 1000000{selection}}}
tables:
  patient:
    max_rows: 1
    columns: {{id: {{}}, sex: {{values: [F, M]}}, name: {{}}, weight: {{range: [20, 200]}}, year: {{range: [2000, 2040]}}}}
"""
    )
    opened = Proxy.open(folder / "policy.yaml")
    yield opened
    opened.close()


@pytest.mark.parametrize("price", PRICES)
def test_a_statement_is_refused_before_its_charge_or_answered(proxy: Proxy, price: str) -> None:
    session, answered = proxy.session(), 0
    session.execute(f"SET dpsql.epsilon = {price}")
    session.execute("SET dpsql.intervals = on")
    for sql in STATEMENTS:
        before = proxy.ledger.spent()
        try:
            answer = session.execute(sql)
        except Error as refused:
            assert refused.sqlstate not in ("XX000", "58000"), sql
            assert refused.hint, sql
            assert proxy.ledger.spent() == before, sql
            continue
        answered += 1
        assert len(answer.columns) == len(session.describe(sql))
    assert answered or float(price) not in (1.0, 50.0)
