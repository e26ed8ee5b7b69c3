"""Text to the statements of the wire: what clients send, and what nobody should."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.server.session.portals import Portal, PreparedStatement, moved
from dpsql.server.session.statements import (
    CloseCursor,
    Copy,
    Deallocate,
    Declare,
    Discard,
    ExecutePrepared,
    Fetch,
    Nothing,
    Prepare,
    QueryStatement,
    Setting,
    TransactionStatement,
    statements,
)
from rewriter.refused import Refused
from rewriter.statement.lexer import lexemes, pieces


def kinds(text: str) -> list[object]:
    return [one.kind for one in statements(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ; ;; -- nothing\n/* ; */", []),
        ("SELECT ';'", [QueryStatement("SELECT ';'")]),
        ("select E'a\\';b' ; commit", [QueryStatement("select E'a\\';b'"), TransactionStatement("COMMIT")]),
        ('select $a$;$b$;$a$, "x;y"', [QueryStatement('select $a$;$b$;$a$, "x;y"')]),
        ("/* {app: dbt} */ select 1", [QueryStatement("select 1")]),
        ("TABLE region", [QueryStatement("SELECT * FROM  region")]),
        ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", [TransactionStatement("BEGIN")]),
        ("start transaction", [TransactionStatement("BEGIN")]),
        ("END;", [TransactionStatement("COMMIT")]),
        ("abort", [TransactionStatement("ROLLBACK")]),
        ('RELEASE s1;SAVEPOINT "S 1";SELECT 1', [TransactionStatement("RELEASE", "s1"), TransactionStatement("SAVEPOINT", "S 1"), QueryStatement("SELECT 1")]),
        ("ROLLBACK TO SAVEPOINT S1", [TransactionStatement("ROLLBACK TO", "s1")]),
        ("prepare q (int, text) as select $1", [Prepare("q", ("int", "text"), "select $1")]),
        ("PREPARE q AS SELECT 1", [Prepare("q", (), "SELECT 1")]),
        ("EXECUTE q(-5, 'it''s', NULL, 1.5)", [ExecutePrepared("q", ("-5", "it's", None, "1.5"))]),
        ("DEALLOCATE ALL", [Deallocate(None)]),
        ('DEALLOCATE PREPARE "_P"', [Deallocate("_P")]),
        ('declare "C" binary cursor with hold for select 1', [Declare("C", "select 1", True, True)]),
        ("DECLARE c NO SCROLL CURSOR WITHOUT HOLD FOR\nSELECT ';'", [Declare("c", "SELECT ';'", False, False)]),
        ("FETCH c", [Fetch("c", "NEXT", 1, False)]),
        ("fetch 100 in \"C\"", [Fetch("C", "FORWARD", 100, False)]),
        ("FETCH ALL FROM c", [Fetch("c", "FORWARD", None, False)]),
        ("FETCH BACKWARD ALL FROM c", [Fetch("c", "BACKWARD", None, False)]),
        ("FETCH ABSOLUTE -2 c", [Fetch("c", "ABSOLUTE", -2, False)]),
        ("MOVE FORWARD 3 IN c", [Fetch("c", "FORWARD", 3, True)]),
        ("FETCH -1 FROM c", [Fetch("c", "FORWARD", -1, False)]),
        ("CLOSE ALL; UNLISTEN *; RESET ALL", [CloseCursor(None), Nothing("UNLISTEN"), Setting("RESET ALL", "RESET")]),
        ("DISCARD ALL", [Discard("ALL")]),
        ("COPY (SELECT 1) TO STDOUT", [Copy("SELECT 1", ())]),
        ("COPY a.t TO STDOUT", [Copy("SELECT * FROM a.t", (), table=("a", "t"))]),
        ('COPY "T" (x, "Y") TO STDOUT CSV', [Copy('SELECT x, "Y" FROM "T"', (("format", "csv"),), table=("T",))]),
        ("copy (select (1)) to stdout (format csv, header, delimiter ';')",
         [Copy("select (1)", (("format", "csv"), ("header", "true"), ("delimiter", ";")))]),
        ("COPY (SELECT 1) TO STDOUT WITH CSV HEADER NULL 'x'",
         [Copy("SELECT 1", (("format", "csv"), ("header", "true"), ("null", "x")))]),
        ("SHOW TRANSACTION ISOLATION LEVEL", [Setting("SHOW TRANSACTION ISOLATION LEVEL", "SHOW", False, "transaction_isolation")]),
        ("SET LOCAL dpsql.epsilon = 1", [Setting("SET LOCAL dpsql.epsilon = 1", "SET", True)]),
    ],
)  # fmt: skip
def test_what_clients_send(text: str, expected: list[object]) -> None:
    assert kinds(text) == expected


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("INSERT INTO patient VALUES (1)", "42501"),
        ("CREATE TEMP TABLE t (x int)", "42501"),
        ("COPY patient TO '/tmp/x'", "42501"),
        ("COPY patient nonsense TO STDOUT", "42601"),
        ("COPY patient FROM STDIN", "42501"),
        ("COPY (SELECT 1) TO '/tmp/x'", "42501"),
        ("COPY (SELECT 1) TO PROGRAM 'sh'", "42501"),
        ("DO $$ BEGIN END $$", "42501"),
        ("NOTIFY x", "42501"),
        ("SET ROLE other", "42501"),
        ("SET SESSION AUTHORIZATION other", "42501"),
        ("BEGIN; GRANT x TO y", "42501"),
        ("FROBNICATE", "42601"),
        ("FETCH", "42601"),
        ("FETCH NEXT 3 FROM c", "42601"),
        ("DECLARE c CURSOR", "42601"),
        ("ROLLBACK AND CHAIN", "42601"),
        ("EXECUTE q(pg_sleep(1))", "0A000"),
        ("SELECT 1;" * 101, "54001"),
        ("SELECT '" + "x" * 300_000 + "'", "54001"),
    ],
)
def test_what_is_refused(text: str, sqlstate: str) -> None:
    with pytest.raises(Refused) as refused:
        statements(text)
    assert refused.value.sqlstate == sqlstate


def test_the_position_of_an_error_counts_from_the_start_of_the_message() -> None:
    with pytest.raises(Refused) as refused:
        statements("SELECT 1;  DROP TABLE t")
    assert refused.value.position == len("SELECT 1;  ") + 1


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="aE'\"$;/*-\\\n (),01é\u2028", max_size=60))
def test_any_text_is_cut_without_loss(text: str) -> None:
    end = 0
    for lexeme in lexemes(text):
        assert lexeme.start >= end
        assert text[lexeme.start : lexeme.end] == lexeme.text
        end = lexeme.end
    for start, piece, held in pieces(text):
        assert text[start : start + len(piece)] == piece
        assert held[0].start == 0
        assert all(one.word != ";" for one in held)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gives_statements_or_a_refusal(text: str) -> None:
    try:
        statements(text)
    except Refused as refused:
        assert refused.sqlstate in ("42601", "42501", "0A000", "54001")


def reference(rows: int, position: int, fetch: Fetch) -> tuple[list[int], int]:
    """What FETCH takes, row by row; positions as PostgreSQL counts them, 0 before the first."""
    number = rows + 1 if fetch.count is None else fetch.count
    if fetch.direction in ("BACKWARD", "PRIOR"):
        number = -number
    if fetch.direction in ("FORWARD", "NEXT", "BACKWARD", "PRIOR") and number:
        taken = []
        for _ in range(abs(number)):
            position = max(0, min(rows + 1, position + (1 if number > 0 else -1)))
            if not 1 <= position <= rows:
                break
            taken.append(position - 1)
        return taken, position
    position = {
        "FIRST": 1,
        "LAST": rows,
        "ABSOLUTE": number if number >= 0 else rows + 1 + number,
        "RELATIVE": position + number,
    }.get(fetch.direction, position)
    position = max(0, min(rows + 1, position))
    return ([position - 1] if 1 <= position <= rows else []), position


_FETCHES = st.one_of(
    st.builds(
        Fetch,
        st.just("c"),
        st.sampled_from(["FORWARD", "BACKWARD"]),
        st.one_of(st.none(), st.integers(-6, 6)),
        st.just(False),
    ),
    st.builds(Fetch, st.just("c"), st.sampled_from(["NEXT", "PRIOR", "FIRST", "LAST"]), st.just(1), st.just(False)),
    st.builds(Fetch, st.just("c"), st.sampled_from(["ABSOLUTE", "RELATIVE"]), st.integers(-6, 6), st.just(False)),
)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 5), st.lists(_FETCHES, max_size=8))
def test_a_cursor_moves_as_row_by_row(rows: int, fetches: list[Fetch]) -> None:
    portal, position = Portal(PreparedStatement("", None)), 0
    for fetch in fetches:
        taken, position = reference(rows, position, fetch)
        assert list(moved(portal, fetch, rows)) == taken
        assert portal.position == position
