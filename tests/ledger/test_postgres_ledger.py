"""The ledger in PostgreSQL: cut connections, crashes, restarts, tampering, and two proxies; the rows are read by themselves."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from dpsql.accounting import ZCDP, Accountant
from dpsql.accounting.loss import PrivacyLoss
from dpsql.errors import BudgetExceeded, Error, OperationalError
from dpsql.ledger.charges import recorded
from dpsql.ledger.ledger import Due, Ledger
from tests.engines.postgres_server import Server, shared_server, start
from tests.ledger.charger import Charger
from tests.ledger.losses import cost, pure
from tests.ledger.reader import rows, violations
from tests.ledger.relay import Relay

MEMORY = "/dev/shm"  # noqa: S108
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


@contextlib.contextmanager
def durable_server() -> Iterator[Server]:
    """It waits for its disk, which is memory where there is such a one: a crash of a process is all we can cause."""
    with pytest.MonkeyPatch.context() as patch:
        if os.access(MEMORY, os.W_OK):
            patch.setattr(tempfile, "tempdir", MEMORY)
        started = start(**DURABLE)
    try:
        yield started
    finally:
        started.process.close()


@pytest.fixture
def url(server: Server) -> str:
    return server.process.url(server.database())


# --- what is admitted ---


def outcome(ledger: Ledger, who: str, price: Fraction) -> object:
    try:
        ledger.charge(who, cost(price), "q")
    except Error as error:
        return repr(error), error.sqlstate, error.hint
    return "charged"


def test_it_answers_as_a_file_does(url: str, tmp_path: Path) -> None:
    """The same charges, one after the other: the same are admitted, and the same is said of the others."""
    chance = random.Random(6)
    shares = {"ana": pure("0.4"), "bob": pure(1)}
    prices = ["0.1", "0.2", "0.05", "1/3", "1/7", "0.000000001", "1/1000000007"]
    questions = [(chance.choice(["ana", "bob", "o'brien"]), Fraction(chance.choice(prices))) for _ in range(40)]
    with Ledger.open(url, pure(1), shares) as there, Ledger.open(tmp_path / "here", pure(1), shares) as here:
        for who, price in questions:
            assert outcome(there, who, price) == outcome(here, who, price)
        for who in (None, "ana", "bob", "o'brien"):
            assert there.spent(who) == here.spent(who)
        assert [(c.analyst, c.loss) for c in there.charges()] == [(c.analyst, c.loss) for c in here.charges()]
        assert 5 < len(there.charges()) < 40
    assert violations(rows(url), [], Fraction(1), {"ana": Fraction("0.4")}) == []


def test_zcdp_fills_its_limit_exactly(url: str) -> None:
    accountant = Accountant(ZCDP, Fraction(1), Fraction(1, 10**6))
    with Ledger.open(url, accountant) as ledger:
        ledger.charge("ana", PrivacyLoss(rho=Fraction(1, 200), delta=Fraction(1, 10**8)), "q")
        rest = PrivacyLoss(rho=accountant.limit.rho - Fraction(1, 200))
        with pytest.raises(BudgetExceeded):
            ledger.charge("ana", rest + PrivacyLoss(rho=Fraction(1, 10**40)), "q")
        with pytest.raises(BudgetExceeded):
            ledger.charge("ana", PrivacyLoss(rho=Fraction(1, 10**9), delta=accountant.limit.delta), "q")
        ledger.charge("ana", rest, "q")
        assert ledger.spent().rho == accountant.limit.rho


def test_charges_that_wait_together_are_decided_in_their_order(url: str) -> None:
    shares = {"ana": pure("0.5")}
    asked = [(f"{'ana' if i % 3 else 'bob'}", Fraction(1 + i % 7, 40)) for i in range(60)]
    model: list[tuple[str, Fraction]] = []
    for who, price in asked:
        mine = sum((p for w, p in model if w == who), price)
        if sum((p for _, p in model), price) <= 1 and (who != "ana" or mine <= Fraction(1, 2)):
            model.append((who, price))
    with Ledger.open(url, pure(1), shares) as ledger:
        with holding(url):
            futures = [ledger.begin(who, [Due(cost(price), "q")]) for who, price in asked]
            time.sleep(0.05)
        released = [future.result()[0] for future in futures if future.exception() is None]
        assert all(isinstance(future.exception(), BudgetExceeded | None) for future in futures)
    found = rows(url)
    assert [(row.analyst, row.parts[0]) for row in found] == model
    assert violations(found, released, Fraction(1), {"ana": Fraction(1, 2)}) == []


def test_a_charge_is_read_back_as_it_was_made(url: str) -> None:
    nasty = "SELECT 'é\x00\ud800 ∑' -- %s %(ids)s \\ $1 ; DROP SCHEMA dpsql_ledger CASCADE; " + "x" * 20_000
    with Ledger.open(url, pure(1)) as ledger:
        first = ledger.charge("o'brien\\", cost("1/3"), nasty, ("clinic.patient", 'a"b,c', "'"))
        assert ledger.holds(first)
        assert not ledger.holds("")
        (charge,) = ledger.charges()
        assert (charge.analyst, charge.tables, charge.loss) == (
            "o'brien\\",
            ("clinic.patient", 'a"b,c', "'"),
            recorded(cost("1/3")),
        )
        assert charge.statement.startswith("SELECT 'é\ufffd? ∑' -- %s %(ids)s \\ $1 ; DROP SCHEMA")
        assert charge.time.tzinfo is not None
        assert ledger.extent() == (ledger.identity, 1)


# --- whose it is ---


def test_another_unit_or_accounting_is_refused_and_another_total_is_not(url: str) -> None:
    with Ledger.open(url, pure(1), unit="patient.id") as ledger:
        ledger.charge("ana", cost(1), "q")
    with pytest.raises(OperationalError, match=r"another privacy unit, patient.id, and the policy says row"):
        Ledger.open(url, pure(1), unit="row")
    with pytest.raises(OperationalError, match="another accounting, pure"):
        Ledger.open(url, Accountant(ZCDP, Fraction(1), Fraction(1, 10**6)), unit="patient.id")
    with Ledger.open(url, pure(2), {"eve": pure(1)}, unit="patient.id") as ledger:
        ledger.charge("eve", cost(1), "q")


def test_looking_makes_no_ledger(url: str) -> None:
    with pytest.raises(OperationalError, match="there is none yet"):
        Ledger.open(url, pure(1), create=False)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT FROM pg_namespace WHERE nspname = 'dpsql_ledger'").fetchall() == []


def test_two_that_start_together_make_one(url: str) -> None:
    opened: list[Ledger] = []
    threads = [threading.Thread(target=lambda: opened.append(Ledger.open(url, pure(1)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({ledger.identity for ledger in opened}) == 1
    assert len(opened) == 4
    for ledger in opened:
        ledger.close()


def test_a_server_that_does_not_wait_for_its_disk_is_refused() -> None:
    careless = shared_server()
    with pytest.raises(OperationalError, match="does not wait for its disk"):
        Ledger.open(careless.process.url(careless.database()), pure(1))


@pytest.mark.parametrize("place", ["password", "query"])
def test_no_error_tells_a_password(server: Server, place: str) -> None:
    secret = "p%40ss-wörd"  # noqa: S105
    where = f"127.0.0.1:{server.process.port}/nowhere"
    good = f"nobody:{secret}@{where}" if place == "password" else f"nobody@{where}?password={secret}"
    for url in (f"postgresql://{good}", f"postgresql://{good}{'&' if '?' in good else '?'}nonsense=1"):
        with pytest.raises(OperationalError) as raised:
            Ledger.open(url, pure(1), timeout=1)
        error: BaseException | None = raised.value
        while error is not None:
            assert [part for part in ("p%40ss", "p@ss", "wörd") if part in str(error)] == []
            error = error.__cause__ or error.__context__


# --- what goes wrong on the way ---


@pytest.fixture
def relay(server: Server, url: str) -> Iterator[tuple[Relay, str, str]]:
    """A relay, the ledger's URL through it, and without it."""
    passing = Relay(("127.0.0.1", server.process.port))
    through = url.replace(f":{server.process.port}/", f":{passing.port}/")
    yield passing, f"{through}?sslmode=disable&gssencmode=disable", url
    passing.close()


