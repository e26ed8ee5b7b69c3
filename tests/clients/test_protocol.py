"""The protocol without sockets: bytes in, bytes out, with an independent decoder of what comes back."""

from __future__ import annotations

import shutil
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.proxy import Proxy
from dpsql.server.session import portals
from dpsql.server.session.backend import Backend
from dpsql.server.session.login import Gate, Peer
from dpsql.server.session.protocol import BEFORE_LOGIN, Protocol
from dpsql.server.shadow.shadow import Shadow
from dpsql.server.start import analysts
from tests.fuzz.frames import bind, describe, execute, framed, parse, query, startup, text

BY_SEX = "SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex ORDER BY sex"
BIG_INT, TEXT = 20, 25


@pytest.fixture(scope="module")
def backend(built_clinic: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    folder = tmp_path_factory.mktemp("wire")
    shutil.copy(built_clinic / clinic.DATABASE, folder)
    policy = (built_clinic / clinic.POLICY).read_text()
    (folder / "policy.yaml").write_text(policy.replace("epsilon: 10,", "epsilon: 100000,"))
    proxy = Proxy.open(folder / "policy.yaml")
    shadow = Shadow.start(proxy.catalog, analysts(proxy.policy), "clinic")
    yield Backend(proxy, shadow)
    shadow.close()
    proxy.close()


@dataclass(frozen=True, slots=True)
class Reply:
    """A message of the server, taken apart by this file's own reading of the protocol's documentation."""

    kind: str
    body: bytes = field(repr=False)

    @property
    def values(self) -> list[bytes | None]:
        """Of a DataRow."""
        assert self.kind == "D"
        (count,) = struct.unpack_from("!h", self.body)
        place, found = 2, []
        for _ in range(count):
            (length,) = struct.unpack_from("!i", self.body, place)
            place += 4
            found.append(None if length < 0 else self.body[place : place + length])
            place += max(length, 0)
        assert place == len(self.body)
        return found

    @property
    def fields(self) -> dict[str, str]:
        """Of an error or a notice."""
        assert self.kind in "EN"
        parts = self.body.rstrip(b"\0").split(b"\0")
        return {part[:1].decode(): part[1:].decode() for part in parts}

    @property
    def columns(self) -> list[tuple[str, int, int]]:
        """Of a RowDescription: name, OID, format."""
        assert self.kind == "T"
        (count,) = struct.unpack_from("!h", self.body)
        place, found = 2, []
        for _ in range(count):
            end = self.body.index(b"\0", place)
            name = self.body[place:end].decode()
            _, _, oid, _, _, format_ = struct.unpack_from("!ihIhih", self.body, end + 1)
            found.append((name, oid, format_))
            place = end + 19
        assert place == len(self.body)
        return found

    @property
    def tag(self) -> str:
        assert self.kind == "C"
        return self.body.rstrip(b"\0").decode()


def replies(data: bytes) -> list[Reply]:
    found, place = [], 0
    while place < len(data):
        (length,) = struct.unpack_from("!i", data, place + 1)
        found.append(Reply(chr(data[place]), data[place + 5 : place + 1 + length]))
        place += 1 + length
    assert place == len(data)
    return found


SYNC, FLUSH, TERMINATE = framed(b"S"), framed(b"H"), framed(b"X")


class Client:
    """A connection to a protocol, without anything between."""

    def __init__(self, backend: Backend, user: str = "ana", peer: Peer | None = None, **options: str) -> None:
        self.backend = backend
        self.protocol = Protocol(backend, Gate(backend.proxy.policy), peer or Peer(True), tls=False)
        self.greeting = self.send(startup(user, **options))

    def send(self, *messages: bytes) -> list[Reply]:
        self.protocol.feed(b"".join(messages))
        return replies(b"".join(self.protocol.respond()))

    def rows(self, sql: str) -> list[list[bytes | None]]:
        found = self.send(query(sql))
        assert "E" not in kinds(found), next(one.fields for one in found if one.kind == "E")
        return [one.values for one in found if one.kind == "D"]

    def error(self, sql: str) -> dict[str, str]:
        found = [one.fields for one in self.send(query(sql)) if one.kind == "E"]
        assert len(found) == 1
        return found[0]

    def spent(self) -> object:
        return self.backend.proxy.ledger.spent()


def kinds(found: list[Reply]) -> str:
    """The kinds of messages, without notices and statuses of parameters."""
    return "".join(one.kind for one in found if one.kind not in "NS")


@pytest.fixture
def client(backend: Backend) -> Client:
    return Client(backend)


# Starting


def test_a_greeting_has_what_drivers_wait_for(client: Client) -> None:
    assert kinds(client.greeting) == "RKZ"
    statuses = dict(
        one.body.rstrip(b"\0").split(b"\0")
        for one in client.greeting
        if one.kind == "S" and one.body.count(b"\0") == 2 and not one.body.endswith(b"\0\0")
    )
    assert statuses[b"server_encoding"] == b"UTF8"
    assert statuses[b"standard_conforming_strings"] == b"on"
    assert statuses[b"DateStyle"].startswith(b"ISO")


def test_a_newer_minor_version_and_unknown_options_are_negotiated(backend: Backend) -> None:
    client = Client(backend)
    fresh = Protocol(backend, Gate(backend.proxy.policy), Peer(True), tls=False)
    fresh.feed(startup(minor=9999, **{"_pq_.test_protocol_negotiation": ""}))
    found = replies(b"".join(fresh.respond()))
    assert found[0].kind == "v"
    assert struct.unpack_from("!ii", found[0].body) == (3 << 16, 1)
    assert found[0].body[8:] == b"_pq_.test_protocol_negotiation\0"
    assert kinds(client.greeting) == "RKZ"


def test_another_database_than_the_served_one_does_not_exist(backend: Backend) -> None:
    # Who names none, by libpq's rule names themselves.
    for name in ("clinic", "ana"):
        assert Client(backend, database=name).greeting[0].kind == "R"
    (refused,) = Client(backend, database="anything").greeting
    assert (refused.fields["S"], refused.fields["C"]) == ("FATAL", "3D000")
    assert refused.fields["H"] == "this server has one: clinic"


def test_a_client_that_asks_for_a_primary_is_connected(client: Client) -> None:
    """As PostgreSQL says of any role that may not write; what writes is refused one by one."""
    statuses = [one.body for one in client.greeting if one.kind == "S"]
    assert text("default_transaction_read_only") + text("off") in statuses
    assert text("in_hot_standby") + text("off") in statuses
    assert client.rows("SHOW transaction_read_only") == client.rows("SHOW default_transaction_read_only") == [[b"off"]]
    assert client.error("CREATE TABLE t (a int)")["C"] == "42501"


def test_an_interval_is_a_typed_parameter(client: Client) -> None:
    """In both forms; what PostgreSQL says of months and days is not turned into a length."""
    sql = "SELECT COUNT(*) FROM visit WHERE day > date '2025-06-01' - $1"
    literal = client.rows(sql.replace("$1", "interval '1 mon 3 days'"))
    for value, format_ in ((b"1 mon 3 days", 0), (struct.pack("!qii", 0, 3, 1), 1)):
        asked = (parse(sql, types=(1186,)), describe("S"), bind((value,), formats=(format_,)), execute(), SYNC)
        assert [one.values for one in client.send(*asked) if one.kind == "D"] == literal


def test_requests_for_encryption_are_answered_before_the_startup(backend: Backend) -> None:
    protocol = Protocol(backend, Gate(backend.proxy.policy), Peer(True), tls=False)
    for code in (80877103, 80877104):
        protocol.feed(struct.pack("!ii", 8, code))
        assert b"".join(protocol.respond()) == b"N"
    protocol.feed(startup())
    assert kinds(replies(b"".join(protocol.respond()))) == "RKZ"


@pytest.mark.parametrize(
    ("options", "statement", "expected"),
    [
        ({"options": "-c dpsql.epsilon=0.125"}, "SHOW dpsql.epsilon", b"0.125"),
        ({"options": "--dpsql.reuse=off -c geqo=off"}, "SHOW dpsql.reuse", b"off"),
        ({"dpsql.notices": "off"}, "SHOW dpsql.notices", b"off"),
        ({"TimeZone": "Europe/Rome"}, "SHOW timezone", b"Europe/Rome"),
        ({"application_name": "a tool"}, "SHOW application_name", b"a tool"),
    ],
)
def test_settings_of_the_startup_packet(
    backend: Backend, options: dict[str, str], statement: str, expected: bytes
) -> None:
    assert Client(backend, **options).rows(statement) == [[expected]]


def test_a_setting_that_the_owner_does_not_allow_ends_the_connection(backend: Backend) -> None:
    client = Client(backend, options="-c dpsql.epsilon=1e9")
    assert client.greeting[-1].fields["C"] == "22023"
    assert client.protocol.closed


def test_an_analyst_without_a_password_comes_from_loopback_only(backend: Backend) -> None:
    away = Client(backend, peer=Peer(False))
    assert away.greeting[-1].fields["C"] == "28000"
    assert away.protocol.closed


def test_an_unknown_user_is_refused(backend: Backend) -> None:
    assert Client(backend, user="mallory").greeting[-1].fields["C"] in ("28000", "28P01")


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!i", BEFORE_LOGIN + 1) + b"x",
        struct.pack("!i", -5),
        struct.pack("!i", 3),
        startup().replace(b"ana", b"\xff\xfe\xfd"),
        struct.pack("!iHH", 8, 2, 0),
        startup("", database="x"),
        startup(replication="database"),
    ],
)
def test_what_is_not_a_startup_ends_the_connection(backend: Backend, data: bytes) -> None:
    protocol = Protocol(backend, Gate(backend.proxy.policy), Peer(True), tls=False)
    protocol.feed(data)
    found = replies(b"".join(protocol.respond()))
    assert [one.kind for one in found] == ["E"]
    assert found[0].fields["S"] == "FATAL"
    assert protocol.closed


