"""How often 95 % intervals hold the truth that the reader computes, of everything that clipping does not cut.

A statement is measured once; every repetition draws fresh noise for it, and goes on as any answer does. An answer of
many numbers is repeated less often: it is neither the most of what is counted, nor most of the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random

from scipy.stats import binom

from dpsql.errors import Error
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.proxy import Proxy, Session
from tests.finish.test_intervals_coverage import Repeated
from tests.properties.analysts import Analyst, Statement
from tests.properties.dirty_worlds import World, world
from tests.properties.meaning import Key, Reader, in_duckdb, keyed, plain

LEAST, MOST = 0.93, 0.98
OFTEN, NUMBERS = 25, 5_000
"""A statement is repeated at least so often, and otherwise until so many of its numbers were looked at."""
FORMS = ("plain", "wrapped", "with", "subquery", "scalar KPIs", "UNION ALL KPIs", "grouping sets", "CTE difference")


@dataclass(slots=True)
class Coverage:
    """By kind of number: how many intervals, and how many held. ``bad`` are cells that hold too seldom by themselves."""

    shown: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    statements: int = 0
    bad: list[str] = field(default_factory=list)

    def part(self, kind: str) -> float:
        return self.held[kind] / self.shown[kind]


def coverage(
    seeds: range, statements: int, times: int, folder: Path, epsilon: str = "1", most: int = 10**6
) -> Coverage:
    """At most so many ``times`` each of so many statements, of answers with at most so many groups."""
    found = Coverage()
    for seed in seeds:
        random = Random(seed)
        place = world(random, "within", people=150)
        reader = Reader(place)
        (folder / str(seed)).mkdir(parents=True)
        (folder / str(seed) / "policy.yaml").write_text(place.policy(in_duckdb(place, folder / str(seed)), 1))
        proxy = Proxy.open(folder / str(seed) / "policy.yaml")
        try:
            analyst = Analyst(random, place)
            asked = (one for one in iter(analyst.statement, None) if one.form in FORMS)
            done = 0
            while done < statements:
                one = next(asked)
                if len(reader.read(one.truth[0], one.zone)) > most:
                    continue
                done += 1
                _cover(one, proxy.session(), reader, place, times, epsilon, found)
        finally:
            proxy.close()
            reader.close()
    return found


def _cover(
    asked: Statement, session: Session, reader: Reader, place: World, times: int, epsilon: str, found: Coverage
) -> None:
    truth = keyed(reader.read(asked.truth[0], asked.zone), asked.keys)
    try:
        repeated = Repeated(session, asked.sql, epsilon)
        cells = _cells(repeated, asked, truth, times)
    except Error as refused:
        found.refused[f"{asked.form}: {refused}"] += 1
        return
    found.statements += 1
    for (key, place_), (shown, held) in cells.items():
        kind = asked.measures[place_].kind
        found.shown[kind] += shown
        found.held[kind] += held
        if shown and binom.cdf(held, shown, LEAST) < 1e-7:
            found.bad.append(
                f"{place.accounting}, {asked.form}: {held} of {shown} at {key}, {asked.measures[place_].text}, "
                f"truth {truth[key][place_]}: {asked.sql}"
            )


def _cells(
    repeated: Repeated, asked: Statement, truth: dict[Key, object], times: int
) -> dict[tuple[Key, int], tuple[int, int]]:
    """Of each number that the reader has, how many intervals were shown, and how many held it."""
    counts: dict[tuple[Key, int], tuple[int, int]] = {}
    for time, answer in enumerate(_answers(repeated, times)):
        if time >= OFTEN and sum(shown for shown, _ in counts.values()) >= NUMBERS:
            break
        names = [column.name for column in answer.columns]
        for row in answer.rows:
            key = tuple(map(plain, row[: asked.keys]))
            if key not in truth:
                continue
            for n, one in enumerate(asked.measures):
                value = truth[key][n]  # type: ignore[index]
                if value is None or f"m{n}_low" not in names or one.kind == "loose":
                    continue
                low, high = row[names.index(f"m{n}_low")], row[names.index(f"m{n}_high")]
                if low is None or high is None:
                    continue
                shown, held = counts.get((key, n), (0, 0))
                counts[key, n] = shown + 1, held + _holds(low, value, high)
    return counts


def _answers(repeated: Repeated, times: int) -> Iterator[object]:
    sampler = ExactSampler()
    for _ in range(times):
        yield repeated.answer(sampler)


def _holds(low: object, value: object, high: object) -> bool:
    """Rounding of the numbers shown is no fault of the interval."""
    a, x, b = (float(one) for one in (low, value, high) if isinstance(one, int | float | Decimal))
    slack = 1e-9 * max(abs(a), abs(b))
    return a - slack <= x <= b + slack


def _main() -> None:
    """``python -m tests.properties.covering FIRST LAST STATEMENTS TIMES [EPSILON]`` prints coverage by kind."""
    import sys
    import tempfile

    first, last, statements, times = map(int, sys.argv[1:5])
    with tempfile.TemporaryDirectory() as folder:
        found = coverage(range(first, last), statements, times, Path(folder), *sys.argv[5:6])
    print(found.statements, "statements")
    for kind in sorted(found.shown):
        print(f"{kind:12} {found.shown[kind]:8} intervals, {100 * found.part(kind):.1f} % hold")
    print(len(found.bad), "numbers are held too seldom")
    for text in found.bad[:40]:
        print("  ", text)
    for text, count in found.refused.most_common(8):
        print(count, text[:200])


if __name__ == "__main__":
    _main()
