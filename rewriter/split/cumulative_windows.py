"""Which running sums the outer SELECT makes of its releases: ``SUM(COUNT(*)) OVER (ORDER BY day)`` and its relatives.

Windows that move are found too: SUM and AVG over ``ROWS BETWEEN 6 PRECEDING AND CURRENT ROW``.

What is found here only chooses how a release is measured (:mod:`rewriter.bound.series`). Whatever is missed or
read wrongly is answered all the same, from the same groups, with more noise.

Windows that add up neighbouring groups read unbiased numbers, though no shown group is below 0.

A shown count is moved to 0 where its noise is below that. A sum of many such counts is too high: by 0.4 standard
deviations of the noise for each empty group. So a window that is a running sum of a release reads the column that
:func:`rewriter.release.added_name` names, in the place of the shown one. Through subqueries in FROM and WITH that hand
on the shown column, a column beside it hands on the other one: stars are spelled out by then, and show no column more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.aggregates import AVG, SUM, function_of
from rewriter.release import (
    RESERVED,
    Along,
    Cumulative,
    Frame,
    Query,
    RunningSum,
    RunningSums,
    added_name,
    aggregate_name,
    key_name,
    release_name,
)
from rewriter.statement import folded, output_name, walk


@dataclass(frozen=True, slots=True)
class _Column:
    """A column that is a key or an aggregate of a release and nothing else; ``whole``: in all rows of it, once."""

    release: int
    is_key: bool
    place: int
    whole: bool = True


@dataclass(frozen=True, slots=True)
class _Running:
    """A running sum, or a ``mean`` of a window, apart for the keys at the places ``apart``."""

    release: int
    sums: Cumulative
    apart: frozenset[int]
    whole: bool
    mean: bool


_FILTERS = ("where", "group", "having")
_CUTS = ("distinct", "limit", "offset", "qualify")

_Columns = Mapping[str, _Column]
"""What a query answers, by name; columns that are computed are not among them."""


def with_running_sums(releases: Sequence[Query], outer: exp.Query) -> tuple[tuple[Query, ...], RunningSums]:
    """The releases, each with the running sums that ``outer`` makes of it, where they all run along the same keys; and
    the windows of ``outer`` that are such sums."""
    reader = _Reader(releases)
    reader.show(reader.query(outer, {}))
    found = tuple(
        replace(query, cumulative=reader.sums(number)) if number in reader.found else query
        for number, query in enumerate(releases)
    )
    return found, tuple(reader.windows.values())


class _Reader:
    """Follows columns from the releases up through subqueries and CTEs."""

    def __init__(self, releases: Sequence[Query]) -> None:
        self._releases = releases
        self._tables = {release_name(number): _columns(number, query) for number, query in enumerate(releases)}
        self.found: dict[int, Cumulative] = {}
        self.windows: dict[int, tuple[exp.Window, RunningSum]] = {}
        self._shown: set[tuple[int, int]] = set()

    def sums(self, release: int) -> Cumulative:
        """The running sums of a release."""
        found = self.found[release]
        return replace(found, alone=not any((release, place) in self._shown for place in found.aggregates))

    def show(self, columns: _Columns) -> None:
        """Note columns that are read in another way than by running sums, or may be."""
        self._shown |= {(column.release, column.place) for column in columns.values() if not column.is_key}

    def query(self, node: exp.Expr, names: Mapping[str, _Columns]) -> _Columns:
        """What a query answers. Its running sums are noted."""
        if isinstance(node, exp.Subquery):
            return self.query(node.this, names)
        with_ = node.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            found = self._renamed(self.query(cte.this, names), cte.args["alias"])
            names = {**names, folded(cte.args["alias"].this): found}
        if isinstance(node, exp.Select):
            return self._select(node, names)
        if isinstance(node, exp.SetOperation):
            self.show(self.query(node.this, names))
            self.show(self.query(node.expression, names))
        return {}

    def _select(self, select: exp.Select, names: Mapping[str, _Columns]) -> _Columns:
        from_ = select.args.get("from_")
        columns = self._from(from_.this, names) if from_ is not None else {}
        joins = select.args.get("joins") or ()
        for join in joins:
            self.show(self._from(join.this, names))
        if joins:
            self.show(columns)
            return {}
        for expression in (*select.expressions, *_parts(select)):
            for node in walk(expression):
                if isinstance(node, exp.Window):
                    self._note(node, _running(node, columns), filtered=_has(select, _FILTERS))
            self._read(expression, columns)
            for inner in expression.find_all(exp.Query):
                if inner.parent_select is select:
                    self.show(self.query(inner, names))
        answered = _answered(select, columns)
        if not _has(select, (*_FILTERS, *_CUTS)):
            return answered
        return {name: replace(column, whole=False) for name, column in answered.items()}

    def _from(self, item: exp.Expr, names: Mapping[str, _Columns]) -> _Columns:
        alias = item.args.get("alias")
        if isinstance(item, exp.Subquery):
            return self._renamed(self.query(item.this, names), alias)
        if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier) and not item.db:
            name = folded(item.this)
            return self._renamed(names.get(name) or self._tables.get(name) or {}, alias)
        return {}

    def _renamed(self, columns: _Columns, alias: exp.Expr | None) -> _Columns:
        """Under an alias that names columns nothing is followed."""
        if alias is None or not alias.args.get("columns"):
            return columns
        self.show(columns)
        return {}

    def _read(self, expression: exp.Expr, columns: _Columns) -> None:
        """Note what is read beside running sums. A column that is passed on as it is may be read above."""
        whole = expression.this if isinstance(expression, exp.Alias) else expression
        stack = [] if _column(whole, columns) is not None and isinstance(expression.parent, exp.Select) else [whole]
        while stack:
            node = stack.pop()
            if (found := _column(node, columns)) is not None:
                self.show({"": found})
            elif not isinstance(node, exp.Query) and id(node) not in self.windows:
                stack.extend(node.iter_expressions())

    def _note(self, window: exp.Window, running: _Running | None, *, filtered: bool) -> None:
        """One series for each release: the first that is found, and all aggregates that run along it."""
        if running is None:
            return
        number, one = running.release, running.sums
        query = self._releases[number]
        if query.sets or query.others:
            return
        if not all(query.aggregates[place].kind.adds_up for place in one.aggregates):
            return
        if one.frame is None or one.frame.width > 1:
            known = self.found.setdefault(number, one)
            if (known.order, known.descending, known.frame) == (one.order, one.descending, one.frame):
                both = tuple(sorted({*known.aggregates, *one.aggregates}))
                self.found[number] = replace(known, aggregates=both)
        along = self.found.get(number)
        if along is None or (along.order, along.descending) != (one.order, one.descending):
            return
        if running.whole and not filtered and len(running.apart) + len(one.order) == len(query.keys):
            name = aggregate_name(one.aggregates[0])
            rows = Along(one.order, one.descending, one.frame, running.mean)
            self.windows[id(window)] = (window, RunningSum(number, name, rows))


def _columns(number: int, query: Query) -> _Columns:
    keys = {key_name(place): _Column(number, True, place) for place, _ in enumerate(query.keys)}
    return keys | {aggregate_name(place): _Column(number, False, place) for place, _ in enumerate(query.aggregates)}


def _parts(select: exp.Select) -> Iterator[exp.Expr]:
    """Where else a window may stand."""
    for name in ("where", "having", "qualify", "order"):
        if (part := select.args.get(name)) is not None:
            yield part


def _answered(select: exp.Select, columns: _Columns) -> _Columns:
    answered: dict[str, _Column] = {}
    for item in select.expressions:
        if isinstance(item, exp.Star):
            answered |= columns
        elif (found := _column(item.this if isinstance(item, exp.Alias) else item, columns)) is not None:
            answered[output_name(item)] = found
    return answered


def _column(node: exp.Expr | None, columns: _Columns) -> _Column | None:
    while isinstance(node, exp.Paren):
        node = node.this
    return columns.get(folded(node.this)) if isinstance(node, exp.Column) else None


def _has(select: exp.Select, parts: Sequence[str]) -> bool:
    return any(select.args.get(part) is not None for part in parts)


def _running(window: exp.Window, columns: _Columns) -> _Running | None:
    """The release and the running sum of it that a window is, if it is one."""
    function = function_of(window.this)
    if function not in (SUM, AVG):
        return None
    summed = _column(window.this.this, columns)
    order, partition, spec = (window.args.get(part) for part in ("order", "partition_by", "spec"))
    forward, frame = _is_forward(spec), None
    if forward is None:
        forward, frame = True, _frame(spec)
    is_mean = function == AVG
    if summed is None or summed.is_key or order is None or (frame is None and (_is_forward(spec) is None or is_mean)):
        return None
    along = [_column(ordered.this, columns) for ordered in order.expressions]
    apart = [_column(key, columns) for key in partition or ()]
    places = [key.place for key in along if key is not None and key.is_key and key.release == summed.release]
    others = [key.place for key in apart if key is not None and key.is_key and key.release == summed.release]
    if len(places) < len(along) or len(others) < len(apart) or set(places) & set(others):
        return None
    down = {bool(ordered.args.get("desc")) for ordered in order.expressions}
    nulls_first = {bool(ordered.args.get("nulls_first")) for ordered in order.expressions}
    if len(down) > 1 or nulls_first != down or places != sorted(set(places)):
        return None
    (descending,) = down
    sums = Cumulative(tuple(places), descending is forward, (summed.place,), frame)
    return _Running(summed.release, sums, frozenset(others), summed.whole, is_mean)


def _is_forward(spec: exp.WindowSpec | None) -> bool | None:
    """Whether the frame begins with the first row and ends with this one, or is the rest; None for any other."""
    if spec is None:
        return True
    if spec.args.get("exclude"):
        return None
    start = f"{spec.args.get('start')} {spec.args.get('start_side') or ''}".strip().upper()
    end = f"{spec.args.get('end') or 'CURRENT ROW'} {spec.args.get('end_side') or ''}".strip().upper()
    if (start, end) == ("UNBOUNDED PRECEDING", "CURRENT ROW"):
        return True
    return False if (start, end) == ("CURRENT ROW", "UNBOUNDED FOLLOWING") else None


def _frame(spec: exp.WindowSpec | None) -> Frame | None:
    """The rows around a row that a window has, where they are counted and the row is one of them."""
    if spec is None or spec.args.get("exclude") or str(spec.args.get("kind") or "").upper() != "ROWS":
        return None
    before = _rows(spec.args.get("start"), spec.args.get("start_side"), "PRECEDING")
    after = _rows(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), "FOLLOWING")
    return None if before is None or after is None else Frame(before, after)


def _rows(end: object, side: object, way: str) -> int | None:
    if str(end).upper() == "CURRENT ROW":
        return 0
    literal = isinstance(end, exp.Literal) and end.is_int
    return int(str(end)) if literal and str(side).upper() == way else None


def add_up_unbiased(running: RunningSums) -> None:
    """Changes the windows in place: the tree is the caller's."""
    for window, sums in running:
        column, select = window.this.this, window.parent_select
        if isinstance(column, exp.Column) and isinstance(select, exp.Select):
            unbiased = _unbiased(column, select, release_name(sums.release))
            if unbiased is not None:
                window.this.set("this", unbiased)


