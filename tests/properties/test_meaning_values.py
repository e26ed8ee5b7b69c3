"""Values as PostgreSQL means them, and error bars that hold: zones, casts of reals, rounded numbers, shares, winners."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from tests.properties.planted import case, numbers, rows

guess = pytest.mark.xfail(strict=True, reason="an error is promised, or refused, on a guess")

SEEN = [datetime(2025, 3, 29, 20, 30, tzinfo=UTC) + timedelta(minutes=17 * n) for n in range(300)]
"""Three days and a half around the night in which Berlin's clocks go forward."""
READINGS = [[1.62, 2.7, 36.6, 0.1, 1e-3][n % 5] for n in range(300)]
SETUP = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, seen TIMESTAMPTZ, reading REAL)",
    "INSERT INTO person VALUES "
    + ", ".join(f"({n}, '{at.isoformat()}', {x})" for n, (at, x) in enumerate(zip(SEEN, READINGS, strict=True))),
]
TABLES = "  person: {columns: {id: {}, seen: {range: [2025-01-01, 2025-12-31]}, reading: {range: [0, 100]}}}\n"


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with case(tmp_path_factory.mktemp("seen"), SETUP, TABLES, engine=request.param) as session:
        yield session


ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata"]


@pytest.mark.spread
@pytest.mark.quick
@pytest.mark.parametrize("name", ["UTC", *ZONES])
def test_a_day_is_the_session_s(seen: Session, name: str) -> None:
    seen.execute(f"SET TIME ZONE '{name}'")
    local = [at.astimezone(ZoneInfo(name)) for at in SEEN]
    day = sum(str(at.date()) == "2025-03-30" for at in local)
    assert numbers(seen, "SELECT COUNT(*) FROM person WHERE seen::date = '2025-03-30'") == [day]
    since = sum(at.replace(tzinfo=None) >= datetime(2025, 3, 31) for at in local)
    assert numbers(seen, "SELECT COUNT(*) FROM person WHERE seen >= '2025-03-31'") == [since]
    assert numbers(seen, "SELECT COUNT(*) FROM person WHERE seen >= TIMESTAMP '2025-03-31 00:00:00'") == [since]


@pytest.mark.spread
@pytest.mark.parametrize("name", ["UTC", *ZONES])
def test_hours_and_days_are_grouped_as_the_session_has_them(seen: Session, name: str) -> None:
    seen.execute(f"SET TIME ZONE '{name}'")
    local = [at.astimezone(ZoneInfo(name)) for at in SEEN]
    for sql, values in (
        ("EXTRACT(HOUR FROM seen)", [float(at.hour) for at in local]),
        ("CAST(seen AS DATE)", [datetime(at.year, at.month, at.day) for at in local]),
        ("TO_CHAR(seen, 'YYYY-MM-DD')", [str(at.date()) for at in local]),
    ):
        truth = {(value, float(values.count(value))) for value in values}
        found = {row for row in rows(seen, f"SELECT {sql}, COUNT(*) FROM person GROUP BY 1") if row[1]}
        assert found == truth, sql


def test_a_zone_may_be_named_in_the_statement(seen: Session) -> None:
    seen.execute("SET TIME ZONE 'UTC'")
    count = sum(str(at.astimezone(ZoneInfo("Europe/Berlin")).date()) == "2025-03-30" for at in SEEN)
    sql = "SELECT COUNT(*) FROM person WHERE (seen AT TIME ZONE 'Europe/Berlin')::date = '2025-03-30'"
    assert numbers(seen, sql) == [count]


# Reals


@pytest.mark.spread
@pytest.mark.parametrize("value", ["1.62", "2.7", "36.6", "0.1", "0.001"])
def test_a_real_is_cast_to_the_digits_that_it_shows(seen: Session, value: str) -> None:
    assert numbers(seen, f"SELECT COUNT(*) FROM person WHERE CAST(reading AS NUMERIC) = {value}") == [60]
    assert numbers(seen, f"SELECT COUNT(*) FROM person WHERE reading::numeric(10,4) = {value}") == [60]


# Rounded values

