"""A Spark of our own on loopback, for tests: a Spark Connect server in one process, or a master with two workers.

It takes Java and PyPI's ``pyspark``. Where one of them is not there, tests say so and are skipped, but never in CI.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_SPARK = "org.apache.spark.deploy"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def missing() -> str | None:
    """What is not there for a Spark of our own."""
    if shutil.which("java") is None:
        return "there is no Java for Spark: apt install default-jre-headless"
    if importlib.util.find_spec("pyspark") is None or importlib.util.find_spec("grpc_status") is None:
        return "there is no Spark: pip install '.[test-spark]'"
    return None


@dataclass(slots=True)
class SparkServer:
    """``cluster``: a master and two workers with an executor each. Otherwise all is one process."""

    cluster: bool = False
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="dpsql-spark-")))
    port: int = field(default_factory=free_port)
    master: str = "local[2]"
    more: dict[str, str] = field(default_factory=dict)
    """Settings of the driver's."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"spark:sc://127.0.0.1:{self.port}/"

    def start(self) -> SparkServer:
        if self.cluster:
            port = free_port()
            self.master = f"spark://127.0.0.1:{port}"
            self._launch("master", f"{_SPARK}.master.Master", "--host", "127.0.0.1", "--port", str(port))
            _listening(port, self.folder / "master.log")
            for number in (1, 2):
                self._worker(number)
        self.connect()
        return self

    def connect(self) -> None:
        """Start the Connect server, which is the driver."""
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": self.port,
            "spark.executor.memory": "700m",
            "spark.executor.cores": 1,
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.warehouse.dir": self.folder / "warehouse",
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={self.folder}",
        } | self.more
        given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        self._launch(
            "connect", f"{_SPARK}.SparkSubmit", "--class", _CONNECT, "--master", self.master, "--name", "dpsql-tests",
            "--driver-memory", "1200m", *given, "spark-internal", heap="1200m",
        )  # fmt: skip
        _listening(self.port, self.folder / "connect.log")

    def _worker(self, number: int) -> None:
        work = self.folder / f"work{number}"
        self._launch(
            f"worker{number}", f"{_SPARK}.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "700m",
            "--webui-port", "0", "--work-dir", str(work), self.master,
        )  # fmt: skip

    def _launch(self, name: str, *arguments: str, heap: str = "256m") -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "tmp"),
            "SPARK_DAEMON_MEMORY": "256m",
            # Executors that are killed again and again are replaced for ever.
            "SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1",
        }
        command = [str(home / "bin" / "spark-class"), f"-Xmx{heap}", *arguments]
        if name != "connect":
            command.pop(1)
        log = (self.folder / f"{name}.log").open("wb")
        with log:
            self.processes.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
            )

    def stop_driver(self) -> None:
        """Kill the Connect server, which comes last."""
        process = self.processes.pop()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def executors(self) -> list[int]:
        """The processes that compute: those whose parent is a worker of ours."""
        parents = {process.pid for process in self.processes}
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = path.read_bytes().split(b"\0")
                parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
                if any(b"CoarseGrainedExecutorBackend" in word for word in words) and parent in parents:
                    found.append(int(path.parent.name))
        return found

    def session(self) -> Any:
        """A session of the owner's, who may make tables."""
        from pyspark.sql.connect.session import SparkSession

        session = SparkSession.builder.remote(self.url.removeprefix("spark:")).create()
        session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
        session.conf.set("spark.sql.session.timeZone", "UTC")
        return session

    def stop(self) -> None:
        for process in reversed(self.processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self.processes.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


def _listening(port: int, log: Path, seconds: float = 180.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.3)
    raise AssertionError(f"Spark did not start: {log.read_text(errors='replace')[-2000:]}")


@functools.cache
def shared_spark() -> SparkServer:
    """One Spark in one process for all tests of this run."""
    why = missing()
    if why is not None:
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    if port := os.environ.get("DPSQL_TEST_SPARK"):  # one that runs already
        return SparkServer(port=int(port))
    server = SparkServer().start()
    atexit.register(server.stop)
    return server


def copy_to_spark(duck: Any, session: Any, tables: tuple[str, ...], folder: Path, schema: str = "default") -> None:
    """The tables of a DuckDB as tables of Spark over Parquet files."""
    session.sql(f"CREATE SCHEMA IF NOT EXISTS `{schema}`")
    for name in tables:
        path = folder / f"{name}.parquet"
        duck.execute(f"COPY \"{name}\" TO '{path}' (FORMAT parquet)")
        session.sql(f"DROP TABLE IF EXISTS `{schema}`.`{name}`")
        session.sql(f"CREATE TABLE `{schema}`.`{name}` USING parquet LOCATION '{path}'")
