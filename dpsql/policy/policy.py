"""The owner's policy file: which database, whose privacy, how much of it, and what analysts may see.

Guarantee: a :class:`Policy` that exists is complete and consistent in itself, with exact numbers; whether it fits the
database is the question of :mod:`dpsql.policy.check_policy`. All errors of a file are found in one pass, each with its
key path and what would be right. Unknown keys are errors: a misspelt ``max_row`` would silently mean no bound.
"""

from __future__ import annotations

import datetime
import difflib
import functools
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dpsql.accounting import ACCOUNTINGS
from dpsql.closing import Closing
from dpsql.engines import ENGINES, FILES, POSTGRESQL, SQLITE, ListedFiles, match, match_table
from dpsql.policy import fields
from dpsql.policy.fields import Place, wrong
from dpsql.policy.problem import PolicyError, Problem, join
from dpsql.policy.yaml_text import Written, read
from dpsql.refresh import Refresh
from rewriter.declared import LEAST_EPSILON, MOST_BITS, MOST_COHORTS, MOST_EPSILON, MOST_HASHES, Hop, Type

SELECTIONS = 1000
"""By default one key selection may use a thousandth of the total δ."""

Accounting = Annotated[str, BeforeValidator(fields.choice(ACCOUNTINGS))]
Previews = Annotated[
    Literal["empty", "synthetic", "refuse"], BeforeValidator(fields.choice(("empty", "synthetic", "refuse")))
]
Stale = Annotated[Literal["refuse", "allow"], BeforeValidator(fields.choice(("refuse", "allow")))]
MinMax = Annotated[Literal["picked", "declared"], BeforeValidator(fields.min_max)]
Epsilon = Annotated[Fraction, BeforeValidator(fields.epsilon)]
Delta = Annotated[Fraction, BeforeValidator(fields.delta)]
Positive = Annotated[Fraction, BeforeValidator(fields.positive)]
Part = Annotated[Fraction, BeforeValidator(fields.part)]
Rows = Annotated[fields.MostRows, BeforeValidator(fields.most_rows)]
Count = Annotated[int, BeforeValidator(fields.count)]
Seconds = Annotated[float, BeforeValidator(fields.seconds)]
Window = Annotated[str, BeforeValidator(fields.per)]
RowsUnit = Annotated[str, BeforeValidator(fields.rows_unit)]
Refreshed = Annotated[Refresh | None, BeforeValidator(fields.refresh)]
Tick = Annotated[datetime.timedelta, BeforeValidator(fields.tick)]
Length = Annotated[datetime.timedelta, BeforeValidator(fields.length)]
Horizon = Annotated[datetime.timedelta, BeforeValidator(fields.horizon)]
Zone = Annotated[str, BeforeValidator(fields.zone)]
Mebibytes = Annotated[int, BeforeValidator(fields.mebibytes)]
Flag = Annotated[bool, BeforeValidator(fields.flag)]
Text = Annotated[str, BeforeValidator(fields.text)]
Password = Annotated[str, BeforeValidator(fields.password)]
Keys = Annotated[tuple[tuple[str, ...], ...], BeforeValidator(fields.keys)]
Odds = Annotated[Fraction, BeforeValidator(fields.probability)]
Owner = Annotated[Literal["public"], BeforeValidator(fields.choice(("public",)))]
Files = Annotated[tuple[str, ...], BeforeValidator(fields.files)]
ParquetFile = Annotated[Path, BeforeValidator(fields.parquet_file)]
Statements = Annotated[fields.StatementsFile, BeforeValidator(fields.statements)]
Names = Annotated[tuple[str, ...], BeforeValidator(fields.names)]
NullTexts = Annotated[tuple[str, ...], BeforeValidator(fields.null_texts)]
ColumnType = Annotated[Type, BeforeValidator(fields.column_type)]
Ways = Annotated[tuple[tuple[Hop, ...], ...], BeforeValidator(fields.ways)]
Domain = Annotated[tuple[Written | None, ...], BeforeValidator(fields.domain)]
Ends = Annotated[tuple[Written, Written], BeforeValidator(fields.ends)]
Reference = Annotated[tuple[str, str], BeforeValidator(fields.reference)]
References = Annotated[tuple[tuple[str, str], ...], BeforeValidator(fields.references)]
Unit = Annotated[tuple[str, str] | None, BeforeValidator(fields.unit)]
Database = Annotated[Place, BeforeValidator(fields.place())]
Releases = Annotated[Place, BeforeValidator(fields.place(SQLITE))]
LedgerPlace = Annotated[Place, BeforeValidator(fields.place(SQLITE, POSTGRESQL))]


