"""Golden pairs: a query, and what the rewriter makes of it. What follows the line of dashes is generated.

A file begins with comments that say what it shows; ``-- clipped in l1`` chooses the norm (l2 without it), ``-- with
others`` adds groups that are not shown up in a row of their own, ``-- hiding the empty`` shows the groups alone that
somebody surely is in, ``-- with marginals`` measures ordered keys alone beside more than ten groups of others, and
``-- in the zone Europe/Berlin`` is the session's.
``-- asked at 2025-06-18 10:30`` is the time by the clock: visits are then of a table that grows, whose days have the
range ``[2020-01-01, now]`` and the grain of a week.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from dpsql.engines.duckdb.duckdb_schema import read_schema
from dpsql.engines.schema import Profile
from dpsql.policy.declared_catalog import catalog, fit
from dpsql.policy.policy import Policy
from rewriter.debiased import Debiased
from rewriter.declared.catalog import Catalog
from rewriter.declared.contribution import Norm
from rewriter.declared.moving_ends import Grain
from rewriter.declared.time_zones import UTC
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.duckdb import DUCKDB
from rewriter.plan import Chosen, Linear, Moment, Output, Plan, Ratio
from rewriter.program import rewrite
from rewriter.refused import NeedsAnswer, Refused
from rewriter.regression import LogisticRegression, Regression
from rewriter.split.presence import Empty
from rewriter.statement.parser import Explain, Select, parse
from tests.answer.answers import unknown_answer

FOLDER = Path(__file__).parent
QUERIES = FOLDER / "queries"
CUT = "-- ----\n"


@dataclass(frozen=True, slots=True)
class Pair:
    """A query with its header, and the expected rest of the file."""

    path: Path
    question: str
    expected: str

    @classmethod
    def read(cls, path: Path) -> Pair:
        question, _, expected = path.read_text(encoding="utf-8").partition(CUT)
        return cls(path, question.rstrip() + "\n", expected)

    @property
    def sql(self) -> str:
        lines = self.question.splitlines(keepends=True)
        while lines and lines[0].startswith("--"):
            lines.pop(0)
        return "".join(lines).strip().removesuffix(";")

    @property
    def norm(self) -> Norm:
        return Norm.L1 if "-- clipped in l1" in self.question else Norm.L2

    @property
    def others(self) -> bool:
        return "-- with others" in self.question

    @property
    def above(self) -> int | None:
        return 10 if "-- with marginals" in self.question else None

    @property
    def empty(self) -> Empty:
        return Empty.HIDE if "-- hiding the empty" in self.question else Empty.AUTO

    @property
    def zone(self) -> str:
        found = re.search(r"-- in the zone (\S+)", self.question)
        return found[1] if found else UTC

    @property
    def instant(self) -> datetime.datetime | None:
        found = re.search(r"-- asked at (.+)", self.question)
        return datetime.datetime.fromisoformat(found[1]).replace(tzinfo=datetime.UTC) if found else None

    def rendered(self, known: Catalog) -> str:
        if self.instant is not None:
            known = living(known, self.instant)
        return rendered(
            self.sql,
            self.norm,
            known,
            others=self.others,
            empty=self.empty,
            zone=self.zone,
            instant=self.instant,
            above=self.above,
        )

    def write(self, known: Catalog) -> None:
        self.path.write_text(f"{self.question}\n{CUT}{self.rendered(known)}", encoding="utf-8")


def pairs() -> list[Pair]:
    return [Pair.read(path) for path in sorted(QUERIES.glob("*.sql"))]


def clinic() -> Catalog:
    """The catalog of the clinic, over the schema as DuckDB tells it."""
    connection = duckdb.connect(":memory:")
    connection.execute((FOLDER / "clinic.sql").read_text(encoding="utf-8"))
    policy = Policy.load(FOLDER / "clinic.yaml")
    region = Profile(3, frozenset({"name", "population"}))
    schema = read_schema(connection)
    # The rows that are there lead to one person by every way.
    agreed = dict.fromkeys(fit(policy, schema, {"region": region}).agreements, True)
    return catalog(policy, schema, {"region": region}, agreed=agreed)


def living(known: Catalog, instant: datetime.datetime) -> Catalog:
    """The clinic whose visits go on, at an instant."""
    visit = known.tables["visit"]
    day = replace(visit.columns["day"], ahead=Fraction(0), grain=Grain(7 * 86_400))
    growing = replace(visit, columns={**visit.columns, "day": day})
    present = instant.replace(tzinfo=None)
    return replace(known, tables={**known.tables, "visit": growing}).at(lambda _: present, UTC)


def rendered(
    sql: str,
    norm: Norm,
    known: Catalog,
    *,
    others: bool = False,
    empty: Empty = Empty.AUTO,
    zone: str = UTC,
    instant: datetime.datetime | None = None,
    above: int | None = None,
) -> str:
    """What the rewriter makes of a query, for people to read."""
    dialect = replace(DUCKDB, zone=zone)
    try:
        statement = parse(sql)
        if isinstance(statement, Explain):
            statement = statement.query
        if not isinstance(statement, Select):
            return f"-- {statement}\n"
        return _asked(statement.tree, norm, known, dialect, others=others, empty=empty, instant=instant, above=above)
    except Refused as refused:
        place = f" at {refused.position}" if refused.position is not None else ""
        return f"-- refused: {refused.sqlstate}{place}: {refused.message} | {refused.hint}\n"


def _asked(
    tree: exp.Query,
    norm: Norm,
    known: Catalog,
    dialect: Dialect,
    *,
    others: bool = False,
    empty: Empty = Empty.AUTO,
    instant: datetime.datetime | None = None,
    above: int | None = None,
) -> str:
    """A query, after those that it asks first; of their answers nothing is known here."""
    try:
        program = rewrite(tree, known, dialect, norms=(norm,), others=others, empty=empty, instant=instant, above=above)
    except NeedsAnswer as needed:
        first = _asked(needed.query, norm, known, dialect)
        return f"-- asked first: {needed.text}\n{first}\n-- and then\n" + _asked(
            tree, norm, known.with_answer(needed.text, unknown_answer(needed.query, known, dialect)), dialect
        )
    plans = [*enumerate(program.plans), *((at, one) for at, some in enumerate(program.options) for one in some.picks)]
    parts = ["\n".join(_described(number, one)) + "\n" + _read(one) for number, one in plans]
    notes = "".join(f"-- note: {note}\n" for note in program.notes) if others or instant or empty is Empty.HIDE else ""
    return "\n".join([*parts, f"-- outer\n{notes}{_pretty(program.outer.shown_sql)}"])


def _read(one: Plan) -> str:
    """What the engine is asked: the table of a plan, where it has one, and then each of its choices."""
    texts = [_pretty(one.sql)] if one.sql else []
    for number, step in enumerate(one.steps):
        names = ", ".join(statistic.name for block in step.blocks for statistic in block.statistics)
        # The others differ in names alone.
        texts.append(f"-- step {number + 1}: {names}\n" + (_pretty(step.sql) if len(step.blocks) > 1 else ""))
    for choice in one.choices:
        what = f"{choice.text}: quantiles {', '.join(map(str, choice.fractions))} of {choice.low} … {choice.high}"
        if choice.candidates:
            what = f"{choice.text}: the mode of {', '.join(map(repr, choice.candidates))}"
        declared = choice.sensitivity
        moves = f"one unit weighs: l1 {declared.l1}, l2 {_root(declared.l2_squared)}; a row {choice.row}"
        near = f"near is less than {choice.window}; steps of {choice.granularity}"
        texts.append("".join(f"-- {line}\n" for line in (f"{choice.name}: {what}", moves, near)) + _pretty(choice.sql))
    return "\n".join(texts)


def _pretty(sql: str) -> str:
    return sqlglot.parse_one(sql, read="duckdb").sql("duckdb", pretty=True, max_text_width=110) + ";\n"


def _described(number: int, one: Plan) -> Iterator[str]:
    yield f"-- release {number}"
    groups = "selected" if one.selection is not None else f"public, at most {one.cells}" if one.keys else "one group"
    yield f"-- groups: {groups}"
    for key in one.keys:
        yield f"--   {key.name}: {key.text} ({key.type})"
    if one.selection is not None:
        steps = one.selection.granularity.denominator
        yield f"-- selection: weight {one.selection.name} in 1/{steps}, at most {one.selection.max_groups} groups"
    for block in one.blocks:
        declared = block.sensitivity
        yield f"-- one unit moves: l1 {declared.l1}, l2 {_root(declared.l2_squared)}"
        if (prefix := block.prefix) is not None:
            keys = ", ".join(f"k{place}" for place in prefix.order)
            way = "down" if prefix.descending else "up"
            yield f"--   measured as running sums {way} {keys}: {prefix.strategy}"
        for statistic in block.statistics:
            steps = f"steps of {statistic.granularity}, at most {statistic.bound}"
            yield f"--   {statistic.name}: {statistic.text} ({steps})"
    if (top := one.top) is not None:
        which = "most" if top.descending else "least"
        yield f"-- of the {top.count} groups with the {which} {top.name}, picked first: one unit reaches {top.reach}"
    for output in one.outputs:
        yield f"-- {output.name}: {output.text} ({output.type}) = {_finished(output)}"
    for note in one.notes:
        yield f"-- note: {note}"


def _root(squared: int) -> str:
    root = int(squared**0.5)
    return str(root) if root * root == squared else f"√{squared}"


def _finished(output: Output) -> str:
    how = output.estimator
    if isinstance(how, Ratio):
        if len(how.above) == len(how.below) == 1:
            (a, _), (b, _) = *how.above, *how.below
            return f"{how.low} + {how.high - how.low} · {a} / ({a} + {b})"
        above, below = (" + ".join(f"{weight} · {name}" for name, weight in side) for side in (how.above, how.below))
        return f"{how.low} + {how.high - how.low} · a / (a + b), a = {above}, b = {below}"
    if isinstance(how, Moment):
        ranges = [f"[{axis.low}, {axis.high}] in degree {axis.degree}" for axis in (how.x, how.y) if axis.degree]
        return f"{how.figure} over {' and '.join(ranges)}, of {', '.join(name for name, _ in how.cells)}"
    if isinstance(how, Regression):
        ranges = [f"[{low}, {high}]" for low, high in how.ranges]
        return f"{how.part.field} over {', '.join(ranges)}, of {', '.join(name for name, _ in how.cells)}"
    if isinstance(how, LogisticRegression):
        ranges = [f"[{low}, {high}]" for low, high in how.ranges]
        steps = "; ".join(", ".join(name for name, _ in terms) for terms in how.gradients)
        bent = f"curvature {', '.join(name for name, _ in how.curvature)}"
        return f"{how.part.field} over {', '.join(ranges)}, of {', '.join(n for n, _ in how.cells)}; {steps}; {bent}"
    if isinstance(how, Chosen):
        return f"picked, number {how.place} of {how.choice}"
    if isinstance(how, Debiased):
        return _debiased(how)
    assert isinstance(how, Linear)
    terms = " + ".join(name if weight == 1 else f"{weight} · {name}" for name, weight in how.terms)
    least = f", at least {how.minimum}" if how.minimum is not None else ""
    most = f", at most {how.maximum}" if how.maximum is not None else ""
    return f"{terms}{', rounded' if how.integer else ''}{least}{most}"


def _debiased(how: Debiased) -> str:
    """The weights of reports, rounded; in each of the rows with a value from low to high."""
    parts = []
    for part in how.parts:
        reports = [
            f"{float(one.weight):.4g} · ({' + '.join(f'{weight} · {name}' for name, weight in (*one.above, *one.below))})"
            for one in part.reports
        ]
        parts.append(
            f"{' + '.join(reports)}, of [{part.low}, {part.high}], ±√({float(part.least):.4g} to {float(part.most):.4g})"
        )
    return f"{how.figure} by reports: {'; '.join(parts)}; {how.rows} rows a person"
