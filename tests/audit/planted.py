"""Planted bugs: what the audit has to see. A server in a process of its own, in which one mistake at a time is made.

``python -m tests.audit.planted`` reads lines ``NAME<TAB>POLICY`` from its standard input; for each it heals what was planted
before, plants the bug, serves the policy and says the port. The product knows nothing of it: names in its modules are bound
to something else for as long as the server of a bug runs. ``python -m dpsql serve`` is what is audited otherwise.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from dpsql import answer, perturb
from dpsql.accounting.loss import PrivacyLoss
from dpsql.audit.audited_server import PORT, Served, listening, running
from dpsql.engines.duckdb import DuckDBEngine
from dpsql.engines.postgres import PostgresEngine
from dpsql.finish.finisher import Finisher
from dpsql.finish.remembered import Finished
from dpsql.ledger.ledger import Due, Ledger
from dpsql.mechanisms.gaussian import Gaussian
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.mechanism import Draws
from dpsql.mechanisms.quantiles.mode import Commonest
from dpsql.mechanisms.quantiles.one import Quantile
from dpsql.mechanisms.sampling.sampler import Sampler
from dpsql.mechanisms.threshold import Threshold
from dpsql.price.profiles import WantedProfile
from dpsql.proxy import Proxy
from dpsql.releases import ColumnarRows, IntegerColumn, ValueColumn
from dpsql.releases.tables import NoisyTable
from dpsql.server.door import Door
from dpsql.server.serve import Server
from dpsql.server.session.backend import Backend
from dpsql.server.shadow.shadow import Shadow
from dpsql.server.start import analysts, database_name
from rewriter.bound.ball import Ball
from rewriter.declared import ContributionBound, Kind
from rewriter.declared.sensitivity import Sensitivity
from rewriter.dialects.nodes import number
from rewriter.expressions import value_lattice as clipping
from rewriter.measure import summand as summed
from rewriter.split import earlier_answers
from tests.audit.surroundings import clock_beside
from tests.properties.mutants import PLANTS as STABILITY

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Bug:
    """A mistake, and the scenario or the check that has to see it; a small one in ``times`` as many samples."""

    plant: Callable[[Patch], None]
    seen_by: str
    times: int = 1


def _halved_noise(patch: Patch) -> None:
    patch.setattr(Laplace, "sample", lambda self, sampler, count: sampler.draw(Draws(Laplace(self.scale / 2), count)))
    patch.setattr(Gaussian, "sample", lambda self, sampler, count: sampler.draw(Draws(Gaussian(self.scale / 2), count)))


def _wide_values(patch: Patch) -> None:
    """Values may be half as large again as their bound is claimed to be."""
    honest = clipping.clipped_steps

    def steps(*given: Any) -> exp.Expr:
        wide = exp.Mul(this=exp.Paren(this=honest(*given)), expression=number(3))
        return exp.Cast(this=exp.Div(this=wide, expression=number(2)), to=exp.DataType.build("BIGINT"))

    patch.setattr(summed, "clipped_steps", steps)


def _wide_rows(patch: Patch) -> None:
    """A unit may have half as many rows again as is claimed."""
    honest = Ball.sensitivity.fget  # type: ignore[attr-defined]

    def less(ball: Any) -> Sensitivity:
        told = honest(ball)
        return Sensitivity(None if told.l1 is None else told.l1 * 2 // 3, told.l2_squared * 4 // 9)

    patch.setattr(Ball, "sensitivity", property(less))


def _no_threshold(patch: Patch) -> None:
    patch.setattr(Threshold, "named", lambda self, exact, noise: np.flatnonzero(exact.array >= 1))


def _low_threshold(patch: Patch) -> None:
    honest = Threshold.steps.fget  # type: ignore[attr-defined]
    patch.setattr(Threshold, "steps", property(lambda self: honest(self) // 2))


def _twice_the_rate(*kinds: type) -> Callable[[Patch], None]:
    def plant(patch: Patch) -> None:
        for kind in kinds:
            honest = kind.rate.fget  # type: ignore[attr-defined]
            patch.setattr(kind, "rate", property(lambda self, honest=honest: 2 * honest(self)))

    return plant


def _half_is_charged(patch: Patch) -> None:
    honest = Ledger.begin

    def begin(self: Ledger, analyst: str, dues: Sequence[Due]) -> Any:
        halves = [PrivacyLoss(one.loss.epsilon / 2, one.loss.rho / 2, one.loss.delta / 2) for one in dues]
        return honest(self, analyst, [replace(due, loss=half) for due, half in zip(dues, halves, strict=True)])

    patch.setattr(Ledger, "begin", begin)


def _half_a_profile_is_charged(patch: Patch) -> None:
    """The people in bins are paid for, and the rows beyond are not."""
    patch.setattr(WantedProfile, "loss", property(lambda self: self.calibrations[0].loss))


def _an_eighth_of_a_profile_is_charged(patch: Patch) -> None:
    """Half of ρ is less than what the bound of (ε, δ) by ρ leaves open: no audit sees it."""
    patch.setattr(WantedProfile, "loss", property(lambda self: self.calibrations[0].loss / 4))


def _one_draw_for_all(patch: Patch) -> None:
    for law in (Laplace, Gaussian):
        patch.setattr(law, "sample", lambda self, sampler, count: _repeated(sampler.draw(Draws(self, 1)), count))


def _repeated(drawn: IntegerColumn, times: int) -> IntegerColumn:
    return IntegerColumn.of([*drawn] * times)


def _one_draw_for_two_columns(patch: Patch) -> None:
    honest = Laplace.sample

    def sample(self: Laplace, sampler: Sampler, count: int) -> IntegerColumn:
        if count % 2:
            return honest(self, sampler, count)
        return _repeated(honest(self, sampler, count // 2), 2)

    patch.setattr(Laplace, "sample", sample)


def _noise_by_the_question(patch: Patch) -> None:
    """The same question has the same noise, though it is paid for again."""
    kept: dict[tuple[Fraction, int], IntegerColumn] = {}
    honest = Laplace.sample

    def sample(self: Laplace, sampler: Sampler, count: int) -> IntegerColumn:
        key = (self.scale, count)
        if key not in kept:
            kept[key] = honest(self, sampler, count)
        return kept[key]

    patch.setattr(Laplace, "sample", sample)


def _empty_groups_without_noise(patch: Patch) -> None:
    honest = perturb.perturb

    def careless(exact: Any, calibration: Any, sampler: Any) -> NoisyTable:
        noisy = honest(exact, calibration, sampler)
        if len(noisy.keys) != len(exact.keys):
            return noisy
        statistics = {
            name: tuple(y if x else 0 for x, y in zip(exact.statistics[name], column, strict=True))
            for name, column in noisy.statistics.items()
        }
        return replace(noisy, statistics=statistics)

    patch.setattr(answer, "perturb", careless)


def _order_of_counts(patch: Patch) -> None:
    """Groups come in the order of what was counted in them."""
    honest = perturb.perturb

    def careless(exact: Any, calibration: Any, sampler: Any) -> NoisyTable:
        noisy = honest(exact, calibration, sampler)
        if len(noisy.keys) != len(exact.keys) or noisy.chosen or not exact.statistics:
            return noisy
        first = next(iter(exact.statistics.values()))
        order = sorted(range(len(first)), key=lambda place: -first[place])
        statistics = {name: tuple(column[at] for at in order) for name, column in noisy.statistics.items()}
        return replace(noisy, keys=tuple(noisy.keys[at] for at in order), statistics=statistics)

    patch.setattr(answer, "perturb", careless)


def _off_the_lattice(patch: Patch) -> None:
    """What is shown has digits that no step has."""
    honest = Finisher._finish

    def finish(self: Finisher, *given: Any) -> Finished:
        found = honest(self, *given)
        columns = [
            ValueColumn.of_floats(column.floats * (1 + random.random())) if column.type.kind is Kind.DOUBLE else column
            for column in found.rows.columns
        ]
        return replace(found, rows=ColumnarRows(columns, len(found.rows)))

    patch.setattr(Finisher, "_finish", finish)


def _only_people_with_rows(patch: Patch) -> None:
    """Groups in which nobody is are left out of a public key set."""
    honest = perturb.perturb

    def careless(exact: Any, calibration: Any, sampler: Any) -> NoisyTable:
        noisy = honest(exact, calibration, sampler)
        if len(noisy.keys) != len(exact.keys) or noisy.chosen or not exact.statistics:
            return noisy
        there = [at for at in range(len(exact.keys)) if any(column[at] for column in exact.statistics.values())]
        statistics = {name: tuple(column[at] for at in there) for name, column in noisy.statistics.items()}
        return replace(noisy, keys=tuple(noisy.keys[at] for at in there), statistics=statistics)

    patch.setattr(answer, "perturb", careless)


def _one_row_of_answers(patch: Patch) -> None:
    """An earlier answer is believed to have one row, whatever stands beside it."""
    honest = earlier_answers._relation
    patch.setattr(earlier_answers, "_relation", lambda *given: replace(honest(*given), bound=ContributionBound(1)))


def _public_rows_for_ever(patch: Patch) -> None:
    """What public rows are at opening, they are believed to be as long as the policy is open."""
    for engine in (DuckDBEngine, PostgresEngine):
        patch.setattr(engine, "lasting", lambda self, table: True)


def _paid_in_another_window(patch: Patch) -> None:
    """A watch that was paid for once answers in later windows."""
    patch.setattr(Ledger, "pays_now", lambda self, charges, analyst: True)


BUGS = {
    "a noise scale halved": Bug(_halved_noise, "people"),
    "a noise scale halved, ρ": Bug(_halved_noise, "people, ρ"),
    "values 1.5 times their bound": Bug(_wide_values, "a sum over people", times=4),
    "rows 1.5 times their bound": Bug(_wide_rows, "rows, 60 where 4 are allowed", times=4),
    "a threshold that is skipped": Bug(_no_threshold, "selected alone"),
    "a threshold that is skipped, ρ": Bug(_no_threshold, "selected alone, ρ"),
    "a threshold halved": Bug(_low_threshold, "selected alone"),
    "a quantile's sensitivity halved": Bug(_twice_the_rate(Quantile), "a median, ρ", times=4),
    "a mode's sensitivity halved": Bug(_twice_the_rate(Commonest), "the most common", times=4),
    "half of the price is charged": Bug(_half_is_charged, "people"),
    "half of a profile is charged": Bug(_half_a_profile_is_charged, "the profile of a table"),
    "an eighth of a profile is charged, ρ": Bug(_an_eighth_of_a_profile_is_charged, "the profile of a table, ρ"),
    "the noise of a workload halved": Bug(_halved_noise, "a workload of the policy", times=4),
    "empty groups without noise": Bug(_empty_groups_without_noise, "people, alone"),
    "empty groups left out": Bug(_only_people_with_rows, "people, alone"),
    "one draw for all groups": Bug(_one_draw_for_all, "noise"),
    "one draw for two columns": Bug(_one_draw_for_two_columns, "noise"),
    "noise that follows from the question": Bug(_noise_by_the_question, "noise"),
    "the order of rows tells counts": Bug(_order_of_counts, "order"),
    "numbers beside their lattice": Bug(_off_the_lattice, "lattice"),
    "an earlier answer has one row": Bug(_one_row_of_answers, "people beside the rows of an earlier answer"),
    "a public table has the rows of opening": Bug(_public_rows_for_ever, "a public table that grows"),
    "a public view has the rows of opening": Bug(_public_rows_for_ever, "a public view that follows the clock"),
    "a watch is paid in its first window alone": Bug(_paid_in_another_window, "a watch on its second day"),
}
"""By what is wrong."""

for _name, _seen in (
    ("value not clamped", "a person's NaN and ±inf"),
    ("no row limit", "rows of a joined person, 60"),
    ("no group limit", "rows spread over groups"),
    ("limit per group and not per unit", "rows spread over groups"),
    ("keys from data", "rows under unknown keys"),
):
    BUGS[_name] = Bug(STABILITY[_name], _seen)


class Planted:
    """The process with bugs in it."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process = process
        self._folder = folder

    @contextmanager
    def serving(self, name: str, policy: Path) -> Iterator[Served]:
        """A policy served with a bug. One at a time."""
        said = self._folder / "said.log"
        known = len(re.findall(PORT, said.read_text()))
        if self._process.stdin is None:
            raise AssertionError("commands go to its standard input")
        self._process.stdin.write(f"{name}\t{policy}\n".encode())
        self._process.stdin.flush()
        yield Served(listening(self._process, said, known), policy.parent / "spent.ledger")


@contextmanager
def planting(folder: Path) -> Iterator[Planted]:
    with running([sys.executable, "-m", "tests.audit.planted"], folder) as process:
        yield Planted(process, folder)


def main() -> None:
    """Serve one bug after the other, as standard input says."""
    shadow: Shadow | None = None
    patch = Patch()
    for line in sys.stdin:
        name, _, policy = line.rstrip("\n").partition("\t")
        patch.undo()
        if name in BUGS:
            BUGS[name].plant(patch)
        if (clock := clock_beside(Path(policy))).path.exists():
            clock.install(patch)
        proxy = Proxy.open(policy)
        shadow = shadow or Shadow.start(proxy.catalog, analysts(proxy.policy), database_name(proxy.policy))
        door = Door("127.0.0.1", 0, proxy.policy.limits)
        server = Server(Backend(proxy, shadow), door)
        port = door.address[1]
        threading.Thread(
            target=server.run, args=(lambda port=port: print(f"port {port}", flush=True),), daemon=True
        ).start()
    if shadow is not None:
        shadow.close()


if __name__ == "__main__":
    main()