def test_nothing_is_answered_before_the_login(backend: Backend) -> None:
    protocol = Protocol(backend, Gate(backend.proxy.policy), Peer(True), tls=False)
    protocol.feed(query("SELECT 1"))
    found = replies(b"".join(protocol.respond()))
    assert [one.kind for one in found] in ([], ["E"])
    assert protocol.session is None


# Simple queries


def test_a_simple_query(client: Client) -> None:
    found = client.send(query(BY_SEX))
    assert kinds(found) == "TDDCZ"
    assert next(one for one in found if one.kind == "T").columns == [("sex", TEXT, 0), ("n", BIG_INT, 0)]
    assert [one.tag for one in found if one.kind == "C"] == ["SELECT 2"]
    assert found[-1].body == b"I"


def test_several_statements_in_one_message(client: Client) -> None:
    found = client.send(query("BEGIN; SELECT 1; SELECT 2; COMMIT"))
    assert kinds(found) == "CTDCTDCCZ"


def test_an_error_ends_the_message_and_the_rest_is_not_run(client: Client) -> None:
    before = client.spent()
    found = client.send(query(f"SELECT 1; SELECT * FROM patient; {BY_SEX.replace('n', 'never')}"))
    assert kinds(found) == "TDCEZ"
    assert client.spent() == before
    assert found[-1].body == b"I"


