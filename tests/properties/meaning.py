"""A reader of the documented meaning, which knows nothing of the rewriter, and the comparison of answers with it.

The reader is PostgreSQL over :meth:`World.clean`. Where nobody exceeds the bounds of rows, every number is the reader's.
Where people do, each one's rows of a release count with one factor: counts and sums are at most the reader's and at least
those of everybody's allowed rows; and where everybody's rows are copies of the same rows, quotients are the reader's.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random

import duckdb
import psycopg
import pyarrow as pa

from dpsql.errors import Error
from dpsql.proxy import Proxy, Session
from dpsql.reply import Answer
from tests.doubles import open_without_noise
from tests.engines.postgres_server import copy_texts, shared_server
from tests.properties.analysts import Analyst, Measure, Statement
from tests.properties.dirty_worlds import World, spelt, world

Key = tuple[object, ...]
Cells = Mapping[Key, Sequence[object]]
LISTED = 100_000
"""So many declared groups are listed; of more, a notice says that those of few people are not shown."""
_FEW = re.compile(r"rows is at most ([0-9]+)")
_OUTSIDE = ("¤", Decimal(-99999), datetime(1, 1, 1))


class Reader:
    """PostgreSQL over the cleaned rows, with a table of the declared values of each column."""

    def __init__(self, place: World) -> None:
        self.name = shared_server().database()
        self.connection = shared_server().owner(self.name)
        self.connection.execute("SET TimeZone = 'UTC'")
        rows = place.clean()
        for table in place.tables:
            self.connection.execute(table.ddl(postgres=True))  # type: ignore[arg-type]
            copy_texts(self.connection, table.name, [tuple(map(spelt, row)) for row in rows[table.name]])
            for column in table.columns:
                if (values := _domain(table.name, column)) is not None:
                    self.connection.execute(f"CREATE TABLE dom_{table.name}_{column.name} AS {values}")  # type: ignore[arg-type]

    def read(self, sql: str, zone: str = "UTC") -> list[tuple[object, ...]]:
        self.connection.execute(f"SET TimeZone = '{zone}'")  # type: ignore[arg-type]
        return self.connection.execute(sql).fetchall()  # type: ignore[arg-type]

    def close(self) -> None:
        self.connection.close()
        with shared_server().owner() as connection:
            connection.execute(f"DROP DATABASE {self.name} WITH (FORCE)")  # type: ignore[arg-type]


def _domain(table: str, column: object) -> str | None:
    """A statement for the values that are declared of a column, NULL among them where it may be NULL."""
    from tests.properties.dirty_worlds import Column

    assert isinstance(column, Column)
    null = (
        ""
        if column.not_null
        else f" UNION ALL SELECT CAST(NULL AS {'DOUBLE PRECISION' if column.type == 'DOUBLE' else column.type})"
    )
    if column.values is not None:
        listed = ", ".join(f"('{value}')" for value in column.values)
        return f"SELECT CAST(v AS {column.type}) AS x FROM (VALUES {listed}) AS t(v){null}"
    if column.values_from is not None:
        parent, name = column.values_from.split(".")
        return f"SELECT {name} AS x FROM {parent}{null}"
    if column.kind == "public":
        return f"SELECT {column.name} AS x FROM {table}{null}"
    if column.kind == "flag":
        return f"SELECT v AS x FROM (VALUES (TRUE), (FALSE)) AS t(v){null}"
    if column.range is None:
        return None
    low, high = column.range
    if column.kind == "year":
        return f"SELECT generate_series({low}, {high}) AS x{null}"
    if column.kind == "day":
        return f"SELECT generate_series(DATE '{low}', DATE '{high}', '1 day')::date AS x{null}"
    if column.kind in ("stamp", "zoned"):
        return f"SELECT generate_series('{low}'::{column.type}, '{high}', '1 hour') AS x{null}"
    return None


@contextmanager
def opened(place: World, folder: Path, *, engine: str = "duckdb", epsilon: float = 250) -> Iterator[Proxy]:
    """A proxy without noise over a world's dirty rows."""
    folder.mkdir(parents=True, exist_ok=True)
    database = in_postgres(place) if engine == "postgres" else in_duckdb(place, folder)
    (folder / "policy.yaml").write_text(place.policy(database, epsilon))
    proxy = open_without_noise(folder / "policy.yaml")
    try:
        yield proxy
    finally:
        proxy.close()


