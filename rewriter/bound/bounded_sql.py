"""The bounded query: SQL whose every column moves by a known amount when one unit comes or goes.

1. Per (unit, group): partial sums of lattice steps, as integers.
2. Per unit: the vectors of its partial sums over all groups are scaled by one factor into their balls of the L1 or L2
   norm, and truncated toward zero. Nobody's rows are sampled away.
3. Per group: the sum over units.

Where the database guarantees one row per unit, 1 and 2 are nothing to do and one aggregation is left. Where a unit has
one group and one cell is all that is measured, 2 is a plain clip: that is parallel composition, not another code path.

Where one table is read and few units can have more rows than the bound, those units are found first, and everybody
else's rows are added up group by group without step 1 and 2: they are inside of every ball, so the integers are the
same.

Why one factor, and why scaling is sound in floating point and in whole numbers: :mod:`rewriter.bound.ball`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.bound.ball import ALL_ROWS, SHRINK, Ball, Factor, balls_of, case, counters, factors, measured
from rewriter.bound.common_factor import limits
from rewriter.bound.credited_values import Credited, credited
from rewriter.bound.semi_joins import without_repetition
from rewriter.declared import BIGINT, DOUBLE, HUGEINT, ContributionBound, Kind, Norm, Sensitivity, least
from rewriter.dialects import Dialect, double, named_table, number, wrap
from rewriter.expressions import Value
from rewriter.keys import PublicKeys
from rewriter.measure import Addend, Cell, Vector, Workload
from rewriter.partial_sums import PartialSums, PersonRows
from rewriter.plan import Block, Selection, Statistic
from rewriter.release import Query, key_name
from rewriter.statement import conjuncts

_WEIGHT_BITS = 20
_MOST_SELECTED_GROUPS = 1 << 16


@dataclass(frozen=True, slots=True)
class Bounded:
    """The bounded SQL of a release with the sensitivities that it enforces. ``refinement`` is 2ʳ by statistic.

    ``partials`` are there where everything in the tree but distinct values is made of the CTE ``partial``, and that
    adds up over groups.
    """

    tree: exp.Select
    blocks: tuple[Block, ...]
    selection: Selection | None
    refinement: dict[str, int]
    partials: PartialSums | None = None


def bound(
    query: Query,
    work: Workload,
    norm: Norm,
    contribution: ContributionBound,
    public: PublicKeys | None,
    dialect: Dialect,
    *,
    one_group: bool,
    alike: bool = False,
) -> Bounded:
    """Write the bounded SQL. ``contribution`` is the bound within this grouping, ``one_group`` the fact that no unit
    has rows in two groups. ``alike``: units are clipped as in other groupings of the same rows."""
    keys = list(map(key_name, range(len(query.keys))))
    if public is not None and not work.vectors:
        # Only the groups are asked for, and they are public: no row of people is read.
        return Bounded(_with_keys(None, [], [], keys, [], None, public, dialect), (), None, {})
    if not keys and not work.vectors:
        # What is picked reads its own rows.
        return Bounded(exp.Select(), (), None, {})
    rows = _rows(query, work, dialect)
    selected = bool(keys) and public is None
    if contribution.unique:
        apart = query.summed_with_total
        return _one_row_per_unit(rows, keys, work, public, selected, dialect, apart=apart)
    counts = credited(query, rows, work, contribution, dialect, one_group=one_group)
    names = [cell.name for cell in _cells(work)]
    every, work = work, replace(work, vectors=tuple(vector for vector in work.vectors if vector.credit is None))
    balls = balls_of(work.vectors, norm, contribution, one_group, query, alike=alike)
    of_balls = factors(balls, limits(query, balls) if alike else None)
    most = 1 if one_group else min(contribution.most_groups or _MOST_SELECTED_GROUPS, _MOST_SELECTED_GROUPS)
    people = next((v.cells[0].name for v in work.vectors if one_group and v.distinct and _is_one_count(v)), "w")
    people = "w" if query.summed_with_total else people
    selection = Selection(people, Fraction(1, 1 << _WEIGHT_BITS if most > 1 else 1), most) if selected else None
    if not work.vectors and selection is None:
        tree = _with_keys(None, [], counts, keys, names, None, public, dialect)
        return Bounded(tree, tuple(one.block for one in counts), None, dict.fromkeys((c.name for c in counts), 1))
    limit = _harmless_rows(query, work, norm, contribution, one_group, selected)
    final, scale = _summed(keys, balls, of_balls, selection, one_group, dialect)
    counted = [(addend, name) for addend, name in counters(work.vectors).items() if name not in names]
    if not any(ball.scaled for ball in balls):
        counted = []
    anybody, sums, having = _person_rows(of_anybody(query), work), _sums(work, counted, dialect), None
    if query.everybody is not None:
        having = exp.Having(this=exp.In(this=exp.column("u"), query=exp.Subquery(this=query.everybody)))
    read = without_repetition(anybody) if _asks_for_people(work, counted) else anybody
    partial = partial_of(rows_of(read, dialect), keys, sums, having)
    ctes = [("partial", partial), ("clamped", _clamped(keys, balls, [name for _, name in counted], dialect))]
    if limit is not None:
        partial.set("where", exp.Where(this=_is_suspect()))
        ctes.insert(0, ("suspect", _suspects(query, limit)))
        final = _with_harmless(final, rows, keys, balls, dialect)
    if scale is not None:
        ctes.append(("scale", scale))
    tree = _with_keys(final, ctes, counts, keys, names, selection, public, dialect)
    summed, distinct = (ball.block() for ball in balls), (one.block for one in counts)
    blocks = tuple(next(summed if vector.credit is None else distinct) for vector in every.vectors)
    refinement = {cell.name: ball.refinement for ball in balls for cell in ball.vector.cells}
    refinement |= dict.fromkeys((one.name for one in counts), 1)
    addends = {cell.name: cell.addends for cell in _cells(work)} | {name: (addend,) for addend, name in counted}
    partials = None
    if limit is None and not any(addend.distinct for some in addends.values() for addend in some):
        whole = frozenset(name for name, some in addends.items() if _is_number_of_rows(some))
        partials = PartialSums(anybody, sums, whole, having, tree)
    return Bounded(tree, blocks, selection, refinement, partials)


def _is_number_of_rows(addends: Sequence[Addend]) -> bool:
    """Whether a sum is at most the number of rows, and not below 0."""
    return len(addends) == 1 and addends[0].summed is None and addends[0].weight == 1


def _asks_for_people(work: Workload, counted: Sequence[tuple[Addend, str]]) -> bool:
    """Whether every sum over a person's rows only tells whether there is a row."""
    addends = [addend for cell in _cells(work) for addend in cell.addends]
    counts = all(addend.summed is None and addend.weight > 0 and not addend.distinct for addend in addends)
    return counts and not counted and all(vector.distinct for vector in work.vectors)


