"""The most that one person's values of a column add up to: what the noise of sums follows from, and is not beaten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest

from dpsql.opened import Opened, open_policy
from dpsql.proxy import Proxy, Session
from dpsql.testing import measure, measured
from rewriter.declared.contribution import Norm
from tests.doubles import open_without_noise
from tests.measure.test_vector import COLUMNS

POLICY = """
database: duckdb:people.duckdb
ledger: sqlite:{how}.ledger
privacy_unit: person.id
budget: {{epsilon: 1000000, delta: {delta}, accounting: {how}}}
statement: {{epsilon: 1, max_epsilon: 1000}}
tables:
  person:
    columns: {{id: {{}}}}
  visit:
    unit: person_id -> person.id
    max_rows: 24
    columns:
      person_id: {{}}
      k: {{values: [a, b, c]}}
      x: {{range: [0, 400], max_total: {total}}}
      y: {{range: [-10, 30], max_total: 60}}
"""
PEOPLE = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of ten visits each, but for one person who has thousands of the largest values."""
    found, random = tmp_path_factory.mktemp("people"), Random(2)
    rows = [
        (person, random.choice("abc"), random.uniform(80, 120), None if place == 3 else random.uniform(-12, 32))
        for person in range(PEOPLE)
        for place in range(10)
    ]
    rows += [(PEOPLE, "abc"[place % 2], 400.0, 30.0) for place in range(3000)]
    rows += [(PEOPLE + 1, "a", 400.0, 30.0) for _ in range(20)]
    with duckdb.connect(str(found / "people.duckdb")) as connection:
        connection.execute(f"CREATE TABLE person (id INTEGER PRIMARY KEY); CREATE TABLE visit {COLUMNS}")
        columns = [pa.array(column) for column in zip(*rows, strict=True)]
        connection.register("rows", pa.table(dict(zip(("person_id", "k", "x", "y"), columns, strict=True))))
        connection.execute("INSERT INTO person SELECT DISTINCT person_id FROM rows")
        connection.execute("INSERT INTO visit SELECT * FROM rows")
    for how, delta in (("zcdp", "1e-6"), ("pure", "0")):
        (found / f"{how}.yaml").write_text(POLICY.format(how=how, delta=delta, total=1200))
        (found / f"wide_{how}.yaml").write_text(POLICY.format(how=how, delta=delta, total=100_000))
    return found


@pytest.fixture(scope="module")
def opened(folder: Path) -> Iterator[Opened]:
    with closing(open_policy(folder / "zcdp.yaml")) as found:
        yield found


@pytest.fixture(params=["zcdp", "pure"])
def session(request: pytest.FixtureRequest, folder: Path) -> Iterator[Session]:
    proxy = Proxy.open(folder / f"{request.param}.yaml")
    yield proxy.session()
    proxy.close()


FOLLOWS = [
    ("SUM(x)", 1200),
    ("SUM(2 * x)", 2400),
    ("SUM(-x)", 1200),
    ("SUM(x / 4)", 300),
    ("SUM(CASE WHEN k = 'a' THEN x ELSE 0 END)", 1200),
    ("SUM(x) FILTER (WHERE k <> 'a')", 1200),
    ("SUM(COALESCE(x, 0))", 1200),
    ("SUM(x - y)", 1260),
]


@pytest.mark.parametrize(("asked", "most"), FOLLOWS)
@pytest.mark.parametrize("norm", list(Norm))
def test_a_sum_moves_by_no_more_than_the_total_and_no_more_is_claimed(
    asked: str, most: int, norm: Norm, opened: Opened
) -> None:
    for sql in (f"SELECT {asked} FROM visit", f"SELECT k, {asked} FROM visit GROUP BY k"):
        with_all, without = (
            measured(sql.replace("visit", f"(SELECT * FROM visit WHERE {test}) AS v"), opened, norm=norm)[0]
            for test in (f"person_id <= {PEOPLE}", f"person_id < {PEOPLE}")
        )  # fmt: skip
        ((name,),) = [names for names, _ in with_all.blocks]
        step, ((_, claimed),) = with_all.granularity[name], with_all.blocks
        moves = [abs(cells[name] - without.groups[key][name]) for key, cells in with_all.groups.items()]
        assert sum(move * move for move in moves) <= claimed.l2_squared
        assert claimed.l1 is None or sum(moves) <= claimed.l1
        reach = Fraction(claimed.l2_squared) * step * step
        assert Fraction(98, 100) * most * most <= reach <= most * most
        used = sum(moves) ** 2 if norm is Norm.L1 else sum(move * move for move in moves)
        assert used >= Fraction(9, 10) * claimed.l2_squared, "who has more is scaled to it"


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("asked", ["SUM(x), COUNT(*)", "COUNT(*), AVG(x), SUM(x)", "SUM(y), COUNT(y), STDDEV(x)"])
def test_a_person_far_beyond_the_total_moves_no_vector_further(asked: str, norm: Norm, opened: Opened) -> None:
    """Of one person's rows alone: few enough for max_rows, or many more."""
    for rows in (f"person_id = {PEOPLE}", f"person_id = {PEOPLE + 1}"):
        for keys in ("", "k, "):
            group = " GROUP BY k" if keys else ""
            sql = f"SELECT {keys}{asked} FROM visit WHERE {rows}{group}"
            (found,) = measured(sql, opened, norm=norm)
            for names, most in found.blocks:
                moves = [cells[name] for cells in found.groups.values() for name in names]
                assert sum(move * move for move in moves) <= most.l2_squared
                assert most.l1 is None or sum(map(abs, moves)) <= most.l1


@pytest.mark.parametrize("asked", ["SUM(x + 1)", "SUM(x * x)", "SUM(POWER(x, 2))", "SUM(GREATEST(x, 5))"])
def test_where_nothing_follows_the_number_of_rows_bounds_the_sum(asked: str, folder: Path) -> None:
    one, wide = (measure(f"SELECT {asked} FROM visit", folder / f"{name}zcdp.yaml")[0] for name in ("", "wide_"))
    assert one.blocks == wide.blocks


def test_a_total_that_cannot_be_reached_changes_nothing(folder: Path) -> None:
    (wide,) = measure("SELECT SUM(x) FROM visit", folder / "wide_zcdp.yaml")
    assert wide.bounds["s0"] * wide.granularity["s0"] == 24 * 400


def test_the_noise_of_a_sum_is_that_of_its_total_and_said_so(session: Session) -> None:
    told = session.explain("SELECT SUM(x) FROM visit")
    assert any("adds up to at most 1200" in notice for notice in told.notices)
    (alone,) = told.expected
    assert alone is not None
    assert alone < 1200 * 3.1
    beside = session.explain("SELECT SUM(x), COUNT(*), AVG(x) FROM visit").expected[0]
    assert beside is not None
    assert beside < 3 * alone, "the pair of the mean has the noise of 24 rows"


@pytest.mark.quick
@pytest.mark.parametrize("how", ["zcdp", "pure"])
def test_quotients_keep_their_value_where_totals_clip(how: str, folder: Path) -> None:
    proxy = open_without_noise(folder / f"{how}.yaml")
    ((total, count, mean),) = proxy.session().execute(
        f"SELECT SUM(x), COUNT(*), AVG(x) FROM visit WHERE person_id < {PEOPLE} AND k = 'a'"
    ).rows  # fmt: skip
    proxy.close()
    assert abs(float(total) / float(count) - float(mean)) < 1  # type: ignore[arg-type]
