"""How many plans there are of one question: the nine questions of :mod:`tests.query.spellings`, and the size of the house."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.query.spellings import POLICY, QUESTIONS, SETUP
from tests.tape.recording import recorded
from tests.tape.worlds import Asked, World

ROOT = Path(__file__).parents[2]
WORLD = World("spellings", POLICY, SETUP)


@dataclass(slots=True)
class Question:
    """What became of the spellings of one question: the different sets of ``plans``, and the different ``prices``."""

    asked: int = 0
    answered: int = 0
    plans: set[frozenset[str]] = field(default_factory=set)
    prices: set[str] = field(default_factory=set)


def questions(jobs: int = 2) -> Mapping[str, Question]:
    """Plan every spelling of every question."""
    asked = [
        Asked(f"{name}/{place}", sql, spelt=False) for name, all_ in QUESTIONS.items() for place, sql in enumerate(all_)
    ]
    found = {name: Question() for name in QUESTIONS}
    for name, entry in recorded([(WORLD, asked)], jobs).entries.items():
        one = found[name.removeprefix(f"{WORLD.name}: ").rpartition("/")[0]]
        one.asked += 1
        if entry["refused"] is None:
            one.answered += 1
            one.plans.add(frozenset(plan["identity"] for plan in entry["plans"]))
            one.prices.add(str(entry["price"]))
    return found


def report(found: Mapping[str, Question]) -> Iterator[str]:
    """A line for each question, their sums, and lines of code."""
    yield f"{'question':46}{'asked':>7}{'answered':>10}{'plans':>7}{'prices':>8}"
    for name, one in found.items():
        yield f"{name:46}{one.asked:7}{one.answered:10}{len(one.plans):7}{len(one.prices):8}"
    asked, answered = (sum(getattr(one, part) for one in found.values()) for part in ("asked", "answered"))
    plans, prices = (sum(len(getattr(one, part)) for one in found.values()) for part in ("plans", "prices"))
    yield f"{'all':46}{asked:7}{answered:10}{plans:7}{prices:8}"
    for name, folders in {"rewriter": ["rewriter"], "product": ["rewriter", "dpsql"], "tests": ["tests"]}.items():
        files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
        lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
        yield f"{name}: {lines:,} lines in {len(files)} files"
