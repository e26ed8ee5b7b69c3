"""An explanation, drawn: what would be read, how far one person can move it, and what hides that."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import sqlglot
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text
from sqlglot import exp

from dpsql.display.terminal_tables import grid
from dpsql.price_text import left_over, price_lines
from dpsql.releases import Additive, bar
from rewriter.plan import Block, Plan, aim_of

if TYPE_CHECKING:
    from dpsql.reply import Better, Explanation, ReleaseExplanation


_MOST_BRANCHES = 12


def explanation(told: Explanation, *, sql: bool = True) -> Group:
    """What one gets, its price, what is left and what would be better; then, with ``sql``, how it is computed."""
    parts: list[RenderableType] = [_answered(told), *(Text(line) for line in _groups(told)), Text("")]
    parts += [Text(_price(told)), Text("")]
    if told.better:
        parts += [*_better(told), Text("")]
    parts += [Text(f"Note: {notice}.") for notice in told.notices]
    parts += [Text(f"Note: {_to_weigh(one)}.") for one in told.to_weigh]
    if sql:
        parts += [Text(""), *_computed(told)]
    return Group(*parts)


def explanation_lines(told: Explanation) -> list[str]:
    """All of it as plain text, for clients that have only rows of text to show it in."""
    page = io.StringIO()
    Console(file=page, width=100, color_system=None).print(explanation(told), highlight=False)
    return [line.rstrip() for line in page.getvalue().rstrip().split("\n")]


def _computed(told: Explanation) -> Iterator[RenderableType]:
    """All releases of a statement, and what is computed over them."""
    for number, release in enumerate(told.releases, start=1):
        origin = f"; {release.origin}" if release.origin else ""
        yield Text(f"Release {number} of {len(told.releases)}{_grouped(release)}{origin}", style="bold")
        for part in _release(release):
            yield Padding(part, (0, 0, 0, 2), expand=False)
        yield Text("")
    if told.outer_sql:
        yield Text("Over the released tables", style="bold")
        yield Padding(code(told.outer_sql, "duckdb"), (0, 0, 1, 2))


def _groups(told: Explanation) -> Iterator[str]:
    """Which groups there will be, and what the errors are foretold for."""
    seen = dict.fromkeys(found for release in told.releases if (found := _grouped(release).removeprefix(", ")))
    for found in seen:
        yield f"Groups {found}."
    if not any(release.plan.outputs for release in told.releases):
        return
    # Here, since a refusal is drawn without plans, and the mechanisms take a second to load.
    from dpsql.inference.estimates import estimate_of

    words: dict[tuple[int, bool, str], dict[str, None]] = {}
    steps: dict[str, None] = {}
    for release in told.releases:
        for output in release.plan.outputs:
            one = estimate_of(output.estimator)
            if one.foretold:
                steps[one.foretold.format(rows=release.group)] = None
            elif one.estimator.is_quotient or (one.word == "quantile" and output.name in release.margins):
                lies = ", whose values lie as their profile tells" if output.name in release.spreads else one.assumed
                words.setdefault((release.group, release.profiled, lies if one.assumed else ""), {})[one.word] = None
    for (rows, profiled, lies), kinds in words.items():
        whose = ", its part of the table by the profile, without conditions" if profiled else ""
        what = " or a ".join(kinds)
        yield f"The error of a {what} is that of a group of {rows:,} rows{whose}{lies}; larger groups have less."
    yield from steps


def _better(told: Explanation) -> Iterator[RenderableType]:
    """What would make it more accurate, with the errors that it would have."""
    yield grid(
        ["what would make it more accurate", "expected 95 % error", "takes away"],
        [
            [f"the owner's policy, {one.change}" if one.by_owner else _at_price(one) for one in told.better],
            [_errors(told, one.errors) for one in told.better],
            [_less(told, one.less) for one in told.better],
        ],
        [False, False, False],
    )
    if any(one.larger > 1 for one in told.better):
        yield Text("Larger groups count more: what they take away is of the error beside a number.")
    if any(one.by_owner for one in told.better):
        yield Text("A tighter bound cuts more off: it is for people whose rows or values are beyond it seldom.")


def _to_weigh(one: Better) -> str:
    """A bound whose gain is told to the owner beside what it does to all keys, and nowhere else."""
    return f"whether {one.change} is worth it hangs on questions by other keys: see dpsql check POLICY --data"


def _at_price(one: Better) -> str:
    if one.larger > 1:
        return f"{one.change}: groups {one.larger:.3g} times as large"
    return f"{one.change}, for {float(one.price):.3g} times the price"


def _less(told: Explanation, less: Sequence[float | None]) -> str:
    """The part of each error that goes; once where it is the same for all."""
    known = [(column.name, f"{part:.0%}") for column, part in zip(told.columns, less, strict=True) if part is not None]
    if len({part for _, part in known}) == 1:
        return known[0][1]
    return ", ".join(f"{name} {part}" for name, part in known)


def _errors(told: Explanation, errors: Sequence[float | None]) -> str:
    pairs = zip(told.columns, errors, strict=True)
    known = ((column, error) for column, error in pairs if error is not None and error < math.inf)
    return ", ".join(f"{column.name} ± {bar(error)}" for column, error in known)


def code(sql: str, dialect: str = "") -> RenderableType:
    """SQL, one clause a line where a dialect says how to lay it out."""
    if dialect:
        tree = sqlglot.parse_one(sql, dialect=dialect).transform(_bare).transform(_short)
        sql = tree.sql(dialect=dialect, pretty=True, max_text_width=70)
    return Syntax(sql, "sql", theme="ansi_dark", background_color="default", word_wrap=True)


def _bare(node: exp.Expr) -> exp.Expr:
    """A column's expression needs no parentheses, and each pair would take two lines."""
    return node.this if isinstance(node, exp.Paren) and isinstance(node.parent, exp.Alias) else node


