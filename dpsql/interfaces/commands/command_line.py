"""Every command of ``dpsql``, its options, and examples of it."""

from __future__ import annotations

import argparse
import datetime
import math
import os
from collections.abc import Callable
from pathlib import Path

from dpsql import __version__


class _Database(argparse._StoreAction):
    """A database. Its help names the engines that there are, which are loaded when it is shown."""

    def __getattribute__(self, name: str) -> object:
        if name != "help":
            return super().__getattribute__(name)
        from dpsql.engines import ENGINES

        places = ", ".join(map(str, ENGINES.addresses))
        return f"one of {places}, or just the path of a file, or of a folder of files"


def parser() -> argparse.ArgumentParser:
    """Every command and option there is."""
    top = argparse.ArgumentParser(prog="dpsql", description="Answers to SQL about people, with differential privacy.")
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="build a small clinic and walk through what can be asked of it")
    demo.add_argument("--folder", type=Path, default=Path("dpsql-demo"), help="where to build it (%(default)s)")

    init = commands.add_parser("init", help="write a first policy from the schema of a database, never from its rows")
    init.add_argument("database", metavar="DATABASE", action=_Database)
    init.add_argument(
        "--unit",
        metavar="TABLE.COLUMN",
        help="whom to protect: the key of the people, or row where each row is a person",
    )
    init.add_argument("--yes", action="store_true", help="ask no questions: the policy marks with DECIDE what is open")
    init.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write it here and not to stdout; never overwrites"
    )

    check = commands.add_parser("check", help="compare a policy with its database and list every problem")
    _policy(check)
    check.add_argument(
        "--data",
        action="store_true",
        help="show exact figures of what bounds cut off, on the owner's terminal alone",
    )
    check.add_argument(
        "questions",
        nargs="?",
        type=Path,
        metavar="QUESTIONS",
        help="with --data: a file of statements, to see what bounds and price do to them, and other bounds would do",
    )
    check.add_argument(
        "--error", metavar="PERCENT", help="with QUESTIONS: the error that is wanted, and which price it takes: 5"
    )

    audit = commands.add_parser(
        "audit", help="try to break the policy's promise over made-up people, and say how much could be shown"
    )
    _policy(audit)
    audit.add_argument(
        "--minutes",
        type=_number(0.001, 1440),
        default=3.0,
        metavar="M",
        help="how long the servers are asked; more shows more (%(default)s)",
    )
    audit.add_argument(
        "--epsilon", default="1", metavar="E", help="the price of the statements that are tried (%(default)s)"
    )
    audit.add_argument(
        "--scratch",
        metavar="URL",
        help="a PostgreSQL server for trials, where databases are made and dropped; otherwise people are in DuckDB",
    )

    profile = commands.add_parser(
        "profile", help="buy the profile of each table once, and show what row limits cut off"
    )
    _policy(profile)
    profile.add_argument("--price", action="store_true", help="buy nothing: say what it costs, and show what is there")

    query = commands.add_parser("query", help="answer one statement, and charge for it")
    _statement(query)
    query.add_argument(
        "--watch",
        metavar="NAME",
        help="ask as a watch: paid once in each window of the budget, and free as long as it is FALSE",
    )
    query.add_argument(
        "--intervals", action="store_true", help="put the ends of its 95 %% interval beside each measured column"
    )
    query.add_argument("--other", action="store_true", help="add one row for all groups that are not shown")
    query.add_argument("--format", choices=("table", "csv", "json"), default="table", help="(%(default)s)")

    query.add_argument("--plot", action="store_true", help="a chart below the table, with error bars")

    shell = commands.add_parser("shell", help="ask at a prompt that knows the tables")
    _policy(shell)
    shell.add_argument("--analyst", metavar="NAME", help="who asks, where the policy names several")
    shell.add_argument("--plot", action="store_true", help="a chart below each answer")

    explain = commands.add_parser("explain", help="show the plan, price and expected error of a statement, for free")
    _statement(explain)
    explain.add_argument(
        "--sql", dest="computed", action="store_true", help="also how it is computed: bounded SQL, statistics, noise"
    )
    explain.add_argument("--other", action="store_true", help="explain it with a row of the groups that are not shown")

    workload = commands.add_parser("workload", help="plan statements of a file or of the policy as one, and buy them")
    _policy(workload)
    workload.add_argument(
        "file", type=Path, metavar="FILE", help="SELECTs, with ; between them; or a name of workloads"
    )
    workload.add_argument("--analyst", metavar="NAME", help="who buys, where the policy names several")
    workload.add_argument("--epsilon", metavar="E", help="the price of all of it; by itself that of one statement")
    workload.add_argument("--buy", action="store_true", help="charge for it, measure it, and keep it")
    workload.add_argument(
        "--marginals", type=Path, metavar="OUT.parquet", help="write the tables that were measured together"
    )

    synthesize = commands.add_parser(
        "synthesize", help="make up rows of a table from counts that are bought as one; needs dpsql[synthetic]"
    )
    _policy(synthesize)
    synthesize.add_argument("table", metavar="TABLE", help="the table whose rows are made up")
    synthesize.add_argument("--output", required=True, type=Path, metavar="MADE.parquet", help="never overwrites")
    synthesize.add_argument("--analyst", metavar="NAME", help="who buys, where the policy names several")
    synthesize.add_argument("--epsilon", metavar="E", help="the price of all counts; by itself that of one statement")
    synthesize.add_argument(
        "--columns", metavar="C,C,…", help="the columns that are made up, others are NULL; by itself the first 12"
    )
    synthesize.add_argument(
        "--adaptive",
        action="store_true",
        help="choose counts by up to three columns in rounds (AIM), where a model is most wrong; takes minutes",
    )
    synthesize.add_argument(
        "--rows", type=_whole(1, 10_000_000), metavar="N", help="how many; by itself as many as were measured"
    )
    synthesize.add_argument("--price", action="store_true", help="buy nothing: say what it costs")

    serve = commands.add_parser("serve", help="be a PostgreSQL server to psql, BI tools and drivers")
    _policy(serve)
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    serve.add_argument("--port", type=int, default=5433, help="the port to listen on; 0 chooses one (%(default)s)")
    serve.add_argument("--tls-certificate", type=Path, metavar="FILE", help="PEM file; or in DPSQL_TLS_CERTIFICATE")
    serve.add_argument("--tls-key", type=Path, metavar="FILE", help="PEM file of its key; or in DPSQL_TLS_KEY")
    serve.add_argument("--without-tls", action="store_true", help="let other machines connect in clear")
    serve.add_argument(
        "--without-passwords", action="store_true", help="serve other machines though some analysts have no password"
    )
    serve.add_argument(
        "--audit",
        type=Path,
        metavar="FILE",
        help="append to this file who asked what, at which price; SIGHUP reopens it",
    )
    serve.add_argument("--metrics-port", type=int, metavar="N", help="/metrics, /health, /ready on 127.0.0.1")
    serve.add_argument(
        "--console-port", type=int, metavar="N", help="a web page to ask and to watch; needs dpsql[console]"
    )
    serve.add_argument(
        "--console-host", default="127.0.0.1", help="others than this machine need TLS and passwords (%(default)s)"
    )
    serve.add_argument(
        "--what-if",
        action="store_true",
        help="owners may try bounds in a console of this machine alone; it shows them true numbers",
    )
    serve.add_argument("--log-format", choices=("text", "json"), default="text", help="(%(default)s)")
    serve.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info", help="(%(default)s)"
    )
    serve.add_argument(
        "--log-engine-errors", action="store_true", help="log what the database says of errors, with values of rows"
    )
    serve.add_argument(
        "--workers",
        type=_whole(1, 256),
        metavar="N",
        help="how many processes answer; by itself one for each core, 4 at most",
    )
    serve.add_argument(
        "--grace",
        type=_number(0, 3600),
        default=5.0,
        metavar="S",
        help="how long statements may go on at the end (%(default)s)",
    )

    mcp = commands.add_parser("mcp", help="let a language-model agent ask, over stdin and stdout; needs dpsql[mcp]")
    _policy(mcp)
    mcp.add_argument("--analyst", metavar="NAME", help="who asks, where the policy names several")
    mcp.add_argument(
        "--epsilon-limit",
        required=True,
        metavar="E",
        help="the ε that all answers of one session have together, counted like a budget",
    )

    passwd = commands.add_parser("passwd", help="make the verifier of an analyst's password, for the policy")
    passwd.add_argument("name", metavar="NAME", help="the analyst")

    randomize = commands.add_parser(
        "randomize", help="add noise to a column of answers before anybody else has them (local model)"
    )
    randomize.add_argument("file", type=Path, metavar="FILE", help="the answers: CSV, TSV or Parquet, one row a person")
    randomize.add_argument("--column", required=True, metavar="C", help="the column to randomize")
    randomize.add_argument(
        "--values",
        required=True,
        metavar="V,V,…",
        help="every value there may be, none of them private, as a line of CSV",
    )
    randomize.add_argument("--output", required=True, type=Path, metavar="FILE", help="the new file; never overwrites")
    how = randomize.add_mutually_exclusive_group(required=True)
    how.add_argument("--response", metavar="E", help="randomized response at this ε a person")
    how.add_argument(
        "--rappor", metavar="P", help="RAPPOR by these parameters: bits=64,hashes=2,f=0.5,p=0.25,q=0.75,cohorts=8"
    )
    randomize.add_argument("--other", metavar="V", help="the value that all others count as; else they are an error")

    budget = commands.add_parser("budget", help="what was declared, what is spent and what is left")
    _policy(budget)
    orders = budget.add_mutually_exclusive_group()
    orders.add_argument("--pause", metavar="NAME", help="answer this analyst no more, until --resume")
    orders.add_argument("--resume", metavar="NAME", help="answer this analyst again")
    orders.add_argument("--share", metavar="NAME=E", help="another ε for this analyst; NAME=policy: the policy's again")

    ledger = commands.add_parser("ledger", help="verify what was charged, or export it")
    acts = ledger.add_subparsers(dest="act", required=True, metavar="ACT")
    _policy(acts.add_parser("verify", help="read every charge, and compare them with totals and policy"))
    export = acts.add_parser("export", help="every charge, the oldest first, with all digits")
    _policy(export)
    export.add_argument(
        "--format", choices=("csv", "json"), default="csv", help="json: one object a line (%(default)s)"
    )

    forget = commands.add_parser("forget", help="drop the kept answers about a table; their charges stay")
    _policy(forget)
    forget.add_argument("--table", required=True, metavar="T", help="the table whose rows were erased")
    forget.add_argument(
        "--from", dest="begin", type=_time, metavar="TIME", help="only answers about rows from this time on"
    )
    forget.add_argument("--to", dest="end", type=_time, metavar="TIME", help="only answers about rows before this time")

    guide = commands.add_parser("guide", help="print a page of the guide, or the list of them")
    guide.add_argument("page", metavar="PAGE", nargs="?", help="the page; without it, the list")
    for name, command in commands.choices.items():
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        command.epilog = "\n".join(["examples:", *(f"  {one}" for one in _EXAMPLES[name]), "", _CODES])
    return top


