"""Pages that are made of the code that they describe, so that they cannot tell anything else."""

from __future__ import annotations

import argparse
import ast
import datetime
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from dpsql.engines import ENGINES
from dpsql.interfaces.commands.command_line import parser
from dpsql.policy import fields
from dpsql.policy import policy as declared
from rewriter.aggregates.aggregate_calls import _FUNCTIONS
from rewriter.expressions.documents import DOCUMENT_FUNCTIONS
from rewriter.expressions.scalar_functions import FUNCTIONS
from rewriter.expressions.stored_lists import LIST_FUNCTIONS
from rewriter.outer.outer_aggregates import AGGREGATES as OUTER_AGGREGATES
from rewriter.outer.outer_functions import SCALARS

NOTE = "<!-- Written by `python -m tests.guide.write` from the code. Edit that, and run this. -->\n\n"

FORMS: Mapping[Callable[..., Any], str] = {
    fields.most_rows: "whole number, from 1, and `per month` or another span",
    fields.refresh: "`1 hour`, `1 day at 02:00`, `1 week`, … or `never`",
    fields.per: "`day`, `week`, `month`, `quarter` or `year`",
    fields.rows_unit: "`person-day`, `person-week`, `person-month`, `person-quarter` or `person-year`",
    fields.tick: "length of time that divides a day, or whole days: `1 minute`, `6 hours`, `1 day`",
    fields.length: "length of time: `6 hours`, `2 days`, `1 month`, `1 year`",
    fields.horizon: "length of time, from `1 day`: `30 days`, `1 year`",
    fields.zone: "name of a time zone, such as `Europe/Berlin`",
    fields.files: "`PATH.parquet`, `PATH.csv` or `PATH.tsv`, or a list of such; `*` stands for a part of a name",
    fields.statements: "`PATH.sql`",
    fields.parquet_file: "`PATH.parquet`",
    fields.names: "a name, or a list of names",
    fields.null_texts: "a text, or a list of texts such as `[NA, '']`",
    fields.column_type: "`boolean`, `integer`, `bigint`, `double precision`, `text`, `date`, `timestamp`, `decimal(12, 2)`",
    fields.epsilon: "number above 0 (ε)",
    fields.delta: "probability, below 1 (δ)",
    fields.positive: "number above 0, in the column's unit",
    fields.probability: "probability, from 0 to 1",
    fields.part: "part, between 0 and 1",
    fields.count: "whole number, from 1",
    fields.seconds: "seconds, up to 86,400",
    fields.min_max: "`picked`, `declared`",
    fields.mebibytes: "size such as `512MB` or `4GB`",
    fields.flag: "`true` or `false`",
    fields.text: "text",
    fields.password: "verifier `SCRAM-SHA-256$…`",
    fields.references: "`[table.column, …]`",
    fields.keys: "`[column, …]`, or a list of such lists",
    fields.ways: "`column -> table.column` or `(a, b) -> table(a, b)`, a list of such steps, or a list of such lists",
    fields.domain: "list of values",
    fields.ends: "`[lowest, highest]`: two numbers or two dates",
    fields.reference: "`table.column`",
    fields.unit: "`table.column`, or `row`",
}
"""What each reader of a value takes."""

DEFAULTS: Mapping[tuple[type[BaseModel], str], str] = {
    (declared.BudgetSection, "accounting"): "`zcdp`; `pure` where `delta` is 0",
    (declared.StatementSection, "epsilon"): "0.1, or `max_epsilon` where that is less",
    (declared.StatementSection, "max_epsilon"): "1, or the budget's where that is less",
    (declared.StatementSection, "delta"): "a thousandth of the budget's",
    (declared.Policy, "statement"): "the defaults below",
    (declared.Policy, "limits"): "the defaults below",
    (declared.Policy, "clock"): "the defaults below",
    (declared.Policy, "releases"): "`PATH-releases` of the ledger's file, or of the policy's",
    (declared.Policy, "analysts"): "anybody, from this machine",
    (declared.TableSection, "unit"): "the only way that the database's foreign keys lead",
    (declared.TableSection, "key"): "the keys that the database enforces",
}
"""Defaults that follow from other keys."""

SECTIONS = (
    ("The file", declared.Policy, ""),
    ("`budget:`", declared.BudgetSection, "budget."),
    ("`lifetime:` of the budget", declared.LifetimeSection, "budget.lifetime."),
    ("`statement:`", declared.StatementSection, "statement."),
    ("`profile:`", declared.ProfileSection, "profile."),
    ("`workloads:`, for each NAME", declared.WorkloadSection, "workloads.NAME."),
    ("`analysts:`, for each NAME", declared.Analyst, "analysts.NAME."),
    ("`owners:`, for each NAME", declared.OwnerOfData, "owners.NAME."),
    ("`budget:` of an analyst", declared.AnalystSection, "analysts.NAME.budget."),
    ("`lifetime:` of an analyst's budget", declared.ShareLifetimeSection, "analysts.NAME.budget.lifetime."),
    ("`tables:`, for each TABLE", declared.TableSection, "tables.TABLE."),
    ("`columns:` of a table, for each COLUMN", declared.ColumnSection, "tables.TABLE.columns.COLUMN."),
    ("`randomized:` of a column", declared.RandomizedSection, "tables.TABLE.columns.COLUMN.randomized."),
    ("`rappor:` of a randomized column", declared.RapporSection, "tables.TABLE.columns.COLUMN.randomized.rappor."),
    ("`clock:`", declared.ClockSection, "clock."),
    ("`limits:`", declared.LimitsSection, "limits."),
)


