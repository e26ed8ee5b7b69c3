"""Made-up people: paid before rows are read, drawn from released counts alone, in the types of their columns."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from dpsql.errors import BudgetExceeded, DataError
from dpsql.interfaces.commands.commands import main
from dpsql.interfaces.commands.synthesize_command import synthesize
from dpsql.proxy import Proxy
from dpsql.synthetic import Marginals, ReleasedCounts, attributes, best, compared, made_table, means
from tests.doubles import open_without_noise
from tests.new_databases import new_database

PEOPLE = 400
POLICY = """
database: duckdb:people.duckdb
ledger: sqlite:people.ledger
privacy_unit: person.id
budget: {budget}
statement: {{epsilon: 0.5, max_epsilon: 4}}
tables:
  person:
    columns:
      id: {{}}
      "re ""gion": {{values: [N, "E'", S]}}
      plan: {{values: [free, pro]}}
      vip: {{}}
      age: {{range: [18, 90]}}
      price: {{range: [0, 9.99]}}
      height: {{range: [1, 2]}}
      joined: {{range: [2020-01-01, 2025-12-31]}}
      seen: {{range: [2020-01-01 00:00:00, 2026-01-01 00:00:00]}}
      name: {{}}
      home: {{values_from: town.name}}
      work: {{values_from: town.name}}
  visit: {{max_rows: 3, columns: {{person_id: {{}}, kind: {{values: [a, b]}}, cost: {{range: [0, 50]}}}}}}
  town: {{public: true, columns: {{name: {{}}}}}}
