"""``dpsql ledger``, ``dpsql budget`` and a whole proxy, over a ledger in a file and over one in PostgreSQL."""

from __future__ import annotations

import csv
import datetime
import io
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpsql.accounting import PrivacyLoss
from dpsql.errors import OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.opened import load_policy, open_ledger, open_policy
from dpsql.proxy import Proxy
from tests.engines.postgres_server import Server
from tests.ledger.reader import rows, violations

POLICY = """
database: duckdb:people.duckdb
ledger: {ledger}
privacy_unit: {unit}
budget: {{epsilon: {epsilon}, accounting: pure}}
statement: {{epsilon: 0.25, max_epsilon: 1}}
analysts: {{ana: {{}}, bob: {{budget: {{epsilon: 0.5}}}}}}
tables: {{person: {{columns: {{id: {{}}, sex: {{values: [F, M]}}}}}}}}
"""
BY_SEX = "SELECT sex, COUNT(*) FROM person GROUP BY sex"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What a policy says of its ledger."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/people.ledger"
    server: Server = request.getfixturevalue("server")
    return server.process.url(server.database())


@pytest.fixture
def policy(tmp_path: Path, place: str) -> Path:
    with duckdb.connect(f"{tmp_path}/people.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INT PRIMARY KEY, sex TEXT)")
        connection.execute("INSERT INTO person SELECT i, ['F', 'M'][1 + i % 2] FROM range(100) t(i)")
    return written(tmp_path / "policy.yaml", place)


def written(path: Path, place: str, unit: str = "person.id", epsilon: object = 2) -> Path:
    path.write_text(POLICY.format(ledger=place, unit=unit, epsilon=epsilon))
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(word) for word in words])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_proxy_charges_and_gives_again_what_it_released(policy: Path, place: str) -> None:
    with closing(Proxy.open(policy)) as proxy:
        first = proxy.session("ana").execute(BY_SEX)
        assert proxy.session("bob").execute(BY_SEX).rows == first.rows
    with closing(Proxy.open(policy)) as proxy:
        assert proxy.session("bob").execute(BY_SEX).rows == first.rows, "it was kept for the next start"
        assert len(proxy.ledger.charges()) == 1
    kept = "policy.yaml-releases" if place.startswith("postgres") else "people.ledger-releases"
    assert (policy.parent / kept).exists()
    assert violations(rows(place.removeprefix("sqlite:")), [], Fraction(2)) == []


def test_releases_are_kept_where_the_policy_says(policy: Path) -> None:
    policy.write_text(f"{policy.read_text()}\nreleases: sqlite:kept.sqlite\n")
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
    assert (policy.parent / "kept.sqlite").exists()
    assert not list(policy.parent.glob("*-releases"))


def test_releases_of_another_ledger_are_not_given(policy: Path, place: str, tmp_path: Path) -> None:
    """The file of releases stays where it is, and the policy names a new ledger."""
    policy.write_text(f"{policy.read_text()}\nreleases: sqlite:kept.sqlite\n")
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
    policy.write_text(policy.read_text().replace(place, f"sqlite:{tmp_path}/new.ledger"))
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
        assert len(proxy.ledger.charges()) == 1


@pytest.mark.quick
def test_a_policy_of_other_people_is_refused_and_a_larger_total_is_not(policy: Path, place: str) -> None:
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
    with closing(Proxy.open(written(policy, place, epsilon=5))) as proxy:
        assert proxy.ledger.spent().epsilon == Fraction(1, 4)
        assert proxy.ledger.limits[""][0].epsilon == 5
    with pytest.raises(OperationalError, match="another privacy unit"):
        open_policy(written(policy, place, unit="row"))


@pytest.mark.parametrize(("unit", "said"), [("person.idd", "privacy_unit: "), ("row", "ledger: ")])
def test_check_says_one_thing_of_another_privacy_unit_than_the_ledgers(
    policy: Path, place: str, capsys: pytest.CaptureFixture[str], unit: str, said: str
) -> None:
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
    code, out, _ = run(capsys, "check", written(policy, place, unit=unit))
    errors = [line for line in out.splitlines() if line.startswith("error: ")]
    assert code == 1
    assert len(errors) == 1, errors
    assert errors[0].startswith(f"error: {said}")


