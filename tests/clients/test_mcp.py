"""``dpsql mcp`` with the protocol's own client: in one process, and over the pipes of a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult

from dpsql.accounting import PURE, Accountant, PrivacyLoss
from dpsql.errors import BudgetExceeded, Error
from dpsql.interfaces.agent_session import AgentSession, SessionLimit, limit_of
from dpsql.interfaces.mcp_server import mcp_server
from dpsql.ledger import Ledger, Receipt
from dpsql.proxy import Proxy
from tests.new_databases import new_database
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:people.ledger; privacy_unit: person.id
budget: {epsilon: 10, delta: 1e-6, accounting: ACCOUNTING}; statement: {epsilon: 0.5, max_epsilon: 1}
tables:
  person: id, half [even, odd], age 0..99
""")
BY_HALF = "SELECT half, COUNT(*) AS n FROM person GROUP BY half"


@pytest.fixture(params=["pure", "zcdp"])
def policy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with new_database(tmp_path / "people.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, half VARCHAR NOT NULL, age INTEGER)")
        connection.execute(
            "INSERT INTO person SELECT i, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END, i % 100 FROM range(1000) t(i)"
        )
    text = POLICY.replace("ACCOUNTING", request.param)
    path = tmp_path / "policy.yaml"
    path.write_text(text if request.param == "zcdp" else text.replace("delta: 1e-6, ", ""))
    return path


@pytest.fixture
def proxy(policy: Path) -> Iterator[Proxy]:
    found = Proxy.open(policy)
    yield found
    found.close()


def talk(server: Any, questions: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Client(server) as client:
            await questions(client)

    asyncio.run(run())


def told(result: CallToolResult) -> dict[str, Any]:
    """The data of a reply; its text says the same."""
    (text,) = result.content
    assert text.type == "text"
    found = result.structured_content
    assert json.loads(text.text) == found
    assert isinstance(found, dict)
    return found


def test_an_agent_learns_what_to_ask_asks_once_and_again_for_free(proxy: Proxy) -> None:
    async def questions(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"tables", "explain", "ask", "budget"}
        assert tools["ask"].input_schema["required"] == ["sql"]
        (table,) = told(await client.call_tool("tables", {}))["tables"]
        assert table["columns"] == [
            {"name": "id", "type": "integer"},
            {"name": "half", "type": "text", "values": ["even", "odd"]},
            {"name": "age", "type": "integer", "range": [0, 99]},
        ]
        before = told(await client.call_tool("explain", {"sql": BY_HALF}))
        assert before["price"]["epsilon"] == 0.5
        assert before["session"]["fits"]
        assert proxy.ledger.charges() == (), "explaining is free"
        answer = told(await client.call_tool("ask", {"sql": BY_HALF}))
        assert [column["name"] for column in answer["columns"]] == ["half", "n"]
        expected = before["columns"][1]["expected_error"]
        for (half, n), margins in zip(answer["rows"], answer["margins"], strict=True):
            assert half in ("even", "odd")
            assert margins[0] is None
            assert 0 < margins[1] <= 2 * expected
            assert abs(n - 500) < 10 * margins[1]
        assert answer["paid"]["epsilon"] == 0.5
        assert len(proxy.ledger.charges()) == 1
        again = told(await client.call_tool("ask", {"sql": BY_HALF}))
        assert (again["rows"], again["paid"]["epsilon"]) == (answer["rows"], 0)
        left = told(await client.call_tool("budget", {}))
        assert left["statements"] == proxy.session().budget().statements_left

    talk(mcp_server(AgentSession(proxy, None, Fraction(4))), questions)


def test_the_limit_of_a_session_is_kept_and_free_answers_go_on(proxy: Proxy) -> None:
    async def questions(client: Client) -> None:
        first = told(await client.call_tool("ask", {"sql": BY_HALF}))
        paid, refused = 1, None
        for bound in range(1, 60):
            sql = f"SELECT COUNT(*) AS n FROM person WHERE age < {bound}"
            result = await client.call_tool("ask", {"sql": sql, "epsilon": 0.3})
            if result.is_error:
                refused = told(result)["error"]
                before = told(await client.call_tool("explain", {"sql": sql, "epsilon": 0.3}))
                assert not before["session"]["fits"]
                break
            paid += 1
        assert refused is not None
        assert refused["sqlstate"] == "53400"
        assert "does not fit into this session" in refused["message"]
        assert "--epsilon-limit" in refused["hint"]
        assert len(proxy.ledger.charges()) == paid, "what is refused is not charged"
        accountant = proxy.answering.opened.accountant
        spent = sum((charge.loss for charge in proxy.ledger.charges()), PrivacyLoss())
        own = Accountant(accountant.accounting, Fraction(4), accountant.delta)
        assert own.fits(PrivacyLoss(), spent)
        again = await client.call_tool("ask", {"sql": BY_HALF})
        assert not again.is_error
        assert told(again)["rows"] == first["rows"]

    talk(mcp_server(AgentSession(proxy, None, Fraction(4))), questions)
    another = AgentSession(proxy, None, Fraction(4))
    assert another.ask("SELECT COUNT(*) AS n FROM person WHERE age < 77")["paid"]["epsilon"] == 0.5


def test_a_charge_that_is_dearer_than_it_was_told_is_refused_before_it_is_made(tmp_path: Path) -> None:
    """Between explaining and asking a window may end, or a release be forgotten: the charge itself asks the session."""
    limit = SessionLimit(Accountant(PURE, Fraction(1), Fraction(0)))
    total = Accountant(PURE, Fraction(10), Fraction(0))
    with Ledger.open(tmp_path / "ledger", total) as ledger:
        receipt = Receipt(check=limit.check)
        ledger.charge("ana", PrivacyLoss(epsilon=Fraction(3, 4)), "SELECT 1", receipt=receipt)
        with pytest.raises(BudgetExceeded):
            ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1, 2)), "SELECT 2", receipt=receipt)
        ledger.charge("ana", PrivacyLoss(epsilon=Fraction(1, 4)), "SELECT 3", receipt=receipt)
        assert [charge.statement for charge in ledger.charges()] == ["SELECT 3", "SELECT 1"]


