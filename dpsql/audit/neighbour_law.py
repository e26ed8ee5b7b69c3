"""The law that privacy leans on, before any noise: one person moves no integer further than noise is scaled for.

The integers of a release over a database and over its *neighbour*, the same database without one person, are compared
with zero tolerance: that is the definition of sensitivity (:class:`rewriter.declared.Sensitivity`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewriter.declared import Sensitivity
from rewriter.plan import Block, Plan, Top

Groups = Mapping[Any, Mapping[str, int]]
"""The integers of each group, by its key, and by the names of their statistics."""


class MovedTooFar(AssertionError):
    """One person moves something further than was claimed: what, and by how much."""


def compare(plan: Plan, here: Groups, there: Groups) -> float:
    """Check the table of a database against that of a neighbour. Answers the largest share of a bound that was used."""
    _keys(plan, here, there)
    shares = [_cells(plan, here, there)]
    for block in plan.blocks:
        names = [statistic.name for statistic in block.statistics]
        ours, theirs = (measured(block, names, table) for table in (here, there))
        if plan.top is not None:
            ours, theirs = _worst(names, plan.top.count, ours, theirs)
        shares.append(_vector(" ".join(names), names, block.sensitivity, ours, theirs))
        if block.rises:
            _one_way(" ".join(names), names, ours, theirs)
    if plan.top is not None:
        _reach(plan.top, here, there)
    if plan.selection is not None:
        name = plan.selection.name
        shares.append(_vector(f"weight {name}", [name], plan.selection.sensitivity, here, there))
        if any(row[name] < 0 for row in here.values()):
            raise MovedTooFar("a negative weight")
    return max(shares)


def measured(block: Block, names: Sequence[str], table: Groups) -> Groups:
    """The integers that noise is added to: of the groups, or of what is measured in their place."""
    if block.strategy is None:
        return table
    columns = [block.strategy.measured([row[name] for row in table.values()], list(table)) for name in names]
    return {(place,): dict(zip(names, row, strict=True)) for place, row in enumerate(zip(*columns, strict=True))}


def _worst(names: Sequence[str], count: int, here: Groups, there: Groups) -> tuple[Groups, Groups]:
    """The groups that move furthest: whichever are picked, so many of them are measured."""

    def moved(key: tuple[object, ...]) -> int:
        return sum((here[key][name] - there[key][name]) ** 2 for name in names)

    furthest = sorted(here, key=moved, reverse=True)[:count]
    return {key: here[key] for key in furthest}, {key: there[key] for key in furthest}


def _reach(top: Top, here: Groups, there: Groups) -> None:
    """How far apart one unit moves the groups' statistics, and nobody else's: what a pick pays for."""
    moves = [here[key][top.name] - there[key][top.name] for key in here] or [0]
    if max(*moves, 0) - min(*moves, 0) > top.reach:
        raise MovedTooFar(f"{top.name} moved from {min(moves)} to {max(moves)}, reach {top.reach}")


def _one_way(what: str, names: Sequence[str], here: Groups, there: Groups) -> None:
    """That nothing goes up where something goes down: what a watch and a pick pay for."""
    moves = _moves(names, here, there)
    if min(moves, default=0) < 0 < max(moves, default=0):
        raise MovedTooFar(f"{what} moved by {min(moves)} and by {max(moves)}, claimed one way")


def _moves(names: Sequence[str], here: Groups, there: Groups) -> list[int]:
    return [
        here.get(key, {}).get(name, 0) - there.get(key, {}).get(name, 0) for key in {**here, **there} for name in names
    ]


def _keys(plan: Plan, here: Groups, there: Groups) -> None:
    if plan.selection is None:
        if list(here) != list(there):
            raise MovedTooFar(f"a public key set changed: {sorted(set(here) ^ set(there), key=repr)[:4]}")
        if plan.cells is not None and len(here) > plan.cells:
            raise MovedTooFar(f"{len(here)} groups, {plan.cells} were announced")
    common = [key for key in here if key in there]
    if common != [key for key in there if key in here]:
        raise MovedTooFar("the order of groups changed")


def _cells(plan: Plan, here: Groups, there: Groups) -> float:
    most = 0.0
    for statistic in plan.statistics:
        for key in {**here, **there}:
            move = abs(here.get(key, {}).get(statistic.name, 0) - there.get(key, {}).get(statistic.name, 0))
            if move > statistic.bound:
                raise MovedTooFar(f"{statistic.name} ({statistic.text}) of {key} moved {move}, bound {statistic.bound}")
            most = max(most, move / statistic.bound if statistic.bound else 0.0)
    return most


def _vector(what: str, names: Sequence[str], declared: Sensitivity, here: Groups, there: Groups) -> float:
    moves = _moves(names, here, there)
    l1, squared = sum(map(abs, moves)), sum(move * move for move in moves)
    if declared.l1 is not None and l1 > declared.l1:
        raise MovedTooFar(f"{what} moved {l1} in L1, declared {declared.l1}")
    if squared > declared.l2_squared:
        raise MovedTooFar(f"{what} moved {squared} in squared L2, declared {declared.l2_squared}")
    shares = [(squared / declared.l2_squared) ** 0.5 if declared.l2_squared else 0.0]
    if declared.l1:
        shares.append(l1 / declared.l1)
    return max(shares)
