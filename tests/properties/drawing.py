"""Drawing worlds: who has how many rows, what they hold, and what the policy says of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from random import Random

from tests.properties.columns import TYPES, Column, column, draw
from tests.properties.world import Owner, Row, Table, World

WIDE = 125
"""A bound that no unit of a tame world reaches."""
_LIMITS = (
    (),
    (("max_groups", 2),),
    (("max_groups", 1),),
    (("max_rows_per_group", 2),),
    (("max_groups", 3), ("max_rows_per_group", 2)),
)


def world(random: Random, *, tame: bool = False) -> World:
    """A random world: rows as units, or people with tables one and two foreign keys away, and public tables."""
    beside = Random(str(random.getstate()))
    regions = _regions(random)
    if random.random() < 0.2:
        return _of_rows(random, regions, tame=tame)
    return _claimed(beside, _of_people(random, regions, beside, tame=tame))


def _claimed(random: Random, found: World) -> World:
    """The world with keys that the policy claims: true of its rows, or not any more where rows do not last."""
    claims = {
        "person": [("id",)],
        "visit": [("vid",), ("person_id",), ("vid", "person_id")],
        "item": [("visit_id",), ("vid",)],
        "card": [("person_id",), ("vid",)],
        "region": [("name",), ("country",), ("name", "country")],
        "code": [("low",), ("low", "label")],
    }
    tables = []
    for table in found.tables:
        possible = [*claims[table.name], (claims[table.name][0][0], random.choice(table.columns).name)]
        drawn = random.sample(possible, random.choice([0, 0, 1, 2]))
        kept = [
            key for key in drawn if len(set(key)) == len(key) and (_may(found, table) or found.holds(table.name, key))
        ]
        tables.append(replace(table, claims=tuple(dict.fromkeys(kept))))
    return replace(found, tables=tuple(tables))


def _may(world: World, table: Table) -> bool:
    """Whether what is claimed of a table need not be true."""
    return not world.lasting and not world.tame


def _regions(random: Random) -> tuple[Table, tuple[Table, ...], dict[str, list[Row]]]:
    names = random.sample(["north", "south", "east", "west", ""], random.choice([1, 3, 5]))
    region = Table(
        "region",
        (Column("name", "name", "VARCHAR"), Column("country", "name", "VARCHAR"), Column("size", "size", "INTEGER")),
        public=True,
        key=random.choice(["name", None]),
    )
    code = Table("code", (Column("low", "size", "INTEGER"), Column("label", "name", "VARCHAR")), public=True)
    rows: dict[str, list[Row]] = {
        "region": [(name, random.choice("XY"), random.randrange(5)) for name in names],
        "code": [(random.randrange(6), random.choice("pq")) for _ in range(random.choice([1, 3, 6]))],
    }
    return region, (region, code), rows


def _features(random: Random, least: int = 3, *, tame: bool) -> tuple[Column, ...]:
    kinds = random.sample(list(TYPES), random.randint(least, 7))
    return tuple(column(random, kind, not_null=random.random() < 0.2, tame=tame) for kind in kinds)


def _of_rows(random: Random, regions: tuple[Table, tuple[Table, ...], dict[str, list[Row]]], *, tame: bool) -> World:
    _, public, rows = regions
    areas = [row[0] for row in rows["region"]]
    tables = []
    for name in ("event", "sale")[: random.randint(1, 2)]:
        key = Column("id", "key", "INTEGER", not_null=True)
        table = Table(name, (key, *_features(random, 4, tame=tame)), key=random.choice(["id", None]))
        rows[name] = [
            (number, *(draw(random, c, areas, tame=tame) for c in table.columns[1:]))
            for number in range(random.choice([0, 1, 12, 40]))
        ]
        tables.append(table)
    return World((*public, *tables), None, rows, tame)


def _of_people(
    random: Random, regions: tuple[Table, tuple[Table, ...], dict[str, list[Row]]], beside: Random, *, tame: bool
) -> World:
    _, public, rows = regions
    areas = [row[0] for row in rows["region"]]
    keyed = random.random() < 0.6
    lasting = beside.random() < 0.6
    type_ = random.choice(["INTEGER", "BIGINT", "VARCHAR"])
    identifier: Callable[[int], object] = (lambda n: f"u{n}") if type_ == "VARCHAR" else (lambda n: n)
    person = Table(
        "person", (Column("id", "key", type_), *_features(random, 4, tame=tame)), key="id" if keyed else None
    )
    limit = random.choice([1, 2, 5, 20, 40])
    visit = _child(random, "visit", "person_id", type_, person, limit, tame=tame)
    if not lasting:
        visit = replace(visit, key="vid")
    item = _child(random, "item", "visit_id", "INTEGER", visit, random.choice([1, 3, 30]), tame=tame)
    card = _child(random, "card", "person_id", type_, person, 1, tame=tame)
    if random.random() < 0.6:
        card = replace(card, unique=("person_id",))
    people = random.choice([3, 12, 30])
    rows["person"] = [
        (identifier(n), *(draw(random, c, areas, tame=tame) for c in person.columns[1:])) for n in range(people)
    ]
    if not tame and not keyed and (not lasting or beside.random() < 0.7):
        if lasting:
            person = replace(person, bounds=(("max_rows", beside.choice([1, 1, 2])),))
        rows["person"] += [_again(random, row, person, areas) for row in rows["person"][:2]]
        rows["person"].append((None, *rows["person"][0][1:]))
    known = [identifier(n) for n in range(people)]
    rows["visit"] = _rows_of(random, visit, known, limit, areas, tame=tame)
    for number, row in enumerate(rows["visit"]):
        rows["visit"][number] = (number, *row[1:])
    visits = [number for number, _ in enumerate(rows["visit"])]
    rows["item"] = _rows_of(random, item, visits[: random.choice([5, 40, 200])], 3, areas, tame=tame)
    if "person_id" in card.unique:
        rows["card"] = [
            (n, unit, *(draw(random, c, areas, tame=tame) for c in card.columns[2:]))
            for n, unit in enumerate(random.sample(known, random.randint(1, people)))
        ]
    else:
        rows["card"] = _rows_of(random, card, known, 1, areas, tame=tame)
    return World((*public, person, visit, item, card), ("person", "id"), rows, tame, lasting)


def _again(random: Random, row: Row, table: Table, areas: Sequence[object]) -> Row:
    return (row[0], *(draw(random, c, areas, tame=False) for c in table.columns[1:]))


def _child(random: Random, name: str, link: str, type_: str, parent: Table, limit: int, *, tame: bool) -> Table:
    """A table whose rows refer to ``parent``; the database may enforce that, or nobody."""
    keyed = random.random() < 0.6
    enforced = parent.key is not None and random.random() < 0.5
    columns = (
        Column("vid", "key", "INTEGER"),
        Column(link, "link", type_, not_null=enforced and random.random() < 0.5),
        *_features(random, tame=tame),
    )
    bounds: tuple[tuple[str, int], ...] = (("max_rows", limit), *random.choice(_LIMITS))
    if tame:
        bounds = (("max_rows", WIDE),)
    return Table(
        name,
        columns,
        key="vid" if keyed else None,
        link=link,
        parent=(parent.name, parent.columns[0].name),
        enforced=enforced,
        bounds=bounds,
    )


def _rows_of(
    random: Random, table: Table, parents: Sequence[object], limit: int, areas: Sequence[object], *, tame: bool
) -> list[Row]:
    """Rows for each parent: none, one, up to and beyond the limit, 60, many of them exact duplicates."""
    numbers = [0, 1, limit] if tame else [0, 0, 1, limit, limit + 1, 60]
    all_but_one = not tame and random.random() < 0.4
    found: list[Row] = []
    for place, parent in enumerate(parents):
        count = random.choice(numbers) if place < 4 or len(parents) < 15 else random.choice([0, 1, 1, min(limit, 2)])
        if not tame and place == 0:
            count = 60
        elif all_but_one:
            # One person alone has nothing here, so that whoever is compared with everybody notices when they leave.
            count = 0 if place == len(parents) - 1 else max(count, 1)
        pile = None
        for _ in range(count):
            if pile is None or random.random() < (0.4 if place % 2 else 0.95):
                pile = tuple(draw(random, c, areas, tame=tame) for c in table.columns[2:])
            if place % 3 == 1 and not tame and random.random() < 0.7:
                pile = pile_of(random, table, pile)
            found.append((len(found), parent, *pile))
    if not tame and not table.enforced:
        stray = "nobody" if table.columns[1].type == "VARCHAR" else 999_999
        found += [(len(found) + n, stray, *row[2:]) for n, row in enumerate(found[:3])]
    if not tame and not table.column(table.link or "").not_null:
        found += [(len(found) + n, None, *row[2:]) for n, row in enumerate(found[:3])]
    return found


def pile_of(random: Random, table: Table, row: Row) -> Row:
    """The row with its numbers at the worse end of their range: the most that it can add."""
    worst = []
    for c, value in zip(table.columns[2:], row, strict=True):
        if c.span is not None and not isinstance(c.span[0], date):
            low, high = c.span
            value = low if abs(low) > abs(high) else high  # type: ignore[arg-type]
        worst.append(value)
    return tuple(worst)


def worst_units(random: Random, world: World, count: int) -> list[Owner]:
    """Units to remove: one of the heaviest, the lightest, and some others."""
    units = world.units()
    by_weight = sorted(units, key=lambda unit: (-units[unit], repr(unit)))
    heavy = [*random.sample(by_weight[:2], min(1, len(units)))]
    light = random.sample(by_weight[-2:], min(1, len(units))) if random.random() < 0.6 else []
    others = random.sample(by_weight[:6], min(count, len(by_weight[:6])))
    return list(dict.fromkeys([*heavy, *light, *others]))[:count]
