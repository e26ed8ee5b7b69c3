"""Tables that only choose people, joined as EXISTS: ``patient JOIN visit ON …`` where people are counted, not rows.

Theorem: an inner join with a table repeats each row of the others as often as it has a match, and leaves out a row that
has none. EXISTS leaves out the same rows and repeats none. So both have the same people in the same groups, where no
column of the table is read beside the conditions of its join. Numbers of rows differ: the rule is for sums that only
ask whether a person has a row at all.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.dialects import number
from rewriter.partial_sums import PersonRows
from rewriter.statement import conjuncts


def without_repetition(people: PersonRows) -> PersonRows:
    """Rows of the same people, in the same groups with the same columns, that the tables above do not repeat."""
    source = people.source
    joins: list[exp.Join] = source.args.get("joins") or []
    extra = {name for name, arg in source.args.items() if arg} - {"expressions", "from_", "joins", "where"}
    if extra or not all(map(_is_plain, joins)):
        return people
    where = source.args.get("where")
    tests = list(conjuncts(where.this)) if where is not None else []
    shown = [people.unit, *(sql for _, sql in (*people.keys, *people.columns))]
    if any(not column.table for tree in (source, *shown) for column in tree.find_all(exp.Column)):
        return people
    kept, found = list(joins), list[exp.Expr]()
    for join in reversed(joins):
        name = join.this.alias_or_name
        others = [source.args["from_"], *shown, *found, *(other for other in kept if other is not join)]
        own = [test for test in tests if _reads(test, name)]
        if any(_reads(tree, name) for tree in others) or not all(_is_about(test, name) for test in own):
            continue
        tests = [test for test in tests if test not in own]
        kept.remove(join)
        match = exp.Select(expressions=[number(1)]).from_(join.this.copy(), copy=False)
        condition = exp.and_(*(one.copy() for one in (*conjuncts(join.args["on"]), *own)), copy=False)
        match.set("where", exp.Where(this=condition))
        found.append(exp.Exists(this=match))
    if not found:
        return people
    chosen = exp.Select(**{**source.args, "joins": [join.copy() for join in kept]})
    chosen.set("where", exp.Where(this=exp.and_(*(test.copy() for test in tests), *reversed(found), copy=False)))
    return replace(people, source=chosen)


def _is_plain(join: exp.Join) -> bool:
    """Whether it is an inner join with a table, by equalities of columns."""
    words = {name for name, arg in join.args.items() if arg} - {"this", "on", "kind"}
    on = join.args.get("on")
    return (
        not words
        and join.kind.upper() in ("", "INNER")
        and isinstance(join.this, exp.Table)
        and on is not None
        and all(_is_equality(test) for test in conjuncts(on))
    )


def _is_equality(test: exp.Expr) -> bool:
    return isinstance(test, exp.EQ) and isinstance(test.this, exp.Column) and isinstance(test.expression, exp.Column)


def _reads(tree: exp.Expr, name: str) -> bool:
    return any(column.table == name for column in tree.find_all(exp.Column))


def _is_about(test: exp.Expr, name: str) -> bool:
    """Whether it reads this table alone."""
    return test.find(exp.Query) is None and all(column.table == name for column in test.find_all(exp.Column))
