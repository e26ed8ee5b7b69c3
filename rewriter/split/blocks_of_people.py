"""Sample and aggregate: an expression is answered in blocks of people, and the blocks' answers are aggregated.

``dpsql.over_blocks(e, blocks => B)`` (Nissim, Raskhodnikova, Smith 2007; Smith 2011; GUPT, Mohan and others 2012). A
person's block is the keyed hash of the person's own key, under a secret that is drawn afresh each time people are read.
Each block answers e over the rows of its people, exactly; answers are clipped into a public range [L, U], and their
mean or median is released.

Guarantee: whatever e is, one person who comes or goes changes one block's answers. The other blocks keep theirs, since
nobody's block depends on anybody else. In each group a block has one clipped answer, or none:

- The mean is (L+U)/2 + Σ(a - (L+U)/2)/B, over the blocks that have an answer a. One without any adds 0, as if it had
  answered the middle. So Σ moves by at most U - L in a group: twice the half-width that one answer adds at most.
- For the median each block has weight 1, and one answer becomes another, comes, or goes: weights move by at most 2.

So a release over blocks is planned as one in which a block owns one row of each group, and all that it moves by is
doubled (``Query.blocks``). Where keys are constant per person, one group changes; else every group of the public key
set may, since nothing clips a person's rows: no ``max_rows`` is asked for, and none is relied on. Under substitution of
one person's rows, who keeps the key, it is the same one block; where the key changes too, two blocks change, as for two
persons. dpsql promises add/remove.

For any fixed secret that holds by arithmetic. It need not be secret for that, but where the rows have no key of their
own (a row is its own unit), their places in the table do not stay the same without one of them: then the blocks are as
good as drawn anew for each row, as long as the secret is one. What an analyst gains by a fresh secret is that answers
do not depend on one partition for ever.

How an answer grows with the block that gives it: what hangs on a block's size does not stand for the whole.

A count or a sum of n rows grows as n, a mean as n⁰, the quotient of two sums as n⁰ too, a standard error as n^-½. This
power is found from the expression alone; an answer over blocks needs 0. MIN, MAX and numbers of different values have
no power: the range of a hundred rows is narrower than that of ten thousand, however many blocks are averaged. So an
expression with one of them is refused, whatever it is divided by.

What a power says is true of large blocks: COUNT(*) - 1 grows as n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates import Grouped, take_apart
from rewriter.columns import Source
from rewriter.declared import ONE, Catalog, ContributionBound, Interval
from rewriter.dialects import Dialect, named_table
from rewriter.expressions import Value
from rewriter.per_person import of_units
from rewriter.plan import BLOCK_KEY
from rewriter.refused import TYPE_MISMATCH, Refused
from rewriter.relations import Relation, SelectRows, of_people
from rewriter.release import Aggregate, OverBlocks, Query, aggregate_name, key_name, release_name
from rewriter.split.figures_of_blocks import Figures, decimal_number, layers
from rewriter.split.merged_releases import release_of
from rewriter.statement import is_aggregate

_BLOCKS = "blocks"
_RANGE_HINT = "write low => and high => in dpsql.over_blocks: the range that its answers are clipped into"


@dataclass(frozen=True, slots=True)
class BlockRelease:
    """A release over blocks. ``shown`` makes of its aggregates' columns, by place, what was asked for."""

    query: Query
    shown: tuple[Callable[[exp.Expr], exp.Expr], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Making:
    """What the splitter lends: names for tables, rows by a select list, and a block of rows over one source."""

    alias: Callable[[], str]
    project: Callable[[exp.Select, Source], Relation]
    block: Callable[[exp.Select, Source], SelectRows]
    catalog: Catalog
    dialect: Dialect


def apart_from_blocks(
    grouped: Grouped, block: SelectRows, making: Making, number: int
) -> tuple[Grouped, tuple[BlockRelease, ...]]:
    """What is asked of people, and beside it the releases of what is asked over blocks, one for each number of blocks.

    ``number`` is that of the release of people, or of the first over blocks where nothing is asked of people. The outer
    SELECT reads the tables of all, joined by their groups, which are public and so the same.
    """
    if all(one.over_blocks is None for one in grouped.aggregates):
        return grouped, ()
    places: dict[int, list[int]] = {}
    for place, one in enumerate(grouped.aggregates):
        places.setdefault(0 if one.over_blocks is None else one.over_blocks.blocks, []).append(place)
    people = places.pop(0, [])
    outer: exp.Select = grouped.outer.copy()
    first = release_name(number)
    names = [release_name(number + bool(people) + at) for at in range(len(places))]
    made = [
        release_over_blocks([grouped.aggregates[place] for place in own], grouped, block, making)
        for own in places.values()
    ]
    new: dict[str, exp.Expr] = {
        aggregate_name(place): exp.column(aggregate_name(at), first) for at, place in enumerate(people)
    }
    for name, own, release in zip(names, places.values(), made, strict=True):
        for at, place in enumerate(own):
            new[aggregate_name(place)] = release.shown[at](exp.column(aggregate_name(at), name))
    for column in list(outer.find_all(exp.Column)):
        if column.table == first and column.name in new:
            column.replace(new[column.name].copy())
    for name in names if people else names[1:]:
        outer.append("joins", _by_groups(first, name, len(grouped.keys)))
    asked = tuple(grouped.aggregates[place] for place in people)
    calls = tuple(grouped.calls[place] for place in people)
    return replace(grouped, aggregates=asked, calls=calls, outer=outer), tuple(made)


def _by_groups(first: str, name: str, keys: int) -> exp.Join:
    same = [
        exp.NullSafeEQ(this=exp.column(key_name(place), first), expression=exp.column(key_name(place), name))
        for place in range(keys)
    ]
    table = named_table(name)
    return exp.Join(this=table, on=exp.and_(*same, copy=False)) if same else exp.Join(this=table, kind="CROSS")


def release_over_blocks(
    asked: Sequence[Aggregate], grouped: Grouped, block: SelectRows, making: Making
) -> BlockRelease:
    """The release of what is asked over equally many blocks. Raises :class:`Refused` where no range is known."""
    settings = [one.over_blocks for one in asked if one.over_blocks is not None]
    if grouped.sets:
        raise Refused("grouping sets are not answered over blocks", hint="use one GROUP BY")
    if block.unit is None:
        raise AssertionError("a private block has an owner")
    of_people(block.bound, "an answer over blocks of people")
    answers, derived = _answers(settings, grouped, block, making)
    ranges = [
        _range(*one)
        for one in zip(settings, asked, derived, (v for _, v in answers.columns[-len(asked) :]), strict=True)
    ]
    source = _bounded(answers.source(_BLOCKS, making.alias()), ranges)
    names = [key_name(place) for place in range(len(grouped.keys))]
    items = [_column(name) for name in names]
    measured = [
        _measured(_column(f"v{place}"), one, within)
        for place, (one, within) in enumerate(zip(settings, ranges, strict=True))
    ]
    select = exp.Select(expressions=[*items, *(exp.alias_(one, f"a{place}") for place, one in enumerate(measured))])
    select = select.from_(named_table(_BLOCKS), copy=False)
    if names:
        select.set("group", exp.Group(expressions=[_column(name) for name in names]))
    rows = making.block(select, source)
    apart = take_apart(select, rows.scope, making.dialect, _BLOCKS, [*names, *(f"a{n}" for n in range(len(asked)))])
    keys = tuple(replace(own, text=key.text) for own, key in zip(apart.keys, grouped.keys, strict=True))
    told = tuple(replace(own, wording=one.wording) for own, one in zip(apart.aggregates, asked, strict=True))
    query = release_of(replace(apart, keys=keys, aggregates=told), rows)
    alone = all(key.value.constant for key in grouped.keys)
    query = replace(query, blocks=settings[0].blocks, changed=1 if alone else None)
    shown = tuple(_shown(one, within) for one, within in zip(settings, ranges, strict=True))
    return BlockRelease(query, shown, _notes(asked, settings, ranges))


def _answers(
    settings: Sequence[OverBlocks], grouped: Grouped, block: SelectRows, making: Making
) -> tuple[Relation, list[Interval | None]]:
    """The answers of the blocks as rows that each are a block's, with where they lie, if that is known."""
    figures = Figures(block.scope, making.dialect)
    spelt = [figures.spelt(one.node) for one in settings]
    for one in settings:
        check_power(one.node)
    first, *rest = layers([node for node, _ in spelt])
    names = [name for name, _ in first]
    select = exp.Select(expressions=[exp.alias_(node, name, quoted=True) for name, node in first])
    inner = take_apart(select, block.scope, making.dialect, _BLOCKS, names)
    keys = [key_name(place) for place in range(len(grouped.keys))]
    own = [exp.alias_(exp.column(key, _BLOCKS), exp.to_identifier(key, quoted=True)) for key in keys]
    inner.outer.set("expressions", [*own, *inner.outer.expressions])
    bucket = making.dialect.bucket(block.unit.copy(), BLOCK_KEY, settings[0].blocks) if block.unit is not None else None
    # A block has any number of rows.
    people = replace(block, unit=bucket, bound=ContributionBound(), everybody=None)
    fine = tuple(replace(one, fine=True) for one in inner.aggregates)
    source = of_units(
        replace(inner, keys=grouped.keys, aggregates=fine), people, making.alias(), making.catalog, making.dialect
    )
    fields = {name: _unowned(value) for name, value in source.fields.items()}
    answers = making.project(inner.outer, replace(source, bound=ONE, fields=fields, unique_keys=()))
    known = [*keys, *names]
    for layer in rest:
        more = [exp.alias_(node, name, quoted=True) for name, node in layer]
        select = exp.Select(expressions=[*map(_column, known), *more]).from_(named_table(_BLOCKS), copy=False)
        answers = making.project(select, replace(_fenced(answers), bound=ONE).source(_BLOCKS, making.alias()))
        known += [name for name, _ in layer]
    return replace(answers, bound=ONE), [interval for _, interval in spelt]


def _fenced(rows: Relation) -> Relation:
    """Rows with an OFFSET are not pulled up: what is named is computed once, on every engine."""
    fenced = rows.rows.copy()
    fenced.set("offset", exp.Offset(expression=exp.Literal.number("0")))
    return replace(rows, rows=fenced)


def _unowned(value: Value) -> Value:
    """A block has rows in many groups, and no key of a person is the key of a block."""
    return replace(value.unowned(), constant=False)


def _range(asked: OverBlocks, told: Aggregate, derived: Interval | None, answer: Value) -> Interval:
    """The range of the answers: as it was written, or as it follows."""
    if not answer.type.numeric:
        raise Refused(f"{told.text} needs a number, not {answer.type.one}", hint="cast it", sqlstate=TYPE_MISMATCH)
    known = derived or answer.interval
    low = asked.low if asked.low is not None else known.low if known is not None else None
    high = asked.high if asked.high is not None else known.high if known is not None else None
    if low is None or high is None:
        raise Refused(f"no range of {told.text} follows from the policy", hint=_RANGE_HINT)
    if low >= high:
        raise Refused(f"the range of {told.text} is empty", hint=_RANGE_HINT, sqlstate="22023")
    # Numbers that doubles hold: what is clipped and what is added back are the same.
    return Interval(Fraction(float(low)), Fraction(float(high)))


def _bounded(source: Source, ranges: Sequence[Interval]) -> Source:
    """The source with its answers in their ranges, into which whatever is measured of them is clipped."""
    fields = dict(source.fields)
    for place, interval in enumerate(ranges):
        fields[f"v{place}"] = replace(fields[f"v{place}"], interval=interval)
    return replace(source, fields=fields, bound=ONE)


def _column(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))


