"""Everything that is wrong or unwise in a policy over its database, before an analyst finds out.

Errors keep the policy from being used; warnings are refusals and losses of accuracy to come; infos are worth a look.
It reads the schema, the file's mode, and what was seen of keys that no constraint enforces; an engine's concerns say
which tables cannot be read.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

from dpsql import policy as declared
from dpsql.accountant import Accountant, Accounting
from dpsql.engines.schema import Concern, Schema
from dpsql.fields import show
from dpsql.loss import PrivacyLoss
from dpsql.names import PEOPLE, match
from dpsql.policy import Policy
from dpsql.problem import Problem, Severity, join
from dpsql.schema import Fit, fit
from dpsql.unique_keys import Looks
from dpsql.unit_path import joinable
from rewriter.catalog import Catalog, Column, Table

_ORDER: tuple[Severity, ...] = ("error", "warning", "info")

LARGE_EPSILON = Fraction(20)
LARGE_DELTA = Fraction(1, 10_000)


def problems(
    policy: Policy,
    schema: Schema,
    concerns: Sequence[Concern] = (),
    looks: Looks | None = None,
    referring: Collection[tuple[str, str]] = (),
) -> list[Problem]:
    """All findings, errors first, each in the order of the policy file. ``concerns`` are the engine's, ``looks`` what
    was seen of the keys that :attr:`dpsql.schema.Fit.claims` names, ``referring`` those of :func:`unsaid` columns that
    seem to hold keys of people."""
    found = fit(policy, schema, looks=looks)
    every = [
        *found.problems,
        *_database(policy, concerns, found),
        *_budget(policy),
        *_statement(policy),
        *_analysts(policy),
        *_tables(policy, schema, found),
        *_people(policy, schema, found),
        *_seen(found, referring),
    ]
    return sorted(every, key=lambda problem: _ORDER.index(problem.severity))


def _database(policy: Policy, concerns: Sequence[Concern], found: Fit) -> Iterator[Problem]:
    """How the database is opened, as far as it concerns declared tables."""
    if policy.database.holds_password and _world_readable(policy):
        text = "the URL holds a password and everybody on this machine can read it: use PGPASSWORD, or chmod o-r"
        yield Problem("database", text, "warning")
    if policy.ledger.holds_password and _world_readable(policy):
        text = "the URL holds a password and everybody on this machine can read it: use a password file, or chmod o-r"
        yield Problem("ledger", text, "warning")
    for concern in concerns:
        if concern.table is None:
            yield Problem("database", concern.text, concern.severity)
        elif concern.table in found.names:
            yield Problem(join("tables", found.names[concern.table]), concern.text, concern.severity)


def _budget(policy: Policy) -> Iterator[Problem]:
    budget = policy.budget
    if budget.epsilon > LARGE_EPSILON:
        text = f"epsilon {show(budget.epsilon)} promises next to nothing: values up to about 10 are in use"
        yield Problem("budget.epsilon", text, "warning")
    if budget.delta > LARGE_DELTA:
        text = f"delta {show(budget.delta)} is large: it should be far below 1 / number of people, such as 1e-6"
        yield Problem("budget.delta", text, "warning")


def _statement(policy: Policy) -> Iterator[Problem]:
    """Prices that no ledger of this budget can pay, even when it is empty."""
    statement, budget = policy.statement, policy.budget
    accountant = Accountant(Accounting(budget.accounting), budget.epsilon, budget.delta)
    most = accountant.largest(PrivacyLoss())
    for key, price in (("epsilon", statement.epsilon), ("max_epsilon", statement.max_epsilon)):
        if price > most:
            text = (
                f"{show(price)} never fits: under {budget.accounting} accounting this budget pays at most {show(most)}"
            )
            yield Problem(join("statement", key), f"{text} for one statement", "warning")
    if budget.delta and not statement.delta:
        text = "no delta for a key selection: GROUP BY without declared values is refused"
        yield Problem("statement.delta", text, "warning")
    elif statement.delta > accountant.limit.delta:
        text = f"{show(statement.delta)} never fits: key selections have {show(accountant.limit.delta)} of the budget"
        yield Problem("statement.delta", text, "warning")
    elif not budget.delta:
        text = "pure accounting has no delta: GROUP BY without declared values is refused"
        yield Problem("budget.delta", text, "info")


def _analysts(policy: Policy) -> Iterator[Problem]:
    analysts = policy.analysts or {}
    shares = {name: analyst.budget.epsilon for name, analyst in analysts.items() if analyst.budget is not None}
    for name, share in shares.items():
        if share > policy.budget.epsilon:
            text = f"the share {show(share)} is above the total {show(policy.budget.epsilon)}, which caps it"
            yield Problem(join("analysts", name, "budget.epsilon"), text, "info")
    together = sum(shares.values(), Fraction(0))
    if together > policy.budget.epsilon:
        text = f"the shares add up to {show(together)}: the total caps them, first come first served"
        yield Problem("analysts", text, "info")
    passwords = {name: analyst.password for name, analyst in analysts.items() if analyst.password is not None}
    for name, password in passwords.items():
        if not password.startswith("SCRAM-SHA-256$"):
            text = "a password in plain text: a SCRAM-SHA-256 verifier gives nothing away"
            yield Problem(join("analysts", name, "password"), text, "warning")
    if passwords and _world_readable(policy):
        text = "the file holds passwords and everybody on this machine can read it: chmod o-r"
        yield Problem("analysts", text, "warning")


def _world_readable(policy: Policy) -> bool:
    try:
        return policy.path is not None and bool(policy.path.stat().st_mode & stat.S_IROTH)
    except OSError:
        return False


def _tables(policy: Policy, schema: Schema, found: Fit) -> Iterator[Problem]:
    for real, table in found.catalog.tables.items():
        if table.public:
            continue
        path, spec = join("tables", found.names[real]), policy.tables[found.names[real]]
        referring = {name for key in schema.tables[real].foreign_keys for name in key.columns}
        referring |= {name for name, column in _said(table, spec) if column.owner is not None}
        yield from _rows(found.catalog, table, policy, found.names[real], path)
        if found.catalog.unit is None and schema.tables[real].view:
            text = "a view has no row identity: under privacy_unit: row, name the table itself, or a key of the people"
            yield Problem(path, text, "warning")
        for key in spec.key or ():
            if missing := [name for name in key if match(name, table.columns) is None]:
                text = f"{missing[0]} is not named under columns, so that nobody can join by this key: no effect"
                yield Problem(join(path, "key"), text, "info")
        for column in table.columns.values():
            here = join(path, "columns", column.name)
            if _is_unbounded(found.catalog, table, column) and column.name not in referring:
                yield _undeclared(here, "no range: SUM and AVG of it", policy)
            yield from _total(table, column, join(here, "max_total"))


def _said(table: Table, spec: declared.Table) -> Iterator[tuple[str, declared.Column]]:
    """What the policy says of columns, by the database's names."""
    for name, column in (spec.columns or {}).items():
        real = match(name, table.columns)
        if real is not None:
            yield real, column