def _is_one_count(vector: Vector) -> bool:
    """Whether its one cell counts, without a condition."""
    return len(vector.cells) == 1 and vector.cells[0].addends == (ALL_ROWS,)


def _harmless_rows(
    query: Query, work: Workload, norm: Norm, contribution: ContributionBound, one_group: bool, selected: bool
) -> int | None:
    """The number of rows with which a unit cannot leave any ball, where it pays to look for the units that have more.

    A vector's ball is (the bound of rows) · (the most that one row adds), so a unit with no more rows than that bound
    is inside of all of them, cell by cell too. The others are few when the bound is near ``max_rows``; only they are
    aggregated by person. It pays for one table, which is cheap to read twice.
    """
    rows = contribution.l2_squared and math.isqrt(contribution.l2_squared)
    mixed = norm is Norm.L2 and any(vector.prefix for vector in work.vectors)
    limit = contribution.l1 if norm is Norm.L1 else least([rows, contribution.l1]) if mixed else rows
    from_ = query.rows.args["from_"].this
    where = query.rows.args.get("where")
    simple = (
        isinstance(from_, exp.Table)
        and not query.rows.args.get("joins")
        and not query.rows.args.get("group")
        and (where is None or where.find(exp.Query) is None)
    )
    whole = any(
        vector.distinct or addend.distinct
        for vector in work.vectors
        for cell in vector.cells
        for addend in cell.addends
    )
    countable = bool(work.vectors) and not whole and all(vector.most_rows is None for vector in work.vectors)
    if one_group or selected or not simple or not countable or not limit or not contribution.rows:
        return None
    return limit if 2 * limit >= contribution.rows else None