def in_duckdb(place: World, folder: Path) -> str:
    with duckdb.connect(str(folder / "world.duckdb")) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for table in place.tables:
            connection.execute(table.ddl(postgres=False))
            rows = [tuple(map(spelt, row)) for row in place.rows[table.name]]
            texts = [pa.array([row[n] for row in rows], pa.string()) for n, _ in enumerate(table.columns)]
            connection.register("incoming", pa.table(texts, names=[column.name for column in table.columns]))
            casts = ", ".join(f"CAST({column.name} AS {column.type})" for column in table.columns)
            connection.execute(f"INSERT INTO {table.name} SELECT {casts} FROM incoming")
            connection.unregister("incoming")
    return "duckdb:world.duckdb"


def in_postgres(place: World) -> str:
    server = shared_server()
    name = server.database()
    with server.owner(name) as connection:
        for table in place.tables:
            connection.execute(table.ddl(postgres=True))  # type: ignore[arg-type]
            copy_texts(connection, table.name, [tuple(map(spelt, row)) for row in place.rows[table.name]])
        server.grant(connection)
    return server.url(name)


# Comparing


@dataclass(frozen=True, slots=True)
class Wrong:
    """A difference between an answer and the reader's. ``what`` is one of few words."""

    what: str
    key: Key
    detail: str

    def __str__(self) -> str:
        return f"{self.what} at {self.key}: {self.detail}"


