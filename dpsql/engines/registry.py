"""The databases that dpsql reads: the kinds that installed packages name by entry points of ``dpsql.engines``.

The entry point's name is the scheme by which policies name such a database, and its object is an
:class:`~dpsql.engines.engine_kind.EngineKind`. dpsql's own engines are found in the same way. A kind is imported when
its scheme is read. Why two packages cannot give one scheme: which of both is asked about people would depend on the
order of folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

from dpsql.engines.engine_kind import Address, EngineKind
from dpsql.errors import OperationalError
from rewriter.dialects import Dialect

GROUP = "dpsql.engines"
FIRST = "duckdb"
"""The scheme of a path that is written without one."""


class Engines(Mapping[str, EngineKind]):
    """Every kind of database by its scheme, in the order of the schemes' names but the first kind.

    Raises KeyError for a scheme that no installed package has, and :class:`OperationalError` for a kind that does not
    load, is no :class:`EngineKind` of that scheme, or has two packages.
    """

    def __init__(self, points: Iterable[EntryPoint] | None = None) -> None:
        self._given = points
        self._loaded: dict[str, EngineKind] = {}

    @cached_property
    def _points(self) -> Mapping[str, tuple[EntryPoint, ...]]:
        found: dict[str, tuple[EntryPoint, ...]] = {}
        for point in entry_points(group=GROUP) if self._given is None else self._given:
            found[point.name] = (*found.get(point.name, ()), point)
        return {scheme: found[scheme] for scheme in sorted(found, key=lambda scheme: (scheme != FIRST, scheme))}

    def __getitem__(self, scheme: str) -> EngineKind:
        if scheme not in self._loaded:
            self._loaded[scheme] = _loaded(scheme, self._points[scheme])
        return self._loaded[scheme]

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """How places of all kinds are written that load; the first kind's comes first."""
        return tuple(kind.address for kind in map(self._if_it_loads, self) if kind is not None)

    def address_of(self, scheme: str) -> Address | None:
        """The address of this scheme or other spelling. For a kind's own scheme no other kind is imported."""
        if scheme in self:
            return self[scheme].address
        return next((address for address in self.addresses if scheme in address.also), None)

    def _if_it_loads(self, scheme: str) -> EngineKind | None:
        try:
            return self[scheme]
        except OperationalError:
            return None


def _loaded(scheme: str, points: tuple[EntryPoint, ...]) -> EngineKind:
    if len(points) > 1:
        packages = " and ".join(sorted(_package(point) for point in points))
        hint = f"uninstall one of them: pip uninstall {_package(points[-1])}"
        raise OperationalError(f"{packages} both give the engine {scheme}", sqlstate="58000", hint=hint)
    (point,) = points
    try:
        kind = point.load()
    except Exception as problem:
        reason = f"the engine {scheme} of {_package(point)} does not load: {type(problem).__name__}: {problem}"
        raise OperationalError(reason, sqlstate="58000", hint=f"pip install --upgrade {_package(point)}") from problem
    if not isinstance(kind, EngineKind) or not isinstance(kind.dialect, Dialect) or kind.address.scheme != scheme:
        reason = f"{point.value} of {_package(point)} is no dpsql.engines.EngineKind of the scheme {scheme}"
        raise OperationalError(reason, sqlstate="58000", hint=f"tell whoever maintains {_package(point)}")
    return kind


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module


ENGINES = Engines()
"""What is installed."""
