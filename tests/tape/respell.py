"""Mechanical respellings: the same question in other words, of which PostgreSQL makes the same rows.

Each rule takes a parsed query, and changes all that it knows to change in a copy; a query that it does not change has no such
respelling. A rule leaves alone what might mean something else: names that it cannot place, stars over joins, outer joins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp

from tests.tape.collected_sources import Batch
from tests.tape.entries import Entry
from tests.tape.recording import recorded


def respellings(sql: str) -> dict[str, str]:
    """The texts that a query can be respelt as, by the rule.

    >>> respellings("SELECT COUNT(*) FROM (SELECT a FROM t) AS x")["WITH"]
    'WITH x AS (SELECT a FROM t) SELECT COUNT(*) FROM x'
    """
    try:
        tree = sqlglot.parse_one(sql, read="postgres")
        if not isinstance(tree, exp.Query):
            return {}
        plain = tree.sql("postgres")
        found = {}
        for name, rule in RULES.items():
            changed = tree.copy()
            rule(changed)
            text = changed.sql("postgres")
            if text != plain:
                found[name] = text
    except (sqlglot.errors.SqlglotError, RecursionError):
        return {}
    return found


def _selects(tree: exp.Query) -> Iterator[exp.Select]:
    yield from list(tree.find_all(exp.Select))


def _items(select: exp.Select) -> list[exp.Expr]:
    """What stands in FROM, in order."""
    found = select.args.get("from_")
    joins = select.args.get("joins") or []
    return [*([found.this] if found else []), *(join.this for join in joins)]


def _own(select: exp.Select, *kinds: type[exp.Expr]) -> list[exp.Expr]:
    """Nodes of a SELECT that stand in none of its subqueries."""
    return [node for node in select.find_all(*kinds) if node.find_ancestor(exp.Select) is select]


def _has_star(select: exp.Select) -> bool:
    return any(star for star in _own(select, exp.Star) if not isinstance(star.parent, exp.Count))


def _is_inner(join: exp.Join) -> bool:
    return not join.side and not join.method and join.kind in ("", "INNER", "CROSS")


def to_with(tree: exp.Query) -> None:
    """Subqueries in FROM as WITH queries, those first that others read."""
    if tree.find(exp.With):
        return
    taken = {table.name for table in tree.find_all(exp.Table)}
    found = []
    for subquery in reversed(list(tree.find_all(exp.Subquery, bfs=True))):
        alias = subquery.args.get("alias")
        if not subquery.alias or alias.columns or subquery.alias in taken or not _is_in_from(subquery, tree):
            continue
        if subquery.find_ancestor(exp.Lateral) or _is_correlated(subquery):
            continue
        taken.add(subquery.alias)
        found.append(exp.CTE(this=subquery.this, alias=exp.TableAlias(this=exp.to_identifier(subquery.alias))))
        subquery.replace(exp.to_table(subquery.alias))
    if found:
        tree.set("with_", exp.With(expressions=found))


def _is_in_from(query: exp.Expr, root: exp.Expr) -> bool:
    """Whether a subquery stands in FROM, and so do all those around it: nothing outside of it can be read in it."""
    while query is not root:
        if not isinstance(query.parent, exp.From | exp.Join):
            return False
        query = query.find_ancestor(exp.Select)
        while query is not root and isinstance(query.parent, exp.SetOperation):
            query = query.parent
        query = query if query is root else query.parent
    return True


def _is_correlated(query: exp.Expr) -> bool:
    """Whether it may read columns from outside: a qualifier that none of its own FROM items has."""
    own = {item.alias_or_name for select in query.find_all(exp.Select) for item in _items(select)}
    return any(column.table and column.table not in own for column in query.find_all(exp.Column))


def to_subqueries(tree: exp.Query) -> None:
    """WITH queries that are read once as subqueries in FROM."""
    own = tree.args.get("with_")
    if own is None or own.recursive or len(list(tree.find_all(exp.With))) != 1:
        return
    for cte in list(own.expressions):
        uses = [table for table in tree.find_all(exp.Table) if table.name == cte.alias and not table.db]
        if len(uses) != 1 or cte.args["alias"].columns or uses[0].args.get("joins"):
            continue
        cte.pop()
        uses[0].replace(
            exp.Subquery(this=cte.this, alias=exp.TableAlias(this=exp.to_identifier(uses[0].alias_or_name)))
        )
    if not own.expressions:
        tree.set("with_", None)


def to_on(tree: exp.Query) -> None:
    """USING as ON, of one inner join of two; the merged column is the left one."""
    for select in _selects(tree):
        joins = select.args.get("joins") or []
        if len(joins) != 1 or not joins[0].args.get("using") or not _is_inner(joins[0]) or _has_star(select):
            continue
        left, right = (item.alias_or_name for item in _items(select))
        names = [one.name for one in joins[0].args["using"]]
        for column in _own(select, exp.Column):
            if not column.table and column.name in names:
                column.set("table", exp.to_identifier(left))
        if select.args.get("order") and any(one.name in names for one in select.selects):
            continue
        equal = [exp.EQ(this=exp.column(name, left), expression=exp.column(name, right)) for name in names]
        joins[0].set("using", None)
        joins[0].set("on", exp.and_(*equal))


def to_using(tree: exp.Query) -> None:
    """ON of equal names as USING, of one inner join of two; columns stay qualified."""
    for select in _selects(tree):
        joins = select.args.get("joins") or []
        if len(joins) != 1 or not _is_inner(joins[0]) or _has_star(select):
            continue
        on, sides = joins[0].args.get("on"), {item.alias_or_name for item in _items(select)}
        if not isinstance(on, exp.EQ) or not all(isinstance(one, exp.Column) for one in (on.left, on.right)):
            continue
        if on.left.name == on.right.name and {on.left.table, on.right.table} == sides:
            joins[0].set("on", None)
            joins[0].set("using", [exp.to_identifier(on.left.name)])


def to_commas(tree: exp.Query) -> None:
    """Inner joins as commas, with their conditions in WHERE."""
    for select in _selects(tree):
        joins = select.args.get("joins") or []
        if not all(_is_inner(join) and not join.args.get("using") for join in joins):
            continue
        conditions = [join.args["on"] for join in joins if join.args.get("on")]
        for join in joins:
            for part in ("on", "kind"):
                join.set(part, None)
        if conditions:
            select.where(*conditions, copy=False)


def to_joins(tree: exp.Query) -> None:
    """Commas as JOIN, with equalities of two items in ON."""
    for select in _selects(tree):
        joins, where = select.args.get("joins") or [], select.args.get("where")
        commas = [join for join in joins if _is_inner(join) and not join.kind and not join.args.get("on")]
        if not commas or len(commas) != len(joins) or where is None or any(join.args.get("using") for join in joins):
            continue
        rest, seen = (
            list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this],
            {_items(select)[0].alias_or_name},
        )
        for join in joins:
            name = join.this.alias_or_name
            seen.add(name)
            fit = [
                one
                for one in rest
                if isinstance(one, exp.EQ)
                and name in (tables := {c.table for c in one.find_all(exp.Column)})
                and tables <= seen
                and len(tables) == 2
            ]
            rest = [one for one in rest if one not in fit]
            join.set("kind", "INNER" if fit else "CROSS")
            if fit:
                join.set("on", exp.and_(*fit))
        select.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)


def _conjuncts(select: exp.Select) -> list[exp.Expr]:
    where = select.args.get("where")
    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]


def _is_plain(select: exp.Expr) -> bool:
    """A SELECT of rows, each by itself."""
    parts = ("group", "having", "limit", "offset", "distinct", "order", "with_", "qualify")
    return (
        isinstance(select, exp.Select)
        and not any(select.args.get(part) for part in parts)
        and not select.find(exp.AggFunc, exp.Window)
    )


def to_exists(tree: exp.Query) -> None:
    """IN (SELECT …) of WHERE as EXISTS."""
    for select in _selects(tree):
        for one in _conjuncts(select):
            query = one.args.get("query") if isinstance(one, exp.In) else None
            inner = query.this if isinstance(query, exp.Subquery) else query
            if inner is None or not _is_plain(inner) or len(inner.selects) != 1:
                continue
            outside = [item.alias_or_name for item in _items(select)]
            inside = [item.alias_or_name for item in _items(inner)]
            left, right = one.this.copy(), inner.selects[0].unalias().copy()
            columns = list(left.find_all(exp.Column))
            if set(outside) & set(inside) or (len(outside) > 1 and not all(column.table for column in columns)):
                continue
            if len(inside) > 1 and not all(column.table for column in inner.find_all(exp.Column)):
                continue
            for column, name in [
                *((c, outside[0]) for c in columns),
                *((c, inside[0]) for c in right.find_all(exp.Column)),
            ]:
                if not column.table:
                    column.set("table", exp.to_identifier(name))
            inner.set("expressions", [exp.Literal.number(1)])
            inner.where(exp.EQ(this=right, expression=left), copy=False)
            one.replace(exp.Exists(this=inner))


def to_in(tree: exp.Query) -> None:
    """EXISTS with one equality across its border as IN (SELECT …)."""
    for select in _selects(tree):
        outside = {item.alias_or_name for item in _items(select)}
        for one in _conjuncts(select):
            inner = one.this if isinstance(one, exp.Exists) else None
            if inner is None or not _is_plain(inner):
                continue
            inside = {item.alias_or_name for item in _items(inner)}
            parts = _conjuncts(inner)
            across = [part for part in parts if any(column.table not in inside for column in part.find_all(exp.Column))]
            if len(across) != 1 or not isinstance(across[0], exp.EQ) or inside & outside or across[0].find(exp.Select):
                continue
            sides = [across[0].left, across[0].right]
            sides.sort(key=lambda side: any(column.table in inside for column in side.find_all(exp.Column)))
            left, right = ({column.table for column in side.find_all(exp.Column)} for side in sides)
            if not left or not right or not left <= outside or not right <= inside:
                continue
            rest = [part for part in parts if part is not across[0]]
            inner.set("expressions", [sides[1].copy()])
            inner.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
            one.replace(exp.In(this=sides[0].copy(), query=exp.Subquery(this=inner)))


def to_other_aliases(tree: exp.Query) -> None:
    """Every item of FROM under another alias; where two have the same one anywhere, all is left alone."""
    items = [item for select in _selects(tree) for item in _items(select) if isinstance(item, exp.Table | exp.Subquery)]
    names = [item.alias_or_name for item in items]
    if len(set(names)) != len(names) or any(item.args.get("joins") or not item.alias_or_name for item in items):
        return
    known = {name: f"renamed_{place}" for place, name in enumerate(names)}
    for column in tree.find_all(exp.Column):
        if column.table in known:
            column.set("table", exp.to_identifier(known[column.table]))
    for item in items:
        alias = item.args.get("alias")
        told = exp.TableAlias(this=exp.to_identifier(known[item.alias_or_name]), columns=alias.columns if alias else [])
        item.set("alias", told)


def to_parentheses(tree: exp.Query) -> None:
    """Each condition and each operand that has parts, in parentheses."""
    for select in _selects(tree):
        for clause in ("where", "having"):
            if (found := select.args.get(clause)) is not None:
                for one in list(found.this.flatten()) if isinstance(found.this, exp.And) else []:
                    if not isinstance(one, exp.Paren):
                        one.replace(exp.Paren(this=one.copy()))
                found.set("this", exp.Paren(this=found.this))
        for one in _own(select, exp.Add, exp.Sub, exp.Mul, exp.Div):
            if isinstance(one.parent, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.AggFunc):
                one.replace(exp.Paren(this=one.copy()))


def to_qualified(tree: exp.Query) -> None:
    """Columns of a SELECT from one table under its name, but for those that may be names of outputs."""
    for select in _selects(tree):
        items = _items(select)
        if len(items) != 1 or not isinstance(items[0], exp.Table) or not items[0].name:
            continue
        named = {one.alias for one in select.selects if isinstance(one, exp.Alias)}
        for column in _own(select, exp.Column):
            in_order = column.find_ancestor(exp.Order, exp.Select)
            if not column.table and column.name not in named and not isinstance(in_order, exp.Order):
                column.set("table", exp.to_identifier(items[0].alias_or_name))


def to_unqualified(tree: exp.Query) -> None:
    """Columns of a statement that reads one table alone, without its name."""
    selects = list(_selects(tree))
    if len(selects) != 1 or len(_items(selects[0])) != 1:
        return
    named = {one.alias for one in selects[0].selects if isinstance(one, exp.Alias)}
    for column in tree.find_all(exp.Column):
        if column.name not in named:
            column.set("table", None)


RULES: Mapping[str, Callable[[exp.Query], None]] = {
    "WITH": to_with,
    "subqueries": to_subqueries,
    "ON": to_on,
    "USING": to_using,
    "commas": to_commas,
    "JOIN": to_joins,
    "EXISTS": to_exists,
    "IN": to_in,
    "aliases": to_other_aliases,
    "parentheses": to_parentheses,
    "qualified": to_qualified,
    "unqualified": to_unqualified,
}


@dataclass(frozen=True, slots=True)
class Respelt:
    """What became of a respelling, beside what became of the statement itself."""

    rule: str
    name: str
    original: Entry
    entry: Entry

    @property
    def verdict(self) -> str:
        """``same``, or in what they differ first."""
        old, new = self.original["refused"], self.entry["refused"]
        if old is not None or new is not None:
            if old is None:
                return "newly refused"
            if new is None:
                return "newly answered"
            return "same" if old["sqlstate"] == new["sqlstate"] else "other refusal"
        if self.original["price"] != self.entry["price"]:
            return "other price"
        plans = [{plan["identity"] for plan in entry["plans"]} for entry in (self.original, self.entry)]
        return "same" if plans[0] == plans[1] else "other plan"


VERDICTS = ("same", "other plan", "other price", "newly refused", "newly answered", "other refusal")


def respelt(batches: Iterable[Batch], jobs: int = 2) -> list[Respelt]:
    """Every respelling of every statement, and what became of both."""
    asked: list[Batch] = []
    pairs: list[tuple[str, str, str]] = []
    for world, statements in batches:
        more = []
        for one in statements:
            found = respellings(one.sql)
            if found:
                more.append(replace(one, spelt=False))
            for rule, sql in found.items():
                more.append(replace(one, source=f"{one.source} as {rule}", sql=sql, spelt=False))
                pairs.append((rule, f"{world.name}: {one.source}", f"{world.name}: {one.source} as {rule}"))
        asked.append((world, more))
    entries = recorded(asked, jobs).entries
    return [Respelt(rule, name, entries[original], entries[name]) for rule, original, name in pairs]


def report(found: Sequence[Respelt], examples: int = 2) -> Iterator[str]:
    """A table by rule, then the differences."""
    yield f"{'rule':14}{'asked':>7}" + "".join(f"{verdict:>16}" for verdict in VERDICTS)
    for rule in (*RULES, "all"):
        counts = Counter(one.verdict for one in found if rule in (one.rule, "all"))
        yield f"{rule:14}{counts.total():7}" + "".join(f"{counts[verdict]:16}" for verdict in VERDICTS)
    for rule in RULES:
        for verdict in VERDICTS[1:]:
            for one in [one for one in found if one.rule == rule and one.verdict == verdict][:examples]:
                why = f" ({one.entry['refused']['message'][:90]})" if one.entry["refused"] else ""
                yield f"\n{rule}, {verdict}: {one.name}{why}\n    {one.entry['sql'][:300]}"