def test_an_empty_query_is_a_ping(client: Client) -> None:
    for ping in ("", ";", " -- nothing\n"):
        assert kinds(client.send(query(ping))) == "IZ"


def test_an_error_has_its_place_in_the_whole_message(client: Client) -> None:
    sql = "SELECT 1;  SELECT COUNT(*) FROM nowhere"
    problem = client.error(sql)
    assert problem["C"] == "42P01"
    assert int(problem["P"]) == sql.index("nowhere") + 1
    assert problem["H"]


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("SELECT * FROM patient", "42501"),
        ("SELECT * FROM patient WHERE id = 1", "42501"),
        ("COPY patient TO STDOUT", "42501"),
        ("INSERT INTO patient VALUES (1)", "42501"),
        ("SELECT pg_sleep(10)", "42501"),
        ("SELECT pg_read_file('/etc/passwd')", "42501"),
        ("SELECT COUNT(*) FROM patient, pg_class", "0A000"),
        ("SELECT relname, (SELECT COUNT(*) FROM patient) FROM pg_class", "0A000"),
        ("SELECT 1 INTO TEMP x", "42501"),
        ("SET dpsql.epsilon = 1000", "22023"),
        ("SET ROLE postgres", "42501"),
        ("SELECT nope FROM patient", "42501"),
        ("FETCH 1 FROM nothing", "34000"),
        ("EXECUTE nothing", "26000"),
        ("SAVEPOINT x", "25P01"),
        ("EXPLAIN (FORMAT YAML) SELECT COUNT(*) FROM patient", "0A000"),
        ("EXPLAIN ANALYZE SELECT COUNT(*) FROM patient", "0A000"),
    ],
)
def test_refusals_have_their_sqlstate_and_cost_nothing(client: Client, sql: str, sqlstate: str) -> None:
    before = client.spent()
    found = client.error(sql)
    assert (found["C"], found["S"]) == (sqlstate, "ERROR") or (sql.startswith("SELECT nope") and found["C"] == "42703")
    assert client.spent() == before
    assert client.rows("SELECT 1") == [[b"1"]]


def test_no_error_of_a_client_can_make_the_session_fail(client: Client) -> None:
    assert client.error("SELECT COUNT(*) FROM patient WHERE")["C"] == "42601"
    assert client.error("'")["C"] == "42601"


def test_a_notice_tells_the_price_and_can_be_turned_off(client: Client) -> None:
    fresh = "SELECT COUNT(*) FROM patient WHERE birth_year > 1961"
    first = [one.fields["M"] for one in client.send(query(fresh)) if one.kind == "N"]
    assert any(one.startswith("Paid: ") and "(ε = 0.25)." in one for one in first)
    again = [one.fields["M"] for one in client.send(query(fresh)) if one.kind == "N"]
    assert any(one.startswith("Free.") for one in again)
    client.send(query("SET dpsql.notices = off"))
    assert "N" not in [one.kind for one in client.send(query(fresh))]


# The extended protocol


def test_describe_is_free_and_reads_no_data(client: Client) -> None:
    before = client.spent()
    sql = "SELECT region, AVG(height_cm) AS h FROM patient WHERE birth_year >= $1 AND sex = $2 GROUP BY region"
    found = client.send(parse(sql, "s"), describe("S", "s"), SYNC)
    assert kinds(found) == "1tTZ"
    assert struct.unpack("!hII", found[1].body) == (2, 21, TEXT)
    assert found[2].columns == [("region", TEXT, 0), ("h", 701, 0)]
    assert client.spent() == before


def test_parameters_in_text_and_in_binary_ask_the_same(client: Client) -> None:
    sql = "SELECT COUNT(*) FROM patient WHERE birth_year >= $1 AND sex = $2"
    texts = client.send(parse(sql), bind((b"1950", b"F")), execute(), SYNC)
    binaries = client.send(
        parse(sql, types=(23, 25)), bind((struct.pack("!i", 1950), b"F"), formats=(1, 1), results=(1,)), execute(), SYNC
    )
    assert kinds(texts) == kinds(binaries) == "12DCZ"
    first = next(one for one in texts if one.kind == "D").values[0]
    second = next(one for one in binaries if one.kind == "D").values[0]
    assert first is not None
    assert second is not None
    assert int(first) == struct.unpack("!q", second)[0]


def test_the_cost_is_that_of_the_values_that_are_bound(client: Client) -> None:
    sql = "SELECT COUNT(*) FROM patient WHERE birth_year >= $1"
    client.send(parse(sql, "p"), SYNC)
    before = client.spent()
    client.send(bind((b"1933",), "p"), SYNC)
    assert client.spent() == before
    client.send(bind((b"1933",), "p"), execute(), SYNC)
    once = client.spent()
    assert once != before
    client.send(bind((b"1933",), "p"), execute(), SYNC)
    assert client.spent() == once
    client.send(bind((b"1934",), "p"), execute(), SYNC)
    assert client.spent() != once


