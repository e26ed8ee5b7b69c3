"""Answers made of earlier releases."""

from dpsql.reuse.completed import Completion
from dpsql.reuse.conditional_tiles import of_each_condition, of_several
from dpsql.reuse.derive import Made, Offer, refined
from dpsql.reuse.divided_marginals import AskedOfDivided, divided_shares
from dpsql.reuse.offers import Reuse, listing_once
from dpsql.reuse.readings import Reading, readings_of, squares
from dpsql.reuse.tiles import BoughtMember, Combines, Lattice, MergedKey, Tile, measures_of, noise_of, only_sums

__all__ = [
    "AskedOfDivided",
    "BoughtMember",
    "Combines",
    "Completion",
    "Lattice",
    "Made",
    "MergedKey",
    "Offer",
    "Reading",
    "Reuse",
    "Tile",
    "divided_shares",
    "listing_once",
    "measures_of",
    "noise_of",
    "of_each_condition",
    "of_several",
    "only_sums",
    "readings_of",
    "refined",
    "squares",
]
