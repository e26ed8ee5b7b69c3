"""The benchmark's command: ``python -m tests.bench [--scale 0.1 --scale 1] [--repetitions 50] [--json FILE]``.

Ratios are what to compare: raw DuckDB, SQL bounded by hand, the bounded query and the whole statement run by turns in
one process, on one DuckDB instance, with reuse of releases off and the plan remembered. A first run generates the data.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from dpsql.proxy import Proxy
from dpsql.server.collector import settled

from .measured import Result, measured
from .queries import QUESTIONS
from .report import show_fixed_costs, show_results
from .small import fixed_costs
from .tpch import data as tpch

_FIXED_REPETITIONS = 200


def main() -> None:
    options = _options()
    console = Console()
    with settled(), tempfile.TemporaryDirectory() as folder:
        costs = fixed_costs(Path(folder), _FIXED_REPETITIONS)
        show_fixed_costs(costs, console)
        scales = {}
        for scale in options.scale or [0.1, 1.0]:
            results = _at_scale(scale, options, Path(folder), console)
            show_results(scale, results, console)
            scales[f"{scale:g}"] = [asdict(r) | {"of_raw": r.of_raw, "beyond": r.beyond} for r in results]
    if options.json is not None:
        report = {"repetitions": options.repetitions, "fixed": [asdict(cost) for cost in costs], "tpch": scales}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _at_scale(scale: float, options: argparse.Namespace, folder: Path, console: Console) -> list[Result]:
    with console.status(f"TPC-H at scale {scale:g}: generating, unless it is in {options.cache}"):
        database = tpch.database(scale, options.cache, references=options.references)
    proxy = Proxy.open(tpch.policy(folder, database))
    try:
        # The raw query runs where the bounded one does: in the proxy's own engine.
        connection = proxy._opened.engine._now.connection
        results = []
        for question in QUESTIONS:
            if options.only and options.only not in question.name:
                continue
            with console.status(f"scale {scale:g}: {question.name}"):
                results.append(measured(proxy, connection, question, options.repetitions))
        return results
    finally:
        proxy.close()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, action="append", help="of TPC-H; repeatable; default 0.1 and 1")
    parser.add_argument("--repetitions", type=int, default=50, help="of each form of each query; default 50")
    parser.add_argument("--references", action="store_true", help="foreign keys are declared in the database")
    parser.add_argument("--only", metavar="WORD", help="only queries whose name contains it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--cache", type=Path, default=tpch.CACHE, help="folder of the data; default %(default)s")
    return parser.parse_args()
