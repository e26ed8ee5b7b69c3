"""Facts that nodes of our own SQL carry into the larger expressions that they become part of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlglot import exp

T = TypeVar("T")
N = TypeVar("N", bound=exp.Expr)

_ARGUMENTS: set[str] = set()
"""The arguments of nodes that are facts."""


class Fact(Generic[T]):
    """One kind of fact, of one type. A fact is an argument of its node: whoever copies or rebuilds the node has it.

    Facts are neither spelt nor compared: two nodes with facts of one kind are equal where their SQL is.

    >>> NOTED: Fact[int] = Fact("noted")
    >>> one, other = NOTED.on(exp.column("x"), 1), NOTED.on(exp.column("x"), 2)
    >>> NOTED.of(one.copy()), NOTED.of(exp.column("x")), one == other, one.sql()
    (1, None, True, 'x')
    """

    def __init__(self, name: str) -> None:
        self._argument = f"fact {name}"
        _ARGUMENTS.add(self._argument)

    def on(self, node: N, fact: T) -> N:
        """The node itself, with the fact."""
        node.set(self._argument, _Noted(fact))
        return node

    def of(self, node: exp.Expr) -> T | None:
        """The node's own fact; None where it has none of this kind."""
        noted = node.args.get(self._argument)
        return None if noted is None else noted.fact

    def is_on(self, node: exp.Expr) -> bool:
        return self._argument in node.args

    def off(self, node: N) -> N:
        """The node itself, without the fact."""
        node.set(self._argument, None)
        return node


@dataclass(frozen=True, slots=True, eq=False)
class _Noted:
    """What makes two nodes equal for sqlglot is the hash of their arguments."""

    fact: Any

    def __hash__(self) -> int:
        return 0

    def __deepcopy__(self, memo: dict[int, Any]) -> _Noted:
        """Itself: facts are values, which nobody changes."""
        return self


def without_facts(tree: N) -> N:
    """The tree itself, without facts, to be spelt: a generator may take any argument of a node for words.

    >>> NOTED: Fact[int] = Fact("noted")
    >>> without_facts(NOTED.on(exp.Max(this=exp.column("x")), 1)).sql("duckdb")
    'MAX(x)'
    """
    for node in tree.walk():
        if not _ARGUMENTS.isdisjoint(node.args):
            for name in _ARGUMENTS.intersection(node.args):
                del node.args[name]
    return tree


def fact_of(argument: object) -> object:
    """The fact that an argument of a node is; None where it is none."""
    return argument.fact if isinstance(argument, _Noted) else None


def is_fact(argument: object) -> bool:
    """Whether an argument of a node is a fact, which no text of an analyst can write."""
    return isinstance(argument, _Noted)
