"""Bounds that the policy leaves open: what is charged when, who knows them then, and how good they are."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pytest

from dpsql.accounting.loss import PrivacyLoss
from dpsql.engines.deadlines import Cancellation, Patience
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.errors import BudgetExceeded, DataError, Error, NotSupportedError, OperationalError
from dpsql.inference.estimates.learned_bounds import clip, clip_of_means
from dpsql.mechanisms import NOISES, Laplace
from dpsql.prepare.prepared import Prepared
from dpsql.proxy import Proxy
from dpsql.releases.tables import ExactTable
from dpsql.reply import Answer, Explanation
from rewriter.plan import Plan
from tests.doubles import open_without_noise
from tests.engines.postgres_server import copy_tables, shared_server
from tests.new_databases import new_database

COUNT = "SELECT COUNT(*) FROM visit"
SUM = "SELECT SUM(cost) FROM visit"
BOTH = "SELECT AVG(weight), SUM(change) FROM patient"


def fill(path: Path, people: int = 2000, most: int = 5) -> None:
    """People with 1 to ``most`` visits, of a cost below 90, and a change between -7 and 23."""
    with new_database(path) as connection:
        connection.execute(
            "CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR, weight DOUBLE, change INTEGER, name VARCHAR)"
        )
        connection.execute(f"INSERT INTO patient SELECT i, 'F', 60 + i % 9, -7 + i % 31, 'n' FROM range({people}) t(i)")
        connection.execute(
            "CREATE TABLE visit (patient_id INTEGER REFERENCES patient (id), day DATE, cost DECIMAL(8,2))"
        )
        connection.execute(
            "INSERT INTO visit SELECT i, DATE '2025-01-01' + j::INT, (7 * i + j) % 90"
            f" FROM range({people}) a(i), range({most}) b(j) WHERE j <= i % {most}"
        )


def write(folder: Path, bounds: str = ", bounds: 0.2", accounting: str = "zcdp", **more: str) -> Path:
    delta = "" if accounting == "pure" else ", delta: 1e-6"
    known = {
        "database": "duckdb:clinic.duckdb",
        "epsilon": "10",
        "statement": "{epsilon: 0.5, max_epsilon: 2" + bounds + "}",
        "end": "",
    } | more
    path = folder / "policy.yaml"
    path.write_text(
        f"""
database: {known["database"]}
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {{epsilon: {known["epsilon"]}{delta}, accounting: {accounting}}}
statement: {known["statement"]}
tables:
  patient:
    columns: {{id: {{}}, sex: {{values: [F, M]}}, weight: {{}}, change: {{}}, name: {{}}}}
  visit:
    unit: patient_id -> patient.id
    columns: {{patient_id: {{}}, day: {{range: [2025-01-01, 2025-12-31]}}, cost: {{}}}}
{known["end"]}
"""
    )
    return path


@pytest.fixture(autouse=True)
def seldom_mistaken(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise alone is taken for people once in 10⁹ histograms, and not in 10⁴: two hundred of them are learned here."""
    if "tmp_path" in request.fixturenames:
        monkeypatch.setattr("dpsql.inference.estimates.learned_bounds.BETA", 1e-9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill(tmp_path / "clinic.duckdb")
    write(tmp_path)
    return tmp_path


@pytest.fixture
def proxy(folder: Path) -> Iterator[Proxy]:
    opened = Proxy.open(folder / "policy.yaml")
    yield opened
    opened.close()


def bound(answer: Answer | Explanation, what: str) -> tuple[float, float]:
    """The bound that the notices tell of: the rows of a table, or the range of a column."""
    for notice in answer.notices:
        if found := re.match(
            rf"each person counts with at most (\d+) rows? of {what}: a bound released at ε = ", notice
        ):
            return 0, float(found[1])
        if found := re.match(
            rf"{what} is taken to be in \[(.*), (.*)\]: a bound released at ε = .*; up to about [0-9,]+ people", notice
        ):
            return float(found[1]), float(found[2])
    raise AssertionError(f"no bound of {what} in {answer.notices}")


def near(found: tuple[float, float], exact: tuple[float, float]) -> bool:
    """Whether each end is what it is without noise, or up to two powers of two further out."""
    return all(one in (end, 2 * end, 4 * end) for one, end in zip(found, exact, strict=True))


def statements(proxy: Proxy) -> list[str]:
    """What was charged for, the oldest first."""
    return [charge.statement for charge in reversed(proxy.ledger.charges())]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Plan], None]], None]:
    """Calls a function before whatever the engine runs."""
    run = DuckDBEngine.run

    def spy_with(before: Callable[[Plan], None]) -> None:
        def spy(self: DuckDBEngine, plan: Plan, *how: Any) -> ExactTable:
            before(plan)
            return run(self, plan, *how)

        monkeypatch.setattr(DuckDBEngine, "run", spy)

    return spy_with