def _names(value: object) -> object:
    if not isinstance(value, Mapping):
        raise wrong("a mapping from names is expected here, such as {name: {}}")
    return value


def _freeze(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(mapping))


_Item = TypeVar("_Item")
ByName = Annotated[Mapping[str, _Item], BeforeValidator(_names), AfterValidator(_freeze)]


class _Section(BaseModel):
    """A mapping of the file: frozen, and with no key that is not declared here."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _mapping(cls, data: object) -> object:
        if data is None:
            return {}
        if not isinstance(data, Mapping | BaseModel):
            raise wrong(f"a mapping is expected here, with keys of {', '.join(cls.model_fields)}")
        return data


def _usual(*, delta: bool) -> str:
    """The accounting of totals with a δ, or without, that is registered first."""
    return next(name for name, one in ACCOUNTINGS.items() if one.takes_delta is delta)


class LifetimeSection(_Section):
    """What all windows of a budget may say together, for ever."""

    epsilon: Epsilon
    """How much the answers of all windows may say about one person, together."""
    delta: Delta | None = None
    """How likely that limit may fail. Without it, as likely as that of one window."""


class BudgetSection(_Section):
    """The limit of what all analysts together may learn about one unit, ever or in each window: (ε, δ), and how charges
    add up."""

    epsilon: Epsilon
    """How much all answers together may say about one person: 1 is strong, 10 the usual upper end."""
    delta: Delta = Fraction(0)
    """How likely that limit may fail: far below 1 / number of people. 0 is for `pure` accounting."""
    accounting: Accounting = Field(default="", validate_default=True)
    """How prices add up. `zcdp` is best for many statements, `pure` and `approx` for few, `rdp` for dear watches."""
    per: Window | None = None
    """`day`, `week`, `month`, `quarter` or `year`: the budget is that of each of them, and renews, by the clock's zone.
    Without it, there is one budget for ever."""
    unit: RowsUnit | None = None
    """`person-month` beside `per: month`, and so on: the budget is that of the rows of each month, by their `time`, for
    ever; new rows bring a new one. What all months together say about one person is bounded by `lifetime` alone."""
    lifetime: LifetimeSection | None = None
    """What all windows of a budget that renews may say together, for ever. Without it, nothing bounds that."""

    @field_validator("accounting", mode="before")
    @classmethod
    def _default(cls, value: object, info: ValidationInfo) -> object:
        return value or _usual(delta=bool(info.data.get("delta", 1)))

    @model_validator(mode="after")
    def _consistent(self) -> BudgetSection:
        takes_delta = ACCOUNTINGS[self.accounting].takes_delta
        if self.delta and not takes_delta:
            raise wrong(f"{self.accounting} accounting has no delta: leave delta out, or choose {_usual(delta=True)}")
        if takes_delta and not self.delta:
            other = _usual(delta=False)
            raise wrong(f"{self.accounting} accounting needs a delta above 0: add one such as 1e-6, or choose {other}")
        if self.unit is not None and self.unit != f"person-{self.per}":
            raise wrong(f"unit {self.unit} is of another length than per: write per: {self.unit.partition('-')[2]}")
        if self.unit is not None and self.accounting not in ("zcdp", "pure"):
            raise wrong(f"{self.accounting} accounting knows no budget of rows: choose zcdp or pure")
        if self.lifetime is None:
            return self
        if self.per is None:
            raise wrong("lifetime is about a budget that renews: add per: month, or leave lifetime out")
        if self.lifetime.delta is not None and bool(self.lifetime.delta) is not bool(self.delta):
            raise wrong(f"lifetime.delta and delta are both 0 or both above 0 under {self.accounting} accounting")
        if self.lifetime.epsilon < self.epsilon:
            least, most = fields.show(self.lifetime.epsilon), fields.show(self.epsilon)
            raise wrong(f"lifetime.epsilon {least} is below epsilon {most}, that of one {self.per}: raise it")
        return self


class StatementSection(_Section):
    """The price of one statement."""

    epsilon: Epsilon
    """The price of a statement whose analyst chooses none."""
    max_epsilon: Epsilon
    """The highest price that an analyst may choose."""
    delta: Delta
    """The δ of finding out once which groups of a column without declared values have enough people to be named."""
    bounds: Part | None = None
    """The part of its price that the first statement over columns and tables without bounds pays to learn them. Without
    it such statements are refused."""
    stale: Stale = "refuse"
    """What becomes of a statement that the budget does not admit: `refuse`; or `allow`, which answers it with the
    numbers that were last released for it, and a notice of their age. `SET dpsql.stale` changes it."""

    @model_validator(mode="after")
    def _consistent(self) -> StatementSection:
        if self.epsilon > self.max_epsilon:
            least, most = fields.show(self.epsilon), fields.show(self.max_epsilon)
            raise wrong(f"epsilon {least} is above max_epsilon {most}: lower it")
        return self


class ProfileSection(_Section):
    """The profile of each table with a `max_rows`: how many rows people have, so that notices say what is cut off."""

    epsilon: Epsilon
    """The price of the profile of one table, of one mean, and of one column's values. `dpsql profile` buys them, once
    for all analysts."""
    means: References = ()
    """Columns, as `visit.cost`, whose means are told to be bent where `max_rows` cuts people with other values."""
    values: References = ()
    """Columns, as `visit.cost`, of whose values is told how they are spread: EXPLAIN then foretells the errors of their
    quantiles, MIN, MAX and standard deviations, and notices say how much is beyond the declared range."""


class WorkloadSection(_Section):
    """Statements that are bought as one: the first of them that is asked buys all, and all are free from then on."""

    statements: Statements
    """The file of the statements, with `;` between them."""
    epsilon: Epsilon
    """The price of all of them together. It may be above `statement.max_epsilon`."""
    refresh: Refreshed = Field(default=None)
    """How long they stand, in the place of what the `refresh` of their tables says; then they are bought as a whole
    again. Without it, as long as any answer about their tables."""
    analysts: Names | None = None
    """Whose questions buy it. Without it, everybody's. What was bought is free for all analysts."""


