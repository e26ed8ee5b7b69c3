"""The profile of a table: who pays for it and when, who knows it then, and that no statement of an analyst buys it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dpsql.accounting.loss import PrivacyLoss
from dpsql.engines.deadlines import Patience
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.errors import BudgetExceeded
from dpsql.interfaces.commands.commands import main
from dpsql.ledger import Receipt
from dpsql.proxy import Proxy
from dpsql.releases.tables import ExactTable
from rewriter.plan import Plan
from tests.doubles import open_without_noise

COUNT = "SELECT COUNT(*) FROM visit"
ROWS = np.maximum(1, np.exp(np.random.default_rng(5).normal(np.log(8), 0.9, 4000))).astype(int)
MOST = 20


def write(folder: Path, accounting: str = "zcdp", budget: str = "10", more: str = "profile: {epsilon: 0.5}") -> Path:
    delta = "" if accounting == "pure" else ", delta: 1e-6"
    path = folder / "policy.yaml"
    path.write_text(
        f"""
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {{epsilon: {budget}{delta}, accounting: {accounting}}}
statement: {{epsilon: 0.25}}
{more}
tables:
  patient: {{columns: {{id: {{}}}}}}
  visit:
    unit: patient_id -> patient.id
    max_rows: {MOST}
    columns: {{patient_id: {{}}, cost: {{range: [0, 10]}}}}
