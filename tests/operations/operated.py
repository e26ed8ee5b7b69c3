"""A server in this process, with its log, audit and metrics at hand, over the attack suite's library or the clinic."""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from prometheus_client.parser import text_string_to_metric_families

from dpsql.proxy import Proxy
from dpsql.server.door import Door
from dpsql.server.operations import logs
from dpsql.server.operations.audit import Audit
from dpsql.server.serve import Server
from dpsql.server.shadow.shadow import Shadow
from dpsql.server.start import Serving, all_problems, analysts, database_name, made, monitor_of

PATIENCE = 120.0
"""Seconds that only a test that fails waits."""


@dataclass(slots=True)
class Operated:
    """``said`` is all that the log wrote."""

    proxy: Proxy
    server: Server
    audit: Audit | None
    audit_file: Path
    metrics_port: int
    port: int
    said: bytearray = field(default_factory=bytearray)

    @property
    def dsn(self) -> str:
        name = database_name(self.proxy.policy)
        return f"host=127.0.0.1 port={self.port} user=ana dbname={name} sslmode=disable"

    def connect(self, **more: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.dsn, autocommit=True, **more)

    def log(self) -> list[dict[str, Any]]:
        """Every line of a JSON log, once what was said by now is written."""
        marker = f"marker {time.monotonic_ns()}"
        logs.event(logging.CRITICAL, marker)
        eventually(lambda: marker.encode() in self.said)
        return [json.loads(line) for line in self.said.decode().splitlines() if "marker" not in line]

    def audited(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.audit_file.read_text().splitlines()]

    def page(self, path: str, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.metrics_port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def figure(self, name: str, **labels: str) -> float:
        """One number of /metrics; 0 where it was never counted."""
        for family in text_string_to_metric_families(self.page("/metrics")[1]):
            for sample in family.samples:
                if sample.name == name and labels.items() <= sample.labels.items():
                    return float(sample.value)
        return 0.0


def eventually(fine: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not fine():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


@contextmanager
def operated(policy: Path, **more: Any) -> Iterator[Operated]:
    """Serve a policy as ``dpsql serve`` does, in threads of this process."""
    audit_file = policy.parent / "audit.jsonl"
    serving = Serving(policy, port=0, metrics_port=0, **{"audit": audit_file, "log_format": "json", **more})
    said = bytearray()

    def write(data: bytes) -> int:
        said.extend(data)
        return len(data)

    with ExitStack() as stack:
        log = logs.Log.start(
            serving.log_format, serving.log_level, engine_errors=serving.log_engine_errors, write=write
        )
        stack.callback(log.close)
        proxy = Proxy.open(policy)
        stack.callback(proxy.close)
        shadow = Shadow.start(proxy.catalog, analysts(proxy.policy), database_name(proxy.policy))
        stack.callback(shadow.close)
        door = Door(serving.host, serving.port, proxy.policy.limits)
        parts = made(serving, proxy, shadow, log, stack, door)
        monitor = monitor_of(
            serving,
            proxy.ledger,
            proxy.policy,
            parts.metrics.registry,
            parts.server.alive,
            all_problems(parts.problems, proxy.ledger, shadow),
            stack,
        )
        assert monitor is not None
        started = threading.Event()
        thread = threading.Thread(target=parts.server.run, args=(started.set,))
        thread.start()
        stack.callback(thread.join, PATIENCE)
        stack.callback(parts.server.stop)
        assert started.wait(PATIENCE)
        yield Operated(proxy, parts.server, parts.audit, audit_file, monitor.port, door.address[1], said)
