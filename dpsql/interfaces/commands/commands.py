"""The command line. Results go to stdout, everything else to stderr, so that csv and json can be piped.

Exit codes: 0 done; 1 refused, failed, or a policy with errors; 2 the command line is wrong; 3 the privacy
budget does not admit the statement.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dpsql import __version__
from dpsql.errors import BudgetExceeded, DataError, Error, OperationalError, install
from dpsql.interfaces.commands.command_line import parser

if TYPE_CHECKING:
    from rich.console import Console

    from dpsql.engines import Schema
    from dpsql.policy import OwnerAnswers, Policy, Problem
    from dpsql.server.certificate import Certificate
    from dpsql.server.start import Beside, Listening

DONE, FAILED, EXHAUSTED, INTERRUPTED = 0, 1, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; no expected error leaves as a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ± gets a question mark, not a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    known = parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        known.print_help()
        return DONE
    options = known.parse_args(arguments)
    if arguments is None:
        _begin_process(options.command)
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


def _begin_process(command: str) -> None:
    """What a process pays once, and a command of its own needs not."""
    from dpsql.server.collector import seldom

    seldom()
    if command in _WITHOUT_FRAMES:
        from dpsql.releases import without_frames

        without_frames()


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
        schema = engine.schema()
        answers, name = _answers(options, schema, database.named), "" if output is None else output.stem
        text = first_policy(schema, database.written, database.named, answers, name=name)
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


def _answers(options: argparse.Namespace, schema: Schema, files: Mapping[str, str]) -> OwnerAnswers:
    """What the owner says of a first policy: on the command line, and at a terminal when asked."""
    from dpsql.engines import holds_texts
    from dpsql.policy import (
        EACH_ROW,
        OwnerAnswers,
        asked_bounds,
        asked_unit,
        named_like_keys,
        people_tables,
        units,
        with_guessed_keys,
    )

    unit: tuple[str, str] | str | None = None
    if options.unit == EACH_ROW:
        unit = EACH_ROW
    elif options.unit is not None:
        table, _, column = options.unit.partition(".")
        if column not in (schema.tables[table].columns if table in schema.tables else ()):
            raise DataError(f"there is no column {options.unit}", sqlstate="42703", hint="--unit TABLE.COLUMN, or row")
        unit = table, column
    if options.yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return OwnerAnswers.of(unit)

    def ask(question: str, proposal: str) -> str:
        sys.stderr.write(f"{question}{f' [{proposal}]' if proposal else ''}: ")
        sys.stderr.flush()
        return sys.stdin.readline().strip() or proposal

    if files:
        schema = with_guessed_keys(schema)
    candidates = [str(one) for one in units(schema)]
    named = [one for one in named_like_keys(schema) if one not in candidates]
    said = unit or asked_unit(candidates, named, schema, ask)
    if said is None:
        return OwnerAnswers()
    # Parquet says what its columns hold; other files hold texts.
    untyped = {table for table, file in files.items() if holds_texts(file)}
    tables = dict.fromkeys(schema.tables, False) if isinstance(said, str) else people_tables(schema, said, files)
    return asked_bounds(said, tables, schema, ask, untyped)


def _check(options: argparse.Namespace) -> int:
    from dpsql.made_up_rows import preview_problems
    from dpsql.opened import agreeing, engine_of, ledger_problems, look_at, people_of, referring
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
            keys = referring(engine, unsaid(policy, schema, fitted), fitted.catalog.unit, seconds)
            people = None if fitted.problems else people_of(engine, fitted.catalog, seconds)
            found = problems(policy, schema, (*engine.concerns(), *unreadable), looks, keys, agreed, people)
        finally:
            engine.close()
        unit_is_known = not any(one.severity == "error" and one.path == "privacy_unit" for one in found)
        of_ledger = ledger_problems(policy, unit_is_known=unit_is_known)
        found = [*of_ledger, *found, *preview_problems(policy, fitted.catalog)]
        if policy.workloads and not any(problem.severity == "error" for problem in found):
            found += _workload_problems(policy)
    for problem in found:
        print(f"{problem.severity}: {problem}")
    errors = sum(problem.severity == "error" for problem in found)
    if not found:
        print(f"{options.policy}: no problems found")
    if options.data and not errors:
        from dpsql.interfaces.commands.data_check import check_data

        check_data(policy, _console(), options.questions, options.error)
    elif options.questions is not None and not options.data:
        raise DataError("questions are tried on the rows that are there", sqlstate="22023", hint="add --data")
    return FAILED if errors else DONE


def _workload_problems(policy: Policy) -> list[Problem]:
    """What is wrong with workloads, found without the policy's ledger, which may not be there yet."""
    from dpsql.opened import compared, open_here
    from dpsql.policy import Place
    from dpsql.proxy import Proxy

    with TemporaryDirectory(prefix="dpsql-check-") as folder:
        ledger = Place.of("sqlite:check.ledger", Path(folder))
        unpaid = policy.model_copy(update={"ledger": ledger, "releases": None})
        with closing(Proxy.of(open_here(compared(unpaid)))) as proxy:
            return list(proxy.declared.problems())