NESTED = sorted(
    {
        *DOCUMENT_FUNCTIONS,
        *LIST_FUNCTIONS,
        *("ARRAY_LENGTH", "ARRAY_TO_STRING", "UNNEST", "JSON_ARRAY_ELEMENTS_TEXT", "JSONB_ARRAY_ELEMENTS_TEXT"),
    }
)
"""Functions of columns that hold JSON or lists."""


def policy_keys() -> str:
    text = [
        "# Policy keys\n\n",
        NOTE,
        "Every key of a policy file, in the order of the code that reads it. An unknown key is an error, and so is a value"
        " of another form.\n[Choose ε, δ and bounds](choose-bounds.md) says how to choose them,"
        " [units and keys](units-and-keys.md) how rows are found to belong to people, and the"
        " [glossary](glossary.md) what the words mean: [ε](glossary.md#ε-epsilon), [δ](glossary.md#δ-delta),"
        " [unit](glossary.md#unit), [group](glossary.md#group), [grain](glossary.md#grain), [release](glossary.md#release).\n",
    ]
    for title, section, _ in SECTIONS:
        said = documented(section)
        text += [f"\n## {title}\n\n", "| key | value | default | meaning |\n|---|---|---|---|\n"]
        for name in declared._keys(section):
            field = section.model_fields[name]
            text.append(
                f"| `{name}` | {form(section, name, field)} | {default(section, name, field)} | {said[name]} |\n"
            )
    return "".join(text)


def documented(section: type[BaseModel]) -> dict[str, str]:
    """The text under each field of a class, on one line."""
    (body,) = ast.parse(inspect.getsource(section)).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for one, other in zip(body.body, body.body[1:], strict=False):
        if isinstance(one, ast.AnnAssign) and isinstance(other, ast.Expr) and isinstance(other.value, ast.Constant):
            found[ast.unparse(one.target)] = " ".join(str(other.value.value).split())
    return found


def form(section: type[BaseModel], name: str, field: FieldInfo) -> str:
    """What a key takes, as an owner writes it: with its unit, or where the keys inside it are told."""
    if (section, name) in declared._SECTIONS:
        inner, named = declared._SECTIONS[section, name]
        place = next(title for title, one, _ in SECTIONS if one is inner)
        return f"[{'one for each name' if named else 'its keys'}](#{anchor(place)})"
    for reader in readers(field.annotation, field.metadata):
        if reader in FORMS:
            return FORMS[reader]
        known = inspect.getclosurevars(reader).nonlocals
        if "options" in known:
            return ", ".join(f"`{option}`" for option in known["options"])
        if "of" in known:
            return ", ".join(f"`{address}`" for address in known["of"] or ENGINES.addresses)
    raise LookupError(f"{section.__name__}.{name} has no form")


def anchor(title: str) -> str:
    """A heading, as it is linked to.

    >>> anchor("`columns:` of a table, for each COLUMN")
    'columns-of-a-table-for-each-column'
    """
    kept = [c for c in title.lower() if c in " -_" or c.isalnum()]
    return "".join(kept).replace(" ", "-")


def readers(annotation: Any, metadata: Any) -> Iterator[Callable[..., Any]]:
    for item in metadata:
        if isinstance(item, BeforeValidator):
            yield item.func  # type: ignore[misc]
    for inner in typing.get_args(annotation):
        yield from readers(inner, getattr(inner, "__metadata__", ()))


def default(section: type[BaseModel], name: str, field: FieldInfo) -> str:
    if (section, name) in DEFAULTS:
        return DEFAULTS[section, name]
    if field.is_required():
        return "has to be given"
    value = field.default
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.timedelta):
        return f"`{length(value)}`"
    return fields.show(Fraction(value)) if isinstance(value, int | float | Fraction) else f"`{value}`"


def length(value: datetime.timedelta) -> str:
    """A length of time, as an owner writes it.

    >>> length(datetime.timedelta(days=90)), length(datetime.timedelta(minutes=1))
    ('90 days', '1 minute')
    """
    units = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
    whole = int(value.total_seconds())
    unit = next(unit for unit, seconds in units.items() if whole % seconds == 0)
    number = whole // units[unit]
    return f"{number} {unit}{'' if number == 1 else 's'}"


