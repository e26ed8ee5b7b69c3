"""Answers made of earlier releases."""

from dpsql.reuse.derive import Made, Offer, refined
from dpsql.reuse.offers import Reuse
from dpsql.reuse.tiles import Lattice, Member, Tile, only_statistic

__all__ = ["Lattice", "Made", "Member", "Offer", "Reuse", "Tile", "only_statistic", "refined"]
