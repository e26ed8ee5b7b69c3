"""``dpsql check --data``: exact, for a terminal alone, and free."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from dpsql.errors import OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.interfaces.commands.data_check import check_data
from dpsql.policy import Policy
from tests.engines.postgres_server import copy_tables, shared_server
from tests.new_databases import new_database

POLICY = """
database: duckdb:shop.duckdb
ledger: sqlite:shop.ledger
privacy_unit: customer.id
budget: {epsilon: 10, delta: 1e-6}
statement: {epsilon: 0.25}
tables:
  customer:
    columns: {id: {}, email: {}, sex: {values: [F, M]}, age: {range: [18, 80]}}
  purchase:
    unit: customer_id -> customer.id
    max_rows: 4
    columns: {customer_id: {}, day: {range: [2025-01-01, 2025-12-31]}, amount: {range: [0, 100]}}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with new_database(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, email TEXT, sex TEXT, age INTEGER)")
        connection.execute("""INSERT INTO customer SELECT i, 'c' || i, CASE WHEN i % 10 = 0 THEN 'X' ELSE 'F' END,
            CASE WHEN i % 4 = 0 THEN NULL WHEN i % 5 = 0 THEN 7 WHEN i % 7 = 0 THEN 99 ELSE 30 END
            FROM range(1, 1001) AS t(i)""")
        connection.execute("CREATE TABLE purchase (customer_id INTEGER, day DATE, amount INTEGER)")
        # Customer 1 has ten rows, all others two; five rows lead to nobody.
        connection.execute("""INSERT INTO purchase
            SELECT i, DATE '2025-03-01', 50 FROM range(1, 1001) AS t(i), range(2) UNION ALL
            SELECT 1, DATE '2025-03-02', 50 FROM range(8) UNION ALL SELECT -1, DATE '2025-03-02', 50 FROM range(5)""")
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path / "policy.yaml"


def told(path: Path) -> str:
    page = io.StringIO()
    check_data(Policy.load(path), Console(file=page, force_terminal=True, color_system=None, width=160))
    return page.getvalue()


def test_all_that_an_owner_should_see_is_there(shop: Path) -> None:
    text = told(shop)
    lines = {line.split()[0]: " ".join(line.split()) for line in text.splitlines() if line.split()}
    assert "2,013 rows of 1,000 people: median 2, 90 % 2, 99 % 2, most 10; max_rows is 4" in text
    assert "1 people have more (0.1 % of the people): 6 rows (0.298 %) are cut off" in text
    assert "5 rows (0.248 %) lead to nobody" in text
    # 100 of 1,000 have an undeclared sex; of 750 ages 150 are too low and 86 too high.
    assert lines["sex"] == "sex 0 2 10 % list what is missing"
    assert lines["age"].startswith("age 25 % 3 20 % 11.5 %")
    assert "leave it out if it identifies people" in lines["email"]
    assert "leave it out" not in lines["id"]
    # In March customer 1 has ten rows, and all others two.
    assert after(text, "max_rows_per_group: 2 takes") == "by month of day, 0.397 % of the rows would be cut off"


def after(page: str, words: str) -> str:
    """The line after the one that has the words."""
    lines = page.splitlines()
    return lines[next(at for at, line in enumerate(lines) if words in line) + 1].strip()


def test_a_bound_that_would_cut_much_says_so_beside_its_gain(shop: Path) -> None:
    """A gain in noise alone would be an invitation to lose most of the rows."""
    with duckdb.connect(str(shop.parent / "shop.duckdb")) as connection:
        connection.execute("ALTER TABLE purchase ADD COLUMN place TEXT")
        connection.execute("INSERT INTO purchase SELECT customer_id, day, amount, 'web' FROM purchase, range(2)")
        connection.execute("UPDATE purchase SET place = 'web'")
    policy = POLICY.replace("max_rows: 4", "max_rows: 20").replace("day: {range: [2025-01-01, 2025-12-31]}, ", "")
    shop.write_text(policy.replace("amount: {range", "place: {values: [web, shop]}, amount: {range"))
    page = told(shop)
    # 999 customers have six rows at a place, and customer 1 thirty: of 6,039 rows 999 * 4 + 28 are cut.
    refused, worst, cut, advised = (one.strip() for one in lines_from(page, "max_rows_per_group: 2 "))
    assert re.fullmatch(
        r"purchase: max_rows_per_group: 2 is not advised: it makes the errors of 3 typical questions, noise and what is"
        r" cut off together, 1\d times as large",
        refused,
    )
    assert re.fullmatch(r'2\d times as large is that of SELECT "place", COUNT\(\*\) FROM "purchase" GROUP BY 1', worst)
    assert cut == "by place, 66.6 % of the rows would be cut off"
    assert "max_rows_per_group: 6 takes 1" in advised
    assert after(page, "max_rows: 10, not 20 takes 4") == "0.331 % of the rows would be cut off"


