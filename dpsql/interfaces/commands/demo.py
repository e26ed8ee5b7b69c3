"""``dpsql demo``: a walk through the product, over the real path, with the truth beside each answer.

The demo owns the clinic, so it may look. The truth is read before the proxy opens the database, with plain DuckDB.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

import dpsql.interfaces.commands.demo_clinic as clinic
from dpsql.display import code, column, grid, refusal
from dpsql.errors import Error, OperationalError
from dpsql.price_text import price_line
from dpsql.releases import cell
from rewriter.declared import Scalar

if TYPE_CHECKING:
    from dpsql.proxy import Proxy
    from dpsql.reply import Answer

Row = tuple[Scalar | None, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of the walk. The first ``keys`` columns of its answer name a group. ``truth`` is the SQL of the
    true answer, where DuckDB has another word for what is asked."""

    title: str
    text: str
    sql: str
    keys: int = 0
    analyst: str = "ana"
    refused: bool = False
    truth: str = ""


FOUR_COUNTS = Step(
    "Four counts",
    "Two counts for each sex, in one statement. They are measured together, so one price pays for all four, and "
    "none of them gets only a quarter of it.",
    """\
SELECT sex,
       COUNT(*) FILTER (WHERE weight_kg
         / ((height_cm/100.0) * (height_cm/100.0)) < 25) AS bmi_under_25,
       COUNT(*) AS everyone
FROM patient GROUP BY sex ORDER BY sex""",
    keys=1,
)

