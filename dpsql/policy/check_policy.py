"""Everything that is wrong or unwise in a policy over its database, before an analyst finds out.

Errors keep the policy from being used; warnings are refusals and losses of accuracy to come; infos are worth a look.
It reads the schema, the file's mode, what was seen of keys that no constraint enforces, and how many
people the owner's machine has counted; an engine's concerns say which tables cannot be read.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

from dpsql.accounting import ACCOUNTINGS, Accountant, PrivacyLoss
from dpsql.engines import Concern, Schema, SchemaTable, match
from dpsql.policy import policy as declared
from dpsql.policy.declared_catalog import Fit, fit
from dpsql.policy.fields import show
from dpsql.policy.other_people import Agreements
from dpsql.policy.policy import Policy
from dpsql.policy.problem import Problem, Severity, join
from dpsql.policy.undeclared_people import hints, spoken
from dpsql.policy.unique_keys import Looks
from rewriter.declared import Catalog, Column, Table, day_beside

_ORDER: tuple[Severity, ...] = ("error", "warning", "info")

LARGE_EPSILON = Fraction(20)
LARGE_DELTA = Fraction(1, 10_000)


def problems(
    policy: Policy,
    schema: Schema,
    concerns: Sequence[Concern] = (),
    looks: Looks | None = None,
    referring: Collection[tuple[str, str]] = (),
    agreed: Agreements | None = None,
    people: int | None = None,
) -> list[Problem]:
    """All findings, errors first, each in the order of the policy file. ``concerns`` are the engine's warnings.
    ``looks`` tells whether rows keep to the keys in :attr:`dpsql.policy.declared_catalog.Fit.claims`, and ``agreed``
    whether they keep to :attr:`dpsql.policy.declared_catalog.Fit.agreements`. ``referring`` are those columns of
    :func:`dpsql.policy.undeclared_people.unsaid` that seem to hold keys of people. ``people`` is how many there are,
    where they were counted; no problem tells their number."""
    found = fit(policy, schema, looks=looks, agreed=agreed)
    every = [
        *found.problems,
        *_database(policy, concerns, found),
        *_budget(policy, people),
        *_statement(policy),
        *_profiles(policy, found.catalog),
        *_analysts(policy),
        *_tables(policy, schema, found),
        *hints(policy, schema, found, referring),
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


def _budget(policy: Policy, people: int | None) -> Iterator[Problem]:
    budget = policy.budget
    if budget.epsilon > LARGE_EPSILON:
        text = f"epsilon {show(budget.epsilon)} promises next to nothing: values up to about 10 are in use"
        yield Problem("budget.epsilon", text, "warning")
    deltas = {"delta": budget.delta}
    if budget.lifetime is not None and budget.lifetime.delta is not None:
        deltas["lifetime.delta"] = budget.lifetime.delta
    reached = [key for key, delta in deltas.items() if people is not None and delta * max(people, 1) >= 1]
    for key in reached:
        small = f"1e-{len(str(people)) + 1}"
        text = (
            "at least 1 / number of people, whom this machine has counted: such a delta allows to give away all of one"
            f" person. Write {small} or less"
        )
        yield Problem(f"budget.{key}", text, "error")
    if budget.delta > LARGE_DELTA and "delta" not in reached:
        text = f"delta {show(budget.delta)} is large: it should be far below 1 / number of people, such as 1e-6"
        yield Problem("budget.delta", text, "warning")
    if budget.per is not None and policy.statement.epsilon <= _largest(policy):
        yield from _few_statements(policy, "budget.epsilon", budget.epsilon, "epsilon", budget.per)
    if budget.unit is not None:
        text = (
            f"the promise is about the rows of one person in one {budget.per}, for ever. What rows of k {budget.per}s"
            " say together, and that somebody is there at all, is protected by k such budgets"
        )
        yield Problem("budget.unit", text, "info")
    elif budget.per is not None and budget.lifetime is None:
        text = (
            f"the promise holds for each {budget.per} by itself: what all of them say together about one person grows"
            " without end. lifetime: {epsilon: …} bounds it"
        )
        yield Problem("budget.per", text, "info")


def _largest(policy: Policy) -> Fraction:
    """The largest ε of a statement that the whole budget pays."""
    budget = policy.budget
    return Accountant(ACCOUNTINGS[budget.accounting], budget.epsilon, budget.delta).largest(PrivacyLoss())


def _statement(policy: Policy) -> Iterator[Problem]:
    """Prices that no ledger of this budget can pay, even when it is empty."""
    statement, budget = policy.statement, policy.budget
    accountant = Accountant(ACCOUNTINGS[budget.accounting], budget.epsilon, budget.delta)
    most = _largest(policy)
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
        text = f"{budget.accounting} accounting has no delta: GROUP BY without declared values is refused"
        yield Problem("budget.delta", text, "info")


def _profiles(policy: Policy, catalog: Catalog) -> Iterator[Problem]:
    """Columns of a profile that are told of nothing: that are not there, or are no people's numbers with a range; of
    which nobody's mean is cut by a max_rows."""
    section = policy.profile
    asked = () if section is None else (("means", section.means), ("values", section.values))
    for key, name, column in ((key, *one) for key, columns in asked for one in columns):
        at, nothing = f"profile.{key}", "no mean is told" if key == "means" else "no spread is told"
        table = next((one for key, one in catalog.tables.items() if key.lower() == name.lower()), None)
        known = {} if table is None else {key.lower(): one for key, one in table.columns.items()}
        found = known.get(column.lower())
        if table is None or found is None:
            yield Problem(at, f"there is no column {name}.{column}", "error")
        elif table.public:
            yield Problem(at, f"{name} is public: {nothing}", "warning")
        elif key == "means" and policy.privacy_unit is None:
            yield Problem(at, f"under privacy_unit: row no rows are cut off: {nothing}", "warning")
        elif key == "means" and (table.max_rows is None or table.spans is not None):
            yield Problem(at, f"{name} has no max_rows for all rows of a person: {nothing}", "warning")
        elif found.range is None or not found.type.numeric:
            yield Problem(at, f"{name}.{column} is no number with a range: {nothing}", "warning")