# What is charged


@pytest.mark.parametrize("accounting", ["zcdp", "pure", "approx"])
def test_the_first_statement_pays_a_part_for_the_bound_and_the_rest_for_itself(folder: Path, accounting: str) -> None:
    proxy = Proxy.open(write(folder, accounting=accounting))
    session = proxy.session()
    answer = session.execute(COUNT)
    whole = Fraction(1, 8) if accounting == "zcdp" else Fraction(1, 2)
    paid = [charge.loss.rho + charge.loss.epsilon for charge in reversed(proxy.ledger.charges())]
    assert statements(proxy) == [f"max_rows of visit, for: {COUNT}", COUNT]
    assert paid == [whole / 5, whole * 4 / 5]
    assert answer.price == proxy.ledger.spent()
    assert answer.epsilon == Fraction(1, 2)
    assert answer.notices[0] == "20 % of the price goes to what the policy leaves open: max_rows of visit"
    assert near(bound(answer, "visit"), (0, 8))
    # The noise is as wide as the bound over ε = 0.4, or less: 20 such widths.
    assert abs(answer.rows[0][0] - 6000) < 50 * bound(answer, "visit")[1]  # type: ignore[operator]
    again = session.execute("SELECT sex, COUNT(*) FROM visit JOIN patient ON id = patient_id GROUP BY sex")
    assert bound(again, "visit") == bound(answer, "visit")
    assert again.price.rho + again.price.epsilon == whole
    assert len(proxy.ledger.charges()) == 3
    proxy.close()


def test_all_is_charged_durably_before_anything_is_read(
    folder: Path, proxy: Proxy, engine: Callable[[Callable[[Plan], None]], None]
) -> None:
    seen: list[int] = []
    engine(lambda _: seen.append(len(proxy.ledger.charges())))
    proxy.session().execute(BOTH)
    # Two histograms for each of two columns, and the statement.
    assert seen == [3] * 5


def test_several_bounds_share_the_part(proxy: Proxy) -> None:
    answer = proxy.session().execute(BOTH)
    each = Fraction(1, 8) / 5 / 2
    assert [(charge.loss.rho, charge.statement) for charge in reversed(proxy.ledger.charges())] == [
        (each, f"the range of patient.change, for: {BOTH}"),
        (each, f"the range of patient.weight, for: {BOTH}"),
        (Fraction(1, 10), BOTH),
    ]
    assert near(bound(answer, "weight"), (0, 128))
    assert near(bound(answer, "change"), (-8, 32))