@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        ({"sql": "SELECT * FROM person"}, "42501"),
        ({"sql": "SELECT COUNT(*) FROM persons"}, "42P01"),
        ({"sql": "SELECT COUNT(* FROM person"}, "42601"),
        ({"sql": "SET dpsql.epsilon = 1"}, "42601"),
        ({"sql": "SELECT 1; SELECT 2"}, "42601"),
        ({"sql": BY_HALF, "epsilon": 5}, "22023"),
        ({"sql": BY_HALF, "epsilon": -1}, "22023"),
        ({"sql": BY_HALF, "epsilon": 0.1, "target_error": "5%"}, "22023"),
    ],
)
def test_a_refusal_is_data_with_a_reason_and_costs_nothing(
    proxy: Proxy, arguments: dict[str, Any], sqlstate: str
) -> None:
    async def questions(client: Client) -> None:
        for tool in ("explain", "ask"):
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            error = told(result)["error"]
            assert error["sqlstate"] == sqlstate
            assert error["message"]
        assert proxy.ledger.charges() == ()
        # A price is that of its statement alone.
        assert told(await client.call_tool("explain", {"sql": BY_HALF}))["price"]["epsilon"] == 0.5

    talk(mcp_server(AgentSession(proxy, None, Fraction(4))), questions)


def test_questions_at_once_stay_within_the_limit(proxy: Proxy) -> None:
    async def questions(client: Client) -> None:
        asked = [
            client.call_tool("ask", {"sql": f"SELECT COUNT(*) AS n FROM person WHERE age < {bound}"})
            for bound in range(1, 20)
        ]
        results = await asyncio.gather(*asked)
        assert any(result.is_error for result in results)
        assert sum(not result.is_error for result in results) == len(proxy.ledger.charges()) >= 1

    talk(mcp_server(AgentSession(proxy, None, Fraction(4))), questions)


def test_over_the_pipes_of_a_process(policy: Path) -> None:
    async def questions(client: Client) -> None:
        answer = told(await client.call_tool("ask", {"sql": BY_HALF, "target_error": "5%"}))
        assert len(answer["rows"]) == 2
        assert answer["session"]["epsilon_limit"] == 4

    command = StdioServerParameters(
        command=sys.executable, args=["-m", "dpsql", "mcp", str(policy), "--epsilon-limit", "4"]
    )
    talk(stdio_client(command), questions)


def test_without_its_extra_it_says_which_one_before_anything_else() -> None:
    code = "import sys; sys.modules['mcp'] = None; from dpsql.interfaces.commands import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "mcp", "no-policy.yaml", "--epsilon-limit=1"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "dpsql mcp needs mcp" in done.stderr
    assert "pip install '.[mcp]'" in done.stderr


@pytest.mark.parametrize("written", ["0", "-1", "two", "1e3", "inf", "0.0", ""])
def test_a_limit_is_a_number_above_0(written: str) -> None:
    with pytest.raises(Error, match="is no limit"):
        limit_of(written)
