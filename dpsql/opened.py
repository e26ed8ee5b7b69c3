"""Opening a policy: the engine, what it declares, the ledger, the store of releases and the sandbox."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dpsql.accounting import ACCOUNTINGS, Accountant
from dpsql.calendar_unit import CalendarUnit
from dpsql.clock import Clock
from dpsql.closing import Closing
from dpsql.engines import ENGINES, Engine, ListedFiles, Look, Patience, Resources, Schema, Turn, Way, busy, value_scan
from dpsql.errors import BudgetExceeded, Error, NotSupportedError, OperationalError
from dpsql.ledger import EVER, Ledger, NoLedger, Span, Writer, whole_periods
from dpsql.living_catalog import DatedCatalog, LivingCatalog
from dpsql.memory import Memories
from dpsql.policy import (
    DATABASE,
    LEDGER,
    Agreement,
    Claim,
    Kind,
    Place,
    Policy,
    PolicyError,
    Problem,
    catalog,
    declared_columns,
    fit,
    join,
    with_secret,
)
from dpsql.purchases import Purchases
from dpsql.refresh import Refresh
from dpsql.releases import PastReleases, ReleaseStore, try_arrow
from dpsql.sandbox import Sandbox
from rewriter.declared import Catalog, made_up_name
from rewriter.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Present:
    """What ``now()`` means in a statement, ``tick``, and what is ``declared`` when it is asked."""

    tick: datetime
    declared: DatedCatalog


@dataclass(frozen=True, slots=True)
class TablesState:
    """Tables that are to be read, with the ``state`` of the files that they are."""

    tables: tuple[str, ...]
    state: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A policy with everything that it names, open."""

    policy: Policy
    declared: LivingCatalog
    engine: Engine
    accountant: Accountant
    ledger: Ledger
    store: ReleaseStore
    purchases: Purchases
    sandbox: Sandbox
    timeout: float
    """Seconds that one release may run in the engine."""
    clock: Clock
    memories: Memories = field(default_factory=Memories)
    """All that is remembered from statement to statement."""
    standing: Callable[[Plan], str] | None = field(default=None, repr=False)
    """What releases stand under, where that is not what they stand under by now."""
    past: bool = False
    """Whether what was released is all that there is: nothing is charged, and no row of people is read."""

    @property
    def catalog(self) -> Catalog:
        """What is declared now."""
        return self.present().declared.catalog

    def present(self) -> Present:
        """What statements are prepared by that are asked now."""
        instant = self.clock.read()
        tick = self.clock.tick_of(instant)
        return Present(tick, self.declared.at(instant, tick))

    @contextmanager
    def turn(self, patience: Patience, analyst: str, rows: TablesState) -> Iterator[Turn]:
        """A turn of the engine, taken right before a charge for all that is read in it. Analysts take turns.

        Raises 53300 where there is none, 57014 where the statement is cancelled or late, or its client has gone, and
        58000 where the database does not answer or the rows are others by now: nothing was charged. Who goes from here
        on ends nothing.
        """
        if self.past:
            raise BudgetExceeded("nothing of this was released before", sqlstate="53400")
        taken = self.engine.load.take(min(self.policy.limits.wait, patience.left), patience.cancellation, analyst)
        if taken is None:
            patience.check()
            raise busy()
        with taken, self.engine.ready(taken, rows.tables, rows.state, patience.left, patience.cancellation):
            patience.pay()
            yield taken

    def rows(self, plans: Iterable[Plan]) -> TablesState:
        """The rows that plans would read now."""
        tables = tuple(dict.fromkeys(table for plan in plans for table in plan.tables))
        return TablesState(tables, self.engine.state(tables))

    def version(self, plan: Plan) -> str:
        """What a release stands under: the owner's ``data_version``, the period of each table that refreshes, and the
        files that are its rows.

        What is closed stands for ever. What was released of it while it was open stands under other words.
        """
        now = self.clock.read()
        if closed := self.closed(plan, now):
            return f"{self.policy.data_version} closed after {' and '.join(sorted({str(one) for one in closed}))}"
        if self.standing is not None:
            return self.standing(plan)
        numbers = [
            f"{table}: {refresh.name(now)}"
            for table in plan.tables
            if (refresh := self.policy.refresh_of(table)) is not None
        ]
        files = self.engine.state(plan.tables)
        return " ".join((self.policy.data_version, *numbers, *([f"files {files}"] if files else ())))

    def refreshed(self, refresh: Refresh) -> Opened:
        """The same, where every answer stands so long. What is bought there stands under words of its own."""
        held = replace(self, policy=self.policy.standing(refresh))
        return replace(held, standing=lambda plan: f"{held.version(plan)} every {refresh}")

    def before(self, standing: PastReleases) -> Opened:
        """The same as releases stood before, with nothing but them."""

        def version(plan: Plan) -> str:
            found = self.store.version_at(plan.tables, standing.number)
            return "nothing was released" if found is None else found

        return replace(self, standing=version, past=True)

    def closed(self, plan: Plan, at: datetime) -> tuple[Closing, ...]:
        """What says that no row of people that a plan reads changes any more: the period of a series is closed, or all
        rows of every table that changes are before an instant that is. Nothing where they do change."""
        found = []
        for one in plan.until if plan.period is None else (plan.period,):
            closing = self.policy.closing_of(one.table)
            if closing is not None and one.end is not None and closing.is_closed(one.end, at, one.zone):
                found.append(closing)
            elif plan.period is not None or self.policy.refresh_of(one.table) is not None:
                return ()
        return tuple(found)

    def span(self, plan: Plan) -> Span:
        """The times of the rows of people that a plan depends on, in whole periods, where the budget is one of the rows
        of each; all times where nothing proves that they are fewer.

        Rows of tables without a time are of no period: what is asked of them alone is charged to all of them.
        """
        per = self.accountant.rows_of
        dated = [one for one in plan.times if self.policy.is_dated(one.table)]
        if per is None or not dated:
            return EVER
        spans = [whole_periods(one.begin, one.end, per) for one in dated]
        return Span(min(one.begin for one in spans), max(one.end for one in spans))

    def check_rows(self, what: str, hint: str) -> None:
        """Raise 0A000 for what is not bought where the budget is one of the rows of each period."""
        if self.accountant.of_rows:
            text = f"{what} is of rows of all times, and each {self.accountant.per} of rows has a budget of its own"
            raise NotSupportedError(text, sqlstate="0A000", hint=hint)

    def claimed(self, plans: Iterable[Plan], patience: Patience) -> AbstractContextManager[None]:
        """Wait until nobody else buys a release of one of the plans, and keep others from it. Raises 57014."""
        return self.purchases.claimed({f"{plan.identity} {self.version(plan)}" for plan in plans}, patience)

    def close(self) -> None:
        self.memories.forget()
        self.purchases.close()
        self.store.close()
        self.ledger.close()
        self.sandbox.close()
        self.engine.close()