def test_verify_and_export(policy: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "ledger", "verify", policy)
    assert (code, out) == (1, "")
    assert "there is none yet" in err
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
        proxy.session("bob").execute("SELECT COUNT(*) FROM person WHERE sex = 'F' OR id = 7")
        proxy.session("bob").execute("SELECT COUNT(*) FROM person WHERE id < 50")
    code, out, err = run(capsys, "ledger", "verify", policy)
    assert (code, err) == (0, "")
    assert "3 charges" in out
    assert "no id twice, none missing, totals are their sums" in out
    assert "Spent: ε = 0.750" in out
    assert ":" + place.partition("//")[2].partition("@")[0].partition(":")[2] not in out or place.startswith("sqlite")
    code, out, _ = run(capsys, "ledger", "export", policy)
    table = list(csv.DictReader(io.StringIO(out)))
    assert [(row["number"], row["analyst"], row["epsilon"]) for row in table] == [
        ("1", "ana", "0.25"),
        ("2", "bob", "0.25"),
        ("3", "bob", "0.25"),
    ]
    assert table[0]["statement"] == BY_SEX
    assert table[0]["tables"] == "person"
    code, out, _ = run(capsys, "ledger", "export", policy, "--format", "json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["id"] for line in lines] == [row["id"] for row in table]
    assert lines[0]["tables"] == ["person"]
    code, out, _ = run(capsys, "budget", policy)
    assert (code, "Charges:  3" in out) == (0, True)


def test_verify_says_when_a_limit_was_lowered_below_what_is_spent(
    policy: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Proxy.open(policy)) as proxy:
        for value in ("F", "M"):
            proxy.session("bob").execute(f"SELECT COUNT(*) FROM person WHERE sex = '{value}'")
    policy.write_text(
        policy.read_text()
        .replace("0.5", "0.3")
        .replace("{epsilon: 2,", "{epsilon: 0.4,")
        .replace("max_epsilon: 1", "max_epsilon: 0.25")
    )
    code, out, _ = run(capsys, "ledger", "verify", policy)
    assert code == 1
    assert out.splitlines() == [
        "error: all that is spent is above what the policy declares by now",
        "error: what bob has spent is above what the policy declares by now",
    ]


def test_verify_says_what_does_not_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = f"sqlite:{tmp_path}/people.ledger"
    with duckdb.connect(f"{tmp_path}/people.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INT PRIMARY KEY, sex TEXT)")
    policy = written(tmp_path / "policy.yaml", place)
    with closing(Proxy.open(policy)) as proxy:
        proxy.session("ana").execute(BY_SEX)
    with closing(sqlite3.connect(f"{tmp_path}/people.ledger")) as tool:
        tool.execute("UPDATE total SET epsilon = '0'")
        tool.commit()
    code, out, err = run(capsys, "ledger", "verify", policy)
    assert (code, out) == (1, "")
    assert "not the sums of its charges" in err


def test_a_password_in_a_ledger_url_that_all_can_read_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(f"{tmp_path}/people.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INT PRIMARY KEY, sex TEXT)")
    policy = written(tmp_path / "policy.yaml", "postgresql://dpsql:open-sesame@db.example/ledger")
    policy.chmod(0o644)
    code, out, err = run(capsys, "check", policy)
    assert code == 1, "nobody answers there"
    assert "warning: ledger: the URL holds a password" in out
    assert "open-sesame" not in out + err


# --- a damaged file ---

HEADER, SCHEMA = 100, 4096


@pytest.fixture
def damaged(tmp_path: Path) -> Callable[[int, int], Path]:
    """The policy of a ledger with another byte at a place: each time of a copy that is whole."""
    with duckdb.connect(f"{tmp_path}/people.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INT PRIMARY KEY, sex TEXT)")
    policy = written(tmp_path / "policy.yaml", f"sqlite:{tmp_path}/people.ledger")
    with open_ledger(load_policy(policy)) as ledger:
        for _ in range(6):
            ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1, 8)), "SELECT COUNT(*) FROM person", ["person"])
    whole = (tmp_path / "people.ledger").read_bytes()

    def flipped(place: int, bits: int) -> Path:
        for left in tmp_path.glob("people.ledger*"):
            left.unlink()
        damaged = bytearray(whole)
        damaged[place] ^= bits
        (tmp_path / "people.ledger").write_bytes(damaged)
        return policy

    flipped.whole = whole  # type: ignore[attr-defined]
    return flipped


