"""Disks that are full, and disks that fail: the ledger stops, and serves again when it was opened and verified anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.accounting.loss import PrivacyLoss
from dpsql.errors import OperationalError
from dpsql.ledger.ledger import Ledger
from tests.ledger.losses import pure
from tests.ledger.reader import rows, violations

STOPPED = "the ledger cannot be written; nothing is answered until its owner has seen to it"
PRICE = PrivacyLoss(epsilon=Fraction(1, 10))


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
from dpsql.accounting import Accountant, Accounting, PURE
from dpsql.errors import OperationalError
from dpsql.ledger import Ledger
from dpsql.accounting.loss import PrivacyLoss
path, trigger = sys.argv[1:]
ledger = Ledger.open(path, Accountant(PURE, Fraction(100), Fraction(0)))
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


@pytest.mark.quick
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
    assert said[10:] == [f"! {STOPPED}"] * 10
    assert len(released) == 10
    assert violations(rows(path), released, Fraction(100)) == []
    with Ledger.open(path, pure(100)) as ledger:
        assert 10 <= ledger.extent()[1] <= 11
        ledger.charge("ana", PRICE, "q")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 512 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_is_really_full_stops_the_ledger_and_room_lets_it_go_on(small: Path) -> None:
    path, filler = small / "ledger", small / "filler"
    released = []
    with Ledger.open(path, pure(10**6)) as ledger:
        released.append(ledger.charge("ana", PRICE, "q"))
        with open(filler, "wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(bytes(4096))
        with pytest.raises(OperationalError, match=STOPPED):
            for _ in range(1000):
                released.append(ledger.charge("ana", PRICE, "q"))
        filler.unlink()
        for _ in range(2):
            with pytest.raises(OperationalError, match=STOPPED):
                ledger.charge("ana", PRICE, "q")
    assert violations(rows(path), released, Fraction(10**6)) == []
    with Ledger.open(path, pure(10**6)) as ledger:
        assert len(released) <= ledger.extent()[1] <= len(released) + 1
        released.append(ledger.charge("ana", PRICE, "q"))
    assert violations(rows(path), released, Fraction(10**6)) == []
