"""Groups of which a statement says whose they are, by the MIN or MAX of the key of the person."""

from __future__ import annotations

from rewriter.aggregates import Grouped


def named_person(grouped: Grouped) -> str | None:
    """The MIN or MAX by which a group says whose it is: of the key of the person, over all rows of a group.

    ``SELECT MAX(patient_id), … GROUP BY sample_id`` speaks of groups of one person each. They are grouped by the person
    as well, which adds nothing where that is so, and keeps people apart where it is not. Only what is known of a person
    is read of such groups, by a LEFT JOIN of them: how many there are would hang on the statement's word.
    """
    for one in grouped.aggregates:
        named = one.kind.same_of_one and one.argument is not None and one.argument.unit and not one.distinct
        if grouped.keys and named and one.condition is None and not one.value.nullable:
            return one.text
    return None