READERS = (("ledger", "verify"), ("ledger", "export"), ("budget",))


def damage(place: int, bits: int, flipped: Callable[[int, int], Path], capsys: pytest.CaptureFixture[str]) -> int:
    """How many commands say that the ledger cannot be used. None leaves with a traceback: that is an exception here."""
    said = 0
    for words in READERS:
        code, _, told = run(capsys, *words, flipped(place, bits))
        assert code == 0 or told.startswith("ERROR 58030: the ledger "), told
        assert "Traceback" not in told
        said += code != 0
    return said


@pytest.mark.parametrize(
    ("what", "offset"),
    [
        (b"SQLite format 3", 3),
        (b"CREATE TRIGGER charge_stays", 2),
        (b"2026-", 4),
        (b"2026-", 0),
        (b'["person"]', 0),
        (b'["person"]', 8),
        (b"1/8", 0),
        (b"1/8", 1),
        (b"1/8", 2),
    ],
)
def test_one_damaged_byte_is_told_in_words(
    damaged: Callable[[int, int], Path], capsys: pytest.CaptureFixture[str], what: bytes, offset: int
) -> None:
    place = damaged.whole.rindex(_year(what)) + offset  # type: ignore[attr-defined]
    for bits in (0x01, 0x80):
        if (what, offset, bits) == (b"2026-", 0, 1):
            continue  # the year 3026
        assert damage(place, bits, damaged, capsys) == 3


def test_a_damaged_page_that_nobody_reads_is_told(
    damaged: Callable[[int, int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """An id stands in its row and in an index, which is read when a charge is looked for."""
    whole: bytes = damaged.whole  # type: ignore[attr-defined]
    with open_ledger(load_policy(damaged(0, 0))) as ledger:
        id_ = ledger.charges()[0].id.encode()
    places = [whole.find(id_), whole.rfind(id_)]
    assert 0 < places[0] < places[1]
    assert [damage(place, 1, damaged, capsys) for place in places] == [3, 3]


def _year(what: bytes) -> bytes:
    return str(datetime.datetime.now(datetime.UTC).year).encode() + b"-" if what == b"2026-" else what


def test_no_damaged_byte_ends_in_a_traceback(
    damaged: Callable[[int, int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes of every kind: of the header, of the schema, and of each page, where its cells begin and where they are."""
    whole: bytes = damaged.whole  # type: ignore[attr-defined]
    draws = random.Random(33)
    places = [draws.randrange(HEADER), *draws.sample(range(HEADER, SCHEMA), 4)]
    for page in range(SCHEMA, len(whole), 4096):
        used = [place for place in range(page, page + 4096) if whole[place]]
        places += used[:3] + draws.sample(used, min(4, len(used)))
    told = sum(damage(place, draws.choice((0x01, 0x80, 0xFF)), damaged, capsys) > 0 for place in places)
    assert told > len(places) / 3


def test_a_statement_over_a_damaged_ledger_is_told_so(
    damaged: Callable[[int, int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    whole: bytes = damaged.whole  # type: ignore[attr-defined]
    policy = damaged(whole.rindex(b"1/8"), 0x80)
    code, out, told = run(capsys, "query", policy, "--analyst", "ana", "SELECT COUNT(*) FROM person")
    assert (code, out) == (1, "")
    assert "cannot be used" in told
    policy = damaged(whole.rindex(b'["person"]'), 0x01)
    code, out, told = run(capsys, "query", policy, "--analyst", "ana", "SELECT statement FROM dpsql.charges")
    assert (code, out) == (1, "")
    assert "the ledger cannot be read" in told
    assert "dpsql ledger verify" in told
