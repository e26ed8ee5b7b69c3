"""``dpsql check --data QUESTIONS``: true numbers, bounds and prices of an owner's own questions, and other bounds."""

from __future__ import annotations

import io
import re
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from dpsql.errors import DataError, OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.interfaces.commands.data_check import check_data
from dpsql.policy import Policy
from dpsql.proxy import Proxy
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:shop.duckdb; ledger: sqlite:shop.ledger; privacy_unit: customer.id
budget: {epsilon: 10, delta: 1e-6}; statement: {epsilon: 0.25}
tables:
  customer: id, sex [F, M], age 18..80
  purchase(customer_id -> customer.id, max_rows: 4): shop [a, b], amount 0..10000
""")
QUESTIONS = """
SELECT shop, COUNT(*) AS n, SUM(amount) AS spent FROM purchase GROUP BY shop;
SELECT AVG(age) -- a comment
FROM customer;
SELECT * FROM customer
"""


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each of 4,000 customers buys five times in one shop, for 50 each: one row in five is cut."""
    folder = tmp_path_factory.mktemp("shop")
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, sex TEXT, age INTEGER)")
        connection.execute("INSERT INTO customer SELECT i, 'F', IF(i % 2 = 0, 10, 40) FROM range(4000) AS t(i)")
        connection.execute("CREATE TABLE purchase (customer_id INTEGER, shop TEXT, amount INTEGER)")
        connection.execute(
            "INSERT INTO purchase SELECT i, IF(i % 4 = 0, 'a', 'b'), 50 FROM range(4000) AS t(i), range(5)"
        )
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "questions.sql").write_text(QUESTIONS)
    return folder / "policy.yaml"


@pytest.fixture(scope="module")
def page(policy: Path) -> str:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, color_system=None, width=160)
    check_data(Policy.load(policy), console, policy.with_name("questions.sql"), "5 %")
    return written.getvalue()


def line(page: str, *words: str) -> list[str]:
    """The cells of the one line that has all words."""
    (found,) = [one for one in page.splitlines() if all(word in one for word in words)]
    return re.split(r"\s{2,}", found.strip())


def test_each_question_is_told_its_true_number_and_what_bounds_leave(page: str) -> None:
    # 5,000 and 15,000 rows, of which four fifths are left; the middle of the two is told.
    assert line(page, "2 of 2")[:6] == ["1", "2 of 2", "n", "10,000", "8,000", "-20 %"]
    assert line(page, "spent", "%")[1:4] == ["500,000", "400,000", "-20 %"]
    # Those who are ten count as eighteen.
    assert line(page, "1 of 1", "avg")[3:6] == ["25", "29", "+16 %"]
    assert "refused: this query returns rows of people" in page


def test_the_price_of_a_wanted_error_is_told(page: str, policy: Path) -> None:
    epsilon = float(line(page, "2 of 2")[-1])
    proxy = Proxy.open(policy)
    session = proxy.session()
    try:
        session.execute(f"SET dpsql.epsilon = {min(epsilon, 1)}")
        sql = QUESTIONS.split(";")[0]
        (n, spent) = session.explain(sql).expected[1:]
        scale = epsilon / min(epsilon, 1)
    finally:
        proxy.close()
    assert n is not None
    assert spent is not None
    # The widest of the two columns is the sum's: its range is 200 times as wide as its values.
    assert spent / scale == pytest.approx(0.05 * 500_000, rel=0.15)
    assert re.search(r"All of them once, each with an error of 5 %: [\d.]+ % of the budget\.", page)


def test_other_bounds_are_held_against_all_questions(page: str) -> None:
    more = line(page, "purchase: max_rows", " 8 ")
    assert more[4] == "+16 %", "nothing is cut any more; that ages are clipped is as before"
    narrower = line(page, "purchase.amount: range", "[0, 5000]")
    assert narrower[-1].startswith("better by")
    assert not [one for one in page.splitlines() if "customer: max_rows" in one], "there is no such bound"


def test_nothing_is_charged_and_nothing_is_kept(page: str, policy: Path) -> None:
    before = policy.parent / "other"
    before.mkdir()
    assert page
    copied = before / "policy.yaml"
    copied.write_text(policy.read_text().replace("duckdb:shop", "duckdb:../shop"))
    console = Console(file=io.StringIO(), force_terminal=True)
    (before / "questions.sql").write_text("SELECT COUNT(*) FROM customer")
    check_data(Policy.load(copied), console, before / "questions.sql")
    assert sorted(path.name for path in before.iterdir()) == ["policy.yaml", "questions.sql"]


def test_it_is_for_a_terminal_and_a_file_with_questions(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OperationalError, match="owner's terminal alone"):
        check_data(Policy.load(policy), Console(file=io.StringIO()), policy.with_name("questions.sql"))
    assert main(["check", str(policy), str(policy.with_name("questions.sql"))]) == 1
    assert "add --data" in capsys.readouterr().err
    console = Console(file=io.StringIO(), force_terminal=True)
    empty = policy.with_name("empty.sql")
    empty.write_text("-- nothing\n")
    with pytest.raises(DataError, match="has no statement"):
        check_data(Policy.load(policy), console, empty)
    with pytest.raises(DataError, match="no part of a number"):
        check_data(Policy.load(policy), console, policy.with_name("questions.sql"), "much")