def _audit(options: argparse.Namespace) -> int:
    from dpsql.interfaces.commands.audit_command import audit

    passed = audit(options.policy, options.minutes, options.epsilon, options.scratch, _console())
    return DONE if passed else FAILED


def _profile(options: argparse.Namespace) -> int:
    from dpsql.interfaces.commands.profile_command import profile

    profile(options.policy, _console(), _tell, price_only=options.price)
    return DONE


def _query(options: argparse.Namespace) -> int:
    from dpsql.display import answer_table, as_csv, as_json, chart_lines, rows_line
    from dpsql.interfaces.commands.waiting import waiting
    from dpsql.interfaces.python import connect
    from dpsql.price_text import price_line

    with connect(options.policy, options.analyst, **_settings(options)) as connection:
        with waiting(_console()) as progress:
            answer = connection.answer(_sql(options), progress=progress)
        if options.format != "table":
            sys.stdout.write({"csv": as_csv, "json": as_json}[options.format](answer))
        elif answer.columns:
            console = _console()
            console.print(answer_table(answer))
            if options.plot:
                console.print("\n".join(chart_lines(answer, min(console.width, 120))), highlight=False, markup=False)
            console.print(rows_line(answer), highlight=False)
            console.print(price_line(answer), highlight=False)
        else:
            _console().print(answer.tag)
    for notice in answer.notices:
        _tell(f"NOTICE: {notice}")
    return DONE


def _shell(options: argparse.Namespace) -> int:
    from dpsql.interfaces.commands.shell import Shell, prompt, words
    from dpsql.interfaces.python import connect

    with connect(options.policy, options.analyst) as connection:
        console = _console()
        if sys.stdin.isatty():
            console.print(f"dpsql {__version__}: you ask as {connection.analyst}; \\? for help", highlight=False)
        Shell(connection, console, plot=options.plot).run(prompt(words(connection)))
    return DONE


def _explain(options: argparse.Namespace) -> int:
    from dpsql.display import explanation
    from dpsql.interfaces.python import connect

    with connect(options.policy, options.analyst, **_settings(options)) as connection:
        _console().print(explanation(connection.explain(_sql(options)), sql=options.computed), highlight=False)
    return DONE


def _workload(options: argparse.Namespace) -> int:
    from dpsql.interfaces.commands.workload_command import workload

    asked = (options.policy, options.file, options.analyst, options.epsilon, _console())
    workload(*asked, buy=options.buy, marginals=options.marginals)
    return DONE


def _synthesize(options: argparse.Namespace) -> int:
    try:
        from dpsql.synthetic.graphical_model import GraphicalModel, draw
    except ModuleNotFoundError as missing:
        name = (missing.name or "").partition(".")[0]
        raise OperationalError(f"dpsql synthesize needs {name}", sqlstate="58P01", hint=install("synthetic")) from None
    from dpsql.interfaces.commands.synthesize_command import synthesize

    only = [name for name in (options.columns or "").split(",") if name]
    asked = (options.policy, options.table, options.output, draw, _console(), _tell)
    wanted = {"analyst": options.analyst, "epsilon": options.epsilon, "only": only, "rows": options.rows}
    synthesize(*asked, **wanted, price_only=options.price, adaptive=GraphicalModel if options.adaptive else None)
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
        if options.what_if:
            raise DataError("--what-if is a page of the console", sqlstate="22023", hint="add --console-port 8080")
        return None
    try:
        from dpsql.console import console_beside
    except ModuleNotFoundError as missing:
        name = (missing.name or "").partition(".")[0]
        raise OperationalError(f"the console needs {name}", sqlstate="58P01", hint=install("console")) from None
    return console_beside(options.console_host, options.console_port, what_if=options.what_if)


