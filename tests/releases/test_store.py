"""Stored releases: exactly what was released comes back, never what is unpaid, and never a failure."""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting import PURE, Accountant
from dpsql.accounting.loss import PrivacyLoss
from dpsql.errors import OperationalError
from dpsql.ledger.ledger import Ledger
from dpsql.mechanisms import NOISES, Gaussian, Laplace
from dpsql.releases import ColumnarRows, Noise, ValueColumn
from dpsql.releases.store import BoughtTogether, ReleaseFacts, ReleaseStore, _as_one, _digest, _read, _write
from dpsql.releases.tables import NoisyTable
from rewriter.declared.types import BIGINT, BOOLEAN, DATE, DOUBLE, HUGEINT, TEXT, decimal

TOTAL = Accountant(PURE, Fraction(10), Fraction(0))


def table(scale: Fraction | int = 10, value: int = 7, kind: str = "laplace", rows: int = 1) -> NoisyTable:
    keys = tuple((f"group {i}",) for i in range(rows))
    assert kind in ("laplace", "gaussian")
    noise = NOISES[kind](Fraction(scale))
    return NoisyTable(keys, {"n": (value,) * rows}, {"n": noise})


def wanted(scale: Fraction | int, kind: str = "laplace") -> dict[str, Noise]:
    return dict(table(scale, kind=kind).noise)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic ledger?#%41"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path, TOTAL) as opened:
        yield opened


@pytest.fixture
def store(path: Path, ledger: Ledger) -> Iterator[ReleaseStore]:
    ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1, 10)), "q")
    opened = ReleaseStore.open(NOISES, path)
    yield opened
    opened.close()


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**200), 2**200),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.text(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(datetime.UTC)),
)
DRAWN = st.builds(lambda law, scale: law(scale), st.sampled_from([Laplace, Gaussian]), st.fractions(0, 10**12))


@st.composite
def tables(draw: st.DrawFn) -> NoisyTable:
    width, rows = draw(st.integers(0, 3)), draw(st.integers(0, 4))
    names = draw(st.lists(st.text(), max_size=3, unique=True))
    keys = tuple(tuple(draw(SCALARS) for _ in range(width)) for _ in range(rows))
    integers = st.integers(-(2**130), 2**130)
    return NoisyTable(
        keys,
        {name: tuple(draw(integers) for _ in range(rows)) for name in names},
        {name: draw(DRAWN) for name in names},
    )


def exactly(value: object) -> object:
    """A value with its type and every digit: 1 is not True, 1.0 is not 1.00, 0.0 is not -0.0."""
    if isinstance(value, tuple):
        return tuple(exactly(one) for one in value)
    return type(value), str(value)


@given(tables())
def test_what_is_written_is_read(released: NoisyTable) -> None:
    noise, body = _write(released)
    assert noise.isascii()
    assert body.isascii()
    found = _read(NOISES, noise, body, "", _digest(noise, body, ""))
    assert found == released
    assert exactly(found.keys) == exactly(released.keys)
    assert list(found.statistics) == list(released.statistics)


@given(st.integers(1024, 1100), st.integers(0, 2**64), st.booleans())
@settings(max_examples=20, deadline=None)
def test_a_large_table_is_written_as_columns(rows: int, seed: int, wide: bool) -> None:
    rng = np.random.default_rng(seed)
    types = (TEXT, BIGINT, DATE, decimal(9, 2), DOUBLE, HUGEINT, BOOLEAN)
    keys = [
        [None, *map(str, range(1, rows))],
        [None, *rng.integers(-(2**62), 2**62, rows - 1).tolist()],
        [None, *(datetime.date(2024, 1, 1) + datetime.timedelta(int(day)) for day in rng.integers(0, 999, rows - 1))],
        [None, *(Decimal(int(cents)).scaleb(-2) for cents in rng.integers(-999, 999, rows - 1))],
        [None, *rng.normal(size=rows - 1).tolist()],
        [None, *(int(number) << 40 for number in rng.integers(-(2**40), 2**40, rows - 1))],
        [None, *rng.integers(0, 2, rows - 1).astype(bool).tolist()],
    ]
    columns = [ValueColumn(type_, values) for type_, values in zip(types, keys, strict=True)]
    numbers = {"n": rng.integers(-50, 50, rows).tolist(), "sums": [2**80, 1], "s": [2**70 if wide else 1] * rows}
    law = {name: Laplace(Fraction(3)) for name in numbers}
    released = NoisyTable(ColumnarRows(columns, rows), numbers, law)
    noise, body = _write(released)
    found = _read(NOISES, noise, body, "", _digest(noise, body, ""))
    assert found == released
    assert exactly(tuple(found.keys)) == exactly(tuple(released.keys))
    assert len(body) < 80 * rows
    with pytest.raises(ValueError, match="damaged"):
        _read(NOISES, noise, body[:-1], "", _digest(noise, body, ""))