def commands() -> str:
    text = [
        "# Commands\n\n",
        NOTE,
        "Results go to stdout; notices and errors to stderr, so that `--format csv` and `json` can be piped. Exit codes: 0"
        " done; 1 refused,\nfailed, or a policy with errors; 2 the command line is wrong; 3 the budget does not admit the"
        " statement. `dpsql COMMAND --help` prints the same. The [glossary](glossary.md) says what a\n[group](glossary.md#group), a [release](glossary.md#release) and a [unit](glossary.md#unit) are.\n",
    ]
    for name, about, command in subcommands(parser()):
        text += [f"\n## dpsql {name}\n\n{about[0].upper()}{about[1:]}.\n\n", "| argument | meaning |\n|---|---|\n"]
        for action in command._actions:
            if isinstance(action, argparse._HelpAction | argparse._SubParsersAction):
                continue
            said = (action.help or "") % {"default": action.default, "prog": "dpsql"}
            text.append(f"| `{spelt(action)}` | {said} |\n".replace("  |", " |"))
    return "".join(text)


def subcommands(top: argparse.ArgumentParser, before: str = "") -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                inner = list(subcommands(command, f"{before}{name} "))
                yield from inner or [(before + name, about[name], command)]


def spelt(action: argparse.Action) -> str:
    metavar = str(action.metavar or (action.choices and "\\|".join(action.choices)) or action.dest.upper())
    if not action.option_strings:
        return f"[{metavar}]" if action.nargs == "?" else metavar
    return action.option_strings[0] + ("" if action.nargs == 0 else f" {metavar}")


def functions() -> str:
    below = {name for function in FUNCTIONS if function.compiled is not None for name in function.names}
    above = {name for function in SCALARS for name in function.names} - below
    aggregates = sorted({function.word for function in _FUNCTIONS.values()})
    return "".join(
        [
            "# Functions\n\n",
            NOTE,
            "Functions by the names that PostgreSQL gives them. A function that is not here is refused, with the nearest"
            " name as a hint. [SQL](sql.md) says\nwhat can be done with them.\n",
            "\n## Aggregates over people\n\n",
            lines(aggregates),
            "\nMore spellings of these are understood (`STDDEV_SAMP` is `STDDEV`, `EVERY` is `BOOL_AND`, `QUANTILE_CONT(x,"
            " 0.9)` is `PERCENTILE_CONT`).\n",
            "\n## Functions of a row\n\nOver rows of people, and above [releases](glossary.md#release).\n\n",
            lines(sorted(map(str.upper, below))),
            "\nBeside them: `+ - * / %`, `& | # ~ << >>`, `||`, comparisons, also of rows `(a, b) < (1, 2)`, `AND OR NOT`, `IN`,"
            ' `ANY` and `ALL`\nof lists, `BETWEEN`, `LIKE`, `ILIKE`, `SIMILAR TO`, `~`, `IS NULL`, `COLLATE "C"`, `CASE`, `CAST`'
            " and `::`; and by other\nwords for these `FORMAT`, `OVERLAY`, `REGEXP_MATCH(…)[1]`, `REGEXP_SUBSTR`, `TO_DATE`,"
            " `NUM_NULLS`, `STRING_TO_ARRAY(…)[1]` and `x = ANY(STRING_TO_ARRAY(…))`.\n\nOf columns that hold JSON or lists: `->`, `->>`, `#>`,"
            " `#>>`, `@>`, `&&`, `= ANY(x)`, `x[1]`, `x[1:3]`, and\n\n",
            lines([*NESTED]),
            "\nA regular expression that takes a text"
            " apart (`SUBSTRING(x FROM '…')`, `REGEXP_REPLACE`) is a literal that can match in one way\nonly: the next"
            " character tells how to go on, as in `[^/]*/`, or it ends with `$`. `TO_DATE` of a column reads texts that\nfollow"
            " their format; all else is `NULL`.\n",
            "\n## Functions above releases alone\n\n",
            lines(sorted(map(str.upper, above))),
            "\nArrays and JSON are shown as their texts: `{1,2}`, `[1,2]`. PostgreSQL's JSON has other blanks, and JSONB another"
            " order of keys.\nIn `FROM` above releases stand `LATERAL (SELECT …)`, `UNNEST` and `GENERATE_SERIES`, too.\n",
            "\n## Aggregates and windows above releases\n\n",
            lines(sorted({name.upper() for function in OUTER_AGGREGATES for name in function.names})),
        ]
    )


def lines(names: list[str]) -> str:
    """Names as code, folded."""
    text, width = "", 0
    for name in names:
        word = f"`{name}`"
        if width + len(word) > 130:
            text, width = text.rstrip(" ") + "\n", 0
        text, width = text + word + " ", width + len(word) + 1
    return text.rstrip() + "\n"


GENERATED: Mapping[str, Callable[[], str]] = {
    "policy-keys": policy_keys,
    "commands": commands,
    "functions": functions,
}
