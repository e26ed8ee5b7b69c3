"""The ledger against many processes, kill -9, a full disk, tampering, and a model of what it should admit."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import IO

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpsql.accounting import ZCDP, Accountant
from dpsql.accounting.loss import PrivacyLoss
from dpsql.errors import BudgetExceeded, InterfaceError, InternalError, NotSupportedError, OperationalError
from dpsql.ledger.charges import EVERYBODY, NOTHING, Admitted, Charge, Standing, Total
from dpsql.ledger.ledger import Due, Ledger, recorded
from dpsql.ledger.sqlite_journal import SQLiteJournal
from tests.ledger.losses import cost, pure

MILLIONTH = Fraction(1, 10**6)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


# --- other processes ---

CHARGER = """
import os, sys, resource, signal
from fractions import Fraction
from dpsql.accounting import Accountant, Accounting, PURE, ZCDP
from dpsql.errors import BudgetExceeded, OperationalError
from dpsql.ledger import Ledger
from dpsql.accounting.loss import PrivacyLoss
path, total, analyst, *prices = sys.argv[1:]
limit = int(os.environ.get("LARGEST_FILE", "0"))
ledger = Ledger.open(path, Accountant(PURE, Fraction(total), Fraction(0)), timeout=60)
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    while True:
        for price in prices:
            charge = ledger.charge(analyst, PrivacyLoss(epsilon=Fraction(price)), "SELECT count(*) FROM t", ("t",))
            os.write(1, charge.encode() + b"\\n")   # the release: nothing of it may precede the charge
except BudgetExceeded:
    pass
except OperationalError as error:
    print(repr(error.message), error.sqlstate, file=sys.stderr)
    try:
        ledger.charge(analyst, PrivacyLoss(epsilon=Fraction(1, 10**9)), "again")
    except OperationalError as again:
        print(again.sqlstate, file=sys.stderr)
"""


def charger(path: Path, total: object, analyst: str, *prices: object, **extra: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHARGER, str(path), str(total), analyst, *map(str, prices)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | extra,
    )


def whole_lines(stream: IO[str] | None) -> list[str]:
    assert stream is not None
    return [line.strip() for line in stream if line.endswith("\n")]


def entries(path: Path) -> list[tuple[str, Fraction]]:
    """What an independent reader, which knows SQLite alone, sees."""
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=30)) as reader:
        return [
            (name, Fraction(price)) for name, price in reader.execute("SELECT id, epsilon FROM charge ORDER BY number")
        ]


def test_eight_processes_admit_exactly_the_budget(path: Path) -> None:
    processes = [charger(path, 1, f"analyst {i}", "1/800") for i in range(8)]
    seen = 0
    while any(process.poll() is None for process in processes):
        with contextlib.suppress(sqlite3.Error):  # before the first of them has made the table
            snapshot = entries(path)
            assert sum(price for _, price in snapshot) <= 1
            assert len(snapshot) >= seen
            seen = len(snapshot)
        time.sleep(0.01)
    reported = [line for process in processes for line in whole_lines(process.stdout)]
    assert [process.returncode for process in processes] == [0] * 8
    assert len(reported) == len(set(reported)) == 800
    assert set(reported) == {name for name, _ in entries(path)}
    with Ledger.open(path, pure(1)) as ledger:
        assert ledger.spent() == cost(1)
        assert sum((ledger.spent(f"analyst {i}").epsilon for i in range(8)), Fraction(0)) == 1


def test_processes_with_different_prices_never_pass_the_limit(path: Path) -> None:
    prices = [("1/7", "1/1000"), ("3/100", "1/500"), ("0.01", "0.001"), ("1/3", "1/900")]
    processes = [charger(path, 2, f"analyst {i}", *some) for i, some in enumerate(prices)]
    reported = sum(len(whole_lines(process.stdout)) for process in processes)
    final = entries(path)
    assert reported == len(final) > 4
    prefixes = list(itertools.accumulate(price for _, price in final))
    assert all(total <= 2 for total in prefixes)
    assert prefixes[-1] > 2 - Fraction(1, 3), "each process went on until its own price did not fit"


def test_a_charge_is_in_the_files_when_it_returns(path: Path, tmp_path: Path) -> None:
    """The files as they are after each charge, without the processes' shared memory, hold that charge."""
    with Ledger.open(path, pure(1)) as ledger:
        for number in range(5):
            charge = ledger.charge("ana", cost("1/100"), "q")
            copy = tmp_path / f"copy{number}"
            shutil.copy(path, copy)
            shutil.copy(f"{path}-wal", f"{copy}-wal")
            with Ledger.open(copy, pure(1)) as found:
                assert found.holds(charge)
                assert found.spent() == ledger.spent()


