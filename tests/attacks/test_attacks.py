"""Hostile statements, on a library and on the same one without a member: refused alike, or paid for and hidden.

The statements are in ``statements``, by class; a case's expectation stands above it. Whatever a statement comes to,
D and D′ (:mod:`tests.attacks.library`) must not differ in it but by the values of what was paid for, those must move by
no more than their sensitivity, and nothing of the member who differs may be in any byte that is sent, logged or stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.attacks.canaries import CARD, canary_in, canary_in_files
from tests.attacks.cases import STATEMENTS, Case, cases, every_case
from tests.attacks.dbapi_way import DBAPI, open_dbapi
from tests.attacks.judge import judge, judge_wire
from tests.attacks.library import LIBRARIES, Library
from tests.attacks.wire_way import Wire, open_wire

CLASSES = sorted(path.stem for path in STATEMENTS.glob("*.sql"))
HERE = "duckdb"


def pair(engine: str, folder: Path) -> tuple[Library, Library]:
    make = LIBRARIES[engine]
    return make(folder / "with", with_person=True), make(folder / "without", with_person=False)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DBAPI, DBAPI]]:
    one, other = pair(HERE, tmp_path_factory.mktemp(HERE))
    with open_dbapi(one) as here, open_dbapi(other) as there:
        yield here, there


def attack(both: tuple[DBAPI, DBAPI], engine: str, asked: list[Case]) -> list[str]:
    """What went wrong, one line for each case."""
    wrong = []
    here, there = both
    for case in asked:
        try:
            judge(case, here.ask(case), there.ask(case), "dbapi", engine)
        except AssertionError as problem:
            wrong.append(f"{problem} ({case.why}: {case.steps[-1][:100]!a})")
    return wrong


def nothing_is_left(library: Library, said: bytes) -> None:
    assert canary_in(said) is None
    assert canary_in_files(library.folder, "library.duckdb") == []


def test_there_are_enough_of_them() -> None:
    found = every_case()
    assert len(CLASSES) >= 14
    assert len(found) >= 600
    assert all(len(cases(STATEMENTS / f"{name}.sql")) >= 10 for name in CLASSES)
    assert len({case.steps for case in found}) > 0.99 * len(found)


@pytest.mark.parametrize("name", CLASSES)
def test_an_attack_by_dbapi_tells_nobody_from_somebody(both: tuple[DBAPI, DBAPI], name: str) -> None:
    assert attack(both, HERE, [case for case in cases(STATEMENTS / f"{name}.sql") if not case.slow]) == []
    for one in both:
        nothing_is_left(Library(Path(one.proxy.policy.ledger.path)), "\n".join(one.logged).encode())


def test_the_libraries_differ_and_the_search_finds_it(both: tuple[DBAPI, DBAPI], tmp_path: Path) -> None:
    """Else all of this would hold of two copies, or of a search that finds nothing."""
    sql = "SELECT COUNT(*), SUM(score) FROM member"
    case = Case("differ", (sql,), every_case()[0].usual, (), False, False, "")
    one, other = (way.ask(case)[0].rows for way in both)
    assert one != other
    for guise in (CARD, CARD[::-1], CARD.upper(), CARD.encode().hex(), f"x{CARD}"[:9]):
        (tmp_path / "log").write_text(guise)
        assert canary_in_files(tmp_path, "library.duckdb"), guise


@pytest.mark.campaign
@pytest.mark.parametrize("engine", sorted(LIBRARIES))
def test_attacks_by_dbapi(tmp_path: Path, engine: str) -> None:
    one, other = pair(engine, tmp_path)
    with open_dbapi(one) as here, open_dbapi(other) as there:
        assert attack((here, there), engine, every_case()) == []
        for library, way in ((one, here), (other, there)):
            nothing_is_left(library, "\n".join(way.logged).encode())


@pytest.mark.campaign
@pytest.mark.parametrize("engine", sorted(LIBRARIES))
def test_attacks_over_the_wire(tmp_path: Path, engine: str) -> None:
    one, other = pair(engine, tmp_path)
    with ExitStack() as stack:
        here, there = stack.enter_context(open_wire(one)), stack.enter_context(open_wire(other))
        assert attack_wire(here, there, engine, every_case()) == []
        for library, wire in ((one, here), (other, there)):
            assert len(wire.heard) > 100_000
            nothing_is_left(library, bytes(wire.heard))


def attack_wire(here: Wire, there: Wire, engine: str, asked: list[Case]) -> list[str]:
    wrong = []
    for case in asked:
        for extended in (False, True):
            try:
                found = here.ask(case, extended=extended), there.ask(case, extended=extended)
                judge_wire(case, *found, engine, "extended" if extended else "simple")
            except (AssertionError, OSError) as problem:
                wrong.append(f"{problem} ({case.why}: {case.steps[-1][:100]!a})")
    return wrong
