"""``dpsql forget``: kept answers that rows of a table may be in are dropped; nothing else is, and no charge."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dpsql.interfaces.commands.commands import main
from tests.price.test_series import BY_DAY, Clinic, window

MARCH = "SELECT COUNT(*) FROM visit WHERE made >= '2026-03-01' AND made < '2026-03-05'"
FEBRUARY = "SELECT COUNT(*) FROM visit WHERE made >= '2026-02-01' AND made < '2026-03-01'"
ALL, PEOPLE = "SELECT COUNT(*) FROM visit", "SELECT sex, COUNT(*) FROM patient GROUP BY 1"


@pytest.fixture
def clinic(tmp_path: Path) -> Clinic:
    found = Clinic(tmp_path)
    for sql in (MARCH, FEBRUARY, ALL, PEOPLE):
        assert found.ask(sql).price
    return found


def bought_again(clinic: Clinic, *arguments: str) -> list[bool]:
    with clinic.session() as session:
        charges = len(session._proxy.ledger.charges(limit=1000))
    assert main(["forget", str(clinic.folder / "policy.yaml"), *arguments]) == 0
    with clinic.session() as session:
        assert len(session._proxy.ledger.charges(limit=1000)) == charges
        return [bool(session.explain(sql).price) for sql in (MARCH, FEBRUARY, ALL, PEOPLE)]


@pytest.mark.parametrize(
    ("arguments", "bought"),
    [
        (("--table", "visit"), [True, True, True, False]),
        (("--table", "VISIT"), [True, True, True, False]),
        (("--table", "patient"), [False, False, False, True]),
        (("--table", "visit", "--from", "2026-03-01"), [True, False, True, False]),
        (("--table", "visit", "--to", "2026-03-01"), [False, True, True, False]),
        (("--table", "visit", "--from", "2026-03-05", "--to", "2026-03-06"), [False, False, True, False]),
        (("--table", "visit", "--from", "2026-02-28T23:59:59"), [True, True, True, False]),
    ],
)
def test_what_rows_may_be_in_is_dropped(clinic: Clinic, arguments: tuple[str, ...], bought: list[bool]) -> None:
    assert bought_again(clinic, *arguments) == bought


def test_of_a_series_the_days_are_dropped_that_rows_were_in(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path)
    whole = clinic.ask(BY_DAY.format(window("02-05", "03-07")))
    assert (
        main(
            ["forget", str(tmp_path / "policy.yaml"), "--table", "visit", "--from", "2026-02-10", "--to", "2026-02-12"]
        )
        == 0
    )
    clinic.measured.clear()
    again = clinic.ask(BY_DAY.format(window("02-05", "03-07")))
    assert again.price.rho * 15 == whole.price.rho
    changed = [str(old[0])[:10] for old, new in zip(whole.rows, again.rows, strict=True) if old != new]
    assert set(changed) <= {"2026-02-10", "2026-02-11"}


def test_nothing_of_it_is_left_in_the_file(clinic: Clinic) -> None:
    place = clinic.folder / "clinic.ledger-releases"
    with sqlite3.connect(place) as connection:
        bodies = [bytes(body) for (body,) in connection.execute("SELECT body FROM release")]
    assert len(set(bodies)) == 4
    assert main(["forget", str(clinic.folder / "policy.yaml"), "--table", "visit"]) == 0
    left = b"".join(one.read_bytes() for one in clinic.folder.glob("clinic.ledger-releases*") if one.is_file())
    with sqlite3.connect(place) as connection:
        (many,) = connection.execute("SELECT COUNT(*) FROM release").fetchone()
    assert many == 1
    assert sum(body in left for body in bodies) == 1


def test_what_a_running_server_has_open_is_overwritten_too(clinic: Clinic) -> None:
    with clinic.staying_open():
        first = clinic.ask(MARCH)
        assert not first.price
        place = clinic.folder / "clinic.ledger-releases"
        with closing(sqlite3.connect(place)) as connection:
            bodies = [bytes(body) for (body,) in connection.execute("SELECT body FROM release")]
        assert main(["forget", str(clinic.folder / "policy.yaml"), "--table", "visit"]) == 0
        left = b"".join(one.read_bytes() for one in clinic.folder.glob("clinic.ledger-releases*") if one.is_file())
        assert sum(body in left for body in bodies) == 1
        assert clinic.ask(MARCH).price


def test_releases_that_are_being_read_are_an_error(clinic: Clinic, capsys: pytest.CaptureFixture[str]) -> None:
    """Their numbers may still be in what was written ahead."""
    with closing(sqlite3.connect(clinic.folder / "clinic.ledger-releases", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT COUNT(*) FROM release").fetchone()
        assert main(["forget", str(clinic.folder / "policy.yaml"), "--table", "visit"]) == 1
        assert "cannot be changed" in capsys.readouterr().err
    assert main(["forget", str(clinic.folder / "policy.yaml"), "--table", "visit"]) == 0


@pytest.mark.parametrize(
    ("begin", "end", "said", "code"),
    [
        ("yesterday", "2026-05-01", "'yesterday' is no time", 2),
        ("2026-04-01", "2026-05-01T00:00:00Z", "is no time without a zone", 2),
        ("2026-05-01", "2026-04-01", "no time lies in this span", 1),
    ],
)
def test_a_span_without_times_is_an_error(
    clinic: Clinic, capsys: pytest.CaptureFixture[str], begin: str, end: str, said: str, code: int
) -> None:
    asked = ["forget", str(clinic.folder / "policy.yaml"), "--table", "visit", "--from", begin, "--to", end]
    if code == 2:
        with pytest.raises(SystemExit):
            main(asked)
    else:
        assert main(asked) == code
    assert said in capsys.readouterr().err


def test_a_table_that_the_policy_does_not_name_is_an_error(clinic: Clinic, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forget", str(clinic.folder / "policy.yaml"), "--table", "visits"]) == 1
    assert "names no table 'visits'" in capsys.readouterr().err
