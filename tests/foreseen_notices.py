"""Notices that are known before anything is measured, and those that follow from released numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

TOLD_BY_NUMBERS = re.compile(r"left out; |no sum below 0 is shown: |may have no rows: ")
"""What is left out, cut off, or perhaps empty."""


def foreseen(notices: Iterable[str]) -> tuple[str, ...]:
    """Those that EXPLAIN has as well."""
    return tuple(one for one in notices if not TOLD_BY_NUMBERS.search(one))
