"""The owner's page of trials: true numbers, on the owner's machine, and before the eyes of an owner alone."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request

from dpsql.console.pages import COOKIE, ConsoleFacts, Pages
from dpsql.console.questions import ServerAddress
from dpsql.console.sign_in import SignedIn
from dpsql.console.trials import is_on_this_machine
from dpsql.errors import DataError
from dpsql.ledger import Ledger
from dpsql.opened import load_policy, open_ledger
from dpsql.what_if import bounds_of, with_bounds
from tests.console.conftest import ANALYST, OWNER, Watched

VISITS = "SELECT COUNT(*) AS visits FROM visit"
TRUE, KEPT = "59,955", "59,852"
"""All visits of the clinic, and those within the policy's bounds."""
ELSEWHERE = [{"x-forwarded-for": "10.0.0.9"}, {"forwarded": "for=10.0.0.9"}, {"via": "1.1 p"}, {"x-real-ip": "::1"}]


def tried(browser: httpx.Client, sql: str, **fields: str) -> str:
    reply = browser.post(
        "/what-if", data={"questions": sql, **{name.replace("__", ": "): fields[name] for name in fields}}
    )
    assert reply.status_code == 200, reply.text
    return reply.text


def ledger_of(console: Watched) -> Ledger:
    return open_ledger(load_policy(console.policy), create=False)


def test_an_owner_sees_what_bounds_and_price_would_do_and_nothing_is_charged(console: Watched) -> None:
    with ledger_of(console) as ledger:
        before = ledger.extent()
    with console.signed_in(OWNER) as owner:
        assert "What if" in owner.get("/owner").text
        first = tried(owner, VISITS)
        assert f'<td class="number">{TRUE}</td>' in first
        assert KEPT in first
        assert 'name="visit: max_rows" value="24"' in first
        assert "→" not in first.split('id="tried"')[1], "the policy's own bounds change nothing"
        other = tried(owner, VISITS, epsilon="1", visit__max_rows="48")
        assert "<code>visit: max_rows: 24 → 48</code>" in other
        assert "epsilon: 0.25 → 1" in other
        within = re.search(rf"{KEPT} <span class=\"margin\">→</span> <strong>([\d,]+)</strong>", other)
        assert within is not None
        assert within[1] == TRUE, "with twice the bound, nobody's rows are left out"
        errors = re.search(r"± ([\d,.]+) \([\d.]+ %\) <span class=\"margin\">→</span> <strong>± ([\d,.]+) ", other)
        assert errors is not None
        assert float(errors[2]) < float(errors[1]), "four times the price is less noise than twice the bound adds"
        halves = tried(owner, VISITS, others="yes")
        assert re.search(r"visit: max_rows</td><td class=\"number\">24</td><td class=\"number\">12</td>", halves)
    with ledger_of(console) as ledger:
        assert ledger.extent() == before


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"visit__max_rows": "0"}, "cannot be"),
        ({"visit__max_rows": "1e3"}, "cannot be"),
        ({"visit__max_rows": "9" * 5000}, "cannot be"),
        ({"epsilon": "nan"}, "cannot be"),
        ({"epsilon": "-1"}, "cannot be"),
        ({"epsilon": "1e-300"}, "cannot be"),
        ({"questions": " ; "}, "there is no question"),
        ({"questions": "SELECT 1;" * 21}, "at most 20"),
        ({"questions": "SELECT nope FROM visit"}, "there is no column"),
        ({"questions": "DROP TABLE visit"}, "refused"),
        ({"questions": "<script>alert(1)</script>"}, "refused"),
    ],
)
def test_a_trial_that_cannot_be_says_why(console: Watched, fields: dict[str, str], said: str) -> None:
    with console.signed_in(OWNER) as owner:
        told = tried(owner, fields.pop("questions", VISITS), **fields)
    assert said in told
    assert TRUE not in told
    assert "<script>alert" not in told


