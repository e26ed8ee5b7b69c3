"""Which groups may appear: declared key sets."""

from rewriter.keys.groups_along import Steps, groups_of_one, steps_along
from rewriter.keys.key_sets import KeySet, PublicKeys, key_set, plain_columns, public_keys
from rewriter.keys.mode_candidates import has_mode, mode_of

__all__ = [
    "KeySet",
    "PublicKeys",
    "Steps",
    "groups_of_one",
    "has_mode",
    "key_set",
    "mode_of",
    "plain_columns",
    "public_keys",
    "steps_along",
]