def test_rows_come_as_many_as_are_asked_for(client: Client) -> None:
    found = client.send(
        query("BEGIN"),
        parse("SELECT generate_series(1, 5)"), bind(portal="c"),
        execute(2, "c"), execute(2, "c"), execute(2, "c"), SYNC,
    )  # fmt: skip
    assert kinds(found) == "CZ12DDsDDsDCZ"
    assert [one.tag for one in found if one.kind == "C"] == ["BEGIN", "SELECT 1"]
    ours = client.send(parse(BY_SEX), bind(portal="d"), execute(1, "d"), execute(1, "d"), execute(1, "d"), SYNC)
    assert kinds(ours) == "12DsDsCZ"


def test_a_portal_ends_with_its_transaction(client: Client) -> None:
    client.send(parse("SELECT 1"), bind(portal="c"), SYNC)
    assert kinds(client.send(execute(portal="c"), SYNC)) == "EZ"


def test_an_error_skips_to_the_sync(client: Client) -> None:
    found = client.send(parse("SELECT nonsense("), bind(), execute(), parse("SELECT 1"), SYNC, parse("SELECT 1"), SYNC)
    assert kinds(found) == "EZ1Z"


def test_mixed_formats_of_results(client: Client) -> None:
    sql = "SELECT 7::int8 AS a, 7::int8 AS b"
    found = client.send(parse(sql), bind(results=(0, 1)), describe("P"), execute(), SYNC)
    assert next(one for one in found if one.kind == "T").columns == [("a", BIG_INT, 0), ("b", BIG_INT, 1)]
    assert next(one for one in found if one.kind == "D").values == [b"7", struct.pack("!q", 7)]
    released = client.send(parse(BY_SEX), bind(results=(0, 1)), execute(), SYNC)
    assert all(len(one.values[1] or b"") == 8 for one in released if one.kind == "D")


@pytest.mark.parametrize(
    ("messages", "sqlstate"),
    [
        ((bind(statement="nothing"),), "26000"),
        ((execute(portal="nothing"),), "34000"),
        ((describe("P", "nothing"),), "34000"),
        ((parse("SELECT $1::int"), bind(())), "08P01"),
        ((parse("SELECT COUNT(*) FROM patient WHERE birth_year > $1"), bind((b"x",)), execute()), "22P02"),
        ((parse("SELECT 1; SELECT 2"),), "42601"),
        ((parse("SELECT 1", "a"), parse("SELECT 2", "a")), "42P05"),
        ((parse("SELECT 1"), bind(results=(0, 0, 0)), execute()), "08P01"),
        ((framed(b"F", b"\0" * 10),), "0A000"),
    ],
)
def test_misuse_is_an_error_and_not_the_end(client: Client, messages: tuple[bytes, ...], sqlstate: str) -> None:
    found = client.send(*messages, SYNC)
    assert next(one for one in found if one.kind == "E").fields["C"] == sqlstate
    assert client.rows("SELECT 1") == [[b"1"]]


# Transactions, cursors, statements by name


def test_a_failed_transaction_waits_for_its_end(client: Client) -> None:
    assert client.send(query("BEGIN"))[-1].body == b"T"
    assert client.send(query("SELECT * FROM patient"))[-1].body == b"E"
    assert client.error("SELECT 1")["C"] == "25P02"
    found = client.send(query("COMMIT"))
    assert [one.tag for one in found if one.kind == "C"] == ["ROLLBACK"]
    assert found[-1].body == b"I"


def test_a_rollback_gives_no_budget_back(client: Client) -> None:
    client.send(query("BEGIN"))
    before = client.spent()
    client.rows("SELECT COUNT(*) FROM patient WHERE birth_year > 1944")
    paid = client.spent()
    client.send(query("ROLLBACK"))
    assert before != paid == client.spent()


def test_settings_follow_the_transaction(client: Client) -> None:
    client.send(
        query("SET dpsql.epsilon = 0.5; BEGIN; SET dpsql.epsilon = 0.125; SAVEPOINT a; SET dpsql.epsilon = 0.0625")
    )
    assert client.rows("SHOW dpsql.epsilon") == [[b"0.0625"]]
    client.send(query("ROLLBACK TO a"))
    assert client.rows("SHOW dpsql.epsilon") == [[b"0.125"]]
    client.send(query("ROLLBACK"))
    assert client.rows("SHOW dpsql.epsilon") == [[b"0.5"]]
    client.send(query("BEGIN; SET LOCAL dpsql.epsilon = 0.25; COMMIT"))
    assert client.rows("SHOW dpsql.epsilon") == [[b"0.5"]]
    assert client.rows("SELECT set_config('dpsql.epsilon', '0.125', false)") == [[b"0.125"]]
    assert client.rows("SHOW dpsql.epsilon") == [[b"0.125"]]
    both = "SELECT current_setting('jit') AS cur, set_config('dpsql.epsilon', $1, false) AS new"
    found = client.send(parse(both), bind((b"0.0625",)), execute(), SYNC)
    assert next(one for one in found if one.kind == "D").values[1] == b"0.0625"
    assert client.rows("SHOW dpsql.epsilon") == [[b"0.0625"]]
    client.send(query("DISCARD ALL"))
    assert client.rows("SHOW dpsql.epsilon") == [[b"0.25"]]