def test_every_commit_waits_for_the_disk(path: Path) -> None:
    journal = SQLiteJournal(str(path), {"accounting": "pure"}, 1)
    settings_ = [journal._writer.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    journal.close()
    assert settings_ == ["wal", 2]


@pytest.mark.quick
def test_a_full_disk_stops_the_ledger(path: Path) -> None:
    """Every answer before it is paid for; afterwards nothing is served, and SQLite's text is not shown."""
    process = charger(path, 10**6, "ana", "1/1000", LARGEST_FILE=str(1_000_000))
    reported = whole_lines(process.stdout)
    assert process.stderr is not None
    complaint = process.stderr.read()
    process.wait()
    assert (
        "'the ledger cannot be written; nothing is answered until its owner has seen to it' 58030\n58030" in complaint
    )
    assert "Traceback" not in complaint
    with Ledger.open(path, pure(10**6)) as ledger:
        names = [charge.id for charge in ledger.charges(limit=10**6)]
    assert 10 < len(reported) <= len(names)
    assert set(reported) <= set(names)


def test_a_commit_that_may_have_failed_is_spent_and_nothing_follows(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    writing = SQLiteJournal.writing

    @contextlib.contextmanager
    def uncertain(self: SQLiteJournal) -> Iterator[None]:
        with writing(self):
            yield
        raise sqlite3.OperationalError("disk I/O error")

    with Ledger.open(path, pure(1)) as ledger:
        ledger.charge("ana", cost("1/10"), "q")
        monkeypatch.setattr(SQLiteJournal, "writing", uncertain)
        with pytest.raises(OperationalError, match="cannot be written") as raised:
            ledger.charge("ana", cost("1/10"), "q")
        monkeypatch.undo()
        assert isinstance(raised.value.__cause__, sqlite3.OperationalError)
        assert "disk I/O" not in str(raised.value)
        assert "disk I/O" in caplog.text
        with pytest.raises(OperationalError, match="cannot be written"):
            ledger.charge("ana", cost("1/10"), "q")
        assert ledger.spent() == cost("2/10")


# --- threads and waiting ---


def test_threads_share_the_budget_and_each_gets_its_own_answer(path: Path) -> None:
    admitted: list[str] = []
    refused: list[BudgetExceeded] = []

    def work(ledger: Ledger, name: str) -> None:
        for _ in range(50):
            try:
                admitted.append(ledger.charge(name, cost("1/250"), name))
            except BudgetExceeded as error:
                refused.append(error)

    with Ledger.open(path, pure(1)) as ledger:
        threads = [threading.Thread(target=work, args=(ledger, f"analyst {i}")) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(admitted) == len(set(admitted)) == 250
        assert len(refused) == len({id(error) for error in refused}) == 550
        owners = {charge.id: charge for charge in ledger.charges()}
        assert set(owners) == set(admitted)
        assert all(charge.analyst == charge.statement for charge in owners.values())


def test_waiting_charges_are_committed_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[int] = []
    add = SQLiteJournal.add
    monkeypatch.setattr(
        SQLiteJournal, "add", lambda self, charges, totals: (groups.append(len(charges)), add(self, charges, totals))
    )
    with Ledger.open(path, pure(1)) as ledger:
        with holding(path):
            begun = [ledger.begin("ana", [Due(cost("1/100"), "q")]) for _ in range(20)]
        for one in begun:
            one.result()
        assert ledger.spent() == cost("1/5")
    assert sum(groups) == 20
    assert len(groups) <= 3


@contextlib.contextmanager
def holding(path: Path) -> Iterator[None]:
    with open(f"{path}-lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def holding_with_a_tool(path: Path) -> Iterator[None]:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as tool:
        tool.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.parametrize("hold", [holding, holding_with_a_tool])
def test_a_busy_ledger_refuses_after_its_timeout_and_serves_again(path: Path, hold: object) -> None:
    assert callable(hold)
    with Ledger.open(path, pure(1), timeout=0.2) as ledger:
        with hold(path):
            before = time.monotonic()
            with pytest.raises(OperationalError, match="busy") as raised:
                ledger.charge("ana", cost("1/10"), "q")
            assert 0.1 < time.monotonic() - before < 60
            assert raised.value.sqlstate == "53300"
            assert ledger.spent() == PrivacyLoss(), "reading does not wait"
        ledger.charge("ana", cost("1/10"), "q")
        assert ledger.spent() == cost("1/10")


def test_a_forked_child_cannot_charge(path: Path) -> None:
    with Ledger.open(path, pure(1)) as ledger:
        ledger.charge("ana", cost("1/10"), "q")
        child = os.fork()
        if not child:
            status = 1
            signal.alarm(60)  # or it would wait for a writer that it does not have
            try:
                ledger.charge("ana", cost("1/10"), "q")
            except InterfaceError:
                with contextlib.suppress(InterfaceError):
                    ledger.spent()
                    os._exit(2)
                ledger.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        ledger.charge("ana", cost("1/10"), "q")
        assert ledger.spent() == cost("1/5")


def test_closing_finishes_what_waits_and_then_refuses(path: Path) -> None:
    ledger = Ledger.open(path, pure(1))
    with holding(path):
        begun = ledger.begin("ana", [Due(cost("1/10"), "q")])
        closing = threading.Thread(target=ledger.close)
        closing.start()
        time.sleep(0.05)
    begun.result()
    closing.join()
    assert len(entries(path)) == 1
    with pytest.raises(InterfaceError, match="closed"):
        ledger.charge("ana", cost("1/10"), "q")
    with pytest.raises(OperationalError, match="cannot be read"):
        ledger.spent()
    ledger.close()


# --- what is admitted, and what is recorded ---

PRICES = st.sampled_from(["0.1", "0.2", "0.05", "0.005", "1/3", "1/7", "0.3", "0.000000001"]).map(Fraction)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["ana", "bob", "eve"]), PRICES, st.booleans()), max_size=25))
def test_it_admits_what_a_list_and_a_sum_admit(
    tmp_path_factory: pytest.TempPathFactory, questions: list[tuple[str, Fraction, bool]]
) -> None:
    path = tmp_path_factory.mktemp("model") / "ledger"
    shares = {"ana": pure("0.4"), "bob": pure(1)}
    model: list[tuple[str, Fraction]] = []
    ledger = Ledger.open(path, pure(1), shares)
    for who, price, reopen in questions:
        exact = recorded(cost(price)).epsilon
        mine = sum((p for w, p in model if w == who), exact)
        everybody = sum((p for _, p in model), exact)
        if everybody <= 1 and (who not in shares or mine <= shares[who].epsilon):
            assert ledger.charge(who, cost(price), "q")
            model.append((who, exact))
        else:
            with pytest.raises(BudgetExceeded):
                ledger.charge(who, cost(price), "q")
        if reopen:
            ledger.close()
            ledger = Ledger.open(path, pure(1), shares)
    assert ledger.spent().epsilon == sum(p for _, p in model)
    assert [(c.analyst, c.loss.epsilon) for c in reversed(ledger.charges())] == model
    ledger.close()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.fractions(0, Fraction(1, 50)), st.fractions(0, MILLIONTH / 9)), max_size=12))