class ShareLifetimeSection(_Section):
    """What one analyst may spend in all windows together."""

    epsilon: Epsilon
    """The most that this analyst may spend, ever."""


class AnalystSection(_Section):
    """An analyst's own cap; everything also counts against the total."""

    epsilon: Epsilon
    """The most that this analyst may spend. It counts against the total, too."""
    per: Window | None = None
    """The windows of this share. Without it, those of the budget; of all time where the budget has none."""
    lifetime: ShareLifetimeSection | None = None
    """The most that this analyst may spend in all windows together."""


class Analyst(_Section):
    """A name that may log in."""

    password: Password | None = Field(default=None, repr=False)
    """What `dpsql passwd NAME` prints. Without one, NAME connects from the proxy's own machine only."""
    budget: AnalystSection | None = None
    """A share of the budget for this analyst alone."""


class OwnerOfData(_Section):
    """A name that may look at the budget, the charges and the audit in the console."""

    password: Password = Field(repr=False)
    """What `dpsql passwd NAME` prints."""


class LimitsSection(_Section):
    """Resources of statements."""

    seconds: Seconds = 300.0
    """How long the database may take each time it is asked."""
    memory: Mebibytes | None = None
    """What a DuckDB may use in all, or those of all workers together; on PostgreSQL, what each sort or hash table of a
    statement may (`work_mem`)."""
    threads: Count | None = None
    """How many threads a DuckDB may use, or those of all workers together."""
    statements: Count = 32
    """How many statements run at once."""
    statements_per_analyst: Count = 16
    """How many statements of one analyst run at once."""
    wait: Seconds = 30.0
    """How long a statement beyond those waits for its turn; so long it waits for the database, too."""
    rows: Count = 10_000
    """How many declared groups an answer shows whoever is in them; of longer lists, those that surely have people."""
    connections: Count = 2000
    """How many clients are connected at once."""
    connections_per_analyst: Count = 1500
    """How many clients of one analyst are connected at once."""