def open_policy(path: str | os.PathLike[str], let_pass: Collection[Kind] = ()) -> Opened:
    """Open all that a policy names, and load its public tables. Raises :class:`dpsql.errors.Error`.

    ``let_pass`` is for tests alone: problems that keep a policy from being opened elsewhere.
    """
    return open_here(compared(load_policy(path), let_pass))


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy of a file. Raises :class:`OperationalError`."""
    try:
        return Policy.load(path)
    except PolicyError as problems:
        raise _invalid(problems) from None


@dataclass(frozen=True, slots=True)
class ComparedPolicy:
    """A policy that agrees with its database, and the engine that is open."""

    policy: Policy
    catalog: Catalog
    engine: Engine


def compared(policy: Policy, let_pass: Collection[Kind] = ()) -> ComparedPolicy:
    """Open the database of a policy, and compare the two. Raises :class:`dpsql.errors.Error`."""
    engine = engine_of(policy)
    try:
        return ComparedPolicy(policy, _compare(policy, engine, let_pass), engine)
    except PolicyError as problems:
        engine.close()
        raise _invalid(problems) from None
    except BaseException:
        engine.close()
        raise


def _invalid(problems: PolicyError) -> OperationalError:
    hint = "dpsql check lists all that is wrong"
    return OperationalError(f"the policy is not valid:\n{problems}", sqlstate="F0000", hint=hint)


def engine_of(policy: Policy, processes: int = 1) -> Engine:
    """The engine of a policy's database, one of so many. Raises :class:`dpsql.errors.Error`."""
    resources = Resources(policy.limits.threads, policy.limits.memory, processes)
    return open_engine(policy.database, resources, policy.files)


