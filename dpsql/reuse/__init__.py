"""Answers made of earlier releases."""

from dpsql.reuse.derive import Made, Offer, refined
from dpsql.reuse.offers import Reuse

__all__ = ["Made", "Offer", "Reuse", "refined"]