def _middle(interval: Interval) -> Fraction:
    return Fraction(float((interval.low + interval.high) / 2))


def _measured(answer: exp.Expr, asked: OverBlocks, interval: Interval) -> exp.Expr:
    number = exp.Cast(this=answer, to=exp.DataType(this=exp.DType.DOUBLE))
    if asked.median:
        order = exp.Order(expressions=[exp.Ordered(this=number, nulls_first=False)])
        half = exp.PercentileCont(this=exp.Literal.number("0.5"))
        return exp.WithinGroup(this=half, expression=order)
    middle = _middle(interval)
    return exp.Sum(this=number if middle == 0 else exp.Sub(this=number, expression=decimal_number(middle)))


def _shown(asked: OverBlocks, interval: Interval) -> Callable[[exp.Expr], exp.Expr]:
    def shown(column: exp.Expr) -> exp.Expr:
        if asked.median:
            return column
        mean: exp.Expr = exp.Div(this=column, expression=exp.Literal.number(str(asked.blocks)))
        middle = _middle(interval)
        return exp.Paren(this=mean if middle == 0 else exp.Add(this=mean, expression=decimal_number(middle)))

    return shown


def _notes(asked: Sequence[Aggregate], settings: Sequence[OverBlocks], ranges: Sequence[Interval]) -> tuple[str, ...]:
    found = []
    for one, own, within in zip(asked, settings, ranges, strict=True):
        ends = f"[{float(within.low):g}, {float(within.high):g}]"
        way = "median" if own.median else "mean"
        empty = "left out" if own.median else f"taken for {float(_middle(within)):g}"
        found.append(
            f"{one.text} is the {way} of {own.blocks} blocks of people, whose answers are clipped into {ends};"
            f" blocks without an answer are {empty}"
        )
    found.append(
        "a block's answer stands for the whole: error bars cover the noise, not how answers of small blocks differ from"
        " that of all people"
    )
    return tuple(found)


