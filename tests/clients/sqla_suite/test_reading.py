"""The classes of SQLAlchemy's dialect suite that read: each over tables that the owner has filled."""

from preloaded import PreloadedTables
from sqlalchemy.testing.suite import test_cte, test_results, test_select

READING = (
    test_cte.CTETest,
    test_results.RowFetchTest,
    test_select.OrderByLabelTest,
    test_select.FetchLimitOffsetTest,
    test_select.JoinTest,
    test_select.CompoundSelectTest,
    test_select.PostCompileParamsTest,
    test_select.ExpandingBoundInTest,
    test_select.LikeFunctionsTest,
    test_select.ExistsTest,
)

LEFT_OUT = {
    "CTETest": """test_insert_from_select_round_trip test_update_from_round_trip test_delete_from_round_trip
        test_delete_scalar_subq_round_trip test_select_recursive_round_trip""".split(),
    "CompoundSelectTest": ["test_order_by_selectable_in_unions"],
}
"""Tests that write, or ask what is refused by name: WITH RECURSIVE, ORDER BY in a branch of a UNION. There is no flag."""

for _class in READING:
    _without = dict.fromkeys(LEFT_OUT.get(_class.__name__, ()))
    globals()[_class.__name__] = type(_class.__name__, (PreloadedTables, _class), {"__module__": __name__, **_without})
del _class
