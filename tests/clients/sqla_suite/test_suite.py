"""The classes of SQLAlchemy's dialect suite that read: each over tables that the owner has filled."""

from preloaded import PreloadedTables
from sqlalchemy.testing.suite import test_cte, test_results, test_select
from sqlalchemy.testing.suite.test_dialect import (  # noqa: F401
    DifficultParametersTest,
    EscapingTest,
    ExceptionTest,
)

READING = (
    test_cte.CTETest,
    test_results.RowFetchTest,
    test_results.NameDenormalizeTest if hasattr(test_results, "NameDenormalizeTest") else None,
    test_select.OrderByLabelTest,
    test_select.FetchLimitOffsetTest,
    test_select.JoinTest,
    test_select.CompoundSelectTest,
    test_select.PostCompileParamsTest,
    test_select.ExpandingBoundInTest,
    test_select.LikeFunctionsTest,
    test_select.ExistsTest,
    test_select.IsOrIsNotDistinctFromTest,
)

for _class in READING:
    if _class is not None:
        globals()[_class.__name__] = type(_class.__name__, (PreloadedTables, _class), {"__module__": __name__})
del _class