_SUMS = (exp.Count, exp.Sum, exp.CountIf, exp.RegrCount, exp.RegrSxx, exp.RegrSxy, exp.RegrSyy)
_ENDS = (exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd)
_KEPT = (exp.Paren, exp.Cast, exp.TryCast, exp.Neg, exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Nullif, exp.Filter)
"""The first operand decides how these grow."""
_LARGEST = (exp.Add, exp.Sub, exp.Greatest, exp.Least, exp.Coalesce)


def check_power(node: exp.Expr) -> None:
    """Refuse an expression whose answers hang on how many rows a block has. Raises :class:`Refused`.

    >>> from sqlglot import parse_one
    >>> check_power(parse_one("SUM(a) / NULLIF(COUNT(*) - 1, 0) + AVG(b)"))
    >>> check_power(parse_one("STDDEV(a) / SQRT(COUNT(*))"))
    Traceback (most recent call last):
    rewriter.refused.Refused: a block's answer stands for the whole, and this one hangs on how many rows a block has
    """
    power = _power(node)
    while isinstance(node, exp.Paren | exp.Filter | exp.Cast):
        node = node.this
    if isinstance(node, _SUMS):
        raise Refused(
            "a block's answer stands for the whole, and a count or a sum of a block does not",
            hint="ask for the COUNT or SUM itself, without blocks; a quotient of sums is answered over blocks",
        )
    if power:
        raise Refused(
            "a block's answer stands for the whole, and this one hangs on how many rows a block has",
            hint="divide sums by sums or by counts: then it is the same of ten rows and of a thousand, or ask for its"
            " aggregates without blocks",
        )


