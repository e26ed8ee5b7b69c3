"""Released values beside groups of people, as Tableau writes its levels of detail.

``SELECT region, sex, COUNT(*) / MIN(t.n) FROM patient LEFT JOIN (SELECT region, COUNT(*) AS n … GROUP BY region) AS t
ON region = t.region GROUP BY region, sex`` joins rows of people with released numbers, each of which is the same for
all rows of a group: MIN, MAX and AVG of it are it itself. So groups are joined, above the noise, and not rows.

Guarantee: the meaning is the same. What could repeat a row, or is not the same in a whole group, is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from sqlglot import exp

from rewriter.aggregates import aggregates_of
from rewriter.split.top_groups_as_having import equated, is_unique
from rewriter.statement import conjuncts, grouped_item, is_grouped, is_window_function, output_name

_ITSELF = (exp.Min, exp.Max, exp.Avg, exp.AnyValue)
_ROWS = "rows_of_people"


def values_beside_groups(select: exp.Select, queries: Mapping[int, exp.Query], answers: Set[int]) -> exp.Select | None:
    """``select`` with its joins to aggregates over people above its own groups; None where one cannot be there.

    ``queries`` has the queries of FROM, by the item's identity; those in ``answers`` aggregate over people.
    """
    group, from_ = select.args.get("group"), select.args.get("from_")
    if not is_grouped(select) or group is None or from_ is None or id(from_.this) in answers:
        return None
    if {name for name, value in group.args.items() if value} != {"expressions"}:
        return None
    distinct = select.args.get("distinct")
    if any(select.args.get(part) for part in ("windows", "qualify", "with_", "laterals")):
        return None
    if distinct is not None and distinct.args.get("on"):
        return None
    joined = [join for join in select.args.get("joins") or () if id(join.this) in answers]
    aliases = {join.this.alias_or_name.lower() for join in joined}
    keys = [key for key in (grouped_item(key, select) for key in group.expressions) if not _reads(key, aliases)]
    pairs: list[list[tuple[int, exp.Column, bool]]] = []
    for join in joined:
        found = _pairs(join, queries[id(join.this)], keys)
        if found is None:
            return None
        pairs.append(found)
    read = [node for part in _parts(select) for node in aggregates_of(part) if _reads(node, aliases)]
    where = select.args.get("where")
    if not read or (where is not None and _reads(where, aliases)):
        return None
    return _above(select, keys, joined, pairs, aliases)


def _parts(select: exp.Select) -> list[exp.Expr]:
    return [*select.expressions, *(select.args[name] for name in ("having", "order") if select.args.get(name))]


def _reads(node: exp.Expr, aliases: Set[str]) -> bool:
    return any(column.table.lower() in aliases for column in node.find_all(exp.Column))


def _pairs(join: exp.Join, written: exp.Query, keys: Sequence[exp.Expr]) -> list[tuple[int, exp.Column, bool]] | None:
    """For each comparison of a join the place of the key and the column that it is compared with, and whether NULL
    equals NULL; None where a row could meet several, or one that is another for other rows of its group."""
    if join.side.upper() not in ("", "LEFT"):
        return None
    on = join.args.get("on")
    found: list[tuple[int, exp.Column, bool]] = []
    for test in conjuncts(on) if on is not None else ():
        if isinstance(test, exp.Boolean) and test.this:
            continue
        pair, safe = equated(test, join.this.alias_or_name)
        if pair is None or pair[0] not in keys:
            return None
        found.append((keys.index(pair[0]), pair[1], safe))
    keyed = written.this if isinstance(written, exp.Subquery) else written
    if isinstance(keyed, exp.Select) and not keyed.args.get("group") and not found:
        return found
    return found if found and is_unique(written, {column.name.lower() for _, column, _ in found}) else None


def key_names(select: exp.Select, keys: Sequence[exp.Expr]) -> list[exp.Identifier]:
    """A name for each key: that of the projection that shows it, where it has one of its own."""
    shown = [(node.unalias(), output_name(node)) for node in select.expressions]
    names = [next((name for node, name in shown if node == key), f"k{number}") for number, key in enumerate(keys)]
    return [
        exp.to_identifier(name if names.count(name) == 1 else f"k{number}", quoted=True)
        for number, name in enumerate(names)
    ]


def _above(
    select: exp.Select,
    keys: Sequence[exp.Expr],
    joined: Sequence[exp.Join],
    pairs: Sequence[Sequence[tuple[int, exp.Column, bool]]],
    aliases: Set[str],
) -> exp.Select | None:
    others = list(
        dict.fromkeys(node for part in _parts(select) for node in aggregates_of(part) if not _reads(node, aliases))
    )
    names = key_names(select, keys)
    rows = exp.Select(
        expressions=[
            *(exp.alias_(key.copy(), name.copy()) for key, name in zip(keys, names, strict=True)),
            *(exp.alias_(node.copy(), f"dpsql_a{number}") for number, node in enumerate(others)),
        ]
    )
    rows.set("from_", select.args["from_"].copy())
    rows.set("joins", [j.copy() for j in select.args.get("joins") or () if not any(j is one for one in joined)])
    if select.args.get("where"):
        rows.set("where", select.args["where"].copy())
    if keys:
        rows.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    ours = {node: exp.to_identifier(f"dpsql_a{number}") for number, node in enumerate(others)}
    ours |= dict(zip(keys, names, strict=True))
    above = exp.Select(
        expressions=[
            exp.alias_(_moved(node.unalias(), ours, aliases), output_name(node), quoted=True)
            for node in select.expressions
        ]
    )
    above.set("from_", exp.From(this=exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(_ROWS)))))
    above.set("joins", [_joined(join, some, names) for join, some in zip(joined, pairs, strict=True)])
    if (having := select.args.get("having")) is not None:
        above.set("where", exp.Where(this=_moved(having.this, ours, aliases)))
    if (order := select.args.get("order")) is not None:
        above.set("order", _moved(order, ours, aliases))
    for name in ("distinct", "limit", "offset"):
        if select.args.get(name):
            above.set(name, select.args[name].copy())
    shown = {_ROWS, *aliases}
    named = {output_name(node) for node in select.expressions}
    left = [*above.expressions, *(above.args[name] for name in ("where", "order") if above.args.get(name))]
    for column in (column for part in left for column in part.find_all(exp.Column)):
        if column.table.lower() not in shown and (column.table or column.name not in named):
            return None
    return above if not any(True for part in left for _ in aggregates_of(part)) else None


def _moved(node: exp.Expr, ours: Mapping[exp.Expr, exp.Identifier], aliases: Set[str]) -> exp.Expr:
    """A copy over the groups: keys and aggregates are columns, and a value that was released is itself."""
    if (name := ours.get(node)) is not None:
        return exp.column(name.copy(), _ROWS)
    itself = isinstance(node, _ITSELF) and not is_window_function(node)
    if itself and all(column.table.lower() in aliases for column in node.find_all(exp.Column)):
        value = exp.Paren(this=node.this.copy())
        double = exp.DataType.build("double precision", "postgres")
        return exp.Cast(this=value, to=double) if isinstance(node, exp.Avg) else value
    copy = node.copy()
    for child, mine in zip(list(node.iter_expressions()), list(copy.iter_expressions()), strict=True):
        mine.replace(_moved(child, ours, aliases))
    return copy


def _joined(join: exp.Join, pairs: Sequence[tuple[int, exp.Column, bool]], names: Sequence[exp.Identifier]) -> exp.Join:
    tests = [
        (exp.NullSafeEQ if safe else exp.EQ)(this=exp.column(names[place].copy(), _ROWS), expression=column.copy())
        for place, column, safe in pairs
    ]
    if not tests:
        return exp.Join(this=join.this.copy(), kind="CROSS")
    on = exp.and_(*tests, copy=False)
    return exp.Join(this=join.this.copy(), on=on, side="LEFT" if join.side else None)
