"""The command line. Results go to stdout, everything else to stderr, so that csv and json can be piped.

Exit codes: 0 done; 1 refused, failed, or a policy with errors; 2 the command line is wrong; 3 the privacy
budget does not admit the statement.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpsql import __version__
from dpsql.errors import BudgetExceeded, DataError, Error, OperationalError

if TYPE_CHECKING:
    from rich.console import Console

    from dpsql.server.certificate import Certificate
    from dpsql.server.start import Beside, Listening

DONE, FAILED, EXHAUSTED, INTERRUPTED = 0, 1, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; no expected error leaves as a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ± gets a question mark, not a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    options = parser().parse_args(arguments)
    try:
        return _COMMANDS[options.command](options)
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BudgetExceeded as problem:
        return _report(problem, options, EXHAUSTED)
    except Error as problem:
        return _report(problem, options, FAILED)
    except OSError as problem:
        reason = f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem.strerror)
        return _report(OperationalError(reason, sqlstate="58030"), options, FAILED)


def parser() -> argparse.ArgumentParser:
    """Every command and option there is."""
    from dpsql.engines import ENGINES

    top = argparse.ArgumentParser(prog="dpsql", description="Answers to SQL about people, with differential privacy.")
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="build a small clinic and walk through what can be asked of it")
    demo.add_argument("--folder", type=Path, default=Path("dpsql-demo"), help="where to build it (%(default)s)")

    init = commands.add_parser("init", help="write a first policy from the schema of a database, never from its rows")
    places = ", ".join(str(kind.address) for kind in ENGINES.values())
    init.add_argument(
        "database", metavar="DATABASE", help=f"one of {places}, or just the path of a file, or of a folder of files"
    )
    init.add_argument("--output", type=Path, metavar="FILE", help="write it here and not to stdout; never overwrites")

    check = commands.add_parser("check", help="compare a policy with its database and list every problem")
    _policy(check)

    query = commands.add_parser("query", help="answer one statement, and charge for it")
    _statement(query)
    query.add_argument("--watch", metavar="NAME", help="ask as a watch: paid once, and free as long as it is FALSE")
    query.add_argument(
        "--intervals", action="store_true", help="put the ends of its 95 %% interval beside each measured column"
    )
    query.add_argument(
        "--other", action="store_true", help="add the groups that are not shown up in a row of their own"
    )
    query.add_argument("--format", choices=("table", "csv", "json"), default="table", help="(%(default)s)")

    explain = commands.add_parser("explain", help="the plan, price and expected error of a statement, for free")
    _statement(explain)
    explain.add_argument(
        "--sql", dest="computed", action="store_true", help="also how it is computed: bounded SQL, statistics, noise"
    )
    explain.add_argument("--other", action="store_true", help="explain it with a row of the groups that are not shown")

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
        "--audit", type=Path, metavar="FILE", help="add who asked what at which price; SIGHUP reopens it"
    )
    serve.add_argument("--metrics-port", type=int, metavar="N", help="/metrics, /health, /ready on 127.0.0.1")
    serve.add_argument(
        "--console-port", type=int, metavar="N", help="a web page to ask and to watch; needs dpsql[console]"
    )
    serve.add_argument(
        "--console-host", default="127.0.0.1", help="others than this machine need TLS and passwords (%(default)s)"
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
        type=_count,
        metavar="N",
        help="how many processes answer; by itself one for each core, 4 at most",
    )
    serve.add_argument(
        "--grace",
        type=_seconds,
        default=5.0,
        metavar="S",
        help="how long statements may go on at the end (%(default)s)",
    )

    passwd = commands.add_parser("passwd", help="make the verifier of an analyst's password, for the policy")
    passwd.add_argument("name", metavar="NAME", help="the analyst")

    budget = commands.add_parser("budget", help="what was declared, what is spent and what is left")
    _policy(budget)

    ledger = commands.add_parser("ledger", help="verify what was charged, or export it")
    acts = ledger.add_subparsers(dest="act", required=True, metavar="ACT")
    _policy(acts.add_parser("verify", help="read every charge, and compare them with totals and policy"))
    export = acts.add_parser("export", help="every charge, the oldest first, with all digits")
    _policy(export)
    export.add_argument(
        "--format", choices=("csv", "json"), default="csv", help="json: one object a line (%(default)s)"
    )

    guide = commands.add_parser("guide", help="print a page of the guide, or the list of them")
    guide.add_argument("page", metavar="PAGE", nargs="?", help="the page; without it, the list")
    return top


def _policy(command: argparse.ArgumentParser) -> None:
    command.add_argument("policy", metavar="POLICY", type=Path, help="the policy file")


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


def _demo(options: argparse.Namespace) -> int:
    from dpsql.interfaces.commands.demo import run

    run(options.folder, _console())
    return DONE


def _init(options: argparse.Namespace) -> int:
    from dpsql.opened import open_engine
    from dpsql.policy import database_to_write, first_policy

    output: Path | None = options.output
    if output is not None and output.exists():
        raise OperationalError(f"{output} exists already", sqlstate="58P02", hint="name another file with --output")
    # Paths in a policy start at the policy's own folder.
    database = database_to_write(options.database, output.parent if output is not None else Path())
    engine = open_engine(database.place, files=database.files)
    try:
        text = first_policy(engine.schema(), database.written, database.named)
    finally:
        engine.close()
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8")
        _tell(f"Wrote {output}. Decide what is marked in it, then: dpsql check {output}")
    if database.place.address.is_server and database.written != database.place.target:
        _tell("The password is not in it: give it to dpsql as PGPASSWORD, or in a password file (~/.pgpass).")
    return DONE


def _check(options: argparse.Namespace) -> int:
    from dpsql.opened import agreeing, engine_of, look_at, referring
    from dpsql.policy import Policy, PolicyError, declared_columns, fit, problems, unsaid

    try:
        policy = Policy.load(options.policy)
    except PolicyError as invalid:
        found = list(invalid.problems)
    else:
        engine = engine_of(policy)
        try:
            schema, seconds = engine.schema(), policy.limits.seconds
            fitted = fit(policy, schema)
            unreadable = engine.unreadable(declared_columns(fitted.catalog))
            looks = look_at(engine, fitted.claims, seconds)
            agreed = agreeing(engine, fitted.agreements, seconds)
            people = referring(engine, unsaid(policy, schema, fitted), fitted.catalog.unit, seconds)
            found = list(problems(policy, schema, (*engine.concerns(), *unreadable), looks, people, agreed))
        finally:
            engine.close()
    for problem in found:
        print(f"{problem.severity}: {problem}")
    errors = sum(problem.severity == "error" for problem in found)
    if not found:
        print(f"{options.policy}: no problems found")
    return FAILED if errors else DONE


def _query(options: argparse.Namespace) -> int:
    from dpsql.display import answer_table, as_csv, as_json, rows_line
    from dpsql.interfaces.python import connect
    from dpsql.price_text import price_line

    with connect(options.policy, options.analyst, **_settings(options)) as connection:
        answer = connection.answer(_sql(options))
        if options.format != "table":
            sys.stdout.write({"csv": as_csv, "json": as_json}[options.format](answer))
        elif answer.columns:
            console = _console()
            console.print(answer_table(answer))
            console.print(rows_line(answer), highlight=False)
            console.print(price_line(answer), highlight=False)
        else:
            _console().print(answer.tag)
    for notice in answer.notices:
        _tell(f"NOTICE: {notice}")
    return DONE


def _explain(options: argparse.Namespace) -> int:
    from dpsql.display import explanation
    from dpsql.interfaces.python import connect

    with connect(options.policy, options.analyst, **_settings(options)) as connection:
        _console().print(explanation(connection.explain(_sql(options)), sql=options.computed), highlight=False)
    return DONE


def _serve(options: argparse.Namespace) -> int:
    from dpsql.server.start import Serving, serve, usual_workers

    serve(
        Serving(
            options.policy,
            options.host,
            options.port,
            _certificate(options),
            without_tls=options.without_tls,
            without_passwords=options.without_passwords,
            audit=options.audit,
            metrics_port=options.metrics_port,
            log_format=options.log_format,
            log_level=options.log_level,
            log_engine_errors=options.log_engine_errors,
            grace=options.grace,
            workers=options.workers or usual_workers(),
            beside=_console_of(options),
        )
    )
    return DONE


def _console_of(options: argparse.Namespace) -> Callable[[Listening], Beside] | None:
    """What starts the console, where it was asked for. Raises where its packages are not installed."""
    if options.console_port is None:
        return None
    try:
        from dpsql.console import console_beside
    except ModuleNotFoundError as missing:
        name = (missing.name or "").partition(".")[0]
        hint = "pip install 'dpsql[console]'"
        raise OperationalError(f"the console needs {name}", sqlstate="58P01", hint=hint) from None
    return console_beside(options.console_host, options.console_port)


def _certificate(options: argparse.Namespace) -> Certificate | None:
    from dpsql.server.certificate import Certificate

    given = {name: os.environ.get(f"DPSQL_TLS_{name}") for name in ("CERTIFICATE", "KEY")}
    certificate = options.tls_certificate or given["CERTIFICATE"]
    key = options.tls_key or given["KEY"]
    if (certificate is None) != (key is None):
        raise DataError("TLS needs a certificate and its key", sqlstate="22023", hint="--tls-certificate F --tls-key F")
    return Certificate(Path(certificate), Path(key)) if certificate is not None and key is not None else None


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 256:
        raise ValueError
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 3600:
        raise ValueError
    return value


def _passwd(options: argparse.Namespace) -> int:
    from getpass import getpass

    from dpsql.server.wire import make_verifier

    if sys.stdin.isatty():
        password = getpass(f"Password of {options.name}: ")
        if getpass("Again: ") != password:
            raise DataError("the two passwords differ", sqlstate="22023")
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise DataError("an empty password protects nothing", sqlstate="22023")
    _tell("Put this into the policy:")
    print(f"analysts:\n  {options.name}: {{password: '{make_verifier(password)}'}}")
    return DONE


def _budget(options: argparse.Namespace) -> int:
    from dpsql.accounting import PrivacyLoss
    from dpsql.display import budget
    from dpsql.ledger import EVERYBODY, Charge, NoLedger, Standing
    from dpsql.opened import accountants, open_ledger
    from dpsql.policy import Policy

    policy = Policy.load(options.policy)
    charges: tuple[Charge, ...] = ()
    total, shares = accountants(policy)
    unspent = {name: tuple(Standing(name, one, PrivacyLoss()) for one in some) for name, some in shares.items()}
    standings = unspent | {EVERYBODY: tuple(Standing(EVERYBODY, one, PrivacyLoss()) for one in total)}
    try:
        # Looking must not make a ledger.
        with open_ledger(policy, create=False) as ledger:
            charges = ledger.charges(limit=sys.maxsize)
            standings = {name: ledger.standings(name or None) for name in standings}
    except OperationalError as problem:
        if not isinstance(problem.__cause__, NoLedger):
            raise
    _console().print(budget(policy, charges, standings), highlight=False)
    return DONE


def _ledger(options: argparse.Namespace) -> int:
    from dpsql.accounting import PrivacyLoss
    from dpsql.display import as_json_lines, charges_as_csv, faults, summary
    from dpsql.opened import open_ledger
    from dpsql.policy import Policy

    with open_ledger(Policy.load(options.policy), create=False) as ledger:
        charges = ledger.charges(limit=sys.maxsize)
        if options.act == "export":
            sys.stdout.write({"csv": charges_as_csv, "json": as_json_lines}[options.format](charges))
            return DONE
        spent = sum((charge.loss for charge in charges), PrivacyLoss())
        found = list(faults(charges, ledger.limits))
        for fault in found:
            print(f"error: {fault}")
        if not found:
            print(summary(ledger.place, ledger.identity, charges, spent, ledger.limits))
    return FAILED if found else DONE


def _guide(options: argparse.Namespace) -> int:
    """Drawn on a terminal; as it is where another program reads."""
    from dpsql.guide import CONTENTS, page

    text = page(options.page or CONTENTS)
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        _console().print(Markdown(text))
    else:
        sys.stdout.write(text)
    return DONE


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "demo": _demo,
    "init": _init,
    "check": _check,
    "query": _query,
    "explain": _explain,
    "serve": _serve,
    "passwd": _passwd,
    "budget": _budget,
    "ledger": _ledger,
    "guide": _guide,
}


def _settings(options: argparse.Namespace) -> dict[str, object]:
    given = {
        "epsilon": options.epsilon,
        "target_error": options.target_error,
        "watch": getattr(options, "watch", None),
    }
    if getattr(options, "intervals", False):
        given["intervals"] = "on"
    if options.other:
        given["other"] = "on"
    return {name: value for name, value in given.items() if value is not None}


def _sql(options: argparse.Namespace) -> str:
    """The statement; read once from stdin, and kept for the message that may have to quote it."""
    if options.sql == "-":
        try:
            options.sql = sys.stdin.read()
        except UnicodeDecodeError:
            raise DataError("the statement is not UTF-8 text", sqlstate="22021") from None
    return str(options.sql)


def _report(problem: Error, options: argparse.Namespace, code: int) -> int:
    from dpsql.display import refusal

    _tell(refusal(problem, getattr(options, "sql", "")))
    return code


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def _console() -> Console:
    from rich.console import Console

    # A pipe has no width: nothing is folded there that a terminal would show in one line.
    return Console() if sys.stdout.isatty() or "COLUMNS" in os.environ else Console(width=160)
