"""Least squares, projections and rounding over arrays."""

from dpsql.inference.numeric.arrays import BoolArray, FloatArray, IntArray
from dpsql.inference.numeric.largest_remainder import apportion, apportion_all, round_lattice, round_tree
from dpsql.inference.numeric.least_squares import FAR, Unsolved, check_reach, lattice, tree
from dpsql.inference.numeric.power_series import quotient
from dpsql.inference.numeric.projection import monotone, nonnegative_lattice, simplex, simplices, top_down

__all__ = [
    "FAR",
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Unsolved",
    "apportion",
    "apportion_all",
    "check_reach",
    "lattice",
    "monotone",
    "nonnegative_lattice",
    "quotient",
    "round_lattice",
    "round_tree",
    "simplex",
    "simplices",
    "top_down",
    "tree",
]