@pytest.mark.parametrize("epsilon", ["0.02", "0.499", "0.5"])
def test_a_bound_is_never_bought_for_a_statement_that_the_budget_refuses(
    folder: Path, epsilon: str, engine: Callable[[Callable[[Plan], None]], None]
) -> None:
    """Enough is left for the bound, and even for the rest alone, but not for both."""
    policy = write(folder, accounting="pure", epsilon="0.5")
    proxy = Proxy.open(policy)
    proxy.ledger.charge("analyst", PrivacyLoss(epsilon=Fraction(epsilon) - Fraction(1, 100)), "before")
    engine(lambda _: pytest.fail("something was read"))
    with pytest.raises(BudgetExceeded):
        proxy.session().execute(COUNT)
    assert statements(proxy) == ["before"]
    proxy.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(LENGTH(name)) FROM patient",
        "SELECT SUM(id) FROM patient",
        "SELECT SUM(cost::text::int) FROM visit",
        "SELECT SUM(cost), STRING_AGG(cost::text, ',') FROM visit",
        "SELECT SUM(cost) + nothing FROM visit",
        "SELECT SUM(cost) FROM visit WHERE day = random()",
        "SELECT COUNT(*) FROM visit a, visit b",
        "SELECT COUNT(*) FROM visit UNION SELECT name FROM patient",
    ],
)
def test_what_is_refused_is_refused_before_a_bound_is_bought(
    proxy: Proxy, sql: str, engine: Callable[[Callable[[Plan], None]], None]
) -> None:
    engine(lambda _: pytest.fail("something was read"))
    for ask in (proxy.session().execute, proxy.session().explain, proxy.session().describe):
        with pytest.raises(Error):
            ask(sql)
    assert statements(proxy) == []


def test_a_price_at_which_the_noise_is_too_wide_buys_nothing(
    folder: Path, engine: Callable[[Callable[[Plan], None]], None]
) -> None:
    proxy = Proxy.open(write(folder, statement="{epsilon: 1e-12, max_epsilon: 2, bounds: 0.2}"))
    engine(lambda _: pytest.fail("something was read"))
    with pytest.raises(DataError):
        proxy.session().execute(SUM)
    assert statements(proxy) == []
    proxy.close()


def test_without_the_owners_word_it_is_refused_with_the_hint(folder: Path) -> None:
    proxy = Proxy.open(write(folder, bounds=""))
    with pytest.raises(NotSupportedError) as raised:
        proxy.session().execute(COUNT)
    assert raised.value.hint == "the owner can declare max_rows for visit in the policy; COUNT(DISTINCT key) may do"
    with pytest.raises(NotSupportedError, match="has no bounds"):
        proxy.session().execute("SELECT AVG(weight) FROM patient")
    assert statements(proxy) == []
    proxy.close()


@pytest.mark.parametrize("part", ["0", "1", "-0.2", "1.5", "often"])
def test_the_part_is_between_0_and_1(folder: Path, part: str) -> None:
    with pytest.raises(OperationalError, match=r"statement\.bounds"):
        Proxy.open(write(folder, bounds=f", bounds: {part}"))


FORMS = {
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) FROM visit GROUP BY day": {"max_rows of visit"},
    "SELECT sex, COUNT(*), SUM(cost) FROM visit JOIN patient ON id = patient_id GROUP BY ROLLUP(1)": {
        "max_rows of visit", "the range of visit.cost"
    },
    "SELECT SUM(CASE WHEN cost > 40 THEN cost END), COUNT(*) FILTER (WHERE cost < 10) FROM visit": {
        "max_rows of visit", "the range of visit.cost"
    },
    "SELECT AVG(CASE WHEN weight > 62 THEN change END) FROM patient": {"the range of patient.change"},
    "SELECT AVG(CASE WHEN weight > 62 THEN 1.5 ELSE change END) FROM patient": {"the range of patient.change"},
    "SELECT COUNT(*) FROM visit UNION ALL SELECT SUM(change) FROM patient": {
        "max_rows of visit", "the range of patient.change"
    },
    "SELECT AVG(n), AVG(t) FROM (SELECT patient_id, COUNT(*) n, SUM(cost) t FROM visit GROUP BY 1) q": {
        "max_rows of visit", "the range of visit.cost"
    },
    "SELECT AVG(m) FROM (SELECT patient_id, MAX(cost) m FROM visit GROUP BY 1) q": {"the range of visit.cost"},
    "SELECT SUM(ABS(weight - 1)) FROM patient WHERE change > 3": {"the range of patient.weight"},
    "SELECT SUM(weight) FROM patient WHERE weight BETWEEN 0 AND 90": set(),
    "SELECT COUNT(*), COUNT(DISTINCT id) FROM patient": set(),
    "SELECT COUNT(*) FROM (SELECT patient_id FROM visit UNION ALL SELECT id FROM patient) q": {"max_rows of visit"},
    "SELECT SUM(x) FROM (SELECT cost AS x FROM visit UNION ALL SELECT weight FROM patient) q": {
        "max_rows of visit", "the range of patient.weight", "the range of visit.cost"
    },
}  # fmt: skip