_RANDOM = Random(11)
RENTS = sorted(min(4900, 100 * round(_RANDOM.lognormvariate(2.2, 0.5))) for _ in range(2000))
RENTED = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, rent INTEGER, sex TEXT, x DOUBLE PRECISION, y DOUBLE PRECISION)",
    "INSERT INTO person VALUES "
    + ", ".join(
        f"({n}, {rent}, '{'FM'[n % 2]}', {n % 90 / 10}, {(n % 90 + 31 * n % 50) / 15})" for n, rent in enumerate(RENTS)
    ),
]
RENT = "  person: {{columns: {{id: {{}}, rent: {{range: [0, 5000]{step}}}, sex: {{values: [F, M]}}, x: {{range: [0, 10]}}, y: {{range: [0, 10]}}}}}}\n"
DECILES = [n / 10 for n in range(1, 10)]


def covered(session: Session, times: int) -> list[int]:
    """How often the interval of each decile holds it."""
    session.execute("SET dpsql.intervals = on")
    session.execute("SET dpsql.reuse = off")
    shown = ", ".join(f"PERCENTILE_DISC({part}) WITHIN GROUP (ORDER BY rent) AS q{n}" for n, part in enumerate(DECILES))
    held = [0] * len(DECILES)
    for _ in range(times):
        (found,) = session.execute(f"SELECT {shown} FROM person").rows
        for n, part in enumerate(DECILES):
            _, low, high = found[3 * n : 3 * n + 3]
            truth = RENTS[int(-(-part * len(RENTS) // 1)) - 1]
            held[n] += low is None or low <= truth <= high  # type: ignore[operator]
    return held


STEP = ", step: 100"


@pytest.mark.parametrize(
    ("accounting", "step"),
    [
        pytest.param("zcdp", "", marks=pytest.mark.campaign),
        ("pure", ""),
        pytest.param("zcdp", STEP, marks=pytest.mark.campaign),
        ("pure", STEP),
    ],
)
def test_intervals_of_deciles_hold_rounded_values(tmp_path: Path, accounting: str, step: str) -> None:
    """At least 41 of 60 times each: 87 to 96 % were measured under ``pure`` without a step, 90 % and more elsewhere.

    Fewer than 41 happen to 87 % once in 20,000 times, and to an interval that ignores the rounding nearly always.
    """
    with case(tmp_path, RENTED, RENT.format(step=step), accounting, epsilon=0.5, noise=True) as session:
        assert min(covered(session, 60)) >= 41


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
def test_a_declared_step_is_that_of_quantiles_and_not_of_sums(tmp_path: Path, engine: str, accounting: str) -> None:
    """Rents in hundreds and fees in steps of 2.5, with one rent that is between two; a sum adds it up as it is."""
    setup = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, rent INTEGER, fee NUMERIC(8,2), size REAL)",
        "INSERT INTO person SELECT i, 300 + 100 * (i % 13), 2.5 * (i % 9), 0.5 * (i % 5) FROM generate_series(0, 999) AS t(i)",
        "INSERT INTO person VALUES (1000, 749, 3.20, 0.6), (1001, NULL, NULL, NULL)",
    ]
    columns = (
        "rent: {range: [300, 1500], step: 100}, fee: {range: [0, 20], step: 2.5}, size: {range: [0, 2], step: 0.5}"
    )
    with case(
        tmp_path, setup, f"  person: {{columns: {{id: {{}}, {columns}}}}}\n", accounting, engine=engine
    ) as session:
        picked = "MEDIAN({0}), PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY {0}), MIN({0}), MAX({0})"
        sql = f"SELECT {', '.join(picked.format(name) for name in ('rent', 'fee', 'size'))} FROM person"
        answer = session.execute(sql)
        found = [float(str(value)) for value in answer.rows[0]]
        assert found[:4] == [900, 1400, 300, 1500]
        assert all(value % 2.5 == 0 for value in found[4:8])
        assert all(value % 0.5 == 0 for value in found[8:])
        assert any("rent as the nearest multiple of 100" in one for one in answer.notices)
        assert any("fee as the nearest multiple of 2.5" in one for one in answer.notices)
        near = session.execute("SELECT MEDIAN(rent) FROM person WHERE id = 1000").rows[0][0]
        assert near is None or near in (300 + 100 * n for n in range(13))
        rents = [300 + 100 * (i % 13) for i in range(1000)] + [749]
        fees = [2.5 * (i % 9) for i in range(1000)] + [3.2]
        total, mean, fee = numbers(session, "SELECT SUM(rent), AVG(rent), SUM(fee) FROM person")
        assert (total, round(fee, 6)) == (sum(rents), round(sum(fees), 6))
        assert abs(mean - sum(rents) / len(rents)) < 1e-6


# What is promised of an error


@pytest.fixture(scope="module")
def rents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with case(tmp_path_factory.mktemp("rents"), RENTED, RENT.format(step=""), epsilon=1, noise=True) as session:
        yield session


@guess
def test_an_error_that_can_be_kept_is_not_refused_on_a_guess(tmp_path: Path) -> None:
    """Half a million is spread by wages: the median is off by some hundreds at ε = 1, and ±500 is asked for."""
    setup = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, wage INTEGER)",
        "INSERT INTO person SELECT i, 20000 + i FROM generate_series(1, 20000) AS t(i)",
    ]
    tables = "  person: {columns: {id: {}, wage: {range: [0, 500000]}}}\n"
    with case(tmp_path, setup, tables, epsilon=0.1, noise=True) as session:
        policy = (tmp_path / "policy.yaml").read_text()
        assert "max_epsilon: 10000" in policy
        session.execute("SET dpsql.target_error = '500'")
        try:
            answer = session.execute("SELECT MEDIAN(wage) FROM person")
        except Error as refused:
            pytest.fail(f"refused: {refused}")
        assert answer.epsilon <= 10