def unsaid(policy: Policy, schema: Schema) -> list[tuple[str, str]]:
    """The columns of people's tables of which neither the policy nor the database says what their values are, and that
    could be compared with the key of the people."""
    known = fit(policy, schema)
    unit, tables = known.catalog.unit, known.catalog.tables
    if unit is None or unit[0] not in tables:
        return []
    key = schema.tables[unit[0]].columns[unit[1]]
    found = []
    for real, table in tables.items():
        source = schema.tables[real]
        keys = {name for other in source.foreign_keys for name in other.columns} | {
            hop.column for hop in table.path[:1]
        }
        for name, said in _said(table, policy.tables[known.names[real]]):
            bare = said == declared.Column() and name not in keys and not table.columns[name].unique
            if bare and not table.public and (real, name) != unit and joinable(source.columns[name], key):
                found.append((real, name))
    return found


def _seen(found: Fit, referring: Collection[tuple[str, str]]) -> Iterator[Problem]:
    """Columns of which every value is the key of somebody."""
    for real, name in referring:
        text = f"every value is one of {'.'.join(found.catalog.unit or ())}: if it names other people, leave it out, or"
        yield Problem(join("tables", found.names[real], "columns", name), f"{text} say {{owner: public}}", "warning")


def _people(policy: Policy, schema: Schema, found: Fit) -> Iterator[Problem]:
    """Columns that may name people whom nothing protects, as far as names tell."""
    known = {hop.column.lower(): (other, hop) for other in found.catalog.tables.values() for hop in other.path[:1]}
    for real, table in found.catalog.tables.items():
        if table.public:
            continue
        path = join("tables", found.names[real], "columns")
        own = table.path[0].column if table.path else None
        open_ = {name for name, column in _said(table, policy.tables[found.names[real]]) if column.owner is not None}
        parents = {name: key.parent for key in schema.tables[real].foreign_keys for name in key.columns}
        for name in table.columns:
            if name in open_ or name == own:
                continue
            parent = parents.get(name)
            if found.catalog.unit is None and parent is not None:
                text = f"refers to {parent}: whoever is in several rows by it is protected in one row at a time"
                yield Problem(join(path, name), f"{text}. Name the key of the people as privacy_unit", "warning")
            elif parent is not None and parent not in found.catalog.tables and PEOPLE.search(parent):
                text = f"refers to {parent}, whose rows may be people, and this policy does not protect them: leave it"
                yield Problem(join(path, name), f"{text} out, or say {{owner: public}}", "warning")
            elif parent is None and name.lower() in known:
                other, hop = known[name.lower()]
                if (hop.parent, hop.parent_column) != (real, name):
                    text = f"is named like {other.name}.{hop.column}, which leads to people: if it names other people"
                    yield Problem(join(path, name), f"{text}, leave it out, or say {{owner: public}}", "warning")


