"""Symmetric aggregates, as Looker writes a SUM over a join that repeats rows: each key adds its value once.

``SUM(DISTINCT FLOOR(x * 1000000) + hash(key)) - SUM(DISTINCT hash(key))`` is the sum of ``x`` over the different keys,
times a million: each hash stands for one key, and takes itself away again. It is asked here as what it means,
``SUM(w) FROM (SELECT key, MAX(x) AS w … GROUP BY key)``, where the rows of one person are bounded as anywhere.

Guarantee: the value is that of the text, but for what FLOOR cuts off, where a key has one value of ``x``, which is what
the form assumes. A SELECT that does anything else with such sums is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.columns import aliased
from rewriter.expressions import called
from rewriter.split.values_beside_groups import key_names
from rewriter.statement import from_items, grouped_item, output_name, written

_SCALE = "1000000"


@dataclass(frozen=True, slots=True)
class _Sum:
    """``node`` is ``scale`` times the sum of ``value`` over the different values of ``key``."""

    node: exp.Sub
    key: exp.Expr
    value: exp.Expr
    scale: exp.Expr


def plain_sums(tree: exp.Query) -> exp.Query:
    """``tree`` with its symmetric aggregates written as sums over keys."""
    if not any(_symmetric(node) for node in tree.find_all(exp.Sub)):
        return tree
    copy: exp.Query = tree.copy()
    for select in list(copy.find_all(exp.Select)):
        found = [one for node in _own(select, exp.Sub) if (one := _symmetric(node)) is not None]
        written = _over_keys(select, found) if found else None
        if written is None:
            continue
        if select is copy:
            return written
        select.replace(written)
    return copy


def _own(select: exp.Select, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The nodes of a SELECT's own expressions, outermost first, without those of its subqueries."""
    stack = [*select.expressions, *(select.args[part] for part in ("having", "order") if select.args.get(part))]
    while stack:
        node = stack.pop(0)
        if isinstance(node, exp.Query):
            continue
        if isinstance(node, kinds):
            yield node
        stack = [*node.iter_expressions(), *stack]


def _symmetric(node: exp.Expr) -> _Sum | None:
    """What a difference of two distinct sums means; None for any other."""
    if not isinstance(node, exp.Sub):
        return None
    whole, hashes = (_distinct_terms(side) for side in (node.this, node.expression))
    known = [term.sql() for term in hashes]
    rest = [term for term in whole if term.sql() not in known]
    if not hashes or len(rest) != 1 or sorted(known) != sorted(t.sql() for t in whole if t is not rest[0]):
        return None
    keys = {call.this.sql(): call.this for term in hashes for call in term.find_all(exp.MD5)}
    if len(keys) != 1 or any(term.find(exp.MD5) is None for term in hashes):
        return None
    key = _bare(next(iter(keys.values())))
    scaled = _bare(rest[0])
    if not isinstance(scaled, exp.Floor):
        return None
    product = _bare(scaled.this)
    if not isinstance(product, exp.Mul):
        return None
    value, scale = product.this, product.expression
    if {literal.name for literal in scale.find_all(exp.Literal)} - {_SCALE, "1.0"} or scale.find(exp.Column):
        return None
    return _Sum(node, key, value, scale)


def _distinct_terms(node: exp.Expr) -> list[exp.Expr]:
    """What ``SUM(DISTINCT a + b + c)`` adds up; nothing for any other expression."""
    node = node.unnest()
    if not isinstance(node, exp.Sum) or not isinstance(node.this, exp.Distinct) or node.this.args.get("on"):
        return []
    found: list[exp.Expr] = []
    stack = list(node.this.expressions)
    while stack:
        term = stack.pop().unnest()
        if isinstance(term, exp.Add):
            stack += [term.expression, term.this]
        else:
            found.append(term)
    return found


def _bare(node: exp.Expr) -> exp.Expr:
    """Without parentheses and casts."""
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return node


_FORM = {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "with_"}


def _over_keys(select: exp.Select, sums: Sequence[_Sum]) -> exp.Select | None:
    """The SELECT over one row of each key for its symmetric sums, beside its other aggregates."""
    group = select.args.get("group")
    if {name for name, value in select.args.items() if value} - _FORM - {"kind", "hint"} or not from_items(select):
        return None
    if group is not None and {name for name, value in group.args.items() if value} != {"expressions"}:
        return None
    if any(True for _ in _own(select, exp.Window, exp.Query)):
        return None
    keys = [grouped_item(key, select) for key in (group.expressions if group is not None else ())]
    written = _Written(select, keys)
    replaced: dict[int, exp.Expr] = {}
    for one in sums:
        replaced[id(one.node)] = exp.Paren(this=exp.Mul(this=written.sum(one), expression=one.scale.copy()))
    others = [node for node in _outermost(select) if id(node) not in replaced]
    for node in others:
        replaced[id(node)] = written.other(node)
    return written.over(replaced)


def _outermost(select: exp.Select) -> list[exp.Expr]:
    """The symmetric sums and the aggregates of a SELECT that are in no other."""
    found: list[exp.Expr] = []
    stack = [*select.expressions, *(select.args[part] for part in ("having", "order") if select.args.get(part))]
    while stack:
        node = stack.pop(0)
        if isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup) or _symmetric(node) is not None:
            found.append(node)
        else:
            stack = [*node.iter_expressions(), *stack]
    return found


