"""Ledgers whose last write was torn: at a byte, what comes after it is missing, zero, noise, or one bit is another."""

from __future__ import annotations

import itertools
import os
import random
import shutil
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from dpsql.accounting import PURE, Accountant
from dpsql.accounting.loss import PrivacyLoss
from dpsql.errors import OperationalError
from dpsql.ledger.ledger import Ledger
from tests.ledger.reader import Row, rows, violations

TAIL = 4096
"""Bytes that are torn at each; also a page of the file."""
WAYS = ("short", "zeros", "noise", "flip")
TOTAL = Accountant(PURE, Fraction(1), Fraction(0))
PRICE = PrivacyLoss(epsilon=Fraction(1, 10))


@dataclass(slots=True)
class Torn:
    """Of so many torn copies, how many were ``served`` (and of these had the torn charge), and how many refused."""

    served: int = 0
    whole: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        copies = self.served + self.refused
        return f"{copies:,} torn copies, {self.served:,} served ({self.whole:,} with all charges), {self.refused:,} refused"


def tear_the_log(folder: Path, step: int) -> Torn:
    """The last write to the log is torn: what was released before is charged, and what is read adds up."""
    original, released, before = _written(folder)
    log = Path(f"{original}-wal").read_bytes()
    assert len(log) - before >= TAIL, "the last charge alone takes more than what is torn"
    done = Torn()
    for how in WAYS:
        for offset in range(len(log) - TAIL, len(log), step):
            copy = folder / "copy"
            shutil.copy(original, copy)
            Path(f"{copy}-wal").write_bytes(_torn(log, offset, how))
            found = _opened(copy)
            if found is None:
                # It is what a crash leaves.
                done.refused += 1
                done.wrong.append(f"{how} at {offset}: refused")
            else:
                done.served += 1
                done.whole += len(found) == len(released)
                done.wrong += [f"{how} at {offset}: {one}" for one in violations(found, released[:-1], Fraction(1))]
            _remove(copy)
    if done.whole == done.served:
        done.wrong.append("nothing was torn")
    return done


def tear_the_file(folder: Path, step: int) -> Torn:
    """A page of the file is torn, when the log was moved into it: what is served is whole, or it is refused."""
    original, released, _ = _written(folder)
    Ledger.open(original, TOTAL).close()
    file, copy = original.read_bytes(), folder / "copy"
    assert not Path(f"{original}-wal").exists()
    done = Torn()
    for how, start in itertools.product(WAYS, range(0, len(file), TAIL)):
        last = start + TAIL == len(file)
        for offset in range(0, TAIL, step if last else 8 * step):
            page = _torn(file[start : start + TAIL], offset, how)
            copy.write_bytes(file[:start] + page + (b"" if how == "short" else file[start + TAIL :]))
            found = _opened(copy)
            if found is None:
                done.refused += 1
            else:
                done.served += 1
                done.whole += len(found) == len(released)
                # What is charged is summed, and names are not: one bit of an id can be another, at no loss of budget.
                wrong = violations(found, [] if how == "flip" else released, Fraction(1))
                if sum(row.parts[0] for row in found) != Fraction(len(released), 10):
                    wrong.append("another sum")
                done.wrong += [f"{how} at {start + offset}: {one}" for one in wrong]
            _remove(copy)
    if not (done.served and done.refused):
        done.wrong.append("nothing was torn, or nothing was served")
    return done


def flip_the_number(folder: Path) -> Torn:
    """One bit is another in what stands before the id of the last charge: its number and the lengths of its fields."""
    original, released, _ = _written(folder)
    Ledger.open(original, TOTAL).close()
    file, copy, done = original.read_bytes(), folder / "copy", Torn()
    at = [place for place in range(len(file)) if file.startswith(released[-1].encode(), place)]
    for place, byte, bit in itertools.product(at, range(1, 17), range(8)):
        flipped = bytearray(file)
        flipped[place - byte] ^= 1 << bit
        copy.write_bytes(flipped)
        found = _opened(copy)
        if found is None:
            done.refused += 1
        else:
            done.served += 1
            done.wrong += [f"bit {bit}, {byte} before {place}: {one}" for one in violations(found, [], Fraction(1))]
        _remove(copy)
    return done


def _written(folder: Path, charges: int = 6) -> tuple[Path, list[str], int]:
    """A ledger as it is on the disk, with its log; what was released for it; and how long the log was before the last."""
    path = folder / "live"
    with Ledger.open(path, TOTAL) as ledger:
        released = [ledger.charge("ana", PRICE, "q") for _ in range(charges - 1)]
        before = os.path.getsize(f"{path}-wal")
        released.append(ledger.charge("ana", PRICE, "q"))
        shutil.copy(path, folder / "torn")
        shutil.copy(f"{path}-wal", folder / "torn-wal")
    return folder / "torn", released, before


def _torn(original: bytes, offset: int, how: str) -> bytes:
    if how == "short":
        return original[:offset]
    if how == "zeros":
        return original[:offset] + bytes(len(original) - offset)
    if how == "noise":
        return original[:offset] + random.Random(offset).randbytes(len(original) - offset)
    return original[:offset] + bytes([original[offset] ^ 1 << offset % 8]) + original[offset + 1 :]


def _opened(path: Path) -> list[Row] | None:
    """The rows of a ledger that is opened and verified; None where it is refused."""
    try:
        Ledger.open(path, TOTAL).close()
    except OperationalError:
        return None
    return rows(path)


def _remove(copy: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-lock"):
        Path(f"{copy}{suffix}").unlink(missing_ok=True)
