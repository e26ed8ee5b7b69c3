"""Answers made of earlier releases."""

from dpsql.reuse.derive import Made, Offer, refined
from dpsql.reuse.offers import Reuse
from dpsql.reuse.tiles import BoughtMember, Lattice, Tile, only_statistic

__all__ = ["BoughtMember", "Lattice", "Made", "Offer", "Reuse", "Tile", "only_statistic", "refined"]