def _certificate(options: argparse.Namespace) -> Certificate | None:
    from dpsql.server.certificate import Certificate

    given = {name: os.environ.get(f"DPSQL_TLS_{name}") for name in ("CERTIFICATE", "KEY")}
    certificate = options.tls_certificate or given["CERTIFICATE"]
    key = options.tls_key or given["KEY"]
    if (certificate is None) != (key is None):
        raise DataError("TLS needs a certificate and its key", sqlstate="22023", hint="--tls-certificate F --tls-key F")
    return Certificate(Path(certificate), Path(key)) if certificate is not None and key is not None else None


def _mcp(options: argparse.Namespace) -> int:
    try:
        from dpsql.interfaces.mcp_server import mcp_server
    except ModuleNotFoundError as missing:
        name = (missing.name or "").partition(".")[0]
        raise OperationalError(f"dpsql mcp needs {name}", sqlstate="58P01", hint=install("mcp")) from None
    from dpsql.interfaces.agent_session import AgentSession, limit_of
    from dpsql.proxy import Proxy

    limit = limit_of(options.epsilon_limit)
    proxy = Proxy.open(options.policy)
    try:
        mcp_server(AgentSession(proxy, options.analyst, limit)).run()
    finally:
        proxy.close()
    return DONE


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


def _randomize(options: argparse.Namespace) -> int:
    from dpsql.randomize import ColumnToRandomize, Secret, epsilon_of, randomize_file, rappor_of, values_of

    values = values_of(options.values)
    if options.other is not None and options.other not in values:
        raise DataError("--other is one of the values", sqlstate="22023")
    epsilon = None if options.response is None else epsilon_of(options.response)
    rappor = None if options.rappor is None else rappor_of(values, options.rappor)
    asked = ColumnToRandomize(options.column, values, epsilon, rappor, options.other)
    made = randomize_file(options.file, options.output, asked, Secret())
    if made.earlier:
        _tell(f"Warning: reports of this column of the file were made before: {', '.join(made.earlier[-3:])}. {_TWICE}")
    lacking = f", {made.missing:,} of them without a report" if made.missing else ""
    _tell(f"{made.rows:,} rows{lacking}: {made.law.words}.")
    _tell("Who has the reports cannot tell two values of a person apart by more than that.")
    _tell("Keep no copy of the answers, and randomize them once: two reports of a person tell twice as much.")
    _tell("Put this into the policy:")
    print(asked.policy_line)
    return DONE


_TWICE = "Who has two reports of a person learns twice as much of them: give away one of the files alone."


def _budget(options: argparse.Namespace) -> int:
    from dpsql.accounting import PrivacyLoss
    from dpsql.display import budget
    from dpsql.ledger import EVERYBODY, Charge, NoLedger, Standing
    from dpsql.opened import accountants, open_ledger
    from dpsql.policy import Policy

    policy = Policy.load(options.policy)
    charges: tuple[Charge, ...] = ()
    paused: frozenset[str] = frozenset()
    total, shares = accountants(policy)
    unspent = {name: tuple(Standing(name, one, PrivacyLoss()) for one in some) for name, some in shares.items()}
    _give_order(options, policy)
    standings = unspent | {EVERYBODY: tuple(Standing(EVERYBODY, one, PrivacyLoss()) for one in total)}
    try:
        # Looking must not make a ledger.
        with open_ledger(policy, create=False) as ledger:
            ledger.verify()
            charges = ledger.charges(limit=sys.maxsize)
            orders = ledger.orders()
            standings = {name: ledger.standings(name or None) for name in {*standings, *orders.shares}}
            paused = orders.paused
    except OperationalError as problem:
        if not isinstance(problem.__cause__, NoLedger):
            raise
    _console().print(budget(policy, charges, standings, paused), highlight=False)
    return DONE


