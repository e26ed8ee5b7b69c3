"""Figures of several processes as if they were one: their counts, added up.

Guarantee: a counter never goes down. What a process had counted when it was last asked stays counted when it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

_OF_ALL = {
    "python_info": max,
    "process_start_time_seconds": min,
    "process_max_fds": min,
    "dpsql_running_statements_limit": max,
    "dpsql_audit_writable": min,
}
"""How figures are put together that do not add up."""

_Place = tuple[str, tuple[tuple[str, str], ...]]


class AddedFigures(Collector):
    """Adds up what workers report: the figures of each, by its process. This process's own are among them."""

    def __init__(self, reports: Callable[[], Mapping[int, Sequence[Metric]]]) -> None:
        self.registry = CollectorRegistry()
        self._reports = reports
        self._own = CollectorRegistry()
        ProcessCollector(registry=self._own)
        PlatformCollector(registry=self._own)
        GCCollector(registry=self._own)
        self.registry.register(self)
        self._last: dict[int, Sequence[Metric]] = {}
        self._gone: Sequence[Metric] = ()

    def describe(self) -> Iterable[Metric]:
        """Nothing that is known before it is asked for."""
        return ()

    def collect(self) -> Iterable[Metric]:
        found = self._reports()
        left = [self._last[process] for process in self._last.keys() - found.keys()]
        self._gone = added([self._gone, *([_counted(one) for one in metrics] for metrics in left)])
        self._last = dict(found)
        workers = Metric("dpsql_workers", "Processes that answer.", "gauge")
        workers.add_sample("dpsql_workers", {}, len(found))
        return added([*found.values(), self._gone, self._own.collect(), [workers]])


def _counted(metric: Metric) -> Metric:
    """What stays of a process that has ended: nothing of how it was, all that it counted."""
    if metric.type in ("counter", "histogram"):
        return metric
    return Metric(metric.name, metric.documentation, metric.type)


def added(parts: Iterable[Iterable[Metric]]) -> Sequence[Metric]:
    """The metrics of all parts, each once, with the sums of their samples.

    >>> def part(value: float) -> list[Metric]:
    ...     metric = Metric("seats", "Seats.", "gauge")
    ...     metric.add_sample("seats", {"row": "a"}, value)
    ...     return [metric]
    >>> [sample.value for metric in added([part(2), part(3)]) for sample in metric.samples]
    [5]
    """
    metrics: dict[str, Metric] = {}
    values: dict[str, dict[_Place, float]] = {}
    for part in parts:
        for metric in part:
            metrics.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
            sums = values.setdefault(metric.name, {})
            for sample in metric.samples:
                # When a process first counted is no figure of all of them.
                if sample.name.endswith("_created"):
                    continue
                place = sample.name, tuple(sorted(sample.labels.items()))
                together = _OF_ALL.get(metric.name, _sum)
                sums[place] = together(sums[place], sample.value) if place in sums else sample.value
    for name, metric in metrics.items():
        metric.samples = [Sample(place, dict(labels), value) for (place, labels), value in values[name].items()]
    return tuple(metrics.values())


def _sum(one: float, other: float) -> float:
    return one + other
