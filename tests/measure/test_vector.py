"""What is measured of the same rows is one vector: people who have too much count with less, and quotients stay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import product
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest

from dpsql.opened import Opened, open_policy
from dpsql.proxy import Proxy
from dpsql.testing import measure, measured
from rewriter.declared.contribution import Norm
from tests.doubles import open_without_noise
from tests.engines.postgres_server import copy_tables, shared_server
from tests.policies import policy_text

Row = tuple[int, str, float, float | None]
COLUMNS = "(person_id INTEGER NOT NULL REFERENCES person (id), k TEXT NOT NULL, x DOUBLE PRECISION NOT NULL, y DOUBLE PRECISION)"  # fmt: skip
POLICY = policy_text("""
database: {database}; ledger: sqlite:{how}.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: {delta}, accounting: {how}}; statement: {epsilon: 1, max_epsilon: 1000}
tables:
  person: id
  visit(person_id -> person.id, max_rows: 3): k [a, b, c], x 0..400, y -10..30
""")
WHOLE = "CASE WHEN k = 'a' THEN 1 WHEN k = 'b' THEN 7 ELSE 4 END"
MANY = f"AVG({WHOLE}), AVG({WHOLE} * {WHOLE}), AVG(20 - {WHOLE}), COUNT(*)"
"""Means of whole numbers, none of which is missing."""

QUOTIENTS = [
    "AVG(x)",
    "AVG(x), STDDEV(x), CORR(x, y), COUNT(*)",
    "SUM(x) / COUNT(*), COUNT(*) FILTER (WHERE k = 'a') * 1e6 / COUNT(*)",
    "SUM(y) / COUNT(y), AVG(y), COUNT(y) * 1e6 / COUNT(*)",
    "SUM(CASE WHEN k = 'a' THEN x ELSE 0 END) / SUM(x), AVG(x) FILTER (WHERE k = 'a') - AVG(x)",
    "COUNT(*) FILTER (WHERE k = 'a') * 1e6 / COUNT(*) FILTER (WHERE k <> 'c'), VARIANCE(y), SUM(x) / SUM(y)",
    MANY.removesuffix(", COUNT(*)"),
    f"SUM(x) / COUNT(*), SUM(y) / SUM(x), AVG({WHOLE}) + SUM({WHOLE}) * 1.0 / COUNT(*)",
    "SUM(x) / COUNT(*), SUM(y) / SUM(x), COUNT(DISTINCT person_id)",
]


def people(random: Random, persons: int = 40) -> list[Row]:
    """Of 8 to 40 rows each, and the more they have, the larger they are."""
    rows = []
    for person in range(persons):
        count = random.randint(8, 40)
        for _ in range(count):
            y = None if random.random() < 0.2 else random.uniform(-12, 32)
            rows.append((person, random.choice("aab" + "c" * (person % 3)), random.gauss(2 * count, 9 + person), y))
    return rows


def write(folder: Path, rows: Sequence[Row], how: str = "zcdp", times: int = 1) -> Path:
    """A policy over a DuckDB that has the rows so many times."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
        connection.execute(f"CREATE TABLE visit {COLUMNS}")
        columns = [pa.array(column) for column in zip(*rows, strict=True)]
        connection.register("rows", pa.table(dict(zip(("person_id", "k", "x", "y"), columns, strict=True))))
        connection.execute("INSERT INTO person SELECT DISTINCT person_id FROM rows")
        connection.execute(f"INSERT INTO visit SELECT r.* FROM rows AS r, range({times})")
    return policy(folder, "duckdb:people.duckdb", how)


def policy(folder: Path, database: str, how: str) -> Path:
    path = folder / f"{how}.yaml"
    path.write_text(POLICY.format(database=database, how=how, delta="0" if how == "pure" else "1e-6"))
    return path


@contextmanager
def exact(path: Path) -> Iterator[Proxy]:
    proxy = open_without_noise(path)
    try:
        yield proxy
    finally:
        proxy.close()


