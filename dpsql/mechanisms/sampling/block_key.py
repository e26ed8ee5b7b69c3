"""The secret by which people are put into blocks: it reaches the engine in the text of one query, and nobody else."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from dpsql.mechanisms.sampling.law import Law

_BYTES = 16


@dataclass(frozen=True, slots=True)
class BlockKey(Law[str]):
    """128 uniform bits as digits and letters.

    >>> len(BlockKey().draw()), BlockKey().draw() == BlockKey().draw()
    (32, False)
    """

    def draw(self) -> str:
        return secrets.token_hex(_BYTES)

    def nearest(self) -> str:
        """The same for everybody: blocks of neighbours are compared under one secret."""
        return "0" * 2 * _BYTES
