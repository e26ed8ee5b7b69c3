"""Who is in the groups of each shape: the worst person that there is for what is asked, beside a few ordinary ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tests.audit.policies import MAX_ROWS
from tests.audit.worlds import Shape, Somebody

_MEMBER: Mapping[str, Any] = {
    "x": 50, "y": 0, "n": 1, "d": "20.5", "born": "1980-01-01", "flag": True, "kind": "a", "tag": "t",
    "said": "no",
}  # fmt: skip
_EVENT: Mapping[str, Any] = {"sub": 0, "item": 1, "x": 50, "n": 1, "d": "10.25", "day": "2025-01-02", "tag": "t"}


def member(**changed: object) -> dict[str, object]:
    return {**_MEMBER, **changed}


def event(**changed: object) -> dict[str, object]:
    return {**_EVENT, **changed}


ORDINARY = Somebody(member(), [event()])
THREE = [ORDINARY] * 3

_WILD = ("NaN", "inf", "-inf", "1e308", "-1e308", "5e-324", "-0.0", None)


def _over(place: int, **changed: object) -> dict[str, object]:
    """One of far too many rows, spread over everything that they can be spread over."""
    spread = {
        "sub": place % 4,
        "item": place % 20,
        "day": f"2025-01-0{1 + place % 8}",
        "x": 1e308,
        "n": 2**62,
        "d": "9999999999.99",
    }
    return event(**{**spread, **changed})


SHAPES = (
    Shape("plain", ORDINARY, THREE),
    # As many rows as the policy allows, all in one group, at the ends of ranges.
    Shape("maximal", Somebody(member(), [event(sub=2, x=100, n=-20, d=500)] * MAX_ROWS), THREE),
    Shape("over", Somebody(member(), [_over(place) for place in range(60)]), THREE),
    Shape("heap", Somebody(member(), [_over(0)] * 60), THREE),
    Shape("below", Somebody(member(n=-(2**62), x=-1e308), [_over(0, x=-1e308, n=-(2**62), d="-9999999999.99")] * 60), THREE),
    Shape(
        "wild",
        Somebody(member(x="NaN", y="-inf", n=2**62, d="-9999999999.99", born="9999-12-31", kind="?"),
                 [_over(place, x=_WILD[place % 8]) for place in range(16)]),
        THREE,
    ),
    Shape(
        "strays",
        Somebody(member(), [event()], strays=[event(owner=place % 2) for place in range(40)]),
        THREE,
    ),
    Shape("duplicates", Somebody(member(), [event(sub=1, x=100)] * 30), THREE),
    Shape(
        "unknown",
        Somebody(member(kind="?"), [_over(place, sub=(99, None, -5, 0)[place % 4], day=(None, "9999-12-31")[place % 2]) for place in range(30)]),
        THREE,
    ),
    Shape("fined", Somebody(member(), [event(), event()], [{"event": place % 2, "amount": 20} for place in range(20)]),
          [Somebody(member(), [event()], [{"event": 0, "amount": 5}])] * 2),
    Shape("extreme", Somebody(member(x=100, y=50, born="2019-12-31", n=10, d=500, said="yes")), [Somebody(member(x=0, y=-50, n=-20, d=0))] * 4),
    # Nobody is born before the last day.
    Shape("born", Somebody(member(born="2019-12-31")), [Somebody(member(born="2019-12-31"))] * 8),
    # Nobody else says yes, nor has such an x.
    Shape("outlier", Somebody(member(x=100, flag=True)), [Somebody(member(x=0, flag=False))] * 6),
    # The person adds to a value that is seldom the most common one.
    Shape("minority", Somebody(member(kind="c", flag=False), [event(item=7)] * MAX_ROWS),
          [Somebody(member(kind="a"), [event(item=1)] * MAX_ROWS)] * 8 + [Somebody(member(kind="c"), [event(item=7)] * MAX_ROWS)] * 6),
    # Of two people the median is anything between them; of one, hardly.
    Shape("pair", Somebody(member(), [event(sub=3)] * MAX_ROWS), [Somebody(member(), [event(sub=0)] * MAX_ROWS)]),
    # The median moves from the two at the one end to the person in the middle.
    Shape("middle", Somebody(member(n=-5)), [Somebody(member(n=-20)), Somebody(member(n=-20)), Somebody(member(n=10))]),
    Shape("alone", Somebody(member(tag="one"), [event(tag="one")])),
    Shape("crowd", Somebody(member(tag="one"), [event(tag="one")]), [Somebody(member(tag="one"), [event(tag="one")])] * 4),
    # Its worlds are in databases whose public rows change.
    Shape("grown", ORDINARY, THREE),
    # Its worlds are tables of their own.
    Shape("open", Somebody()),
    Shape("many", Somebody(member(), [event(tag=f"k{place:02}") for place in range(40)])),
)  # fmt: skip


def shapes(names: Iterable[str]) -> list[Shape]:
    """Those that are named. ``plain 2`` is ``plain`` once more, with worlds that no other scenario asks about."""
    known = {shape.name: shape for shape in SHAPES}
    return [replace(known[name.rstrip(" 0123456789")], name=name) for name in dict.fromkeys(names)]
