"""What analysts get wrong gets one clear message each: what is wrong and where, and a hint that is answered."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from dpsql.errors import Error
from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.proxy import Proxy, Session
from tests.statement.broken_statements import BROKEN_STATEMENTS


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("clinic")
    clinic.build(folder)
    with contextlib.closing(Proxy.open(folder / clinic.POLICY)) as proxy:
        yield proxy.session("ana")


def ask(session: Session, sql: str) -> None:
    """A question is explained, which is refused wherever it is; all else is done."""
    if sql.startswith("SET "):
        session.execute(sql)
    else:
        session.explain(sql)


@pytest.mark.parametrize(("sql", "position", "told", "mended"), BROKEN_STATEMENTS, ids=lambda value: str(value)[:40])
def test_what_is_broken_gets_one_message_and_its_hint_is_answered(
    ana: Session, sql: str, position: int | None, told: str, mended: str
) -> None:
    with pytest.raises(Error) as raised:
        ask(ana, sql)
    error = raised.value
    assert f"{error.sqlstate}: {error.message} | {error.hint}" == told
    assert error.position == position
    assert "\n" not in error.message
    ask(ana, mended)


def test_the_table_is_long_and_says_nothing_twice() -> None:
    statements = [sql for sql, *_ in BROKEN_STATEMENTS]
    assert len(set(statements)) == len(statements) >= 80
    states = {told.split(":")[0] for _, _, told, _ in BROKEN_STATEMENTS}
    assert states >= {"42601", "42P01", "42703", "42883", "42803", "42804", "42501", "0A000", "22P02", "22007", "22023"}
    assert sum(position is not None for _, position, *_ in BROKEN_STATEMENTS) >= 0.8 * len(statements)