def _unbiased(column: exp.Column, select: exp.Select, release: str) -> exp.Column | None:
    """The column in reach of ``select`` that has the unbiased numbers of a column; None where it cannot be had."""
    from_ = select.args.get("from_")
    if from_ is None or select.args.get("joins"):
        return None
    item, name = from_.this, folded(column.this)
    if isinstance(item, exp.Table) and item.name == release:
        return _named(added_name(name), column)
    inner = _query_of(item)
    if not isinstance(inner, exp.Select):
        return None
    handed = f"{RESERVED}{added_name(name)}"
    if all(output_name(one) != handed for one in inner.expressions):
        shown = next((one.unalias() for one in inner.expressions if output_name(one) == name), None)
        found = _unbiased(shown, inner, release) if isinstance(shown, exp.Column) else None
        if found is None:
            return None
        inner.append("expressions", exp.alias_(found, handed, quoted=True))
    return _named(handed, column)


def _query_of(item: exp.Expr) -> exp.Expr | None:
    """The query that an item of FROM names, or is; None where its columns are named anew."""
    alias = item.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return None
    if isinstance(item, exp.Subquery):
        query: exp.Expr = item.this
        return query
    if not isinstance(item, exp.Table) or item.db:
        return None
    around = item.parent
    while around is not None:
        with_ = around.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            if cte.alias == item.name:
                return None if cte.args["alias"].args.get("columns") else cte.this
        around = around.parent
    return None


def _named(name: str, like: exp.Column) -> exp.Column:
    table = like.args.get("table")
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=None if table is None else table.copy())
