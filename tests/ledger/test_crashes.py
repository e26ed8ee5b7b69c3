"""The file of a ledger after kill -9, torn writes, a disk that fails and clocks that jump; the rows are read by themselves."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

import dpsql.ledger
from dpsql.accountant import Accountant, Accounting
from dpsql.errors import OperationalError
from dpsql.ledger import Ledger
from dpsql.loss import PrivacyLoss
from tests.ledger.charger import Charger
from tests.ledger.reader import Row, rows, violations

MEMORY = "/dev/shm"  # noqa: S108
MUCH = Fraction(10**6)


def pure(epsilon: Fraction | int | str) -> Accountant:
    return Accountant(Accounting.PURE, Fraction(epsilon), Fraction(0))


def cost(epsilon: Fraction | int | str) -> PrivacyLoss:
    return PrivacyLoss(epsilon=Fraction(epsilon))


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder whose disk is never waited for: thousands of crashes are played there."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    yield folder
    shutil.rmtree(folder)


# --- kill -9 ---


def kill_proxies(folder: Path, clients: int, kills: int) -> None:
    """After every kill, all that was ever released is charged; two of them also meet an end of the budget."""
    chance = random.Random(kills)
    path, running, every = folder / "ledger", list[Charger](), list[Charger]()
    total = Fraction(kills)
    try:
        for _ in range(kills):
            while len(running) < clients:
                running.append(Charger(folder / f"{len(every)}.said", path, total, "1/70", "1/1000", threads=2))
                every.append(running[-1])
            victim = running.pop(chance.randrange(len(running)))
            end = time.monotonic() + 60
            while not victim.released() and victim.process.is_alive() and time.monotonic() < end:
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.02))
            victim.kill()
            released = [name for one in every for name in one.released()]
            assert violations(rows(path), released, total) == []
            assert released
    finally:
        for one in running:
            one.kill()
    released = [name for one in every for name in one.released()]
    with Ledger.open(path, pure(total), unit="t.id") as ledger:
        assert ledger.extent()[1] == len(rows(path)) >= len(released) > kills
        ledger.charge("ana", cost("1/1000"), "q") if ledger.spent().epsilon < total - 1 else None


def test_after_every_kill_releases_are_charged(tmp_path: Path) -> None:
    kill_proxies(tmp_path, clients=3, kills=10)


@pytest.mark.campaign
def test_after_each_of_500_kills_under_8_clients_releases_are_charged(tmp_path: Path) -> None:
    kill_proxies(tmp_path, clients=8, kills=500)


# --- torn writes ---

TAIL = 4096


def written(folder: Path, charges: int = 6) -> tuple[Path, list[str], int]:
    """A ledger as it is on the disk, with its log; what was released for it; and how long the log was before the last."""
    path = folder / "live"
    with Ledger.open(path, pure(1)) as ledger:
        released = [ledger.charge("ana", cost("1/10"), "q") for _ in range(charges - 1)]
        before = os.path.getsize(f"{path}-wal")
        released.append(ledger.charge("ana", cost("1/10"), "q"))
        shutil.copy(path, folder / "torn")
        shutil.copy(f"{path}-wal", folder / "torn-wal")
    return folder / "torn", released, before


def torn(original: bytes, offset: int, how: str) -> bytes:
    """What a write that stopped at a byte leaves: nothing, zeros, what was there before, or another bit."""
    if how == "short":
        return original[:offset]
    if how == "zeros":
        return original[:offset] + bytes(len(original) - offset)
    if how == "noise":
        return original[:offset] + random.Random(offset).randbytes(len(original) - offset)
    return original[:offset] + bytes([original[offset] ^ 1 << offset % 8]) + original[offset + 1 :]


def opened(path: Path) -> list[Row] | None:
    """The rows of a ledger that is opened and verified; None where it is refused."""
    try:
        Ledger.open(path, pure(1)).close()
    except OperationalError:
        return None
    return rows(path)


def tear_the_log(folder: Path, step: int) -> None:
    """The last write to the log is torn: what was released before is charged, and what is read adds up."""
    original, released, before = written(folder)
    log = Path(f"{original}-wal").read_bytes()
    assert len(log) - before >= TAIL, "the last charge alone takes more than what is torn"
    complete = 0
    for how in ("short", "zeros", "noise", "flip"):
        for offset in range(len(log) - TAIL, len(log), step):
            copy = folder / "copy"
            shutil.copy(original, copy)
            Path(f"{copy}-wal").write_bytes(torn(log, offset, how))
            found = opened(copy)
            assert found is not None, "a torn log is what a crash leaves: it is served"
            assert violations(found, released[:-1], Fraction(1)) == [], (how, offset)
            complete += len(found) == len(released)
            for suffix in ("", "-wal", "-shm", "-lock"):
                Path(f"{copy}{suffix}").unlink(missing_ok=True)
    assert complete < 4 * TAIL / step, "nothing was torn"


def tear_the_file(folder: Path, step: int) -> None:
    """A page of the file is torn, when the log was moved into it: what is served is whole, or it is refused."""
    original, released, _ = written(folder)
    Ledger.open(original, pure(1)).close()
    file, copy = original.read_bytes(), folder / "copy"
    assert not Path(f"{original}-wal").exists()
    served = refused = 0
    for how, start in itertools.product(("short", "zeros", "noise", "flip"), range(0, len(file), TAIL)):
        last = start + TAIL == len(file)
        for offset in range(0, TAIL, step if last else 8 * step):
            page = torn(file[start : start + TAIL], offset, how)
            copy.write_bytes(file[:start] + page + (b"" if how == "short" else file[start + TAIL :]))
            found = opened(copy)
            if found is None:
                refused += 1
            else:
                served += 1
                # What is charged is summed, and names are not: one bit of an id can be another, at no loss of budget.
                known = [] if how == "flip" else released
                assert violations(found, known, Fraction(1)) == [], (how, start, offset)
                assert len(found) == len(released)
                assert sum(row.parts[0] for row in found) == Fraction(6, 10)
            for suffix in ("", "-wal", "-shm", "-lock"):
                Path(f"{copy}{suffix}").unlink(missing_ok=True)
    assert served
    assert refused


def test_a_torn_log_keeps_what_was_released(memory: Path) -> None:
    tear_the_log(memory, step=151)


def test_a_torn_file_is_whole_or_refused(memory: Path) -> None:
    tear_the_file(memory, step=307)


@pytest.mark.campaign
def test_a_log_torn_at_every_byte_keeps_what_was_released(memory: Path) -> None:
    tear_the_log(memory, step=1)


@pytest.mark.campaign
def test_a_file_torn_at_every_byte_is_whole_or_refused(memory: Path) -> None:
    tear_the_file(memory, step=1)


# --- a disk that fails ---

FAILING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
static int broken(void) { return access(getenv("BROKEN_DISK"), F_OK) == 0; }
static int full(void) { return access(getenv("FULL_DISK"), F_OK) == 0; }
int fsync(int fd) { if (broken()) { errno = EIO; return -1; } return ((int (*)(int)) dlsym(RTLD_NEXT, "fsync"))(fd); }
int fdatasync(int fd) { if (broken()) { errno = EIO; return -1; } return ((int (*)(int)) dlsym(RTLD_NEXT, "fdatasync"))(fd); }
#define WRITE(name, offset) ssize_t name(int fd, const void *b, size_t n, offset at) { \
    if (fd > 2 && full()) { errno = ENOSPC; return -1; } \
    return ((ssize_t (*)(int, const void *, size_t, offset)) dlsym(RTLD_NEXT, #name))(fd, b, n, at); }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)
"""

