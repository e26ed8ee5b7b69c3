"""The limit of a share: of a number that is never negative, over a sum that has this number among its terms.

``100.0 * COUNT(*) / SUM(COUNT(*)) OVER ()`` is at most 100, whatever was measured, and so is a number of a WITH query
over ``(SELECT SUM(n) FROM g)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from rewriter.outer.allow_list import CONSTRUCTS
from rewriter.outer.construct import Trait
from rewriter.outer.provenance import Measured


def most_of(node: exp.Expr, parts: Sequence[Measured]) -> Fraction | None:
    """The greatest number that an expression can be; ``parts`` are what is known of its operands. None: unknown."""
    if isinstance(node, exp.Alias | exp.Paren | exp.Cast) or CONSTRUCTS.has(node, Trait.NULLIF | Trait.ROUNDED):
        return _kept(node, parts)
    if isinstance(node, exp.Mul):
        for one, other in (parts, parts[::-1]):
            if one.most is not None and other.constant is not None and other.constant >= 0:
                return one.most * other.constant
    if isinstance(node, exp.Div):
        factor, part = _scaled(node.this)
        if parts[0].nonnegative and factor >= 0 and _is_sum_with(node.expression, part):
            return factor
        divisor = parts[1].constant
        return None if parts[0].most is None or divisor is None or divisor <= 0 else parts[0].most / divisor
    return None


def _kept(node: exp.Expr, parts: Sequence[Measured]) -> Fraction | None:
    """Rounded to digits, a number is no larger than the largest where this has so few digits itself."""
    most = parts[0].most if parts else None
    is_rounded = CONSTRUCTS.has(node, Trait.ROUNDED)
    if most is None or not (is_rounded or isinstance(node, exp.Cast)):
        return most
    if isinstance(node, exp.Cast) and node.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT):
        return most
    return most if most.denominator == 1 and (not is_rounded or _has_digits(parts)) else None


def _has_digits(parts: Sequence[Measured]) -> bool:
    """Whether a number is not rounded to tens or hundreds."""
    return len(parts) < 2 or (parts[1].constant is not None and parts[1].constant >= 0)


def _scaled(node: exp.Expr) -> tuple[Fraction, exp.Expr]:
    """The factor of a product with literals, and the rest of it."""
    node = _bare(node)
    if isinstance(node, exp.Mul):
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            factor = _bare(one)
            if isinstance(factor, exp.Literal) and not factor.is_string:
                inner, part = _scaled(other)
                return Fraction(factor.name) * inner, part
    return Fraction(1), node


def _is_sum_with(node: exp.Expr, part: exp.Expr) -> bool:
    """Whether ``part`` is one of the terms of a sum."""
    whole = _bare(node)
    while CONSTRUCTS.has(whole, Trait.NULLIF):
        whole = _bare(whole.this)
    if isinstance(whole, exp.Window):
        # SQL's own frame has the row itself.
        summed = _is_sum(whole.this) and whole.args.get("spec") is None and not whole.args.get("alias")
        return summed and _bare(whole.this.this) == part
    if isinstance(whole, exp.Subquery):
        whole = whole.this
    around = part.find_ancestor(exp.Select)
    if not isinstance(whole, exp.Select) or around is None or not isinstance(part, exp.Column):
        return False
    if {name for name, value in whole.args.items() if value} != {"expressions", "from_"}:
        return False
    total = [_bare(item.this if isinstance(item, exp.Alias) else item) for item in whole.expressions]
    if len(total) != 1 or not _is_sum(total[0]) or not isinstance(_bare(total[0].this), exp.Column):
        return False
    table, own = (_only_table(select) for select in (whole, around))
    return table is not None and table == own and _bare(total[0].this).name == part.name


def _is_sum(node: exp.Expr) -> bool:
    return CONSTRUCTS.has(node, Trait.SUM)


def _only_table(select: exp.Select) -> str | None:
    from_ = select.args.get("from_")
    item = None if from_ is None else from_.this
    if select.args.get("joins") or not isinstance(item, exp.Table):
        return None
    alias = item.args.get("alias")
    return None if item.db or (alias is not None and alias.args.get("columns")) else item.name.lower()


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and node.to.this in _NUMBERS):
        node = node.this
    return node


_NUMBERS = (exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL, exp.DType.BIGINT, exp.DType.INT128)