def _short(node: exp.Expr) -> exp.Expr:
    """The first and the last branches of a long CASE, such as the bins of a histogram."""
    branches = node.args["ifs"] if isinstance(node, exp.Case) else ()
    if len(branches) > _MOST_BRANCHES:
        left_out = exp.If(this=exp.var("…"), true=exp.var("…"))
        node.set("ifs", [*branches[: _MOST_BRANCHES // 2], left_out, *branches[-2:]])
    return node


def exact(value: Fraction | int) -> str:
    """A number for reading: whole numbers in full, others to six digits.

    >>> exact(Fraction(9600)), exact(Fraction(1, 64)), exact(Fraction(10, 3))
    ('9,600', '0.015625', '3.33333')
    """
    return f"{int(value):,}" if value == int(value) else f"{float(value):.6g}"


def noise(hidden_by: Additive, granularity: Fraction) -> str:
    """The distribution, in the units of the column.

    >>> from dpsql.mechanisms import Gaussian, Laplace
    >>> noise(Gaussian(Fraction(76801)), Fraction(1, 2)), noise(Laplace(Fraction(10)), Fraction(1))
    ('Gaussian, σ = 38,400', 'Laplace, b = 10')
    """
    scale = float(f"{float(hidden_by.scale * granularity):.4g}")
    return f"{hidden_by.name.title()}, {hidden_by.symbol} = {scale:,.15g}"


def _grouped(release: ReleaseExplanation) -> str:
    plan = release.plan
    if release.beside:
        return ", the total, for the row of the groups that are not shown"
    if not plan.keys:
        return ", to know how many groups have rows" if release.marginal else ""
    keys = ", ".join(key.text for key in plan.keys)
    if release.marginal:
        return f", by {keys} alone, to know where its ends are"
    if plan.selection is not None:
        return f", by {keys}: groups are named when enough people are in them"
    if not plan.cells:
        return f", by {keys}"
    nulls = ", ".join(key.text for key in plan.keys if key.lists_null)
    of = f" of {nulls}" if len(plan.keys) > 1 else ""
    null = f" (NULL{of} counted)" if nulls else ""
    every = ", shown whether or not anybody is in them" if release.every else ""
    return f", by {keys}: {plan.shown_cells} declared groups{null}{every}"


def _release(release: ReleaseExplanation) -> Iterator[RenderableType]:
    plan = release.plan
    yield Text("Bounded SQL", style="italic")
    for sql in (plan.sql, *(choice.sql for choice in plan.choices)):
        if sql:
            yield Padding(code(sql, plan.dialect), (0, 0, 1, 2))
    steps = {id(step.blocks[0]): (number, step) for number, step in enumerate(plan.steps, start=1)}
    for block, hidden_by in zip(plan.blocks, release.mechanisms, strict=True):
        if (found := steps.get(id(block))) is not None:
            number, step = found
            yield Text(f"Step {number} of {len(steps)}, at numbers that were released before it", style="italic")
            if number == 1:
                yield Padding(code(step.sql, plan.dialect), (0, 0, 1, 2))
        yield from _block(block, hidden_by)
    if plan.choices:
        yield from _choices(plan)
    yield _outputs(release)
    if release.ranking:
        yield Text(f"{release.ranking[0].upper()}{release.ranking[1:]}.")


def _block(block: Block, hidden_by: Additive) -> Iterator[RenderableType]:
    statistics = block.statistics
    unit = block.prefix.strategy.unit if block.prefix is not None else 1
    yield grid(
        ["statistic", "what", "in steps of", "most per cell", "noise"],
        [
            [statistic.name for statistic in statistics],
            [statistic.text for statistic in statistics],
            [exact(statistic.granularity) for statistic in statistics],
            [exact(statistic.bound * statistic.granularity) for statistic in statistics],
            [noise(hidden_by, statistic.granularity / unit) for statistic in statistics],
        ],
        [False, False, True, True, False],
    )
    together = block.sensitivity
    norms = [f"L2 ≤ {exact(_root(together.l2_squared) / unit)}"]
    if together.l1 is not None:
        norms.insert(0, f"L1 ≤ {exact(Fraction(together.l1, unit))}")
    cells = "cells" if block.prefix is None else f"running sums, counted in 1/{unit:,} of a step"
    yield Text(f"What one person can move, over all {cells}: {', '.join(norms)} steps.\n")


def _choices(plan: Plan) -> Iterator[RenderableType]:
    choices = plan.choices
    yield grid(
        ["picked", "of", "fractions", "candidates", "in steps of", "one row weighs", "one person"],
        [
            [choice.name for choice in choices],
            [choice.text for choice in choices],
            [", ".join(_fraction(one) for one in choice.fractions) or "the most common" for choice in choices],
            [f"{choice.high - choice.low + 1:,}" for choice in choices],
            [exact(choice.granularity) for choice in choices],
            [exact(choice.row) for choice in choices],
            [f"L2 ≤ {exact(_root(choice.sensitivity.l2_squared))}" for choice in choices],
        ],
        [False, False, False, True, True, True, False],
    )
    if any(choice.fractions for choice in choices):
        yield Text(
            "Quantiles are picked by the exponential mechanism, several of one column together where that is more\n"
            "accurate, with two values beside each that tell its error. The error to expect is that of a group of\n"
            "1,000 rows, spread evenly over the range.\n"
        )
    if any(choice.candidates for choice in choices):
        yield Text("The most common is picked among declared values, by a mechanism that the notes below name.\n")


def _fraction(one: Fraction) -> str:
    _, rows = aim_of(one)
    if rows:
        return f"row {math.ceil(abs(rows)):,} from the {'least' if rows > 0 else 'greatest'}"
    return {0: "MIN, approximately", 1: "MAX, approximately"}.get(int(one) if one in (0, 1) else -1, f"{float(one):g}")


def _root(square: int) -> Fraction:
    root = math.isqrt(square)
    return Fraction(root) if root * root == square else Fraction(math.sqrt(square))


def _outputs(release: ReleaseExplanation) -> RenderableType:
    outputs = release.plan.outputs
    running = [output for output in outputs if output.name in release.running]
    widths = {b.prefix.strategy.width for b in release.plan.blocks if b.prefix is not None} - {None}
    what = f"sum of {max(filter(None, widths))} neighbours of" if widths else "running sum of"
    margins = [release.margins.get(output.name) for output in outputs]
    margins += [release.running[output.name] for output in running]
    return grid(
        ["column", "asked as", "expected 95 % error"],
        [
            [output.name for output in outputs] + ["" for _ in running],
            [output.text for output in outputs] + [f"{what} {output.text}" for output in running],
            ["" if margin is None else f"± {bar(margin)}" for margin in margins],
        ],
        [False, False, True],
    )


def _expected(error: float | tuple[float | None, ...] | None) -> str:
    if isinstance(error, tuple):
        return "{" + ", ".join(map(_expected, error)) + "}"
    return "" if error is None else f"± {bar(error)}"


def _answered(told: Explanation) -> RenderableType:
    """The columns of the answer, each with the error to expect where that is known before."""
    return grid(
        ["column", "expected 95 % error"],
        [
            [column.name for column in told.columns],
            [_expected(error) for error in told.errors],
        ],
        [False, True],
    )


def _price(told: Explanation) -> str:
    left = told.remaining_after
    paid = price_lines(told.price, told.epsilon, left, "Price") or ["Price: nothing."]
    return "\n".join([*paid, f"It would leave {left_over(left)}."])
