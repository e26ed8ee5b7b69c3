"""The ranks of many values as columns: secret."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from dpsql.releases.tables import Rank


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankColumns(Sequence[Rank]):
    """The ranks of one group, lowest value first: lattice values, the weights at them and below them; of the group,
    ``total``. All of them are sorted."""

    values: NDArray[np.int64]
    weights: NDArray[np.int64]
    below: NDArray[np.int64]
    total: int

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __iter__(self) -> Iterator[Rank]:
        for value, weight, below in zip(self.values.tolist(), self.weights.tolist(), self.below.tolist(), strict=True):
            yield value, weight, below, self.total

    @overload
    def __getitem__(self, place: int) -> Rank: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Rank]: ...
    def __getitem__(self, place: int | slice) -> Rank | Sequence[Rank]:
        if isinstance(place, slice):
            return RankColumns(self.values[place], self.weights[place], self.below[place], self.total)
        return int(self.values[place]), int(self.weights[place]), int(self.below[place]), self.total