def test_odd_scalars_are_read_as_they_were() -> None:
    odd = (float("nan"), float("-inf"), -0.0, 5e-324, Decimal("1.00"), Decimal("NaN"), "\ud800\x00", True, 1, "1", None)
    noise, body = _write(NoisyTable((odd,), {}, {}))
    assert exactly(_read(NOISES, noise, body, "", _digest(noise, body, "")).keys) == exactly((odd,))


@pytest.mark.parametrize(
    "key", [b"bytes", (1,), datetime.timedelta(1), Fraction(1, 2), {"a": 1}, ["date", "2020-01-01"]]
)
def test_a_key_that_is_no_scalar_is_not_stored(store: ReleaseStore, key: object) -> None:
    with pytest.raises(TypeError):
        store.put("plan", "1", NoisyTable(((key,),), {"n": (1,)}, wanted(1)))  # type: ignore[arg-type]


def test_only_integers_are_statistics(store: ReleaseStore) -> None:
    store.put("plan", "1", NoisyTable(((1,),), {"n": tuple(np.array([2**62]))}, wanted(1)))
    found = store.get("plan", "1", wanted(1))
    assert found is not None
    assert type(found.statistics["n"][0]) is int
    with pytest.raises(TypeError):
        store.put("plan", "1", NoisyTable(((1,),), {"n": (1.5,)}, wanted(1)))  # type: ignore[arg-type]


def test_the_same_release_comes_back_after_a_restart_and_to_other_processes(path: Path, store: ReleaseStore) -> None:
    store.put("plan", "1", table())
    with contextlib.closing(ReleaseStore.open(NOISES, path)) as another:
        assert another.get("plan", "1", wanted(10)) == store.get("plan", "1", wanted(10)) == table()


def test_the_state_is_another_whenever_a_release_or_a_charge_comes_or_goes(
    path: Path, store: ReleaseStore, ledger: Ledger
) -> None:
    seen = [store.state, store.state]
    assert seen[0] is not None
    assert seen[0] == seen[1], "nothing has come"
    store.get("plan", "1", wanted(10))
    assert store.state == seen[0], "who reads changes nothing"
    store.put("plan", "1", table())
    seen.append(store.state)
    with contextlib.closing(ReleaseStore.open(NOISES, path)) as another:
        another.put("another", "1", table())
    seen.append(store.state)
    ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1, 10)), "q")
    seen.append(store.state)
    store.forget(lambda _: True)
    seen.append(store.state)
    assert len(set(seen)) == len(seen) - 1
    store.close()
    assert store.state is None


def test_another_plan_or_data_version_is_another_release(store: ReleaseStore) -> None:
    store.put("plan", "1", table())
    assert store.get("plan", "2", wanted(10)) is None
    assert store.get("plan", "", wanted(10)) is None
    assert store.get("another", "1", wanted(10)) is None
    assert store.get("pla", "n1", wanted(10)) is None


@pytest.mark.parametrize(
    ("stored", "asked", "hit"),
    [
        (table(10), wanted(10), True),
        (table(10), wanted(Fraction("9.999999999999")), False),
        (table(10), wanted(1000), True),
        (table(14, kind="gaussian"), wanted(10), True),
        (table(15, kind="gaussian"), wanted(10), False),
        (table(10), wanted(14, "gaussian"), False),
        (table(10), wanted(15, "gaussian"), True),
        (table(10), wanted(10) | {"m": Laplace(Fraction(10**6))}, False),
        (table(0), wanted(0), True),
        (table(1), wanted(0), False),
    ],
)
def test_noise_is_good_enough_for_every_statistic(
    store: ReleaseStore, stored: NoisyTable, asked: dict[str, Noise], hit: bool
) -> None:
    store.put("plan", "1", stored)
    assert (store.get("plan", "1", asked) == stored) is hit


@pytest.mark.quick
@given(DRAWN, DRAWN)
def test_variances_are_those_of_the_continuous_noise(a: Noise, b: Noise) -> None:
    assert a.square == a.scale**2 * {"laplace": 2, "gaussian": 1}[a.name]
    if a.name == b.name:
        assert (a.square <= b.square) == (a.scale <= b.scale)