def test_units_decide_as_fractions_do(losses: list[tuple[Fraction, Fraction]]) -> None:
    accountant = Accountant(ZCDP, Fraction(1), MILLIONTH)
    admission = Admitted(lambda name: NOTHING, {EVERYBODY: (accountant,)})
    spent = PrivacyLoss()
    for rho, delta in [*losses, (Fraction(1, 10**40), Fraction(0))]:
        loss = recorded(PrivacyLoss(rho=rho, delta=delta))
        (refused,) = admission.decide([[Charge("", datetime.now(UTC), "ana", loss, "", ())]])
        assert (refused is None) == accountant.fits(spent, loss)
        assert refused in (None, (Standing(EVERYBODY, accountant, spent),))
        spent = spent if refused else spent + loss
    assert admission.totals()["ana"] == admission.totals()[EVERYBODY] == Total(spent, len(admission.admitted))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.lists(st.fractions(0, Fraction(1, 9)), min_size=1, max_size=3), st.sampled_from(["ana", "bob"])
            ),
            min_size=1,
            max_size=6,
        ),
        max_size=5,
    )
)
@example([[([Fraction(3, 10)], "ana"), ([Fraction(3, 10)], "ana"), ([Fraction(3, 10)], "bob")]])
def test_what_waits_together_is_decided_as_one_after_the_other(
    batches: list[list[tuple[list[Fraction], str]]],
) -> None:
    limits = {EVERYBODY: (pure(1),), "ana": (pure("0.4"),)}
    together, apart = (Admitted(lambda name: NOTHING, limits) for _ in range(2))
    spent = dict.fromkeys((EVERYBODY, "ana", "bob"), PrivacyLoss())
    for batch in batches:
        groups = [
            [Charge("", datetime.now(UTC), who, recorded(cost(price)), "", ()) for price in prices]
            for prices, who in batch
        ]
        decided = together.decide(groups)
        assert decided == [answer for group in groups for answer in apart.decide([group])]
        assert together.admitted == apart.admitted
        for group, refused in zip(groups, decided, strict=True):
            concerned = (EVERYBODY, group[0].analyst)
            more = sum((charge.loss for charge in group), PrivacyLoss())
            fits = all(one.fits(spent[name], more) for name in concerned for one in limits.get(name, ()))
            assert fits == (refused is None)
            spent |= {name: spent[name] + more for name in concerned} if fits else {}
        # Who has asked and was refused has a total, and it is the one that was there.
        assert {n: t for n, t in together.totals().items() if t.charges} == {
            n: t for n, t in apart.totals().items() if t.charges
        }


