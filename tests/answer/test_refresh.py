"""Releases over tables whose rows change: each stands for its period, and is measured anew in the next."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dpsql.errors import OperationalError
from dpsql.mechanisms.sampling import ExactSampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.policy import Policy, PolicyError
from dpsql.proxy import Proxy
from dpsql.refresh import Refresh
from tests.new_databases import new_database

START = datetime.datetime(2026, 3, 10, 12, tzinfo=datetime.UTC)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    with new_database(tmp_path / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL)")
        connection.execute(
            "INSERT INTO patient SELECT i, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END FROM range(500) t(i)"
        )
        connection.execute("CREATE TABLE visit (patient_id INTEGER REFERENCES patient (id), cost INTEGER)")
        connection.execute("INSERT INTO visit SELECT i % 500, i % 90 FROM range(2500) t(i)")
    path = tmp_path / "policy.yaml"
    path.write_text(
        """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {epsilon: 10, delta: 1e-6}
refresh: never
clock: {zone: Europe/Berlin}
tables:
  patient:
    columns: {id: {}, sex: {values: [F, M]}}
  visit:
    unit: patient_id -> patient.id
    max_rows: 20
    refresh: 1 day at 02:00
    columns: {patient_id: {}, cost: {range: [0, 100]}}
"""
    )
    return path


@pytest.fixture
def hands() -> list[datetime.datetime]:
    return [START]


@pytest.fixture
def proxy(policy: Path, hands: list[datetime.datetime]) -> Iterator[Proxy]:
    opened = open_here(compared(load_policy(policy)), read=lambda: hands[0])
    proxy = Proxy(opened, ExactSampler())
    yield proxy
    proxy.close()


VISITS, BY_SEX = (
    "SELECT COUNT(*) FROM visit",
    "SELECT sex, COUNT(*) FROM visit JOIN patient ON patient_id = id GROUP BY sex",
)


@pytest.mark.parametrize("sql", [VISITS, BY_SEX])
def test_an_answer_stands_for_its_period(proxy: Proxy, hands: list[datetime.datetime], sql: str) -> None:
    session = proxy.session()
    first = session.execute(sql)
    hands[0] = datetime.datetime(2026, 3, 11, 0, 59, tzinfo=datetime.UTC)
    again = session.execute(sql)
    assert (bool(first.price), bool(again.price)) == (True, False)
    assert again.rows == first.rows
    assert any(
        "visit is as it was when this was asked first after 2026-03-10 02:00 Europe/Berlin; "
        "it is measured anew after 2026-03-11 02:00 Europe/Berlin" in one
        for one in again.notices
    )
    hands[0] = datetime.datetime(2026, 3, 11, 1, 0, tzinfo=datetime.UTC)
    assert session.explain(sql).price
    new = session.execute(sql)
    assert new.price == first.price
    assert not session.execute(sql).price
    assert len(proxy.ledger.charges()) == 2


def test_groups_that_a_function_lists_stand_as_long_as_their_table(
    policy: Path, hands: list[datetime.datetime]
) -> None:
    """The groups of ``cost`` are those of generate_series, which is no table that refreshes by itself."""
    policy.write_text(policy.read_text().replace("refresh: never", "refresh: 1 hour"))
    sql = "SELECT cost, COUNT(*) FROM visit GROUP BY cost"
    with closing(Proxy(open_here(compared(load_policy(policy)), read=lambda: hands[0]), ExactSampler())) as proxy:
        session = proxy.session("dpsql")
        assert session.execute(sql).price
        hands[0] += datetime.timedelta(hours=2)
        again = session.execute(sql)
        assert not again.price
        aged = [note for note in again.notices if "as it was when this was asked first" in note]
        assert [note.split(" ")[0] for note in aged] == ["visit"]


def test_tables_that_do_not_change_stand_for_ever(proxy: Proxy, hands: list[datetime.datetime]) -> None:
    session = proxy.session()
    first = session.execute("SELECT sex, COUNT(*) FROM patient GROUP BY sex")
    hands[0] += datetime.timedelta(days=800)
    again = session.execute("SELECT sex, COUNT(*) FROM patient GROUP BY sex")
    assert not again.price
    assert again.rows == first.rows
    assert not any("measured anew" in one for one in again.notices)


def test_a_coarser_answer_is_made_of_its_own_period_alone(policy: Path, hands: list[datetime.datetime]) -> None:
    policy.write_text(policy.read_text().replace("refresh: never", "refresh: 1 day"))
    everybody = "SELECT COUNT(*) FROM patient"
    with closing(Proxy(open_here(compared(load_policy(policy)), read=lambda: hands[0]), ExactSampler())) as proxy:
        session = proxy.session()
        session.execute("SET dpsql.epsilon = 1")
        session.execute("SELECT id > 250, COUNT(*) FROM patient GROUP BY 1")
        session.execute("SET dpsql.epsilon = 0.05")
        assert not session.explain(everybody).price
        hands[0] += datetime.timedelta(days=1)
        assert session.explain(everybody).price


def test_the_age_stands_in_the_columns(proxy: Proxy) -> None:
    rows = (
        proxy.session().execute("SELECT DISTINCT table_name, refresh, fresh_since FROM dpsql.columns ORDER BY 1").rows
    )
    assert [row[:2] for row in rows] == [("patient", None), ("visit", "1 day at 02:00")]
    assert rows[1][2] == datetime.datetime(2026, 3, 10, 1, tzinfo=datetime.UTC)


def test_what_is_read_in_one_period_is_kept_under_it(
    proxy: Proxy, hands: list[datetime.datetime], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement that ends in the next period was asked in this one: there it is new."""
    reading = proxy.answering.reader.reading

    def slow(*given: object) -> object:
        exact = reading(*given)  # type: ignore[arg-type]
        hands[0] += datetime.timedelta(days=1)
        return exact

    monkeypatch.setattr(proxy.answering.reader, "reading", slow)
    session = proxy.session()
    session.execute(VISITS)
    monkeypatch.undo()
    assert session.explain(VISITS).price


@pytest.mark.parametrize("wrong", ["often", "0 days", "1 hour at 02:00", "1 day at 25:00", "2 fortnights"])
def test_what_is_no_way_to_refresh_is_told(policy: Path, wrong: str) -> None:
    text = policy.read_text().replace("refresh: never", f"refresh: {wrong}")
    with pytest.raises(PolicyError, match="is no way to refresh: write one such as"):
        Policy.parse(text, policy)
    policy.write_text(text)
    with pytest.raises(OperationalError):
        load_policy(policy)


@pytest.mark.parametrize(("length", "after"), [(1, 0), (7, 3), (1 / 24, 0), (1 / 96, 0)])
def test_periods_never_overlap(length: float, after: int) -> None:
    one = Refresh(datetime.timedelta(days=length), datetime.timedelta(hours=after), "Europe/Berlin")
    instants = [START + datetime.timedelta(minutes=17 * step) for step in range(30_000)]
    begins = [one.begin(instant) for instant in instants]
    assert begins == sorted(begins)
    assert len(set(begins)) == len({one.name(instant) for instant in instants})
    for instant in instants[:2_000]:
        assert one.begin(instant) <= instant < one.end(instant)