def _total(table: Table, column: Column, path: str) -> Iterator[Problem]:
    """A bound on one person's total that cuts single values, or that nobody can reach."""
    interval = column.interval
    if column.max_total is None or interval is None:
        return
    largest = max(abs(interval.low), abs(interval.high))
    if column.max_total < largest:
        text = f"{show(column.max_total)} is below {show(largest)}, one value of the column: narrow its values instead"
        yield Problem(path, text, "warning")
    elif table.max_rows is not None and table.max_rows * largest <= column.max_total:
        text = f"no effect: max_rows {table.max_rows} times {show(largest)} is not more"
        yield Problem(path, text, "info")


def _undeclared(path: str, what: str, policy: Policy) -> Problem:
    """A bound that the owner left out: refused, or, with the owner's opt-in, paid for."""
    share = policy.statement.bounds
    if share is None:
        return Problem(path, f"{what} are refused", "warning")
    return Problem(path, f"{what} pay {show(100 * share)} % of the first statement's price for a bound", "info")


def _rows(catalog: Catalog, table: Table, policy: Policy, name: str, path: str) -> Iterator[Problem]:
    """Bounds on the rows of one person."""
    spec = policy.tables[name]
    if catalog.unit is None:
        return
    entity = catalog.is_entity(table)
    key = catalog.unit[1] if entity else table.path[0].column if len(table.path) == 1 else ""
    if key in table.columns and table.columns[key].unique:
        return
    if entity and spec.max_rows is None:
        text = f"the database does not declare {key} unique, and only one row of each person counts: declare max_rows"
        yield Problem(path, text, "warning")
    elif table.max_rows is None and (table.max_groups is None or table.max_rows_per_group is None):
        yield _undeclared(path, "no max_rows: COUNT and SUM over it", policy)
    if table.max_rows and table.max_rows_per_group and table.max_rows_per_group > table.max_rows:
        text = f"{table.max_rows_per_group} is above max_rows {table.max_rows}, which caps it"
        yield Problem(join(path, "max_rows_per_group"), text, "info")


def _is_unbounded(catalog: Catalog, table: Table, column: Column) -> bool:
    """A number without bounds that is no key: keys are not summed."""
    keys = {catalog.unit[1]} if catalog.unit is not None and catalog.is_entity(table) else set()
    keys |= {hop.column for hop in table.path[:1]}
    keys |= {hop.parent_column for other in catalog.tables.values() for hop in other.path if hop.parent == table.name}
    return column.type.numeric and column.interval is None and column.values_from is None and column.name not in keys