def test_zcdp_fills_its_limit_exactly(path: Path) -> None:
    accountant = Accountant(ZCDP, Fraction(1), MILLIONTH)
    with Ledger.open(path, accountant) as ledger:
        for _ in range(4):
            ledger.charge("ana", PrivacyLoss(rho=Fraction(1, 200), delta=MILLIONTH / 100), "q")
        rest = PrivacyLoss(accountant.limit.epsilon, accountant.limit.rho - Fraction(4, 200))
        with pytest.raises(BudgetExceeded):
            ledger.charge("ana", rest + PrivacyLoss(rho=Fraction(1, 10**40)), "q")
        ledger.charge("ana", rest, "q")
        assert ledger.spent().rho == accountant.limit.rho
        assert accountant.epsilon_of(ledger.spent()) == 1


def test_losses_round_up_and_stay_short() -> None:
    for loss in (Fraction(1, 3), Fraction(2, 7**30), Fraction(1, 10**60), Fraction(1, 200)):
        kept = recorded(PrivacyLoss(loss, loss, loss))
        assert kept.epsilon == kept.rho == kept.delta
        assert 0 <= kept.epsilon - loss < Fraction(1, 10**40)
        assert kept.epsilon.denominator <= 10**40


def test_a_refusal_says_what_is_left_and_its_offer_fits(path: Path) -> None:
    with Ledger.open(path, pure(1), {"ana": pure("0.5")}) as ledger:
        ledger.charge("ana", cost("0.37654321"), "q")
        with pytest.raises(BudgetExceeded) as raised:
            ledger.charge("ana", cost("0.2"), "q")
        assert raised.value.sqlstate == "53400"
        assert raised.value.message == (
            "this statement does not fit into this analyst's share of the privacy budget: "
            "75.4 % of it is spent (ε = 0.376544 of 0.5)"
        )
        assert raised.value.hint == "the largest price that still fits is 24.6 % of it (ε = 0.123456)"
        ledger.charge("ana", cost("0.123456"), "q")
        ledger.charge("bob", cost("0.4"), "q")
        with pytest.raises(BudgetExceeded, match=r"the privacy budget: 90 % of it is spent \(ε = 0.9.* of 1\)"):
            ledger.charge("bob", cost("0.2"), "q")
        ledger.charge("bob", cost(1 - ledger.spent().epsilon), "q")
        with pytest.raises(BudgetExceeded, match="nothing is left"):
            ledger.charge("bob", cost("0.0001"), "q")


