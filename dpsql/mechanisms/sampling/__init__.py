"""Exact draws from a cryptographic source."""

from dpsql.mechanisms.sampling.chain import Chain
from dpsql.mechanisms.sampling.positions import Positions
from dpsql.mechanisms.sampling.product import Product
from dpsql.mechanisms.sampling.sampler import WIDEST, OpenDPSampler, Sampler, TooWide, check_scale, float_at_least
from dpsql.mechanisms.sampling.walks import Candidate

__all__ = [
    "WIDEST",
    "Candidate",
    "Chain",
    "OpenDPSampler",
    "Positions",
    "Product",
    "Sampler",
    "TooWide",
    "check_scale",
    "float_at_least",
]
