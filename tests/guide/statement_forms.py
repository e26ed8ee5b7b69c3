"""The page of statement forms: each golden query that is answered, and which engines answer it.

What an engine answers is what the rewriter plans in its dialect, over the clinic of the golden queries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rewriter.refused import Refused
from tests.golden.pairs import Pair, pairs
from tests.guide.blocks import GUIDE
from tests.guide.generated import NOTE

PAGE = GUIDE / "statement-forms.md"
ENGINES = {"duckdb": "DuckDB, files", "postgresql": "PostgreSQL", "spark": "Spark"}
ANSWERED, REFUSED = "yes", "refused"

_INTRO = """# Which statement is answered on which database

These statements are asked in the tests, of the clinic that most pages are about, and each is planned anew for every database. Equal plans have equal prices
and equal errors, whichever database reads the rows. [sql](sql.md) tells the rules behind them, [engines](engines.md) what a database has to show.

"""


def form(pair: Pair) -> str:
    """A query as a cell shows it: on one line, without comments."""
    lines = (re.sub(r"(^|\s)--.*", "", line).strip() for line in pair.sql.splitlines())
    return " ".join(line for line in lines if line).replace("|", "\\|")


def listed() -> list[Pair]:
    """Golden queries that are planned at once: neither refused nor asked after another answer was released."""
    texts = {
        form(pair): pair for pair in pairs() if not re.search("^-- (refused|asked first)", pair.expected, re.MULTILINE)
    }
    return [pair for pair in texts.values() if pair.instant is None]


def page() -> str:
    """The whole page, which takes most of a minute."""
    from tests.engines.test_dialects import DIALECTS, plans_of
    from tests.golden.pairs import clinic
    from tests.golden.test_postgres_queries import known

    catalogs = {"duckdb": clinic(), "postgresql": known(), "spark": clinic()}
    lines = [f"| statement | {' | '.join(ENGINES.values())} |", f"|---|{'---|' * len(ENGINES)}"]
    for pair in listed():
        found = [plans_of(pair, DIALECTS[name], catalogs[name]) for name in ENGINES]
        if isinstance(found[0], Refused):
            continue
        cells = [REFUSED if isinstance(one, Refused) else ANSWERED for one in found]
        lines.append(f"| `{form(pair)}` | {' | '.join(cells)} |")
    return NOTE + _INTRO + "\n".join(lines) + "\n"


def told() -> Mapping[str, Mapping[str, str]]:
    """What the page says: of each statement, by engine."""
    rows = re.findall(
        r"^\| `(.+)` \| (yes|refused) \| (yes|refused) \| (yes|refused) \|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return {statement: dict(zip(ENGINES, cells, strict=True)) for statement, *cells in rows}
