"""Every estimator that a plan may hold has its estimate."""

from dpsql.inference.estimates.kinds_of_estimates import _KINDS
from rewriter import debiased, plan, regression


def test_every_estimator_of_the_plan_has_an_estimate_and_no_base_of_others_has_one() -> None:
    declared = {
        kind
        for module in (plan, regression, debiased)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, plan.Estimator)
    }
    bases = {kind for kind in declared if any(issubclass(other, kind) and other is not kind for other in declared)}
    assert bases == {plan.Estimator, regression.SecondMomentFigure}
    assert declared - bases == _KINDS.keys()