def _suspects(query: Query, limit: int) -> exp.Select:
    """The units with more than ``limit`` rows."""
    rows = query.rows.copy()
    rows.set("expressions", [exp.alias_(query.unit.copy(), "u", copy=False)])
    select = exp.Select(expressions=[exp.column("u")]).from_(from_rows(rows), copy=False)
    select.set("group", exp.Group(expressions=[exp.column("u")]))
    select.set("having", exp.Having(this=exp.GT(this=exp.Count(this=exp.Star()), expression=number(limit))))
    return select


def _is_suspect() -> exp.Expr:
    return exp.In(
        this=exp.column("u"),
        query=exp.Subquery(this=exp.Select(expressions=[exp.column("u")]).from_(named_table("suspect"), copy=False)),
    )


def _with_harmless(
    suspects: exp.Select, rows: exp.Select, keys: list[str], balls: Sequence[Ball], dialect: Dialect
) -> exp.Select:
    """The bounded sums of the suspects and the plain sums of everybody else, group by group."""
    expressions: list[exp.Expr] = _columns(keys)
    totals: list[exp.Expr] = _columns(keys)
    for ball in balls:
        for cell in ball.vector.cells:
            total: exp.Expr = exp.Paren(this=_sum_of(cell, dialect))
            if ball.refinement > 1:
                total = exp.Mul(this=dialect.cast(total, HUGEINT), expression=number(ball.refinement))
            expressions.append(exp.alias_(total, cell.name))
            totals.append(exp.alias_(dialect.sum(exp.column(cell.name), HUGEINT), cell.name))
    harmless = exp.Select(expressions=expressions).from_(from_rows(rows.copy()), copy=False)
    harmless.set("where", exp.Where(this=dialect.none_among(exp.column("u", "r"), "suspect")))
    harmless.set("group", exp.Group(expressions=_columns(keys)))
    both = exp.union(harmless, suspects, distinct=False, copy=False)
    final = exp.Select(expressions=totals).from_(
        exp.Subquery(this=both, alias=exp.TableAlias(this=exp.to_identifier("b"))), copy=False
    )
    final.set("group", exp.Group(expressions=_columns(keys)))
    return final


def of_anybody(query: Query) -> Query:
    """The query over rows of units that may not exist. One unit's groups are fewer than its rows: there it is asked."""
    if query.everybody is None:
        return query
    rows = query.rows.copy()
    tests = list(conjuncts(rows.args["where"].this))
    if tests[-1] != exp.In(this=query.unit, query=exp.Subquery(this=query.everybody)):
        raise AssertionError("the last condition of rows is whose they are")
    rows.set("where", exp.Where(this=exp.and_(*tests[:-1], copy=False)) if tests[1:] else None)
    return replace(query, rows=rows)


def _cells(work: Workload) -> list[Cell]:
    return [cell for vector in work.vectors for cell in vector.cells]


def _rows(query: Query, work: Workload, dialect: Dialect) -> exp.Select:
    """One row of the bounded query per row of people: the unit, the keys, values in steps, conditions."""
    return rows_of(_person_rows(query, work), dialect)


def _person_rows(query: Query, work: Workload) -> PersonRows:
    keys = tuple((key_name(place), grouping_key(key.value)) for place, key in enumerate(query.keys))
    return PersonRows(query.rows, query.unit, keys, work.columns, tuple((one.name, one.sql) for one in work.derived))