def test_a_share_is_capped_by_the_total(path: Path) -> None:
    with Ledger.open(path, pure(1), {"ana": pure(5)}) as ledger:
        with pytest.raises(BudgetExceeded, match=r"largest price that still fits is 100 % of it \(ε = 1\)"):
            ledger.charge("ana", cost(2), "q")
        ledger.charge("ana", cost(1), "q")


def test_delta_that_is_gone_is_named(path: Path) -> None:
    accountant = Accountant(ZCDP, Fraction(1), MILLIONTH)
    with Ledger.open(path, accountant) as ledger:
        ledger.charge("ana", PrivacyLoss(rho=Fraction(1, 1000), delta=accountant.limit.delta), "q")
        with pytest.raises(BudgetExceeded, match="group by columns whose values are declared"):
            ledger.charge("ana", PrivacyLoss(rho=Fraction(1, 1000), delta=Fraction(1, 10**12)), "q")
        ledger.charge("ana", PrivacyLoss(rho=Fraction(1, 1000)), "q")


def test_a_charge_is_read_back_as_it_was_made(path: Path) -> None:
    nasty = "SELECT 'é\x00\ud800 ∑' -- " + "x" * 20_000
    with Ledger.open(path, pure(1)) as ledger:
        first = ledger.charge("o'brien \udc00", cost("1/10"), nasty, ("clinic.patient", 'a"b,c'))
        second = ledger.charge("bob", cost("1/10"), "q")
        assert [charge.id for charge in ledger.charges()] == [second, first]
        assert [charge.id for charge in ledger.charges(limit=1)] == [second]
        (charge,) = ledger.charges("o'brien \udc00"[:-1] + "?")
        assert charge.tables == ("clinic.patient", 'a"b,c')
        assert charge.loss == cost("1/10")
        assert charge.statement.startswith("SELECT 'é\x00? ∑'")
        assert len(charge.statement) < 11_000
        assert "sha256" in charge.statement
        assert charge.time.tzinfo is not None
        assert ledger.holds(first)
        assert not ledger.holds("another")
        assert not ledger.holds("")


def test_a_loss_of_nothing_is_not_recorded(path: Path) -> None:
    with Ledger.open(path, pure(1)) as ledger:
        assert ledger.charge("ana", PrivacyLoss(), "SELECT 1") == ""
        assert ledger.charges() == ()


@pytest.mark.parametrize("loss", [PrivacyLoss(rho=Fraction(1, 10)), cost("1/10") + PrivacyLoss(rho=Fraction(1, 10))])
def test_a_loss_of_another_kind_is_our_bug(path: Path, loss: PrivacyLoss) -> None:
    with Ledger.open(path, pure(1)) as ledger:
        with pytest.raises(InternalError):
            ledger.charge("ana", loss, "q")
        assert ledger.charges() == ()
        ledger.charge("ana", cost("1/10"), "q")


