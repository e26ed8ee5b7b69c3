"""The aggregates that are made of moments."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewriter.plan import Figure

FIGURES: Mapping[type[exp.Expr], Figure] = {
    exp.VariancePop: Figure.VARIANCE_POP,
    exp.Variance: Figure.VARIANCE_SAMP,
    exp.StddevPop: Figure.DEVIATION_POP,
    exp.Stddev: Figure.DEVIATION_SAMP,
    exp.StddevSamp: Figure.DEVIATION_SAMP,
    exp.RegrSxx: Figure.SQUARES,
    exp.RegrSyy: Figure.SQUARES,
    exp.CovarPop: Figure.COVARIANCE_POP,
    exp.CovarSamp: Figure.COVARIANCE_SAMP,
    exp.RegrSxy: Figure.PRODUCTS,
    exp.Corr: Figure.CORRELATION,
    exp.RegrR2: Figure.DETERMINATION,
    exp.RegrSlope: Figure.SLOPE,
    exp.RegrIntercept: Figure.INTERCEPT,
}
"""The aggregates that are made of moments. Those of two arguments have y first, as in CORR(y, x)."""
