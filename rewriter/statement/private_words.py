"""Words by which other systems ask for differential privacy: refused, with the plain SQL that is answered so.

SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) COUNT(*) …    BigQuery
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 1) ANON_COUNT(*) …      ZetaSQL, PipelineDP
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token

from rewriter.refused import SYNTAX, Refused

_SETTINGS = frozenset({"DIFFERENTIAL_PRIVACY", "ANONYMIZATION"})
_CALL = re.compile(r"ANON_([A-Z_]+)")
_PLAIN = {"QUANTILES": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)", "COUNT": "COUNT(*)"}


def check_no_private_words(tokens: Sequence[Token]) -> None:
    """Refuse such words. Raises :class:`Refused` (42601)."""
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        word = token.text.upper()
        if before is not None and before.text.upper() == "WITH" and word in _SETTINGS:
            text, call = f"WITH {word} is not written here: every answer is differentially private", "COUNT(*)"
        elif (found := _CALL.fullmatch(word)) and after is not None and after.text == "(":
            call = _PLAIN.get(found[1], f"{found[1]}(x)")
            text = f"{word} is not written here: {call} over people is differentially private"
        else:
            continue
        hint = f"SELECT {call} FROM …; SET dpsql.epsilon = 1 sets the price, and the owner declares ranges and bounds"
        raise Refused(text, hint=hint, sqlstate=SYNTAX, position=token.start + 1)
