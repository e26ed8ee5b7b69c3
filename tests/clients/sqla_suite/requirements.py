"""What a read-only database can be asked by SQLAlchemy's suite: each flag that is closed says why."""

from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

# A row of a released answer is data already; these need a table to be written, or an object that a policy cannot declare.
WRITES = """create_table drop_table insert_from_select insert_returning update_returning delete_returning autoincrement_insert
    insert_order_dicts empty_inserts sequences temp_table_reflection temporary_tables views comment_reflection
    computed_columns identity_columns savepoints two_phase_transactions reflects_pk_names index_reflection
    unique_constraint_reflection table_ddl_if_exists implicitly_named_constraints""".split()
# Types that the rewriter does not know: a column of such a type is not visible to analysts.
TYPES = """json_type binary_literals datetime_timezone time time_microseconds uuid_data_type array_type
    datetime_historic date_historic unicode_ddl""".split()
# Forms of SELECT that are refused by name.
FORMS = """tuple_in tuple_in_w_empty regexp_match regexp_replace window_functions fetch_ties fetch_percent fetch_expression
    ctes_on_dml ctes_with_update_delete collate order_by_collation supports_distinct_on""".split()
# Forms of SELECT that are answered, and that the suite does not try unless told so.
ANSWERED = """ctes boolean_col_expressions bound_limit_offset offset order_by_label_with_expression fetch_first
    fetch_no_order_by table_value_constructor""".split()


class Requirements(SuiteRequirements):  # type: ignore[misc]
    pass


def _flag(opened: bool) -> Any:
    return property(lambda self: exclusions.open() if opened else exclusions.closed())


for _name in WRITES + TYPES + FORMS:
    setattr(Requirements, _name, _flag(False))
for _name in ANSWERED:
    setattr(Requirements, _name, _flag(True))
