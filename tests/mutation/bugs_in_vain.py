"""Bugs by which a statement is paid for in vain, or is given what was released of other rows."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

VAIN = "tests/answer/test_nothing_in_vain.py"

BUGS: tuple[Bug, ...] = (
    bug(
        "constants above aggregates are tried after the charge",
        "dpsql.sandbox.sandbox:Sandbox.describe",
        "if (constants := constants_sql(sql)) is not None:",
        "if (constants := constants_sql(sql)) is None:",
        VAIN,
    ),
    bug(
        "a LIMIT is no constant",
        "rewriter.outer.outer_constants:constants_sql",
        "if isinstance(node, exp.Limit | exp.Offset) and",
        "if isinstance(node, exp.Offset) and",
        VAIN,
    ),
    bug(
        "a database that does not answer is found after the charge",
        "dpsql.opened:Opened.turn",
        "with taken, self.engine.ready(taken, rows.tables, rows.state, patience.left, patience.cancellation):",
        "with taken:",
        VAIN,
    ),
    bug(
        "the connection that has answered is anybody's",
        "dpsql.engines.postgres.postgres_engine:PostgresEngine._prove",
        "self._held.setdefault(turn, None)",
        "self._held.pop(turn, None)",
        VAIN,
    ),
    bug(
        "a release does not stand under its files",
        "dpsql.opened:Opened.version",
        "if files else ()",
        "if not files else ()",
        VAIN,
    ),
    bug(
        "replaced files are not compared with the policy",
        "dpsql.opened:_still_agrees",
        "if _compare(policy, anew, ()) != known:",
        "if not known.tables:",
        VAIN,
    ),
    bug(
        "replaced public rows are those of before",
        "dpsql.opened:_still_agrees",
        "return now == loaded",
        "return now.keys() == loaded.keys()",
        VAIN,
    ),
    bug(
        "files are those of the price at the charge",
        "dpsql.engines.duckdb.duckdb_engine:DuckDBEngine.ready",
        "if listed and (now.watched.state(listed) != state or not now.watched.seem_same(listed)):",
        "if listed and now.watched.state(listed) != state:",
        VAIN,
    ),
    bug(
        "files of all tables are looked at for each statement",
        "dpsql.engines.duckdb.duckdb_engine:DuckDBEngine._listed",
        "return tuple(name for name in dict.fromkeys(tables) if name in self._now.watched.listed)",
        "return every",
        VAIN,
    ),
    bug(
        "the tables that list a plan's groups are not among those that it reads",
        "rewriter.planner.plan_release:",
        "tables_read(query.rows) | (frozenset() if public is None else tables_read(public.sql))",
        "tables_read(query.rows)",
        VAIN,
    ),
    bug(
        "files that the policy does not agree with are compared for each statement",
        "dpsql.engines.duckdb.duckdb_engine:DuckDBEngine._renewed",
        "self._rejected = seen",
        "self._rejected = None",
        VAIN,
    ),
    bug(
        "a turn reads whichever files there are",
        "dpsql.engines.duckdb.duckdb_engine:DuckDBEngine._close_unused",
        "if database is not self._now and all(one is not database for one in self._of_turns.values()):",
        "if database is not self._now:",
        VAIN,
    ),
)
