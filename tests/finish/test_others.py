"""The row of the groups that are not shown: what they add up to, how sure that is, what it costs, and how it is known."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pytest

import dpsql
from dpsql.answer import Released
from dpsql.calibrate.calibration import Calibration
from dpsql.errors import DataError
from dpsql.finish.error_bars import pieced
from dpsql.finish.other_notes import left
from dpsql.finish.replicates import replicated
from dpsql.mechanisms import NOISES
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.perturb import perturb
from dpsql.prepare.prepared import Prepared
from dpsql.price.learn_bounds import Settled
from dpsql.proxy import Proxy, Session
from dpsql.releases import Noise
from dpsql.releases.tables import ExactTable, NoisyTable
from dpsql.reply import Answer
from dpsql.reuse.derive import Made
from rewriter.declared.sensitivity import Sensitivity
from rewriter.declared.types import DOUBLE
from rewriter.plan import Block, Linear, Output, Part, Plan, Statistic
from rewriter.split.other_groups import LABEL
from tests.doubles import open_without_noise
from tests.finish.finished import finished
from tests.new_databases import new_database
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:{database}; ledger: sqlite:ledger; privacy_unit: person.id
budget: {epsilon: 100000, delta: {delta}, accounting: {accounting}}
statement: {epsilon: 1, max_epsilon: 10, delta: 1e-9}
tables:
  person: id, town, born, floor, sex [f, m], weight 0..100
  visit(person_id -> person.id, max_rows: 6): shop, day, cost 0..50
""")
SELECTED = {"zcdp": "1e-5", "approx": "1e-5"}
BY_TOWN = "SELECT town, COUNT(*) AS n FROM person GROUP BY town"
Row = tuple[Any, ...]
SHOWN = ("Aa", "Bb", None)
NOTE = "the groups that are not shown are added up in one row, where town is '(other)' and GROUPING(town) is 1"

SCHEMA = """
CREATE TABLE person (id INT PRIMARY KEY, town TEXT, born INT, floor INT NOT NULL, sex ENUM ('f', 'm') NOT NULL, weight INT);
CREATE TABLE visit (person_id INT NOT NULL REFERENCES person(id), shop TEXT NOT NULL, day DATE, cost DECIMAL(6, 2));
"""
ROWS = """
INSERT INTO person SELECT i,
  CASE WHEN i < 900 THEN 'Aa' WHEN i < 1500 THEN 'Bb' WHEN i < 1900 THEN NULL ELSE 'small ' || (i // 3) END,
  CASE WHEN i % 3 = 0 THEN 1970 WHEN i % 3 = 1 THEN NULL ELSE i END, CASE WHEN i % 2 = 0 THEN 1 ELSE 100 + i // 4 END,
  CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END, CASE WHEN i % 50 = 7 THEN NULL ELSE 40 + i % 41 END
FROM range(2200) AS t(i);
INSERT INTO visit SELECT i, CASE WHEN j < 2 THEN 'big' WHEN j = 2 THEN 'corner' ELSE 'shop ' || (i % 300) || j END,
  DATE '2025-01-01' + (j * 7)::INT, (i * 37 + j * 11) % 5000 / 100.0
FROM range(2200) AS t(i), range(5) AS s(j) WHERE (i + j) % 3 > 0
"""


def database(folder: Path, rows: str) -> Path:
    path = folder / "town.duckdb"
    with new_database(path) as connection:
        connection.execute(SCHEMA + rows)
    return path


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """900, 600 and 400 people in three groups, one of them NULL, and 300 in groups of three."""
    return database(tmp_path_factory.mktemp("town"), ROWS)


def written(town: Path, folder: Path, accounting: str = "zcdp") -> Path:
    path = folder / f"{accounting}.yaml"
    path.write_text(POLICY.format(database=town, delta=SELECTED[accounting], accounting=accounting))
    return path


@pytest.fixture(params=SELECTED)
def noisy(town: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Session]:
    proxy = Proxy.open(written(town, tmp_path, request.param))
    yield asking(proxy)
    proxy.close()


