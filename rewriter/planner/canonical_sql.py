"""One spelling for queries over the same rows, by which releases are recognised that differ in their keys alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from rewriter.dialects import plain_text, without_facts
from rewriter.once import once

_OURS = re.compile(r"t\d+")
_MARK = "\0"
_MARKED = re.compile(f"{_MARK}(t\\d+){_MARK}")


def canonical(rows: Sequence[exp.Expr], trees: Sequence[exp.Expr]) -> tuple[str, list[str]]:
    """The rows as one text, and each tree over them as a text that no other tree changes.

    Our own aliases t1, t2, … are numbered as they appear; a name of the analyst's or the database's is quoted, so it is
    never taken for one of ours.

    >>> inner = [exp.column("x", "t9"), exp.column("y", "t2")]
    >>> canonical([exp.column("a", "t2")], inner)
    ('t1.a', ['t2.x', 't1.y'])
    """
    names: dict[str, str] = {}
    texts = [_spelt(tree, names) for tree in rows]
    return "\n".join(texts), [_spelt(tree, dict(names)) for tree in trees]


def _spelt(tree: exp.Expr, names: dict[str, str]) -> str:
    """The tree's text; ``names`` are the numbers given so far, and it adds its own. The tree is left as it was."""
    ours = _own_names(tree)
    for name in ours:
        names.setdefault(name, f"t{len(names) + 1}")
    return _text(tree, *(names[name] for name in ours))


@once
def _own_names(tree: exp.Expr) -> tuple[str, ...]:
    """Our own aliases in a tree, in the order in which it names them first."""
    return tuple(dict.fromkeys(one for node in tree.find_all(exp.Identifier) if (one := _own_name(node)) is not None))


def _own_name(identifier: exp.Identifier) -> str | None:
    name = str(identifier.this)
    return None if identifier.args.get("quoted") or not _OURS.fullmatch(name) else name


def _text(tree: exp.Expr, *numbered: str) -> str:
    """The text with such names in the place of our own."""
    names = dict(zip(_own_names(tree), numbered, strict=True))
    return _MARKED.sub(lambda found: names[found[1]], _marked_text(tree))


@once
def _marked_text(tree: exp.Expr) -> str:
    """The text, with each of our own names between two characters that no text, no name and no literal has."""
    copy = without_facts(tree.copy())
    for identifier in list(copy.find_all(exp.Identifier)):
        if (name := _own_name(identifier)) is not None:
            identifier.args["this"] = f"{_MARK}{name}{_MARK}"
    return plain_text(copy, "duckdb")
