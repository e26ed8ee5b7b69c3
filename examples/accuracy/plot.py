"""Draw how accurate answers are under one promise: dpsql, the plain approach, OpenDP, smartnoise-sql.

    pip install matplotlib
    python examples/accuracy/plot.py                  # draws figures.json, the runs that the guide shows
    python examples/accuracy/plot.py --run            # runs the benchmark first, about 20 minutes; --quick: about 4
    python examples/accuracy/plot.py --table          # prints the runs as the guide's tables

Why figures are kept: whoever has no 20 minutes sees the same numbers, and a change of them shows in the history.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FIGURES, STATISTICS, PICTURE = HERE / "figures.json", HERE / "statistics.json", HERE / "accuracy.png"
SESSIONS = 1, 100

COLOURS = {
    "dpsql, zcdp": "#1f4e8c",
    "dpsql, pure": "#7fb0e6",
    "dpsql, approx": "#4a86c7",
    "plain, Laplace": "#9a9a9a",
    "plain, Gaussian": "#c9c9c9",
    "OpenDP, zcdp": "#d9822b",
    "OpenDP, pure": "#f2c48d",
    "smartnoise-sql": "#5f9e6e",
}
INK, QUIET = "#222222", "#777777"
OWN = "dpsql"

Found = dict[str, Any]


def draw(runs: Sequence[Found], path: Path) -> None:
    """Bars on logarithmic axes: equal distances are equal factors. Above each question, the factor."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("agg")
    figure, places = plt.subplots(len(runs), 1, figsize=(12, 4.4 * len(runs)), dpi=120, squeeze=False)
    for axes, run in zip(places[:, 0], runs, strict=True):
        _bars(axes, run["questions"])
        axes.set_title(f"Error of whole answers, {run['promise']}", loc="left", fontsize=11, color=INK, pad=12)
    places[0, 0].legend(ncols=len(COLOURS), frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.005, 1.1))
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _bars(axes: Any, questions: Sequence[Found]) -> None:
    width = 0.8 / len(COLOURS)
    for place, (approach, colour) in enumerate(COLOURS.items()):
        known = [(at, error(question, approach)) for at, question in enumerate(questions)]
        bars = [(at + (place - (len(COLOURS) - 1) / 2) * width, value) for at, value in known if value is not None]
        if bars:
            where, heights = zip(*bars, strict=True)
            axes.bar(where, heights, width * 0.92, color=colour, label=approach)
    for at, question in enumerate(questions):
        highest = max(value for value in (error(question, name) for name in COLOURS) if value is not None)
        axes.text(at, highest * 1.1, factor(question), ha="center", color=INK, fontsize=9, fontweight="bold")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(range(len(questions)), [labelled(question) for question in questions], fontsize=8.5)
    axes.set_ylabel("root mean square error (log)", color=QUIET)
    axes.grid(axis="y", which="major", color="#e5e5e5", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(which="both", length=0)


def name_of(question: Found) -> str:
    return str(question["question"]).split(", ε")[0]


def labelled(question: Found) -> str:
    """The name over two lines."""
    name = name_of(question)
    words = name.split(" ")
    cut = min(range(1, len(words)), key=lambda at: abs(len(" ".join(words[:at])) - len(name) / 2), default=1)
    return f"{' '.join(words[:cut])}\n{' '.join(words[cut:])}"


def error(question: Found, approach: str) -> float | None:
    """The root mean square error; of the largest groups, the part that was found."""
    found = question["approaches"].get(approach, {})
    return found.get("rmse", found.get("error"))


def factor(question: Found) -> str:
    """The least error of any other system over the least of dpsql; where that is below 1, dpsql is behind."""
    found = question["factor"]
    if found is None or math.isnan(found):
        return ""
    return f"{found:.2f}×" if round(found, 2) >= 1 else f"{found:.2f}×, behind"


def table(run: Found) -> str:
    """A run as Markdown. The best of dpsql's kinds of ledgers is bold."""
    questions = run["questions"]
    approaches = list(questions[0]["approaches"])
    lines = ["| " + " | ".join([str(run["promise"]), *approaches, "best other / best dpsql"]) + " |"]
    lines.append("|---" * (len(approaches) + 2) + "|")
    for question in questions:
        cells = [_cell(question, approach) for approach in approaches]
        lines.append("| " + " | ".join([name_of(question), *cells, factor(question)]) + " |")
    return "\n".join(lines)


def _cell(question: Found, approach: str) -> str:
    value = error(question, approach)
    if value is None:
        return "–"
    found = question.get("measure", "rmse") != "rmse"
    own = [error(question, name) for name in question["approaches"] if name.startswith(OWN)]
    known = [one for one in own if one is not None]
    missing = question["approaches"][approach].get("missing", 0)
    shown = f"{value:.1%} found" if found else f"{value:.3g}" + (f" ({missing:.0%} NULL)" if missing else "")
    best = approach.startswith(OWN) and value == (max(known) if found else min(known))
    return f"**{shown}**" if best else shown


def run(options: argparse.Namespace) -> None:
    """The benchmarks of this repository, their figures kept beside this file."""
    sys.path.insert(0, str(ROOT))
    smartnoise = ["--smartnoise", options.smartnoise] if options.smartnoise else []
    parts = (("accuracy", FIGURES, smartnoise), ("statistics", STATISTICS, ["--repetitions", "0"]))
    for name, kept, more in parts:
        benchmark = importlib.import_module(f"tests.bench.{name}")
        runs = []
        for statements in SESSIONS:
            quick = ["--quick"] * options.quick
            benchmark.main(["--statements", str(statements), "--json", str(kept), *quick, *more])
            runs.append(json.loads(kept.read_text(encoding="utf-8")))
        kept.write_text(json.dumps({"runs": runs}, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run the benchmark first and keep its figures")
    parser.add_argument("--quick", action="store_true", help="with --run: a minute, and rougher")
    parser.add_argument("--smartnoise", metavar="PYTHON", help="with --run: a Python that has smartnoise-sql")
    parser.add_argument("--table", action="store_true", help="print a table, and draw nothing")
    options = parser.parse_args()
    if options.run:
        run(options)
    if options.table:
        for kept in (FIGURES, STATISTICS):
            print("\n\n".join(table(run) for run in json.loads(kept.read_text(encoding="utf-8"))["runs"]), end="\n\n")
    else:
        draw(json.loads(FIGURES.read_text(encoding="utf-8"))["runs"], PICTURE)
        print(PICTURE)


if __name__ == "__main__":
    main()
