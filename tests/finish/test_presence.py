"""Groups that nobody is in do not act as rows, and groups of people do: against plain SQL, and against the law."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import numpy as np
import pytest

from dpsql.errors import DataError, Error
from dpsql.finish.present_groups import threshold
from dpsql.finish.replicates import drawn
from dpsql.inference.shown_groups import SURE
from dpsql.mechanisms import NOISES
from dpsql.proxy import Proxy, Session
from rewriter.plan import Linear
from tests.doubles import open_without_noise
from tests.new_databases import insert
from tests.policies import policy_text

SCHEMA = """
CREATE TABLE item (id INTEGER PRIMARY KEY, kind TEXT NOT NULL);
INSERT INTO item SELECT i, 'k' || (i % 4) FROM range(40) AS t(i);
CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT, born INTEGER NOT NULL, zip TEXT, joined DATE NOT NULL);
CREATE TABLE sale (person_id INTEGER NOT NULL REFERENCES person (id), item INTEGER, price INTEGER NOT NULL);
"""
POLICY = policy_text("""
database: duckdb:shop.duckdb; ledger: sqlite:shop.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1e-6, accounting: zcdp}; statement: {epsilon: 1, max_epsilon: 10}
tables:
  item: public
  person: id, sex [F, M, X], born 1930..2015, zip [a, b, c, d, e, f, g], joined 1990-01-01..2020-12-31
  sale(person_id -> person.id, max_rows: 4): item <- item.id, price 0..9
