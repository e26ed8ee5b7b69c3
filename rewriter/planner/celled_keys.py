"""Listed keys with one more value, for all that nobody declared: every row has one, by the expression alone."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.columns import BEHIND, Variable, nodes_behind, probe_of, variable_behind
from rewriter.declared import NULL, TEXT, Kind
from rewriter.dialects import Dialect, wrap
from rewriter.expressions import Value, Values, literal
from rewriter.plan import UNDECLARED
from rewriter.release import Key

_MOST_VALUES = 100
"""Longer lists are no CASE that an engine reads for every row."""


def listed_by(key: Key) -> Variable | None:
    """The column of people that a key is, with a list of texts that the owner declared."""
    found = variable_behind(key.value.sql)
    if found is None or found.table.public or found.picked or key.value.type != TEXT:
        return None
    values = found.column.values
    if values is None or found.column.type.kind is not Kind.TEXT or len(values) > _MOST_VALUES:
        return None
    return None if UNDECLARED in values else found


def is_decided(node: exp.Expr, variable: Variable) -> bool:
    """Whether a condition tells the undeclared values of a column from the declared ones by nothing but constants that
    it is compared with."""
    while isinstance(node, exp.Paren | exp.Not):
        node = node.this
    if isinstance(node, exp.And | exp.Or):
        return is_decided(node.this, variable) and is_decided(node.expression, variable)
    if not any(BEHIND.of(part) == variable for part in nodes_behind(node)):
        return True
    if not isinstance(node, exp.EQ | exp.NEQ | exp.In | exp.Is) or node.args.get("query"):
        return False
    subject, *others = node.iter_expressions()
    while isinstance(subject, exp.Paren):
        subject = subject.this
    return variable_behind(subject) == variable and all(probe_of(other)[0] for other in others)


def is_told(node: exp.Expr, variable: Variable) -> bool:
    """Whether the values of such a key say whether a condition holds: it compares the column with declared values
    alone, and all others answer it alike."""
    declared = {*(variable.column.values or ()), None}
    compared = [probe_of(part) for part in node.walk() if isinstance(part, exp.Expr)]
    return is_decided(node, variable) and all(value in declared for known, value in compared if known)


def celled(key: Key, variable: Variable, dialect: Dialect) -> Key:
    """The key with its declared values, NULL where that is one of its values, and one text for all others."""
    source = key.value
    declared = tuple(value for value in variable.column.values or () if isinstance(value, str))
    branches = [_when(exp.EQ, source, value, dialect) for value in declared]
    domain: tuple[str | None, ...] = (*declared, UNDECLARED)
    if source.nullable:
        branches.append(_when(exp.Is, source, None, dialect))
        if None in (variable.column.values or ()):
            domain = (*domain, None)
    sql = exp.Case(ifs=branches, default=literal(UNDECLARED, TEXT, dialect).sql)
    value = replace(source.unowned().carried_by(sql), domain=Values(domain))
    return Key(value, key.text, declared=key)


def _when(kind: type[exp.Binary], source: Value, value: str | None, dialect: Dialect) -> exp.If:
    """The branch of CASE that keeps a value."""
    told, kept = (literal(value, of, dialect).sql for of in (TEXT if value is not None else NULL, TEXT))
    return exp.If(this=kind(this=wrap(source.sql.copy()), expression=told), true=kept)
