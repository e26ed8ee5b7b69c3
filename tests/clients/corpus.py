"""What 25 families of clients sent to a PostgreSQL with the tables customers, orders and paid_orders."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from dpsql.errors import Error
from dpsql.server.session.route import Route, route, route_unparsed
from dpsql.server.session.statements import QueryStatement, statements
from rewriter.declared.catalog import Catalog, Column, Hop, Table
from rewriter.declared.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, TEXT, TIMESTAMP, decimal
from rewriter.refused import Refused
from rewriter.statement.parser import Select, parse

RECORDED = {"16386": "customers", "16393": "orders", "16404": "paid_orders"}
"""The identities that the tables had when the statements were recorded."""


def shop() -> Catalog:
    customers = Table(
        "customers",
        {
            "customer_id": Column("customer_id", INTEGER, nullable=False, unique=True),
            "region": Column("region", TEXT, nullable=False, values=("north", "south")),
            "age": Column("age", INTEGER, range=(0, 120)),
            "income": Column("income", DOUBLE, range=(0, 100_000)),
            "joined": Column("joined", DATE),
        },
        max_rows=1,
    )
    orders = Table(
        "orders",
        {
            "order_id": Column("order_id", BIGINT, nullable=False, unique=True),
            "customer_id": Column("customer_id", INTEGER),
            "amount": Column("amount", decimal(10, 2), range=(0, 1000)),
            "status": Column("status", TEXT),
            "ordered_at": Column("ordered_at", TIMESTAMP),
            "gift": Column("gift", BOOLEAN),
            "note": Column("note", TEXT),
        },
        path=(Hop("customer_id", "customers", "customer_id"),),
        max_rows=50,
    )
    paid = Table("paid_orders", {"order_id": Column("order_id", BIGINT)}, public=True)
    return Catalog({table.name: table for table in (customers, orders, paid)}, ("customers", "customer_id"))


def recorded() -> list[str]:
    lines = (Path(__file__).parent / "catalog_corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["sql"] for line in lines]


def queries(text: str) -> list[str]:
    """The queries of a recorded text, which may hold several statements; other statements are left out."""
    try:
        return [found.kind.text for found in statements(text) if isinstance(found.kind, QueryStatement)]
    except (Refused, Error):
        return []


def routed(text: str, known: Catalog) -> Route:
    """Where a query goes, whether our parser reads it or not. Raises :class:`Refused`."""
    try:
        statement = parse(text, {str(number): None for number in range(1, 10)})
    except Refused:
        found = route_unparsed(text, known)
        if found is None:
            raise
        return found
    assert isinstance(statement, Select)
    return route(statement.tree, known)


def catalog_queries() -> list[str]:
    """The recorded queries that concern catalogs, the session or constants; the one that only sleeps is left out."""
    known = shop()
    found = [query for text in recorded() for query in queries(text)]
    return [query for query in found if "pg_sleep" not in query and routed(query, known) is Route.SHADOW]


def renumbered(text: str, identities: Mapping[str, str]) -> str:
    """The text with the tables' recorded identities replaced by those of another server."""
    return re.sub(r"\b\d{5}\b", lambda number: identities.get(RECORDED.get(number[0], ""), number[0]), text)