def test_the_most_accurate_is_given_and_always_the_same(store: ReleaseStore) -> None:
    for scale, value in ((10, 1), (2, 2), (5, 3), (2, 4), (50, 5)):
        store.put("plan", "1", table(scale, value))
    assert [store.get("plan", "1", wanted(scale)) for scale in (2, 10, 100)] == [table(2, 2)] * 3
    assert store.get("plan", "1", wanted(1)) is None


def test_the_oldest_give_way(path: Path, ledger: Ledger) -> None:
    small = ReleaseStore.open(NOISES, path, capacity=20_000)
    for number in range(50):
        small.put(f"plan {number}", "1", table(rows=100))
    kept = [number for number in range(50) if small.get(f"plan {number}", "1", wanted(10))]
    assert kept == list(range(kept[0], 50))
    assert 4 <= len(kept) <= 12
    small.put("large", "1", table(rows=2000))
    assert small.get("large", "1", wanted(10)) is None
    assert small.get("plan 49", "1", wanted(10)), "a release that is not kept drives nothing out"
    small.close()


def steps_of_a_put(store: ReleaseStore, number: int) -> int:
    """How many thousands of SQLite's instructions it takes to keep one release more."""
    steps: list[None] = []
    store._connection.set_progress_handler(lambda: steps.append(None), 10)
    store.put(f"plan {number}", "1", table(), KNOWN)
    store._connection.set_progress_handler(None, 0)
    return len(steps)


def test_what_is_kept_costs_the_next_release_nothing(path: Path, ledger: Ledger) -> None:
    """A dashboard that is refreshed each hour keeps tens of thousands of releases in a year."""
    with contextlib.closing(ReleaseStore.open(NOISES, path)) as store:
        first = max(steps_of_a_put(store, number) for number in range(20))
        for number in range(20, 1500):
            store.put(f"plan {number}", "1", table(), KNOWN)
        assert min(steps_of_a_put(store, number) for number in range(1500, 1520)) <= 2 * first


def test_a_store_without_its_size_is_measured_when_it_is_opened(path: Path, ledger: Ledger) -> None:
    with contextlib.closing(ReleaseStore.open(NOISES, path)) as store:
        for number in range(50):
            store.put(f"plan {number}", "1", table(rows=100))
    with contextlib.closing(sqlite3.connect(f"{path}-releases", isolation_level=None)) as connection:
        connection.executescript("DROP TRIGGER release_comes; DROP TRIGGER release_goes; DROP TABLE held")
    with contextlib.closing(ReleaseStore.open(NOISES, path, capacity=20_000)) as small:
        small.put("plan 50", "1", table(rows=100))
        kept = [number for number in range(51) if small.get(f"plan {number}", "1", wanted(10))]
        assert kept == list(range(kept[0], 51))
        assert 4 <= len(kept) <= 12


def test_what_another_ledger_paid_for_is_not_paid_here(path: Path) -> None:
    """The owner begins a new ledger: the releases of the old one are gone with it."""
    with Ledger.open(path, TOTAL) as ledger, contextlib.closing(ReleaseStore.open(NOISES, path)) as store:
        ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1)), "q")
        store.put("plan", "1", table())
        assert store.get("plan", "1", wanted(10))
    path.unlink()
    with Ledger.open(path, TOTAL) as ledger, contextlib.closing(ReleaseStore.open(NOISES, path)) as store:
        for _ in range(3):
            ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1)), "q")
        assert store.get("plan", "1", wanted(10)) is None


def test_what_a_restored_ledger_has_forgotten_is_not_paid(path: Path) -> None:
    """A backup of the ledger comes back, without the charge of a stored release."""
    charge = PrivacyLoss(epsilon=Fraction(1))
    with Ledger.open(path, TOTAL) as ledger:
        ledger.charge("ana", charge, "q")
    shutil.copy(path, f"{path}.backup")
    with Ledger.open(path, TOTAL) as ledger, contextlib.closing(ReleaseStore.open(NOISES, path)) as store:
        store.put("early", "1", table())
        ledger.charge("ana", charge, "q")
        store.put("late", "1", table())
    shutil.copy(f"{path}.backup", path)
    with Ledger.open(path, TOTAL) as ledger, contextlib.closing(ReleaseStore.open(NOISES, path)) as store:
        ledger.charge("bob", charge, "another")
        assert store.get("early", "1", wanted(10))
        assert store.get("late", "1", wanted(10)) is None