def plain(value: object) -> object:
    """A key that compares across types: numbers as numbers, days as midnights, instants in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return value


def keyed(rows: Sequence[Sequence[object]], keys: int) -> dict[Key, Sequence[object]]:
    found = {tuple(map(plain, row[:keys])): row[keys:] for row in rows}
    assert len(found) == len(rows), "two rows of one group"
    return {key: cells for key, cells in found.items() if not any(part in _OUTSIDE for part in key)}


_AT_MOST = re.compile(r"is at most ([\d,]+): as many values are declared")
_NOBODYS = "groups that are nobody's"
_FILLED = "empty group has numbers"
_EVERY_ROW = re.compile(r"windows (have a row for|count) each group that the policy declares")
"""What is said of sums along groups, which are made over all of them."""
_UNDECLARED = "may also have values that are not declared"
"""What is said of grouping sets that are too many to be listed, beside coarser ones that are."""


def compare(asked: Statement, answer: Answer, reader: Reader, place: World) -> list[Wrong]:
    """What is wrong with an answer; of several readings the one that it is nearest to."""
    mine = [row[: asked.keys + len(asked.measures)] for row in answer.rows]
    readings = [reader.read(text, asked.zone) for text in asked.truth]
    found = []
    chosen = any("are not shown" in notice for notice in answer.notices)
    few = max([0, *(int(one) for notice in answer.notices for one in _FEW.findall(notice))])
    for rows in readings:
        try:
            found.append(
                _differences(asked, keyed(mine, asked.keys), keyed(rows, asked.keys), reader, place, chosen, few)
            )
        except AssertionError as error:
            found.append([Wrong("two rows of a group", (), str(error))])
    wrong = min(found, key=len)
    if any(_EVERY_ROW.search(notice) for notice in answer.notices):
        wrong = [one for one in wrong if one.what != _NOBODYS and "PRECEDING AND CURRENT ROW" not in one.detail]
    if any(_UNDECLARED in notice for notice in answer.notices):
        wrong = [one for one in wrong if one.what not in (_NOBODYS, _FILLED)]
    most = {int(one.replace(",", "")) for notice in answer.notices for one in _AT_MOST.findall(notice)}
    if asked.form == "COUNT over DISTINCT" and most and {mine[0][-1]} <= most:
        wrong = [one for one in wrong if one.what != "wrong count"]
    return wrong + _untold(asked, answer, place)


def _differences(
    asked: Statement, ours: Cells, theirs: Cells, reader: Reader, place: World, chosen: bool, few: int
) -> list[Wrong]:
    """``chosen``: a notice says that groups of few people are not shown; ``few``: or those of at most so many rows."""
    declared = all(key.declared for key in asked.grouping)
    listed = chosen and declared and asked.grouping and _declared(asked, reader) <= LISTED
    wrong = [Wrong("declared groups are chosen", (), "")] if listed else []
    for key, cells in theirs.items():
        if key not in ours:
            rows = cells[len(asked.measures)] if len(cells) > len(asked.measures) else few
            # Of people with more rows than their bound, each weighs less, and some groups less than a half of one.
            if isinstance(rows, int) and (rows <= few or place.load != "within"):
                continue
            null = any(part is None for part in key[: len(asked.grouping)])
            if not chosen:
                wrong.append(
                    Wrong("NULL group is missing" if null else "group is missing", key, f"truth {tuple(cells)}")
                )
            continue
        for one, my, their in zip(asked.measures, ours[key], cells, strict=False):
            if problem := _cell(one, my, their, place):
                wrong.append(Wrong(problem, key, f"{one.text}: {my!r}, truth {their!r}"))
    ghosts = _ghosts(asked, reader)
    nobodys = []
    for key in sorted(ours.keys() - theirs.keys(), key=str):
        filled = [my for one, my in zip(asked.measures, ours[key], strict=True) if one.kind in ("count", "sum") and my]
        if any(part not in allowed for part, allowed in zip(key, ghosts, strict=False)):
            nobodys.append(key)
        if filled and not asked.above:
            wrong.append(Wrong(_FILLED, key, f"{filled}"))
    if nobodys:
        wrong.append(Wrong(_NOBODYS, nobodys[0], f"{len(nobodys)} such beside {len(theirs)} of the truth"))
    return wrong


def _declared(asked: Statement, reader: Reader) -> int:
    """How many groups are declared."""
    numbers = [
        reader.read(f"SELECT COUNT(*) + 1 FROM ({key.values()}) AS t", asked.zone)[0][0] for key in asked.grouping
    ]
    return math.prod(int(str(number)) for number in numbers)


def _ghosts(asked: Statement, reader: Reader) -> list[set[object]]:
    """Of each key, the values that may be shown though nobody has them; parts of a total are not decided here."""
    if (asked.above and not asked.limit) or not asked.grouping:
        return [set() for _ in range(max(1, asked.keys))]
    found = [{plain(row[0]) for row in reader.read(sql, asked.zone)} if sql else set() for sql in asked.ghosts]
    if asked.form == "grouping sets":
        return [values | {None} for values in found]
    return found


def _cell(one: Measure, my: object, their: object, place: World) -> str:
    """What is wrong with a number, if anything."""
    if their is None:
        return ""
    a, b = _number(my or 0), _number(their)
    if my is None:
        # Of one row a spread is 0, and as well undefined; a quotient has no value where people's rows round to none.
        unknown = (one.kind in ("spread", "variance") and b == 0) or one.kind in ("quantile", "corr")
        return "" if unknown or place.load != "within" else "NULL for a number"
    if not math.isfinite(a):
        return "not a number"
    if place.load == "within":
        return "" if abs(a - b) <= _slack(one, b) else f"wrong {one.kind}"
    if one.kind in ("count", "people"):
        return "" if -0.5 <= a <= b + 0.5 else f"{one.kind} beyond the truth"
    moved = _steady(one, place) and abs(a - b) > _slack(one, b) + 2e-3 * one.width * _SPAN.get(one.kind, 1)
    return f"clipping moves a {one.kind}" if moved else ""


def _slack(one: Measure, truth: float) -> float:
    """What lattices and rounding may do to a number; nothing to counts."""
    whole = one.kind in ("count", "people", "difference")
    return 1e-6 * abs(truth) + (0.0 if whole else one.width * _SLACK.get(one.kind, 1e-3))


def _steady(one: Measure, place: World) -> bool:
    """Everybody has copies of the same rows, and the number is a quotient over them that no rounded count divides."""
    inner = all(field.inner for field in one.fields) and "/" not in one.text
    return place.load == "copies" and inner and one.kind in ("quotient", "share", "spread", "variance")


_SLACK = {"share": 1e-3, "variance": 0.5, "spread": 1e-2, "sum": 1e-3, "quantile": 0.02, "corr": 0.02}
_SPAN = {"share": 100}


def _number(value: object) -> float:
    assert isinstance(value, int | float | Decimal), value
    return float(value)


def _untold(asked: Statement, answer: Answer, place: World) -> list[Wrong]:
    """Notices that have to be there, and those that must not."""
    said = " ".join(answer.notices)
    wrong: list[Wrong] = []
    if asked.form == "per person":
        return wrong
    clips = any(one.clips for one in asked.measures)
    free = any(one.kind == "quantile" for one in asked.measures)
    if not free and clips != ("is clipped into" in said or "are clipped into" in said):
        wrong.append(Wrong("notice about ranges", (), said))
    rows = bool(set(asked.tables) & {"visit", "orders", "line"})
    if (
        rows
        and asked.measures
        and all(one.kind != "people" for one in asked.measures)
        and "counts with at most" not in said
    ):
        wrong.append(Wrong("notice about rows", (), said))
    if not rows and "counts with at most" in said:
        wrong.append(Wrong("needless notice about rows", (), said))
    return wrong


# Campaigns


@dataclass(frozen=True, slots=True)
class Found:
    seed: int
    engine: str
    asked: Statement
    wrong: tuple[Wrong, ...]
    load: str = ""

    def __str__(self) -> str:
        return (
            f"seed {self.seed} ({self.load}, {self.engine}, {self.asked.zone}) [{self.asked.form}]\n  {self.asked.sql}\n"
            + "\n".join(f"    {one}" for one in self.wrong[:4])
        )


@dataclass(slots=True)
class Tally:
    asked: int = 0
    answered: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    cells: int = 0
    found: list[Found] = field(default_factory=list)


def campaign(
    seeds: range, statements: int, folder: Path, tally: Tally, engine: str = "duckdb", forms: Sequence[str] = ()
) -> Tally:
    """So many statements over a world for each seed."""
    for seed in seeds:
        random = Random(seed)
        place = world(random)
        reader = Reader(place)
        try:
            with opened(place, folder / f"{engine}{seed}", engine=engine) as proxy:
                session = proxy.session()
                analyst = Analyst(random, place)
                for _ in range(statements):
                    asked = analyst.statement()
                    if not forms or asked.form in forms:
                        ask(seed, engine, asked, session, reader, place, tally)
        finally:
            reader.close()
    return tally


def ask(seed: int, engine: str, asked: Statement, session: Session, reader: Reader, place: World, tally: Tally) -> None:
    tally.asked += 1
    try:
        session.execute(f"SET TIME ZONE '{asked.zone}'")
        answer = session.execute(asked.sql)
    except Error as error:
        if error.sqlstate in ("XX000", "58000"):
            tally.found.append(Found(seed, engine, asked, (Wrong("internal error", (), str(error)),), place.load))
        else:
            tally.refused[f"{asked.form}: {str(error).partition(chr(10))[0]} ({asked.sql})"] += 1
        return
    tally.answered[asked.form] += 1
    try:
        wrong = compare(asked, answer, reader, place)
    except psycopg.Error as error:
        tally.refused[f"the reader: {type(error).__name__} {str(error)[:150]} {asked.truth[0]}"] += 1
        return
    tally.cells += len(answer.rows) * len(asked.measures)
    if wrong:
        tally.found.append(Found(seed, engine, asked, tuple(wrong), place.load))
    else:
        tally.right[asked.form] += 1


def _main() -> None:
    """``python -m tests.properties.meaning FIRST LAST STATEMENTS [ENGINE]`` prints what is wrong, by kind."""
    import sys
    import tempfile

    first, last, statements = map(int, sys.argv[1:4])
    engine = sys.argv[4] if len(sys.argv) > 4 else "duckdb"
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        campaign(range(first, last), statements, Path(folder), tally, engine)
    kinds = Counter((found.asked.form, one.what) for found in tally.found for one in set(found.wrong))
    shown: Counter[tuple[str, str]] = Counter()
    for found in tally.found:
        mark = (found.asked.form, found.wrong[0].what)
        shown[mark] += 1
        if shown[mark] <= 3:
            print(found)
    print(
        f"\n{tally.asked} asked, {sum(tally.answered.values())} answered, {sum(tally.right.values())} right, {tally.cells} cells"
    )
    for form, count in tally.answered.most_common():
        print(f"{form:28} {tally.right[form]:5} of {count:5}")
    for (form, what), count in kinds.most_common():
        print(f"{count:6} {form:26} {what}")
    for text, count in tally.refused.most_common(25):
        print(f"{count:6} refused: {text[:400]}")


if __name__ == "__main__":
    _main()
