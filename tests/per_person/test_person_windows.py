"""Windows over one person's rows: ties are broken by the data, whatever order the engine finds the rows in."""

from __future__ import annotations

from pathlib import Path
from random import Random

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.opened import open_policy
from dpsql.testing import measure
from rewriter.declared.contribution import Norm
from rewriter.plan import Ratio
from rewriter.planner.plan_release import plan
from rewriter.split.splitter import split
from rewriter.statement.parser import parse
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.new_databases import new_database
from tests.policies import policy_text

POLICY = policy_text("""
database: {database}; ledger: sqlite:{name}.ledger; privacy_unit: person.id; budget: {epsilon: 10, delta: 1e-6}
tables:
  person: id
  visit(person_id -> person.id, max_rows: 12): day 2024-01-01..2024-01-31, cost 0..9, reason [a, b, c]
""")
DAYS = ("2024-01-05", "2024-01-06", None)


def visits(random: Random) -> list[tuple[int, str | None, int | None, str]]:
    """Few days, few costs, and a row twice: nearly every order has ties."""
    rows = [
        (who, random.choice(DAYS), random.choice([0, 1, 1, 2, None]), random.choice("abc"))
        for who in range(1, 9)
        for _ in range(random.randint(1, 11))
    ]
    return [*rows, rows[0]]


def policy_of(engine: str, rows: list[tuple[int, str | None, int | None, str]], folder: Path, name: str) -> Path:
    tables = (
        "CREATE TABLE person (id int PRIMARY KEY); CREATE TABLE visit (person_id int, day date, cost int, reason text)"
    )
    listed = ", ".join("(" + ", ".join("NULL" if v is None else f"'{v}'" for v in row) + ")" for row in rows)
    setup = (
        f"{tables}; INSERT INTO person SELECT n FROM generate_series(1, 8) AS g(n); INSERT INTO visit VALUES {listed}"
    )
    if engine == "postgres":
        server = shared_server()
        database = server.url(server.database(setup))
    else:
        database = f"duckdb:{name}.duckdb"
        with new_database(folder / f"{name}.duckdb") as connection:
            connection.execute(setup)
    path = folder / f"{name}.yaml"
    path.write_text(POLICY.format(database=database, name=name))
    return path


CALLS = (
    "ROW_NUMBER()",
    "NTILE(2)",
    "LAG(cost)",
    "LEAD(cost, 2, 5)",
    "FIRST_VALUE(cost)",
    "LAST_VALUE(cost)",
    "NTH_VALUE(cost, 2)",
    "SUM(cost)",
    "AVG(cost)",
    "COUNT(cost)",
    "MAX(cost)",
    "RANK()",
)
FRAMES = (
    "",
    "RANGE CURRENT ROW",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
)


def questions(random: Random) -> list[str]:
    """Two windows in two orders, a row of which is read beside them."""
    found = []
    for _ in range(14):
        windows = []
        for name in ("v", "w"):
            call = random.choice(CALLS)
            framed = call.split("(")[0] not in ("ROW_NUMBER", "NTILE", "LAG", "LEAD", "RANK")
            order = random.choice(["ORDER BY day", "ORDER BY day DESC", "ORDER BY cost", "ORDER BY reason"])
            frame = random.choice(FRAMES) if framed else ""
            windows.append(f"{call} OVER (PARTITION BY person_id {order} {frame}) AS {name}")
        found.append(
            f"SELECT SUM(v * w), COUNT(*) FROM (SELECT reason, {', '.join(windows)} FROM visit) t GROUP BY reason"
        )
    latest = "ORDER BY person_id, day DESC"
    found.append(f"SELECT reason, SUM(cost) FROM (SELECT DISTINCT ON (person_id) * FROM visit {latest}) t GROUP BY 1")
    first = "ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY day)"
    found.append(f"SELECT reason, SUM(cost) FROM (SELECT * FROM visit QUALIFY {first} <= 2) t GROUP BY 1")
    # 0.0 and -0.0 are equal, and so is what can be told of them.
    zeros = "SELECT person_id, CASE WHEN reason = 'a' THEN 0 ELSE -1 END * (0 * cost::float) AS z FROM visit"
    for least in ("MIN(z) AS y", "MAX(z) AS y", "MEDIAN(z) AS y"):
        made = f"SELECT person_id, {least} FROM ({zeros}) t GROUP BY person_id"
        found.append(f"SELECT COUNT(*) FILTER (WHERE ATAN2(y, -1) > 0) FROM ({made}) t")
    ordered = f"SELECT FIRST_VALUE(z) OVER (PARTITION BY person_id ORDER BY z) AS y FROM ({zeros}) t"
    found.append(f"SELECT COUNT(*) FILTER (WHERE y::text = '0') FROM ({ordered}) t")
    found.append(
        f"SELECT y::text, COUNT(*) FROM (SELECT person_id, z AS y FROM ({zeros}) t GROUP BY person_id, z) t GROUP BY 1"
    )
    return found


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_the_order_in_which_rows_are_stored_changes_nothing(engine: str, tmp_path: Path) -> None:
    random = Random(11)
    rows = visits(random)
    policies = []
    for number in range(3):
        policies.append(policy_of(engine, rows, tmp_path, f"clinic{number}"))
        random.shuffle(rows)
    asked = [sql.replace("v * w", "v + w") for sql in questions(random)]
    one, *others = [statistics(policy, asked) for policy in policies]
    for place, sql in enumerate(asked):
        assert all(other[place] == one[place] for other in others), sql