# --- files that cannot be trusted ---


def tampered(path: Path, *statements: str) -> None:
    with Ledger.open(path, pure(1)) as ledger:
        for _ in range(3):
            ledger.charge("ana", cost("1/10"), "q")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as tool:
        for statement in statements:
            tool.execute(statement)


FREE = ("DROP TRIGGER charge_stays", "DROP TRIGGER charge_stays_in")


@pytest.mark.parametrize(
    "statements",
    [
        ("UPDATE total SET epsilon = '1/10'",),
        ("UPDATE total SET epsilon = '1/10' WHERE analyst = ''",),
        ("UPDATE total SET epsilon = '1/10' WHERE analyst = 'ana'",),
        ("UPDATE total SET charges = 2",),
        ("UPDATE total SET delta = '1/10'",),
        ("DELETE FROM total",),
        ("INSERT INTO total (analyst, epsilon, rho, delta, charges) VALUES ('bob', '0', '0', '0', 0)",),
        ("UPDATE total SET curve = '1/10'",),
        ("UPDATE total SET epsilon = 'nan'",),
        ("UPDATE total SET epsilon = '-3/10'",),
        ("UPDATE total SET epsilon = '1/0'",),
        (*FREE, "UPDATE charge SET epsilon = '0' WHERE number = 2"),
        (*FREE, "UPDATE charge SET analyst = 'bob' WHERE number = 2"),
        (*FREE, "DELETE FROM charge WHERE number = 2"),
        (*FREE, "DELETE FROM charge WHERE number = 1", "UPDATE total SET epsilon = '1/5', charges = 2"),
        ("DROP TABLE total",),
        ("DELETE FROM ledger",),
        ("UPDATE ledger SET value = '2' WHERE fact = 'format'",),
        ("UPDATE ledger SET value = 'zcdp' WHERE fact = 'accounting'",),
    ],
    ids=" & ".join,
)
def test_a_ledger_that_does_not_add_up_is_not_opened(path: Path, statements: tuple[str, ...]) -> None:
    tampered(path, *statements)
    with pytest.raises(OperationalError, match="cannot be used") as raised:
        Ledger.open(path, pure(1))
    assert raised.value.sqlstate == "58030"


@pytest.mark.parametrize("statement", ["UPDATE charge SET epsilon = '0'", "DELETE FROM charge"])
def test_charges_are_only_added(path: Path, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="only added"):
        tampered(path, statement)


def test_files_of_other_kinds_are_refused(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"this is a text file, quite long enough to have a header" * 100)
    other = tmp_path / "other.sqlite"
    with contextlib.closing(sqlite3.connect(other)) as tool:
        tool.execute("CREATE TABLE t (x)")
    for file in (path, other, tmp_path, Path("/proc/no-such/ledger"), tmp_path / "no" / "such" / "directory"):
        before = file.read_bytes() if file.is_file() else b""
        with pytest.raises(OperationalError, match="cannot be used"):
            Ledger.open(f"sqlite:{file}", pure(1))
        assert (file.read_bytes() if file.is_file() else b"")[200:] == before[200:]


def test_an_empty_file_is_not_a_new_ledger(path: Path) -> None:
    path.touch()
    with pytest.raises(OperationalError, match="the file is empty"):
        Ledger.open(path, pure(1))
    path.unlink()
    Path(f"{path}-wal").write_bytes(b"of a ledger that was taken away")
    with pytest.raises(OperationalError, match="its log is there without it"):
        Ledger.open(path, pure(1))
    assert not path.exists()


def test_what_a_crash_left_of_a_new_ledger_is_no_hindrance(path: Path) -> None:
    Path(f"{path}-new").write_bytes(b"half of it")
    with Ledger.open(path, pure(1), create=True) as ledger:
        ledger.charge("ana", cost("1/10"), "q")
    assert len(entries(path)) == 1
    assert not Path(f"{path}-new").exists()