@pytest.fixture
def session(town: Path, tmp_path: Path) -> Iterator[Session]:
    proxy = Proxy.open(written(town, tmp_path))
    yield asking(proxy)
    proxy.close()


@pytest.fixture(params=SELECTED)
def exact(town: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Session]:
    proxy = open_without_noise(written(town, tmp_path, request.param))
    yield asking(proxy)
    proxy.close()


def asking(proxy: Proxy) -> Session:
    session = proxy.session()
    session.execute("SET dpsql.other = on")
    return session


def by_key(answer: Answer) -> dict[Any, tuple[Any, ...]]:
    found = {row[0]: row[1:] for row in answer.rows}
    assert len(found) == len(answer.rows)
    return found


def truth(sql: str) -> tuple[Any, ...]:
    with duckdb.connect(":memory:") as connection:
        connection.execute(SCHEMA + ROWS)
        (row,) = connection.execute(sql).fetchall()
    return tuple(row)


# What is in it


def test_without_noise_it_is_what_the_engine_says_of_the_groups_that_are_not_shown(exact: Session) -> None:
    what = (
        "COUNT(*), COUNT(weight), COUNT(DISTINCT id), SUM(weight), COUNT(*) FILTER (WHERE sex = 'f'), "
        "COUNT(*) FILTER (WHERE weight > 60), AVG(weight), STDDEV(weight), BOOL_OR(weight > 60)"
    )
    found = by_key(exact.execute(f"SELECT town, {what} FROM person GROUP BY town"))
    assert found.keys() == {*SHOWN, LABEL}
    expected = truth(f"SELECT {what} FROM person WHERE town NOT IN ('Aa', 'Bb')")
    assert found[LABEL] == pytest.approx(expected)
    assert found[LABEL][:6] == expected[:6]
    assert exact.execute(f"SELECT town, {what} FROM person GROUP BY town").price.rho == 0


def test_of_rows_of_people_in_several_groups_too(exact: Session) -> None:
    """The two measurements are on lattices of different steps."""
    found = by_key(exact.execute("SELECT shop, COUNT(*), SUM(cost), AVG(cost) FROM visit GROUP BY shop"))
    assert found.keys() == {"big", "corner", LABEL}
    what = "SELECT COUNT(*), SUM(cost), AVG(cost) FROM visit WHERE shop NOT IN ('big', 'corner')"
    assert [float(one) for one in found[LABEL]] == pytest.approx([float(one) for one in truth(what)])


def test_all_rows_add_up_to_the_total_that_was_released_with_them(noisy: Session) -> None:
    """Nothing here is near 0, where counts are cut off: 300 people are more than 20 standard deviations. The total has
    an eleventh of the price, and is free for whoever asks for no more."""
    for what, source in (
        ("COUNT(*)", "person GROUP BY town"),
        ("SUM(weight)", "person GROUP BY town"),
        ("COUNT(*)", "visit GROUP BY shop"),
    ):
        rows = noisy.execute(f"SELECT {source.split()[-1]}, {what} FROM {source}").rows
        noisy.execute("SET dpsql.epsilon = 0.09")
        total = noisy.execute(f"SELECT {what} FROM {source.split()[0]}")
        noisy.execute("RESET dpsql.epsilon")
        assert not total.price
        assert tuple(sum(column) for column in list(zip(*rows, strict=True))[1:]) == total.rows[0]


def test_a_total_that_was_released_before_is_made_use_of(noisy: Session) -> None:
    total = noisy.execute("SELECT COUNT(*) FROM person").rows[0][0]
    answer = noisy.execute(BY_TOWN)
    assert sum(row[1] for row in answer.rows) == total
    assert "in part answered from what was released before, at no price" in answer.notices


def test_a_total_in_the_same_statement_is_the_one_that_is_made_use_of(noisy: Session) -> None:
    """It is paid once, and all rows add up to it."""
    for what in ("COUNT(*)", "SUM(weight)"):
        every = noisy.execute(
            f"SELECT town, {what} FROM person GROUP BY town UNION ALL SELECT 'all', {what} FROM person"
        )
        *rows, total = (row[1:] for row in every.rows)
        assert tuple(map(sum, zip(*rows, strict=True))) == total
        assert not any("made to agree" in note for note in every.notices), "it is measured once"