@pytest.mark.parametrize("how", ["answer lost", "message lost", "message late"])
def test_an_unknown_outcome_is_found_out_and_nothing_is_charged_twice(relay: tuple[Relay, str, str], how: str) -> None:
    passing, through, direct = relay
    with Ledger.open(through, pure(1), timeout=20) as ledger:
        released = [ledger.charge("ana", cost("1/10"), "q")]
        passing.next_message(how)
        released += ledger.charge_together("ana", [Due(cost("1/10"), "a"), Due(cost("1/10"), "b")])
        assert passing.done, "the message was not met"
        assert violations(rows(direct), released, Fraction(1)) == []
        assert len(rows(direct)) == 3
        if how == "message late":
            passing.deliver()
        released.append(ledger.charge("ana", cost("7/10"), "q"))
        with pytest.raises(BudgetExceeded):
            ledger.charge("ana", cost("1/1000"), "q")
        assert ledger.spent() == cost(1)
    assert violations(rows(direct), released, Fraction(1)) == []


def test_a_server_that_stays_away_is_told_and_its_return_is_noticed(relay: tuple[Relay, str, str]) -> None:
    passing, through, direct = relay
    with Ledger.open(through, pure(1), timeout=3) as ledger:
        ledger.charge("ana", cost("1/10"), "q")
        passing.refuse = True
        passing.next_message("answer lost")
        with pytest.raises(OperationalError, match="nothing was read") as raised:
            ledger.charge("ana", cost("1/10"), "q")
        assert raised.value.sqlstate == "58030"
        with pytest.raises(OperationalError):
            ledger.spent("ana") if passing.cut() else None
        passing.refuse = False
        ledger.charge("ana", cost("8/10"), "q")
        assert ledger.spent() == cost(1), "what was charged without an answer stays charged"
    assert len(rows(direct)) == 3