class ClockSection(_Section):
    """What `now()`, `CURRENT_DATE` and their kin mean."""

    tick: Tick = datetime.timedelta(minutes=1)
    """How long `now()` stays the same: what is asked again within a tick is the same statement, and free."""
    zone: Zone = "UTC"
    """By whose clocks ticks begin: with `tick: 1 day` at midnight there."""


class RapporSection(_Section):
    """The parameters of RAPPOR, as the people's own devices used them."""

    bits: Count
    """How many bits a report has."""
    hashes: Count = 2
    """How many of them a value sets."""
    f: Odds = Fraction(1, 2)
    """The probability that a bit is replaced by a fair coin, for good."""
    p: Odds = Fraction(1, 4)
    """The probability that a bit that is 0 is reported as 1."""
    q: Odds = Fraction(3, 4)
    """The probability that a bit that is 1 is reported as 1."""
    cohorts: Count = 8
    """How many groups of people have hash functions of their own."""

    @model_validator(mode="after")
    def _tells_something(self) -> RapporSection:
        if self.f >= 1 or self.p >= self.q:
            raise wrong("these reports say nothing: f is below 1, and p below q")
        if self.bits > MOST_BITS or self.hashes > MOST_HASHES or self.cohorts > MOST_COHORTS:
            raise wrong(f"RAPPOR has at most {MOST_BITS} bits, {MOST_HASHES} hashes and {MOST_COHORTS} cohorts here")
        return self


class RandomizedSection(_Section):
    """How people randomized their own values before they came. `dpsql randomize` makes such columns."""

    response: Epsilon | None = None
    """The ε of k-ary randomized response over the declared values: the report is the true value with the odds e^ε
    against each other one."""
    rappor: RapporSection | None = None
    """RAPPOR over the declared values, which are its dictionary: reports are texts `cohort:bits`."""

    @model_validator(mode="after")
    def _one_way(self) -> RandomizedSection:
        if (self.response is None) is (self.rappor is None):
            raise wrong("write one of response: 1.1 and rappor: {bits: 64}")
        if self.response is not None and self.response > MOST_EPSILON:
            raise wrong(f"a response at ε above {MOST_EPSILON} hides nothing: leave randomized out")
        if self.response is not None and self.response < LEAST_EPSILON:
            raise wrong(f"a response at ε below {float(LEAST_EPSILON):g} says nothing of people")
        return self


class ColumnSection(_Section):
    """A column's declarations. Scalars are as written; :mod:`dpsql.policy.declared_catalog` reads them as the column's
    type.
    """

    values: Domain | None = None
    """Every value there may be, `null` too. Each is a possible group; rows with any other value are in no group."""
    values_from: Reference | None = None
    """A column of a public table that lists the values instead."""
    range: Ends | None = None
    """The lowest and the highest value. What lies outside is moved to the nearer end before it is summed. That of times
    may follow the clock: `[2024-01-01, now]`, `[2024-01-01, now + 30 days]`."""
    grain: Tick | None = None
    """Of a column of times: instants that it is compared with are moved outward to such steps, as `1 hour` or `1 day`.
    So a dashboard of the last six hours is the same statement for an hour."""
    max_distinct: Count | None = None
    """How many different values of this column one person is credited with in `COUNT(DISTINCT …)`."""
    max_total: Positive | None = None
    """The most that one person's values of this column add up to. Who has more counts with less."""
    step: Positive | None = None
    """The distance of two neighbouring values of `range`, to which quantiles are read."""
    max_items: Count | None = None
    """How many items a list in this column has at most, where they are made rows (`UNNEST(tags)`). Who has more
    counts with less."""
    type: ColumnType | None = None
    """What a column of CSV files holds, such as `date` or `decimal(12, 2)`. Without it: texts. What is no such value is
    NULL."""
    randomized: RandomizedSection | None = None
    """People randomized this column themselves, by a public law: its counts, shares and sums are freed of it. It needs
    `values`, those that people truly have."""
    owner: Owner | None = None
    """The column names other people than the one whom the row belongs to, and these are nobody's secret."""

    @model_validator(mode="after")
    def _one_domain(self) -> ColumnSection:
        given = [name for name in ("values", "values_from", "range") if getattr(self, name) is not None]
        if len(given) > 1:
            raise wrong(f"{' and '.join(given)} exclude each other: keep one")
        if self.step is not None and self.range is None:
            raise wrong("step needs a range: the low end is the first value, and step the distance to the next")
        if self.randomized is not None and (self.values is None or len(self.values) < 2 or None in self.values):
            raise wrong("randomized needs values, the two or more that people truly have: values: [yes, no]")
        return self


