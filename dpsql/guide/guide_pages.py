"""The pages of the guide by name. They are files beside this one, so that they come with the wheel.

A page is Markdown. HTML comments in it are for the tests, which run its examples; nobody else sees them.
"""

from __future__ import annotations

import difflib
import re
from importlib.resources import files

from dpsql.errors import DataError

CONTENTS = "README"
"""The page that lists the others."""

_COMMENT = re.compile(r"^<!--.*?-->\n+", re.MULTILINE | re.DOTALL)
_LISTED = re.compile(r"^\| \[([a-z-]+)\]\(\1\.md\) \|", re.MULTILINE)


def names() -> tuple[str, ...]:
    """Every page, in the order of the table of contents."""
    return tuple(dict.fromkeys(_LISTED.findall(_text(CONTENTS))))


def page(name: str) -> str:
    """The text of a page, in any case and with or without ``.md``. Raises :class:`dpsql.errors.DataError`.

    >>> page("Glossary.md").splitlines()[0]
    '# Glossary'
    >>> page("glosary")
    Traceback (most recent call last):
    dpsql.errors.DataError: the guide has no page 'glosary'
    HINT: did you mean glossary?
    """
    wanted = name.strip().lower().removesuffix(".md")
    if wanted == CONTENTS.lower():
        return _text(CONTENTS)
    if wanted not in names():
        raise DataError(f"the guide has no page {name[:40]!r}", sqlstate="22023", hint=_nearest(wanted))
    return _text(wanted)


def without_links(text: str) -> str:
    """A page for a terminal, where a link between pages leads nowhere: its words stay, and what it shows is named.

    >>> without_links("see [the glossary](glossary.md#unit), [PEP](https://peps.python.org) ![a chart](pictures/a.png)")
    'see the glossary, [PEP](https://peps.python.org) (picture: a chart)'
    """
    named = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"(picture: \1)", text)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", named)


def _text(name: str) -> str:
    source = files("dpsql.guide").joinpath(f"{name}.md").read_text(encoding="utf-8")
    return _COMMENT.sub("", source)


def _nearest(name: str) -> str:
    """Pages that are spelt alike, or that mention what was asked for in their title."""
    spelt = difflib.get_close_matches(name, names(), 3)
    titled = [one for one in names() if name in _text(one).splitlines()[0].lower()]
    near = list(dict.fromkeys([*spelt, *titled]))
    return f"did you mean {', '.join(near)}?" if near else "dpsql guide lists the pages"
