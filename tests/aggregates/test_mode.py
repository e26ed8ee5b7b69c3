"""MODE is one of the most common values, by a pick that costs what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from scipy import stats

from dpsql.accounting.loss import PrivacyLoss
from dpsql.errors import Error
from dpsql.mechanisms.quantiles.mode import Commonest
from dpsql.mechanisms.quantiles.one import Exponential
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.proxy import Proxy, Session
from rewriter.declared.sensitivity import Sensitivity
from rewriter.plan import Choice
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.mechanisms.test_top_k import assert_follows, exponential_law, flip_law
from tests.new_databases import new_database
from tests.policies import policy_text

POLICY = policy_text("""
database: {database}; ledger: sqlite:ledger; privacy_unit: person.id
budget: {epsilon: 1000, delta: {delta}, accounting: {accounting}}; statement: {epsilon: 5, max_epsilon: 10}
tables:
  area: public
  person: id, sex [F, M], smoker, shoes 20..60, home <- area.name, born 1900-01-01..2020-12-31
  visit(person_id -> person.id, max_rows: 3): reason [pain, cold, check, null], day 2024-01-01..2024-12-31
""")
TABLES = """
CREATE TABLE area (name TEXT);
INSERT INTO area VALUES ('north'), ('south');
CREATE TABLE person (id INT PRIMARY KEY, sex TEXT NOT NULL, smoker BOOLEAN, shoes INT, home TEXT, born DATE);
INSERT INTO person SELECT p, CASE WHEN p % 3 = 0 THEN 'M' ELSE 'F' END, p % 5 = 0, 36 + p % 7 * (p % 2),
  CASE WHEN p % 4 = 0 THEN 'south' ELSE 'north' END, DATE '1980-01-01' FROM {series} AS t(p);
CREATE TABLE visit (person_id INT NOT NULL REFERENCES person(id), reason TEXT, day DATE);
INSERT INTO visit SELECT p, CASE WHEN p % 2 = 0 THEN 'cold' WHEN p % 9 = 0 THEN 'plague' WHEN p % 5 = 0 THEN 'check' END,
  DATE '2024-02-03' FROM {series} AS t(p);
