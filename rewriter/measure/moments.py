"""Variances, covariances and regressions: the sums that are measured for them.

Guarantee: one row adds non-negative integers to the cells of a vector that sum to exactly one unit, whatever the row
holds, so a row's L1 norm is one unit; the L2 norm is bounded by the same integers.

With t = (x - L) / (U - L) the cells are the sums of (1-t)², 2t(1-t) and t² (Bernstein polynomials), of two variables
the sums of products of those of each. A variable has degree 2 only where a square of it is asked for. Against x, x²
and a count at a third of the price each, a variance is 3 to 10 times more accurate, a correlation of six numbers 5 to
15 times (worked out for Laplace noise; products of all degrees were better than smaller sums of them in all cases).

Why weights under L2: a row in the middle of the range adds (¼, ½, ¼), whose L2 norm is small. Counted ``MIDDLE`` times
as finely as the others, 2t(1-t) does not make the norm larger than 1 anywhere: with p = t(1-t) the square of the norm
is 1 - 4p + (4c² + 2)p², convex in p, 1 at p = 0, and at p = ¼ it is at most 1 for c² ≤ 7/2.

Quantisation: x is counted in K steps of its range, i of them; t² = i²/K² is rounded to q of S = K·m steps, and the
cells are S - 2mi + q, 2(mi - q) and q, none of them negative, since 0 ≤ i ≤ K and rounding keeps order. All that is
done to integers; that they come from doubles as from decimals, and alike on all engines, is what
:func:`rewriter.expressions.value_lattice.clipped_steps` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.columns import narrowed
from rewriter.declared import Interval, Kind, Norm
from rewriter.dialects import number
from rewriter.expressions import Value, clip_of, clipped_steps, held, lattice, present
from rewriter.measure.summand import clipping_note, note_once
from rewriter.measure.vectors import Addend, Builder, Cell, Vector
from rewriter.plan import Axis, Figure, Linear, Moment
from rewriter.relations import learned_ranges
from rewriter.release import Aggregate
from rewriter.statement import unparenthesised
from rewriter.strategies import weight

MIDDLE = Fraction(13, 7)
"""By how much finer 2t(1-t) is counted under L2: its square, 3.45, is below 7/2."""

_MOST_BITS = 40
_ROW_BITS = 40
_EXACT_BITS = 30
"""Bits of the unit of one row, of all that one person may add, and of the steps of an exact variable. Noise is at most
2⁵⁰ wide, so that a person may be hidden for a thousandth of ε."""


Rows = frozenset[str]
"""Which rows an aggregate is of: the conditions that all hold."""


def every(conditions: Iterable[Value | None]) -> Value | None:
    """The conjunction of conditions; None is TRUE."""
    found: Value | None = None
    for one in conditions:
        if one is None:
            continue
        if found is None:
            found = one
            continue
        sql = exp.and_(found.sql.copy(), one.sql.copy(), copy=False)
        found = Value.condition(sql, nullable=found.nullable or one.nullable, constant=found.constant and one.constant)
    return found


@dataclass(slots=True)
class _Wanted:
    """Moments of x and y over the same rows, and the highest degrees of them."""

    arguments: tuple[Value, ...]
    names: tuple[str, ...]
    condition: Value | None
    degrees: list[int]

    @property
    def test(self) -> Value | None:
        """The rows that have all arguments."""
        return every([self.condition, *map(present, reversed(self.arguments))])


@dataclass(frozen=True, slots=True)
class MomentVector:
    """A vector of Bernstein sums: its axes by the text of their expressions, and its cells.

    ``missing`` is the cell of the rows that lack an argument, where they have one.
    """

    axes: tuple[tuple[str, Axis], ...]
    cells: tuple[tuple[str, Fraction], ...]
    missing: tuple[tuple[str, Fraction], ...] = ()

    def moment(self, figure: Figure, x: str, y: str | None) -> Moment:
        """A figure of what has these texts."""
        first, second = self._axis(x), self._other(x) if y is None else self._axis(y, after=x == y)
        one, other = self.axes[first][1], self.axes[second][1]
        cells = self.cells
        if first > second:
            width = one.degree + 1
            cells = tuple(cells[place] for at in range(width) for place in range(at, len(cells), width))
        return Moment(figure, one, other, cells)

    def _axis(self, text: str, *, after: bool = False) -> int:
        places = [place for place, (name, _) in enumerate(self.axes) if name == text]
        return places[-1] if after else places[0]

    def _other(self, text: str) -> int:
        return 1 - self._axis(text)

    @property
    def rows(self) -> Linear:
        """The number of rows."""
        return Linear(self.cells, integer=True, minimum=0)

    @property
    def every_row(self) -> Linear:
        """The number of rows, with those that lack an argument."""
        return Linear((*self.cells, *self.missing), integer=True, minimum=0)

    def total(self, text: str) -> Linear:
        """Σx = low · rows + (high - low) · Σt."""
        moment = self.moment(Figure.MEAN, text, None)
        width = moment.y.degree + 1
        shares = [Fraction(place // width, moment.x.degree) for place in range(len(moment.cells))]
        span = moment.x.high - moment.x.low
        terms = ((name, one * (moment.x.low + span * t)) for (name, one), t in zip(moment.cells, shares, strict=True))
        return Linear(tuple((name, weight) for name, weight in terms if weight))


class Moments:
    """The vectors of a SELECT's moments, found again by rows and expressions."""

    def __init__(self, asked: Sequence[Aggregate], builder: Builder, norm: Norm) -> None:
        self._builder = builder
        self._found: dict[tuple[Rows, frozenset[str]], MomentVector] = {}
        self._whole: dict[Rows, MomentVector] = {}
        wanted = self._wanted([one for one in asked if one.kind.figure is not None])
        counted = {self.rows(one) for one in asked if counts_rows(one)}
        counted -= {rows for rows, _ in wanted}
        for key, one in wanted.items():
            rows = self._all(one.condition)
            missing = rows in counted and rows not in self._whole and _is_worth(one, norm)
            self._found[key] = _measure(one, builder, norm, missing=missing)
            if missing:
                self._whole[rows] = self._found[key]

    def estimator(self, aggregate: Aggregate) -> Moment:
        """How a moment is computed."""
        x, y = self._texts(aggregate)
        return self._of(aggregate).moment(_figure(aggregate), x, y)

    def whole(self, aggregate: Aggregate) -> Linear | None:
        """The number of all rows, where those without an argument have a cell beside the others."""
        found = self._whole.get(self.rows(aggregate)) if counts_rows(aggregate) else None
        return None if found is None else found.every_row

    def beside(self, aggregate: Aggregate) -> MomentVector | None:
        """The vector that a count, sum or mean comes with: of the same rows, and of its argument too.

        None for what counts no rows but people or values, or is decided by its count.
        """
        if aggregate.distinct or aggregate.decides:
            return None
        rows = self.rows(aggregate)
        if aggregate.kind.counts:
            able = [one for (of, _), one in self._found.items() if of == rows]
            return min(able, key=lambda one: len(one.cells), default=None)
        return None if aggregate.argument is None else self._with(rows, self._builder.spelt(aggregate.argument.sql))

    def _of(self, aggregate: Aggregate) -> MomentVector:
        rows, (x, y) = self.rows(aggregate), self._texts(aggregate)
        found = self._with(rows, x) if y is None else self._found[rows, frozenset({x, y})]
        if found is None:
            raise AssertionError("every moment was measured")
        return found

    def _with(self, rows: Rows, text: str) -> MomentVector | None:
        able = [one for (of, texts), one in self._found.items() if of == rows and text in texts]
        return min(able, key=lambda one: len(one.cells), default=None)

    def _texts(self, aggregate: Aggregate) -> tuple[str, str | None]:
        """x, and y where there is one."""
        x, y = _axes(aggregate)
        return self._builder.spelt(x.sql), None if y is None else self._builder.spelt(y.sql)

    def rows(self, aggregate: Aggregate) -> Rows:
        """The rows that an aggregate is of."""
        return self._all(every([aggregate.condition, present(aggregate.argument), present(aggregate.second)]))

    def _all(self, test: Value | None) -> Rows:
        return frozenset() if test is None else frozenset(self._builder.spelt(one) for one in _conjuncts(test.sql))

    def _wanted(self, aggregates: Sequence[Aggregate]) -> dict[tuple[Rows, frozenset[str]], _Wanted]:
        """The moments that must be measured: pairs first, so that a variable of a pair is not measured again."""
        wanted: dict[tuple[Rows, frozenset[str]], _Wanted] = {}
        for aggregate in sorted(aggregates, key=lambda one: one.second is None):
            x, y = _axes(aggregate)
            text, other = self._texts(aggregate)
            rows, degrees = self.rows(aggregate), _figure(aggregate).degrees
            key = (rows, frozenset({text} if other is None else {text, other}))
            if y is None:
                key = next((known for known in wanted if known[0] == rows and text in known[1]), key)
            if key not in wanted:
                names = tuple(reversed(aggregate.wording.arguments))
                wanted[key] = _Wanted((x,) if y is None else (x, y), names, aggregate.condition, [0] * len(names))
            texts = [self._builder.spelt(one.sql) for one in wanted[key].arguments]
            places = [texts.index(text)]
            if other is not None:
                places.append(len(texts) - 1 - texts[::-1].index(other) if other == text else texts.index(other))
            for place, degree in zip(places, degrees, strict=False):
                wanted[key].degrees[place] = max(wanted[key].degrees[place], degree)
        return wanted


