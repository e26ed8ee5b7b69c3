"""Where statements come from: golden queries, folders of corpora, and what tests have asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import yaml

from dpsql.accounting import ACCOUNTINGS
from tests.golden.pairs import FOLDER, pairs
from tests.tape.worlds import Asked, World

Batch = tuple[World, list[Asked]]
_SPELT = 4
"""Of what tests ask, one statement in so many is planned for every dialect."""


def golden() -> Iterator[Batch]:
    """The golden queries, over the clinic, under every accounting; those that follow the clock in a clinic that grows."""
    asked: dict[bool, list[Asked]] = {False: [], True: []}
    for pair in pairs():
        settings = {"timezone": pair.zone} if pair.zone != "UTC" else {}
        settings |= {"dpsql.other": "on"} if pair.others else {}
        settings |= {"dpsql.empty_groups": "hide"} if pair.empty.name == "HIDE" else {}
        asked[pair.instant is not None].append(Asked(f"golden/{pair.path.stem}", pair.sql, settings))
    schema = (FOLDER / "clinic.sql").read_text(encoding="utf-8")
    for accounting in ACCOUNTINGS.values():
        for grows, statements in asked.items():
            told = yaml.safe_load((FOLDER / "clinic.yaml").read_text(encoding="utf-8"))
            told["budget"]["accounting"] = accounting.name
            if accounting.name == "pure":
                told["budget"]["delta"] = 0
            if grows:
                told["tables"]["visit"]["refresh"] = "1 week"
                told["tables"]["visit"]["columns"]["day"]["range"][1] = "now"
            name = f"golden {accounting.name}{', growing' if grows else ''}"
            # The dialects' SQL follows from the norm that people are clipped in: these two have one each.
            spelt = accounting.name in ("zcdp", "pure")
            world = World(name, yaml.safe_dump(told, sort_keys=False), schema)
            yield world, [replace(one, spelt=spelt) for one in statements]


def collected(folder: Path) -> Iterator[Batch]:
    """What tests have asked, as :mod:`tests.tape.collecting` has noted it, each statement once in each world."""
    worlds = {world.name: world for world, _ in golden()}
    worlds["golden"] = replace(worlds["golden zcdp"], name="golden, of tests")
    asked: dict[str, dict[str, Asked]] = {}
    for part in sorted(folder.glob("*.jsonl")):
        for line in part.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            if "policy" in told:
                worlds[told["name"]] = World(**told)
                continue
            parameters = told["parameters"]
            given = json.dumps([told["sql"], told["settings"], parameters], sort_keys=True)
            digest = hashlib.sha256(given.encode()).hexdigest()
            spelt = int(digest, 16) % _SPELT == 0
            parameters = parameters if isinstance(parameters, dict) else tuple(parameters)
            statement = Asked(f"{told['test']} {digest[:8]}", told["sql"], told["settings"], parameters, spelt)
            asked.setdefault(told["world"], {}).setdefault(given, statement)
    for name, statements in sorted(asked.items()):
        yield worlds[name], list(statements.values())


def corpora(folder: Path) -> Iterator[Batch]:
    """The statements of every corpus of a folder.

    A corpus is a folder with ``queries.jsonl``, whose lines have an ``id``, the ``sql``, and the ``policy`` where that is
    not ``policy.yaml``; a policy's database is a DuckDB file beside it. What PostgreSQL itself refuses is left out.
    """
    for place in sorted(one.parent for one in folder.glob("*/queries.jsonl")):
        asked: dict[str, list[Asked]] = {}
        for line in (place / "queries.jsonl").read_text(encoding="utf-8").splitlines():
            query = json.loads(line)
            if "error" not in query.get("truth", {}):
                statement = Asked(f"{place.name}/{query['id']}", query["sql"])
                asked.setdefault(query.get("policy", "policy.yaml"), []).append(statement)
        for name, statements in asked.items():
            text = (place / name).read_text(encoding="utf-8")
            database = yaml.safe_load(text)["database"].removeprefix("duckdb:")
            yield World(f"{place.name} {name}", text, file=str((place / database).resolve())), statements
