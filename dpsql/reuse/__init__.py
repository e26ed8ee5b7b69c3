"""Answers made of earlier releases."""

from dpsql.reuse.derive import Made, Offer, refined
from dpsql.reuse.offers import Reuse
from dpsql.reuse.tiles import BoughtMember, Lattice, Tile, measures_of, only_vector

__all__ = ["BoughtMember", "Lattice", "Made", "Offer", "Reuse", "Tile", "measures_of", "only_vector", "refined"]