""".replace('"re ""gion"', "'re \"gion'")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_database(tmp_path / "people.duckdb") as connection:
        connection.execute("CREATE TABLE town (name VARCHAR PRIMARY KEY)")
        connection.execute("INSERT INTO town VALUES ('Graz'), ('Linz'), ('Wels')")
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, \"re \"\"gion\" VARCHAR, plan ENUM ('free', 'pro') NOT NULL,"
            " vip BOOLEAN, age SMALLINT NOT NULL, price DECIMAL(6, 2), height DOUBLE, joined DATE, seen TIMESTAMP,"
            " name VARCHAR, home VARCHAR REFERENCES town (name), work VARCHAR)"
        )
        connection.execute(
            "INSERT INTO person SELECT i, ['N', 'N', 'E''', 'X', NULL][1 + i % 5], ['free', 'pro'][1 + i // 7 % 2],"
            " [true, false, NULL][1 + i % 3], 10 + i % 100, (i % 13)::DECIMAL(6, 2), 1 + i % 10 / 10,"
            " DATE '2019-06-01' + (i * 5)::INTEGER, TIMESTAMP '2020-01-01' + INTERVAL 1 DAY * i, 'n' || i, ['Graz', 'Linz', NULL][1 + i % 3], 'Rome'"
            f" FROM range({PEOPLE}) t(i)"
        )
        connection.execute("CREATE TABLE visit (person_id INTEGER REFERENCES person (id), kind VARCHAR, cost INTEGER)")
        connection.execute(f"INSERT INTO visit SELECT i // 2, ['a', 'b'][1 + i % 2], i % 60 FROM range({PEOPLE}) t(i)")
    policy(tmp_path)
    return tmp_path


def policy(folder: Path, budget: str = "{epsilon: 50, delta: 1e-6}") -> Path:
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(budget=budget))
    return path


def opened(folder: Path, *, silent: bool = False) -> AbstractContextManager[Proxy]:
    return closing((open_without_noise if silent else Proxy.open)(folder / "policy.yaml"))


def independent(
    cells: Mapping[str, int], measured: Sequence[ReleasedCounts], rows: int | None
) -> dict[str, np.ndarray]:
    """A model of columns that do not depend on each other."""
    drawn = np.random.default_rng(1)
    counts = {name: np.maximum(best(measured, (name,)).numbers, 0) for name in cells}
    many = rows or round(next(iter(counts.values())).sum())
    return {name: drawn.choice(cells[name], many, p=one / one.sum()) for name, one in counts.items()}


def command(folder: Path, table: str = "person", **options: object) -> list[str]:
    told: list[str] = []
    given = (folder / "policy.yaml", table, folder / "made.parquet", independent, Console(width=120), told.append)
    synthesize(*given, **options)  # type: ignore[arg-type]
    return told


def test_the_price_is_said_and_charged_once_before_any_row_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = command(folder, epsilon="1", only=("plan", "vip", "age"), price_only=True)
    with opened(folder) as proxy:
        assert proxy.ledger.charges(limit=10) == ()
    assert not (folder / "made.parquet").exists()
    [price] = [line for line in told if line.startswith("The price")]
    assert "ρ = 0.5" in price or "ρ = 0.49" in price
    with opened(folder) as proxy:
        seen: list[int] = []
        read = proxy.answering.reader.reading

        def reading(plans: object) -> object:
            found = read(plans)  # type: ignore[arg-type]
            table = found.table

            class Watched:
                def table(self, *args: object, **named: object) -> object:
                    seen.append(len(proxy.ledger.charges(limit=10)))
                    return table(*args, **named)  # type: ignore[arg-type]

            return Watched()

        monkeypatch.setattr(proxy.answering.reader, "reading", reading)
        marginals = Marginals(proxy, proxy.session(), "person", ("plan", "vip", "age"))
        plan = marginals.plan(Fraction(1))
        charged = marginals.buy(plan, Fraction(1))
        assert charged == plan.loss != type(charged)()
        assert seen
        assert set(seen) == {1}
        marginals.read(plan)
        assert len(proxy.ledger.charges(limit=10)) == 1
    again = command(folder, epsilon="1", only=("plan", "vip", "age"))
    assert "Bought before: nothing was charged." in again
    with opened(folder) as proxy:
        assert len(proxy.ledger.charges(limit=10)) == 1


def test_a_budget_that_does_not_reach_is_said_before_anything(folder: Path) -> None:
    policy(folder, "{epsilon: 0.6, delta: 1e-6}")
    with pytest.raises(BudgetExceeded):
        command(folder, epsilon="3", only=("plan", "vip"))
    assert not (folder / "made.parquet").exists()
    with opened(folder) as proxy:
        assert proxy.ledger.charges(limit=10) == ()


def test_without_the_extra_nothing_is_charged(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mbi", None)
    monkeypatch.delitem(sys.modules, "dpsql.synthetic.graphical_model", raising=False)
    asked = ["synthesize", str(folder / "policy.yaml"), "person", "--output", str(folder / "made.parquet")]
    assert main(asked) == 1
    error = capsys.readouterr().err
    assert "dpsql synthesize needs mbi" in error
    assert ".[synthetic]" in error
    assert not (folder / "people.ledger").exists()


def test_rows_have_the_declared_types_and_values(folder: Path) -> None:
    told = command(folder, epsilon="4", rows=500)
    made = pq.read_table(folder / "made.parquet")
    assert b"dpsql_made_up" in made.schema.metadata
    assert made.num_rows == 500
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as known:
        assert made.column_names == [row[0] for row in known.execute("DESCRIBE person").fetchall()]
    types = {name: made.schema.field(name).type for name in made.column_names}
    assert types["age"] == pa.int16()
    assert types["price"] == pa.decimal128(6, 2)
    assert types["joined"] == pa.date32()
    assert types["seen"] == pa.timestamp("us")
    columns = {name: made.column(name).to_pylist() for name in made.column_names}
    assert set(columns['re "gion']) <= {"N", "E'", "S", None}
    assert set(columns["plan"]) <= {"free", "pro"}
    assert all(isinstance(one, int) and 18 <= one <= 90 for one in columns["age"])
    assert all(one is None or Decimal(0) <= one <= Decimal("9.99") for one in columns["price"])
    assert all(one is None or 1 <= one <= 2 for one in columns["height"])
    days = datetime.date(2020, 1, 1), datetime.date(2025, 12, 31)
    assert all(one is None or days[0] <= one <= days[1] for one in columns["joined"])
    assert set(columns["home"]) <= {"Graz", "Linz", "Wels", None}
    for name in ("id", "name", "work"):
        assert set(columns[name]) == {None}
        assert any(line.startswith(f"{name} is left NULL: it ") for line in told)
    assert len(set(columns["age"])) > 20


def test_counts_are_those_of_the_rows_but_for_noise(folder: Path) -> None:
    """Each row is in one cell: beyond a range in the last one, and without a listed value among the others."""
    only = ('re "gion', "plan", "vip", "age", "price", "joined", "home")
    with opened(folder, silent=True) as proxy:
        marginals = Marginals(proxy, proxy.session(), "person", only)
        plan = marginals.plan(Fraction(1))
        marginals.buy(plan, Fraction(1))
        measured = marginals.read(plan)
    known = {one.name: one for one in plan.attributes}
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as database:
        for one in measured:
            keys = ", ".join(known[name].key for name in one.names)
            expected = np.zeros(one.numbers.shape)
            for *row, many in database.execute(f"SELECT {keys}, COUNT(*) FROM person GROUP BY ALL").fetchall():
                expected[tuple(known[name].cell(key) for name, key in zip(one.names, row, strict=True))] = many
            assert np.array_equal(one.numbers, expected), one.names
    assert {names for one in measured for names in one.names} == set(only)
    # Of a list, and of a range: beyond 18 and 90 people are in the first and the last cell.
    assert best(measured, ('re "gion',)).numbers == pytest.approx([160, 80, 0, 160])
    assert best(measured, ("age",)).numbers == pytest.approx([64, *[32] * 8, 80])
    for names in plan.cliques:
        assert best(measured, names).numbers.sum() == pytest.approx(PEOPLE)


def test_people_with_several_rows_are_made_up_of_what_is_measured_together(folder: Path) -> None:
    with opened(folder, silent=True) as proxy:
        marginals = Marginals(proxy, proxy.session(), "visit")
        plan = marginals.plan(Fraction(1))
        assert any(one.joined for one in plan.workload.statements)
        marginals.buy(plan, Fraction(1))
        measured = {one.names: one for one in marginals.read(plan)}
        assert len(proxy.ledger.charges(limit=10)) == 1
    assert list(measured[("kind",)].numbers) == [PEOPLE / 2, PEOPLE / 2, 0]
    assert measured[("kind", "cost")].numbers.shape == (3, 10)
    assert all(one.deviation > 0 for one in measured.values())


@pytest.mark.parametrize(
    ("table", "only", "what"),
    [
        ("nowhere", (), "there is no table nowhere"),
        ("town", (), "town holds no people"),
        ("person", ("size",), "person has no column size"),
        ("person", ("name",), "no column of person can be made up"),
    ],
)
def test_what_cannot_be_made_up_is_refused(folder: Path, table: str, only: tuple[str, ...], what: str) -> None:
    with opened(folder) as proxy, pytest.raises(DataError, match=what):
        Marginals(proxy, proxy.session(), table, only)


def test_no_file_is_overwritten(folder: Path) -> None:
    (folder / "made.parquet").write_text("mine")
    with pytest.raises(DataError, match="exists already"):
        command(folder)
    assert (folder / "made.parquet").read_text() == "mine"


def test_the_best_count_is_that_of_least_variance() -> None:
    first = ReleasedCounts(("a", "b"), np.array([[1.0, 2.0], [3.0, 4.0]]), 1.0)
    second = ReleasedCounts(("c", "a"), np.array([[5.0, 5.0]]), 2.0)
    found = best([first, second], ("a",))
    assert found.numbers == pytest.approx([(3 / 2 + 5 / 4) / (3 / 4), (7 / 2 + 5 / 4) / (3 / 4)])
    assert found.deviation == pytest.approx((1 / 2 + 1 / 4) ** -0.5)
    assert first.by(("b", "a")).numbers.tolist() == [[1, 3], [2, 4]]


def test_a_comparison_sees_what_made_up_rows_get_wrong(folder: Path) -> None:
    with opened(folder) as proxy:
        catalog = proxy.catalog
    by, _ = attributes(catalog.tables["person"], catalog, ("age", "plan"))
    measured = [
        ReleasedCounts(("plan", "age"), np.array([[100.0] + [0.0] * 9, [0.0] * 9 + [300.0]]), 2.0),
    ]
    cells = {"plan": np.array([0, 0, 1, 1]), "age": np.array([0, 0, 0, 9])}
    [pair, single] = compared(by, [("plan", "age"), ("plan",)], measured, cells)
    assert (pair.groups, pair.off) == (20, 200)
    assert single.off == 100
    assert pair.margin == pytest.approx(1.96 * 2, rel=1e-3)
    [age] = means(by, measured, cells)
    low, high = by[1].middles[0], by[1].middles[9]  # type: ignore[index]
    assert age.released == pytest.approx((100 * low + 300 * high) / 400)
    assert age.made_up == pytest.approx((3 * low + high) / 4)
    made = made_table(catalog.tables["person"], by, cells)
    assert sorted(made.column("plan").to_pylist()) == ["free", "free", "pro", "pro"]


class InRounds:
    """A model of columns that do not depend on each other, which is asked in rounds."""

    def __init__(self, cells: Mapping[str, int]) -> None:
        self._cells = cells
        self._measured: Sequence[ReleasedCounts] = ()

    def fit(self, measured: Sequence[ReleasedCounts]) -> None:
        self._measured = measured

    def fits(self, names: Sequence[str], part: Fraction) -> bool:
        return len(names) < 3 or part == 1

    def predicted(self, names: Sequence[str]) -> np.ndarray:
        found = np.array(1.0)
        for name in names:
            found = np.multiply.outer(found, best(self._measured, (name,)).numbers / PEOPLE)
        return found * PEOPLE

    def rows(self, measured: Sequence[ReleasedCounts], rows: int | None) -> Mapping[str, np.ndarray]:
        return independent(self._cells, measured, rows)


def test_counts_are_chosen_in_rounds_where_that_is_asked_for(folder: Path) -> None:
    asked = {"epsilon": "2", "only": ("plan", "vip", "age"), "adaptive": InRounds}
    told = command(folder, **asked, rows=500)
    assert "Rows of person are counted by plan, vip, age, and by some of 4 pairs and triples, chosen in rounds." in told
    assert "The price of these counts: ρ = 2, with one charge." in told
    assert pq.read_table(folder / "made.parquet").num_rows == 500
    (folder / "made.parquet").unlink()
    assert "Bought before: nothing was charged." in command(folder, **asked)
    with opened(folder) as proxy:
        assert len(proxy.ledger.charges(limit=10)) == 1


def test_without_rounds_all_pairs_are_bought(folder: Path) -> None:
    """Losses in ε do not add up as rounds need it."""
    policy(folder, "{epsilon: 50}")
    told = command(folder, epsilon="2", only=("plan", "vip", "age"), adaptive=InRounds)
    assert "Counts are not chosen in rounds: this policy's budget or table does not allow it." in told
    assert "Rows of person are counted by plan, vip, age, and by 3 pairs of them." in told


def test_a_model_of_rounds_predicts_what_was_measured() -> None:
    """Counts by columns that are in no common count are those of a chain: a tells of c by b."""
    pytest.importorskip("mbi")
    from dpsql.synthetic.graphical_model import GraphicalModel

    first, second = np.array([[900.0, 100.0], [100.0, 900.0]]), np.array([[600.0, 300.0, 100.0], [100.0, 300.0, 600.0]])
    single = [("a", first.sum(1)), ("b", first.sum(0)), ("c", second.sum(0)), ("d", np.array([500.0, 1500.0]))]
    model = GraphicalModel({"a": 2, "b": 2, "c": 3, "d": 2})
    measured = [ReleasedCounts((name,), numbers, 1.0) for name, numbers in single]
    model.fit(measured)
    assert model.predicted(("a", "d")) == pytest.approx(np.outer(first.sum(1), [0.25, 0.75]), abs=5)
    measured += [ReleasedCounts(("a", "b"), first, 1.0), ReleasedCounts(("c", "b"), second.T, 1.0)]
    made = model.rows(measured, None)
    chain = (first / first.sum(0)) @ second
    assert model.predicted(("c", "a")) == pytest.approx(chain.T, abs=10)
    assert model.predicted(("d", "a", "c")) == pytest.approx(np.multiply.outer([0.25, 0.75], chain), abs=10)
    assert model.fits(("a", "b"), Fraction(1, 10**9))
    assert not model.fits(("a", "b", "c"), Fraction(1, 10**9))
    assert model.fits(("a", "b", "c"), Fraction(1))
    pairs = np.zeros((2, 2))
    np.add.at(pairs, (made["a"], made["b"]), 1)
    assert np.abs(pairs - first).max() < 20


def test_a_graphical_model_agrees_with_what_was_measured() -> None:
    pytest.importorskip("mbi")
    from dpsql.synthetic.graphical_model import draw

    drawn = np.random.default_rng(2)
    table = np.array([[900.0, 100.0], [100.0, 900.0]])
    measured = [
        ReleasedCounts(("a", "b"), table + drawn.normal(0, 5, (2, 2)), 5.0),
        ReleasedCounts(("b", "c"), np.full((2, 3), 1000 / 3) + drawn.normal(0, 5, (2, 3)), 5.0),
    ]
    made = draw({"a": 2, "b": 2, "c": 3}, measured, None)
    assert len(made["a"]) == pytest.approx(2000, abs=40)
    pairs = np.zeros((2, 2))
    np.add.at(pairs, (made["a"], made["b"]), 1)
    assert np.abs(pairs - table).max() < 40
    assert np.bincount(made["c"]) == pytest.approx([2000 / 3] * 3, abs=40)
