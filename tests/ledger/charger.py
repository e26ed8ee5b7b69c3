"""A proxy as a ledger sees it: a process that charges, and says of each charge that it released something for it."""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
import time
from fractions import Fraction
from pathlib import Path

from dpsql.accounting import PURE, Accountant
from dpsql.accounting.loss import PrivacyLoss
from dpsql.errors import BudgetExceeded, OperationalError
from dpsql.ledger.ledger import Ledger

# Forked: the imports are there already, and a kill -9 costs milliseconds.
_FORK = multiprocessing.get_context("fork")


class Charger:
    """A running one. What it said is in a file, so that it never waits for who reads."""

    def __init__(
        self, said: Path, url: str | Path, total: object, *prices: object, threads: int = 1, pause: float = 0.0
    ) -> None:
        self.said = said
        said.touch()
        wanted = [Fraction(str(price)) for price in prices]
        self.process = _FORK.Process(
            target=_charge, args=(said, str(url), Fraction(str(total)), wanted, threads, pause)
        )
        self.process.start()

    def released(self) -> list[str]:
        """Whole lines: a line that a kill cut was never delivered."""
        return [line for line in self.said.read_text().split("\n")[:-1] if not line.startswith("!")]

    def complaints(self) -> list[str]:
        return [line[1:] for line in self.said.read_text().split("\n")[:-1] if line.startswith("!")]

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def _charge(said: Path, url: str, total: Fraction, prices: list[Fraction], threads: int, pause: float) -> None:
    """Charge until the budget is gone, and try again what could not be charged; ``pause`` seconds apart on average."""
    # What a fork has of its parent's, such as the pipe that keeps a server alive, is nothing to a proxy.
    os.closerange(3, 1024)
    out = os.open(said, os.O_WRONLY | os.O_APPEND)
    everybody = Accountant(PURE, total, Fraction(0))
    with _opened(url, everybody, out) as ledger:
        work = (ledger, said.stem, prices, out, pause)
        running = [threading.Thread(target=_work, args=work) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()


def _opened(url: str, everybody: Accountant, out: int) -> Ledger:
    """A proxy that cannot open its ledger does not start, and whoever starts it tries again."""
    end = time.monotonic() + 240
    while True:
        try:
            return Ledger.open(url, everybody, unit="t.id", timeout=60)
        except OperationalError as error:
            if time.monotonic() > end or (
                "cannot be reached" not in error.message and "connection" not in error.message
            ):
                raise
            os.write(out, f"!{error.message}\n".encode())
            time.sleep(0.1)


def _work(ledger: Ledger, name: str, prices: list[Fraction], out: int, pause: float) -> None:
    refused: set[Fraction] = set()
    parent = os.getppid()
    while len(refused) < len(set(prices)) and os.getppid() == parent:  # or nobody is there to stop it
        for price in prices:
            time.sleep(random.uniform(0, 2 * pause))
            try:
                charge = ledger.charge(name, PrivacyLoss(epsilon=price), "SELECT count(*) FROM t", ("t",))
            except BudgetExceeded:
                refused.add(price)
            except OperationalError as error:
                os.write(out, f"!{error.message}\n".encode())
                if "until its owner" in error.message:
                    return
            else:
                os.write(out, f"{charge}\n".encode())