@guess
def test_an_error_that_is_asked_for_is_got_or_said(rents: Session) -> None:
    rents.execute("SET dpsql.target_error = '0.05'")
    answer = rents.execute("SELECT CORR(x, y) FROM person WHERE id < 60")
    rents.execute("RESET dpsql.target_error")
    (margin,) = answer.margins[0]
    words = ("got", "instead", "not kept", "turned out", "holds for")
    assert (margin is not None and margin <= 0.06) or any(word in notice for notice in answer.notices for word in words)


# Bounds of what can be


def intervals(session: Session, sql: str) -> tuple[object, ...]:
    session.execute("SET dpsql.intervals = on")
    session.execute("SET dpsql.epsilon = 0.02")
    try:
        (found,) = session.execute(sql).rows
        return found
    finally:
        session.execute("RESET dpsql.intervals")
        session.execute("RESET dpsql.epsilon")


@pytest.mark.parametrize(
    "share",
    [
        "100.0 * COUNT(*) FILTER (WHERE rent >= 0) / NULLIF(COUNT(*), 0)",
        "100.0 * SUM(CASE WHEN rent >= 0 THEN 1 ELSE 0 END) / COUNT(*)",
        "AVG(CASE WHEN rent >= 0 THEN 100 ELSE 0 END)",
    ],
)
def test_no_share_is_above_all(rents: Session, share: str) -> None:
    """Of a hundred people, all of whom are counted, at a price at which noise is half of them."""
    rents.execute("SET dpsql.reuse = off")
    shown = [one for _ in range(8) for one in intervals(rents, f"SELECT {share} FROM person WHERE id < 100")]
    assert all(-1e-9 <= float(one) <= 100 for one in shown if one is not None)  # type: ignore[arg-type]


def test_what_cannot_be_negative_has_no_negative_interval(rents: Session) -> None:
    _, low, _ = intervals(rents, "SELECT EXP(COUNT(*) / 500.0) FROM person WHERE id < 100")
    assert float(low) >= 0  # type: ignore[arg-type]


# The greatest of many


@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
def test_intervals_of_the_largest_groups_hold_or_say_how_often(tmp_path: Path, accounting: str) -> None:
    """64 teams of 40 people each: those that are shown as the greatest are greatest by noise."""
    setup = [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, team INTEGER)",
        "INSERT INTO person SELECT i, i % 64 FROM generate_series(0, 2559) AS t(i)",
    ]
    with case(
        tmp_path, setup, "  person: {columns: {id: {}, team: {range: [0, 63]}}}\n", accounting, epsilon=0.5, noise=True
    ) as session:
        session.execute("SET dpsql.intervals = on")
        session.execute("SET dpsql.reuse = off")
        held, said, times = 0, True, 30
        for _ in range(times):
            answer = session.execute("SELECT team, COUNT(*) FROM person GROUP BY team ORDER BY 2 DESC LIMIT 5")
            held += sum(float(row[2]) <= 40 <= float(row[3]) for row in answer.rows)  # type: ignore[arg-type]
            said = said and any("%" in notice and "interval" in notice for notice in answer.notices)
    assert said or held >= 0.9 * 5 * times