INSERT INTO visit SELECT 7, 'pain', DATE '2024-02-04' FROM {series} AS t(p);
"""


def proxy_over(folder: Path, accounting: str, database: str = "", *, noise: bool = False) -> Proxy:
    if not database:
        with new_database(folder / "people.duckdb") as connection:
            connection.execute(TABLES.format(series="range(900)"))
        database = "duckdb:people.duckdb"
    delta = "0" if accounting == "pure" else "1e-6"
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(database=database, accounting=accounting, delta=delta))
    return Proxy.open(path) if noise else open_without_noise(path)


@pytest.fixture(params=["zcdp", "pure", "approx"])
def session(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Session]:
    proxy = proxy_over(tmp_path, request.param)
    yield proxy.session()
    proxy.close()


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Session]:
    proxy = proxy_over(tmp_path, "zcdp")
    yield proxy.session()
    proxy.close()


ANSWERS = {
    "SELECT MODE() WITHIN GROUP (ORDER BY sex) FROM person": [("F",)],
    "SELECT MODE(smoker) FROM person": [(False,)],
    "SELECT MODE() WITHIN GROUP (ORDER BY shoes DESC) AS size FROM person": [(36,)],
    "SELECT MODE(reason), COUNT(*) FROM visit WHERE day = '2024-02-03'": [("cold", 900)],
    "SELECT MODE() WITHIN GROUP (ORDER BY day) FROM visit WHERE reason = 'cold'": [(date(2024, 2, 3),)],
    "SELECT sex, MODE(smoker) FILTER (WHERE shoes > 37) FROM person GROUP BY sex ORDER BY sex": [
        ("F", False),
        ("M", False),
    ],
    "SELECT MODE(CASE WHEN shoes > 36 THEN 'large' ELSE 'small' END) FROM person": [("small",)],
    "SELECT sex, MODE(sex) FROM person GROUP BY ROLLUP (sex) ORDER BY 1": [("F", "F"), ("M", "M"), (None, "F")],
    "SELECT MODE(sex), MODE(smoker), MODE(sex) FROM person": [("F", False, "F")],
    "SELECT UPPER(m) || '!' FROM (SELECT MODE(reason) AS m FROM visit WHERE day < '2024-02-04') AS t": [("COLD!",)],
    "SELECT MODE(sex) FROM person WHERE shoes > 55": [(None,)],
}


@pytest.mark.parametrize("sql", ANSWERS)
def test_without_noise_it_is_the_most_common_declared_value(session: Session, sql: str) -> None:
    answer = session.execute(sql)
    assert list(answer.rows) == ANSWERS[sql]
    assert answer.price != PrivacyLoss()
    assert session.execute(sql).price == PrivacyLoss(), "what was picked is not picked again"


def test_one_person_with_many_rows_counts_with_as_many_as_the_bound_allows(plain: Session) -> None:
    """Person 7 has 900 rows of pain: they weigh as three."""
    assert plain.execute("SELECT MODE(reason) FROM visit").rows == (("cold",),)


def test_postgres_answers_the_same(tmp_path: Path) -> None:
    server = shared_server()
    database = server.database(TABLES.format(series="generate_series(0, 899)"))
    proxy = proxy_over(tmp_path, "zcdp", server.url(database))
    for sql, expected in ANSWERS.items():
        assert list(proxy.session().execute(sql).rows) == expected
    proxy.close()


@pytest.mark.quick
@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT MODE(home) FROM person", "GROUP BY x ORDER BY 2 DESC LIMIT 1, with home for x"),
        ("SELECT MODE(born) FROM person", "with born for x"),
        ("SELECT MODE(id) FROM person", "with the column for x"),
        ("SELECT MODE(DISTINCT sex) FROM person", "MODE() WITHIN GROUP"),
    ],
)
def test_without_a_short_list_of_values_it_is_refused_before_anything_is_paid(
    plain: Session, sql: str, hint: str
) -> None:
    before = plain.budget()
    with pytest.raises(Error) as refused:
        plain.execute(sql)
    assert hint in str(refused.value.hint)
    assert plain.budget() == before


def test_the_hint_is_answered(plain: Session) -> None:
    rows = plain.execute("SELECT home, COUNT(*) FROM person GROUP BY home ORDER BY 2 DESC LIMIT 1").rows
    assert rows == (("north", 675),)


def test_explain_says_how_far_off_it_may_be(session: Session) -> None:
    told = " ".join(session.explain("SELECT MODE(sex) FROM person").notices)
    assert "another value may have up to" in told
    assert ("permute-and-flip" in told) is (not told.count("exponential mechanism"))


def choice(candidates: int, sensitivity: int = 1) -> Choice:
    bound = Sensitivity(l1=sensitivity, l2_squared=sensitivity**2)
    values = tuple(range(candidates))
    return Choice("q0", "SELECT …", (), 0, candidates - 1, Fraction(1), bound, 1, 1, "mode", values)


@pytest.mark.parametrize("concentrated", [True, False])
def test_it_is_picked_by_the_law_that_is_paid_for(concentrated: bool) -> None:
    common = Commonest(choice(3, 2), Exponential(Fraction(1, 2), concentrated))
    ranks = [(0, 40, 0, 78), (2, 38, 40, 78)]
    rate = 0.25
    scores = [40, 0, 38, common.nobody]
    law = exponential_law(scores, rate) if concentrated else flip_law([max(scores) - s for s in scores], rate)
    draws = 10_000
    found = Counter[object](common.pick(ranks, ExactSampler()) for _ in range(draws))
    assert_follows(found, dict(zip([0, 1, 2, None], law, strict=True)), draws)


@pytest.mark.parametrize("concentrated", [True, False])
def test_nobody_is_null(concentrated: bool) -> None:
    common = Commonest(choice(5), Exponential(Fraction(1, 10), concentrated))
    missing = sum(common.pick((), ExactSampler()) is None for _ in range(2_000))
    assert stats.binomtest(missing, 2_000, 256 / 257, alternative="less").pvalue > 1e-9