def on_postgres(folder: Path, how: str) -> Path:
    """The same tables on PostgreSQL."""
    server = shared_server()
    name = server.database(f"CREATE TABLE person (id INTEGER PRIMARY KEY); CREATE TABLE visit {COLUMNS}")
    with duckdb.connect(str(folder / "people.duckdb")) as source, server.owner(name) as target:
        copy_tables(source, target, ("person", "visit"))
    return policy(folder, server.url(name), how)


def near(one: object, other: object, tolerance: float) -> bool:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return one == other
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


@pytest.mark.parametrize(
    ("how", "engine"),
    [
        ("zcdp", "duckdb"),
        ("pure", "postgres"),
        pytest.param("zcdp", "postgres", marks=pytest.mark.campaign),
        pytest.param("pure", "duckdb", marks=pytest.mark.campaign),
    ],
)
def test_rows_beyond_the_bound_move_no_quotient(how: str, engine: str, tmp_path: Path) -> None:
    """Everybody is beyond the bound: whatever is estimated stays where all rows are there thirty times."""
    rows, found = people(Random(8)), []
    for times in (1, 30):
        folder = tmp_path / str(times)
        path = write(folder, rows, how, times)
        with exact(path if engine == "duckdb" else on_postgres(folder, how)) as proxy:
            session = proxy.session()
            found.append(
                [
                    row
                    for asked in QUOTIENTS
                    for sql in (f"SELECT {asked} FROM visit", f"SELECT k, {asked} FROM visit GROUP BY k ORDER BY k")
                    for row in session.execute(sql).rows
                ]
            )
    first, *others = found
    for other in others:
        for one, again in zip(first, other, strict=True):
            assert all(near(a, b, 2e-4) for a, b in zip(one, again, strict=True)), (one, again)


@pytest.mark.parametrize("how", ["zcdp", "pure"])
def test_people_with_as_many_rows_have_the_engines_quotients(how: str, tmp_path: Path) -> None:
    random = Random(3)
    rows: list[Row] = [
        (person, "aab"[place % 3], min(max(random.gauss(100, 6), 0), 400), random.uniform(-10, 30))
        for person in range(300)
        for place in range(10)
    ]
    path = write(tmp_path, rows, how)
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        theirs = [connection.execute(f"SELECT {asked} FROM visit").fetchone() for asked in QUOTIENTS[:-1]]
    with exact(path) as proxy:
        for asked, expected in zip(QUOTIENTS, theirs, strict=False):
            (mine,) = proxy.session().execute(f"SELECT {asked} FROM visit").rows
            mine, expected = mine[:3], (expected or ())[:3]
            assert all(near(a, b, 2e-3) for a, b in zip(mine, expected, strict=True)), (asked, mine, expected)


@pytest.mark.quick
def test_scaled_people_are_not_lost_in_truncation(tmp_path: Path) -> None:
    """Ten million people who are scaled take less than a tenth of what one person may add."""
    random = Random(4)
    rows: list[Row] = [
        (person, random.choice("abc"), random.uniform(0, 400), random.uniform(-10, 30))
        for person in range(200)
        for _ in range(7)
    ]
    path = write(tmp_path, rows)
    for norm in Norm:
        (found,) = measure("SELECT k, COUNT(*), SUM(x) FROM visit GROUP BY k", path, norm=norm)
        assert {one.text for one in found.plan.statistics} == set(SUMMANDS)
        for one in found.plan.statistics:
            for key, ideal in unclipped(rows, norm, SUMMANDS[one.text]).items():
                lost = ideal - float(found.granularity[one.name] * found.groups[(key,)][one.name])
                assert abs(lost) / 200 * 10**7 < 0.1 * float(one.bound * one.granularity), (lost, key)


SUMMANDS: dict[str, Callable[[float], float]] = {
    "Σ(x - 0)": lambda x: x,
    "Σ(400 - x)": lambda x: 400 - x,
}
"""What a row adds to the two cells that a sum and a count are read off."""