class _Written:
    """The queries that take the place of one: of its other aggregates, and for each key that is summed over."""

    def __init__(self, select: exp.Select, keys: Sequence[exp.Expr]) -> None:
        self._select = select
        self._keys = keys
        self._names = key_names(select, keys)
        self._others: dict[str, exp.Expr] = {}
        self._values: dict[str, tuple[exp.Expr, dict[str, exp.Expr]]] = {}

    def sum(self, one: _Sum) -> exp.Expr:
        number = list(self._values).index(one.key.sql()) if one.key.sql() in self._values else len(self._values)
        _, values = self._values.setdefault(one.key.sql(), (one.key, {}))
        place = list(values).index(one.value.sql()) if one.value.sql() in values else len(values)
        values.setdefault(one.value.sql(), one.value)
        return exp.column(f"dpsql_s{place}", f"sums{number}")

    def other(self, node: exp.Expr) -> exp.Expr:
        place = list(self._others).index(node.sql()) if node.sql() in self._others else len(self._others)
        self._others.setdefault(node.sql(), node)
        return exp.column(f"dpsql_a{place}", "others")

    def over(self, replaced: Mapping[int, exp.Expr]) -> exp.Select | None:
        """The SELECT over all of them; None where it reads anything else."""
        parts = {f"sums{number}": self._sums(*one) for number, one in enumerate(self._values.values())}
        if self._others:
            parts = {"others": self._rest(), **parts}
        first, *more = parts
        written = exp.Select()
        for name in ("with_", "limit", "offset"):
            if self._select.args.get(name):
                written.set(name, self._select.args[name].copy())
        written.set("from_", exp.From(this=aliased(parts[first], first)))
        written.set("joins", [self._joined(parts[name], first, name) for name in more])
        written.set("expressions", [self._shown(node, replaced, first) for node in self._select.expressions])
        if (order := self._select.args.get("order")) is not None:
            written.set("order", self._moved(order, replaced, first))
        if (having := self._select.args.get("having")) is not None:
            written.set("where", exp.Where(this=self._moved(having.this, replaced, first)))
        ours = set(parts)
        names = {one.alias for one in self._select.expressions if isinstance(one, exp.Alias)}
        for column in _own(written, exp.Column):
            if isinstance(column, exp.Column) and column.table not in ours and column.name not in names:
                return None
        return written

    def _shown(self, node: exp.Expr, replaced: Mapping[int, exp.Expr], first: str) -> exp.Expr:
        """A projection by the name that it has in the text."""
        moved = self._moved(node, replaced, first)
        return moved if isinstance(moved, exp.Alias) else exp.alias_(moved, output_name(node), quoted=True)

    def _moved(self, node: exp.Expr, replaced: Mapping[int, exp.Expr], first: str) -> exp.Expr:
        """A copy in which aggregates and keys are columns."""
        if id(node) in replaced:
            return replaced[id(node)].copy()
        for name, key in zip(self._names, self._keys, strict=True):
            if node == key:
                return exp.column(name.copy(), first)
        copy = node.copy()
        for child, ours in zip(list(node.iter_expressions()), list(copy.iter_expressions()), strict=True):
            ours.replace(self._moved(child, replaced, first))
        return copy

    def _rows(self, expressions: Sequence[exp.Expr], keys: Sequence[exp.Expr]) -> exp.Select:
        rows = exp.Select(expressions=list(expressions))
        for name in ("from_", "where"):
            if self._select.args.get(name):
                rows.set(name, self._select.args[name].copy())
        rows.set("joins", [join.copy() for join in self._select.args.get("joins") or ()])
        if keys:
            rows.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        return rows

    def _own_keys(self) -> list[exp.Expr]:
        return [exp.alias_(key.copy(), name.copy()) for name, key in zip(self._names, self._keys, strict=True)]

    def _rest(self) -> exp.Select:
        others = [exp.alias_(node.copy(), f"dpsql_a{number}") for number, node in enumerate(self._others.values())]
        return self._rows([*self._own_keys(), *others], self._keys)

    def _sums(self, key: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Select:
        of_keys = [
            exp.alias_(exp.Max(this=value.copy()), f"dpsql_w{number}") for number, value in enumerate(values.values())
        ]
        rows = self._rows([*self._own_keys(), exp.alias_(key.copy(), "dpsql_key"), *of_keys], [*self._keys, key])
        names = [exp.column(name.copy()) for name in self._names]
        columns = [called(exp.column(f"dpsql_w{n}"), written(value)) for n, value in enumerate(values.values())]
        sums = [exp.alias_(exp.Sum(this=column), f"dpsql_s{n}") for n, column in enumerate(columns)]
        found = exp.Select(expressions=[*(name.copy() for name in names), *sums])
        found.set("from_", exp.From(this=aliased(rows, "keyed")))
        if names:
            found.set("group", exp.Group(expressions=names))
        return found

    def _joined(self, query: exp.Select, first: str, name: str) -> exp.Join:
        same = [
            exp.NullSafeEQ(this=exp.column(key.copy(), first), expression=exp.column(key.copy(), name))
            for key in self._names
        ]
        if not same:
            return exp.Join(this=aliased(query, name), kind="CROSS")
        return exp.Join(this=aliased(query, name), side="LEFT", on=exp.and_(*same, copy=False))
