"""Exact draws from a cryptographic source."""

from dpsql.mechanisms.sampling.chain import Chain
from dpsql.mechanisms.sampling.exponential import ExponentialPick
from dpsql.mechanisms.sampling.law import Law
from dpsql.mechanisms.sampling.permute_and_flip import PermuteAndFlip
from dpsql.mechanisms.sampling.positions import Positions
from dpsql.mechanisms.sampling.product import Product
from dpsql.mechanisms.sampling.sampler import (
    WIDEST,
    OpenDPSampler,
    Sampler,
    TooWide,
    Vector,
    check_scale,
    float_at_least,
    opendp_noise,
)
from dpsql.mechanisms.sampling.walks import Candidate

__all__ = [
    "WIDEST",
    "Candidate",
    "Chain",
    "ExponentialPick",
    "Law",
    "OpenDPSampler",
    "PermuteAndFlip",
    "Positions",
    "Product",
    "Sampler",
    "TooWide",
    "Vector",
    "check_scale",
    "float_at_least",
    "opendp_noise",
]