def lines_from(page: str, words: str) -> list[str]:
    """Four lines from the one that has the words."""
    lines = page.splitlines()
    at = next(at for at, line in enumerate(lines) if words in line)
    return lines[at : at + 4]


def test_a_bound_on_groups_is_told_with_what_it_does_to_other_keys(shop: Path) -> None:
    """By month nobody loses much, and by place nearly everybody would: it is one bound for both."""
    with duckdb.connect(str(shop.parent / "shop.duckdb")) as connection:
        connection.execute("ALTER TABLE purchase ADD COLUMN place TEXT")
        connection.execute(
            "INSERT INTO purchase SELECT customer_id, DATE '2025-04-01' + INTERVAL (31 * i) DAY, 50, 'web'"
            " FROM purchase, range(3) AS r(i)"
        )
        connection.execute("UPDATE purchase SET place = 'web'")
    policy = POLICY.replace("max_rows: 4", "max_rows: 40")
    shop.write_text(policy.replace("amount: {range", "place: {values: [web, shop]}, amount: {range"))
    page = told(shop)
    # 999 customers have two rows in each of four months, and eight at the one place; customer 1 has ten, and forty.
    # Of 8,052 rows, 999 * 6 + 38 are beyond two at the place.
    refused, worst, by_month, by_place = lines_from(page, "max_rows_per_group: 2 ")
    assert "is not advised" in refused
    assert 'SELECT "place"' in worst
    assert "by month of day, 0.397 %" in by_month
    assert "by place, 74.9 %" in by_place
    assert "max_rows_per_group: 8 takes" in page


def test_no_bound_is_advised_that_costs_a_question_more_than_it_gains(shop: Path) -> None:
    """Where each customer has many rows of every key, as planes have flights, all small bounds lose."""
    with duckdb.connect(str(shop.parent / "shop.duckdb")) as connection:
        connection.execute("ALTER TABLE purchase ADD COLUMN hour INTEGER")
        connection.execute(
            "INSERT INTO purchase SELECT c, DATE '2025-03-01', 50, i % 12 FROM range(1, 1001) AS t(c), range(240) AS r(i)"
        )
    policy = POLICY.replace("max_rows: 4", "max_rows: 300").replace(
        "amount: {range", "hour: {range: [0, 11]}, amount: {range"
    )
    shop.write_text(policy)
    page = told(shop)
    refused, *_ = lines_from(page, "max_rows_per_group: 2 ")
    assert "is not advised" in refused
    assert "by hour, 89.3 % of the rows would be cut off" in page
    assert [line for line in page.splitlines() if "max_rows_per_group" in line and "takes" in line] == []


def test_the_bias_of_grouped_questions_is_what_the_bounds_cut(shop: Path) -> None:
    shop.write_text(POLICY.replace("max_rows: 4", "max_rows: 4\n    max_rows_per_group: 1"))
    (line,) = [one for one in told(shop).splitlines() if one.startswith("SELECT DATE_TRUNC")]
    # All rows with a customer are of one month. The ball of max_rows 4 and one row in a group has the radius √4, so that
    # customer 1 counts with two rows of ten there: 2,000 of 2,008.
    assert "2,008" in line
    assert "2,000" in line
    assert "-0.4 %" in line


def test_a_profile_is_compared_with_the_truth(shop: Path) -> None:
    shop.write_text(POLICY + "profile: {epsilon: 1}\n")
    assert "its profile is not bought: dpsql profile" in told(shop)
    assert main(["profile", str(shop)]) == 0
    page = told(shop)
    assert re.search(r"its profile says (up to |[\d.]+ to )?[\d.]+ % of the people with more; it is 0\.1 %", page)
    assert re.search(r"its profile says (up to|at least) [\d.]+ % of the rows beyond; it is 0\.299 %", page)