"""
    )
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(f"CREATE TABLE patient AS SELECT range AS id FROM range({len(ROWS)})")
        connection.execute("ALTER TABLE patient ADD PRIMARY KEY (id)")
        connection.execute("CREATE TABLE visit (patient_id BIGINT, cost INTEGER)")
        owners = np.repeat(np.arange(len(ROWS)), ROWS)
        assert len(owners) == ROWS.sum()
        connection.register("owned", pa.table({"id": owners}))
        connection.execute("INSERT INTO visit SELECT id, 5 FROM owned")
    write(tmp_path)
    return tmp_path


@pytest.fixture
def proxy(folder: Path) -> Iterator[Proxy]:
    opened = Proxy.open(folder / "policy.yaml")
    yield opened
    opened.close()


def buy(proxy: Proxy) -> PrivacyLoss:
    return proxy.answering.buy_profiles(Patience.of(60.0), Receipt())


@pytest.mark.parametrize(("accounting", "price"), [("zcdp", Fraction(1, 8)), ("pure", Fraction(1, 2))])
def test_it_is_charged_once_and_before_it_is_read(
    folder: Path, accounting: str, price: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Proxy.open(write(folder, accounting))
    seen: list[int] = []
    run = DuckDBEngine.run

    def spy(self: DuckDBEngine, plan: Plan, *how: Any) -> ExactTable:
        seen.append(len(proxy.ledger.charges()))
        return run(self, plan, *how)

    monkeypatch.setattr(DuckDBEngine, "run", spy)
    loss = buy(proxy)
    assert loss.rho + loss.epsilon == price
    assert proxy.ledger.spent() == loss
    assert seen == [1, 1]
    (charge,) = proxy.ledger.charges()
    assert (charge.statement, charge.tables) == ("profile of visit", ("visit",))
    assert buy(proxy) == PrivacyLoss()
    proxy.close()
    again = Proxy.open(folder / "policy.yaml")
    assert again.answering.profiles.lacking() == []
    assert again.answering.profiles.find("visit") is not None
    again.close()


def test_what_is_bought_is_what_is_there(folder: Path) -> None:
    proxy = open_without_noise(folder / "policy.yaml")
    buy(proxy)
    found = proxy.answering.profiles.find("visit")
    assert found is not None
    ends = [0, *found.ends]
    bins = [int(((low < ROWS) & (high >= ROWS)).sum()) for low, high in itertools.pairwise(ends)]
    assert list(found.people) == [*bins, int((ends[-1] < ROWS).sum())]
    assert found.beyond == int(np.clip(ROWS - MOST, 0, 3 * MOST).sum())
    proxy.close()


def test_a_budget_that_does_not_admit_it_pays_and_reads_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Proxy.open(write(folder, "pure", "0.4"))
    monkeypatch.setattr(DuckDBEngine, "run", lambda *_: pytest.fail("something was read"))
    with pytest.raises(BudgetExceeded):
        buy(proxy)
    assert not proxy.ledger.charges()
    proxy.close()


def test_no_statement_buys_it(proxy: Proxy) -> None:
    proxy.session().execute(COUNT)
    proxy.session().explain(COUNT)
    assert [charge.statement for charge in proxy.ledger.charges()] == [COUNT]
    assert proxy.answering.profiles.find("visit") is None


def test_it_is_bought_again_when_the_data_or_the_bound_change(folder: Path) -> None:
    proxy = Proxy.open(folder / "policy.yaml")
    buy(proxy)
    proxy.close()
    for change in ("data_version: two", "max_rows: 21"):
        text = write(folder).read_text()
        text = text.replace(f"max_rows: {MOST}", change) if "rows" in change else f"{change}\n{text}"
        (folder / "policy.yaml").write_text(text)
        proxy = Proxy.open(folder / "policy.yaml")
        assert proxy.answering.profiles.find("visit") is None
        assert [one.plans.table for one in proxy.answering.profiles.lacking()] == ["visit"]
        proxy.close()


def test_the_command_says_the_price_buys_once_and_shows_error_bars(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(folder / "policy.yaml")
    assert main(["profile", policy, "--price"]) == 0
    first = capsys.readouterr()
    assert "The profile of visit costs" in first.err
    assert "visit: not bought" in first.out
    assert main(["profile", policy]) == 0
    second = capsys.readouterr()
    assert "The profile of visit costs" in second.err
    assert re.search(r"^ *1 to 2 +[\d,]+ ± \d+ *$", second.out, re.MULTILINE)
    assert re.search(r"^ *more than 80 +-?[\d,]+ ± \d+ *$", second.out, re.MULTILINE)
    assert re.search(r"People with more than 20 rows: \d+(?: to \d+)? %", second.out)
    assert main(["profile", policy]) == 0
    third = capsys.readouterr()
    assert third.out == second.out
    assert "costs" not in third.err


def test_a_mean_that_nothing_can_be_told_of_is_a_problem(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = "visit.cost, visit.patient_id, patient.id, visit.nothing"
    assert main(["check", str(write(folder, more=f"profile: {{epsilon: 1, means: [{names}]}}"))]) == 1
    said = capsys.readouterr().out
    assert "visit.cost" not in said
    for text in (
        "visit.patient_id is no number with a range: no mean is told",
        "patient.id is no number with a range: no mean is told",
        "there is no column visit.nothing",
    ):
        assert text in said


def test_a_policy_that_asks_for_none_is_told_how(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(write(folder, more=""))]) == 1
    assert "profile: {epsilon: 0.05}" in capsys.readouterr().err


def test_a_policy_of_rows_is_told_what_can_be_profiled_and_that_line_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bird.csv").write_text("mass (g)\n" + "".join(f"{3000 + 10 * at}\n" for at in range(200)))
    path, profile = tmp_path / "policy.yaml", "profile: {epsilon: 0.05}"
    path.write_text(
        f"database: files\nledger: sqlite:bird.ledger\nprivacy_unit: row\nbudget: {{epsilon: 10, delta: 1e-6}}\n{profile}\n"
        "tables: {bird: {files: bird.csv, columns: {'mass (g)': {type: double, range: [2000, 7000]}}}}\n"
    )
    assert main(["profile", str(path)]) == 1
    said = capsys.readouterr().err
    assert "under privacy_unit: row no rows are cut off" in said
    advised = re.search(r"profile: \{.*\}", said)
    assert advised is not None
    path.write_text(path.read_text().replace(profile, advised[0]))
    assert main(["profile", str(path)]) == 0
    assert "Values of bird.mass (g)" in capsys.readouterr().out


# What analysts are told


def notices(proxy: Proxy, sql: str) -> list[str]:
    answer = proxy.session().execute(sql)
    assert answer.notices == tuple(dict.fromkeys(answer.notices))
    return list(answer.notices)


def test_beside_a_clipped_number_stands_what_is_cut_off(folder: Path) -> None:
    proxy = Proxy.open(write(folder, more="profile: {epsilon: 1}"))
    before = notices(proxy, COUNT)
    assert f"each person counts with at most {MOST} rows (max_rows of visit)" in before
    assert not any("profile" in one for one in before)
    buy(proxy)
    (told,) = [one for one in notices(proxy, COUNT) if "profile" in one]
    found = re.fullmatch(
        r"by the profile of visit, (\d+)(?: to (\d+))? % of the people with rows in visit have more than 20, and at least"
        r" (\d+) % of its rows are beyond that, so that a count of all of them is so much too low",
        told,
    )
    assert found is not None
    people, rows = 100 * (ROWS > MOST).mean(), 100 * np.clip(ROWS - MOST, 0, None).sum() / ROWS.sum()
    assert int(found[1]) - 1 <= people <= int(found[2] or found[1]) + 1
    assert 0.5 * rows < int(found[3]) <= rows
    assert told in proxy.session().explain(COUNT).notices
    joined = "SELECT COUNT(*) FROM patient JOIN visit ON patient_id = id"
    assert told in notices(proxy, joined)
    # Where each person counts once, and where a person has another bound, the bound of visit cuts nothing.
    for uncut in (
        "SELECT COUNT(*) FROM patient",
        "SELECT COUNT(DISTINCT patient_id) FROM visit",
        "SELECT COUNT(*) FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY cost) AS r FROM visit)"
        " AS q WHERE r <= 3",
    ):
        assert not any("profile" in one for one in notices(proxy, uncut)), uncut
    proxy.close()


COUNTS = "(SELECT patient_id, COUNT(*) AS n FROM visit GROUP BY patient_id) AS t"


def test_beside_the_mean_of_clipped_numbers_of_rows_stands_what_is_cut_off(folder: Path) -> None:
    proxy = Proxy.open(write(folder, more="profile: {epsilon: 1}"))
    buy(proxy)
    (told,) = [one for one in notices(proxy, f"SELECT AVG(n), SUM(n) FROM {COUNTS}") if "profile" in one]
    found = re.fullmatch(
        r".* at least (\d+) % of its rows are beyond that, so that the sum and the mean of everybody's numbers of them"
        " are so much too low",
        told,
    )
    assert found is not None
    (((mean,),), true) = proxy.session().execute(f"SELECT AVG(n) FROM {COUNTS}").rows, ROWS[ROWS > 0].mean()
    assert mean < true * (1 - int(found[1]) / 100)
    joined = f"SELECT AVG(n + 1) FROM {COUNTS} JOIN patient ON patient_id = id"
    assert told in notices(proxy, joined)
    # What is counted of people, and sums of values, are not cut by the bound on rows.
    for uncut in (
        f"SELECT COUNT(*) FROM {COUNTS} WHERE n > 3",
        "SELECT AVG(s) FROM (SELECT patient_id, SUM(cost) AS s FROM visit GROUP BY patient_id) AS t",
        "SELECT AVG(n) FROM (SELECT patient_id, COUNT(DISTINCT cost) AS n FROM visit GROUP BY patient_id) AS t",
    ):
        assert not any("profile" in one for one in notices(proxy, uncut)), uncut
    proxy.close()


def test_a_mean_that_is_bent_is_told_to_be_so_by_a_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """People with more than MOST rows have a cost of 9 and all others of 2, so that the mean is too low."""
    many = " ".join(f"WHEN {n} THEN 9" for n in np.flatnonzero(ROWS > MOST))
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(f"UPDATE visit SET cost = CASE patient_id {many} ELSE 2 END")
    policy = write(folder, more="profile: {epsilon: 1, means: [visit.cost]}")
    proxy = Proxy.open(policy)
    assert [one.plans.name for one in proxy.answering.profiles.lacking()] == ["visit", "visit.cost"]
    loss = buy(proxy)
    assert proxy.ledger.spent() == loss
    assert loss.rho == 2 * Fraction(1, 2)
    assert {one.statement for one in proxy.ledger.charges()} == {"profile of visit", "profile of visit.cost"}
    mean = "SELECT AVG(cost) FROM visit"
    (told,) = [one for one in notices(proxy, mean) if "visit.cost" in one]
    found = re.fullmatch(
        r"by the profile of visit\.cost, its mean over all rows is at least ([\d.]+) too low: people with more than 20"
        r" rows have larger values, and count with less",
        told,
    )
    assert found is not None
    weights, costs = np.minimum(ROWS, MOST), np.where(ROWS > MOST, 9, 2)
    true = (ROWS * costs).sum() / ROWS.sum() - (weights * costs).sum() / weights.sum()
    assert 0.3 * true < float(found[1]) <= true
    for other in (COUNT, "SELECT SUM(cost) FROM visit", "SELECT COUNT(DISTINCT patient_id) FROM visit"):
        assert not any("visit.cost" in one for one in notices(proxy, other)), other
    proxy.close()
    assert main(["profile", str(policy)]) == 0
    shown = capsys.readouterr().out
    assert re.search(
        r"Mean cost of a person with at most 20 rows: [\d.]+ to [\d.]+; with more: [\d.]+ to [\d.]+", shown
    )
    assert told in " ".join(shown.split())


def test_another_bound_that_cuts_is_named(folder: Path) -> None:
    path = write(folder)
    path.write_text(path.read_text().replace(f"max_rows: {MOST}", f"max_rows: {MOST}\n    max_rows_per_group: 1"))
    proxy = Proxy.open(path)
    named = "who has more than 1 row in a group may count with less (max_rows_per_group of visit)"
    assert named in notices(proxy, "SELECT cost, COUNT(*) FROM visit GROUP BY cost")
    assert named not in notices(proxy, COUNT)
    proxy.close()
    path.write_text(path.read_text().replace("max_rows_per_group: 1", "max_groups: 2"))
    proxy = Proxy.open(path)
    named = "who is in more than 2 groups may count with less (max_groups of visit)"
    assert named in notices(proxy, "SELECT cost, COUNT(*) FROM visit GROUP BY cost")
    assert named not in notices(proxy, COUNT)
    proxy.close()


def test_the_notice_depends_on_what_was_released_alone(folder: Path) -> None:
    """With the same released numbers, other rows change no word of it."""
    policy = str(folder / "policy.yaml")
    proxy = Proxy.open(policy)
    buy(proxy)
    before = [one for one in notices(proxy, COUNT) if "profile" in one]
    proxy.close()
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute("INSERT INTO visit SELECT 1, 5 FROM range(100000)")
        connection.execute("DELETE FROM visit WHERE patient_id = 3")
    proxy = Proxy.open(policy)
    assert before
    assert [one for one in proxy.session().explain(COUNT).notices if "profile" in one] == before
    proxy.close()


MEANS = "SELECT AVG(cost), STDDEV(cost) FROM visit"


def test_errors_of_means_are_foretold_for_as_many_rows_as_it_tells(proxy: Proxy) -> None:
    """A group of 1,000 rows has a mean ± 0.2 where 20 rows of a person count; some 40,000 rows do."""
    session = proxy.session()
    blind = session.explain(MEANS)
    assert "a group of 1,000 rows" in str(blind)
    buy(proxy)
    told = session.explain(MEANS)
    (release,) = told.releases
    within = int(np.minimum(ROWS, MOST).sum())
    assert release.profiled
    assert within / 1.5 <= release.group <= within * 1.05
    assert f"a group of {release.group:,} rows, its part of the table by the profile" in " ".join(str(told).split())
    assert blind.expected[0] is not None
    assert told.expected[0] is not None
    assert told.expected[0] < blind.expected[0] / 10
    (margins,) = session.execute(MEANS).margins
    assert margins[0] is not None
    assert told.expected[0] / 3 <= margins[0] <= 2 * told.expected[0]


def test_a_wanted_error_of_a_mean_is_priced_by_it(proxy: Proxy) -> None:
    session = proxy.session()
    session.execute("SET dpsql.target_error = 0.05")
    blind = session.explain(MEANS).epsilon
    buy(proxy)
    assert session.explain(MEANS).epsilon < blind / 4


# How values are spread


LONG = np.minimum(np.exp(np.random.default_rng(8).normal(3.0, 1.0, len(ROWS))), 900)


@pytest.fixture
def spread(folder: Path) -> Path:
    """Costs that lie near to the lower end of a wide range: half of them below 20, and 2 of 100 people beyond it."""
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.register("costs", pa.table({"id": np.arange(len(ROWS)), "cost": np.where(LONG > 160, 5000.0, LONG)}))
        connection.execute("ALTER TABLE visit ALTER cost TYPE DOUBLE")
        connection.execute("UPDATE visit SET cost = costs.cost FROM costs WHERE costs.id = patient_id")
    policy = write(folder, more="profile: {epsilon: 1, values: [visit.cost]}")
    policy.write_text(policy.read_text().replace("range: [0, 10]", "range: [0, 1000]"))
    return policy


def test_errors_of_quantiles_and_spreads_are_foretold_as_values_lie(spread: Path) -> None:
    proxy = Proxy.open(spread)
    session = proxy.session()
    asked = "SELECT MEDIAN(cost), STDDEV(cost), MAX(cost) FROM visit"
    blind = session.explain(asked)
    assert "spread evenly over the range" in str(blind)
    buy(proxy)
    told = session.explain(asked)
    assert "whose values lie as their profile tells" in str(told)
    assert "evenly" not in re.sub("(?s)Note:.*", "", str(told))
    (margins,) = session.execute(asked).margins
    for after, found in zip(told.expected, margins, strict=True):
        assert after is not None
        assert found is not None
        assert found <= 5 * after
    # Between two equal values no quantile has an error, and the greatest value is found wherever the noise leads.
    assert margins[1] is not None
    assert told.expected[1] is not None
    assert margins[1] >= told.expected[1] / 5
    before, after = blind.expected[0], told.expected[0]
    assert before is not None
    assert after is not None
    assert before > 4 * after, "half of the values are in a fiftieth of the range"
    proxy.close()


def test_beside_a_number_that_is_clipped_into_a_range_stands_how_much_is_beyond(
    spread: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proxy = Proxy.open(spread)
    assert [one.plans.name for one in proxy.answering.profiles.lacking()] == ["visit", "values of visit.cost"]
    assert buy(proxy).rho == 2 * Fraction(1, 2)
    for clipped in ("SELECT SUM(cost) FROM visit", "SELECT AVG(cost) FROM visit"):
        (told,) = [one for one in notices(proxy, clipped) if "visit.cost" in one]
        found = re.fullmatch(
            r"by the profile of visit\.cost, (?:(\d+) to )?(\d+) % of the values are above 1,000, where all values of a"
            r" person weigh as much as one",
            told,
        )
        assert found is not None, told
        assert int(found[1] or found[2]) - 0.5 <= 100 * (LONG > 160).mean() <= int(found[2]) + 0.5
    assert not any("visit.cost" in one for one in notices(proxy, COUNT))
    proxy.close()
    assert main(["profile", str(spread)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^ *above 1,000 +\d+ ± \d+ *$", shown, re.MULTILINE)
    middle = re.search(r"half below ([\d.]+)", shown)
    assert middle is not None
    assert abs(float(middle[1]) - np.median(LONG)) < 3


def test_a_range_is_suggested_that_holds_all_that_a_profile_sees(spread: Path) -> None:
    """Without a profile half of the range is a try, whatever it cuts off; with one it is told how much that may be."""
    proxy = Proxy.open(spread)
    asked = "SELECT AVG(cost) FROM visit"
    (blind,) = [one.change for one in proxy.session().explain(asked).better if "range" in one.change]
    assert blind == "visit.cost: range: [0, 500], not [0, 1000]"
    buy(proxy)
    (told,) = [one for one in proxy.session().explain(asked).better if "range" in one.change]
    proxy.close()
    found = re.fullmatch(
        r"visit\.cost: range: \[0, (\d+(?:\.\d+)?)\], not \[0, 1000\] \(up to ([\d.]+) % of the values beyond it, by"
        r" the profile\)",
        told.change,
    )
    assert found is not None, told.change
    within = LONG[LONG <= 160]
    assert (within > float(found[1])).mean() <= float(found[2]) / 100 < 0.02
    assert float(found[1]) < 500
    spread.write_text(spread.read_text().replace("range: [0, 1000]", f"range: [0, {found[1]}]"))
    followed = Proxy.open(spread)
    assert followed.session().explain(asked).expected[0] == pytest.approx(told.errors[0], rel=0.02)
    followed.close()


def test_no_range_is_suggested_that_cuts_off_what_a_profile_sees(spread: Path) -> None:
    with duckdb.connect(str(spread.parent / "clinic.duckdb")) as connection:
        connection.execute("UPDATE visit SET cost = patient_id % 1000")
    proxy = Proxy.open(spread)
    buy(proxy)
    assert not any("range" in one.change for one in proxy.session().explain("SELECT AVG(cost) FROM visit").better)
    proxy.close()


PAIRED = np.random.default_rng(11).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 20_000)
BENT = {
    "REGR_SLOPE(y, x)": [("slopes of y", "nearer to"), ("slopes by x", "farther from")],
    "REGR_INTERCEPT(y, x)": [],
    "CORR(y, x)": [("correlations of y", "nearer to"), ("correlations of x", "nearer to")],
    "REGR_R2(y, x)": [("r² of y", "nearer to"), ("r² of x", "nearer to")],
    "COVAR_POP(y, x)": [("covariances of y", "nearer to"), ("covariances of x", "nearer to")],
    "(LINREGR(y, ARRAY[1, x])).coef[2]": [("slopes of y", "nearer to"), ("slopes by x", "farther from")],
    "(LINREGR(y, ARRAY[1, x, z])).coef[2]": [("slopes of y", "nearer to")],
    "(LINREGR(y, ARRAY[1, x])).coef[1]": [],
    "AVG(y)": [],
}
"""What is said to be bent; the shares of what is beyond the ranges are told beside all."""


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """Two columns of normal values, of which y is cut above 1 and x beyond -1 and 1.5; and z, of which nothing is cut."""
    folder = tmp_path_factory.mktemp("paired")
    x, y = PAIRED.T
    with duckdb.connect(str(folder / "paired.duckdb")) as connection:
        connection.register("rows", pa.table({"id": np.arange(len(x)), "x": x, "y": y, "z": x * 0 + y % 1}))
        connection.execute("CREATE TABLE person (id BIGINT PRIMARY KEY, x DOUBLE, y DOUBLE, z DOUBLE)")
        connection.execute("INSERT INTO person SELECT * FROM rows")
    (folder / "policy.yaml").write_text("""