def counts_rows(aggregate: Aggregate) -> bool:
    """Whether it is a count of rows, and decides nothing."""
    return aggregate.kind.counts and not aggregate.distinct and not aggregate.decides


def _figure(aggregate: Aggregate) -> Figure:
    if aggregate.kind.figure is None:
        raise AssertionError(f"{aggregate.kind.word} is made of no moments")
    return aggregate.kind.figure


def _axes(aggregate: Aggregate) -> tuple[Value, Value | None]:
    """x and y of an aggregate: the second argument is x, the first one y."""
    if aggregate.argument is None:
        raise AssertionError("a moment has an argument")
    return (aggregate.argument, None) if aggregate.second is None else (aggregate.second, aggregate.argument)


def _conjuncts(sql: exp.Expr) -> list[exp.Expr]:
    sql = unparenthesised(sql)
    return [*_conjuncts(sql.this), *_conjuncts(sql.expression)] if isinstance(sql, exp.And) else [sql]


# One variable

_Terms = dict[tuple[str, ...], int]
"""A weighted sum of products of row columns; () is 1."""


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable in steps: ``i`` is the row column with 0 to ``most`` of them, ``square`` that of its square.

    ``fine`` is m: the unit of a row is ``most · fine`` steps.
    """

    axis: Axis
    i: str
    most: int
    square: str
    fine: int
    weights: tuple[int, ...]

    @property
    def unit(self) -> int:
        return self.most * self.fine

    @property
    def cells(self) -> list[_Terms]:
        if self.axis.degree == 1:
            return [{(): self.most, (self.i,): -1}, {(self.i,): 1}]
        twice = 2 * self.fine
        return [
            {(): self.unit, (self.i,): -twice, (self.square,): 1},
            {(self.i,): twice, (self.square,): -2},
            {(self.square,): 1},
        ]

    @property
    def row_l2_squared(self) -> int:
        """The square of the most that one row adds in L2, in steps: rounding moves q by a half at most."""
        largest = self.weights[0] * self.unit
        if len(set(self.weights)) > 1 and self.fine < self.most:
            largest += sum(self.weights)
        return largest * largest


def _measure(wanted: _Wanted, builder: Builder, norm: Norm, *, missing: bool) -> MomentVector:
    pairs = zip(wanted.arguments, wanted.degrees, strict=True)
    # Under L2, weights make the norm of each variable larger by 3 bits.
    count = len(wanted.arguments)
    spare = _ROW_BITS - builder.rows.bit_length() - (3 * count if norm is Norm.L2 else 0)
    bits = max(8, min(_MOST_BITS, spare) // count)
    variables = [_variable(value, max(degree, 1), wanted.test, builder, norm, bits) for value, degree in pairs]
    test = builder.condition(wanted.test)
    unit = 1
    products: list[tuple[_Terms, int, str]] = [({(): 1}, 1, "")]
    for variable, name in zip(variables, wanted.names, strict=True):
        unit *= variable.unit
        polynomials = _POLYNOMIALS[variable.axis.degree]
        products = [
            (_product(one, other), times * more, f"{said}{' · ' if said else ''}{what} of {name}")
            for one, times, said in products
            for other, more, what in zip(variable.cells, variable.weights, polynomials, strict=True)
        ]
    cells = []
    for terms, times, said in products:
        addends = tuple(addend_of(builder, names, factor * times, test) for names, factor in terms.items())
        cells.append(Cell(builder.cell(), f"Σ {said}", Fraction(1, unit * times), addends))
    l1, l2_squared = 1, 1
    for variable in variables:
        l1 *= max(variable.weights) * variable.unit
        l2_squared *= variable.row_l2_squared
    apart = [_missing(wanted, unit, products[0][1], test, builder)] if missing else []
    outputs = 1 + (_of_count(wanted, norm) if missing else 0)
    rows = Addend(1, test=builder.condition(wanted.condition) if missing else test)
    builder.vectors.append(Vector((*cells, *apart), l1, l2_squared, weight=weight(outputs, norm), rows=rows))
    for name, value, variable in zip(wanted.names, wanted.arguments, variables, strict=True):
        note_once(clipping_note(name, value, Interval(variable.axis.low, variable.axis.high)), builder)
    axes = [(builder.spelt(value.sql), one.axis) for value, one in zip(wanted.arguments, variables, strict=True)]
    if len(axes) == 1:
        axes.append(("", Axis(Fraction(0), Fraction(1), 0)))
    counted = tuple((cell.name, cell.granularity) for cell in apart)
    found = MomentVector(tuple(axes), tuple((cell.name, cell.granularity) for cell in cells), counted)
    # Where tables are made to agree, this part says how much more accurate that makes them.
    builder.part(found.rows, Fraction(1))
    return found


def _of_count(wanted: _Wanted, norm: Norm) -> float:
    """The variance of the number of all rows as the sum of all cells, over the one that it has when it is measured
    alone: what is counted more finely adds less."""
    cells = 1.0
    for degree in wanted.degrees:
        cells *= 2.0 if degree < 2 else 2.0 + (float(MIDDLE) ** -2 if norm is Norm.L2 else 1.0)
    return cells + 1


def _is_worth(wanted: _Wanted, norm: Norm) -> bool:
    """Whether a count is read off the vector of a moment rather than measured at half of the price: then both have 2
    times the variance, under ε 4 times."""
    return 1 + _of_count(wanted, norm) <= 2 ** (3 if norm is Norm.L1 else 2)


def _missing(wanted: _Wanted, unit: int, times: int, test: str | None, builder: Builder) -> Cell:
    """The rows that lack an argument: each adds as much as a row at the end of its ranges does."""
    every_row = Addend(unit * times, test=builder.condition(wanted.condition))
    what = f"rows without {' or '.join(wanted.names)}"
    return Cell(builder.cell(), what, Fraction(1, unit * times), (every_row, Addend(-unit * times, test=test)))


def _variable(value: Value, degree: int, test: Value | None, builder: Builder, norm: Norm, bits: int) -> _Variable:
    declared = narrowed(value, [*builder.filters, *([] if test is None else [test])])
    if declared is None:
        raise AssertionError("a variable without a range was refused")
    interval, granularity = steps_lattice(value, declared, min(bits, _EXACT_BITS))
    low, most = int(interval.low / granularity), int(interval.width / granularity)
    clip = clip_of(declared, interval, granularity)
    column = builder.column("v", clipped_steps(value, clip, granularity, builder.dialect))
    steps: exp.Expr = exp.column(column)
    if low:
        steps = exp.Paren(this=exp.Sub(this=steps, expression=number(low)))
    i = builder.derive(f"x - {low}", steps, (column,))
    if degree == 1:
        return _Variable(Axis(interval.low, interval.high, 1), i, most, "", 1, (1, 1))
    fine = max(1, min(most, (1 << bits) // most, (1 << 61) // most**2))
    square: exp.Expr = exp.Mul(this=steps.copy(), expression=steps.copy())
    if fine < most:
        doubled = exp.Mul(this=square, expression=number(2 * fine))
        rounded = exp.Paren(this=exp.Add(this=doubled, expression=number(most)))
        square = builder.dialect.integer_divide(rounded, number(2 * most))
    q = builder.derive(f"(x - {low})² · {fine}/{most}", exp.Paren(this=square), (column,))
    weights = (MIDDLE.denominator, MIDDLE.numerator, MIDDLE.denominator) if norm is Norm.L2 else (1, 1, 1)
    return _Variable(Axis(interval.low, interval.high, 2), i, most, q, fine, weights)


def steps_lattice(value: Value, declared: Interval, bits: int) -> tuple[Interval, Fraction]:
    """The range on a lattice of at most 2^``bits`` steps; exact for integers and decimals where they have no more."""
    learned = learned_ranges(value.sql)
    granularity = lattice(value.type, declared, declared.width, learned=learned)
    while True:
        interval = declared.outward(granularity)
        if learned:
            interval = held(interval, value.type, granularity)
        if interval.width == 0:
            interval = Interval(interval.low, interval.high + granularity)
        if interval.width / granularity <= 1 << bits:
            return interval, granularity
        granularity *= 10 if value.type.kind is Kind.DECIMAL else 2


def _product(one: _Terms, other: _Terms) -> _Terms:
    found: _Terms = {}
    for a, n in one.items():
        for b, m in other.items():
            # Of x with itself, two products can be the same column.
            found[*a, *b] = found.get((*a, *b), 0) + n * m
    return found


def addend_of(builder: Builder, names: tuple[str, ...], weight: int, test: str | None) -> Addend:
    if not names:
        return Addend(weight, test=test)
    if len(names) == 1:
        return Addend(weight, summed=names[0], test=test)
    factors = [builder.derived_column(name) for name in names]
    sql = exp.Mul(this=factors[0].sql.copy(), expression=factors[1].sql.copy())
    product = builder.derive(" × ".join(one.how for one in factors), sql, (*factors[0].of, *factors[1].of))
    return Addend(weight, summed=product, test=test)


_POLYNOMIALS = {1: ("1-t", "t"), 2: ("(1-t)²", "2t(1-t)", "t²")}
