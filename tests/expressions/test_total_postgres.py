"""In PostgreSQL no expression raises, whatever a row holds, and it has DuckDB's value, or NULL."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import pytest
from sqlglot import exp
from test_total import FIXED
from test_total_matches_engine import POSTGRES as MEANT

from rewriter.declared.interval import Interval
from rewriter.declared.types import TEXT, Scalar
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.nodes import text
from rewriter.dialects.postgres import POSTGRES
from rewriter.expressions.capture_patterns import check_capture
from rewriter.expressions.compile import compile_expression
from rewriter.expressions.patterns import check_pattern
from rewriter.expressions.value_lattice import clipped_steps, lattice
from rewriter.refused import Refused
from tests.properties.every_function import EVERY
from tests.properties.postgres_rows import GUARDED, SAME, Twins
from tests.properties.total_rows import Grammar, parse


@pytest.fixture(scope="module")
def twins() -> Iterator[Twins]:
    with Twins() as opened:
        yield opened


HUGE = re.compile(r"e-?\d{3}|POWER|EXP|COT|SIN")


def same(one: Scalar | None, other: Scalar | None) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-130)
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return math.isclose(one, other, rel_tol=1e-14)  # doubles beyond 2**53 have no fixed digits
    return one == other


def check(text: str, twins: Twins) -> tuple[int, int]:
    """How many rows have a value in DuckDB, and how many of them in PostgreSQL too.

    Where doubles are extreme, in a row or in the text, it may be another value, but no error.
    """
    expected = twins.in_duckdb(compile_expression(parse(text), SAME, DUCKDB).sql)
    value = compile_expression(parse(text), GUARDED, POSTGRES)
    found = twins.in_postgres(value.sql)
    for ours, theirs, moderate in zip(found, expected, twins.moderate, strict=True):
        if moderate and not HUGE.search(text):
            assert ours is None or same(ours, theirs), (text, ours, theirs)
        assert value.nullable or ours is not None, text
    return sum(row is not None for row in expected), sum(row is not None for row in found)


# Refused in PostgreSQL alone: it has no remainder of doubles, nor letters beyond ASCII in a pattern without case;
# and the width of a bucket must not be extreme.
REFUSED = ["x % (y * 1e308 * 1e308)", "h % i", "MOD(h, b)", "x % 3", "7 % (1e308 * 10)", "t ~* 'É'"]
REFUSED += ["WIDTH_BUCKET(x, 0, 1e-300, 100000)", "WIDTH_BUCKET(x, -1e308, 0, 7)"]


@pytest.mark.parametrize("text", [text for text in FIXED + EVERY if text not in REFUSED])
def test_a_chosen_expression_never_raises_and_has_the_value_of_duckdb(text: str, twins: Twins) -> None:
    check(text, twins)


@pytest.mark.quick
@pytest.mark.parametrize("place", range(2))
def test_constants_are_folded_without_an_error(place: int, twins: Twins) -> None:
    """PostgreSQL computes with constants when it plans: what stands in a branch that is never chosen, too."""
    texts = [text for text in FIXED + EVERY if text not in REFUSED]
    for number, expression in enumerate(texts):
        sql = compile_expression(parse(expression), GUARDED, POSTGRES).sql
        twins.folded(sql, number * 2 + place)


@pytest.mark.parametrize("text", REFUSED)
def test_what_postgresql_cannot_do_is_refused(text: str) -> None:
    compile_expression(parse(text), SAME, DUCKDB)
    with pytest.raises(Refused):
        compile_expression(parse(text), GUARDED, POSTGRES)


@pytest.mark.parametrize(("text", "expected"), [pair for pair in MEANT if pair[0] not in REFUSED])
def test_it_means_what_postgresql_means(text: str, expected: Scalar | None, twins: Twins) -> None:
    found = twins.in_postgres(compile_expression(parse(text), GUARDED, POSTGRES).sql)[0]
    assert found == (pytest.approx(expected) if isinstance(expected, float) else expected)
    assert type(found) is type(expected)


@pytest.mark.parametrize("seed", range(6))
def test_a_random_expression_never_raises_and_has_the_value_of_duckdb(seed: int, twins: Twins) -> None:
    grammar = Grammar(random.Random(seed), depth=2)
    known = kept = 0
    for _ in range(60):
        text = grammar.expression()
        try:
            in_duckdb, in_postgres = check(text, twins)
        except Refused:
            continue
        known, kept = known + in_duckdb, kept + in_postgres
    assert kept > 0.9 * known


RANGES: dict[str, tuple[Scalar, Scalar]] = {
    "s": (-5, 100),
    "i": (-10, 90),
    "b": (-(10**12), 10**12),
    "h": (-(10**6), 10**6),
    "m": (Decimal("-20.5"), 1000),
    "w": (-3, 3),
    "n": (0, 10**17),
    "x": (-3.75, 100),
    "y": (-1.5, 1.5),
    "z": (-3, 3),
}


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10**9), Fraction(1, 10**6)])
@pytest.mark.parametrize("name", RANGES)
def test_a_number_is_clipped_to_the_same_step(name: str, scale: Fraction, twins: Twins) -> None:
    """Exactly, whatever the row holds: extreme doubles too."""
    in_postgres, in_duckdb = (scope.column(exp.column(name)) for scope in (GUARDED, SAME))
    declared = Interval.of(*RANGES[name])
    scaled = Interval(declared.low * scale, declared.high * scale)
    granularity = lattice(in_postgres.type, scaled)
    limits = scaled.outward(granularity)
    ours = twins.in_postgres(clipped_steps(in_postgres, limits, granularity, POSTGRES))
    theirs = twins.in_duckdb(clipped_steps(in_duckdb, limits, granularity, DUCKDB))
    assert ours == theirs
    assert len({step for step in ours if step is not None}) >= 2


ATOMS = [
    *"ab.^$*+?()[|-,12dws_&~:={}/# ",
    *(r"\d", r"\w", r"\D", r"\W", r"\.", r"\n", "{2}", "{0,3}", "{1,}", "(?:", "[^", "[:alpha:]", "a-c", "é", "\n"),
]
LINES = [
    "",
    "a",
    "ba",
    "abc",
    "a-b",
    "12",
    " ",
    "a1",
    "é",
    "aé",
    "\n",
    "a\nb",
    "\\",
    "[",
    "]",
    "-",
    "{",
    "_",
    "#",
    "^",
    "$",
]


def test_a_pattern_matches_the_same_lines_as_in_duckdb(twins: Twins) -> None:
    """None is an error of the engine, either. What ``\\s`` is differs by the vertical tab, which no line has."""
    chance = random.Random(11)
    compared = 0
    while compared < 400:
        pattern = "".join(chance.choice(ATOMS) for _ in range(chance.randint(1, 7)))
        try:
            check_pattern(pattern)
        except Refused:
            continue
        compared += 1
        theirs = twins.duckdb.execute("SELECT regexp_matches(UNNEST(?), ?, 's')", [LINES, pattern]).fetchall()
        matching = POSTGRES.matches(POSTGRES.cast(exp.column("line"), TEXT), pattern).sql("postgres")
        lines = ", ".join(f"({text(line).sql('postgres')})" for line in LINES)
        ours = twins.postgres.execute(f"SELECT {matching} FROM (VALUES {lines}) AS v(line)").fetchall()  # type: ignore[arg-type]
        assert ours == theirs, pattern


PARTS = [
    *"ab1., ", *("[ab]", "[^a]", r"\d", r"\w", ".", "é"), *("(a)", "(b|1)", "(?:ab)", "([^,]*)", "(a|b1)", "(.)"),
]  # fmt: skip


def test_a_pattern_takes_the_same_part_as_in_duckdb(twins: Twins) -> None:
    """Whatever passes has one match and one way to match it, whichever engine looks for it."""
    chance = random.Random(5)
    compared = captured = 0
    lines = ["".join(chance.choice("aab1,. é\n") for _ in range(chance.randint(0, 7))) for _ in range(60)]
    values = ", ".join(f"({text(line).sql('postgres')})" for line in lines)
    while compared < 400:
        parts = (
            chance.choice(PARTS) + chance.choice(["", "", "", *"*+?", "{2}", "{1,2}"])
            for _ in range(chance.randint(1, 5))
        )
        pattern = chance.choice(["", "^"]) + "".join(parts) + chance.choice(["", "$"])
        try:
            found = check_capture(pattern)
        except Refused:
            continue
        compared += 1
        new: list[str | int] = ["<", *(n + 1 for n in range(len(found.groups))), "|", 0, ">"]
        whole = pattern if found.groups else f"({pattern})"
        captures = found.groups[:1] != (False,)
        captured += captures
        column = exp.column("line")
        texts = []
        for dialect, sql in ((POSTGRES, POSTGRES.cast(column, TEXT)), (DUCKDB, column)):
            spelt = [dialect.replace_match(sql, pattern, new, everywhere=False, ignore_case=False)]
            if not found.may_be_empty:
                spelt.append(dialect.count_matches(sql, pattern))
                spelt.append(dialect.replace_match(sql, pattern, new, everywhere=True, ignore_case=False))
            if captures:
                spelt.append(dialect.first_match(sql, whole))
            texts.append(", ".join(one.sql(dialect.name) for one in spelt))
        rows = twins.postgres.execute(f"SELECT {texts[0]} FROM (VALUES {values}) AS v(line)").fetchall()  # type: ignore[arg-type]
        theirs = twins.duckdb.execute(f"SELECT {texts[1]} FROM (SELECT UNNEST(?) AS line)", [lines]).fetchall()
        assert rows == theirs, pattern
    assert captured > 200


@pytest.mark.parametrize("pattern", ["(a?)(ab)?", "a?(?:ab)?", "([ab]?)(ab)*", "(?:a|ab)(1?)", "([a-z]?)(a1)?"])
def test_a_pattern_of_which_engines_take_different_parts_is_refused(pattern: str, twins: Twins) -> None:
    with pytest.raises(Refused, match="several ways"):
        check_capture(pattern)
    differing = 0
    for line in ("ab", "aab", "abab", "ab1", "a1"):
        value, whole = text(line), f"({pattern})"
        ours = POSTGRES.first_match(POSTGRES.cast(value.copy(), TEXT), whole).sql("postgres")
        theirs = DUCKDB.first_match(value.copy(), whole).sql("duckdb")
        differing += (
            twins.postgres.execute(f"SELECT {ours}").fetchall()  # type: ignore[arg-type]
            != twins.duckdb.execute(f"SELECT {theirs}").fetchall()
        )
    assert differing


@pytest.mark.parametrize(
    "pattern", ["(a|aa)*$", "(x+x+)+y", r"(?:(?:\w+\s?)*)*$", "(?:a{0,100}){0,10}b", ".*.*.*.*=.*"]
)
def test_a_pattern_takes_linear_time(pattern: str, twins: Twins) -> None:
    check_pattern(pattern)
    matching = POSTGRES.matches(POSTGRES.cast(exp.column("line"), TEXT), pattern).sql("postgres")
    twins.postgres.execute("SET statement_timeout = '5s'")
    for line in ("a", "x", "ab"):
        longest = f"SELECT {matching} FROM (SELECT repeat('{line}', 100000) || '!' AS line) AS v"
        twins.postgres.execute(longest).fetchall()  # type: ignore[arg-type]