def test_no_analyst_gets_a_true_number(console: Watched) -> None:
    with console.signed_in(OWNER) as owner, console.signed_in(ANALYST) as analyst, console.browser() as nobody:
        ours, theirs = owner.headers["X-CSRF-Token"], analyst.headers["X-CSRF-Token"]
        tokens = [ours, theirs, ""]
        for browser, status in ((analyst, 403), (nobody, 401)):
            for token in tokens:
                reply = browser.post(
                    "/what-if", data={"questions": VISITS, "csrf": token}, headers={"X-CSRF-Token": token}
                )
                assert reply.status_code == status
                assert not re.search(rf"{TRUE}|59955", reply.text)
        assert analyst.get("/what-if").headers["location"] == "/"
        assert "What if" not in analyst.get("/").text
        assert owner.post("/what-if", data={"questions": VISITS}, headers={"X-CSRF-Token": theirs}).status_code == 403
        for passed_on in ELSEWHERE:
            reply = owner.post("/what-if", data={"questions": VISITS}, headers=passed_on)
            assert reply.status_code == 403
            assert TRUE not in reply.text


@pytest.fixture
def pages(console: Watched) -> Iterator[Pages]:
    policy = load_policy(console.policy)
    with open_ledger(policy, create=False) as ledger:
        address = ServerAddress("127.0.0.1", 1, "clinic", False)
        yield Pages(ConsoleFacts(policy, ledger, address, loopback=True, encrypted=False, problems=tuple, what_if=True))


async def _asked(pages: Pages, session: SignedIn, client: str) -> httpx.Response:
    pages.sessions.add(session)
    transport = httpx.ASGITransport(pages.app, client=(client, 1))
    headers = {"Origin": "http://localhost", "X-CSRF-Token": session.csrf}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as browser:
        browser.cookies.set(COOKIE, session.token)
        return await browser.post("/what-if", data={"questions": VISITS})


@pytest.mark.parametrize(
    ("is_owner", "client", "change", "status"),
    [
        (True, "127.0.0.1", {}, 200),
        (True, "::1", {}, 200),
        (False, "127.0.0.1", {}, 403),
        (True, "10.0.0.9", {}, 403),
        (True, "", {}, 403),
        (True, "127.0.0.1", {"what_if": False}, 403),
        (True, "127.0.0.1", {"loopback": False}, 403),
    ],
)
def test_each_condition_is_needed(
    pages: Pages, is_owner: bool, client: str, change: dict[str, bool], status: int
) -> None:
    pages = Pages(replace(pages._facts, **change))  # type: ignore[arg-type]
    session = SignedIn("olga", is_owner, close=lambda: None)
    reply = asyncio.run(_asked(pages, session, client))
    assert reply.status_code == status
    assert (TRUE in reply.text) == (status == 200)


def test_a_request_without_a_sender_is_from_elsewhere() -> None:
    assert not is_on_this_machine(Request({"type": "http", "headers": [], "client": None}))


def test_a_range_has_two_ends(console: Watched) -> None:
    policy = load_policy(console.policy)
    cost = {one.key: one for one in bounds_of(policy, {"visit"}, ["SELECT SUM(cost) FROM visit"]) if one.column}
    wider = with_bounds(policy, {cost["low"]: "-10", cost["high"]: "800"})
    assert [Fraction(end) for end in (wider.tables["visit"].columns or {})["cost"].range or ()] == [-10, 800]
    with pytest.raises(DataError, match="is empty"):
        with_bounds(policy, {cost["low"]: "400"})
    with pytest.raises(DataError, match="cannot be"):
        with_bounds(policy, {cost["high"]: "inf"})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--what-if"], "a page of the console"),
        (["--what-if", "--console-port", "0", "--console-host", ""], "true numbers"),
    ],
)
def test_a_server_that_would_show_them_to_others_does_not_start(
    console: Watched, options: list[str], said: str
) -> None:
    command = [sys.executable, "-m", "dpsql", "serve", str(Path(console.policy)), "--port", "0", "--workers", "1"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert said in done.stderr