""")


def build(folder: Path, seed: int) -> Path:
    """Few people in few of the declared groups, and some in groups that are not declared."""
    random = Random(seed)
    connection = duckdb.connect(str(folder / "shop.duckdb"))
    connection.execute(SCHEMA)
    people, sales = list[tuple[object, ...]](), list[tuple[object, ...]]()
    for number in range(120):
        sex = random.choice(["F", "F", "M", "Q", None])
        born, zip_ = 1950 + random.randrange(29), random.choice(["d", "f", "f", "g", "z", None])
        joined = f"{random.randrange(2001, 2013)}-0{random.randrange(1, 9)}-11"
        people.append((number, sex, born, zip_, joined))
        for _ in range(random.randrange(5)):
            sales.append((number, random.choice([1, 1, 2, 5, 9, 77, None]), random.randrange(10)))
    insert(connection, "person", people)
    insert(connection, "sale", sales)
    connection.close()
    shutil.copy(folder / "shop.duckdb", folder / "plain.duckdb")
    (folder / "shop.yaml").write_text(POLICY)
    return folder / "shop.yaml"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("shop"), 1)


@pytest.fixture(scope="module")
def silent(policy: Path) -> Iterator[Proxy]:
    with closing(open_without_noise(policy)) as proxy:
        yield proxy


@pytest.fixture
def plain(silent: Proxy) -> Session:
    session = silent.session()
    session.execute("SET dpsql.reuse = off")
    return session


def truth(policy: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(policy.parent / "plain.duckdb")) as connection:
        connection.execute("SET integer_division = true")
        return connection.execute(sql).fetchall()


SOLD = "(SELECT item, COUNT(*) AS n FROM sale GROUP BY item) AS x"
DECLARED = "item IN (SELECT id FROM item)"
SAME = [
    "SELECT AVG(n), MIN(n), COUNT(*), SUM(n) FROM (SELECT born, COUNT(*) AS n FROM person GROUP BY born) AS t",
    "SELECT born, COUNT(*) FROM person GROUP BY born",
    "SELECT born, AVG(born) FROM person GROUP BY born ORDER BY born LIMIT 3",
    "SELECT EXTRACT(YEAR FROM joined) - born AS age, COUNT(*) FROM person GROUP BY 1",
    "SELECT zip, COUNT(*) FROM person WHERE zip < 'h' GROUP BY zip ORDER BY zip LIMIT 2",
    "SELECT zip, COUNT(*) FROM person WHERE zip < 'h' GROUP BY zip ORDER BY COUNT(*), zip LIMIT 2",
    "SELECT zip, COUNT(*) FROM person WHERE zip < 'h' GROUP BY zip ORDER BY COUNT(*) DESC, zip LIMIT 5",
    "SELECT a.born, n, m FROM (SELECT born, COUNT(*) AS n FROM person WHERE zip = 'd' GROUP BY born) AS a"
    " JOIN (SELECT born, COUNT(*) AS m FROM person WHERE zip = 'g' GROUP BY born) AS b ON a.born = b.born",
    "SELECT a.born, n, m FROM (SELECT born, COUNT(*) AS n FROM person GROUP BY born) AS a"
    " LEFT JOIN (SELECT born, COUNT(*) AS m FROM person WHERE zip = 'g' GROUP BY born) AS b ON a.born = b.born",
    "SELECT a.zip, n, m FROM (SELECT zip, COUNT(*) AS n FROM person GROUP BY zip) AS a"
    " JOIN (SELECT zip, COUNT(*) AS m FROM person WHERE zip < 'e' GROUP BY zip) AS b ON a.zip = b.zip",
    "SELECT born FROM person WHERE zip = 'd' GROUP BY born EXCEPT SELECT born FROM person WHERE zip = 'g' GROUP BY born",
    "SELECT DISTINCT born / 10 FROM (SELECT born, COUNT(*) AS n FROM person GROUP BY born) AS t",
    "SELECT born / 10 AS decade, SUM(n) FROM (SELECT born, zip, COUNT(*) AS n FROM person WHERE zip < 'h' GROUP BY 1, 2)"
    " AS t GROUP BY 1",
    "SELECT born, RANK() OVER (ORDER BY COUNT(*)) FROM person GROUP BY born",
    "SELECT born, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () FROM person GROUP BY born ORDER BY born LIMIT 3",
    "SELECT born, LAG(born) OVER (ORDER BY born) FROM person GROUP BY born",
    "SELECT COUNT(*) FROM (SELECT DISTINCT sex, born, zip FROM person) AS t",
    "SELECT COUNT(*), COUNT(zip) FROM (SELECT sex, zip FROM person WHERE born < 1960 GROUP BY sex, zip) AS t",
    "WITH d AS (SELECT DISTINCT born, zip FROM person) SELECT COUNT(*) FROM d WHERE born > 1955",
    "SELECT born / 10, COUNT(*) FROM (SELECT DISTINCT born, sex FROM person) AS t GROUP BY 1",
    "SELECT COUNT(*) FROM (SELECT born, SUM(born) AS s FROM person GROUP BY born) AS t",
    "SELECT COUNT(*) FROM (SELECT DISTINCT id FROM person) AS t",
    "SELECT MAX(n), AVG(n) FROM (SELECT item, price, COUNT(*) AS n FROM sale WHERE item < 40 GROUP BY 1, 2) AS t",
    "SELECT DISTINCT born FROM person",
    f"SELECT COUNT(*) FROM (SELECT item FROM sale WHERE {DECLARED} GROUP BY item HAVING COUNT(*) > 20) AS t",
    "SELECT item, COUNT(*), SUM(price), AVG(price) FROM sale WHERE item IN (SELECT item FROM sale WHERE item < 40"
    " GROUP BY item ORDER BY COUNT(*) DESC LIMIT 2) GROUP BY ROLLUP (item)",
    "SELECT COUNT(*), SUM(price) FILTER (WHERE price > 3) FROM sale WHERE item IN (SELECT item FROM sale WHERE item < 40"
    " GROUP BY item ORDER BY COUNT(*) DESC LIMIT 2)",
    "SELECT price, COUNT(*) FROM sale WHERE item IN (SELECT item FROM sale WHERE item < 40 GROUP BY item"
    " ORDER BY COUNT(*) DESC LIMIT 2) AND price < 4 GROUP BY price",
    f"SELECT i.id, x.n FROM item AS i LEFT JOIN {SOLD} ON x.item = i.id WHERE x.n IS NULL OR x.n > 3",
    f"SELECT i.id, i.kind FROM {SOLD} RIGHT JOIN item AS i ON x.item = i.id WHERE NOT x.item IS NOT NULL",
    f"SELECT i.id, CASE WHEN n IS NULL THEN 'none' ELSE 'some' END FROM item AS i LEFT JOIN {SOLD} ON x.item = i.id",
    "SELECT price, s.item, COUNT(*) FROM sale AS s JOIN (SELECT item AS i FROM sale WHERE item < 40 GROUP BY item"
    " ORDER BY COUNT(*) DESC LIMIT 2) AS t ON s.item = t.i GROUP BY CUBE (price, s.item)",
]


def alike(rows: list[tuple[object, ...]]) -> list[tuple[str, ...]]:
    return sorted(
        tuple("NULL" if v is None else f"{float(v):.6g}" if not isinstance(v, str) else v for v in row) for row in rows
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("sql", SAME)
def test_without_noise_groups_are_those_that_sql_has(policy: Path, plain: Session, sql: str) -> None:
    assert alike(list(plain.execute(sql).rows)) == alike(truth(policy, sql))


def test_listed_values_are_shown_at_the_outermost_level_empty_or_not(plain: Session) -> None:
    assert [
        row[0] for row in plain.execute("SELECT zip, COUNT(*) FROM person GROUP BY zip ORDER BY 1").rows[:7]
    ] == list("abcdefg")
    assert "X" in dict(plain.execute("SELECT sex, AVG(born) FROM person GROUP BY sex").rows)
    plain.execute("SET dpsql.empty_groups = hide")
    assert "X" not in dict(plain.execute("SELECT sex, AVG(born) FROM person GROUP BY sex").rows)
    plain.execute("SET dpsql.empty_groups = show")
    assert len(plain.execute("SELECT born, COUNT(*) FROM person GROUP BY born").rows) == 86
    assert plain.execute("SHOW dpsql.empty_groups").rows == (("show",),)
    with pytest.raises(DataError):
        plain.execute("SET dpsql.empty_groups = perhaps")


def test_null_is_a_declared_group_of_a_key_that_may_be_null(plain: Session) -> None:
    sql = "SELECT zip, GROUPING(zip), COUNT(*) FROM person WHERE {} GROUP BY ROLLUP (zip)"
    everybody = plain.execute(sql.format("born < 2015")).rows
    nobody = plain.execute(sql.format("born > 2010")).rows
    assert [row[1:] for row in nobody if row[0] is None] == [(1, 0)], "no owner listed it, and nobody has it"
    assert sorted(row[1] for row in everybody if row[0] is None) == [0, 1]  # type: ignore[type-var]


def test_a_number_of_rows_that_nobody_asked_for_is_told(plain: Session) -> None:
    answer = plain.execute("SELECT born, COUNT(DISTINCT zip) FROM person GROUP BY born")
    assert any("the number of rows of each group is measured too" in note and "%" in note for note in answer.notices)
    assert any("are left out where noisy sums show nobody" in note for note in answer.notices)
    assert plain.explain("SELECT born, COUNT(DISTINCT zip) FROM person GROUP BY born").notices == answer.notices
    listed = plain.execute("SELECT born, COUNT(*) FROM person GROUP BY born")
    assert not any("measured too" in note for note in listed.notices)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT born, COUNT(DISTINCT zip) AS n FROM person GROUP BY born",
        "SELECT item, MEDIAN(price) AS n FROM sale GROUP BY item",
    ],
)
def test_a_reader_pays_a_tenth_to_know_which_groups_to_leave_out(plain: Session, sql: str) -> None:
    """What was asked for takes the rest, as if nothing else were measured; a SELECT above that lists groups, which is
    wrong of those that are not clear, takes as much for them as for each number."""
    plan = plain.explain(sql).releases[0].plan
    weights = [block.weight for block in plan.blocks]
    assert min(weights) * 10 == sum(weights) + sum(choice.size for choice in plan.choices)
    assert any("to know which groups there are: 10 % of the price" in note for note in plain.explain(sql).notices)
    above = plain.explain(f"SELECT * FROM ({sql}) AS q ORDER BY n DESC LIMIT 3").releases[0].plan
    assert {block.weight for block in above.blocks if len(block.statistics) == 1} == {Fraction(1)}


def test_sums_over_groups_have_all_groups(plain: Session) -> None:
    """What is too small to be shown is missing in no sum."""
    groups = "SELECT born, COUNT(*) AS n FROM person GROUP BY born"
    for sums in (f"({groups}) AS t", f"({groups} HAVING COUNT(*) > 1) AS t", f"({groups}) AS t WHERE n > 2"):
        explained = plain.explain(f"SELECT SUM(n) FROM {sums}")
        assert not any("empty" in notice for notice in explained.notices)
        assert "dpsql_present" not in explained.outer_sql
    running = plain.explain("SELECT born, SUM(COUNT(*)) OVER (ORDER BY born) FROM person GROUP BY born")
    # Ends are left out after the sums.
    assert running.outer_sql.endswith("QUALIFY dpsql_release_0.dpsql_shown_0")
    # That is ours to say: PostgreSQL has no such word.
    for asked in ("ROW_NUMBER() OVER (ORDER BY n DESC) < 3", "n > 5", "dpsql_shown_0"):
        with pytest.raises(Error, match=r"QUALIFY is not answered here|no column of that name|there is no column"):
            plain.explain(f"SELECT n FROM (SELECT born, COUNT(*) AS n FROM person GROUP BY born) AS t QUALIFY {asked}")


@pytest.mark.spread
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7), Fraction(300)])
@pytest.mark.parametrize("cells", [1, 40, 1000])
def test_in_99_of_100_answers_no_empty_group_is_taken_for_one_that_is_there(
    kind: str, scale: Fraction, cells: int
) -> None:
    """The threshold is exceeded in at most 1 of 100 answers, and not much less often."""
    noise = {"s": NOISES[kind](scale)}  # type: ignore[arg-type]
    least = threshold(Linear((("s", Fraction(1)),), integer=True, minimum=0), noise, cells)
    rng, answers = np.random.default_rng(7), 4000
    most = np.max(drawn(noise["s"], answers * cells, rng).reshape(answers, cells), axis=1)
    wrong = float((most > least).mean())
    deviation = (SURE * (1 - SURE) / answers) ** 0.5
    assert wrong <= SURE + 4 * deviation
    if scale > 100:
        assert wrong >= SURE - 4 * deviation


def test_empty_groups_that_are_to_be_hidden_are_shown_once_in_a_hundred_times(policy: Path) -> None:
    proxy = Proxy.open(policy)
    try:
        session = proxy.session()
        session.execute("SET dpsql.empty_groups = hide")
        session.execute("SET dpsql.reuse = off")
        sql = "SELECT born, COUNT(*) FROM person WHERE born > 1990 GROUP BY born"
        shown = sum(bool(session.execute(sql).rows) for _ in range(150))
    finally:
        proxy.close()
    assert shown <= 8, "1.5 are to be expected"


@pytest.mark.quick
def test_the_same_statement_asked_again_has_the_same_groups(policy: Path) -> None:
    proxy = Proxy.open(policy)
    try:
        session = proxy.session()
        session.execute("SET dpsql.intervals = on")
        sql = (
            "SELECT AVG(n) AS mean, COUNT(*) AS groups FROM (SELECT born, COUNT(*) AS n FROM person GROUP BY born) AS t"
        )
        first, again = session.execute(sql), session.execute(sql)
        assert first.rows == again.rows
        assert not again.price
        mean, low, high, *_ = first.rows[0]
        assert low is None or low <= mean <= high  # type: ignore[operator]
    finally:
        proxy.close()


SHARES = [
    "SELECT COUNT(*) FILTER (WHERE born < 1976) * 1.0 / COUNT(*) AS s FROM person WHERE id < 8",
    "SELECT COUNT(*) FILTER (WHERE born < 1976) * 1.0 / NULLIF(COUNT(*), 0) AS s FROM person WHERE zip = 'f' GROUP BY sex",
    "SELECT ROUND(COUNT(zip) * 1.0 / COUNT(*), 3) AS s FROM person GROUP BY sex",
    "SELECT COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS s FROM person WHERE id < 40 GROUP BY sex",
    "SELECT ROUND(100.0 * COUNT(*) / NULLIF(SUM(COUNT(*)) OVER (PARTITION BY sex), 0), 1) / 100 AS s FROM person GROUP BY sex, zip",
    "WITH g AS (SELECT sex, COUNT(*) AS n FROM person WHERE id < 40 GROUP BY sex) SELECT n * 1.0 / (SELECT SUM(n) FROM g) AS s FROM g",
]


@pytest.mark.parametrize("sql", SHARES)
def test_a_share_and_its_interval_do_not_exceed_one(policy: Path, sql: str) -> None:
    proxy = Proxy.open(policy)
    try:
        session = proxy.session()
        session.execute("SET dpsql.intervals = on")
        session.execute("SET dpsql.reuse = off")
        session.execute("SET dpsql.epsilon = 0.3")
        for _ in range(6):
            for row in session.execute(sql).rows:
                assert all(value is None or 0 <= float(str(value)) <= 1 for value in row)
    finally:
        proxy.close()


def test_what_cannot_be_negative_has_no_interval_below_0(policy: Path) -> None:
    proxy = Proxy.open(policy)
    try:
        session = proxy.session()
        session.execute("SET dpsql.intervals = on")
        row = session.execute("SELECT EXP(COUNT(*) / 50.0), SQRT(COUNT(*)) FROM person WHERE id < 3").rows[0]
    finally:
        proxy.close()
    assert all(value is None or float(str(value)) >= 0 for value in row)