database: duckdb:paired.duckdb
ledger: sqlite:paired.ledger
privacy_unit: person.id
budget: {epsilon: 100, delta: 1e-6}
profile: {epsilon: 1, values: [person.x, person.y]}
tables:
  person: {columns: {id: {}, x: {range: [-1, 1.5]}, y: {range: [-5, 1]}, z: {range: [0, 1]}}}
""")
    proxy = Proxy.open(folder / "policy.yaml")
    buy(proxy)
    yield proxy
    proxy.close()


@pytest.mark.parametrize(("asked", "bent"), BENT.items(), ids=BENT)
def test_beside_a_slope_of_clipped_values_stands_how_far_it_is_bent(
    paired: Proxy, asked: str, bent: list[tuple[str, str]]
) -> None:
    told = notices(paired, f"SELECT {asked} FROM person")
    assert [one for one in told if re.match(r"by the profile of person\.y, \d+.* above 1,", one)]
    assert any(re.match(r"by the profile of person\.x, .* below -1 and .* above 1", one) for one in told) is (
        "x" in asked
    )
    said = [one for one in told if "normally distributed" in one]
    assert len(said) == len(bent)
    for one, (what, way) in zip(said, bent, strict=True):
        assert f"brings {what} " in one
        assert f"{way} 0" in one


def test_how_far_normal_values_are_bent_is_how_far_clipping_bends_them(paired: Proxy) -> None:
    """Within a percent, by which people differ from their law."""
    x, y = PAIRED.T
    cut_x, cut_y = x.clip(-1, 1.5), y.clip(-5, 1)

    def covariance(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.cov(a, b)[0, 1])

    def correlation(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.corrcoef(a, b)[0, 1])

    slope, related = covariance(x, y) / covariance(x, x), correlation(x, y)
    truth = {
        "slopes of y": covariance(x, cut_y) / covariance(x, x) / slope,
        "slopes by x": covariance(cut_x, y) / covariance(cut_x, cut_x) / slope,
        "correlations of x": correlation(cut_x, y) / related,
        "correlations of y": correlation(x, cut_y) / related,
        "r² of x": (correlation(cut_x, y) / related) ** 2,
        "covariances of x": covariance(cut_x, y) / covariance(x, y),
    }
    asked = "SELECT REGR_SLOPE(y, x), CORR(y, x), REGR_R2(y, x), COVAR_POP(y, x) FROM person"
    found = 0
    for one in notices(paired, asked):
        if told := re.search(r"brings (.+?) (?:(\d+) to )?(\d+) % (nearer|farther)", one):
            what, low, high, way = told.groups()
            if what in truth:
                found += 1
                off = 100 * (truth[what] - 1) * (1 if way == "farther" else -1)
                assert int(low or high) - 1 <= off <= int(high) + 1, (one, off)
    assert found == len(truth)


def test_values_of_too_few_people_are_not_told(folder: Path) -> None:
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute("DELETE FROM visit WHERE patient_id > 4")
    proxy = Proxy.open(write(folder, more="profile: {epsilon: 1, values: [visit.cost]}"))
    buy(proxy)
    found = proxy.answering.profiles.find_values("visit", "cost")
    assert found is not None
    assert found.spread is None
    assert found.notice == ""
    assert "spread evenly over the range" in str(proxy.session().explain("SELECT MEDIAN(cost) FROM visit"))
    proxy.close()


def test_values_that_nothing_can_be_told_of_are_a_problem(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = "visit.cost, patient.id, visit.nothing"
    assert main(["check", str(write(folder, more=f"profile: {{epsilon: 1, values: [{names}]}}"))]) == 1
    said = capsys.readouterr().out
    assert "visit.cost" not in said
    assert "patient.id is no number with a range: no spread is told" in said
    assert "there is no column visit.nothing" in said
