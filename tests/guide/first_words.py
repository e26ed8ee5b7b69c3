"""Words of the field where a page says them first: linked to the glossary, so that nobody meets one unexplained."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

WORDS: Mapping[str, str] = {
    "release": r"[Rr]eleas(?:e|es|ed|ing)",
    "group": r"[Gg]roups?",
    "unit": r"[Uu]nits?",
    "ρ-rho": "ρ",
    "zcdp": "zCDP",
    "δ-delta": "δ",
    "grain": r"[Gg]rains?",
    "series": r"[Ss]eries",
}
"""By the glossary's anchors."""

_NOT_PROSE = re.compile(r"```.*?```|<!--.*?-->|`[^`\n]*`|^#.*?$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")


@dataclass(frozen=True, slots=True)
class UnexplainedWord:
    """A word of a page's text, between ``start`` and ``end``, that ought to lead to ``anchor`` of the glossary."""

    anchor: str
    start: int
    end: int


def unexplained(text: str) -> Iterator[UnexplainedWord]:
    """Words whose first place in prose is no link to their own entry. Links to other pages say more already.

    >>> [one.anchor for one in unexplained("A [release](glossary.md#release) has `groups`, a ρ, [units](keys.md).")]
    ['ρ-rho']
    """
    prose = _NOT_PROSE.sub(_blank, text)
    linked = [(found.span(), found[2]) for found in _LINK.finditer(prose)]
    prose = _LINK.sub(lambda found: found[0] if "glossary.md#" in found[2] else _blank(found), prose)
    for anchor, word in WORDS.items():
        first = re.search(rf"(?<![\w-])(?:{word})(?![\w-])", prose)
        if first is None:
            continue
        targets = [target for (start, end), target in linked if start <= first.start() < end]
        if not any(target.endswith(f"glossary.md#{anchor}") for target in targets):
            yield UnexplainedWord(anchor, *first.span())


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])
