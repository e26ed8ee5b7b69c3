"""EXPLAIN takes PostgreSQL's options, and none makes it run its statement."""

import pytest

from rewriter.refused import NOT_ANSWERED, SYNTAX, Refused
from rewriter.statement import Explain, parse

ONE = "SELECT COUNT(*) FROM patient"


@pytest.mark.parametrize(
    ("options", "as_json"),
    [
        ("", False),
        ("VERBOSE", False),
        ("(COSTS)", False),
        ("(FORMAT JSON)", True),
        ("(format text, settings on)", False),
        (
            "(FORMAT JSON, ANALYZE false, VERBOSE off, COSTS 0, TIMING true, BUFFERS on, SUMMARY 1, SETTINGS false)",
            True,
        ),
        ("(ANALYZE off, FORMAT JSON, FORMAT TEXT)", False),
    ],
)
def test_options_change_no_more_than_the_format(options: str, as_json: bool) -> None:
    explained = parse(f"EXPLAIN {options} {ONE}")
    assert isinstance(explained, Explain)
    assert explained.as_json is as_json
    assert explained.query == parse(ONE)


@pytest.mark.parametrize(
    "options", ["ANALYZE", "ANALYZE VERBOSE", "VERBOSE ANALYZE", "(ANALYZE)", "(COSTS off, ANALYZE on)"]
)
def test_a_statement_is_not_run_to_explain_it(options: str) -> None:
    with pytest.raises(Refused, match="paid for") as refused:
        parse(f"EXPLAIN {options} {ONE}")
    assert refused.value.sqlstate == NOT_ANSWERED


@pytest.mark.parametrize(
    ("options", "sqlstate"),
    [
        ("(FORMAT XML)", NOT_ANSWERED),
        ("(COSTS maybe)", SYNTAX),
        ("(COSTS off, FASTER)", SYNTAX),
        ("(COSTS off, ", SYNTAX),
        ("(COSTS off, )", SYNTAX),
    ],
)
def test_an_option_that_postgresql_does_not_know_is_refused(options: str, sqlstate: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(f"EXPLAIN {options} {ONE}")
    assert refused.value.sqlstate == sqlstate
