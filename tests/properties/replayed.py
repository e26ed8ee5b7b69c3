"""Record and replay: what is released of one database is played back over its neighbour, and nothing else may differ.

The neighbour law (:mod:`tests.properties.neighbours`) says how far a person moves each number before noise. This one is
about everything else that somebody sees, or that is done with people's rows: engine SQL, stages, charges, notices,
columns and types, rows, error bars, refusals, explanations. With released numbers held still none of it may follow a
person (Re:cord-play, PoPETs 2026: the same test of libraries, at the border of the code that adds noise).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import duckdb

from dpsql.errors import Error, OperationalError
from dpsql.opened import ComparedPolicy, compared, engine_of, load_policy, open_here
from dpsql.proxy import Proxy, Session
from rewriter.declared import Catalog
from tests.properties.clock_file import ClockFile
from tests.properties.drawing import world, worst_units
from tests.properties.questions import Question, question
from tests.properties.tape import Diverged, Tape, taped
from tests.properties.world import World

_INTERNAL = "XX"
NOW = datetime.datetime(2025, 6, 18, 10, 30, tzinfo=datetime.UTC)

SETTINGS: Sequence[tuple[str, ...]] = (
    (),
    (),
    ("SET dpsql.intervals = on",),
    ("SET dpsql.other = on",),
    ("SET dpsql.empty_groups = hide",),
    ("SET dpsql.reuse = off",),
    ("SET dpsql.consistent = off", "SET dpsql.intervals = on"),
    ("SET dpsql.target_error = '20 %'",),
    ("SET dpsql.epsilon = 0.001",),
    ("SET dpsql.epsilon = 1000", "SET dpsql.other = on", "SET dpsql.intervals = on"),
)
"""What an analyst may have set."""

Ask = Callable[[Random, World], Question]
Draw = Callable[[Random], World]
Facts = list[tuple[str, object]]


class Broken(AssertionError):
    """An internal error, which would be the same over every database, and hide whatever else is not."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement, so many days after the one before, and after some others that set what it is asked under. ``drawn``:
    with EXPLAIN as it is drawn, whose advice plans the statement dozens of times."""

    sql: str
    settings: Sequence[str] = ()
    drawn: bool = False
    days: int = 0


@dataclass(slots=True)
class Replayed:
    """What a replay did. ``states`` are the SQLSTATEs of all statements, in their order; those of answers are empty."""

    statements: int = 0
    answered: int = 0
    states: Sequence[str] = ()
    released: int = 0
    features: set[str] = field(default_factory=set)


def clock_beside(policy: Path) -> ClockFile:
    """A clock that stands still until somebody moves it."""
    clock = ClockFile(policy.parent / "clock")
    if not clock.path.exists():
        clock.show(NOW)
    return clock


def later(policy: Path, asked: Asked) -> None:
    """Let the days pass after which something is asked."""
    clock_beside(policy).wait(datetime.timedelta(days=asked.days))


def _state(found: Facts) -> str:
    """The SQLSTATE of a refusal; of an answer, nothing."""
    answer = dict(found)["answer"]
    assert isinstance(answer, tuple)
    return str(answer[1]) if len(answer) == 4 else ""


@contextmanager
def proxy_over(policy: Path, known: Catalog | None = None) -> Iterator[Proxy]:
    """A proxy with the tape's sampler, by the clock beside its policy. ``known`` is for rows that break what is
    declared."""
    loaded = load_policy(policy)
    found = compared(loaded) if known is None else ComparedPolicy(loaded, known, engine_of(loaded))
    with closing(Proxy.of(open_here(found, read=clock_beside(policy)))) as proxy:
        yield proxy


def facts(proxy: Proxy, asked: Asked, tape: Tape) -> Facts:
    """All that can be seen of a statement, and all that was done for it."""
    session = proxy.session("ana") if proxy.policy.analysts else proxy.session()
    found: Facts = []
    charged = len(proxy.ledger.charges(limit=10**6))
    for setting in asked.settings:
        _tried(found, setting, lambda setting=setting: session.execute(setting).tag)
    _tried(found, "explanation", lambda: _explained(session, asked))
    _tried(found, "description", lambda: session.describe(asked.sql))
    steps: list[tuple[int, int]] = []
    _tried(found, "answer", lambda: _answer(session, asked.sql, steps))
    found.append(("steps", steps))
    found.append(("released", tape.position))
    charges = sorted(proxy.ledger.charges(limit=10**6), key=lambda one: one.time)[charged:]
    found.append(("charges", sorted(repr((c.time, c.analyst, c.loss, c.statement, c.tables)) for c in charges)))
    _tried(found, "explanation afterwards", lambda: _explained(session, asked))
    found.append(("budget", repr(session.budget())))
    found.append(("engine SQL", tape.heard))
    tape.check(asked.sql)
    if _state(found).startswith(_INTERNAL):
        raise Broken(asked.sql)
    return found


def _tried(found: Facts, what: str, work: object) -> None:
    assert callable(work)
    try:
        found.append((what, work()))
    except Error as refused:
        found.append((what, (type(refused).__name__, refused.sqlstate, str(refused), refused.hint)))


def _explained(session: Session, asked: Asked) -> object:
    told = session.explain(asked.sql)
    drawn = (told.lines, told.json) if asked.drawn else ()
    expected = (repr(told.releases), repr(told.expected), repr(told.expected_items))
    return (*drawn, *expected, told.outer_sql, told.columns, repr(told.price), told.notices, repr(told.remaining_after))


def _answer(session: Session, sql: str, steps: list[tuple[int, int]]) -> object:
    answer = session.execute(sql, progress=lambda step, of: steps.append((step, of)))
    rows = [repr(row) for row in answer.rows]
    shown = (answer.columns, rows, repr(list(answer.margins)), repr(answer.items))
    return (*shown, answer.notices, answer.tag, repr(answer.price), answer.epsilon)


def statements(random: Random, place: World, ask: Ask, count: int) -> tuple[list[Asked], set[str]]:
    """Random statements about a world, each after some settings, and the forms that they have."""
    drawn = [ask(random, place) for _ in range(count)]
    asked = [Asked(one.sql, random.choice(SETTINGS), number % 12 == 11) for number, one in enumerate(drawn)]
    return asked, {feature for one in drawn for feature in one.features}


def neighbours(random: Random, place: World, folder: Path, accounting: str) -> tuple[Path, Path]:
    """The policies of a world and of what is left of it when a person goes, each over a DuckDB of its own."""
    units = worst_units(random, place, 1) if place.units() else []
    found = []
    for name, rows in (("here", None), ("there", place.without(units[0]) if units else None)):
        (folder / name).mkdir(parents=True)
        with duckdb.connect(str(folder / name / "world.duckdb")) as connection:
            place.fill(connection, rows)
        (folder / name / "policy.yaml").write_text(place.policy(accounting))
        found.append(folder / name / "policy.yaml")
    return found[0], found[1]


def _agrees(policy: Path) -> bool:
    """Whether the database has what the policy declares: a key that rows break is not served."""
    with suppress(OperationalError):
        compared(load_policy(policy)).engine.close()
        return True
    return False


def about(seed: int, folder: Path, count: int, accounting: str, ask: Ask = question, drawn: Draw = world) -> Replayed:
    """Statements about one random world, replayed."""
    random = Random(seed)
    place = drawn(random)
    asked, features = statements(random, place, ask, count)
    here, there = neighbours(random, place, folder, accounting)
    known = None if place.lasting and _agrees(here) else place.catalog(accounting)
    done = replay(here, there, folder / "tape", asked, known)
    return replace(done, features=features)


def same(here: Facts, there: Facts, asked: Asked) -> None:
    """Raise :class:`Diverged` where anything differs."""
    for (what, ours), (also, theirs) in zip(here, there, strict=True):
        if (what, ours) != (also, theirs):
            before = "; ".join(asked.settings)
            raise Diverged(f"the {what} follows a person:\n{before}\n{asked.sql}\n{ours}\n{theirs}")


def replay(here: Path, there: Path, tape: Path, asked: Sequence[Asked], known: Catalog | None = None) -> Replayed:
    """Ask all of it over one database and then, with its released numbers, over the other. Raises :class:`Diverged`."""
    done = Replayed()
    with taped(tape) as recorded:
        with proxy_over(here, known) as proxy:
            opening = (proxy.catalog, recorded.heard)
            first = []
            for one in asked:
                later(here, one)
                first.append(facts(proxy, one, recorded))
        done.released = recorded.position
        recorded.rewind()
        with proxy_over(there, known) as proxy:
            if (proxy.catalog, recorded.heard) != opening:
                raise Diverged("what is declared follows a person, or the SQL by which it is looked up")
            for one, before in zip(asked, first, strict=True):
                later(there, one)
                same(before, facts(proxy, one, recorded), one)
        if recorded.position != done.released:
            raise Diverged("not all was asked for that was released")
    done.statements = len(asked)
    done.states = [_state(one) for one in first]
    done.answered = done.states.count("")
    return done