def test_a_setting_of_a_query_is_made_where_the_query_has_a_row(client: Client) -> None:
    """As pgAdmin sends it at every connection, between statements of the same message."""
    asked = "SELECT set_config('bytea_output', '{}', false) FROM pg_show_all_settings() WHERE name = '{}'"
    found = client.send(
        query(f"SET DateStyle=ISO; {asked.format('escape', 'bytea_output')}; SET client_encoding='utf-8'")
    )
    assert [one.values for one in found if one.kind == "D"] == [[b"escape"]]
    assert kinds(found).endswith("CZ")
    assert client.rows("SHOW bytea_output") == [[b"escape"]]
    assert client.rows(asked.format("hex", "no_such_setting")) == []
    assert client.rows("SHOW bytea_output") == [[b"escape"]]


def test_nothing_of_people_decides_on_a_setting(client: Client) -> None:
    """The shadow has no rows: beside a table of the policy it would answer that there are none."""
    before = client.spent()
    for asked in (
        "SELECT set_config('jit', 'off', false) FROM patient WHERE birth_year > 1950",
        "SELECT set_config('jit', 'off', false), (SELECT COUNT(*) FROM patient)",
    ):
        assert kinds(client.send(query(asked))) == "EZ"
    assert client.spent() == before


def test_a_cursor_takes_the_parameters_of_its_declaration(client: Client) -> None:
    declare = "DECLARE c CURSOR FOR SELECT sex, COUNT(*) FROM patient WHERE birth_year > $1 AND sex = $2 GROUP BY 1"
    client.send(query("BEGIN"))
    found = client.send(parse(declare, types=(21, 0)), describe("S"), bind((b"1947", b"F")), execute(), SYNC)
    assert kinds(found) == "1tn2CZ"
    (row,) = [one.values for one in client.send(query("FETCH ALL FROM c")) if one.kind == "D"]
    assert row[0] == b"F"
    assert kinds(client.send(parse(declare, types=(21, 0)), bind((b"1947",)), SYNC)) == "1EZ"


def test_a_cursor_of_the_catalog_takes_parameters_in_binary(client: Client) -> None:
    declare = "DECLARE c CURSOR FOR SELECT relname FROM pg_class WHERE relnatts > $1 AND relname = $2"
    client.send(query("BEGIN"))
    values = (struct.pack("!h", 1), b"patient")
    client.send(parse(declare, types=(21, 25)), bind(values, formats=(1, 1)), execute(), SYNC)
    assert [one.values for one in client.send(query("FETCH 5 FROM c")) if one.kind == "D"] == [[b"patient"]]


OPENED = "SELECT id, sex FROM patient -- all of it"


def test_a_table_that_is_opened_so_many_rows_at_a_time_has_its_columns(client: Client) -> None:
    """DBeaver writes no LIMIT: it is in Execute. Who asks for all rows is refused as before."""
    before = client.spent()
    opened = client.send(parse(OPENED), bind(), describe("P"), execute(200), SYNC)
    assert kinds(opened) == "12TCZ"
    (columns,) = [one.columns for one in opened if one.kind == "T"]
    assert [(name, oid) for name, oid, _ in columns] == [("id", 23), ("sex", 25)]
    assert next(one for one in opened if one.kind == "N").fields["M"].startswith("no row is shown")
    assert client.spent() == before
    for refused in (client.send(parse(OPENED), bind(), execute(), SYNC), client.send(query(OPENED))):
        assert next(one for one in refused if one.kind == "E").fields["C"] == "42501"


def test_a_cursor_over_a_table_has_its_columns_where_it_is_read_in_parts(client: Client) -> None:
    client.send(query("BEGIN"))
    client.send(query(f"DECLARE c CURSOR FOR {OPENED}"))
    assert kinds(client.send(query("FETCH FORWARD 1000 FROM c"))) == "TCZ"
    client.send(query(f"ROLLBACK; BEGIN; DECLARE c CURSOR FOR {OPENED}"))
    assert kinds(client.send(query("FETCH ALL FROM c"))) == "EZ"


def test_a_row_limit_is_none_of_a_query_that_is_answered(client: Client) -> None:
    whole = client.send(query("SELECT sex, COUNT(*) FROM patient GROUP BY sex"))
    asked = (parse("SELECT sex, COUNT(*) FROM patient GROUP BY sex"), bind(), execute(1), execute(1), SYNC)
    parts = client.send(*asked)
    assert [one.body for one in parts if one.kind == "D"] == [one.body for one in whole if one.kind == "D"]
    for sql in ("SELECT 1 FROM patient", "SELECT no_such_column FROM patient", "SELECT MIN(id) FROM patient"):
        found = client.send(parse(sql), bind(), execute(10), SYNC)
        assert "E" in kinds(found), sql


def test_words_of_copy_may_stand_in_quotes(client: Client) -> None:
    """As DuckDB's postgres extension writes them."""
    plain, quoted = (
        client.send(query(f"COPY (SELECT name FROM region) TO STDOUT (FORMAT {word})"))
        for word in ("binary", '"binary"')
    )
    assert kinds(quoted).startswith("H")
    assert [one.body for one in quoted] == [one.body for one in plain]