def statistics(policy: Path, asked: list[str]) -> list[list[object]]:
    """The exact statistics of each question's releases."""
    opened = open_policy(policy)
    try:
        dialect = opened.engine.dialect
        trees = [parse(sql).tree for sql in asked]  # type: ignore[union-attr]
        releases = [split(tree, opened.catalog, dialect).groupings for tree in trees]
        runs = [[opened.engine.run(plan(one, Norm.L2, dialect)) for one in release] for release in releases]
        return [[(table.keys, table.statistics) for table in tables] for tables in runs]
    finally:
        opened.close()


@pytest.mark.quick
def test_the_last_value_of_peers_is_that_of_the_last_peer(tmp_path: Path) -> None:
    """By default a frame ends with the rows that ORDER BY leaves equal, so all of them see the same last one."""
    rows: list[tuple[int, str | None, int | None, str]] = [
        (1, "2024-01-05", 1, "a"),
        (1, "2024-01-05", 4, "b"),
        (1, "2024-01-06", 2, "c"),
    ]
    proxy = open_without_noise(policy_of("duckdb", rows, tmp_path, "peers"))
    over = "OVER (PARTITION BY person_id ORDER BY day"

    def total(function: str, frame: str = "") -> object:
        return (
            proxy.session("ana")
            .execute(f"SELECT SUM(x) FROM (SELECT {function} {over} {frame}) AS x FROM visit) AS t")
            .rows[0][0]
        )

    assert total("LAST_VALUE(cost)") == 4 + 4 + 2
    assert total("LAST_VALUE(cost)", "ROWS UNBOUNDED PRECEDING") == 1 + 4 + 2
    assert total("LAST_VALUE(cost)", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING") == 2 + 2 + 2
    assert total("FIRST_VALUE(cost)", "RANGE CURRENT ROW") == 1 + 1 + 2
    assert total("NTH_VALUE(cost, 3)") == 2, "the third row is in the frame of the last one alone"
    assert total("NTH_VALUE(cost, 2)", "RANGE CURRENT ROW") == 4 + 4
    assert total("NTILE(3)") == 1 + 2 + 3
    proxy.close()


def test_a_value_that_early_rows_lack_is_not_one_group_of_a_person(tmp_path: Path) -> None:
    """FIRST_VALUE over a frame that ends before the row is NULL in the first rows, and so a person is in two groups."""
    policy = policy_of("duckdb", visits(Random(1)), tmp_path, "early")
    frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND {} "
    sql = (
        "SELECT x, COUNT(DISTINCT person_id) FROM (SELECT person_id, FIRST_VALUE(reason) OVER "
        "(PARTITION BY person_id ORDER BY day {}) AS x FROM visit) AS t GROUP BY x"
    )
    always, early = (
        measure(sql.format(frame.format(end)), policy)[0].blocks[0][1].l1 for end in ("CURRENT ROW", "1 PRECEDING")
    )
    assert always == 1
    assert early is None or early > 1


@pytest.mark.parametrize(
    ("gap", "order", "ends"),
    [
        ("cost - LAG(cost)", "cost", (0, 9)),
        ("(LEAD(cost) - cost)", "cost, day", (0, 9)),
        ("cost - LEAD(cost)", "cost DESC", (0, 9)),
        ("cost - LEAD(cost)", "cost", (-9, 0)),
        ("LAG(cost) - cost", "cost", (-9, 0)),
        ("cost - LAG(cost)", "cost DESC NULLS LAST", (-9, 0)),
        ("cost - LAG(cost, 3)", "cost", (0, 9)),
        ("cost - LAG(cost)", "day, cost", (-9, 9)),
        ("cost - LAG(cost, 1, 9)", "cost", (-9, 9)),
        ("cost - FIRST_VALUE(cost)", "cost", (-9, 9)),
        ("day - LAG(day)", "day", (0, 30)),
        ("EXTRACT(EPOCH FROM CAST(day AS TIMESTAMP) - LAG(CAST(day AS TIMESTAMP))) / 86400", None, (0, 30)),
    ],
)
def test_the_order_halves_the_range_of_the_distance_of_two_rows(
    gap: str, order: str | None, ends: tuple[int, int], tmp_path: Path
) -> None:
    over = f"OVER (PARTITION BY person_id ORDER BY {order or 'CAST(day AS TIMESTAMP)'})"
    written = gap.replace("))) /", f")) {over}) /") if order is None else _with_over(gap, over)
    policy = policy_of("duckdb", visits(Random(3)), tmp_path, "gaps")
    inner = f"SELECT {written} AS x FROM visit"
    (measured,) = measure(f"SELECT AVG(x) FROM ({inner}) AS t", policy)
    (mean,) = measured.plan.outputs
    assert isinstance(mean.estimator, Ratio)
    assert (mean.estimator.low, mean.estimator.high) == ends
    with duckdb.connect(str(tmp_path / "gaps.duckdb"), config={"access_mode": "READ_ONLY"}) as connection:
        low, high = connection.execute(f"SELECT MIN(x), MAX(x) FROM ({inner}) AS t").fetchall()[0]
    assert ends[0] <= low <= high <= ends[1]


def _with_over(gap: str, over: str) -> str:
    """The difference with its window's OVER, which stands right behind the call."""
    call = next(word for word in ("LAG(", "LEAD(", "FIRST_VALUE(") if word in gap)
    end = gap.index(")", gap.index(call)) + 1
    return f"{gap[:end]} {over}{gap[end:]}"


def test_a_window_that_mixes_people_is_refused_with_the_key_that_is_missing(tmp_path: Path) -> None:
    proxy = open_without_noise(policy_of("duckdb", visits(Random(1)), tmp_path, "across"))
    for window in ("PARTITION BY reason ORDER BY day", "ORDER BY day", "PARTITION BY person_id % 2"):
        with pytest.raises(Error, match="compare people") as refused:
            proxy.session("ana").execute(
                f"SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER ({window}) AS n FROM visit) AS t WHERE n = 1"
            )
        assert "PARTITION BY person_id" in str(refused.value)
        assert not proxy.session("ana").execute("SELECT * FROM dpsql.charges").rows
    proxy.close()


@pytest.mark.parametrize(
    ("partition", "filtered", "most"),
    [
        ("person_id", "n = 1", 1),
        ("person_id", "n <= 3", 3),
        ("person_id, reason", "n = 1", 12),
        ("person_id, day", "n <= 3", 12),
        ("person_id, 1", "n = 1", 1),
        ("person_id", "n BETWEEN 5 AND 2", 2),
        ("person_id", "n BETWEEN SYMMETRIC 5 AND 2", 5),
        ("person_id", "n BETWEEN SYMMETRIC 1000 AND 1", 12),
    ],
)
def test_a_number_is_one_of_a_person_only_where_all_rows_of_the_person_are_numbered(
    tmp_path: Path, partition: str, filtered: str, most: int
) -> None:
    """Numbered within reasons, a person has a first row of each reason."""
    policy = policy_of("duckdb", visits(Random(5)), tmp_path, "numbered")
    inner = f"SELECT ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY day) AS n FROM visit"
    (measured,) = measure(f"SELECT COUNT(*) FROM ({inner}) AS t WHERE {filtered}", policy)
    ((_, sensitivity),) = measured.blocks
    assert sensitivity.l2_squared == most * most


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize("shown", ["x::text", "'x' || x", "ATAN2(x, -1) > 0"])
def test_of_equal_zeros_it_does_not_show_which_the_engine_took(engine: str, shown: str, tmp_path: Path) -> None:
    """The first row of 0.0 and -0.0 is the engine's choice, and so is the least: with threads, another in each run."""
    setup = (
        "CREATE TABLE person (id int PRIMARY KEY); CREATE TABLE visit (person_id int, x double precision);"
        "INSERT INTO person SELECT n FROM generate_series(1, 20) AS g(n);"
        "INSERT INTO visit SELECT n, '0.0'::float8 FROM generate_series(1, 10) AS g(n);"
        "INSERT INTO visit SELECT n, '-0.0'::float8 FROM generate_series(1, 20) AS g(n);"
        "INSERT INTO visit SELECT n, '0.0'::float8 FROM generate_series(11, 20) AS g(n)"
    )
    database = "duckdb:zeros.duckdb"
    if engine == "postgres":
        server = shared_server()
        database = server.url(server.database(setup))
    else:
        with new_database(tmp_path / "zeros.duckdb") as connection:
            connection.execute(setup)
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        f"database: {database}\nledger: sqlite:ledger\nprivacy_unit: person.id\nbudget: {{epsilon: 10, delta: 1e-6}}\n"
        "tables: {person: {columns: {id: {}}},"
        " visit: {unit: person_id -> person.id, max_rows: 2, columns: {x: {range: [0, 1]}, person_id: {}}}}\n"
    )
    first = "SELECT person_id, x, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY x) AS n FROM visit"
    for rows in (f"({first}) AS t WHERE n = 1", "(SELECT person_id, MIN(x) AS x FROM visit GROUP BY person_id) AS t"):
        (found,) = measure(f"SELECT {shown}, COUNT(*) FROM {rows} GROUP BY 1", policy)
        assert [row["s0"] for row in found.groups.values() if row["s0"]] == [20]
