"""Counts of a table by its columns, for made-up rows: all single ones and pairs, or some that are chosen in rounds.

Guarantee: a purchase is that of a workload (:mod:`dpsql.workload`) or of rounds (:mod:`dpsql.chosen_marginals`): one
charge, durable before any row is read, and nothing where the same was bought before. Which counts are bought, or are
candidates, follows from policy, schema and the columns asked for. A workload is read from the store of releases. A
count that is bought beside the others is asked for again, unless that were not free.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod, sqrt
from typing import Protocol

import numpy as np

from dpsql.accounting import PrivacyLoss
from dpsql.chosen_marginals import ChosenMarginal, RoundsPlan
from dpsql.errors import DataError
from dpsql.ledger import Receipt
from dpsql.proxy import Proxy, Session
from dpsql.releases import Key
from dpsql.synthetic.attributes import Attribute, Unmodelled, attributes, quoted
from dpsql.workload import WorkloadPlan
from rewriter.declared import Scalar
from rewriter.plan import Plan

MOST_COLUMNS = 12
"""The most columns of which all pairs are counted."""

_WIDEST = 3
"""The most columns of a count that is chosen: made-up rows are to have the counts by any three."""
_MOST_CELLS = 10_000
"""The most cells of a count that is a candidate."""
_NORMAL = 1.959963984540054
"""The half-width of a 95 % interval over the standard deviation."""


@dataclass(frozen=True, slots=True)
class ReleasedCounts:
    """Released counts of rows by the cells of some attributes, an axis each: unbiased, with independent noise of one
    standard ``deviation`` on each."""

    names: tuple[str, ...]
    numbers: np.ndarray
    deviation: float

    @property
    def margin(self) -> float:
        """The half-width of the 95 % interval of a count."""
        return _NORMAL * self.deviation

    def by(self, names: Sequence[str]) -> ReleasedCounts:
        """The counts by some of the attributes: sums of these."""
        gone = tuple(axis for axis, name in enumerate(self.names) if name not in names)
        many = prod(self.numbers.shape[axis] for axis in gone)
        left = tuple(name for name in self.names if name in names)
        numbers = self.numbers.sum(axis=gone).transpose([left.index(name) for name in names])
        return ReleasedCounts(tuple(names), numbers, self.deviation * sqrt(many))


def best(measured: Sequence[ReleasedCounts], names: Sequence[str]) -> ReleasedCounts:
    """The counts by some attributes, from all marginals that have these: weighted so that the variance is least."""
    found = [one.by(names) for one in measured if set(names) <= set(one.names)]
    weights = [one.deviation**-2 for one in found]
    numbers = sum(one.numbers * weight for one, weight in zip(found, weights, strict=True)) / sum(weights)
    return ReleasedCounts(tuple(names), np.asarray(numbers), sum(weights) ** -0.5)


Draw = Callable[[Mapping[str, int], Sequence[ReleasedCounts], int | None], Mapping[str, np.ndarray]]
"""Draws rows from a model of marginals: the cell of each row, by attribute. Given are the cells of each attribute, the
marginals, and the number of rows; without it as many rows are drawn as were measured."""


class AdaptiveModel(Protocol):
    """A model of the cells of attributes that says which counts it gets wrong, and draws rows."""

    def fit(self, measured: Sequence[ReleasedCounts]) -> None:
        """Fit to released counts, as far as the next choice needs it."""
        ...

    def fits(self, names: Sequence[str], part: Fraction) -> bool:
        """Whether the model is small enough with counts by these attributes, where a part of the price is spent."""
        ...

    def predicted(self, names: Sequence[str]) -> np.ndarray:
        """The rows that are expected in each cell of some attributes."""
        ...

    def rows(self, measured: Sequence[ReleasedCounts], rows: int | None) -> Mapping[str, np.ndarray]:
        """Rows of a model of all counts, as cells of each attribute; as many as were measured, where no number is
        given."""
        ...


@dataclass(frozen=True, slots=True)
class ByCells:
    """A model of cells as one of the groups of candidates: what :mod:`dpsql.chosen_marginals` asks."""

    model: AdaptiveModel
    by: tuple[tuple[Attribute, ...], ...]

    def fit(self, measured: Sequence[ChosenMarginal]) -> None:
        self.model.fit([self.released(one) for one in measured])

    def fits(self, place: int, part: Fraction) -> bool:
        return self.model.fits([one.name for one in self.by[place]], part)

    def predicted(self, place: int, groups: Sequence[Key]) -> list[float]:
        numbers = self.model.predicted([one.name for one in self.by[place]])
        return [float(numbers[cells]) for cells in self._cells(place, groups)]

    def released(self, one: ChosenMarginal) -> ReleasedCounts:
        """The counts by cells."""
        by = self.by[one.place]
        numbers = np.zeros(tuple(attribute.cells for attribute in by))
        for cells, count in zip(self._cells(one.place, one.groups), one.counts, strict=True):
            numbers[cells] = count
        return ReleasedCounts(tuple(attribute.name for attribute in by), numbers, one.deviation)

    def _cells(self, place: int, groups: Sequence[Key]) -> Iterator[tuple[int, ...]]:
        for group in groups:
            yield tuple(one.cell(key) for one, key in zip(self.by[place], group, strict=True))


@dataclass(frozen=True, slots=True)
class AdaptivePlan:
    """What would be bought of a table: counts by the ``attributes`` of ``cliques``, chosen round by round."""

    attributes: tuple[Attribute, ...]
    without: tuple[Unmodelled, ...]
    cliques: tuple[tuple[str, ...], ...]
    rounds: RoundsPlan

    @property
    def loss(self) -> PrivacyLoss:
        return self.rounds.loss


@dataclass(frozen=True, slots=True)
class MarginalsPlan:
    """What would be bought of a table: the ``statements`` count rows by the ``attributes`` of the same place in
    ``cliques``."""

    attributes: tuple[Attribute, ...]
    without: tuple[Unmodelled, ...]
    cliques: tuple[tuple[str, ...], ...]
    statements: tuple[str, ...]
    workload: WorkloadPlan

    @property
    def loss(self) -> PrivacyLoss:
        return self.workload.loss


class Marginals:
    """The counts of one table by its columns."""

    def __init__(self, proxy: Proxy, session: Session, table: str, only: Sequence[str] = ()) -> None:
        catalog = proxy.answering.opened.present().declared.catalog
        found = catalog.find(table)
        if found is None:
            private = ", ".join(name for name, one in catalog.tables.items() if not one.public)
            raise DataError(f"there is no table {table}", sqlstate="42P01", hint=f"one of {private}")
        if found.public:
            raise DataError(f"{found.name} holds no people", sqlstate="22023", hint="export its own rows")
        lacking = [name for name in only if name not in found.columns]
        if lacking:
            hint = f"--columns {','.join(found.columns)}"
            raise DataError(f"{found.name} has no column {lacking[0]}", sqlstate="42703", hint=hint)
        self.table = found
        self._proxy, self._session = proxy, session
        modelled, without = attributes(found, catalog, only, self._listed)
        if len(modelled) > MOST_COLUMNS:
            beyond = [Unmodelled(one.name, f"{MOST_COLUMNS} columns come before it") for one in modelled[MOST_COLUMNS:]]
            modelled, without = modelled[:MOST_COLUMNS], [*without, *beyond]
        if not modelled:
            told = "; ".join(f"{one.name} {one.why}" for one in without)
            hint = f"declare values or a range: {told}"
            raise DataError(f"no column of {found.name} can be made up", sqlstate="22023", hint=hint)
        self._attributes, self._without = tuple(modelled), tuple(without)

    def plan(self, epsilon: Fraction | None) -> MarginalsPlan:
        """What is bought at a price, that of a statement where none is given. Free, and reads no data. Raises
        :class:`dpsql.errors.Error`."""
        known = {one.name: one for one in self._attributes}
        cliques = (*((name,) for name in known), *combinations(known, 2))
        statements = tuple(self._statement([known[name].key for name in names]) for names in cliques)
        plan = self._session.workload(statements, epsilon)
        return MarginalsPlan(self._attributes, self._without, cliques, statements, plan)

    def adaptive(self, epsilon: Fraction | None) -> AdaptivePlan | None:
        """What is bought at a price where counts by one, two and three columns are chosen round by round; None where
        they cannot be. Free, and reads no data. Raises :class:`dpsql.errors.Error`."""
        known = {one.name: one for one in self._attributes}
        wanted = [set(names) for names in combinations(known, min(_WIDEST, len(known)))]
        cliques = [names for width in range(1, _WIDEST + 1) for names in combinations(known, width)]
        sizes = [prod(known[name].cells for name in names) for names in cliques]
        cliques = [names for names, size in zip(cliques, sizes, strict=True) if size <= _MOST_CELLS or len(names) == 1]
        weights = [sum(len(one & set(names)) for one in wanted) for names in cliques]
        statements = [self._statement([known[one].key for one in names]) for names in cliques]
        asked = list(zip(statements, map(len, cliques), weights, strict=True))
        rounds = self._session.rounds(asked, epsilon)
        return None if rounds is None else AdaptivePlan(self._attributes, self._without, tuple(cliques), rounds)

    def choose(
        self, plan: AdaptivePlan, model: AdaptiveModel, receipt: Receipt | None = None
    ) -> tuple[list[ReleasedCounts], PrivacyLoss]:
        """Buy all rounds with one charge: the counts, and what was charged now. Raises :class:`dpsql.errors.Error`;
        nothing was charged unless data was to be read."""
        known = {one.name: one for one in plan.attributes}
        cells = ByCells(model, tuple(tuple(known[name] for name in names) for names in plan.cliques))
        bought, charged = self._session.buy_rounds(plan.rounds, cells, receipt)
        return [cells.released(one) for one in bought.kept or ()], charged

    def buy(self, plan: MarginalsPlan, epsilon: Fraction | None, receipt: Receipt | None = None) -> PrivacyLoss:
        """Buy all of it with one charge: what was charged now. Raises :class:`dpsql.errors.Error`; nothing was
        charged unless data was to be read."""
        return self._session.buy(plan.statements, epsilon, receipt)[1]

    def read(self, plan: MarginalsPlan) -> list[ReleasedCounts]:
        """All tables that were bought, free of charge: those that were measured together as they were measured, the
        others by asking for them again. Raises :class:`dpsql.errors.Error`."""
        known = {one.name: one for one in plan.attributes}
        joined = [one.joined for one in plan.workload.statements]
        found = [*self._together(plan)] if any(joined) else []
        found += [
            self._again(sql, [known[name] for name in names])
            for sql, names, together in zip(plan.statements, plan.cliques, joined, strict=True)
            if not together
        ]
        return found

    def _together(self, plan: MarginalsPlan) -> Iterator[ReleasedCounts]:
        table = self._proxy.marginals(plan.statements, plan.workload)
        domain = json.loads(table.schema.metadata[b"domain"])
        known = {plan.workload.attributes.get(self._family(one), ""): one for one in plan.attributes}
        for row in table.to_pylist():
            by = [known[text] for text in row["attributes"]]
            numbers = np.zeros(tuple(one.cells for one in by))
            cells = [[one.cell(key) for key in domain[text]] for one, text in zip(by, row["attributes"], strict=True)]
            numbers[np.ix_(*cells)] = np.reshape(row["numbers"], row["shape"])
            yield ReleasedCounts(tuple(one.name for one in by), numbers, row["stddev"])

    def _family(self, one: Attribute) -> str:
        """The name of the attribute's key in releases."""
        return self._by(one.key).keys[0].attribute

    def _by(self, key: str) -> Plan:
        """The plan of the counts by one key."""
        [question] = self._proxy.questions([self._statement([key])])
        return question.program.options[0].first

    def _listed(self, key: str) -> tuple[Scalar | None, ...] | None:
        plan = self._by(key)
        return tuple(value for [value] in self._proxy.answering.reuse.groups(plan)) if plan.exhaustive else None

    def _again(self, sql: str, by: Sequence[Attribute]) -> ReleasedCounts:
        self._session.change("dpsql.empty_groups", "show")
        self._session.change("dpsql.consistent", "off")
        if self._session.explain(sql).price:
            raise DataError(f"{sql} is not bought", sqlstate="55000", hint="the data has moved on: run it again")
        answer = self._session.execute(sql)
        numbers = np.zeros(tuple(one.cells for one in by))
        for row in answer.rows:
            numbers[tuple(one.cell(key) for one, key in zip(by, row, strict=False))] = float(str(row[-1] or 0))
        margins = [row[-1] or 0.0 for row in answer.margins]
        return ReleasedCounts(tuple(one.name for one in by), numbers, max(margins) / _NORMAL)

    def _statement(self, keys: Sequence[str]) -> str:
        table = self.table
        name = quoted(table.own_name) if table.schema is None else f"{quoted(table.schema)}.{quoted(table.own_name)}"
        shown = ", ".join(f"{key} AS k{place}" for place, key in enumerate(keys, start=1))
        grouped = ", ".join(str(place) for place in range(1, len(keys) + 1))
        return f"SELECT {shown}, COUNT(*) AS n FROM {name} GROUP BY {grouped}"
