"""Values as text that stays the same from version to version, so that stored releases are found again.

Guarantee: two values have one text only when everything that is listed of them here is equal, types included; and the
text of a value changes only where this file does. A release that was bought yesterday is found by its text, so a
change of a text buys every such release again, once.

Classes and fields are listed under tags of their own. A class or a field may be renamed in the code without a change of
any text: the tag stays ("tag=field"). A field may be added that has a default: a value that equals its default is not
written, so everything that was there before keeps its text. A default that is listed never changes.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

VERSION = "dpsql-2"
"""Begins everything that is hashed. Another version finds nothing of what was stored before."""


@dataclass(frozen=True, slots=True)
class ListedFields:
    """How a class is written: its tag and its fields. ``left_out`` are fields that do not change the measurement."""

    tag: str
    written: tuple[str, ...]
    left_out: tuple[str, ...] = ()


CLASSES: Mapping[str, ListedFields] = {
    # What a plan measures.
    "Plan": ListedFields(
        "plan",
        ("sql", "dialect", "keys", "blocks", "selection", "top", "choices", "steps"),
        (
            # How it is shown, and facts that follow from what is written.
            *("outputs", "cells", "notes", "parts", "orders", "exhaustive", "alone", "groups", "clips", "sums"),
            *("partials", "inhabited", "tables", "drill_downs", "by_conditions", "period", "until", "times"),
            *("_identity", "bounded_by", "averaged", "counted", "of_columns", "clipped", "question", "hidden"),
        ),
    ),
    "KeyColumn": ListedFields(
        "key", ("name", "type", "text"), ("family", "closed", "listed", "lists_null", "may_lack", "sorts", "celled")
    ),
    "Type": ListedFields("type", ("kind", "bits", "precision", "scale")),
    "PlanStep": ListedFields("step", ("sql", "blocks"), ("at",)),
    "Block": ListedFields("block", ("statistics", "sensitivity", "prefix", "weight"), ("rises",)),
    "ComponentBlock": ListedFields(
        "component block", ("statistics", "sensitivity", "prefix", "weight", "components"), ("rises",)
    ),
    "MissingComponents": ListedFields("missing components", ("sizes", "missing")),
    "Statistic": ListedFields("statistic", ("name", "granularity", "bound", "text"), ("family",)),
    "Sensitivity": ListedFields("sensitivity", ("l1", "l2_squared")),
    "Prefix": ListedFields("prefix", ("strategy", "order", "descending")),
    "Toeplitz": ListedFields("toeplitz", ("steps", "width")),
    "Tree": ListedFields("tree", ("steps", "branching", "levels", "width")),
    "Selection": ListedFields("selection", ("name", "granularity", "max_groups", "units")),
    "Top": ListedFields("top", ("name", "output", "count", "descending", "reach", "text", "most")),
    "Choice": ListedFields(
        "choice",
        (
            *("name", "sql", "fractions", "low", "high", "granularity", "sensitivity", "row", "window"),
            *("candidates", "distinct"),
        ),
        # Nothing derives one pick from another of another name, as numbers are by their families.
        ("text", "within"),
    ),
    # What a policy and a database declare, under which releases were made.
    "Catalog": ListedFields(
        "catalog", ("tables", "unit", "declared_extremes"), ("_folded", "previews", "rows", "answers", "made_up")
    ),
    "Table": ListedFields(
        "table",
        (
            *("name", "columns", "public", "path", "max_rows", "max_groups", "max_rows_per_group", "rows", "schema"),
            *("learned_rows", "keys", "claimed", "one_row_of", "spans", "ways", "repeats_unit", "grows"),
            "ways_when",
        ),
        ("closes", "primary_key", "view"),
    ),
    "Spans": ListedFields("spans", ("column", "unit", "low", "high", "alias", "more")),
    "Hop": ListedFields("hop", ("column", "parent", "parent_column", "enforced", "also", "when")),
    "When": ListedFields("when", ("column", "value")),
    "Column": ListedFields(
        "column",
        (
            *("name", "type", "nullable", "unique", "values", "values_from", "range", "engine_type", "learned"),
            *("max_distinct", "max_total", "step", "closed", "learns_total", "grain", "ahead", "randomized"),
        ),
        ("max_items", "seen"),
    ),
    "Response": ListedFields("response", ("values", "declared")),
    "Rappor": ListedFields("rappor", ("values", "bits", "hashes", "f", "p", "q", "cohorts")),
    "Grain": ListedFields("grain", ("seconds", "zone")),
    "Interval": ListedFields("interval", ("low", "high")),
}


def identity_of(value: object) -> str:
    """A name that two values share only when they have one text."""
    return hashlib.sha256(f"{VERSION} {canonical_form(value)}".encode()).hexdigest()


def canonical_form(value: object) -> str:
    """The text of a value. Raises TypeError for a class that is not listed.

    >>> canonical_form((1, True, Fraction(1, 2), "ä", None, Decimal("1.50"), 0.1))
    '[1, true, 1/2, "\\\\u00e4", null, decimal 1.50, double 0x1.999999999999ap-4]'
    >>> canonical_form({"b": 2, "a": frozenset({"y", "x"})})
    '{"a": set ["x", "y"], "b": 2}'
    """
    class_: Any = type(value)
    return _writer(class_)(value)


@functools.cache
def _writer(class_: Any) -> Callable[[Any], str]:
    """How values of a class are written: as those of its first kind in the list."""
    return next((written for kind, written in _KINDS if issubclass(class_, kind)), _of_class)


def _listed(values: Iterable[object]) -> str:
    return f"[{', '.join(map(canonical_form, values))}]"


def _of_set(values: Iterable[object]) -> str:
    return f"set [{', '.join(sorted(map(canonical_form, values)))}]"


def _of_mapping(values: Mapping[object, object]) -> str:
    pairs = sorted((canonical_form(key), canonical_form(one)) for key, one in values.items())
    return "{" + ", ".join(f"{key}: {one}" for key, one in pairs) + "}"


_KINDS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (type(None), lambda _: "null"),
    (Enum, lambda value: canonical_form(value.value)),
    (bool, lambda value: "true" if value else "false"),
    (int, str),
    (str, json.JSONEncoder().encode),
    (Fraction, lambda value: f"{value.numerator}/{value.denominator}"),
    (tuple, _listed),
    (list, _listed),
    (frozenset, _of_set),
    (set, _of_set),
    (Mapping, _of_mapping),
    (float, lambda value: f"double {value.hex()}"),
    (Decimal, lambda value: f"decimal {value}"),
    (datetime.datetime, lambda value: f"timestamp {value.isoformat()}"),  # before date, which it is as well
    (datetime.date, lambda value: f"date {value.isoformat()}"),
    (datetime.time, lambda value: f"time {value.isoformat()}"),
)


def _of_class(value: object) -> str:
    class_: Any = type(value)
    tag, named = _written(class_)
    written = []
    for name, attribute, default in named:
        text = canonical_form(getattr(value, attribute))
        if text != default:
            written.append(f"{name}: {text}")
    return f"{tag} {{{', '.join(written)}}}"


@functools.cache
def _written(class_: Any) -> tuple[str, tuple[tuple[str, str, str | None], ...]]:
    """The tag of a class; and of each field that is written, in order, its tag, its name, and its default's text."""
    listed = CLASSES.get(class_.__name__)
    if listed is None:
        raise TypeError(f"{class_.__name__} is not listed in the canonical form")
    defaults = {field.name: field.default for field in fields(class_)}
    named = []
    for one in sorted(listed.written):
        tag, _, renamed = one.partition("=")
        default = defaults[renamed or tag]
        named.append((tag, renamed or tag, None if default is MISSING else canonical_form(default)))
    return listed.tag, tuple(named)