def test_a_total_that_is_derived_is_made_use_of(noisy: Session) -> None:
    by_sex = noisy.execute("SELECT sex, COUNT(*) FROM person GROUP BY sex").rows
    answer = noisy.execute(BY_TOWN)
    assert sum(row[1] for row in answer.rows) == sum(row[1] for row in by_sex)  # type: ignore[misc]
    assert "in part derived from what was released before, at no price" in answer.notices


def test_raw_measurements_have_it_raw(noisy: Session) -> None:
    noisy.execute("SET dpsql.consistent = off")
    rows = noisy.execute(BY_TOWN + " HAVING COUNT(*) < 5000").rows
    noisy.execute("SET dpsql.epsilon = 0.09")
    assert sum(row[1] for row in rows) == noisy.execute("SELECT COUNT(*) FROM person").rows[0][0]


# How sure it is


def asked(session: Session, sql: str) -> tuple[Prepared, tuple[Calibration, ...], list[ExactTable]]:
    """A question, and what is measured for it before noise."""
    prepared = session._proxy.prepare(sql, (), others=True)
    assert isinstance(prepared, Prepared)
    priced = session._proxy.answering.pricing.price(prepared, session.settings)
    return prepared, priced.calibrations, [session._opened.engine.run(one.plan) for one in priced.calibrations]


def answers(session: Session, sql: str, times: int) -> Iterator[tuple[Row, ...]]:
    """One question, measured once and answered over and over with fresh noise."""
    prepared, calibrations, exact = asked(session, sql)
    priced = session._proxy.answering.pricing.price(prepared, session.settings)
    for _ in range(times):
        fresh = {
            one.plan.identity: Made(one.plan, perturb(table, one, ExactSampler()))
            for table, one in zip(exact, calibrations, strict=True)
        }
        yield finished(session, Released(Settled(prepared), priced, priced.loss, fresh)).rows


@pytest.mark.parametrize(("sql", "rest"), [(BY_TOWN, 300), ("SELECT shop, COUNT(*) FROM visit GROUP BY shop", 2933)])
def test_its_interval_holds_what_is_true(noisy: Session, sql: str, rest: int) -> None:
    """95 in 100 of 150 times: fewer than 124 times happens less than once in ten million runs.

    How wide it is says that it is no wider than it must be: the noise of the total and of each group that is shown.
    Several Laplace noises are taken for one, of which 95 % are within 2.12 standard deviations, not 1.96.
    """
    noisy.execute("SET dpsql.intervals = on")
    groups, total = (one.margins["a0"] for one in noisy.explain(sql).releases)
    held, widths = 0, []
    for rows in answers(noisy, sql, 150):
        ((_, value, low, high),) = [row for row in rows if row[0] == LABEL]
        assert low <= value <= high
        held += low <= rest <= high
        widths.append((high - low) / 2 / (total**2 + (len(rows) - 1) * groups**2) ** 0.5)
    assert held >= 124
    assert 0.95 < min(widths) <= max(widths) < 1.1


def test_whatever_noise_a_group_has_too_much_the_row_has_too_little(noisy: Session) -> None:
    """So the sum of all rows is as sure as the total, and intervals of what is computed above know it: they are of
    replicates, and in each of them the rows add up to that replicate's total."""
    prepared, calibrations, exact = asked(noisy, BY_TOWN)
    plans = [one.plan for one in calibrations]
    tables = [perturb(table, one, ExactSampler()) for table, one in zip(exact, calibrations, strict=True)]
    totals = set()
    for one in replicated(tables, plans, 20, np.random.default_rng(5)):
        (released,) = pieced(one, plans, prepared, consistent=True, rows=10_000)[0].values()
        (counts,) = [column.values for column in released.columns if column.name == "a0"]
        totals.add(one[1].statistics["s0"][0])
        assert sum(counts) == one[1].statistics["s0"][0]  # type: ignore[arg-type]
    assert len(totals) > 5
    noisy.execute("SET dpsql.intervals = on")
    ((total, low, high),) = noisy.execute(f"SELECT SUM(n) AS n FROM ({BY_TOWN}) AS t").rows
    assert low < total < high  # type: ignore[operator]