def test_looking_makes_no_ledger(path: Path) -> None:
    with pytest.raises(OperationalError, match="there is none yet"):
        Ledger.open(path, pure(1), create=False)
    assert list(path.parent.iterdir()) == []


def test_a_ledger_is_of_one_privacy_unit_for_ever(path: Path) -> None:
    """The total and the analysts may change; whom it protects may not. One without a unit gets the first that comes."""
    Ledger.open(path, pure(1)).close()
    with Ledger.open(path, pure(1), unit="patient.id") as ledger:
        ledger.charge("ana", cost(1), "q")
    with pytest.raises(OperationalError, match=r"begun with another privacy unit, patient.id, and the policy says row"):
        Ledger.open(path, pure(1), unit="row")
    with Ledger.open(path, pure(2), {"eve": pure(1)}, unit="patient.id") as ledger:
        ledger.charge("eve", cost(1), "q")
        with pytest.raises(BudgetExceeded):
            ledger.charge("bob", cost("1/1000"), "q")


def test_a_torn_page_is_noticed(path: Path) -> None:
    tampered(path)
    damaged = bytearray(path.read_bytes())
    at = damaged.rindex(b"1/10")
    damaged[at : at + 4] = b"0/10"
    path.write_bytes(damaged)
    with pytest.raises(OperationalError, match="not the sums"):
        Ledger.open(path, pure(1))


def test_another_accounting_is_refused(path: Path) -> None:
    Ledger.open(path, pure(1)).close()
    with pytest.raises(OperationalError, match="another accounting"):
        Ledger.open(path, Accountant(ZCDP, Fraction(1), MILLIONTH))
    with pytest.raises(ValueError, match="share"):
        Ledger.open(path, pure(1), {"ana": Accountant(ZCDP, Fraction(1), MILLIONTH)})


@pytest.mark.parametrize(
    "replace", [os.unlink, lambda path: shutil.copy(path, f"{path}2") and os.replace(f"{path}2", path)]
)
def test_a_file_that_is_taken_away_stops_the_ledger(path: Path, replace: object) -> None:
    assert callable(replace)
    with Ledger.open(path, pure(1)) as ledger:
        ledger.charge("ana", cost("1/10"), "q")
        replace(path)
        for _ in range(2):
            with pytest.raises(OperationalError, match="cannot be written"):
                ledger.charge("ana", cost("1/10"), "q")


def test_a_backup_that_is_restored_under_an_open_ledger_stops_it(path: Path, tmp_path: Path) -> None:
    """SQLite restores into the same file: its charges are fewer than they were."""
    with Ledger.open(path, pure(1)) as ledger, contextlib.closing(sqlite3.connect(tmp_path / "backup")) as backup:
        ledger.charge("ana", cost("1/10"), "q")
        with contextlib.closing(sqlite3.connect(path)) as tool:
            tool.backup(backup)
        ledger.charge("ana", cost("1/10"), "q")
        with contextlib.closing(sqlite3.connect(path)) as tool:
            backup.backup(tool)
        with pytest.raises(OperationalError, match="cannot be written"):
            ledger.charge("ana", cost("1/10"), "q")


def test_other_databases_are_named_as_not_available() -> None:
    with pytest.raises(NotSupportedError, match="mysql"):
        Ledger.open("mysql://localhost/ledger", pure(1))


def test_memory_is_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that SQLite would keep in memory is the name of a file here."""
    monkeypatch.chdir(tmp_path)
    with Ledger.open("sqlite::memory:", pure(1)) as ledger:
        ledger.charge("ana", cost("1/10"), "q")
    assert len(entries(tmp_path / ":memory:")) == 1


def test_the_file_is_for_the_owner(path: Path) -> None:
    with Ledger.open(path, pure(1)) as ledger:
        ledger.charge("ana", cost("1/10"), "q")
        for file in (path, Path(f"{path}-wal"), Path(f"{path}-lock")):
            assert file.stat().st_mode & 0o077 == 0