BOUNDS = ("max_rows", "max_groups", "max_rows_per_group")


class TableSection(_Section):
    """A table's declarations."""

    public: Flag = False
    """No row is about a person: the table is answered exactly, at no price."""
    unit: Ways | None = None
    """Whose row it is: the foreign key to the people's table, or a list of them for a longer way. A list of such lists
    says further ways to the same person, `[[patient -> patient.id], [stay -> stay.id]]`: the first decides. A further
    way may be that of some rows, `[event -> visit.id when kind = 'visit']`."""
    files: Files | None = None
    """The table's rows: Parquet or CSV files, such as `visits/*.parquet`. Files that were
    replaced are read anew, and paid for anew."""
    nulls: NullTexts | None = None
    """Texts that stand for NULL in the fields of CSV files, in all columns, quoted or not: `[NA, '']`. Without it,
    fields that are empty and not quoted."""
    key: Keys | None = None
    """Columns of which no two rows share all values, where the database enforces no such key."""
    max_rows: Rows | None = None
    """The most rows of one person that count in full, in all or in spans of `time`: `40`, `10 per month`, or several
    spans, `6 per month, 2 per day`. Who has more
    counts with less, in all columns alike."""
    time: Text | None = None
    """The column that says when a row was made. It needs a `range`; `max_rows: 10 per month` is about its months."""
    closed_after: Length | None = None
    """How long after its end a day, week or month of `time` still gets rows, such as `2 days`. What was released of it
    after that stands for ever, as does an answer about nothing else, and a statement by day buys the other days alone.
    """
    max_groups: Count | None = None
    """The most groups, such as months, that one person's rows count in."""
    max_rows_per_group: Count | None = None
    """The most rows of one person that count in full in one group."""
    refresh: Refreshed = Field(default=None)
    """How long an answer about this table stands, where that is not as the policy's `refresh` says."""
    synthetic: ParquetFile | None = None
    """The file of made-up rows that `dpsql synthesize POLICY TABLE --output made.parquet` writes, for `previews:
    synthetic`. All analysts see them. As long as there is no such file, previews are empty."""
    columns: ByName[ColumnSection] | None = None
    """The columns that analysts may use. Without it, all columns of a public table."""

    @model_validator(mode="after")
    def _public_has_no_people(self) -> TableSection:
        given = [key for key in ("unit", "synthetic", *BOUNDS) if getattr(self, key) is not None]
        if self.public and given:
            raise wrong(f"a public table holds no people: remove public, or {' and '.join(given)}")
        if self.max_rows is not None and self.max_rows.per is not None and self.time is None:
            raise wrong(f"max_rows {self.max_rows} is about spans of time: name the column of it, such as time: day")
        if self.closed_after is not None and (self.time is None or self.max_rows is None or self.max_rows.per is None):
            raise wrong("closed_after needs time and a bound of spans, such as time: day and max_rows: 10 per month")
        return self


