"""Principal components: without noise they are eigenvectors of sample covariances; with noise their intervals hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpsql.errors import Error
from dpsql.inference.estimates.principal_components import component_numbers
from dpsql.inference.estimates.regression_figures import RegressionNumbers
from dpsql.proxy import Session
from rewriter.regression import ComponentField, ComponentPart, PrincipalComponent
from tests.aggregates.test_regressions import Ends, listed, noisy
from tests.properties.planted import case

PEOPLE = 2000
TABLES = """
  person:
    columns: {id: {}, sex: {values: [F, M]}, a: {range: [0, 100]}, b: {range: [-50, 50]}, c: {range: [0, 10]}}
"""
SETUP = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT, a INTEGER, b INTEGER, c DOUBLE PRECISION)",
    "INSERT INTO person SELECT i, CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END, 20 + i % 45,"
    " CASE WHEN i % 50 > 0 THEN (i % 45) - 20 + i * 7919 % 13 END, i % 7"
    f" FROM generate_series(1, {PEOPLE}) AS t(i)",
]
FULL = "dpsql.pca(ARRAY[a, b, c]{})"


def people(*, woman: bool | None = None) -> np.ndarray:
    i = np.arange(1, PEOPLE + 1)
    own = (i % 50 > 0) & (True if woman is None else (i % 3 == 0) == woman)
    return np.c_[20 + i % 45, i % 45 - 20 + i * 7919 % 13, i % 7][own].astype(float)


def components(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances, the largest first, and rows of loadings of which the largest is positive."""
    found, axes = np.linalg.eigh(np.cov(x.T))
    rows = axes.T[::-1]
    top = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return found[::-1], rows * np.sign(top)


@pytest.fixture(scope="module", params=[("zcdp", "duckdb"), ("pure", "duckdb"), ("zcdp", "postgres")], ids="-".join)
def exact(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    accounting, engine = request.param
    with case(tmp_path_factory.mktemp("exact"), SETUP, TABLES, accounting, engine=engine) as session:
        yield session


def test_components_are_those_of_the_covariances(exact: Session) -> None:
    variances, rows = components(people())
    for number in (1, 2, 3):
        call = FULL.format(f", {number}" if number > 1 else "")
        ((loadings, variance, share, one),) = exact.execute(
            f"SELECT {call}, ({call}).variance, ({call}).share, ({call}).loadings[2] FROM person"
        ).rows
        assert listed(loadings) == pytest.approx(rows[number - 1], abs=2e-3)
        assert float(variance) == pytest.approx(variances[number - 1], rel=5e-3)  # type: ignore[arg-type]
        assert float(share) == pytest.approx(variances[number - 1] / variances.sum(), abs=1e-3)  # type: ignore[arg-type]
        assert float(one) == pytest.approx(listed(loadings)[1])  # type: ignore[arg-type]


def test_groups_filters_and_fields_as_columns(exact: Session) -> None:
    inner = f"SELECT sex, {FULL.format(', 2')} FILTER (WHERE id > 0) AS r FROM person GROUP BY sex"
    answer = exact.execute(f"SELECT sex, (r).* FROM ({inner}) t ORDER BY sex")
    assert [column.name for column in answer.columns] == ["sex", "loadings", "variance", "share"]
    for (_, loadings, variance, _), woman in zip(answer.rows, (True, False), strict=True):
        variances, rows = components(people(woman=woman))
        assert listed(loadings) == pytest.approx(rows[1], abs=5e-3)
        assert float(variance) == pytest.approx(variances[1], rel=0.01)  # type: ignore[arg-type]


def test_components_of_the_same_numbers_are_one_release(exact: Session) -> None:
    """All numbers of all components are made of one vector: what was bought for one is there for the others."""
    exact.execute("SET dpsql.reuse = on")
    asked = [f"SELECT ({FULL.format(f', {number}')}).variance FROM person WHERE id > 7" for number in (1, 2, 3)]
    assert [bool(exact.execute(sql).price) for sql in asked] == [True, False, False]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT dpsql.pca(a, b) FROM person", "array"),
        ("SELECT dpsql.pca(ARRAY[a]) FROM person", "2 to 20"),
        ("SELECT dpsql.pca(ARRAY[a, 1]) FROM person", "does not vary"),
        ("SELECT dpsql.pca(ARRAY[a, b], 3) FROM person", "1 to 2"),
        ("SELECT dpsql.pca(ARRAY[a, b], c) FROM person", "1 to 2"),
        ("SELECT dpsql.pca(ARRAY[a, sex]) FROM person", "number"),
        ("SELECT dpsql.pca(ARRAY[a, id]) FROM person", "bounds"),
        ("SELECT (dpsql.pca(ARRAY[a, b])).r2 FROM person", "no r2"),
        ("SELECT (dpsql.pca(ARRAY[a, b])).share[1] FROM person", "one number"),
        ("SELECT dpsql.pca(ARRAY[AVG(a), b]) FROM person", "nested"),
        ("SELECT dpsql.predict(dpsql.pca(ARRAY[a, b]), ARRAY[1, 2]) FROM person", "coefficients"),
        ("SELECT dpsql.pca(ARRAY[n, m]) FROM (SELECT COUNT(*) AS n, AVG(a) AS m FROM person) t", "over people alone"),
    ],
)
def test_what_is_refused_says_what_would_work(exact: Session, sql: str, said: str) -> None:
    with pytest.raises(Error) as found:
        exact.execute(sql)
    assert found.value.sqlstate in ("0A000", "42883", "42703", "42803", "22023", "42804"), found.value
    assert said in str(found.value)
    assert found.value.hint


