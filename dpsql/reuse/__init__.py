"""Answers made of earlier releases."""

from dpsql.reuse.derive import Made, Offer, refined
from dpsql.reuse.offers import Reuse
from dpsql.reuse.readings import Reading, readings_of, squares
from dpsql.reuse.tiles import BoughtMember, Lattice, Tile, measures_of, noise_of, only_sums

__all__ = [
    "BoughtMember",
    "Lattice",
    "Made",
    "Offer",
    "Reading",
    "Reuse",
    "Tile",
    "measures_of",
    "noise_of",
    "only_sums",
    "readings_of",
    "refined",
    "squares",
]