_CODES = "exit codes: 0 done; 1 refused, failed, or a policy with errors; 2 a wrong command line; 3 the budget is spent"

_EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("dpsql demo",),
    "init": (
        "dpsql init clinic.duckdb --output policy.yaml",
        "dpsql init postgresql://reader@host/clinic --unit patient.id",
    ),
    "check": (
        "dpsql check policy.yaml",
        "dpsql check policy.yaml --data",
        "dpsql check policy.yaml questions.sql --data --error 5",
    ),
    "audit": (
        "dpsql audit policy.yaml",
        "dpsql audit policy.yaml --minutes 30 --scratch postgresql://trials@localhost/postgres",
    ),
    "profile": ("dpsql profile policy.yaml --price", "dpsql profile policy.yaml"),
    "query": (
        'dpsql query policy.yaml "SELECT sex, COUNT(*) FROM patient GROUP BY sex"',
        "dpsql query policy.yaml --target-error 5% --plot - < question.sql",
        'DPSQL_POLICY=policy.yaml dpsql query --format csv "SELECT COUNT(*) FROM patient"',
    ),
    "shell": ("dpsql shell policy.yaml --analyst ana", "DPSQL_POLICY=policy.yaml dpsql shell"),
    "explain": (
        'dpsql explain policy.yaml "SELECT AVG(cost) FROM visit"',
        'dpsql explain policy.yaml --sql "SELECT …"',
    ),
    "workload": (
        "dpsql workload policy.yaml overview.sql --epsilon 0.5",
        "dpsql workload policy.yaml overview.sql --epsilon 0.5 --buy",
        "dpsql workload policy.yaml overview",
    ),
    "synthesize": (
        "dpsql synthesize policy.yaml patient --price --output made.parquet",
        "dpsql synthesize policy.yaml patient --epsilon 0.5 --output made.parquet",
    ),
    "serve": (
        "dpsql serve policy.yaml --console-port 8080",
        "dpsql serve policy.yaml --host 0.0.0.0 --tls-certificate cert.pem --tls-key key.pem --audit audit.jsonl",
    ),
    "mcp": ("dpsql mcp policy.yaml --analyst ana --epsilon-limit 2",),
    "passwd": ("dpsql passwd ana",),
    "randomize": (
        "dpsql randomize answers.csv --column smoker --values yes,no --response 1.1 --output reports.csv",
        "dpsql randomize sites.parquet --column site --values a.org,b.org --rappor bits=64 --output reports.parquet",
    ),
    "budget": (
        "dpsql budget policy.yaml",
        "dpsql budget policy.yaml --pause ana",
        "dpsql budget policy.yaml --share ana=0.5",
    ),
    "ledger": ("dpsql ledger verify policy.yaml", "dpsql ledger export policy.yaml --format json"),
    "forget": ("dpsql forget policy.yaml --table visit --from 2026-04-01 --to 2026-05-01",),
    "guide": ("dpsql guide", "dpsql guide error-bars"),
}