def rows_of(people: PersonRows, dialect: Dialect) -> exp.Select:
    """The SQL of rows of people: the unit as ``u``, and all columns."""
    columns = (*people.keys, *people.columns)
    shown = [
        exp.alias_(people.unit.copy(), "u", copy=False),
        *(exp.alias_(sql.copy(), name, copy=False) for name, sql in columns),
    ]
    # FROM and WHERE are shared, since trees are not changed.
    rows = dialect.fence(exp.Select(**{**people.source.args, "expressions": shown}))
    if not people.derived:
        return rows
    known, rest = ["u", *(name for name, _ in columns)], dict(people.derived)
    while rest:
        # What is computed of a computed column stands one query further out.
        found = {
            name: sql for name, sql in rest.items() if all(one.name not in rest for one in sql.find_all(exp.Column))
        }
        rest = {name: sql for name, sql in rest.items() if name not in found}
        derived = [exp.alias_(sql.copy(), name, copy=False) for name, sql in found.items()]
        inner = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("x")))
        rows = exp.Select(expressions=[*_columns(known), *derived]).from_(inner, copy=False)
        known += found
        if rest:
            rows = dialect.fence(rows)
    return rows


def grouping_key(value: Value) -> exp.Expr:
    """A grouping key. 0.0 and -0.0 are one group, and whose row comes first must not name it."""
    if value.type.kind is not Kind.DOUBLE:
        return value.sql.copy()
    return exp.Paren(this=exp.Add(this=wrap(value.sql.copy()), expression=double(0.0)))


def from_rows(rows: exp.Select) -> exp.Subquery:
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("r")))


def _columns(names: Sequence[str]) -> list[exp.Expr]:
    return [exp.column(name) for name in names]


def _sum_of(cell: Cell, dialect: Dialect) -> exp.Expr:
    """A cell over the rows of a group: the sum of its addends, as an exact wide integer."""
    terms = [_addend(addend, dialect) for addend in cell.addends]
    result = terms[0]
    for term in terms[1:]:
        result = exp.Add(this=result, expression=term)
    return result


def _addend(addend: Addend, dialect: Dialect) -> exp.Expr:
    if addend.summed is not None:
        total = _filter(dialect.sum(exp.column(addend.summed), BIGINT), addend, dialect)
        this: exp.Expr = exp.Coalesce(this=total, expressions=[number(0)])
        if abs(addend.weight) == 1:
            return this if addend.weight == 1 else exp.Neg(this=this)
    else:
        this = _filter(exp.Count(this=_counted(addend)), addend, dialect)
        if addend.weight == 1:
            return this
        this = dialect.cast(this, HUGEINT)
    return exp.Mul(this=this, expression=number(addend.weight))


def _counted(addend: Addend) -> exp.Expr:
    if addend.distinct:
        columns = [exp.column(name) for name in addend.distinct]
        return exp.Distinct(expressions=columns if len(columns) == 1 else [exp.Tuple(expressions=columns)])
    return exp.Star() if addend.counted is None else exp.column(addend.counted)


def _filter(node: exp.Expr, addend: Addend, dialect: Dialect) -> exp.Expr:
    if addend.test is None:
        return node
    test: exp.Expr = exp.column(addend.test)
    if addend.atom is not None:
        test = exp.EQ(this=test, expression=number(addend.atom))
    return dialect.filtered(node, test)


def _one_row_per_unit(
    rows: exp.Select,
    keys: list[str],
    work: Workload,
    public: PublicKeys | None,
    selected: bool,
    dialect: Dialect,
    *,
    apart: bool,
) -> Bounded:
    """One plain aggregation: a unit's whole contribution is one clipped row. ``apart``: no count that is asked for
    selects the groups."""
    expressions = [
        *_columns(keys),
        *(exp.alias_(exp.Paren(this=_sum_of(cell, dialect)), cell.name, copy=False) for cell in _cells(work)),
    ]
    names = [cell.name for cell in _cells(work)]
    counted = next((v.cells[0].name for v in work.vectors if v.rows == ALL_ROWS and _is_one_count(v)), "w")
    selection = Selection("w" if apart else counted, Fraction(1), 1) if selected else None
    if selection is not None and selection.name not in names:
        expressions.append(exp.alias_(exp.Count(this=exp.Star()), selection.name))
    final = exp.Select(expressions=expressions).from_(from_rows(rows), copy=False)
    if keys:
        final.set("group", exp.Group(expressions=_columns(keys)))
    tree = _with_keys(final, [], [], keys, names, selection, public, dialect)
    blocks = tuple(
        measured(
            tuple(Statistic(c.name, c.granularity, vector.row_l1, c.text) for c in vector.cells),
            Sensitivity(l1=vector.row_l1, l2_squared=vector.row_l2_squared),
            vector,
        )
        for vector in work.vectors
    )
    return Bounded(tree, blocks, selection, dict.fromkeys(names, 1))


