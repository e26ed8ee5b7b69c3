"""Random windows over the rows of one person each, in a FROM clause: numbers of rows, other rows' values, running sums.

In a tame world every order ends with all columns that are read, and one order serves all windows of a SELECT: the
engine's own answer must not depend on how it breaks ties. In a wild one ties are everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from tests.properties.expressions import NUMERIC, Field

_ROWS = (
    "ROWS UNBOUNDED PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
)
_RANGES = ("", "", "RANGE UNBOUNDED PRECEDING", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")
_PLACES = Field("", "count", span=(1, 60))
_SHAPES = ("plain", "plain", "first", "few", "qualify", "distinct on")


def first_rows(random: Random) -> tuple[str, str]:
    """How a SELECT keeps few rows of each person: its shape, and the condition on their number."""
    shape = random.choice(_SHAPES)
    few = random.choice(["n <= 2", "n < 3", "n BETWEEN 1 AND 2", "3 >= n", "n IN (1, 2)"])
    return shape, "n = 1" if shape == "first" or (shape == "qualify" and random.random() < 0.5) else few


def ordering(random: Random, columns: Sequence[Field], *, complete: bool) -> str:
    """ORDER BY of some columns; ``complete``: of all that are read."""
    chosen = random.sample(columns, random.randint(0, min(2, len(columns))))
    if complete:
        chosen += [column for column in columns if column not in chosen]
    if not chosen:
        return ""
    ends = [random.choice(["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"]) for _ in chosen]
    return "ORDER BY " + ", ".join(f"{column.text}{end}" for column, end in zip(chosen, ends, strict=True))


def call(random: Random, columns: Sequence[Field], order: str, condition: str, *, tame: bool) -> tuple[str, str, Field]:
    """A function, its frame, and what it gives."""
    values = [f for f in columns if f.kind not in ("key", "link")]
    numbers = [f for f in values if f.kind in NUMERIC and f.bounded]
    forms = (
        ["place", "place"]
        + ["other", "ends"] * bool(values)
        + ["count"]
        + ["sum", "mean", "most", "gap"] * bool(numbers)
    )
    form = random.choice(forms)
    frame = random.choice(_ROWS if random.random() < 0.5 else _RANGES) if order else ""
    if form == "place":
        return random.choice(["ROW_NUMBER()", "RANK()", "DENSE_RANK()", "NTILE(3)"]), "", _PLACES
    if form == "other":
        found = random.choice(values)
        name, offset = random.choice(["LAG", "LEAD"]), random.choice(["", "", ", 1", ", 2", ", 0"])
        return f"{name}({found.text}{offset})", "", found
    if form == "ends":
        found = random.choice(values)
        functions = [f"FIRST_VALUE({found.text})", f"LAST_VALUE({found.text})", f"NTH_VALUE({found.text}, 2)"]
        if "FOLLOWING" in frame and not frame.startswith("ROWS"):
            functions.pop()
        return random.choice(functions), frame, found
    if form == "count":
        return (
            random.choice(["COUNT(*)", f"COUNT(*) FILTER (WHERE {condition})"]),
            frame,
            replace(_PLACES, span=(0, 60)),
        )
    number = random.choice(numbers)
    if form == "sum":
        kind = "ratio" if number.kind == "ratio" else "big"
        return f"SUM({number.text})", frame, Field("", kind, span=(0, 1))
    if form == "gap":
        kind = "ratio" if number.kind == "ratio" else "big"
        other = random.choice(["{x} - LAG({x})", "{x} - LEAD({x})", "{x} - LAG({x}, 2)"])
        return other.format(x=number.text), "", Field("", kind, span=(-1, 1))
    if form == "mean":
        return f"AVG({number.text})", frame, Field("", "ratio", span=number.span)
    return f"{random.choice(['MIN', 'MAX'])}({number.text})", frame, number