def unclipped(rows: Sequence[Row], norm: Norm, summand: Callable[[float], float]) -> dict[str, float]:
    """What the groups have where everybody is scaled to three rows, in real numbers."""
    steps = 2.0**-12
    counts: dict[int, dict[str, int]] = {}
    for person, k, *_ in rows:
        own = counts.setdefault(person, {})
        own[k] = own.get(k, 0) + 1
    sizes = {
        person: sum(own.values()) if norm is Norm.L1 else math.sqrt(sum(count * count for count in own.values()))
        for person, own in counts.items()
    }
    factors = {person: min(1.0, 3 / size) for person, size in sizes.items()}
    found: dict[str, float] = {}
    for person, k, x, _ in rows:
        found[k] = found.get(k, 0.0) + factors[person] * summand(round(x / steps) * steps)
    return found


@pytest.fixture(scope="module")
def far_beyond(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[Opened]]:
    """Policies over the rows of one person, each of which is there a thousand times."""
    folder = tmp_path_factory.mktemp("far_beyond")
    rows: list[Row] = [(0, "abc"[n % 3], 400.0 * (n % 2), 40.0 * (n % 2) - 10) for n in range(12)]
    written = (
        write(folder / "values", rows, times=1000),
        write(folder / "without", [(*row[:3], None) for row in rows], times=1000),
        write(folder / "ends", [(*row[:2], 400.0, 30.0) for row in rows], times=1000),
    )
    with ExitStack() as held:
        yield [held.enter_context(closing(open_policy(path))) for path in written]


@pytest.mark.parametrize(
    "asked",
    [
        "AVG(x), COUNT(*)",
        "AVG(y), COUNT(*)",
        "STDDEV(y), COUNT(*)",
        "CORR(x, y), SUM(y), COUNT(*)",
        "AVG(x), AVG(y), SUM(y), SUM(x + y), COUNT(*)",
        "AVG(y), AVG(20 - y), AVG(x), COUNT(*)",
        "AVG(y), AVG(20 - y), COUNT(y), COUNT(*)",
        MANY,
    ],
)
def test_a_person_far_beyond_every_bound_moves_no_vector_further(asked: str, far_beyond: Sequence[Opened]) -> None:
    """Cells are cut far above the radius, each for itself: what is shortened by the number of rows is cut less."""
    for sql, norm in product((f"SELECT {asked} FROM visit", f"SELECT k, {asked} FROM visit GROUP BY k"), Norm):
        for opened in far_beyond:
            (found,) = measured(sql, opened, norm=norm)
            for names, most in found.blocks:
                moves = [cells[name] for cells in found.groups.values() for name in names]
                assert sum(move * move for move in moves) <= most.l2_squared
                assert most.l1 is None or sum(map(abs, moves)) <= most.l1


MIXTURES = [
    "STDDEV(y), COUNT(*), COUNT(y)",
    "AVG(y), COUNT(*), COUNT(y), SUM(y)",
    "SUM(y), COUNT(*)",
    "SUM(y), COUNT(*), COUNT(y)",
    "CORR(x, y), COUNT(*), REGR_COUNT(x, y)",
    "COVAR_POP(x, y), COUNT(*)",
    "AVG(y) FILTER (WHERE k = 'a'), COUNT(*) FILTER (WHERE k = 'a'), COUNT(*)",
    "AVG(x), AVG(y), COUNT(*), COUNT(y)",
    "AVG(y), AVG(20 - y), SUM(y), COUNT(*), COUNT(y)",
    "AVG(20 - y), AVG(y), AVG(x), AVG(400 - x), AVG(x / 2)",
    "AVG(y), AVG(x), SUM(x / 2), COUNT(*)",
    "AVG(x), AVG(x / 2), SUM(y), COUNT(*)",
    "AVG(y) FILTER (WHERE k = 'a'), AVG(x) FILTER (WHERE k = 'a'), SUM(x / 2) FILTER (WHERE k = 'a'), COUNT(*)",
    "SUM(x), SUM(y), COUNT(*)",
    "AVG(y), COUNT(*)",
    MANY,
    f"SUM(x), SUM(y), AVG({WHOLE}), COUNT(*)",
    "SUM(y) FILTER (WHERE k = 'a'), COUNT(y) FILTER (WHERE k = 'a'), COUNT(y)",
    "AVG(x) FILTER (WHERE k = 'a'), AVG(x) FILTER (WHERE k = 'b'), COUNT(*) FILTER (WHERE k = 'a'), COUNT(*)",
    "COUNT(DISTINCT person_id), COUNT(*), SUM(x), VARIANCE(y) FILTER (WHERE k = 'c'), COUNT(*) FILTER (WHERE k = 'c')",
]