STEPS = (
    FOUR_COUNTS,
    Step(
        "Means",
        "A mean is computed from two noisy sums, and stays inside the range that the policy declares.",
        """\
SELECT sex, AVG(height_cm) AS height, AVG(weight_kg) AS weight
FROM patient GROUP BY sex ORDER BY sex""",
        keys=1,
    ),
    Step(
        "A join",
        "A patient has many visits, so all visits of a patient are bounded together: that patient is hidden, not "
        "one visit. The regions are public, so each of them appears.",
        """\
SELECT p.region, COUNT(*) AS visits, SUM(v.cost) AS cost
FROM visit AS v JOIN patient AS p ON v.patient_id = p.id
GROUP BY p.region ORDER BY cost DESC""",
        keys=1,
    ),
    Step(
        "Groups that nobody listed",
        "The policy does not list the diagnoses, so a diagnosis is named only when enough patients have it. Rare ones "
        "stay unnamed: their name alone could give a patient away.",
        """\
SELECT diagnosis, COUNT(*) AS patients
FROM patient GROUP BY diagnosis ORDER BY patients DESC""",
        keys=1,
    ),
    Step(
        "Counts of counts",
        "The inner query is one row per patient and stays private; only the outer counts are released.",
        """\
SELECT visits, COUNT(*) AS patients
FROM (SELECT patient_id, LEAST(COUNT(*), 12) AS visits
      FROM visit GROUP BY patient_id) AS per_patient
GROUP BY visits ORDER BY visits""",
        keys=1,
    ),
    Step(
        "A year by months",
        "Months follow from the declared range of the days, so a month without visits would appear as well.",
        """\
SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS visits
FROM visit GROUP BY month ORDER BY month""",
        keys=1,
    ),
    Step(
        "Asked again",
        "The same release is answered from the store: the same numbers, and nothing to pay. Dashboards may refresh.",
        FOUR_COUNTS.sql,
        keys=1,
    ),
    Step(
        "Rows of people",
        "What is not an aggregate over people is refused before anything is read or paid, with a form that works.",
        "SELECT * FROM patient",
        refused=True,
    ),
    Step(
        "A guest",
        "The guest has a small share of the budget. One statement fits into it …",
        """\
SELECT smoker, COUNT(*) AS patients
FROM patient GROUP BY smoker ORDER BY patients DESC""",
        keys=1,
        analyst="guest",
    ),
    Step(
        "The budget is gone",
        "… and the next one does not.",
        "SELECT AVG(birth_year) FROM patient",
        analyst="guest",
        refused=True,
    ),
    Step(
        "A regression",
        "Learning is SQL, too: what a centimetre weighs, how much of the weight it explains, and what somebody of "
        "180 cm weighs. One vector of second moments is measured, and the error bars follow from its noise.",
        """\
SELECT (LINREGR(weight_kg, ARRAY[1, height_cm])).coef[2] AS kg_per_cm,
       (LINREGR(weight_kg, ARRAY[1, height_cm])).r2,
       dpsql.predict(LINREGR(weight_kg, ARRAY[1, height_cm]), ARRAY[1, 180]) AS kg_at_180
FROM patient""",
        truth="""\
SELECT REGR_SLOPE(weight_kg, height_cm), REGR_R2(weight_kg, height_cm),
       REGR_INTERCEPT(weight_kg, height_cm) + 180 * REGR_SLOPE(weight_kg, height_cm)
FROM patient""",
    ),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """An answer beside the truth: per released row the true one (None: no such group), and the groups not released."""

    answer: Answer
    keys: int
    truth: tuple[Row | None, ...]
    unnamed: tuple[Row, ...]

    def triples(self) -> Iterator[tuple[float, float, float]]:
        """Noisy value, margin and truth of each measured cell. A group that does not exist counts 0."""
        for row, margins, true in zip(self.answer.rows, self.answer.margins, self.truth, strict=True):
            for place in range(self.keys, len(row)):
                noisy, margin = row[place], margins[place]
                exact = 0 if true is None else true[place]
                if noisy is not None and margin is not None and exact is not None:
                    yield float(noisy), margin, float(exact)  # type: ignore[arg-type]


def run(folder: Path, console: Console) -> None:
    """Build the clinic in ``folder``, ask everything in STEPS, and print it. Raises :class:`dpsql.errors.Error`."""
    from dpsql.proxy import Proxy

    prepare(folder)
    try:
        clinic.build(folder)
    except duckdb.Error:
        raise OperationalError(f"no database can be made in {folder}", sqlstate="58030") from None
    truths = read_truths(folder)
    _introduce(folder, console)
    proxy = Proxy.open(folder / clinic.POLICY)
    try:
        for number, step in enumerate(STEPS, start=1):
            console.print(Rule(Text(f"{number}. {step.title}", style="bold"), align="left", characters="─"))
            console.print(Text(step.text))
            console.print(Padding(code(step.sql), (1, 2), expand=False))
            _ask(step, proxy, truths.get(step.sql, ()), console)
    finally:
        proxy.close()
    _part(folder, console)


def prepare(folder: Path) -> None:
    """An empty folder, or one that the demo made before: then what it made is removed. Any other is refused."""
    policy = folder / clinic.POLICY
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        ours = policy.is_file() and policy.read_text(encoding="utf-8", errors="replace").startswith(clinic.MARK)
        if not ours:
            hint = "name another one with --folder"
            raise OperationalError(f"{folder} exists, and was not made by the demo", sqlstate="58P02", hint=hint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The policy goes last: as long as it is there, the folder is known as the demo's.
        for name in (clinic.DATABASE, clinic.LEDGER):
            for path in folder.glob(f"{name}*"):
                path.unlink()
    except OSError as problem:
        raise OperationalError(f"{folder} cannot be written: {problem.strerror}", sqlstate="58030") from None


def read_truths(folder: Path) -> Mapping[str, tuple[Row, ...]]:
    """The exact answer of every step that is answered, by its SQL."""
    connection = duckdb.connect(str(folder / clinic.DATABASE), read_only=True)
    try:
        return {
            step.sql: tuple(connection.execute(step.truth or step.sql).fetchall()) for step in STEPS if not step.refused
        }
    finally:
        connection.close()


def compare(answer: Answer, truth: Sequence[Row], keys: int) -> Compared:
    """Put each released row beside the true row of the same group."""
    groups = {_group(row, keys): row for row in truth}
    names = [_group(row, keys) for row in answer.rows]
    unnamed = tuple(row for name, row in groups.items() if name not in set(names))
    return Compared(answer, keys, tuple(groups.get(name) for name in names), unnamed)


def _group(row: Row, keys: int) -> tuple[str, ...]:
    """A group's name, whatever type a date or a number came back as."""
    return tuple(cell(value).removesuffix(" 00:00:00") for value in row[:keys])


def _ask(step: Step, proxy: Proxy, truth: Sequence[Row], console: Console) -> None:
    try:
        answer = proxy.session(step.analyst).execute(step.sql)
    except Error as problem:
        if not step.refused:
            raise
        console.print(Padding(Text(refusal(problem, step.sql)), (0, 2, 1, 2), expand=False))
        return
    compared = compare(answer, truth, step.keys)
    console.print(Padding(_table(compared), (0, 2, 1, 2), expand=False))
    for line in (*_rare(compared), *(f"Note: {notice}." for notice in answer.notices), price_line(answer)):
        console.print(Padding(Text(line), (0, 2), expand=False))
    console.print()


def _table(compared: Compared) -> Table:
    answer = compared.answer
    headers: list[str] = []
    columns: list[list[str]] = []
    for place, named in enumerate(answer.columns):
        margins = [row[place] for row in answer.margins]
        headers.append(named.name)
        columns.append(column([row[place] for row in answer.rows], margins))
        if place >= compared.keys:
            headers.append("truth")
            truths = [None if true is None else true[place] for true in compared.truth]
            columns.append([cell(true, margin) for true, margin in zip(truths, margins, strict=True)])
    flush = [False] * compared.keys + [True] * (len(headers) - compared.keys)
    return grid(headers, columns, flush)


def _rare(compared: Compared) -> Iterator[str]:
    if compared.unnamed:
        sizes = sorted(int(str(row[-1])) for row in compared.unnamed)
        yield f"Not named: {len(sizes)} groups, of {sizes[0]} to {sizes[-1]} patients. Only the owner can see that."


def _introduce(folder: Path, console: Console) -> None:
    console.print(
        Text(
            f"A clinic was built in {folder}: {clinic.PATIENTS:,} made-up patients, their visits and regions; "
            f"{clinic.POLICY} says what may be asked, and the ledger counts what was paid.\n"
            "Each answer is shown as an analyst gets it, value ± 95 % error. The truth beside it is for you, "
            "since you own this clinic: no analyst ever sees it.\n"
        )
    )


def _part(folder: Path, console: Console) -> None:
    """What to try next. Commands are printed as they are typed: a terminal may wrap them, nothing else does."""
    policy = folder / clinic.POLICY
    typed = shlex.quote(str(policy))
    console.print(Rule(Text("Now you", style="bold"), align="left", characters="─"))
    console.print(
        f"""\
# ask as an analyst; there is also --format csv, --format json and --epsilon
dpsql query {typed} --analyst ana \\
  "SELECT smoker, AVG(weight_kg) FROM patient GROUP BY smoker"

# what it would cost, and how exact it would be; free
dpsql explain {typed} --analyst ana "SELECT SUM(cost) FROM visit"

# what is spent
dpsql budget {typed}

# the same from Python
import dpsql
with dpsql.connect({str(policy)!r}, analyst="ana") as connection:
    cursor = connection.cursor().execute("SELECT COUNT(*) FROM visit")
    print(cursor.fetchall(), cursor.margins)

# with a database of yours
dpsql init YOUR.duckdb --output policy.yaml
dpsql check policy.yaml

# step by step, and everything else
dpsql guide""",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )
