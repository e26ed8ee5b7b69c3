"""Which estimate belongs to which kind of estimator: the one place that tells them apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpsql.inference.estimates.debiased_figures import DebiasedEstimate
from dpsql.inference.estimates.estimate import Estimate
from dpsql.inference.estimates.logistic_figures import LogisticEstimate
from dpsql.inference.estimates.mean_share import MeanEstimate
from dpsql.inference.estimates.moment_figures import MomentEstimate
from dpsql.inference.estimates.picked_quantiles import PickEstimate
from dpsql.inference.estimates.principal_components import ComponentEstimate
from dpsql.inference.estimates.regression_figures import RegressionEstimate
from dpsql.inference.estimates.weighted_sums import SumEstimate
from rewriter.debiased import Debiased
from rewriter.plan import Chosen, Estimator, Linear, Moment, Ratio
from rewriter.regression import LogisticRegression, PrincipalComponent, Regression

_KINDS: Mapping[type[Estimator], type[Estimate[Any]]] = {
    Linear: SumEstimate,
    Ratio: MeanEstimate,
    Moment: MomentEstimate,
    Chosen: PickEstimate,
    Regression: RegressionEstimate,
    PrincipalComponent: ComponentEstimate,
    Debiased: DebiasedEstimate,
    LogisticRegression: LogisticEstimate,
}


def estimate_of(estimator: Estimator) -> Estimate[Any]:
    """What the privacy knows of an estimator.

    >>> type(estimate_of(Chosen("q0", 0))).__name__
    'PickEstimate'
    """
    return _KINDS[type(estimator)](estimator)