def test_shares_of_the_whole_are_of_the_whole(exact: Session) -> None:
    sql = "SELECT town, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM person GROUP BY town"
    assert float(by_key(exact.execute(sql))["Aa"][0]) == pytest.approx(100 * 900 / 2200)
    exact.execute("SET dpsql.other = off")
    assert float(by_key(exact.execute(sql))["Aa"][0]) == pytest.approx(100 * 900 / 1900)


def test_explain_tells_both_measurements_and_the_error_of_what_is_left(session: Session) -> None:
    told = session.explain(BY_TOWN)
    assert [len(one.plan.keys) for one in told.releases] == [1, 0]
    assert NOTE in told.notices
    groups, total = (one.margins["a0"] for one in told.releases)
    (said,) = [note for note in told.notices if note.startswith("the error of COUNT(*) in the row of the others is ± ")]
    wide = [(total**2 + count * groups**2) ** 0.5 for count in (10, 100)]
    assert [float(word) for word in said.split() if word[0].isdigit()][::2] == pytest.approx(wide, rel=0.1)
    assert told.expected[1] == pytest.approx(groups), "of a column, it is the error of a group"


def measured(random: Random, keys: int, kind: Any, step: Fraction, unit: Fraction) -> tuple[NoisyTable, Plan]:
    """Some groups, and a plan by which thrice the statistic is shown in units."""
    linear = Linear((("s", step * 3),))
    blocks = (Block((Statistic("s", step, 1, ""),), Sensitivity(1, 1)),)
    outputs = (Output("a0", DOUBLE, linear, "", (0,)),)
    plan = Plan(f"{keys}", "duckdb", (), blocks, outputs, None, 1, parts=(Part(linear, unit),))
    integers = tuple(random.randint(-(10**20), 10**20) for _ in range(keys))
    noise = NOISES[kind](Fraction(random.randint(1, 10**6), random.randint(1, 100)))
    return NoisyTable(tuple((key,) for key in range(keys)), {"s": integers}, {"s": noise}), plan


def square(noise: Noise, step: Fraction) -> Fraction:
    return noise.square * step**2


@pytest.mark.parametrize("seed", range(60))
def test_what_is_left_is_the_exact_difference_with_the_noise_of_all(seed: int) -> None:
    """Of what is shown: where a group is rounded, that is taken away, and the interval has room for it."""
    random = Random(seed)
    kinds = random.choice([("gaussian", "gaussian"), ("laplace", "laplace"), ("gaussian", "laplace")])
    rounded = seed % 2 == 1
    unit = Fraction(3) if rounded else Fraction(1, 1 << 40)
    steps = [Fraction(1, random.choice([1, 2, 64, 81])) if rounded else Fraction(random.randint(1, 40), random.randint(1, 40))
             for _ in range(2)]  # fmt: skip
    (shown, plan) = measured(random, random.choice([0, 1, 7]), kinds[0], steps[0], unit)
    (total, whole) = measured(random, 1, kinds[1], steps[1], unit)
    table, finished = left(shown, plan, total, whole)

    def said(one: NoisyTable, step: Fraction) -> Fraction:
        return sum((Fraction(round(n * step)) if rounded else n * step for n in one.statistics["s"]), Fraction(0))

    expected = said(total, steps[1]) - said(shown, steps[0])
    ((statistic,),) = (block.statistics for block in finished.blocks)
    assert table.statistics["s"][0] * statistic.granularity == expected
    (output,) = finished.outputs
    assert isinstance(output.estimator, Linear)
    assert table.statistics["s"][0] * output.estimator.terms[0][1] == 3 * expected
    variance = square(total.noise["s"], steps[1]) + len(shown.keys) * square(shown.noise["s"], steps[0])
    room = Fraction(1 + len(shown.keys), 12) if rounded else 0
    assert (
        variance <= square(table.noise["s"], statistic.granularity) <= (variance + 2 * room) * (1 + Fraction(1, 10**9))
    )
    assert finished.identity not in (whole.identity, plan.identity)