def test_a_postgresql_is_told_alike(shop: Path) -> None:
    server = shared_server()
    name = server.database(
        """CREATE TABLE customer (id INTEGER PRIMARY KEY, email TEXT, sex TEXT, age INTEGER);
        CREATE TABLE purchase (customer_id INTEGER, day DATE, amount INTEGER)"""
    )
    with duckdb.connect(str(shop.parent / "shop.duckdb"), read_only=True) as rows, server.owner(name) as connection:
        copy_tables(rows, connection, ("customer", "purchase"))
    text = told(shop)
    shop.write_text(POLICY.replace("duckdb:shop.duckdb", server.url(name)).replace("sqlite:shop", "sqlite:other"))

    def figures(page: str) -> list[str]:
        """All lines but those of errors, which follow from each engine's plan."""
        told = [
            line for line in page.splitlines() if not any(word in line for word in ("less noisy", "the errors", "±"))
        ]
        return [" ".join(line.split()) for line in told]

    assert figures(told(shop)) == figures(text)


def test_the_simulation_tells_the_bias(shop: Path) -> None:
    lines = [" ".join(line.split()) for line in told(shop).splitlines()]
    (count,) = [line for line in lines if line.startswith('SELECT COUNT(*) FROM "purchase" ')]
    # 2,013 rows, of which 5 lead to nobody and 6 are beyond max_rows.
    assert "2,013 2,002 -0.55 %" in count
    (total,) = [line for line in lines if line.startswith('SELECT SUM("age")')]
    with duckdb.connect(str(shop.parent / "shop.duckdb"), read_only=True) as connection:
        (row,) = connection.execute(
            "SELECT SUM(age), SUM(LEAST(GREATEST(age, 18), 80)) FROM customer WHERE age IS NOT NULL"
        ).fetchall()
    assert f"{row[0]:,.6g} {row[1]:,.6g}" in total
    assert sum(line.startswith("SELECT") for line in lines) <= 5


def test_it_is_free_and_for_a_terminal_alone(shop: Path) -> None:
    with pytest.raises(OperationalError, match="owner's terminal alone"):
        check_data(Policy.load(shop), Console(file=io.StringIO()))
    command = [sys.executable, "-m", "dpsql", "check", str(shop), "--data"]
    piped = subprocess.run(command, capture_output=True, text=True, check=False)
    assert piped.returncode == 1
    assert "people" not in piped.stdout
    assert "owner's terminal alone" in piped.stderr
    ours, theirs = pty.openpty()
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert done.returncode == 0
    assert b"do not pass them on" in os.read(ours, 1 << 16)
    os.close(ours)
    budget = subprocess.run(
        [sys.executable, "-m", "dpsql", "budget", str(shop)], capture_output=True, text=True, check=True
    )
    assert "Charges:  0," in budget.stdout


def test_the_number_of_rows_in_each_span_is_there(shop: Path) -> None:
    text = shop.read_text()
    shop.write_text(text.replace("max_rows: 4", "time: day\n    max_rows: 6 per month, 2 per day"))
    assert "most 10; max_rows is 6 per month, 2 per day, which is 72 in all" in told(shop)
    assert "in a month with any: median 2, 90 % 2, 99 % 2, most 10; 0.1 % have more than 6" in told(shop)
    assert "in a day with any: median 2, 90 % 2, 99 % 2, most 8; " in told(shop)
    assert "have more than 2, which weighs 6 rows away" in told(shop)
    shop.write_text(text.replace("max_rows: 4", "time: day"))
    assert "in a month with any: median 2, 90 % 2, 99 % 2, most 10: max_rows: 2 per month keeps 99 % whole" in told(
        shop
    )


def test_rows_that_are_people_are_counted_and_years_are_not_summed(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "trial.duckdb")) as connection:
        connection.execute("CREATE TABLE trial AS SELECT 1971 + i % 11 AS year, i % 9 AS pain FROM range(321) AS t(i)")
    (tmp_path / "trial.yaml").write_text("""
database: duckdb:trial.duckdb
ledger: sqlite:trial.ledger
privacy_unit: row
budget: {epsilon: 10, delta: 1e-6}
tables: {trial: {columns: {year: {range: [1971, 1981]}, pain: {range: [0, 8]}}}}
""")
    lines = [" ".join(line.split()) for line in told(tmp_path / "trial.yaml").splitlines()]
    (count,) = [line for line in lines if line.startswith('SELECT COUNT(*) FROM "trial"')]
    assert count.endswith("321 321 0 %")
    assert any(line.startswith('SELECT SUM("pain")') for line in lines)
    assert not any("SUM" in line and "year" in line for line in lines)
