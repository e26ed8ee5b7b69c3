"""Any text gives a plan or a clean refusal, and no plan makes the engine raise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest

from rewriter.declared.catalog import Catalog
from rewriter.declared.contribution import Norm
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.split.splitter import split
from rewriter.statement.parser import Explain, Select, parse
from tests.properties.drawing import world
from tests.properties.neighbours import Databases, Neighbourhood
from tests.properties.postgres_databases import PostgresDatabases
from tests.properties.questions import question
from tests.properties.world import World

VOCABULARY = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET JOIN LEFT RIGHT FULL INNER CROSS NATURAL ON USING AS WITH RECURSIVE
UNION ALL INTERSECT EXCEPT DISTINCT CASE WHEN THEN ELSE END AND OR NOT IN EXISTS BETWEEN LIKE ILIKE IS NULL TRUE FALSE
COUNT SUM AVG MIN MAX MEDIAN STDDEV FILTER OVER PARTITION ROWS RANGE WINDOW CAST DATE TIMESTAMP INTERVAL EXTRACT YEAR
date_trunc FLOOR ABS GREATEST LEAST COALESCE NULLIF SUBSTRING UPPER LENGTH ROUND LATERAL VALUES ARRAY ROLLUP CUBE
GROUPING SETS TABLESAMPLE FETCH FIRST ASC DESC NULLS LAST SET SHOW BEGIN EXPLAIN INSERT DROP COPY PRAGMA
person visit item card region code event sale p c id person_id visit_id vid cat flag small big ratio money day at note
bare area name country size t dpsql budget pg_catalog query_table read_csv random setseed
( ) ( ) , . * = < > <= >= <> + - / % || :: ; ' " '' "" 'a' '2020-01-01' 0 1 -1 1.5 1e400 99999999999999999999999 1 month
? :x $1 $$ -- /* */ [ ] { } # @ ! \\ ~ ^ & | == E'\\x' U&'a' N'b' X'00' \u00e9 \u0000 \u200b
"""
WORDS = VOCABULARY.split()

SQLSTATE = re.compile(r"[0-9A-Z]{5}")


def answered(text: str, catalog: Catalog, databases: Neighbourhood, seen: Counter[str]) -> None:
    """``text`` is planned and executes, or is refused with a message, a hint and a code. Anything else is a bug."""
    try:
        statement = parse(text)
        if isinstance(statement, Explain):
            statement = statement.query
        if not isinstance(statement, Select):
            seen["command"] += 1
            return
        dialect = databases.dialect
        releases = split(statement.tree, catalog, dialect).groupings
        plans = [plan(query, norm, dialect) for query in releases for norm in Norm]
    except Refused as refused:
        assert_clean(refused, text)
        seen[f"refused {refused.sqlstate}"] += 1
        return
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error} for {text!r}") from error
    for one in plans:
        databases.run(one)
    seen["planned"] += 1


def assert_clean(refused: Refused, text: str) -> None:
    assert refused.message, text
    assert refused.hint, f"{refused.message!r} has no hint: {text!r}"
    assert SQLSTATE.fullmatch(refused.sqlstate), text
    assert refused.position is None or 1 <= refused.position <= len(text) + 1, (text, refused.position)


def random_text(random: Random, _: World) -> str:
    """Characters of every kind."""
    alphabet = random.choice(
        ["abcSELECT*()'\"; \n\t", "\0\x01\x7f\ud7ff\ue000\U0010ffff 'é", "01.-+eE()", "()[]{}'\"$:?\\"]
    )
    return "".join(random.choice(alphabet) for _ in range(random.choice([0, 1, 5, 40, 400])))


def word_soup(random: Random, _: World) -> str:
    """Words of SQL in any order, mostly after a SELECT."""
    words = [random.choice(WORDS) for _ in range(random.choice([3, 8, 20, 60]))]
    start = ["SELECT"] if random.random() < 0.8 else []
    end = ["FROM", random.choice(["person", "visit", "person p JOIN visit v ON p.id = v.person_id"])]
    return " ".join([*start, *words, *(end if random.random() < 0.7 else [])])


def mutated(random: Random, place: World) -> str:
    """A valid query with some tokens removed, doubled, swapped or replaced."""
    tokens = re.findall(r"[\w.]+|'[^']*'|<>|[<>]=|\|\||[^\w\s]", question(random, place).sql)
    for _ in range(random.choice([1, 1, 2, 3])):
        here, there = random.randrange(len(tokens)), random.randrange(len(tokens))
        change = random.choice(["remove", "double", "swap", "replace", "insert", *["similar"] * 5])
        if change == "remove" and len(tokens) > 1:
            del tokens[here]
        elif change == "double":
            tokens.insert(here, tokens[here])
        elif change == "swap":
            tokens[here], tokens[there] = tokens[there], tokens[here]
        elif change == "similar":
            alike = [token for token in tokens if _sort(token) == _sort(tokens[here])]
            tokens[here] = random.choice(alike)
        elif change == "replace":
            tokens[here] = random.choice([random.choice(WORDS), tokens[there]])
        else:
            tokens.insert(here, random.choice(WORDS))
    return " ".join(tokens)


def _sort(token: str) -> str:
    """What may stand for each other: names, numbers, texts, functions, comparisons; nothing else but itself."""
    if token[0].isdigit() or token[0] == "'":
        return "number" if token[0].isdigit() else "text"
    if token in ("COUNT", "SUM", "AVG", "ABS", "FLOOR", "LENGTH", "UPPER", "COALESCE", "GREATEST", "LEAST"):
        return "function"
    if token in ("=", "<", ">", "<>", "<=", ">=", "+", "-", "*", "/", "%", "||", "AND", "OR", "LIKE", "IS", "IN"):
        return "operator"
    return "name" if token[0].isalpha() and not token.isupper() else token