@pytest.mark.parametrize("statement", ["UPDATE release SET charges = 2", "UPDATE release SET ledger = 'another'"])
def test_an_entry_is_checked_against_the_ledger_whenever_it_is_used(
    path: Path, store: ReleaseStore, ledger: Ledger, statement: str
) -> None:
    """The ledger has one charge; an entry that says otherwise, written by whomever, is not used before it is true."""
    store.put("plan", "1", table())
    tamper(path, statement)
    assert store.get("plan", "1", wanted(10)) is None
    ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1)), "q")
    assert (store.get("plan", "1", wanted(10)) is None) is ("another" in statement)


def test_threads_share_a_store(store: ReleaseStore) -> None:
    failures: list[str] = []

    def work(name: str) -> None:
        for number in range(20):
            store.put(f"{name} {number}", "1", table(value=number))
            if store.get(f"{name} {number}", "1", wanted(10)) != table(value=number):
                failures.append(f"{name} {number}")

    threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def tamper(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(f"{path}-releases")) as tool:
        tool.execute(statement)
        tool.commit()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE release SET body = CAST(replace(CAST(body AS TEXT), '7', '8') AS BLOB)",
        "UPDATE release SET body = CAST('{}' AS BLOB)",
        "UPDATE release SET noise = '[]'",
        'UPDATE release SET noise = \'{"n": ["laplace", "1/0"]}\'',
        "UPDATE release SET noise = replace(noise, '10', '1')",
        "DROP TABLE release",
    ],
)
def test_a_damaged_entry_is_a_miss(path: Path, store: ReleaseStore, statement: str) -> None:
    store.put("plan", "1", table())
    tamper(path, statement)
    assert store.get("plan", "1", wanted(10)) is None
    store.put("plan 2", "1", table())


def test_a_store_that_cannot_be_read_is_begun_anew(path: Path, ledger: Ledger) -> None:
    for garbage in (b"garbage " * 1000, b""):
        Path(f"{path}-releases").write_bytes(garbage)
        with contextlib.closing(ReleaseStore.open(NOISES, path)) as store:
            store.put("plan", "1", table())
            assert store.get("plan", "1", wanted(10)) == table()
    tamper(path, "PRAGMA user_version = 99")
    with contextlib.closing(ReleaseStore.open(NOISES, path)) as store:
        assert store.get("plan", "1", wanted(10)) is None


def test_a_store_without_a_ledger_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match="cannot be stored"):
        ReleaseStore.open(NOISES, path)
    assert not path.exists()
    with pytest.raises(OperationalError, match="cannot be stored"):
        ReleaseStore.open(NOISES, tmp_path / "no" / "directory")


def test_a_store_never_writes_to_the_ledger(path: Path, store: ReleaseStore, ledger: Ledger) -> None:
    with pytest.raises(sqlite3.OperationalError) as refused:
        store._connection.execute("DELETE FROM paid.total")
    assert refused.value.sqlite_errorname.startswith("SQLITE_READONLY")
    before = ledger.charges()
    store.put("plan", "1", table())
    store.get("plan", "1", wanted(10))
    assert ledger.charges() == before


def test_a_busy_or_closed_store_is_a_miss(path: Path, store: ReleaseStore) -> None:
    store.put("plan", "1", table())
    store._connection.execute("PRAGMA busy_timeout = 50")
    with contextlib.closing(sqlite3.connect(f"{path}-releases", isolation_level=None)) as tool:
        tool.execute("BEGIN IMMEDIATE")
        store.put("plan 2", "1", table())
        assert store.get("plan", "1", wanted(10)) == table()
        tool.execute("ROLLBACK")
    assert store.get("plan 2", "1", wanted(10)) is None
    store.put("plan 2", "1", table())
    assert store.get("plan 2", "1", wanted(10)) == table()
    store.close()
    assert store.get("plan", "1", wanted(10)) is None
    store.put("plan 3", "1", table())