def open_engine(
    database: Place, resources: Resources | None = None, files: Mapping[str, ListedFiles] | None = None
) -> Engine:
    """The engine of a database. Raises :class:`dpsql.errors.Error`."""
    target = with_secret(database.target, DATABASE)
    return ENGINES[database.kind].open(target, resources or Resources(), files or {})


_Filters = tuple[Accountant, ...]


def accountants(policy: Policy) -> tuple[_Filters, dict[str, _Filters]]:
    """The filters of the declared total, and those of the analysts who have a share of it; that of windows first."""
    budget, zone = policy.budget, policy.clock.zone
    accounting = ACCOUNTINGS[budget.accounting]
    whole = budget.delta if budget.lifetime is None or budget.lifetime.delta is None else budget.lifetime.delta

    def filters(epsilon: Fraction, per: str | None, lifetime: Fraction | None) -> _Filters:
        # Rows have the times that they have, and periods are of these: of UTC where they are instants.
        of_rows = budget.unit is not None and per == budget.per
        window = CalendarUnit(per, "UTC" if of_rows else zone) if per else None
        renewed = Accountant(accounting, epsilon, budget.delta, per=window, of_rows=of_rows)
        return (renewed,) if lifetime is None else (renewed, Accountant(accounting, lifetime, whole))

    shares = {
        name: filters(own.epsilon, own.per or budget.per, own.lifetime.epsilon if own.lifetime else None)
        for name, own in ((name, analyst.budget) for name, analyst in (policy.analysts or {}).items())
        if own is not None
    }
    return filters(budget.epsilon, budget.per, budget.lifetime.epsilon if budget.lifetime else None), shares


def open_ledger(
    policy: Policy,
    *,
    create: bool = True,
    writer: Writer | None = None,
    clock: Clock | None = None,
    any_unit: bool = False,
) -> Ledger:
    """The ledger of a policy, made if there is none and ``create`` allows it. Raises :class:`OperationalError`.

    ``writer`` adds the charges, where another process does. Only who looks at a ledger, and charges nothing, may take
    one of ``any_unit``.
    """
    total, shares = accountants(policy)
    unit = ".".join(policy.privacy_unit) if policy.privacy_unit else "row"
    unit += f" of each {policy.budget.per}" if policy.budget.unit else ""
    place, read = with_secret(str(policy.ledger), LEDGER), None if clock is None else clock.read
    return Ledger.open(place, total, shares, unit="" if any_unit else unit, create=create, writer=writer, clock=read)


def open_store(policy: Policy, ledger: Ledger) -> ReleaseStore:
    """The kept releases: beside the ledger; where that is a server, beside the policy, unless that names a place."""
    from dpsql.mechanisms import NOISES  # Here, since policies are checked without, and they take a second to load.

    at = policy.releases.path if policy.releases is not None else None
    if policy.ledger.kind == "sqlite":
        return ReleaseStore.open(NOISES, policy.ledger.path, at=at)
    beside = f"{os.path.abspath(policy.path or 'dpsql')}-releases"
    return ReleaseStore.open(NOISES, beside, at=at or beside, paid=ledger.extent)


def look_at(engine: Engine, claims: Iterable[Claim], seconds: float) -> dict[Claim, Look | None]:
    """Whether rows keep to the keys that a policy relies on, for the owner. None where the engine cannot say.

    Where rows can change, a key that has to be certain is not looked at: that it holds today proves nothing.
    """
    looks: dict[Claim, Look | None] = {}
    for claim in claims:
        if claim.lasting and not engine.lasting(claim.table):
            continue
        try:
            looks[claim] = engine.look(claim.table, claim.columns, seconds)
        except Error:
            looks[claim] = None
    return looks


