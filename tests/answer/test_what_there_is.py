"""Who asks what tables there are, in whatever words, is told of the relation that lists them."""

from __future__ import annotations

import pytest

from rewriter.front_door import parse
from rewriter.refused import Refused


@pytest.mark.parametrize("text", ["DESCRIBE patient", "desc patient", "SUMMARIZE patient", r"\d patient", r"\dt"])
def test_a_description_is_a_relation(text: str) -> None:
    with pytest.raises(Refused) as told:
        parse(text)
    assert "dpsql.columns" in told.value.hint