class Policy(_Section):
    """A policy file, complete and consistent. ``privacy_unit`` is None where each row is its own unit.

    >>> text = '''
    ... database: duckdb:clinic.duckdb
    ... ledger: sqlite:clinic.ledger
    ... privacy_unit: patient.id
    ... budget: {epsilon: 10, delta: 1e-6}
    ... tables: {patient: {columns: {sex: {values: [F, M]}}}}
    ... '''
    >>> policy = Policy.parse(text)
    >>> policy.budget.accounting, policy.statement.epsilon, policy.statement.delta
    ('zcdp', Fraction(1, 10), Fraction(1, 1000000000))
    """

    database: Database
    """The database with the people in it."""
    ledger: LedgerPlace
    """Where charges are written down before anything is read."""
    privacy_unit: Unit
    """Whom to protect: the key of the people's table, or `row` where each row is a person."""
    budget: BudgetSection
    """What all answers to all analysts may ever say about one person."""
    statement: StatementSection = Field(default=None, validate_default=True)
    """What one statement costs."""
    profile: ProfileSection | None = None
    """What the owner buys to tell by a number what bounds cut off. Without it, notices say that they may."""
    analysts: ByName[Analyst] | None = None
    """Who may ask. Without it, anybody on the proxy's own machine."""
    owners: ByName[OwnerOfData] | None = None
    """Who may see in the console what was spent, by whom and on what. They ask nothing."""
    workloads: ByName[WorkloadSection] | None = None
    """Statements that are bought as one, such as those of a dashboard, by a name for each."""
    tables: ByName[TableSection]
    """What analysts may ask about. A table or column that is not named does not exist for them."""
    data_version: Text = ""
    """Any text. Change it when the data has changed: then earlier answers are not given again."""
    refresh: Refreshed = Field(default=None)
    """How long an answer stands where rows change by themselves: `1 hour`, `1 day at 02:00`, or `never` to be new."""
    horizon: Horizon = datetime.timedelta(days=90)
    """How long dashboards are going to be looked at: a statement by day, week or month is measured period by period
    where that costs less over so long than buying all of it at each refresh."""
    releases: Releases | None = None
    """Where answers are kept to be given again, if not beside the ledger."""
    minmax: MinMax = "picked"
    """`declared`: `MIN` and `MAX` are the ends of the declared range, at no price; `picked`: they are picked from the
    data, approximately, at a price."""
    previews: Previews = "empty"
    """What a SELECT of a few rows (`LIMIT`) is answered, as tools send to see what is there: `empty`, its columns and
    no row, at no price; `synthetic`, made-up rows of tables that have `synthetic` ones, clearly marked, and no row of
    others; or `refuse`."""
    clock: ClockSection = ClockSection()
    """What `now()` means."""
    limits: LimitsSection = LimitsSection()
    """What the database and the server may use."""
    path: Path | None = Field(default=None, exclude=True)

    def closing_of(self, table: str) -> Closing | None:
        """When the periods of a table close; None where they never do."""
        named = self._said_of(table)
        after = None if named is None else named.closed_after
        return None if after is None else _closing(after, self.clock.zone, self.refresh_of(table))

    def is_dated(self, table: str) -> bool:
        """Whether rows of a table say when they were made."""
        named = self._said_of(table)
        return named is not None and named.time is not None

    def refresh_of(self, table: str) -> Refresh | None:
        """How long an answer about a table stands; None where it does not change by itself."""
        named = self._said_of(table)
        found = self.refresh if named is None or "refresh" not in named.model_fields_set else named.refresh
        return None if found is None else _in_zone(found, self.clock.zone)

    def synthetic_of(self, table: str) -> Path | None:
        """The file of made-up rows that previews of a table show, by the database's name of it."""
        named = self._said_of(table) if self.previews == "synthetic" else None
        return None if named is None else named.synthetic

    def standing(self, refresh: Refresh) -> Policy:
        """The same policy, of which every answer stands so long."""
        tables = {name: one.model_copy(update={"refresh": refresh}) for name, one in self.tables.items()}
        return self.model_copy(update={"refresh": refresh, "tables": _freeze(tables)})

    def _said_of(self, table: str) -> TableSection | None:
        """What is declared of a table, by the database's name of it: ``analytics.visit`` may be said as ``visit``."""
        named = match(table, self.tables)
        spelt = (name for name in self.tables if match_table(name, [table]) is not None)
        return None if (found := named or next(spelt, None)) is None else self.tables[found]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """The policy in the file at ``path``. Raises :class:`dpsql.policy.problem.PolicyError`."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a UTF-8 text"
            raise PolicyError([Problem(str(path), f"cannot be read: {reason}")]) from None
        return cls.parse(text, Path(path))

    @classmethod
    def parse(cls, text: str, path: Path | None = None) -> Policy:
        """The policy spelt by ``text``; relative paths in it start at the folder of ``path``."""
        tree = read(text)
        if not isinstance(tree, dict):
            text = "a policy is a mapping of keys to values, such as 'privacy_unit: patient.id': dpsql init writes one"
            raise PolicyError([Problem("", text)])
        misspelt: list[tuple[Problem, str]] = []
        known = _prune(cls, tree, "", misspelt)
        unknown = [problem for problem, _ in misspelt]
        folder = (path.parent if path else Path()).absolute()
        try:
            policy = cls.model_validate({**known, "path": path}, context={"folder": folder})
        except ValidationError as error:
            meant = {path for _, path in misspelt}
            raise PolicyError([*unknown, *(one for one in _problems(error) if one.path not in meant)]) from None
        if unknown:
            raise PolicyError(unknown)
        return policy

    @field_validator("tables", mode="after")
    @classmethod
    def _have_times(cls, value: Mapping[str, TableSection], info: ValidationInfo) -> Mapping[str, TableSection]:
        """Where a budget is one of rows, these say of which period they are, and nothing is bought of all at once."""
        budget = info.data.get("budget")
        if budget is None or budget.unit is None:
            return value
        dated = {name: table for name, table in value.items() if table.time is not None and not table.public}
        if not dated:
            raise wrong(f"budget.unit {budget.unit} is about the time of rows: name its column, such as time: day")
        for name, table in dated.items():
            if table.max_rows is None or table.max_rows.per is None:
                raise wrong(f"{name} needs a bound of spans beside time, such as max_rows: 10 per {budget.per}")
        for key in ("profile", "workloads"):
            if info.data.get(key) is not None:
                raise wrong(f"{key} is bought of rows of all times, and budget.unit is {budget.unit}: leave one out")
        return value

    @field_validator("tables", mode="after")
    @classmethod
    def _have_files(cls, value: Mapping[str, TableSection], info: ValidationInfo) -> Mapping[str, TableSection]:
        """Tables are files where the database is nothing else, and where it may have views over some."""
        database = info.data.get("database")
        if database is None:
            return value
        for name, table in value.items():
            if table.files is None and database.address == FILES:
                raise wrong(f"{name} has no files: write the files with its rows, such as {name}/*.parquet")
            if table.files is not None and not ENGINES[database.kind].takes_files:
                raise wrong(f"{name} is a table of {database.kind}, and no files: write database: files for those")
            typed = [column for column, spec in (table.columns or {}).items() if spec.type is not None]
            if typed and table.files is None:
                raise wrong(f"the database says the type of {name}.{typed[0]}: take type: away")
            if table.nulls is not None and table.files is None:
                raise wrong(f"the database says what is NULL in {name}: take nulls: away")
        return value

    @property
    def files(self) -> Mapping[str, ListedFiles]:
        """The files that are listed, by the table whose rows they have."""
        return {
            name: ListedFiles(
                table.files,
                {column: spec.type for column, spec in (table.columns or {}).items() if spec.type is not None},
                table.nulls or (),
                numbered=self.privacy_unit is None and not table.public,
            )
            for name, table in self.tables.items()
            if table.files is not None
        }

    @field_validator("workloads", mode="after")
    @classmethod
    def _have_analysts(cls, value: Mapping[str, WorkloadSection] | None, info: ValidationInfo) -> object:
        known = info.data.get("analysts") or {}
        for name, one in (value or {}).items():
            unknown = [analyst for analyst in one.analysts or () if analyst not in known]
            if unknown:
                raise wrong(f"{name} names {unknown[0]}, who is none of the analysts: write {unknown[0]}: {{}} there")
        return value

    @field_validator("statement", mode="before")
    @classmethod
    def _prices(cls, value: object, info: ValidationInfo) -> object:
        """Fill in the defaults, which follow from the budget."""
        if not isinstance(value, Mapping | None):
            return value
        budget = info.data.get("budget")
        total, delta = (budget.epsilon, budget.delta) if budget else (Fraction(1), Fraction(0))
        given = {key: item for key, item in (value or {}).items() if item is not None}
        most = _or(fields.epsilon, given.get("max_epsilon"), min(Fraction(1), total))
        defaults = {"max_epsilon": most, "epsilon": min(Fraction(1, 10), most), "delta": delta / SELECTIONS}
        return defaults | given

    @field_validator("statement", mode="after")
    @classmethod
    def _within_budget(cls, value: StatementSection, info: ValidationInfo) -> StatementSection:
        budget = info.data.get("budget")
        if budget and value.delta > budget.delta:
            raise wrong(f"delta {fields.show(value.delta)} is above budget.delta {fields.show(budget.delta)}: lower it")
        return value


def _or(read: Any, value: object, default: Fraction) -> Fraction:
    """``value`` where it is valid: a default must not hide the error of another key."""
    try:
        return default if value is None else read(value)
    except PydanticCustomError:
        return default


def _keys(section: type[BaseModel]) -> list[str]:
    return [key for key in section.model_fields if (section, key) != (Policy, "path")]


_SECTIONS: Mapping[tuple[type[BaseModel], str], tuple[type[BaseModel], bool]] = {
    (Policy, "budget"): (BudgetSection, False),
    (Policy, "clock"): (ClockSection, False),
    (Policy, "limits"): (LimitsSection, False),
    (Policy, "statement"): (StatementSection, False),
    (Policy, "profile"): (ProfileSection, False),
    (Policy, "analysts"): (Analyst, True),
    (Policy, "owners"): (OwnerOfData, True),
    (Policy, "workloads"): (WorkloadSection, True),
    (Policy, "tables"): (TableSection, True),
    (BudgetSection, "lifetime"): (LifetimeSection, False),
    (Analyst, "budget"): (AnalystSection, False),
    (AnalystSection, "lifetime"): (ShareLifetimeSection, False),
    (TableSection, "columns"): (ColumnSection, True),
    (ColumnSection, "randomized"): (RandomizedSection, False),
    (RandomizedSection, "rappor"): (RapporSection, False),
}
"""The sections inside a section; True where its keys are names that the owner chooses."""


def _prune(
    section: type[BaseModel], tree: Mapping[str, Any], path: str, misspelt: list[tuple[Problem, str]]
) -> dict[str, Any]:
    """``tree`` without the keys that no section declares; they go to ``misspelt``, each with the path of the key that
    may be meant, which is then not said to be missing as well.
    """
    known = _keys(section)
    kept: dict[str, Any] = {}
    for key, value in tree.items():
        here = join(path, key)
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"the keys here are {', '.join(known)}"
            misspelt.append((Problem(here, f"unknown key: {hint}"), join(path, near[0]) if near else here))
            continue
        inner, named = _SECTIONS.get((section, key), (None, False))
        if inner is None or not isinstance(value, dict):
            kept[key] = value
        elif named:
            kept[key] = {
                name: _prune(inner, item, join(here, name), misspelt) if isinstance(item, dict) else item
                for name, item in value.items()
            }
        else:
            kept[key] = _prune(inner, value, here, misspelt)
    return kept


def _problems(error: ValidationError) -> Iterator[Problem]:
    for item in error.errors(include_input=False, include_url=False):
        message = "missing: this key must be given" if item["type"] == "missing" else item["msg"]
        yield Problem(join("", *item["loc"]), message)


@functools.lru_cache(256)
def _closing(after: datetime.timedelta, zone: str, refresh: Refresh | None) -> Closing:
    return Closing(after, zone, refresh)


@functools.lru_cache(256)
def _in_zone(refresh: Refresh, zone: str) -> Refresh:
    return replace(refresh, zone=zone)