_FEW_STATEMENTS = 10
"""Of a budget that renews, or a share: fewer than so many at the default price are worth a word."""


def _few_statements(policy: Policy, path: str, epsilon: Fraction, what: str, per: str | None) -> Iterator[Problem]:
    """How many statements a total pays at the default price, where these are few."""
    budget, price = policy.budget, policy.statement.epsilon
    accountant = Accountant(ACCOUNTINGS[budget.accounting], epsilon, budget.delta)
    many = accountant.statements_left(PrivacyLoss(), accountant.price(price, Fraction(0)))
    if many >= _FEW_STATEMENTS:
        return
    each = f" in each {per}" if per else ""
    if many:
        text = (
            f"{what} {show(epsilon)} pays {many} statement{'s' * (many > 1)} at the default price {show(price)}{each}"
        )
        yield Problem(path, text, "info")
    else:
        most = show(accountant.largest(PrivacyLoss()))
        text = (
            f"{what} {show(epsilon)} pays no statement at the default price {show(price)}{each}: under"
            f" {budget.accounting} accounting at most one of {most}. Declare more, or a lower statement.epsilon"
        )
        yield Problem(path, text, "warning")


def _analysts(policy: Policy) -> Iterator[Problem]:
    analysts = policy.analysts or {}
    shares = {name: analyst.budget.epsilon for name, analyst in analysts.items() if analyst.budget is not None}
    for name, share in shares.items():
        own = analysts[name].budget
        per = policy.budget.per if own is None or own.per is None else own.per
        yield from _few_statements(policy, join("analysts", name, "budget.epsilon"), share, "the share", per)
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
    wrong = {problem.path for problem in found.problems}
    for real, table in found.catalog.tables.items():
        if table.public:
            continue
        source, name = schema.tables[real], found.names[real]
        path = join("tables", name)
        if path not in wrong:
            yield from _rows(found.catalog, table, policy, name, path)
            yield from _periods(table, policy.tables[name], path)
        yield from _keys(policy.tables[name], source, table, join(path, "key"))
        referring = {one for key in source.references for one in key.columns}
        referring |= {one for one, said in spoken(policy.tables[name], table) if said.owner is not None}
        for column in table.columns.values():
            here = join(path, "columns", column.name)
            known = column.name in referring or any(one.startswith(here) for one in wrong)
            if _is_unbounded(found.catalog, table, column) and not known:
                yield _undeclared(here, "no range: SUM and AVG of it", policy)
            yield from _total(table, column, join(here, "max_total"))


def _periods(table: Table, spec: declared.TableSection, path: str) -> Iterator[Problem]:
    """What keeps answers by day or month, of a table whose rows close, from being measured period by period, or makes
    them noisier than they need be."""
    spans, most = table.spans, spec.max_rows
    if spans is None or most is None or not table.closes:
        return
    if table.columns[spans.column].nullable:
        text = (
            f"{spans.column} may be NULL: what is grouped by its days or months is bought anew at each refresh, also"
            f" where they are closed, unless WHERE says {spans.column} IS NOT NULL; if it always has a value, say so in"
            " the database (NOT NULL)"
        )
        yield Problem(join(path, "time"), text, "info")
    if (day := day_beside(spans, most.rows)) is not None:
        text = (
            f"a chart by day has the noise of all {most.rows:,} rows of a {spans.unit} in each day: {most},"
            f" {day:,} per day would be less noise, if few people have more in a day (dpsql check --data tells)"
        )
        yield Problem(join(path, "max_rows"), text, "info")


def _keys(spec: declared.TableSection, source: SchemaTable, table: Table, path: str) -> Iterator[Problem]:
    """Keys of which analysts do not see every column."""
    for key in spec.key or ():
        for name in key:
            if match(name, source.columns) is not None and match(name, table.columns) is None:
                text = f"{name} is not named under columns, so that nobody can join by this key: no effect"
                yield Problem(path, text, "info")


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
    keys |= {name for hop in table.path[:1] for name in hop.columns}
    ways = (hop for other in catalog.tables.values() for hop in other.path if hop.parent == table.name)
    keys |= {name for hop in ways for name in hop.parent_columns}
    return column.type.numeric and column.interval is None and column.values_from is None and column.name not in keys
