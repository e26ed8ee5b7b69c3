"""The code blocks of a page of Markdown, and what its author says of each in a comment on the line before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "dpsql" / "guide"
README = ROOT / "README.md"
PAGES = (README, *sorted(GUIDE.glob("*.md")))

WORDS = ("not run", "file", "refused", "part of the policy", "on PostgreSQL", "output")
"""What a comment may begin with: ``<!-- not run: it needs Docker -->``."""

_COMMENT = re.compile(r"<!-- ([^:>]+?)(?:: (.+?))? -->")


@dataclass(frozen=True, slots=True)
class Block:
    """``said`` is the comment's beginning, and ``more`` what stands after its colon."""

    page: str
    line: int
    language: str
    text: str
    said: str = ""
    more: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(path: Path) -> Iterator[Block]:
    """Fenced blocks, at any indentation."""
    comment, inside, language, indent, start = "", None, "", "", 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fence = re.fullmatch(r"( *)```(\w*)", line)
        if inside is None and fence:
            inside, language, indent, start = [], fence[2], fence[1], number
        elif inside is not None and line == f"{indent}```":
            found = _COMMENT.fullmatch(comment.strip())
            said, more = (found[1], found[2] or "") if found else ("", "")
            yield Block(path.name, start, language, "\n".join(inside) + "\n", said, more)
            inside, comment = None, ""
        elif inside is not None:
            inside.append(line.removeprefix(indent))
        elif line.strip():
            comment = line


def shape(text: str) -> list[str]:
    """The lines of an output without what differs from run to run: every number is ``#``, every space is one.

    >>> shape("F   2,039 ± 11\\n────\\nrho 0.5, id 'c5bc435b555e9666'")
    ['F # ± #', '─', "rho #, id '#'"]
    """
    lines = []
    for line in text.splitlines():
        plain = re.sub(r"\b(?=\w*[a-f])(?=\w*\d)[0-9a-f]{16,32}\b|(?<=SHA-256)\$[^']+", "#", line.expandtabs())
        plain = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d)?", "#", plain)
        plain = re.sub(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", "#", plain)
        plain = re.sub(r"[─-]{3,}", "─", plain)
        plain = plain.replace("at most #", "# ± #")  # a count of people that noise put below 0
        lines.append(re.sub(r"\s+", " ", plain).strip())
    return [line for line in lines if line]


def alike(expected: list[str], got: list[str]) -> bool:
    """Whether the lines are the same, where a line ``…`` stands for any lines, or none.

    >>> alike(["a", "…", "c"], ["a", "b", "c"]), alike(["a"], ["a", "b"])
    (True, False)
    """
    if not expected:
        return not got
    if expected[0] == "…":
        return any(alike(expected[1:], got[at:]) for at in range(len(got) + 1))
    return bool(got) and expected[0] == got[0] and alike(expected[1:], got[1:])