@pytest.mark.parametrize("how", ["zcdp", "pure"])
def test_what_is_read_off_one_vector_is_what_the_engine_answers(how: str, tmp_path: Path) -> None:
    """Nobody is beyond a bound, and many values are NULL."""
    counted: dict[int, int] = {}
    rows = []
    for row in people(Random(3)):
        counted[row[0]] = counted.get(row[0], 0) + 1
        if counted[row[0]] <= 3:
            rows.append(row)
    path = write(tmp_path, rows, how)
    clipped = "CASE WHEN {0} < {1} THEN {1} WHEN {0} > {2} THEN {2} ELSE {0} END AS {0}"
    source = f"SELECT person_id, k, {clipped.format('x', 0, 400)}, {clipped.format('y', -10, 30)} FROM visit"
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        theirs = [connection.execute(f"SELECT {asked} FROM ({source}) AS v").fetchone() for asked in MIXTURES]
    with exact(path) as proxy:
        for asked, expected in zip(MIXTURES, theirs, strict=True):
            (mine,) = proxy.session().execute(f"SELECT {asked} FROM visit").rows
            assert all(near(a, b, 1e-3) for a, b in zip(mine, expected or (), strict=True)), (asked, mine, expected)


@pytest.mark.parametrize(
    ("asked", "norm", "blocks"),
    [
        ("AVG(y), COUNT(*)", Norm.L2, 1),
        ("AVG(x), COUNT(*), COUNT(x), SUM(x)", Norm.L2, 1),
        ("SUM(y), COUNT(*)", Norm.L1, 1),
        ("SUM(y), COUNT(*), COUNT(y)", Norm.L2, 1),
        ("STDDEV(y), COUNT(*)", Norm.L1, 1),
        ("STDDEV(y), COUNT(*)", Norm.L2, 2),
        ("CORR(x, y), COUNT(*)", Norm.L1, 2),
        ("AVG(x), AVG(y), COUNT(*)", Norm.L2, 1),
        ("AVG(x), AVG(y), COUNT(*)", Norm.L1, 1),
        ("AVG(y), AVG(y * y), COUNT(*)", Norm.L1, 1),
        ("AVG(y), AVG(y * y)", Norm.L1, 2),
        ("AVG(y), AVG(y * y), AVG(x), AVG(x * x), AVG(x + y)", Norm.L1, 1),
        ("AVG(y), AVG(y * y), AVG(x)", Norm.L2, 1),
        ("SUM(x), SUM(x + 1), COUNT(*)", Norm.L2, 2),
        ("AVG(x), AVG(y), SUM(x + 1), COUNT(*)", Norm.L2, 1),
        ("AVG(x), AVG(y), SUM(x + 1), COUNT(*)", Norm.L1, 1),
        (MANY, Norm.L2, 1),
        (MANY, Norm.L1, 1),
        (MANY.removesuffix(", COUNT(*)"), Norm.L1, 1),
        ("AVG(x) FILTER (WHERE k = 'a'), COUNT(*)", Norm.L2, 2),
    ],
)
def test_what_is_read_off_one_vector_is_paid_for_once(asked: str, norm: Norm, blocks: int, tmp_path: Path) -> None:
    path = write(tmp_path, people(Random(3), 2))
    (found,) = measure(f"SELECT {asked} FROM visit", path, norm=norm)
    assert len(found.blocks) == blocks