def _policy(command: argparse.ArgumentParser) -> None:
    known = os.environ.get("DPSQL_POLICY")
    command.add_argument(
        "policy",
        metavar="POLICY",
        type=Path,
        nargs="?" if known else None,
        default=known,
        help="the policy file; or in DPSQL_POLICY",
    )


def _statement(command: argparse.ArgumentParser) -> None:
    _policy(command)
    command.add_argument("sql", metavar="SQL", help="one statement; - reads it from stdin")
    command.add_argument(
        "--epsilon", metavar="E", help="the price of the statement; the policy has a default and a cap"
    )
    command.add_argument(
        "--target-error", metavar="E", help="the 95 %% error to pay for: a number, or a percentage such as 5%%"
    )
    command.add_argument("--analyst", metavar="NAME", help="who asks, where the policy names several")


def _time(text: str) -> datetime.datetime:
    try:
        value = datetime.datetime.fromisoformat(text)
    except ValueError:
        value = None
    if value is None or value.tzinfo is not None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time without a zone: write 2026-04-01, or 2026-04-01T08:30")
    return value


def _whole(low: int, high: int) -> Callable[[str], int]:
    """Reads a whole number between two ends."""

    def read(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"write a whole number from {low:,} to {high:,}, not {text!r}")
        return int(text)

    return read


def _number(low: float, high: float) -> Callable[[str], float]:
    """Reads a number between two ends."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"write a number from {low:g} to {high:g}, not {text!r}")
        return value

    return read