def _sums(work: Workload, counted: Sequence[tuple[Addend, str]], dialect: Dialect) -> tuple[tuple[str, exp.Expr], ...]:
    """The sums of step 1, with the rows that are ``counted`` by the way."""
    return (
        *((cell.name, exp.Paren(this=_sum_of(cell, dialect))) for cell in _cells(work)),
        *((name, _addend(addend, dialect)) for addend, name in counted),
    )


def partial_of(
    rows: exp.Select, keys: Sequence[str], sums: Sequence[tuple[str, exp.Expr]], having: exp.Having | None
) -> exp.Select:
    """Step 1: a row per (unit, group)."""
    expressions: list[exp.Expr] = [exp.column("u"), *_columns(keys)]
    expressions += [exp.alias_(sql.copy(), name, copy=False) for name, sql in sums]
    select = exp.Select(expressions=expressions).from_(from_rows(rows), copy=False)
    select.set("group", exp.Group(expressions=_columns(["u", *keys])))
    if having is not None:
        select.set("having", having.copy())
    return select


def _clamped(keys: list[str], balls: Sequence[Ball], counted: Sequence[str], dialect: Dialect) -> exp.Select:
    """Each cell as an integer whose square fits."""
    columns = [
        (cell.name, ball.clamped(exp.column(cell.name), dialect)) for ball in balls for cell in ball.vector.cells
    ]
    cells = [sql if isinstance(sql, exp.Column) else exp.alias_(sql, name, copy=False) for name, sql in columns]
    return exp.Select(expressions=[exp.column("u"), *_columns(keys), *cells, *_columns(counted)]).from_(
        named_table("partial"), copy=False
    )


def _summed(
    keys: list[str],
    balls: Sequence[Ball],
    of_balls: Sequence[Factor | None],
    selection: Selection | None,
    one_group: bool,
    dialect: Dialect,
) -> tuple[exp.Select, exp.Select | None]:
    """Steps 2 and 3, and the units' norms over several groups where they are needed."""
    used: dict[str, Factor] = {factor.name: factor for factor in of_balls if factor is not None}
    table = "measured" if one_group and used else "clamped"
    expressions: list[exp.Expr] = [exp.column(key, table) for key in keys]
    measures = [(name, factor.sql(dialect, one_group=one_group)) for name, factor in used.items()]
    exceeding = [test for factor in used.values() for test in factor.outside(dialect, one_group=one_group)]
    for ball, factor in zip(balls, of_balls, strict=True):
        for cell in ball.vector.cells:
            measured: exp.Expr = exp.column(cell.name, table)
            if factor is not None:
                column = exp.column(factor.name, table if one_group else "scale")
                measured = ball.scaled_cell(measured, column, dialect)
            expressions.append(exp.alias_(dialect.sum(measured, BIGINT), cell.name, copy=False))
    if selection is not None and not one_group:
        measures.append(("t", exp.Count(this=exp.Star())))
        exceeding.append(exp.GT(this=exp.Count(this=exp.Star()), expression=number(1)))
    if selection is not None and all(cell.name != selection.name for ball in balls for cell in ball.vector.cells):
        expressions.append(exp.alias_(dialect.sum(_weight(selection, one_group, dialect), BIGINT), selection.name))
    final = exp.Select(expressions=expressions).from_(named_table("clamped"), copy=False)
    if keys:
        final.set("group", exp.Group(expressions=[exp.column(key, table) for key in keys]))
    if not measures:
        return final, None
    if one_group:
        # A unit's only group has its whole norm: it is measured beside the cells.
        measured_columns = [exp.Star(), *(exp.alias_(sql, name, copy=False) for name, sql in measures)]
        inner = exp.Select(expressions=measured_columns).from_(named_table("clamped"), copy=False)
        final.set(
            "from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("measured"))))
        )
        return final, None
    same = exp.EQ(this=exp.column("u", "clamped"), expression=exp.column("u", "scale"))
    final.set("joins", [exp.Join(this=named_table("scale"), side="LEFT", on=same)])
    scale = exp.Select(
        expressions=[exp.column("u"), *(exp.alias_(sql, name, copy=False) for name, sql in measures)]
    ).from_(named_table("clamped"), copy=False)
    scale.set("group", exp.Group(expressions=[exp.column("u")]))
    scale.set("having", exp.Having(this=exp.or_(*exceeding, copy=False)))
    return final, scale


