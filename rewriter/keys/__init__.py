"""Which groups may appear: declared key sets."""

from rewriter.keys.column_keys import plain_columns
from rewriter.keys.groups_along import Steps, groups_of_one, steps_along
from rewriter.keys.key_sets import KeySet, PublicKeys, counted_keys, key_set, public_keys
from rewriter.keys.mode_candidates import has_mode, mode_of

__all__ = [
    "KeySet",
    "PublicKeys",
    "Steps",
    "counted_keys",
    "groups_of_one",
    "has_mode",
    "key_set",
    "mode_of",
    "plain_columns",
    "public_keys",
    "steps_along",
]
