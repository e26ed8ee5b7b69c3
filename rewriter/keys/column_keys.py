"""Grouping keys that are plain columns."""

from __future__ import annotations

from collections.abc import Iterable

from rewriter.columns import columns_behind
from rewriter.release import Key


def plain_columns(keys: Iterable[Key]) -> list[tuple[str, str]]:
    """The columns that are keys as they are, each by our alias of its relation and its name."""
    return [column for key in keys for column in columns_behind(key.value.sql)]