# Estimates of made noise


def numbers(ends: Ends, x: np.ndarray, part: ComponentPart, epsilon: float, times: int) -> RegressionNumbers:
    cells = tuple((f"s{at}", Fraction(1)) for at in range(1 + 2 * len(ends) + math.comb(len(ends), 2)))
    ranges = tuple((Fraction(low), Fraction(high)) for low, high in ends)
    return component_numbers(PrincipalComponent(part, ranges, cells), noisy(x, ends, epsilon, times))


def shape(name: str, rows: int) -> tuple[np.ndarray, Ends]:
    rng = np.random.default_rng(1)
    even = rng.uniform(-1, 1, (rows, 3))
    match name:
        case "apart":
            turned = np.linalg.qr(np.array([[1.0, 2, 3], [2, -1, 1], [0, 1, -2]]))[0]
            return even * [1, 0.5, 0.2] @ turned, ((-2.0, 2.0),) * 3
        case "alike":
            return even, ((-1.0, 1.0),) * 3
        case "flat":
            return np.c_[even[:, :2], even[:, 0]], ((-1.0, 1.0),) * 3
        case "opposite":
            return np.c_[even[:, 0], -even[:, 0], 0.3 * even[:, 1]], ((-1.0, 1.0),) * 3
        case _:
            return even * [500, 0.4, 3] + [0, 0, 5], ((-1000.0, 1000.0), (-1.0, 1.0), (0.0, 10.0))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("rows", [300, 20_000])
@pytest.mark.parametrize("name", ["apart", "alike", "flat", "opposite", "scales"])
def test_intervals_hold_whatever_the_variances_are(name: str, rows: int, epsilon: float) -> None:
    """Of 300, fewer than 265, where 95 % hold, would come once in 10⁴ times."""
    x, ends = shape(name, rows)
    variances, loadings = components(x)
    for number in (1, 2, 3):
        own = float(variances[number - 1])
        wanted = [(ComponentField.VARIANCE, 0, own), (ComponentField.SHARE, 0, own / float(variances.sum()))]
        wanted += [(ComponentField.LOADING, place, one) for place, one in enumerate(loadings[number - 1])]
        for field, place, truth in wanted:
            found = numbers(ends, x, ComponentPart(field, place, number), epsilon, 300)
            held = np.isnan(found.values) | (np.abs(found.values - truth) <= found.widths + 1e-9)
            assert held.sum() >= 265, (field, number, place, held.sum())


def test_what_is_told_is_told_closely() -> None:
    """Where variances are apart, half-widths are near the 95 % point of the errors."""
    x, ends = shape("apart", 50_000)
    variances, loadings = components(x)
    for part, truth in (
        (ComponentPart(ComponentField.VARIANCE, 0, 1), variances[0]),
        (ComponentPart(ComponentField.LOADING, 0, 1), loadings[0][0]),
        (ComponentPart(ComponentField.SHARE, 0, 2), variances[1] / variances.sum()),
    ):
        found = numbers(ends, x, part, 1.0, 1000)
        off = np.quantile(np.abs(found.values - truth), 0.95)
        assert 0.9 * off <= np.median(found.widths) <= 1.2 * off


def test_a_price_says_that_nothing_is_foretold(tmp_path: Path) -> None:
    with case(tmp_path, SETUP, TABLES, noise=True) as session:
        explained = session.explain(f"SELECT ({FULL.format('')}).share FROM person")
        assert tuple(explained.expected) == (None,)
        assert "dpsql.pca(ARRAY[a, b, c], 1)" in str(explained)