def backends(server: Server) -> list[int]:
    with server.owner() as owner:
        found = owner.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'dpsql ledger'")
        return [pid for (pid,) in found]


def test_terminated_backends_cost_nothing(server: Server, url: str) -> None:
    released: list[str] = []
    with Ledger.open(url, pure(10**6), timeout=30) as ledger:
        stop = threading.Event()

        def work(name: str) -> None:
            while not stop.is_set():
                released.append(ledger.charge(name, cost("1/1000"), "q"))

        threads = [threading.Thread(target=work, args=(f"a{i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        with server.owner() as owner:
            for round_ in range(1, 15):
                while len(released) < 3 * round_:
                    time.sleep(0.005)
                owner.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpsql ledger'"
                )
        stop.set()
        for thread in threads:
            thread.join()
        assert ledger.spent() == cost(Fraction(len(released), 1000)), "every charge returned, and was made once"
    assert len(released) > 40
    assert violations(rows(url), released, Fraction(10**6)) == []


def test_a_crash_of_the_server_is_survived() -> None:
    """A backend dies of kill -9: the server ends all others, and recovers from its log."""
    with durable_server() as own:
        place = own.process.url(own.database())
        released: list[str] = []
        with Ledger.open(place, pure(10**6), timeout=60) as ledger:
            for _ in range(3):
                released += [ledger.charge("ana", cost("1/1000"), "q") for _ in range(5)]
                os.kill(backends(own)[0], signal.SIGKILL)
                released += [ledger.charge("ana", cost("1/1000"), "q") for _ in range(5)]
            assert ledger.spent() == cost(Fraction(30, 1000))
        assert violations(rows(place), released, Fraction(10**6)) == []


def kill_proxies(url: str, folder: Path, clients: int, kills: int) -> None:
    chance = random.Random(kills)
    running: list[Charger] = []
    every: list[Charger] = []
    try:
        for number in range(kills):
            while len(running) < clients:
                running.append(Charger(folder / f"{len(every)}.said", url, 10**6, "1/1000", threads=2))
                every.append(running[-1])
            victim = running.pop(chance.randrange(len(running)))
            end = time.monotonic() + 60
            while not victim.released() and time.monotonic() < end:
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.03))
            victim.kill()
            released = [name for one in every for name in one.released()]
            assert violations(rows(url), released, Fraction(10**6)) == []
            assert len(released) > number
    finally:
        for one in running:
            one.kill()
    with Ledger.open(url, pure(10**6)) as ledger:
        assert ledger.extent()[1] == len(rows(url))