def deep(random: Random, _: World) -> str:
    """Nesting and length without end."""
    size = random.choice([10, 45, 60, 300, 3_000])
    few = min(size, 60)
    return random.choice(
        [
            f"SELECT COUNT(*) FROM person WHERE {'(' * size}small = 1{')' * size}",
            f"SELECT COUNT(*) FROM person WHERE {'NOT ' * size}small = 1",
            f"SELECT SUM({'-' * size} small) FROM person",
            f"SELECT SUM({' - ' * size}small) FROM person",
            f"SELECT SUM({'ABS(' * size}small{')' * size}) FROM person",
            f"SELECT COUNT(*) FROM person WHERE {' AND '.join(['small = 1'] * size)}",
            f"SELECT COUNT(*) FROM person WHERE {' OR '.join(['small = 1'] * size)}",
            f"SELECT SUM({' + '.join(['small'] * size)}) FROM person",
            f"SELECT SUM({' * '.join(['small'] * size)}) FROM person",
            f"SELECT COUNT(*) FROM person WHERE small IN ({', '.join(map(str, range(size)))})",
            f"SELECT {', '.join(['COUNT(*)'] * size)} FROM person",
            f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE small = {n})' for n in range(few))} FROM person",
            f"{'SELECT * FROM (' * size}SELECT COUNT(*) FROM person{') AS t' * size}",
            f"SELECT COUNT(*) FROM {'(' * size}person{')' * size}",
            f"SELECT {'CASE WHEN small = 1 THEN ' * size}1{' END' * size} FROM person",
            f"SELECT COUNT(*) FROM person WHERE note LIKE '{'%' * size}'",
            f"SELECT COUNT(*) FROM person WHERE note ~ '{'(a+)+' * size}$'",
            f"SELECT SUM(small) FROM person WHERE small > {'9' * size}",
            f"SELECT SUM(small * {'9' * size}.{'9' * size}) FROM person",
            f"SELECT COUNT(*) FROM person GROUP BY {', '.join(['small'] * size)}",
            "SELECT COUNT(*)" + " UNION ALL SELECT COUNT(*) FROM person" * size,
            "SELECT COUNT(*) FROM person" + " UNION ALL SELECT COUNT(*) FROM person" * few,
            f"WITH {', '.join(f'w{n} AS (SELECT * FROM person)' for n in range(few))} SELECT COUNT(*) FROM w1",
            f"SELECT COUNT(*) FROM person {' '.join(f'CROSS JOIN region r{n}' for n in range(few))}",
        ]
    )


@pytest.fixture(scope="module")
def place() -> World:
    """A world with all tables and, for the texts above, a column of each kind that they name."""
    return next(w for w in (world(Random(seed)) for seed in range(500)) if _has_all(w))


def _has_all(place: World) -> bool:
    if place.entity is None or len(place.rows["person"]) < 3:
        return False
    return {"small", "note"} <= {c.name for c in place.table("person").columns}


@pytest.fixture(scope="module")
def databases(place: World) -> Neighbourhood:
    return Databases.of(place, [])


@pytest.fixture(scope="module")
def in_postgres(place: World) -> Iterator[Neighbourhood]:
    found = PostgresDatabases.of(place, [])
    yield found
    found.close()


@pytest.mark.parametrize(
    ("maker", "count", "planned"),
    [(random_text, 800, 0), (word_soup, 1_000, 0), (mutated, 80, 3), (deep, 20, 1)],
    ids=["text", "words", "mutated", "deep"],
)
def test_any_text_gives_a_plan_or_a_clean_refusal(
    maker: Callable[[Random, World], str], count: int, planned: int, place: World, databases: Neighbourhood
) -> None:
    fuzz(maker, range(count), place, databases, planned)


@pytest.mark.parametrize(("maker", "count", "planned"), [(mutated, 40, 1), (deep, 8, 1)], ids=["mutated", "deep"])
def test_no_plan_makes_postgres_raise(
    maker: Callable[[Random, World], str], count: int, planned: int, place: World, in_postgres: Neighbourhood
) -> None:
    fuzz(maker, range(5_000, 5_000 + count), place, in_postgres, planned)


@pytest.mark.campaign
@pytest.mark.parametrize("maker", [mutated, deep])
def test_no_plan_makes_postgres_raise_at_length(
    maker: Callable[[Random, World], str], place: World, in_postgres: Neighbourhood
) -> None:
    fuzz(maker, range(200_000, 206_000 if maker is not deep else 200_500), place, in_postgres, 0)


@pytest.mark.campaign
@pytest.mark.parametrize("maker", [random_text, word_soup, mutated, deep])
def test_any_text_gives_a_plan_or_a_clean_refusal_at_length(
    maker: Callable[[Random, World], str], place: World, databases: Neighbourhood
) -> None:
    fuzz(maker, range(100_000, 110_000 if maker is not deep else 101_000), place, databases, 0)


def fuzz(
    maker: Callable[[Random, World], str], seeds: range, place: World, databases: Neighbourhood, planned: int
) -> None:
    catalog = databases.catalog()
    seen: Counter[str] = Counter()
    for seed in seeds:
        answered(maker(Random(seed), place), catalog, databases, seen)
    assert seen["planned"] >= planned, seen
    assert sum(seen.values()) == len(seeds)