# What it costs, and what may be known of it


def test_one_statement_costs_its_price_and_the_row_alone_a_part_of_it(session: Session) -> None:
    whole = session.execute(BY_TOWN).price.rho
    assert whole == Fraction(1, 2)
    assert not session.execute(BY_TOWN).price
    session.execute("SET dpsql.other = off")
    without = session.execute("SELECT town, SUM(weight) FROM person GROUP BY town")
    session.execute("SET dpsql.other = on")
    more = session.execute("SELECT town, SUM(weight) FROM person GROUP BY town")
    assert more.rows[:-1] == without.rows
    assert 0 < more.price.rho < whole / 5


@pytest.mark.quick
def test_row_price_and_notices_do_not_depend_on_people(town: Path, tmp_path: Path) -> None:
    told = []
    for number, rows in enumerate(("", ROWS)):
        folder = tmp_path / str(number)
        folder.mkdir()
        proxy = Proxy.open(written(database(folder, rows), folder))
        session = asking(proxy)
        session.execute("SET dpsql.intervals = on")
        said = session.explain(BY_TOWN)
        answer = session.execute(BY_TOWN)
        told.append((said.price, said.notices, answer.columns, answer.price, answer.notices))
        assert answer.rows[-1][0] == LABEL
        if not rows:
            assert len(answer.rows) == 1, "there is nobody, and nobody's group"
        proxy.close()
    assert told[0] == told[1]


# How it is known


def test_no_group_that_is_shown_has_its_name(town: Path, tmp_path: Path) -> None:
    renamed = ROWS.replace("'Aa'", f"'{LABEL}'").replace("'Bb'", f"'({LABEL})'")
    proxy = open_without_noise(written(database(tmp_path, renamed), tmp_path))
    found = by_key(asking(proxy).execute("SELECT town, GROUPING(town), COUNT(*) FROM person GROUP BY town"))
    assert found == {LABEL: (0, 900), f"({LABEL})": (0, 600), None: (0, 400), f"(({LABEL}))": (1, 300)}
    proxy.close()


def test_where_null_may_be_a_group_of_numbers_grouping_has_to_tell(exact: Session) -> None:
    plain = exact.execute("SELECT born, COUNT(*) FROM person GROUP BY born")
    assert by_key(plain).keys() == {1970, None}
    assert plain.notices[0] == (
        "there is no row of the groups that are not shown: NULL may be a group of born; select GROUPING(born) too, "
        "which is 1 in that row, or GROUP BY CAST(born AS TEXT)"
    )
    told = exact.execute("SELECT born, GROUPING(born) AS rest, COUNT(*) FROM person GROUP BY born").rows
    assert [row[:2] for row in told] == [(1970, 0), (None, 0), (None, 1)]
    assert told[-1][2] == 2200 - told[0][2] - told[1][2]
    text = by_key(exact.execute("SELECT CAST(born AS TEXT), COUNT(*) FROM person GROUP BY 1"))
    assert text.keys() == {"1970", None, LABEL}


def test_where_null_is_no_group_it_is_that_row(exact: Session) -> None:
    answer = exact.execute("SELECT floor, COUNT(*) FROM person GROUP BY floor")
    assert by_key(answer) == {1: (1100,), None: (1100,)}
    assert "where floor is NULL and GROUPING(floor) is 1" in answer.notices[0]


def test_of_several_keys_those_of_text_are_named(exact: Session) -> None:
    rows = exact.execute("SELECT floor, town, sex, COUNT(*) FROM person GROUP BY 1, 2, 3").rows
    assert rows[-1] == (None, LABEL, LABEL, 1250)
    assert {row[2] for row in rows[:-1]} == {"f"}


# What is above it


