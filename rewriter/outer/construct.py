"""One construct of SQL above releases, and all that is known of it: a clause, an operator, a literal or a function.

Whoever walks an outer SELECT (its check, its provenance, its spelling, its size) asks the construct of each node, and
names no function: a construct that is not listed in :mod:`rewriter.outer.allow_list` is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto

from sqlglot import exp

from rewriter.declared import Type
from rewriter.outer.provenance import Measured, unknown

Columns = Mapping[str, Mapping[str, Type]]
"""The columns of tables, with their types, by table."""


class Trait(Flag):
    """A property of a construct's result, that other constructs ask about."""

    NONE = 0
    SUM = auto()
    """It adds up its argument over rows."""
    MEAN = auto()
    """It is the mean of its argument over rows."""
    ORDERED_SET = auto()
    """It is called with WITHIN GROUP (ORDER BY x)."""
    FROM_ONE = auto()
    """Its argument is a number of rows, 1 at least."""
    NULLIF = auto()
    """Its first argument, or NULL."""
    ROUNDED = auto()
    """Its first argument, rounded to a number of decimals."""
    OPERAND_TYPE = auto()
    """A number of the type that its operands have."""
    DIVIDED = auto()
    """A NUMERIC in PostgreSQL, though of whole numbers, which DuckDB computes in doubles."""
    FIELD = auto()
    """A NUMERIC in PostgreSQL, and an integer in DuckDB."""
    TRUTH = auto()
    """A boolean."""
    JOINS_TEXTS = auto()
    """Texts, one behind the other."""
    LIST = auto()
    """A list of the values that its argument has on the rows."""
    ROWS = auto()
    """It makes a row of each item of a list."""
    PICK = auto()
    """Its first argument as it is in another row of the window."""
    OF_NUMBER = auto()
    """Of any kind of number: PostgreSQL takes a quoted one for a double."""
    REPLACES_TEXT = auto()
    """A text of which parts are replaced, each maybe by a longer one."""


def _accepted(node: exp.Expr) -> None:
    """Every call is answered whose parts are."""


def _without_a_rule(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return unknown(*parts)


def _of_any_sign(node: exp.Expr, parts: Sequence[Measured]) -> bool:
    return False


def _printed_as_it_is(node: exp.Expr) -> int | None:
    return None


def _spelt_by_the_generator(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return node


@dataclass(frozen=True, slots=True)
class Construct:
    """What is known of a construct; each field says nothing special where it is left out.

    ``parts`` are those that a node may have, where PostgreSQL has fewer than the parser, or some are not carried over.
    ``check`` raises :class:`rewriter.refused.Refused` for calls that are not answered. ``provenance`` is the form of a
    result whose operands have known ones, ``nonnegative`` whether it is never below 0 because of them. ``spelling`` is
    the node that means in DuckDB what it means in PostgreSQL, or the node itself, changed. ``decimals`` is how many a
    printed number has, where its text says so. ``repeated`` are the parts that its spelling, or DuckDB's own macro of
    it, has so many ``copies`` of.
    """

    parts: frozenset[str] | None = None
    check: Callable[[exp.Expr], None] = _accepted
    provenance: Callable[[exp.Expr, Sequence[Measured]], Measured] = _without_a_rule
    nonnegative: Callable[[exp.Expr, Sequence[Measured]], bool] = _of_any_sign
    spelling: Callable[[exp.Expr, Spelling], exp.Expr] = _spelt_by_the_generator
    decimals: Callable[[exp.Expr], int | None] = _printed_as_it_is
    traits: Trait = Trait.NONE
    repeated: frozenset[str] = frozenset()
    copies: int = 2


ORDINARY = Construct()
"""Nothing special is known of it."""


@dataclass(frozen=True, slots=True)
class OuterFunction:
    """A function, an aggregate or a window function above releases: its ``names`` in PostgreSQL, the parser's ``node``
    (Anonymous where it has no class, with so many ``arguments``), and its ``construct``. The columns of its
    ``examples`` are those of :class:`rewriter.expressions.scalar_functions.ScalarFunction`.
    """

    names: tuple[str, ...]
    node: type[exp.Expr]
    examples: tuple[str, ...]
    construct: Construct = ORDINARY
    arguments: int | None = None


@dataclass(frozen=True, slots=True)
class ConstructTable:
    """The constructs of nodes, by their class, or by the name of a function that the parser has no class for."""

    by_node: Mapping[type[exp.Expr], Construct]
    by_name: Mapping[str, Construct]

    def of(self, node: exp.Expr) -> Construct:
        """The construct of a node; of one that is not listed nothing is known."""
        return self.listed(node) or ORDINARY

    def listed(self, node: exp.Expr) -> Construct | None:
        """The construct of a node; None where it is not listed. A subclass of a listed class is not."""
        if type(node) is exp.Anonymous:
            return self.by_name.get(node.name.upper())
        return self.by_node.get(type(node))

    def has(self, node: exp.Expr, trait: Trait) -> bool:
        """Whether the result of a node has one of some traits."""
        traits = self.of(node).traits
        return traits is not Trait.NONE and bool(traits & trait)  # most have none, and & of flags is slow


@dataclass(frozen=True, slots=True)
class Spelling:
    """What the spelling of a node may depend on besides the node: the ``columns`` of tables, the ``constructs`` of its
    operands, and the types of what sums add up, by the id of the sum."""

    columns: Columns
    constructs: ConstructTable
    summed: Mapping[int, Type] = field(default_factory=dict)
