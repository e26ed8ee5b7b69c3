"""The queries as they are written: a file of SQL each, whose header says for whom it is and how it was adapted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

QUERIES = Path(__file__).parent / "queries"
FORMS = Path(__file__).parent / "forms"


@dataclass(frozen=True, slots=True)
class Written:
    """A query of the battery. ``keys`` leading columns of its answer are the key of a group.

    ``within`` is how far from the truth, in relation to it, an answer may be that has no noise.
    A later statement's ``?`` is the one number that the statement before it released. ``refused`` is the reason, where
    there is one, and ``better`` says what could answer it all the same.
    """

    name: str
    title: str
    unit: str
    keys: int
    adapted: str
    statements: tuple[str, ...]
    within: float = 1e-3
    refused: str = ""
    better: str = ""


def read(folder: Path) -> list[Written]:
    """All queries of a folder.

    >>> [query.name for query in read(QUERIES)][:3]
    ['q01', 'q02', 'q03']
    """
    return [_written(path) for path in sorted(folder.glob("*.sql"))]


def _written(path: Path) -> Written:
    text = path.read_text(encoding="utf-8")
    header, _, sql = text.partition("\n\n")
    first, *lines = (line.removeprefix("-- ") for line in header.splitlines())
    fields = dict(line.split(": ", 1) for line in lines)
    unknown = fields.keys() - {"unit", "keys", "adapted", "within", "refused", "better"}
    if unknown:
        raise ValueError(f"{path.name} has a header that is not known: {', '.join(unknown)}")
    return Written(
        name=path.stem,
        title=re.sub(r"^Q\d+, ", "", first),
        unit=fields["unit"],
        keys=int(fields["keys"]),
        adapted=fields.get("adapted", "nothing"),
        statements=tuple(statement.strip() for statement in sql.split(";") if statement.strip()),
        within=float(fields.get("within", 1e-3)),
        refused=fields.get("refused", ""),
        better=fields.get("better", ""),
    )