def _weight(selection: Selection, one_group: bool, dialect: Dialect) -> exp.Expr:
    """1/√t of a unit in t groups, rounded down to the lattice; nothing beyond the most groups."""
    steps = int(1 / selection.granularity)
    if one_group:
        return number(steps)
    groups = exp.column("t", "scale")
    root = exp.Sqrt(this=dialect.cast(groups, DOUBLE))
    share = dialect.truncate(exp.Div(this=double(steps * SHRINK), expression=root))
    return case(
        [
            (exp.Is(this=groups.copy(), expression=exp.Null()), number(steps)),
            (exp.GT(this=groups.copy(), expression=number(selection.max_groups)), number(0)),
        ],
        share,
    )


def _with_keys(
    final: exp.Select | None,
    ctes: Sequence[tuple[str, exp.Select]],
    counts: Sequence[Credited],
    keys: list[str],
    names: list[str],
    selection: Selection | None,
    public: PublicKeys | None,
    dialect: Dialect,
) -> exp.Select:
    """Every group of a public key set, empty ones too and no others; or the groups found. In the order of the keys."""
    ctes = [*ctes, *([("released", final)] if final is not None else []), *([("keys", public.sql)] if public else [])]
    ctes += [(f"distinct_{one.name}", one.counts) for one in counts]
    tables = [*(["keys"] if public else []), *(["released"] if final is not None else [])]
    source, *_ = tables = [*tables, *(f"distinct_{one.name}" for one in counts)]
    other = "released" if final is not None else source
    expressions: list[exp.Expr] = [exp.column(key, source) for key in keys]
    columns = [*names, *([selection.name] if selection is not None and selection.name not in names else [])]
    places = {one.name: f"distinct_{one.name}" for one in counts}
    expressions += [
        exp.alias_(
            exp.Coalesce(this=exp.column(name, places.get(name, other)), expressions=[number(0)]), name, copy=False
        )
        for name in columns
    ]
    tree = exp.Select(expressions=expressions).from_(named_table(source), copy=False)
    types = public.types if public is not None else counts[0].types if counts else ()
    joins = []
    for table in tables[1:]:
        same = [
            dialect.same_key(exp.column(key, source), exp.column(key, table), type_)
            for key, type_ in zip(keys, types, strict=True)
        ]
        on = exp.and_(*same, copy=False) if same else None
        joins.append(
            exp.Join(this=named_table(table), side="LEFT", on=on)
            if on is not None
            else exp.Join(this=named_table(table), kind="CROSS")
        )
    if joins:
        tree.set("joins", joins)
    if keys:
        order = [exp.Ordered(this=exp.column(key, source), nulls_first=False) for key in keys]
        tree.set("order", exp.Order(expressions=order))
    # Only CTEs with two readers are kept: one with a single reader is better folded into it.
    shared = {"suspect", "clamped"} if any(name == "scale" for name, _ in ctes) else {"suspect"}
    definitions = [dialect.cte(name, query, shared=name in shared) for name, query in ctes]
    tree.set("with_", exp.With(expressions=definitions))
    return tree
