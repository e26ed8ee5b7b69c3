"""Notebooks: tables with error bars, charts, magics, and the example notebook from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest

import dpsql

matplotlib.use("Agg")

BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(height_cm) AS h FROM patient GROUP BY sex"
EXAMPLE = Path(__file__).parents[2] / "examples" / "notebook" / "clinic.ipynb"


@pytest.fixture
def connection(policy: Path) -> Iterator[dpsql.Connection]:
    with dpsql.connect(policy, "ana") as found:
        yield found


def test_answers_and_explanations_are_tables(connection: dpsql.Connection) -> None:
    html = connection.execute(BY_SEX)._repr_html_()
    assert html.count("<svg") == 4
    assert "(ε = 0.25)" in html
    told = connection.explain("SELECT COUNT(*) FROM visit")._repr_html_()
    assert "expected 95 % error" in told
    assert "Price" in told
    evil = connection.execute("""SELECT '<b>' AS "<i>", COUNT(*) FROM patient""")._repr_html_()
    assert "<b>" not in evil
    assert "<i>" not in evil


def test_margins_are_columns(connection: dpsql.Connection) -> None:
    cursor = connection.execute(BY_SEX)
    frame = cursor.df(margins=True)
    assert list(frame.columns) == ["sex", "n", "n_margin", "h", "h_margin"]
    assert [tuple(row) for row in frame[["n_margin", "h_margin"]].to_numpy()] == [row[1:] for row in cursor.margins]
    assert list(connection.execute(BY_SEX).df().columns) == ["sex", "n", "h"]
    later = connection.execute(BY_SEX)
    later.fetchone()
    for frame in (later.df(), later.df(), later.pl(), later.pl(margins=True), later.arrow()):
        assert len(frame) == 2, "each is the whole answer"
    assert later.pl(margins=True).columns == ["sex", "n", "n_margin", "h", "h_margin"]
    assert later.pl(margins=True)["h_margin"].to_list() == [row[2] for row in later.margins]
    assert len(later.fetchall()) == 1, "no frame has fetched a row"


def test_arrays_are_lists_and_so_are_their_margins(connection: dpsql.Connection) -> None:
    quartiles = "PERCENTILE_CONT(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY height_cm)"
    cursor = connection.execute(f"SELECT sex, {quartiles} AS q FROM patient GROUP BY sex")
    lists = [row[1] for row in cursor.fetchall()]
    assert all(isinstance(one, list) and 150 < one[0] <= one[1] < 200 for one in lists)
    widths = [list(row[1]) for row in cursor.margins]
    frame, polars, arrow = (frame(margins=True) for frame in (cursor.df, cursor.pl, cursor.arrow))
    assert list(frame["q"]) == polars["q"].to_list() == arrow["q"].to_pylist() == lists
    assert all(type(one) is list for one in [*frame["q"], *frame["q_margin"]])
    assert list(frame["q_margin"]) == polars["q_margin"].to_list() == arrow["q_margin"].to_pylist() == widths


def test_charts_have_error_bars(connection: dpsql.Connection) -> None:
    axes = connection.execute(BY_SEX).plot()
    assert len(axes.containers) == 4, "two series of bars, each with error bars"
    connection.execute("SET dpsql.intervals = on")
    few = connection.execute("SELECT sex, AVG(height_cm) AS h FROM patient WHERE id < 30 GROUP BY sex")
    ends = [(low, high) for _, h, low, high in few.fetchall() if h is not None]
    connection.execute("RESET dpsql.intervals")
    axes = connection.execute("SELECT sex, AVG(height_cm) AS h FROM patient WHERE id < 30 GROUP BY sex").plot()
    (whiskers,) = axes.containers[0].lines[2]
    drawn = [sorted(float(y) for _, y in segment) for segment in whiskers.get_segments()]
    assert drawn == [pytest.approx(pair) for pair in ends], "bars may be longer on one side"
    by_month = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visit GROUP BY 1"
    axes = connection.execute(by_month).plot()
    assert len(axes.lines[0].get_xdata()) == 12
    without = (
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visit WHERE EXTRACT(MONTH FROM day) <> 5 GROUP BY 1"
    )
    axes = connection.execute(without).plot()
    drawn = [part.lines[0].get_xdata() for part in axes.containers]
    assert [len(months) for months in drawn] == [4, 7], "a month that is left out breaks the line"
    with pytest.raises(dpsql.ProgrammingError, match="no number"):
        connection.execute("SELECT name FROM region").plot()


def test_magics(policy: Path) -> None:
    from IPython.testing.globalipapp import start_ipython

    shell = start_ipython()
    shell.run_line_magic("load_ext", "dpsql")
    with pytest.raises(dpsql.DataError):
        shell.run_cell_magic("dpsql", "", "SELECT COUNT(*) FROM patient")
    shell.run_line_magic("dpsql", f"{policy} ana")
    found = shell.run_cell_magic("dpsql", "answer", "SELECT COUNT(*) AS n FROM patient;")
    assert found.description[0][0] == "n"
    assert shell.user_ns["answer"] is found


def test_a_cell_is_explained_for_nothing(policy: Path) -> None:
    from IPython.testing.globalipapp import start_ipython

    shell = start_ipython() or __import__("IPython").get_ipython()
    shell.run_line_magic("load_ext", "dpsql")
    shell.run_line_magic("dpsql", f"{policy} ana")
    with dpsql.connect(policy, "ana") as connection:
        before = connection.budget().used
        told = shell.run_cell_magic("dpsql", "--explain told", "SELECT COUNT(*) AS n FROM visit;")
        assert shell.user_ns["told"] is told
        assert "expected 95 % error" in told._repr_html_()
        assert shell.run_cell_magic("dpsql", "--explain", "SELECT COUNT(*) FROM visit").price == told.price
        for misspelt in ("--explian", "--explain a b", "1a"):
            with pytest.raises(dpsql.DataError, match="is no name"):
                shell.run_cell_magic("dpsql", misspelt, "SELECT COUNT(*) FROM visit")
        assert connection.budget().used == before


def test_the_example_notebook_runs(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(EXAMPLE.parents[2]))
    monkeypatch.setenv("DPSQL_POLICY", str(policy))
    notebook = nbformat.read(EXAMPLE, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(policy.parent)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert any("<svg" in output.get("data", {}).get("text/html", "") for output in shown)