def test_a_cursor_is_paid_for_when_it_is_first_read(client: Client) -> None:
    before = client.spent()
    client.send(query("BEGIN; DECLARE c CURSOR FOR SELECT COUNT(*) FROM patient WHERE birth_year > 1947"))
    assert kinds(client.send(describe("P", "c"), SYNC)) == "TZ"
    assert client.spent() == before
    assert len(client.rows("FETCH ALL FROM c")) == 1
    assert client.spent() != before
    assert client.rows("FETCH BACKWARD 1 FROM c") != []
    assert client.error("FETCH 1 FROM d")["C"] == "34000"
    client.send(query("ROLLBACK"))
    assert client.error("FETCH 1 FROM c")["C"] == "34000"


def test_a_cursor_with_hold_outlives_its_transaction(client: Client) -> None:
    client.send(query(f"BEGIN; DECLARE h CURSOR WITH HOLD FOR {BY_SEX}; COMMIT"))
    assert len(client.rows("FETCH 1 FROM h")) == 1
    assert [one.tag for one in client.send(query("MOVE ALL IN h")) if one.kind == "C"] == ["MOVE 1"]
    assert [one.tag for one in client.send(query("CLOSE ALL")) if one.kind == "C"] == ["CLOSE CURSOR ALL"]


def test_statements_that_sql_prepares(client: Client) -> None:
    client.send(query("PREPARE q (int) AS SELECT COUNT(*) FROM patient WHERE birth_year > $1"))
    first = client.rows("EXECUTE q(1950)")
    assert first == client.rows("EXECUTE q(1950)")
    assert client.error("EXECUTE q('x')")["C"] == "22P02"
    assert client.error("EXECUTE q(1, 2)")["C"] == "08P01"
    client.send(query("DEALLOCATE q"))
    assert client.error("EXECUTE q(1950)")["C"] == "26000"


def test_copy_of_a_released_answer(client: Client) -> None:
    rows = client.rows(BY_SEX)
    before = client.spent()
    found = client.send(query(f"COPY ({BY_SEX}) TO STDOUT (FORMAT csv, HEADER)"))
    lines = b"".join(one.body for one in found if one.kind == "d").decode().splitlines()
    assert lines == ["sex,n", *(",".join((cell or b"").decode() for cell in row) for row in rows)]
    assert kinds(found) == "H" + "d" * 2 + "cCZ" or kinds(found).startswith("Hd")
    binary = client.send(query(f"COPY ({BY_SEX}) TO STDOUT (FORMAT binary)"))
    first = next(one.body for one in binary if one.kind == "d")
    assert first.startswith(b"PGCOPY\n\xff\r\n\0")
    assert len(first) > 19 + 2
    assert client.spent() == before


@pytest.mark.parametrize("options", ["", "(FORMAT csv, HEADER)", "WITH CSV"])
def test_copy_of_a_public_table_has_all_its_rows(client: Client, options: str) -> None:
    def copied(what: str) -> list[bytes]:
        return [one.body for one in client.send(query(f"COPY {what} TO STDOUT {options}")) if one.kind == "d"]

    whole = copied("(SELECT * FROM region)")
    assert len(whole) > 1
    assert copied("region") == copied("public.region") == copied('"region"') == whole
    assert copied("region (name)") == copied("(SELECT name FROM region)")


def test_copy_of_a_table_that_is_not_there_has_its_place(client: Client) -> None:
    sql = "COPY nowhere TO STDOUT"
    problem = client.error(sql)
    assert (problem["C"], int(problem["P"])) == ("42P01", sql.index("nowhere") + 1)


@pytest.mark.parametrize("table", ["patient", "public.patient", "PATIENT", '"patient"', "patient (id, sex)"])
def test_copy_of_a_table_of_people_is_refused(client: Client, table: str) -> None:
    problem = client.error(f"COPY {table} TO STDOUT")
    assert problem["C"] == "42501"
    assert "COPY (SELECT" in problem["H"]


@pytest.mark.parametrize("form", ["EXPLAIN", "EXPLAIN (FORMAT JSON)"])
def test_explain_of_a_catalog_query_says_that_it_has_no_price(client: Client, form: str) -> None:
    problem = client.error(f"{form} SELECT relname FROM pg_class")
    assert problem["C"] == "0A000"
    assert "catalog" in problem["M"]
    assert "without EXPLAIN" in problem["H"]


def test_wrappers_of_an_answer_are_free(client: Client) -> None:
    client.rows(BY_SEX)
    before = client.spent()
    client.rows(f"SELECT COUNT(*) FROM ({BY_SEX}) AS t")
    client.rows(f"SELECT * FROM ({BY_SEX}) AS virtual_table LIMIT 1")
    assert client.spent() == before


# Mistakes, and those who make them on purpose


def codes(found: list[Reply]) -> list[str]:
    return [one.fields["C"] for one in found if one.kind == "E"]


@pytest.mark.parametrize(
    "sql",
    [
        "/* first */ SELECT COUNT(*) FROM nowhere",
        "EXPLAIN SELECT COUNT(*) FROM nowhere",
        "COPY (SELECT COUNT(*) FROM nowhere) TO STDOUT",
        "DECLARE c CURSOR WITH HOLD FOR SELECT COUNT(*) FROM nowhere",
        "PREPARE q AS SELECT COUNT(*) FROM nowhere",
        "SELECT 1; EXPLAIN\n  SELECT COUNT(*) FROM nowhere",
    ],
)
@pytest.mark.parametrize("extended", [False, True])
def test_an_error_has_its_place_within_what_was_sent(client: Client, sql: str, extended: bool) -> None:
    if extended and ";" in sql:
        return
    found = client.send(parse(sql), bind(), execute(), SYNC) if extended else client.send(query(sql))
    problem = next(one.fields for one in found if one.kind == "E")
    assert problem["C"] == "42P01"
    assert int(problem["P"]) == sql.index("nowhere") + 1


def test_after_an_error_everything_waits_for_sync(client: Client) -> None:
    before = client.spent()
    found = client.send(parse("selec"), query("SELECT COUNT(*) FROM patient WHERE birth_year > 1944"), execute(), SYNC)
    assert kinds(found) == "EZ"
    assert client.spent() == before
    assert client.rows("SELECT 1") == [[b"1"]]


def test_a_function_call_is_refused_and_the_session_goes_on(client: Client) -> None:
    assert kinds(client.send(framed(b"F", b"\0\0\0\x01"))) == "EZ"
    assert client.rows("SELECT 1") == [[b"1"]]


def test_a_password_after_the_login_ends_the_connection(client: Client) -> None:
    assert codes(client.send(framed(b"p", b"secret\0"))) == ["08P01"]
    assert client.protocol.closed


def test_a_portal_of_a_failed_transaction_gives_no_more_rows(client: Client) -> None:
    sql = "SELECT * FROM (VALUES (1), (2), (3)) AS v"
    found = client.send(query("BEGIN"), parse(sql), bind(portal="c"), execute(1, "c"), parse("selec"), SYNC)
    assert kinds(found) == "CZ12DsEZ"
    assert codes(client.send(execute(1, "c"), SYNC)) == ["25P02"]
    assert kinds(client.send(query("ROLLBACK"))) == "CZ"


@pytest.mark.parametrize(
    "sql", ["EXECUTE a", "PREPARE b AS SELECT 1", "FETCH 1 FROM c", "SET dpsql.epsilon = 1", "BEGIN"]
)
def test_only_a_select_can_be_prepared_or_declared(client: Client, sql: str) -> None:
    for before in ("PREPARE a AS ", "DECLARE c CURSOR WITH HOLD FOR "):
        assert client.error(before + sql)["C"] == "42601"


def test_what_names_itself_is_refused(client: Client) -> None:
    assert codes(client.send(parse("EXECUTE a", "a"), bind(statement="a"), execute(), SYNC)) == ["0A000"]
    assert codes(client.send(parse("FETCH 1 FROM c"), bind(portal="c"), describe("P", "c"), SYNC)) == ["24000"]
    assert codes(client.send(parse("FETCH 1 FROM c"), bind(portal="c"), execute(portal="c"), SYNC)) == ["24000"]


def test_too_many_parameters_are_an_error_like_any(client: Client) -> None:
    assert codes(client.send(parse("EXPLAIN SELECT $5000"), bind(), SYNC)) == ["22023"]
    assert not client.protocol.closed


def test_explain_takes_parameters(client: Client) -> None:
    before = client.spent()
    sql = "EXPLAIN SELECT COUNT(*) FROM patient WHERE birth_year > $1"
    found = client.send(parse(sql), bind((b"1957",)), execute(), SYNC)
    shown = b"\n".join(one.values[0] or b"" for one in found if one.kind == "D").decode()
    assert "1957" in shown
    assert client.spent() == before


@pytest.mark.parametrize(
    "messages",
    [
        (query("COPY (SELECT COUNT(*) FROM patient WHERE birth_year > 1945) TO STDOUT (FORMAT xml)"),),
        (parse("SELECT COUNT(*) FROM patient WHERE birth_year > 1946"), bind(results=(0, 1)), execute(), SYNC),
    ],
)
def test_what_cannot_be_delivered_is_not_paid_for(client: Client, messages: tuple[bytes, ...]) -> None:
    before = client.spent()
    assert len(codes(client.send(*messages))) == 1
    assert client.spent() == before


def test_set_local_gives_way_to_what_was_set_after_it(client: Client) -> None:
    client.send(query("BEGIN; SET LOCAL dpsql.notices = off; SET dpsql.epsilon = 0.125; COMMIT"))
    assert (client.rows("SHOW dpsql.epsilon"), client.rows("SHOW dpsql.notices")) == ([[b"0.125"]], [[b"on"]])
    client.send(query("BEGIN; SET LOCAL dpsql.epsilon = 0.5; ROLLBACK"))
    assert client.rows("SHOW dpsql.epsilon") == [[b"0.125"]]
    outside = client.send(query("SET LOCAL dpsql.epsilon = 0.5"))
    assert [one.fields["C"] for one in outside if one.kind == "N"] == ["25P01"]
    assert client.rows("SHOW dpsql.epsilon") == [[b"0.125"]]


@pytest.mark.parametrize(
    "sql",
    [
        "SET client_encoding = 'LATIN1'",
        "SET NAMES 'latin1'",
        "SELECT set_config('client_encoding', 'LATIN1', false)",
        "SET datestyle = 'German, DMY'",
        "SET standard_conforming_strings = off",
    ],
)
def test_what_would_change_the_bytes_of_answers_is_not_set(client: Client, sql: str) -> None:
    assert client.error(sql)["C"] == "22023"
    assert client.rows("SELECT 'é', DATE '2025-01-31'") == [["é".encode(), b"2025-01-31"]]
    for fine in ("SET client_encoding TO 'utf-8'", "SET datestyle = ISO, DMY", "SET standard_conforming_strings = on"):
        assert kinds(client.send(query(fine))) == "CZ"


def test_an_encoding_of_the_startup_packet_is_answered_with_ours(backend: Backend) -> None:
    client = Client(backend, client_encoding="LATIN1", options="-c datestyle=German")
    assert b"client_encoding\0UTF8\0" in [one.body for one in client.greeting if one.kind == "S"]
    assert client.rows("SELECT DATE '2025-01-31', 'é'") == [[b"2025-01-31", "é".encode()]]


def test_a_client_is_told_of_settings_that_come_and_go(client: Client) -> None:
    def told(sql: str) -> list[bytes]:
        return [one.body for one in client.send(query(sql)) if one.kind == "S"]

    assert told("BEGIN; SET TIME ZONE 'Europe/Rome'") == [b"TimeZone\0Europe/Rome\0"]
    assert told("ROLLBACK") == [b"TimeZone\0UTC\0"]
    assert told("SET application_name = 'x'; SELECT 1") == [b"application_name\0x\0"]
    assert told("DISCARD ALL") == [b"application_name\0\0"]


def test_memory_of_a_connection_is_bounded(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portals, "MAX_HELD", 10_000)
    monkeypatch.setattr(portals, "MAX_ROWS", 150)
    big = b"x" * 4_000
    client.send(query("BEGIN"), parse("SELECT $1::text", "s"))
    binds = [bind((big,), "s", name) for name in ("a", "b", "c")]
    assert codes(client.send(*binds, SYNC)) == ["54000"]
    client.send(query("ROLLBACK; BEGIN"))
    for name in ("a", "b"):
        client.send(query(f"DECLARE {name} CURSOR FOR SELECT generate_series(1, 100)"))
    assert len(client.rows("FETCH ALL FROM a")) == 100
    assert client.error("FETCH ALL FROM b")["C"] == "54000"


def test_nothing_more_is_begun_for_a_client_that_is_gone(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = type(client.backend.proxy._opened.engine)
    run = engine.run

    def leave(self: object, plan: object, timeout: float | None, cancellation: object, turn: object) -> object:
        client.protocol.abandon()
        return run(self, plan, timeout, cancellation, turn)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "run", leave)
    first, second = (f"SELECT COUNT(*) FROM patient WHERE height_cm > {height}" for height in (171, 172))
    found = client.send(parse(first), bind(), execute(), SYNC, query(second), query(second))
    assert "D" not in kinds(found)
    charged = [charge.statement for charge in client.backend.proxy.ledger.charges()]
    assert first in charged
    assert second not in charged


# Probes and catalogs


def test_probes_for_columns_are_free(client: Client) -> None:
    before = client.spent()
    for sql in (
        "SELECT * FROM patient LIMIT 0",
        "SELECT * FROM patient WHERE 0 = 1",
        f"SELECT * FROM ({BY_SEX}) t LIMIT 0",
    ):
        found = client.send(query(sql))
        assert kinds(found) == "TCZ"
    assert client.spent() == before


def test_catalogs_tell_the_policy(client: Client) -> None:
    names = client.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1")
    assert names == [[b"patient"], [b"region"], [b"visit"]]
    assert client.rows("SELECT current_user, current_database()") == [[b"ana", b"clinic"]]
    assert client.rows("SELECT reltuples FROM pg_class WHERE relname = 'patient'") in ([[b"-1"]], [[b"0"]])


# Anything at all


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_lead_to_answers_errors_or_the_end(backend: Backend, data: st.DataObject) -> None:
    client = Client(backend)
    valid = [
        query("SELECT 1"), parse("SELECT $1::int"), bind((b"1",)), bind((b"\xff",), formats=(1,)), describe("S"),
        describe("P"), execute(), execute(1), SYNC, FLUSH, query("BEGIN"), query("nonsense"), framed(b"d", b"x"),
        framed(b"c"), framed(b"C", b"S\0"),
    ]  # fmt: skip
    sent = b"".join(data.draw(st.lists(st.sampled_from(valid), max_size=8)))
    noise = data.draw(st.binary(max_size=40))
    place = data.draw(st.integers(0, len(sent)))
    client.protocol.feed(sent[:place] + noise + sent[place:])
    for reply in replies(b"".join(client.protocol.respond())):
        assert reply.kind in "123CDEINSTZntsKRH"
        if reply.kind == "E":
            assert reply.fields["C"] != "XX000", reply.fields


def test_a_cancelled_statement_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = client.backend.proxy._opened.engine
    run = type(engine).run
    entered = threading.Event()

    def slow(self: object, plan: object, timeout: float | None, cancellation: object, turn: object) -> object:
        entered.set()
        client.protocol.cancel()
        return run(self, plan, timeout, cancellation, turn)  # type: ignore[arg-type]

    monkeypatch.setattr(type(engine), "run", slow)
    assert client.error("SELECT COUNT(*) FROM patient WHERE birth_year > 1971")["C"] == "57014"
    assert entered.is_set()
    monkeypatch.undo()
    assert client.rows("SELECT 1") == [[b"1"]]
