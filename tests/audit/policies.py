"""The policies that worlds are served under: one declaration of tables, ledgers of three kinds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MAX_ROWS = 4

_TABLES = f"""
tables:
  member:
    columns:
      id: {{}}
      world: {{}}
      cell: {{range: [0, 199]}}
      x: {{range: [0, 100]}}
      y: {{range: [-50, 50]}}
      n: {{range: [-20, 10]}}
      d: {{range: [0, 500]}}
      born: {{range: [1920-01-01, 2019-12-31]}}
      flag: {{}}
      kind: {{values: [a, b, c]}}
      tag: {{}}
      said: {{values: ['yes', 'no', maybe], randomized: {{response: 1}}}}
  event:
    unit: member_id -> member.id
    max_rows: {MAX_ROWS}
    columns:
      id: {{}}
      member_id: {{}}
      world: {{}}
      cell: {{range: [0, 199]}}
      sub: {{range: [0, 3]}}
      item: {{range: [0, 19]}}
      x: {{range: [0, 100]}}
      n: {{range: [-20, 10]}}
      d: {{range: [0, 500]}}
      day: {{range: [2025-01-01, 2025-01-08]}}
      tag: {{}}
  fine:
    unit: [event_id -> event.id, member_id -> member.id]
    max_rows: 3
    columns:
      id: {{}}
      event_id: {{}}
      world: {{}}
      amount: {{range: [0, 20]}}
  place: {{public: true}}
"""
_TARIFF = "  tariff: {public: true}\n"


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a policy says beside its tables."""

    budget: str
    statement: str
    unit: str = "member.id"
    tables: str = ""

    def write(self, folder: Path, database: str, more: str = "") -> Path:
        """A policy in a folder; ``more`` tables end it."""
        path = folder / "policy.yaml"
        unit = f"privacy_unit: {self.unit}\nanalysts: {{ana: {{}}, bob: {{}}}}\n"
        heads = f"database: {database}\nledger: sqlite:{folder}/spent.ledger\n{unit}"
        path.write_text(f"{heads}budget: {self.budget}\nstatement: {self.statement}\n{_TABLES}{self.tables}{more}")
        return path


LEDGERS = {
    "pure": Ledger("{epsilon: 1e6, delta: 0}", "{epsilon: 1, max_epsilon: 16}"),
    "zcdp": Ledger("{epsilon: 1e6, delta: 0.9, accounting: zcdp}", "{epsilon: 1, max_epsilon: 16, delta: 0.004}"),
    "rdp": Ledger("{epsilon: 1e6, delta: 0.9, accounting: rdp}", "{epsilon: 1, max_epsilon: 16, delta: 0.004}"),
    "learned": Ledger("{epsilon: 1e6, delta: 0}", "{epsilon: 4, max_epsilon: 16, bounds: 0.5}"),
    "growing": Ledger("{epsilon: 1e6, delta: 0}", "{epsilon: 1, max_epsilon: 16}", tables=_TARIFF),
    "clocked": Ledger("{epsilon: 1e6, delta: 0}", "{epsilon: 1, max_epsilon: 16}", tables=_TARIFF),
    "daily": Ledger("{epsilon: 1e6, delta: 0, per: day}", "{epsilon: 1, max_epsilon: 16}\nrefresh: 1 day"),
    "approx": Ledger("{epsilon: 1e6, delta: 0.99, accounting: approx}", "{epsilon: 1, max_epsilon: 16, delta: 0.004}"),
}