@pytest.mark.quick
def test_killed_proxies_leave_nothing_unpaid(url: str, tmp_path: Path) -> None:
    kill_proxies(url, tmp_path, clients=2, kills=6)


@pytest.mark.campaign
def test_hundreds_of_killed_proxies_leave_nothing_unpaid(url: str, tmp_path: Path) -> None:
    kill_proxies(url, tmp_path, clients=8, kills=250)


def test_two_proxies_share_one_budget(url: str, tmp_path: Path) -> None:
    Ledger.open(url, pure(1), unit="t.id").close()
    prices = [["1/7", "1/200"], ["1/11", "1/150"]]
    with holding(url):
        proxies = [Charger(tmp_path / f"{i}.said", url, 1, *some, threads=3) for i, some in enumerate(prices)]
        end = time.monotonic() + 60
        while waiting(url) < len(proxies) and time.monotonic() < end:
            time.sleep(0.02)
    for proxy in proxies:
        proxy.process.join()
        assert proxy.process.exitcode == 0
        assert proxy.complaints() == []
    released = [name for proxy in proxies for name in proxy.released()]
    found = rows(url)
    assert violations(found, released, Fraction(1)) == []
    assert {row.id for row in found} == set(released)
    assert {row.analyst for row in found} == {"0", "1"}
    assert sum(row.parts[0] for row in found) > 1 - Fraction(1, 200), "they went on until the smallest did not fit"


def waiting(url: str) -> int:
    """How many connections to the ledger wait for a lock."""
    with psycopg.connect(url) as tool:
        (found,) = tool.execute("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").fetchone() or (0,)  # fmt: skip
    return int(found)


@contextlib.contextmanager
def holding(url: str) -> Iterator[None]:
    with psycopg.connect(url) as tool:
        tool.execute("SELECT FROM dpsql_ledger.total WHERE analyst = '' FOR UPDATE")
        yield
        tool.rollback()


def test_a_busy_ledger_refuses_after_its_timeout_and_serves_again(url: str) -> None:
    with Ledger.open(url, pure(1), timeout=2) as ledger:
        with holding(url):
            before = time.monotonic()
            with pytest.raises(OperationalError, match="busy; nothing was charged") as raised:
                ledger.charge("ana", cost("1/10"), "q")
            assert 0.2 < time.monotonic() - before < 60
            assert raised.value.sqlstate == "53300"
            assert ledger.spent() == PrivacyLoss(), "reading does not wait"
        ledger.charge("ana", cost("1/10"), "q")
        assert ledger.spent() == cost("1/10")