def agreeing(engine: Engine, claims: Iterable[Agreement], seconds: float) -> dict[Agreement, bool | None]:
    """Whether ways lead to the same people, for the owner, by one scan of a table. None where the engine cannot say.

    Rows that can change are not looked at: that they agree today proves nothing.
    """
    waiting: dict[tuple[str, tuple[str, str], Way], list[Agreement]] = {}
    for claim in claims:
        if all(map(engine.lasting, claim.tables)):
            waiting.setdefault((claim.table, claim.people, claim.own), []).append(claim)
    seen: dict[Agreement, bool | None] = {}
    for (table, people, own), asked in waiting.items():
        answers: Sequence[bool | None]
        try:
            answers = engine.agree(table, people, own, [claim.other for claim in asked], seconds)
        except Error:
            answers = [None] * len(asked)
        seen.update(zip(asked, answers, strict=True))
    return seen


def referring(
    engine: Engine, columns: Iterable[tuple[str, str]], unit: tuple[str, str] | None, seconds: float
) -> set[tuple[str, str]]:
    """Those of columns that seem to hold keys of people, for the owner."""
    found: set[tuple[str, str]] = set()
    for column in columns:
        try:
            if unit is not None and engine.refers(column, unit, seconds):
                found.add(column)
        except Error:
            continue
    return found


def people_of(engine: Engine, checked: Catalog, seconds: float) -> int | None:
    """How many people there are, counted for the owner alone. None where the engine cannot say.

    Where each row is a person, those of the table with the most rows.
    """
    private = [table for table in checked.tables.values() if not table.public and table.columns]
    columns = [checked.unit] if checked.unit else [(table.name, next(iter(table.columns))) for table in private]
    try:
        found = [_counted(engine, *column, seconds) for column in columns]
    except Error:
        return None
    return max((different if checked.unit else rows for rows, different in found), default=None)


def _counted(engine: Engine, table: str, column: str, seconds: float) -> tuple[int, int]:
    """The rows of a table, and the different values of a column."""
    rows, _, different, *_ = engine.figures(lambda read: value_scan(read, table, column, None, ()), seconds)
    return int(rows or 0), int(different or 0)


def ledger_problems(policy: Policy, *, unit_is_known: bool = True) -> list[Problem]:
    """Why the ledger of a policy cannot be used or made. One that is there is opened and verified; none is made.

    A privacy unit that is wrong itself is not compared with the ledger's: its own problem says what to mend.
    """
    if found := list(_place_of_ledger(policy)):
        return found
    try:
        with open_ledger(policy, create=False, any_unit=not unit_is_known) as ledger:
            ledger.verify()
    except OperationalError as problem:
        return [] if isinstance(problem.__cause__, NoLedger) else [Problem("ledger", problem.message, "error")]
    return []


def _place_of_ledger(policy: Policy) -> Iterator[Problem]:
    """The place of a ledger that is a file: a folder that is there, and no file of the data."""
    if policy.ledger.address.is_server:
        return
    path = Path(policy.ledger.path)
    read = [policy.database.path] if policy.database.address.is_file else []
    read += [file for listed in policy.files.values() for file in listed.patterns]
    if path.is_dir():
        yield Problem("ledger", f"{path} is a folder: name a file in it, such as {path.name}/dpsql.ledger", "error")
    elif not path.parent.is_dir():
        yield Problem("ledger", f"there is no folder {path.parent}: make it, or name another place", "error")
    elif any(_same_file(path, one) for one in read):
        text = "the ledger is a file of the data itself: name one of its own, such as sqlite:dpsql.ledger"
        yield Problem("ledger", text, "error")
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        yield Problem("ledger", f"nothing can be written into {path.parent}, and a ledger needs that", "error")


def _same_file(path: Path, other: str) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return str(path) == other


def _check_readable(policy: Policy, schema: Schema, engine: Engine) -> None:
    """Raise :class:`PolicyError` where a declared table cannot be read: its statements would be paid in vain."""
    found = fit(policy, schema)
    concerns = engine.unreadable(declared_columns(found.catalog))
    if concerns:
        raise PolicyError(
            [Problem(join("tables", found.names[one.table or ""]), one.text, "error") for one in concerns]
        )


def _compare(policy: Policy, engine: Engine, let_pass: Collection[Kind]) -> Catalog:
    schema = engine.schema()
    drafted = fit(policy, schema)
    _check_readable(policy, schema, engine)
    looks = look_at(engine, drafted.claims, policy.limits.seconds)
    agreed = agreeing(engine, drafted.agreements, policy.limits.seconds)
    checked = catalog(policy, schema, None, looks, agreed, let_pass)
    public = [name for name, table in checked.tables.items() if table.public]
    profiles = {name: engine.public_profile(name) for name in public}
    return catalog(policy, schema, profiles, looks, agreed, let_pass)