@pytest.mark.spread
@pytest.mark.parametrize(
    ("sql", "towns"),
    [
        (f"SELECT * FROM ({BY_TOWN}) AS virtual_table LIMIT 1001", {*SHOWN, LABEL}),
        (f"WITH t AS ({BY_TOWN}) SELECT town, SUM(n) FROM t GROUP BY town", {*SHOWN, LABEL}),
        (f"{BY_TOWN} HAVING COUNT(*) > 350", set(SHOWN)),
        (f"{BY_TOWN} ORDER BY n LIMIT 1", {LABEL}),
        (f"SELECT t.town, n FROM ({BY_TOWN}) AS t WHERE town IS NOT NULL", {"Aa", "Bb", LABEL}),
        ("SELECT town, COUNT(*) FROM person WHERE town IN (SELECT town FROM person GROUP BY town ORDER BY COUNT(*) LIMIT 3)"
         " GROUP BY town", {"Aa", "Bb"}),
        ("SELECT sex, COUNT(*) FROM person GROUP BY sex", {"f", "m"}),
        ("SELECT DISTINCT town FROM person", set(SHOWN)),
        ("SELECT town, MEDIAN(weight) FROM person GROUP BY town", set(SHOWN)),
    ],
)  # fmt: skip
def test_what_stands_above_sees_one_row_more(exact: Session, sql: str, towns: set[str | None]) -> None:
    assert {row[0] for row in exact.execute(sql).rows} == towns


def test_declared_groups_are_all_shown_and_nothing_changes(session: Session) -> None:
    sql = "SELECT sex, GROUPING(sex), COUNT(*) FROM person GROUP BY sex"
    with_row = session.execute(sql)
    session.execute("SET dpsql.other = off")
    again = session.execute(sql)
    assert with_row.rows == again.rows
    assert not again.price
    assert not with_row.notices


def test_what_does_not_add_up_is_null(exact: Session) -> None:
    """People who are in several shops count once, and so do days."""
    what = "COUNT(*), COUNT(DISTINCT person_id), COUNT(DISTINCT day), MEDIAN(cost)"
    exact.execute("SET dpsql.intervals = on")
    answer = exact.execute(f"SELECT shop, {what} FROM visit GROUP BY shop")
    assert (
        "NULL in that row, since it does not add up over groups: COUNT(DISTINCT person_id), COUNT(DISTINCT day), "
        in (answer.notices[1])
    )
    row = by_key(answer)[LABEL]
    assert row[0] == 2933
    assert row[3:] == (None,) * 9
    assert all(one is not None for one in by_key(answer)["big"])


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT DISTINCT town FROM person", "nothing here adds up over groups; ask for COUNT(*) beside it"),
        ("SELECT town, MEDIAN(weight) FROM person GROUP BY town", "nothing here adds up over groups"),
        ("SELECT town, COUNT(*) FROM person GROUP BY ROLLUP (town)", "the totals of grouping sets tell"),
    ],
)
def test_where_there_is_none_a_notice_says_why(session: Session, sql: str, why: str) -> None:
    answer = session.execute(sql)
    assert f"there is no row of the groups that are not shown: {why}" in answer.notices[0]
    session.execute("SET dpsql.other = off")
    again = session.execute(sql)
    assert again.rows == answer.rows
    assert not again.price, "it was measured as ever"


# The setting


def test_the_setting_is_set_shown_and_reset(session: Session) -> None:
    def shown() -> object:
        return session.execute("SHOW dpsql.other").rows[0][0]

    assert shown() == "on"
    assert session.execute("RESET dpsql.other").tag == "RESET"
    assert shown() == "off"
    session.execute("SET dpsql.other TO 'on'")
    session.execute("RESET ALL")
    assert shown() == "off"
    with pytest.raises(DataError, match=r"dpsql\.other is on or off"):
        session.execute("SET dpsql.other = 2")


def test_a_connection_is_given_it(town: Path, tmp_path: Path) -> None:
    with dpsql.connect(written(town, tmp_path), other="on") as connection:
        found = {row[0]: row[1] for row in connection.execute(BY_TOWN).fetchall()}
        assert abs(found[LABEL] - 300) < 200, "one in more than a billion is as far off"
        assert connection.execute("SELECT town, SUM(weight) AS w FROM person GROUP BY town").fetchall()[-1][0] == LABEL
        assert not isinstance(found[LABEL], Decimal)
