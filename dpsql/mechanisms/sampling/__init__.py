"""Exact draws from a cryptographic source."""

from dpsql.mechanisms.sampling.block_key import BlockKey
from dpsql.mechanisms.sampling.chain import Chain
from dpsql.mechanisms.sampling.exponential import ExponentialPick, least_first
from dpsql.mechanisms.sampling.law import Law
from dpsql.mechanisms.sampling.permute_and_flip import PermuteAndFlip
from dpsql.mechanisms.sampling.positions import Positions
from dpsql.mechanisms.sampling.product import Product
from dpsql.mechanisms.sampling.sampler import (
    WIDEST,
    ExactSampler,
    Sampler,
    TooWide,
    check_scale,
    float_at_least,
)
from dpsql.mechanisms.sampling.vector_draws import gaussian_draws, laplace_draws
from dpsql.mechanisms.sampling.walks import Candidate

__all__ = [
    "WIDEST",
    "BlockKey",
    "Candidate",
    "Chain",
    "ExactSampler",
    "ExponentialPick",
    "Law",
    "PermuteAndFlip",
    "Positions",
    "Product",
    "Sampler",
    "TooWide",
    "check_scale",
    "float_at_least",
    "gaussian_draws",
    "laplace_draws",
    "least_first",
]