STEADY = """
import os, sys
from fractions import Fraction
from dpsql.accountant import Accountant, Accounting
from dpsql.errors import OperationalError
from dpsql.ledger import Ledger
from dpsql.loss import PrivacyLoss
path, trigger = sys.argv[1:]
ledger = Ledger.open(path, Accountant(Accounting.PURE, Fraction(100), Fraction(0)))
for number in range(20):
    if number == 10:
        open(trigger, "x").close()
    if number == 15:
        os.unlink(trigger)      # the disk is as good as new; nobody knows what is on it
    try:
        print(ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1, 10)), "q"), flush=True)
    except OperationalError as error:
        print("!", error.message, flush=True)
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library between a process and its disk."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("disk")
    (folder / "disk.c").write_text(FAILING)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "disk.so", folder / "disk.c", "-ldl"], check=True)
    return folder / "disk.so"


@pytest.mark.parametrize("kind", ["BROKEN_DISK", "FULL_DISK"])
def test_a_disk_that_fails_stops_the_ledger_until_it_is_opened_again(tmp_path: Path, failing: Path, kind: str) -> None:
    """Once a flush has failed, no later one says anything about what was written before it."""
    path = tmp_path / "ledger"
    triggers = {name: str(tmp_path / name) for name in ("BROKEN_DISK", "FULL_DISK")}
    done = subprocess.run(
        [sys.executable, "-c", STEADY, path, triggers[kind]],
        env=os.environ | triggers | {"LD_PRELOAD": str(failing), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    said = done.stdout.splitlines()
    released = [line for line in said if not line.startswith("!")]
    assert len(said) == 20
    assert said[10:] == ["! the ledger cannot be written; nothing is answered until its owner has seen to it"] * 10
    assert len(released) == 10
    assert violations(rows(path), released, Fraction(100)) == []
    with Ledger.open(path, pure(100)) as ledger:
        assert 10 <= ledger.extent()[1] <= 11
        ledger.charge("ana", cost("1/10"), "q")


# --- clocks ---


def test_a_clock_that_jumps_changes_nothing_but_the_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [datetime(year, 3, 1, tzinfo=UTC) for year in (2026, 1970, 9999, 2001, 2026)]
    monkeypatch.setattr(dpsql.ledger, "now", clock.pop)
    released = []
    with Ledger.open(tmp_path / "ledger", pure(1)) as ledger:
        for number in range(5):
            released.append(ledger.charge("ana", cost("1/5"), str(number)))
        assert [charge.statement for charge in ledger.charges()] == ["4", "3", "2", "1", "0"]
    found = rows(tmp_path / "ledger")
    assert [row.id for row in found] == released
    assert violations(found, released, Fraction(1)) == []
    with Ledger.open(tmp_path / "ledger", pure(1)) as ledger:
        assert ledger.spent() == cost(1)


# --- the reader itself ---


def test_the_reader_sees_every_broken_promise() -> None:
    def row(number: int, name: str, price: str, who: str = "ana") -> Row:
        return Row(number, name, who, (Fraction(price), Fraction(0), Fraction(0)))

    good = [row(1, "a", "1/2"), row(2, "b", "1/2", "bob")]
    one, half = Fraction(1), {"ana": Fraction(1, 2)}
    assert violations(good, ["a", "b"], one, half) == []
    assert violations(good, ["a", "c"], one)
    assert violations(good, ["a", "a"], one)
    assert violations([*good, row(3, "a", "0")], [], one)
    assert violations([good[1], good[0]], [], one)
    assert violations([good[0], row(3, "b", "0")], [], one)
    assert violations([*good, row(3, "c", "1/1000", "bob")], [], one)
    assert violations([row(1, "a", "0.6")], [], one, half)
    assert violations([row(1, "a", "2"), row(2, "b", "-1")], [], one)