def _power(node: exp.Expr) -> Fraction:
    """The power of the number of rows by which an expression grows."""
    if isinstance(node, exp.Window | exp.Query):
        return Fraction(0)
    if isinstance(node, exp.WithinGroup) or is_aggregate(node):
        return _of_aggregate(node)
    if isinstance(node, exp.Mul):
        return _power(node.this) + _power(node.expression)
    if isinstance(node, exp.Div | exp.IntDiv):
        return _power(node.this) - _power(node.expression)
    if isinstance(node, exp.Sqrt):
        return _power(node.this) / 2
    if isinstance(node, _KEPT):
        return _power(node.this)
    powers = [_power(one) for one in node.iter_expressions() if not isinstance(node, exp.Case)]
    if isinstance(node, exp.Case):
        for one in node.args["ifs"]:
            _power(one.this)  # conditions choose rows, and their ends are refused
        values = [*(one.args["true"] for one in node.args["ifs"]), node.args.get("default")]
        powers = [_power(one) for one in values if one is not None]
    if isinstance(node, (*_LARGEST, exp.Case)):
        return max(powers, default=Fraction(0))
    # Of what grows, no other function is known to grow as any power; what does not grow may be put into any.
    return next((one for one in powers if one), Fraction(0))


def _of_aggregate(node: exp.Expr) -> Fraction:
    called = node
    while isinstance(called, exp.Filter | exp.WithinGroup):
        called = called.this
    if isinstance(called, _ENDS) or _is_end(called) or isinstance(called.this, exp.Distinct):
        raise Refused(
            "a block's answer stands for the whole: the least, the greatest and the different values of a block are"
            " fewer than those of all",
            hint="PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY x) minus that of 0.05 is a range that is answered over"
            " blocks; or ask for MIN, MAX or COUNT(DISTINCT x) itself, without blocks",
        )
    return Fraction(1) if isinstance(called, _SUMS) else Fraction(0)


def _is_end(called: exp.Expr) -> bool:
    """Whether a percentile is the least or the greatest value, or an aggregate is a number of different values."""
    if isinstance(called, exp.ApproxDistinct):
        return True
    share = called.this if isinstance(called, exp.PercentileCont | exp.PercentileDisc) else None
    while isinstance(share, exp.Paren | exp.Cast):
        share = share.this
    return isinstance(share, exp.Literal) and not share.is_string and float(share.this) in (0, 1)
