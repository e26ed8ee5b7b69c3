"""The figures of operations, where a report of everything asks for them: the tests beside this one hold them each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.operations.__main__ import figures, findings

REPORT = "DPSQL_TRUST_JSON"
"""The variable of the environment that names the file of a report."""


@pytest.mark.skipif(REPORT not in os.environ, reason="nobody wants a report")
def test_every_figure_keeps_its_promise() -> None:
    found = figures()
    Path(os.environ[REPORT]).write_text(findings(found))
    assert [one for one in found if not one.holds] == []