def test_a_forked_child_misses(store: ReleaseStore) -> None:
    store.put("plan", "1", table())
    child = os.fork()
    if not child:
        missed = False
        try:
            missed = store.get("plan", "1", wanted(10)) is None
            store.close()
        finally:
            os._exit(0 if missed else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.get("plan", "1", wanted(10)) == table()


KNOWN = ReleaseFacts(("region",), {"n": "rows", "m": "", "s": "ages"}, exhaustive=True, scope="policy")


def test_a_release_is_found_by_what_it_measures(store: ReleaseStore) -> None:
    store.put("plan", "1", table(value=1), KNOWN)
    store.put("another", "1", table(value=2), KNOWN)
    store.put("nothing is known", "1", table())
    latest, earlier = store.related(["rows", "else"], "1", "policy", most=9)
    assert latest.facts == earlier.facts == KNOWN
    assert (latest.table, earlier.table) == (table(value=2), table(value=1))
    assert latest.number > earlier.number
    assert store.related(["ages"], "1", "policy", most=1) == (latest,)


@pytest.mark.parametrize(
    ("families", "version", "scope"),
    [
        (["else"], "1", "policy"),
        ([""], "1", "policy"),
        ([], "1", "policy"),
        (["rows"], "2", "policy"),
        (["rows"], "1", ""),
    ],
)
def test_nothing_is_found_of_other_families_data_or_policies(
    store: ReleaseStore, families: list[str], version: str, scope: str
) -> None:
    store.put("plan", "1", table(), KNOWN)
    assert store.related(families, version, scope, most=9) == ()


def test_what_another_ledger_paid_for_is_not_found_by_what_it_measures(
    path: Path, tmp_path: Path, store: ReleaseStore
) -> None:
    store.put("plan", "1", table(), KNOWN)
    other = tmp_path / "other"
    with Ledger.open(other, TOTAL):
        shutil.copy(f"{path}-releases", f"{other}-releases")
        with contextlib.closing(ReleaseStore.open(NOISES, other)) as opened:
            assert opened.related(["rows"], "1", "policy", most=9) == ()


def test_what_is_thrown_away_is_not_found(path: Path, store: ReleaseStore) -> None:
    with contextlib.closing(ReleaseStore.open(NOISES, path, capacity=1500)) as small:
        for number in range(20):
            small.put(f"plan {number}", "1", table(value=number), KNOWN)
        kept = small.related(["rows"], "1", "policy", most=99)
        assert 0 < len(kept) < 20
        assert [entry.table.statistics["n"][0] for entry in kept] == list(range(19, 19 - len(kept), -1))
    with contextlib.closing(sqlite3.connect(f"{path}-releases")) as connection:
        assert connection.execute("SELECT count(DISTINCT number) FROM measured").fetchone() == (len(kept),)


def test_facts_that_were_tampered_with_are_not_used(path: Path, store: ReleaseStore) -> None:
    store.put("plan", "1", table(), KNOWN)
    with contextlib.closing(sqlite3.connect(f"{path}-releases")) as connection:
        connection.execute("UPDATE release SET facts = replace(facts, 'rows', 'ages')")
        connection.commit()
    with contextlib.closing(ReleaseStore.open(NOISES, path)) as another:
        assert another.related(["rows"], "1", "policy", most=9) == ()


def test_a_store_of_the_former_format_is_begun_anew(path: Path, ledger: Ledger) -> None:
    with contextlib.closing(sqlite3.connect(f"{path}-releases")) as connection:
        connection.executescript("CREATE TABLE release (number INTEGER PRIMARY KEY) STRICT; PRAGMA user_version = 1")
    ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1, 10)), "q")
    with contextlib.closing(ReleaseStore.open(NOISES, path)) as opened:
        opened.put("plan", "1", table(), KNOWN)
        assert len(opened.related(["rows"], "1", "policy", most=9)) == 1


def test_what_older_versions_bought_as_one_is_read() -> None:
    """They wrote the one statistic that there was, and "" for none."""
    members = [["a", "s0", ["k"]], ["b", "s0", []]]
    found = _as_one("family", members, [["k"]], [])  # type: ignore[arg-type]
    assert found == BoughtTogether(("family",), (("a", ("s0",), ("k",)), ("b", ("s0",), ())), (("k",),))
    beside = _as_one("", [["a", "", []]], [], ["1", "0", "0"])  # type: ignore[list-item]
    assert beside == BoughtTogether((), (("a", (), ()),), (), (Fraction(1), Fraction(0), Fraction(0)))


def test_of_many_equal_releases_mostly_the_same_one_is_read(store: ReleaseStore) -> None:
    """The oldest that counts moves in steps; the latest hundred always count."""
    store.put("p", "v1", table(scale=3, value=-1))
    found = []
    for number in range(300):
        store.put("p", "v1", table(scale=10, value=number))
        kept = store.get("p", "v1", wanted(10))
        assert kept is not None
        (value,) = kept.statistics["n"]
        assert value == -1 or number - 164 < value <= max(0, number - 99)
        assert value == -1 or number >= 99
        found.append(value)
    assert len(set(found)) <= 6