def _give_order(options: argparse.Namespace, policy: Policy) -> None:
    """Write down what the owner wants of an analyst, if anything."""
    from getpass import getuser

    from dpsql.ledger import Order
    from dpsql.opened import open_ledger

    name, act, share = options.pause or options.resume or "", "pause" if options.pause else "resume", ""
    if options.share:
        act = "share"
        name, _, share = options.share.partition("=")
        if not share:
            hint = "--share ana=0.5, or --share ana=policy"
            raise DataError("a share has a name and an ε", sqlstate="22023", hint=hint)
    if not name:
        return
    if policy.analysts is not None and name not in policy.analysts:
        hint = f"the policy names {', '.join(policy.analysts)}"
        raise DataError(f"there is no analyst {name!r}", sqlstate="42704", hint=hint)
    with open_ledger(policy) as ledger:
        ledger.order(name, Order.asked(getuser(), act, share))


def _ledger(options: argparse.Namespace) -> int:
    from dpsql.accounting import PrivacyLoss
    from dpsql.display import as_json_lines, charges_as_csv, faults, summary
    from dpsql.opened import open_ledger
    from dpsql.policy import Policy

    with open_ledger(Policy.load(options.policy), create=False) as ledger:
        ledger.verify()
        charges = ledger.charges(limit=sys.maxsize)
        if options.act == "export":
            sys.stdout.write({"csv": charges_as_csv, "json": as_json_lines}[options.format](charges))
            return DONE
        spent = sum((charge.loss for charge in charges), PrivacyLoss())
        # What was spent within a share that an owner has lowered since is no fault.
        ordered = ledger.orders().shares
        found = list(faults(charges, {name: own for name, own in ledger.limits.items() if name not in ordered}))
        for fault in found:
            print(f"error: {fault}")
        if not found:
            print(summary(ledger.place, ledger.identity, charges, spent, ledger.limits))
    return FAILED if found else DONE


def _forget(options: argparse.Namespace) -> int:
    from dpsql.engines import match_table
    from dpsql.opened import open_ledger, open_store
    from dpsql.policy import Policy

    policy, table = Policy.load(options.policy), options.table
    declared = match_table(table, policy.tables)
    if declared is None:
        raise DataError(f"the policy names no table {table!r}", sqlstate="42P01", hint="name it as the policy does")

    if options.begin and options.end and options.end <= options.begin:
        raise DataError("no time lies in this span: --to is before --from, or the same", sqlstate="22023")

    def is_named(read: str) -> bool:
        """By the policy's name or the database's, with its schema or without."""
        return match_table(declared, [read]) is not None or match_table(read, [declared]) is not None

    with open_ledger(policy, create=False) as ledger, closing(open_store(policy, ledger)) as store:
        many = store.forget(is_named, options.begin, options.end)
    answers = "answer" if many == 1 else "answers"
    print(f"dropped {many:,} kept {answers} in which rows of {declared} may be; what was charged stays charged")
    return DONE


def _guide(options: argparse.Namespace) -> int:
    """Drawn on a terminal; as it is where another program reads."""
    from dpsql.guide import CONTENTS, page, without_links

    text = page(options.page or CONTENTS)
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        _console().print(Markdown(without_links(text)))
    else:
        sys.stdout.write(text)
    return DONE


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "demo": _demo,
    "init": _init,
    "check": _check,
    "audit": _audit,
    "profile": _profile,
    "query": _query,
    "shell": _shell,
    "explain": _explain,
    "workload": _workload,
    "synthesize": _synthesize,
    "serve": _serve,
    "mcp": _mcp,
    "passwd": _passwd,
    "randomize": _randomize,
    "budget": _budget,
    "ledger": _ledger,
    "forget": _forget,
    "guide": _guide,
}


_WITHOUT_FRAMES = frozenset({"check", "query", "explain", "serve", "budget"})
"""Commands that start a process of their own in which nobody asks for a data frame."""


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
