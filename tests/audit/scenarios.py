"""All scenarios."""
from __future__ import annotations
from tests.audit.scenario import Ask, Scenario
from tests.audit.worlds import Shape, Somebody

PLAIN = Somebody({"x": 50, "y": 0, "n": 1, "d": "20.5", "born": "1980-01-01", "flag": True, "kind": "a", "tag": "t"},
   [{"sub": 0, "item": 1, "x": 50, "n": 1, "d": "10", "day": "2025-01-02", "tag": "t"}])
SHAPES = [
    Shape("plain", PLAIN, [PLAIN] * 3),
    Shape("over", Somebody(PLAIN.member, [{"sub": i % 4, "item": i % 20, "x": 1e308, "n": 10, "d": 500, "day": "2025-01-02", "tag": "t"} for i in range(60)]), [PLAIN] * 3),
]
SCENARIOS = [
    Scenario("count of people", "plain", (Ask("SELECT cell, COUNT(*) FROM member WHERE world = {w} GROUP BY cell"),)),
    Scenario("over-limit rows", "over", (Ask("SELECT cell, sub, COUNT(*) FROM event WHERE world = {w} GROUP BY cell, sub", keys=1),)),
    Scenario("over-limit rows, rho", "over", (Ask("SELECT cell, sub, COUNT(*) FROM event WHERE world = {w} GROUP BY cell, sub", keys=1),), ledger="zcdp"),
]
