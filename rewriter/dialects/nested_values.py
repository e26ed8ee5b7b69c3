"""Documents and lists that a row holds, as an engine reads them; an engine whose schemas have none says nothing."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from rewriter.declared import Type
from rewriter.dialects.nodes import refuse
from rewriter.refused import Refused


@dataclass(frozen=True, slots=True)
class DocumentStep:
    """One step into a document: by a key of an object, by a place in a list (from 0, or from the end), or by either."""

    key: str | None = None
    place: int | None = None


class NestedValues:
    """None of these raises, whatever a document or a list holds."""

    def read_nested(self, sql: exp.Expr, type_: Type, engine_type: str) -> exp.Expr:
        """A column as a document or list that none of the others raises on."""
        return sql

    def part_of_document(self, sql: exp.Expr, step: DocumentStep) -> exp.Expr:
        """A smaller document; NULL where there is none."""
        raise _unknown()

    def text_of_document(self, sql: exp.Expr, step: DocumentStep) -> exp.Expr:
        """A part as a text: that of a string without its quotes, and NULL of JSON's null."""
        raise _unknown()

    def kind_of_document(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """'object', 'array', 'string', 'number', 'boolean' or 'null'."""
        raise _unknown()

    def items_of_document(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """How many items a document has that is a list."""
        raise _unknown()

    def texts_of_document(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """The items of a document that is a list, as what :meth:`unnested` takes."""
        raise _unknown()

    def any_item(self, kind: type[exp.Expr], sql: exp.Expr, items: exp.Expr) -> exp.Expr:
        """Whether a comparison is true of some item; NULL where only a NULL keeps it from being false."""
        raise _unknown()

    def item_count(self, items: exp.Expr) -> exp.Expr:
        """How many items there are, as an INTEGER."""
        raise _unknown()

    def item(self, items: exp.Expr, place: int) -> exp.Expr:
        """The item at a place from 1 on; NULL where there is none."""
        raise _unknown()

    def some_items(self, items: exp.Expr, low: int, high: int) -> exp.Expr:
        """The items from one place to another."""
        raise _unknown()

    def joined_items(self, items: exp.Expr, mark: str) -> exp.Expr:
        """The items that are not NULL as one text, with a mark between them."""
        raise _unknown()

    def numbers_between(self, low: exp.Expr, high: exp.Expr, step: int) -> exp.Expr:
        """The numbers from one BIGINT to another as a list; no item, or no list, where an end is NULL."""
        raise _unknown()

    def unnested(self, items: exp.Expr) -> exp.Expr:
        """In a select list: a row for each item, and none of NULL."""
        raise _unknown()


def _unknown() -> Refused:
    return refuse("documents and lists are not read of this database", "have a view make plain columns of them")
