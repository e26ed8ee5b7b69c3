"""``dpsql mcp``: a server of the Model Context Protocol over stdin and stdout, for language-model agents.

The tools are those of :class:`dpsql.interfaces.agent_session.AgentSession`. A refusal is a reply that is marked as an
error, with its SQLSTATE and hint as data, so that an agent can correct its statement.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from dpsql import __version__
from dpsql.errors import Error
from dpsql.interfaces.agent_session import AgentSession

INSTRUCTIONS = """\
Answers to SQL about people, with differential privacy: numbers have noise, and each answer is paid from a budget that
never comes back. Call tables first, then explain (free) until the price and the expected error are right, then ask
once. The same question again is free and has the same numbers. Each measured number has a margin, the half-width of its
95 % interval ("?" where none is known): always tell it beside the number, and pass on the notices. Differences that are
smaller than the margins mean nothing. Rows of people are refused: ask for aggregates."""

Sql = Annotated[str, Field(description="one SELECT in PostgreSQL's SQL, with aggregates over people")]
Epsilon = Annotated[float | None, Field(description="the price ε; without it, the owner's default")]
Target = Annotated[
    str | None, Field(description="instead of a price, the 95 % error to pay for: a number, or a per cent such as 5%")
]


def mcp_server(session: AgentSession) -> MCPServer[Any]:
    """The server of one session."""
    server: MCPServer[Any] = MCPServer("dpsql", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    free = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    @server.tool(description="The tables, columns, values and ranges that may be asked about. Free.", annotations=free)
    def tables() -> CallToolResult:
        return _reply(session.tables)

    @server.tool(
        description="What a statement would cost and how large its error would be, or why it is refused. Free.",
        annotations=free,
    )
    def explain(sql: Sql, epsilon: Epsilon = None, target_error: Target = None) -> CallToolResult:
        return _reply(lambda: session.explain(sql, epsilon, target_error))

    @server.tool(
        description="Buy the answer to a statement: rows, margins, notices, and what was paid.",
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False),
    )
    def ask(sql: Sql, epsilon: Epsilon = None, target_error: Target = None) -> CallToolResult:
        return _reply(lambda: session.ask(sql, epsilon, target_error))

    @server.tool(description="What is left of the budget and of this session's limit. Free.", annotations=free)
    def budget() -> CallToolResult:
        return _reply(session.budget)

    return server


def _reply(tool: Callable[[], dict[str, Any]]) -> CallToolResult:
    """A reply as data, and the same as text for clients that read no data."""
    try:
        told, refused = tool(), False
    except Error as problem:
        reason = {"sqlstate": problem.sqlstate, "message": problem.message, "hint": problem.hint or None}
        told, refused = {"error": reason | {"position": problem.position}}, True
    text = json.dumps(told, ensure_ascii=False, allow_nan=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=told, is_error=refused)
