"""Draw how accurate answers are at the same price: dpsql, the plain approach, OpenDP, smartnoise-sql.

    pip install matplotlib
    python examples/accuracy/plot.py                  # draws figures.json, the run that the README shows
    python examples/accuracy/plot.py --run            # runs the benchmark first, about 7 minutes; --quick: about 1
    python examples/accuracy/plot.py --table          # prints the run as the README's table

Why figures.json is kept: whoever has no 7 minutes sees the same numbers, and a change of them shows in the history.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FIGURES, PICTURE = HERE / "figures.json", HERE / "accuracy.png"

COLOURS = {
    "dpsql, zcdp": "#1f4e8c",
    "dpsql, pure": "#7fb0e6",
    "plain, pure": "#9a9a9a",
    "OpenDP, zcdp": "#d9822b",
    "OpenDP, pure": "#f2c48d",
    "smartnoise-sql": "#5f9e6e",
}
INK, QUIET = "#222222", "#777777"

Found = dict[str, Any]


def draw(questions: Sequence[Found], path: Path) -> None:
    """Bars on a logarithmic axis: equal distances are equal factors. Above ours, the plain approach's over it."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("agg")
    figure, axes = plt.subplots(figsize=(12, 5.2), dpi=140)
    width = 0.8 / len(COLOURS)
    for place, (approach, colour) in enumerate(COLOURS.items()):
        known = [(at, error(q, approach)) for at, q in enumerate(questions)]
        bars = [(at + (place - (len(COLOURS) - 1) / 2) * width, value) for at, value in known if value is not None]
        if bars:
            where, heights = zip(*bars, strict=True)
            axes.bar(where, heights, width * 0.92, color=colour, label=approach)
    for at, question in enumerate(questions):
        ours = error(question, "dpsql, zcdp")
        if ours is not None:
            right = at - (len(COLOURS) / 2 - 1) * width
            label = f"{factor(question, 'dpsql, zcdp'):.1f}×"
            axes.text(right, ours * 1.08, label, ha="right", color=INK, fontsize=9, fontweight="bold")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(range(len(questions)), [labelled(q) for q in questions], fontsize=8.5)
    axes.set_ylabel("root mean square error (log scale)", color=QUIET)
    axes.grid(axis="y", which="major", color="#e5e5e5", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(which="both", length=0)
    axes.set_title(
        "Error of whole answers at the same price (lower is better; × is the plain approach's error over dpsql's)",
        loc="left",
        fontsize=11,
        color=INK,
        pad=26,
    )
    axes.legend(ncols=len(COLOURS), frameon=False, fontsize=8.5, loc="lower left", bbox_to_anchor=(-0.005, 1.0))
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def labelled(question: Found) -> str:
    """The name over two lines, and the price where the name does not have it."""
    name = str(question["question"]).split(", ε")[0]
    words = name.split(" ")
    cut = min(range(1, len(words)), key=lambda at: abs(len(" ".join(words[:at])) - len(name) / 2))
    return f"{' '.join(words[:cut])}\n{' '.join(words[cut:])}\nε = {question['epsilon']}"


def error(question: Found, approach: str) -> float | None:
    found = question["approaches"].get(approach, {})
    return found.get("rmse")


def factor(question: Found, approach: str) -> float:
    """How many times larger the plain approach's error is."""
    return float(question["approaches"]["plain, pure"]["rmse"] / question["approaches"][approach]["rmse"])


def table(questions: Sequence[Found]) -> str:
    """The run as Markdown."""
    lines = ["| " + " | ".join(["root mean square error", "ε", *COLOURS, "plain / dpsql"]) + " |"]
    lines.append("|---" * (len(COLOURS) + 3) + "|")
    for question in questions:
        errors = [error(question, approach) for approach in COLOURS]
        shown = [
            "–" if value is None else f"**{value:.3g}**" if not at else f"{value:.3g}"
            for at, value in enumerate(errors)
        ]
        ours = "–" if errors[0] is None else f"{factor(question, 'dpsql, zcdp'):.1f}×"
        name = str(question["question"]).split(", ε")[0]
        lines.append("| " + " | ".join([name, question["epsilon"], *shown, ours]) + " |")
    return "\n".join(lines)


def run(options: argparse.Namespace) -> None:
    """The benchmark of this repository, its figures kept beside this file."""
    sys.path.insert(0, str(ROOT))
    benchmark = importlib.import_module("tests.bench.accuracy")
    smartnoise = ["--smartnoise", options.smartnoise] if options.smartnoise else []
    benchmark.main(["--json", str(FIGURES), *["--quick"] * options.quick, *smartnoise])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", action="store_true", help="run the benchmark first and keep its figures")
    parser.add_argument("--quick", action="store_true", help="with --run: a minute, and rougher")
    parser.add_argument("--smartnoise", metavar="PYTHON", help="with --run: a Python that has smartnoise-sql")
    parser.add_argument("--table", action="store_true", help="print a table, and draw nothing")
    options = parser.parse_args()
    if options.run:
        run(options)
    questions = json.loads(FIGURES.read_text(encoding="utf-8"))["questions"]
    if options.table:
        print(table(questions))
    else:
        draw(questions, PICTURE)
        print(PICTURE)


if __name__ == "__main__":
    main()