def test_a_server_that_says_no_charges_nothing_and_serves_again(url: str) -> None:
    with Ledger.open(url, pure(1)) as ledger, psycopg.connect(url, autocommit=True) as tool:
        ledger.charge("ana", cost("1/10"), "q")
        # Out of disk, as the server says it.
        tool.execute(
            "CREATE FUNCTION dpsql_ledger.no() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END$$;"
            "CREATE TRIGGER no BEFORE INSERT ON dpsql_ledger.charge EXECUTE FUNCTION dpsql_ledger.no()"
        )
        with pytest.raises(OperationalError, match="nothing was read") as raised:
            ledger.charge("ana", cost("1/10"), "q")
        assert "extend" not in str(raised.value)
        tool.execute("DROP TRIGGER no ON dpsql_ledger.charge")
        ledger.charge("ana", cost("9/10"), "q")
    assert [row.parts[0] for row in rows(url)] == [Fraction("0.1"), Fraction("0.9")]


# --- ledgers that cannot be trusted ---

FREE = "ALTER TABLE dpsql_ledger.charge DISABLE TRIGGER ALL; "


def tampered(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as tool:
        tool.execute(
            statement.replace("charge ", "dpsql_ledger.charge ").replace("total ", "dpsql_ledger.total ")
            if "dpsql" not in statement
            else statement
        )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE total SET epsilon = 0.1",
        "UPDATE total SET epsilon = 0.1 WHERE analyst = 'ana'",
        "UPDATE total SET charges = 2",
        "DELETE FROM total WHERE true",
        "INSERT INTO total (analyst, epsilon, rho, delta, charges) VALUES ('bob', 0, 0, 0, 1)",
        FREE + "UPDATE dpsql_ledger.charge SET epsilon = 0 WHERE number = 2",
        FREE + "UPDATE dpsql_ledger.charge SET analyst = 'bob' WHERE number = 2",
        FREE + "DELETE FROM dpsql_ledger.charge WHERE number = 2",
        FREE
        + "DELETE FROM dpsql_ledger.charge WHERE number = 1; UPDATE dpsql_ledger.total SET epsilon = 0.2, charges = 2",
        "DROP TABLE dpsql_ledger.total",
        "DELETE FROM dpsql_ledger.fact",
        "UPDATE dpsql_ledger.fact SET value = '2' WHERE fact = 'format'",
    ],
)
def test_a_ledger_that_does_not_add_up_is_not_opened(url: str, statement: str) -> None:
    with Ledger.open(url, pure(1)) as ledger:
        for _ in range(3):
            ledger.charge("ana", cost("1/10"), "q")
    tampered(url, statement)
    with pytest.raises(OperationalError, match="cannot be used"):
        Ledger.open(url, pure(1))


@pytest.mark.parametrize(
    "statement", ["UPDATE charge SET epsilon = 0", "DELETE FROM charge WHERE true", "TRUNCATE dpsql_ledger.charge"]
)
def test_charges_are_only_added(url: str, statement: str) -> None:
    with Ledger.open(url, pure(1)) as ledger:
        ledger.charge("ana", cost("1/10"), "q")
        with pytest.raises(psycopg.errors.RaiseException, match="only added"):
            tampered(url, statement)
        assert ledger.spent() == cost("1/10")


@pytest.mark.parametrize(
    "statement",
    [
        FREE + "DELETE FROM dpsql_ledger.charge; UPDATE dpsql_ledger.total SET epsilon = 0, charges = 0",
        "UPDATE dpsql_ledger.fact SET value = 'another' WHERE fact = 'identity'",
        "DROP SCHEMA dpsql_ledger CASCADE",
    ],
    ids=["restored from a backup", "another ledger", "gone"],
)
def test_a_ledger_that_changes_under_us_stops(url: str, statement: str) -> None:
    with Ledger.open(url, pure(1)) as ledger:
        ledger.charge("ana", cost("1/10"), "q")
        tampered(url, statement)
        for _ in range(2):
            with pytest.raises(OperationalError, match="nothing is answered until its owner"):
                ledger.charge("ana", cost("1/10"), "q")
