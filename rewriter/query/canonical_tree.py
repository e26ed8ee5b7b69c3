"""The canonical tree of a statement: equal questions in one spelling, for whoever splits them.

Names are bound first; then rules, one a file, are applied to each SELECT until none finds anything, those inside first.
Each rule's file says the theorem that makes it right.

It stands in front of all checks: what it makes is read, refused, bounded and charged as if it had been written so. A
mistake here may cost a right answer, and never the promise.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.bound_names import bind
from rewriter.query.counted_rows import count_rows
from rewriter.query.determined_keys import group_by_determined
from rewriter.query.distinct_names import Labels, name_apart, number_anew
from rewriter.query.distinct_sums import sum_groups, windows_below_distinct
from rewriter.query.first_rows_of_people import number_first, number_limited
from rewriter.query.grouped_values import join_groups
from rewriter.query.lateral_subqueries import join_first_rows, without_lateral
from rewriter.query.memberships import as_membership, exists_beside_public_rows, semijoin
from rewriter.query.merged_subqueries import inline_with, merge
from rewriter.query.one_row_items import without_one_row
from rewriter.query.ranks_of_people import ask_ranks
from rewriter.query.row_at_share import SHARE_NOTE, ask_share
from rewriter.query.spread_joins import spread
from rewriter.query.totals_of_groups import total_of_groups, totals_apart
from rewriter.query.unread_columns import drop_unread
from rewriter.query.windows_of_people import ask_first
from rewriter.statement import (
    bare_regressions,
    groups_first,
    named_rows,
    plain_blocks,
    plain_names,
    plain_texts,
    plain_windows,
)


def canonical(tree: exp.Query, catalog: Catalog, *, ranks: bool = True) -> tuple[exp.Query, bool, tuple[str, ...]]:
    """``tree`` in one spelling, whether its names are bound, and notices. It is the caller's own copy.

    ``ranks``: whether ranks across people become comparisons with quantiles.

    A statement of which a name cannot be bound is put by no rule: who reads it says what is wrong, and answers nothing.
    """
    tree = named_rows(groups_first(plain_windows(plain_texts(tree))), catalog)
    tree = plain_names(plain_blocks(bare_regressions(tree)), catalog.schemas)
    if not bind(tree, catalog):
        return tree, False, ()
    shared = [ask_share(select) for select in list(tree.find_all(exp.Select))]
    told = (SHARE_NOTE,) if any(shared) else ()
    selects = list(tree.find_all(exp.Select))
    for select in selects:
        group_by_determined(select, catalog)
    for select in list(tree.find_all(exp.Select)):
        sum_groups(select, catalog)
        windows_below_distinct(select, catalog)
    selects = list(tree.find_all(exp.Select))
    for select in selects:
        count_rows(select, catalog)
    if len(selects) == 1 and not selects[0].args.get("joins"):
        return tree, True, told
    labels = name_apart(tree)
    inline_with(tree)
    if ranks:
        for select in list(tree.find_all(exp.Select)):
            number_limited(select, labels, catalog)
    asked: dict[str, None] = {}
    found: tuple[str, ...] = ()
    for select in reversed(list(tree.find_all(exp.Select))):
        number_first(select, labels, catalog)
        while _changed(select, labels, catalog) or (found := ask_ranks(select, labels, catalog) if ranks else ()):
            asked.update(dict.fromkeys(found))
    drop_unread(tree, catalog)
    number_anew(tree, labels)
    return tree, True, (*told, *asked)


def _changed(select: exp.Select, labels: Labels, catalog: Catalog) -> bool:
    """Apply the first rule that finds something; whether one did."""
    persons = catalog.keys_of_people
    return (
        spread(select)
        or merge(select, labels)
        or ask_first(select, labels, catalog)
        or without_lateral(select, labels)
        or join_first_rows(select, labels)
        or without_one_row(select)
        or as_membership(select, catalog)
        or exists_beside_public_rows(select, catalog)
        or join_groups(select, labels, persons)
        or semijoin(select)
        or total_of_groups(select, persons)
        or totals_apart(select, persons, labels)
    )