@pytest.mark.parametrize("sql", FORMS)
def test_a_statement_buys_what_it_lacks_and_no_more(proxy: Proxy, sql: str) -> None:
    session = proxy.session()
    columns, told = session.describe(sql), session.explain(sql)
    answer = session.execute(sql)
    assert answer.columns == columns == told.columns
    assert answer.price == told.price == proxy.ledger.spent()
    assert {statement.partition(", for: ")[0] for statement in statements(proxy)[:-1]} == FORMS[sql]
    again = session.execute(sql)
    assert (again.rows, bool(again.price)) == (answer.rows, False)


# What fails


def test_a_failure_after_the_charge_keeps_the_charge_and_no_bound(
    folder: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = DuckDBEngine.run

    def fail(self: DuckDBEngine, plan: Plan, *how: Any) -> ExactTable:
        raise OperationalError("canceling statement due to user request", sqlstate="57014")

    monkeypatch.setattr(DuckDBEngine, "run", fail)
    with pytest.raises(OperationalError, match="canceling"):
        proxy.session().execute(COUNT)
    assert len(statements(proxy)) == 2
    monkeypatch.setattr(DuckDBEngine, "run", run)
    answer = proxy.session().execute(COUNT)
    assert answer.notices[0].startswith("20 % of the price")
    assert len(statements(proxy)) == 4


def test_half_a_range_is_no_bound(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    run, calls = DuckDBEngine.run, iter(range(100))

    def fail(self: DuckDBEngine, plan: Plan, *how: Any) -> ExactTable:
        if next(calls) == 1:
            raise OperationalError("the database took longer than 1 seconds", sqlstate="57014")
        return run(self, plan, *how)

    monkeypatch.setattr(DuckDBEngine, "run", fail)
    with pytest.raises(OperationalError):
        proxy.session().execute("SELECT SUM(weight) FROM patient")
    assert proxy.session().explain("SELECT SUM(weight) FROM patient").notices[0].startswith("20 %")


def test_who_waits_for_another_purchase_can_be_cancelled(proxy: Proxy) -> None:
    cancellation, prepared = Cancellation(), proxy.prepare(COUNT, ())
    assert isinstance(prepared, Prepared)
    purchase = proxy.answering.bounds.offer(prepared, Fraction(1, 2), PrivacyLoss).purchase
    assert purchase is not None
    bought = [one.plan for one in purchase.all]
    with proxy._opened.claimed(bought, Patience.of(1)), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(proxy.session().execute, COUNT, (), cancellation)
        cancellation.cancel()
        with pytest.raises(OperationalError, match="canceling"):
            waiting.result(60)
    assert statements(proxy) == []


# Who knows it then


def test_a_bound_is_known_to_other_sessions_proxies_and_statements(folder: Path, proxy: Proxy) -> None:
    first = proxy.session().execute(COUNT)
    other = Proxy.open(folder / "policy.yaml")
    for sql in (COUNT, "SELECT COUNT(*) FROM visit WHERE day < '2025-01-03'", "SELECT patient.sex, COUNT(*) FROM visit"
                " JOIN patient ON id = patient_id GROUP BY 1"):  # fmt: skip
        for session in (proxy.session(), other.session()):
            assert bound(session.execute(sql), "visit") == bound(first, "visit")
    assert sum("max_rows" in statement for statement in statements(other)) == 1
    other.close()


def test_the_same_statement_is_answered_again_for_nothing(proxy: Proxy) -> None:
    session = proxy.session()
    first = session.execute(SUM)
    second = session.execute(SUM)
    assert second.rows == first.rows
    assert not second.price
    session.execute("SET dpsql.reuse = off")
    others = [session.execute(SUM) for _ in range(3)]
    assert [other.price.rho for other in others] == [Fraction(1, 8)] * 3
    # One sum of cents, with a deviation of 2,000, is the first by chance once in 10⁵ times; never all three.
    assert {other.rows for other in others} != {first.rows}
    assert sum("for: " in statement for statement in statements(proxy)) == 2  # max_rows and a range, once


def test_statements_at_once_buy_a_bound_once(proxy: Proxy) -> None:
    texts = [f"SELECT COUNT(*) FROM visit WHERE day > '2025-01-0{n}'" for n in range(1, 7)]
    start = threading.Barrier(len(texts))

    def ask(sql: str) -> Answer:
        start.wait()
        return proxy.session().execute(sql)

    with ThreadPoolExecutor(len(texts)) as pool:
        answers = list(pool.map(ask, texts))
    assert len({bound(answer, "visit") for answer in answers}) == 1
    assert sum("max_rows" in statement for statement in statements(proxy)) == 1


def test_another_data_version_or_a_lost_store_is_paid_for_again(folder: Path) -> None:
    for number, policy in enumerate(("", "data_version: '2'", "data_version: '2'", "lost")):
        if policy == "lost":
            for file in folder.glob("clinic.ledger-releases*"):
                file.unlink()
        else:
            write(folder, end=policy)
        proxy = Proxy.open(folder / "policy.yaml")
        proxy.session().execute(COUNT)
        assert sum("max_rows" in statement for statement in statements(proxy)) == (1, 2, 2, 3)[number]
        proxy.close()


def test_a_bound_bought_at_a_tiny_price_spoils_nothing(proxy: Proxy) -> None:
    session = proxy.session()
    session.execute("SET dpsql.epsilon = 0.001")
    session.execute(COUNT)
    session.execute("RESET dpsql.epsilon")
    good = bound(session.execute(COUNT), "visit")
    assert near(good, (0, 8))
    session.execute("SET dpsql.epsilon = 1")
    session.execute(COUNT)
    session.execute("SET dpsql.epsilon = 0.001")
    assert bound(session.execute("SELECT COUNT(cost) FROM visit"), "visit") == good
    assert sum("max_rows" in statement for statement in statements(proxy)) == 2


def test_what_is_declared_is_not_learned(folder: Path) -> None:
    policy = write(folder)
    policy.write_text(policy.read_text().replace("columns: {patient_id", "max_rows: 3\n    columns: {patient_id"))
    proxy = Proxy.open(policy)
    answer = proxy.session().execute(SUM)
    assert [statement for statement in statements(proxy) if "for: " in statement] == [
        f"the range of visit.cost, for: {SUM}"
    ]
    assert "each person counts with at most 3 rows (max_rows of visit)" in answer.notices
    proxy.close()


# Reading nothing


@pytest.mark.quick
@pytest.mark.parametrize(
    "sql", [COUNT, SUM, BOTH, "SELECT AVG(n) FROM (SELECT COUNT(*) n FROM visit GROUP BY patient_id) q"]
)
def test_explain_and_describe_are_free_before_and_after(
    proxy: Proxy, sql: str, engine: Callable[[Callable[[Plan], None]], None]
) -> None:
    runs: list[Plan] = []
    engine(runs.append)
    session = proxy.session()
    told, columns = session.explain(sql), session.describe(sql)
    assert session.execute(f"EXPLAIN {sql}").rows
    assert (runs, statements(proxy)) == ([], [])
    assert told.notices[0].startswith("20 % of the price goes to what the policy leaves open: ")
    assert "its error" in told.notices[1]
    answer = session.execute(sql)
    assert told.price == answer.price == proxy.ledger.spent()
    assert told.epsilon == answer.epsilon
    assert columns == answer.columns == told.columns
    assert [release.plan for release in told.releases] == runs[: len(told.releases)]
    read = len(runs)
    told = session.explain(sql)
    assert not told.price, "it would be answered from what was released"
    assert told.releases[-1].margins
    assert told.releases[-1].plan == runs[-1]
    assert len(runs) == read


# Whatever the data


@pytest.mark.parametrize("sql", [COUNT, SUM, BOTH])
def test_price_columns_and_wording_do_not_depend_on_the_data(tmp_path: Path, sql: str) -> None:
    """Neighbours, and data that has nothing in common with them."""

    def told(name: str, people: int, most: int) -> tuple[object, ...]:
        folder = tmp_path / name
        folder.mkdir()
        fill(folder / "clinic.duckdb", people, most)
        proxy = Proxy.open(write(folder))
        session = proxy.session()
        before = session.explain(sql)
        answer = session.execute(sql)
        words = [re.sub(r"-?\d+(\.\d+)?( rows?)?", "N", notice) for notice in answer.notices]
        charges = [(charge.loss, charge.statement) for charge in proxy.ledger.charges()]
        proxy.close()
        plans = [release.plan for release in before.releases]
        return before.notices, plans, answer.price, answer.columns, words, charges

    known = told("many", 2000, 5)
    for name, people, most in (("one less", 1999, 5), ("nobody", 0, 1), ("heavy", 300, 70)):
        assert told(name, people, most) == known, name


@pytest.mark.parametrize("accounting", ["zcdp", "pure", "approx"])
def test_nobody_gives_a_small_bound(tmp_path: Path, accounting: str) -> None:
    fill(tmp_path / "clinic.duckdb", people=0)
    proxy = open_without_noise(write(tmp_path, accounting=accounting))
    answer = proxy.session().execute(SUM)
    assert bound(answer, "visit") == (0, 1)
    assert bound(answer, "cost") == (0, 1)
    proxy.close()


def test_the_greatest_values_are_not_what_is_learned(tmp_path: Path) -> None:
    """One person with 60 visits of 500,000 changes neither bound, without any noise."""
    fill(tmp_path / "clinic.duckdb")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("INSERT INTO visit SELECT 7, DATE '2025-05-05', 500000 FROM range(60)")
        connection.execute("UPDATE patient SET weight = 1e30 WHERE id = 9")
    write(tmp_path)
    proxy = open_without_noise(tmp_path / "policy.yaml")
    answer = proxy.session().execute("SELECT SUM(cost), COUNT(*) FROM visit")
    assert (bound(answer, "visit"), bound(answer, "cost")) == ((0, 8), (0, 128))
    assert bound(proxy.session().execute(BOTH), "weight") == (0, 128)
    proxy.close()


# How good it is

DISTRIBUTIONS: dict[str, Callable[[Random], float]] = {
    "always 1": lambda _: 1,
    "1 to 10": lambda random: random.randint(1, 10),
    "few": lambda random: 1 + min(int(random.expovariate(0.2)), 60),
    "one in fifty has 300": lambda random: 300 if random.random() < 0.02 else random.randint(1, 3),
    "log-normal": lambda random: random.lognormvariate(6, 0.7),
}


@pytest.mark.spread
@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_a_bound_is_within_a_factor_4_of_the_best(name: str, kind: str) -> None:
    """At ε = 1 and a part of 0.2, for 5,000 people: as a number, and in the error of a total that is clipped into it."""
    best, chosen, error = choices(DISTRIBUTIONS[name], kind)
    assert sum(best / 4 <= one <= 4 * best for one in chosen) >= 190, (best, sorted(set(chosen)))
    assert sum(error(one) <= 2.9 * error(best) for one in chosen) >= 190


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_a_heavy_tail_costs_a_total_at_most_five_times_the_best_error(kind: str) -> None:
    """The best bound follows from a handful of people, whom nothing private can see."""
    best, chosen, error = choices(lambda random: min(int(random.paretovariate(2)), 50_000), kind)
    assert sum(error(one) <= 5 * error(best) for one in chosen) >= 180


def choices(size: Callable[[Random], float], kind: str) -> tuple[float, list[float], Callable[[float], float]]:
    """The best bound, those chosen 200 times, and the error of a total by its bound."""
    random = Random(11)
    exponents = range(21)
    sizes = [size(random) for _ in range(5000)]
    counts = [sum((2.0 ** (e - 1) if e else 0) < one <= 2.0**e for one in sizes) for e in exponents]
    # Of a price of ε = 1: ρ = 1/2 · 0.2, or ε = 0.2.
    scale = 5**0.5 if kind == "gaussian" else 5.0
    relative = 1.0 if kind == "gaussian" else 2**0.5
    noise = NOISES[kind](Fraction(scale))

    def error(bound: float) -> float:
        lost = sum(one - bound for one in sizes if one > bound)
        return float((lost**2 + (relative * bound) ** 2) ** 0.5)

    best = min((2.0 ** (place / 4) for place in range(81)), key=error)

    def draw() -> int:
        if kind == "gaussian":
            return round(random.gauss(0, scale))
        return round(random.expovariate(1 / scale) - random.expovariate(1 / scale))

    found = [clip([count + draw() for count in counts], exponents, noise, relative) for _ in range(200)]
    assert None not in found
    return best, [2.0 ** (exponent or 0) for exponent in found], error


@pytest.mark.parametrize("people", [500, 3000, 20_000])
def test_a_mean_has_a_bound_of_its_own_of_the_same_histogram(people: int) -> None:
    """Rows of a heavy tail; people with more rows have larger values. The error that the bound makes is near the best."""
    generator = np.random.default_rng(people)
    rows = np.maximum(1, generator.lognormal(math.log(8), 1.0, people).round())
    values = np.clip(generator.normal(0.5, 0.15, people) + 0.04 * np.log(rows / 8), 0, 1)
    exponents, relative = range(16), 1.0
    counts = [int(np.sum((rows > 2.0 ** (e - 1)) & (rows <= 2.0**e))) for e in exponents]

    def error(exponent: int) -> float:
        kept = np.minimum(rows, 2.0**exponent)
        bias = np.sum(kept * values) / np.sum(kept) - np.sum(rows * values) / np.sum(rows)
        return math.hypot(2 * float(bias), relative * 2.0**exponent / float(np.sum(kept)))

    noise = Laplace(Fraction(5))
    mean, total = clip_of_means(counts, exponents, noise, relative), clip(counts, exponents, noise, relative)
    assert mean is not None is not total
    best = min(map(error, exponents))
    assert error(mean) < 2.5 * best
    assert mean < total


def test_statements_of_means_alone_buy_no_histogram_of_their_own(tmp_path: Path) -> None:
    """A few people have forty rows and the others one: some of these are cut off from a mean, and not from a
    count. Whatever else a statement asks for has the bound of totals."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR, weight DOUBLE, change INTEGER, name VARCHAR)"
        )
        connection.execute("INSERT INTO patient SELECT i, 'F', 60, 1, 'n' FROM range(20000) t(i)")
        connection.execute("CREATE TABLE visit (patient_id INTEGER, day DATE, cost DECIMAL(8,2))")
        connection.execute(
            "INSERT INTO visit SELECT i, DATE '2025-01-01', i % 90 FROM range(20000) a(i), range(40) b(j)"
            " WHERE j = 0 OR i < 250"
        )
    at = "{epsilon: 0.1, max_epsilon: 2, bounds: 0.6}"
    declared = write(tmp_path, statement=at).read_text().replace("cost: {}", "cost: {range: [0, 90]}")
    (tmp_path / "policy.yaml").write_text(declared)
    with closing(Proxy.open(tmp_path / "policy.yaml")) as proxy:
        session = proxy.session()
        bounds = {}
        for sql in (COUNT, "SELECT AVG(cost) FROM visit", "SELECT AVG(cost), COUNT(*) FROM visit"):
            notices = " ".join(session.execute(sql).notices)
            found = re.search(r"each person counts with at most (\d+) rows? of visit", notices)
            assert found is not None
            bounds[sql] = int(found[1])
        count, mean, both = bounds.values()
        assert count == both > mean
        assert len(proxy.ledger.charges()) == 4, "one of them is the histogram's"


def test_noise_alone_is_taken_for_people_once_in_ten_thousand() -> None:
    random = Random(5)
    noise = Laplace(Fraction(10))
    seen = sum(
        clip([round(random.expovariate(0.1) - random.expovariate(0.1)) for _ in range(21)], range(21), noise, 1.0)
        is not None
        for _ in range(20_000)
    )
    assert seen <= 10


# On PostgreSQL


def test_bounds_are_learned_on_postgres_too(tmp_path: Path) -> None:
    fill(tmp_path / "clinic.duckdb")
    server = shared_server()
    name = server.database(
        "CREATE TABLE patient (id INTEGER PRIMARY KEY, sex TEXT, weight DOUBLE PRECISION, change INTEGER, name TEXT);"
        "CREATE TABLE visit (patient_id INTEGER REFERENCES patient (id), day DATE, cost NUMERIC(8,2))"
    )
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as source, server.owner(name) as target:
        copy_tables(source, target, ("patient", "visit"))
    proxy = Proxy.open(write(tmp_path, database=server.url(name)))
    session = proxy.session()
    answer = session.execute(SUM)
    assert near(bound(answer, "visit"), (0, 8))
    assert near(bound(answer, "cost"), (0, 128))
    answer = session.execute(BOTH)
    assert near(bound(answer, "weight"), (0, 128))
    assert near(bound(answer, "change"), (-8, 32))
    assert abs(float(answer.rows[0][0]) - 64) < 1  # type: ignore[arg-type]
    proxy.close()


def test_a_long_case_is_explained_shortly(proxy: Proxy) -> None:
    lines = [str(row[0]) for row in proxy.session().execute(f"EXPLAIN {BOTH}").rows]
    assert len(lines) < 400
    assert any("WHEN …" in line for line in lines)


@pytest.mark.parametrize("accounting", ["zcdp", "pure", "approx"])
def test_all_charges_together_are_the_price_exactly(folder: Path, accounting: str) -> None:
    """Also where a third of a part has no last digit: a budget of one statement pays for one statement."""
    proxy = Proxy.open(write(folder, accounting=accounting, **({} if accounting == "zcdp" else {"epsilon": "0.5"})))
    sql = "SELECT SUM(weight), SUM(change), COUNT(cost) FROM patient JOIN visit ON id = patient_id"
    answer = proxy.session().execute(sql)
    assert len(proxy.ledger.charges()) == 4
    spent = proxy.ledger.spent()
    assert spent == answer.price
    assert spent.epsilon + spent.rho == (Fraction(1, 8) if accounting == "zcdp" else Fraction(1, 2))
    assert answer.epsilon == Fraction(1, 2)
    proxy.close()


def test_rows_as_units_have_ranges_to_learn(tmp_path: Path) -> None:
    fill(tmp_path / "clinic.duckdb")
    policy = write(tmp_path)
    text = re.sub(r"privacy_unit: .*", "privacy_unit: row", policy.read_text()).replace(
        "    unit: patient_id -> patient.id\n", ""
    )
    policy.write_text(text)
    proxy = Proxy.open(policy)
    answer = proxy.session().execute("SELECT SUM(cost), COUNT(*) FROM visit")
    assert near(bound(answer, "cost"), (0, 128))
    assert statements(proxy)[0].startswith("the range of visit.cost, for: ")
    proxy.close()


def test_an_error_is_not_aimed_at_before_the_bounds_are_known(proxy: Proxy) -> None:
    session = proxy.session()
    session.execute("SET dpsql.target_error = '5%'")
    for ask in (session.execute, session.explain):
        with pytest.raises(DataError) as raised:
            ask(COUNT)
        assert "dpsql.target_error = off" in str(raised.value.hint)
    assert statements(proxy) == []
    session.execute("SET dpsql.target_error = off")
    session.execute(COUNT)
    session.execute("SET dpsql.target_error = '100'")
    told, answer = session.explain(COUNT), session.execute(COUNT)
    assert told.price == answer.price
    assert answer.margins[0][0] is not None
    assert answer.margins[0][0] <= 100
    assert sum("max_rows" in statement for statement in statements(proxy)) == 1


def test_intervals_are_columns_from_the_first_statement_on(proxy: Proxy) -> None:
    session = proxy.session()
    session.execute("SET dpsql.intervals = on")
    columns, told, answer = session.describe(BOTH), session.explain(BOTH), session.execute(BOTH)
    assert columns == told.columns == answer.columns
    assert len(columns) == len(told.expected) == 6