def open_beside(policy: Policy, known: Catalog, writer: Writer, processes: int, *, replaced: bool = False) -> Opened:
    """All that a policy names, once more, for one of the processes of a server: the foreman has compared the policy
    with its database, and ``writer`` asks it to charge. Where files that are tables were ``replaced`` since, they are
    compared again. Raises :class:`dpsql.errors.Error`.
    """
    engine = engine_of(policy, processes)
    if replaced and not _still_agrees(policy, known, {}, engine):
        engine.close()
        raise OperationalError(
            "a file of the database was replaced while it was served", sqlstate="F0000", hint="start dpsql anew"
        )
    return open_here(ComparedPolicy(policy, known, engine), writer)


def open_here(
    found: ComparedPolicy, writer: Writer | None = None, read: Callable[[], datetime] | None = None
) -> Opened:
    """What a compared policy names beside its database. ``read`` is for tests: a clock other than the machine's.

    Raises :class:`dpsql.errors.Error`.
    """
    try:
        try_arrow()
        policy = found.policy
        clock = Clock(policy.clock.tick, policy.clock.zone)
        return _open(found, writer, clock if read is None else replace(clock, read=read))
    except BaseException:
        found.engine.close()
        raise


def _open(found: ComparedPolicy, writer: Writer | None, clock: Clock) -> Opened:
    policy, known, engine = found.policy, found.catalog, found.engine
    engine.schema()  # now: a statement that holds a turn of the engine must not wait for another one
    loaded: dict[str, str] = {}
    engine.rely_on(known.tables, lambda anew: _still_agrees(policy, known, loaded, anew))
    total, _ = accountants(policy)
    ledger = open_ledger(policy, writer=writer, clock=clock)
    try:
        store = open_store(policy, ledger)
        purchases = Purchases(store.place.with_name(f"{store.place.name}-claims"))
        sandbox = Sandbox.open()
        for table in known.tables.values():
            if table.public:
                rows = engine.public_rows(table.name, list(table.columns))
                loaded[table.name] = _digest(rows)
                sandbox.load_public(table.name, rows)
        made_up = _load_made_up(policy, known, sandbox)
    except BaseException:
        ledger.close()
        raise
    memories = Memories((store.memory, sandbox.memory))
    seconds = policy.limits.seconds
    declared = LivingCatalog(replace(known, made_up=made_up), policy.clock.zone, policy.refresh_of)
    return Opened(policy, declared, engine, total[0], ledger, store, purchases, sandbox, seconds, clock, memories)


def _load_made_up(policy: Policy, known: Catalog, sandbox: Sandbox) -> dict[str, str]:
    """The tables whose made-up rows are in the sandbox now, each with a sentence about these."""
    made_up: dict[str, str] = {}
    if policy.previews != "synthetic":
        return made_up
    # Here, since few policies have such rows, and readers of Parquet are loaded with it.
    from dpsql.made_up_rows import NotMadeUp, synthetic_tables, told

    try:
        for table, rows in synthetic_tables(policy, known):
            sandbox.load_public(made_up_name(table.name), rows)
            made_up[table.name] = told(table, rows)
    except (OSError, NotMadeUp) as problem:
        hint = "dpsql synthesize makes such a file"
        raise OperationalError(f"no made-up rows: {problem}", sqlstate="F0000", hint=hint) from None
    return made_up


def _still_agrees(policy: Policy, known: Catalog, loaded: Mapping[str, str], anew: Engine) -> bool:
    """Whether all that was found at opening is so in a database whose files were replaced: columns, keys, public rows.

    Public rows are compared themselves: they are in the sandbox, and what is known of them lowers noise.
    """
    try:
        if _compare(policy, anew, ()) != known:
            return False
        now = {name: _digest(anew.public_rows(name, list(known.tables[name].columns))) for name in loaded}
        return now == loaded
    except (Error, PolicyError):
        return False


def _digest(rows: pa.Table) -> str:
    """What tells rows, in their order."""
    found = hashlib.blake2b(digest_size=16)
    for batch in rows.combine_chunks().to_batches():
        found.update(batch.serialize())
    return found.hexdigest()
