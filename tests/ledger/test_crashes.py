"""The file of a ledger after kill -9, torn writes, and clocks that jump; the rows are read by themselves."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

import dpsql.ledger.ledger
from dpsql.ledger.ledger import Ledger
from tests.ledger.killing import strike
from tests.ledger.losses import cost, pure
from tests.ledger.reader import Row, rows, violations
from tests.ledger.tearing import flip_the_number, tear_the_file, tear_the_log

MEMORY = "/dev/shm"  # noqa: S108


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder whose disk is never waited for: thousands of crashes are played there."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    yield folder
    shutil.rmtree(folder)


# --- kill -9 ---


def new_files(folder: Path) -> Callable[[], Path]:
    """A place for a ledger, and for another one each time."""
    return (folder / f"{number}.ledger" for number in itertools.count()).__next__


def test_after_every_kill_releases_are_charged(tmp_path: Path) -> None:
    done = strike(new_files(tmp_path), tmp_path, clients=3, kills=10)
    assert done.wrong == []
    assert done.kills == 10


@pytest.mark.campaign
def test_after_each_of_500_kills_under_8_clients_releases_are_charged(tmp_path: Path) -> None:
    done = strike(new_files(tmp_path), tmp_path, clients=8, kills=500)
    assert done.wrong == []
    assert done.ledgers > 1


# --- torn writes ---


@pytest.mark.quick
def test_a_torn_log_keeps_what_was_released(memory: Path) -> None:
    assert tear_the_log(memory, step=151).wrong == []


def test_a_torn_file_is_whole_or_refused(memory: Path) -> None:
    assert tear_the_file(memory, step=307).wrong == []


def test_a_charge_whose_number_is_another_is_found(memory: Path) -> None:
    done = flip_the_number(memory)
    assert done.wrong == []
    assert done.refused > 20


@pytest.mark.campaign
def test_a_log_torn_at_every_byte_keeps_what_was_released(memory: Path) -> None:
    assert tear_the_log(memory, step=1).wrong == []


@pytest.mark.campaign
def test_a_file_torn_at_every_byte_is_whole_or_refused(memory: Path) -> None:
    assert tear_the_file(memory, step=1).wrong == []


# --- clocks ---


def test_a_clock_that_jumps_changes_nothing_but_the_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [datetime(year, 3, 1, tzinfo=UTC) for year in (2026, 1970, 9999, 2001, 2026)]
    monkeypatch.setattr(dpsql.ledger.ledger, "now", clock.pop)
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
