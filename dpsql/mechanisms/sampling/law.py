"""Laws: distributions that hide people, each an object that is drawn from exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

Drawn = TypeVar("Drawn", covariant=True)


class Law(ABC, Generic[Drawn]):
    """A distribution. It may be made of secrets: its draws are releasable at the price of its mechanism, it is not."""

    __slots__ = ()

    @abstractmethod
    def draw(self) -> Drawn:
        """A draw, exactly of this law, from a cryptographic source that nobody can seed."""

    @abstractmethod
    def nearest(self) -> Drawn:
        """The draw at no distance: all there is to draw where the noise becomes nothing. It hides nobody."""
