"""Every attempt of the lock-down fails, could succeed elsewhere, and stands in the guide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engines.postgres_server import start
from tests.operations import lockdown
from tests.operations.lockdown import Finding

GUIDE = Path(__file__).parents[2] / "dpsql" / "guide"
THREATS, ROLE = ((GUIDE / f"{name}.md").read_text() for name in ("threat-model", "owner-postgresql"))


def on_postgres(folder: Path) -> Iterator[Finding]:
    server = start()
    try:
        yield from lockdown.postgres_engine(server)
    finally:
        server.process.close()


@pytest.mark.parametrize(
    "attempts",
    [lockdown.duckdb_engine, lambda folder: lockdown.outer(), on_postgres, lambda folder: lockdown.shadow()],
    ids=["duckdb", "outer", "postgres", "shadow"],
)
def test_every_promise_holds_and_is_written_down(attempts: Callable[[Path], Iterator[Finding]], tmp_path: Path) -> None:
    found = list(attempts(tmp_path))
    assert len(found) >= 10
    assert [one for one in found if not one.holds] == []
    for one in found:
        assert f"| {one.where} | {one.promise} | {one.by} |" in THREATS


def test_where_nothing_is_locked_no_promise_holds() -> None:
    assert [one.promise for one in lockdown.unlocked() if one.holds] == []


def test_the_role_is_the_one_that_the_guide_tells_to_make() -> None:
    for line in lockdown.ROLE.strip().splitlines()[1:]:
        told = line.replace("{0}", "library").replace("ON member", "ON member, loan")
        assert told.split(";")[0] in ROLE, line
