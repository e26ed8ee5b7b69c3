"""``pg_backend_pid()`` and ``pg_cancel_backend(pid)``: which session this is, and an end to what another one runs.

Guarantee: a session is ended by its own analyst alone. Whether there is a session of somebody else is not said: of both
the answer is FALSE. Answered in a SELECT without FROM; elsewhere they are the catalog's, whose sessions are others.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewriter.refused import NOT_ANSWERED, Refused

PID = "dpsql own pid"
_DONE = "dpsql cancelled "
_CANCEL = "pg_cancel_backend"


def marked(tree: exp.Query) -> tuple[str, tuple[str, ...]]:
    """``tree`` with marks in the place of both functions, and the pids that are to be cancelled, as they are written.
    The text is empty where neither is called.

    >>> import sqlglot
    >>> marked(sqlglot.parse_one("SELECT pg_catalog.pg_backend_pid() AS own", read="postgres"))
    ("SELECT CAST('dpsql own pid' AS INT) AS own", ())
    >>> marked(sqlglot.parse_one("SELECT pg_cancel_backend(7)", read="postgres"))[1]
    ('7',)
    >>> marked(sqlglot.parse_one("SELECT pg_backend_pid() FROM pg_class", read="postgres"))
    ('', ())
    """
    alone = type(tree) is exp.Select and {name for name, value in tree.args.items() if value} <= {"expressions"}
    if not alone or not any(map(_is_call, tree.find_all(exp.Anonymous))):
        return "", ()
    copy = tree.copy()
    for node in [one for one in copy.find_all(exp.Anonymous) if one.name.lower() == "pg_backend_pid"]:
        _put(node, exp.cast(exp.Literal.string(PID), "int"))
    pids: list[str] = []
    for node in [one for one in copy.find_all(exp.Anonymous) if one.name.lower() == _CANCEL]:
        pid = node.expressions[0] if len(node.expressions) == 1 else node
        bare = pid.this if isinstance(pid, exp.Cast) else pid
        if not isinstance(bare, exp.Literal | exp.Null):
            raise Refused(f"{_CANCEL} takes one number", hint=f"SELECT {_CANCEL}(17)", sqlstate=NOT_ANSWERED)
        done = exp.cast(exp.Literal.string(f"{_DONE}{len(pids)}"), "boolean")
        missing = exp.Is(this=exp.cast(bare.copy(), "int"), expression=exp.Null())
        _put(node, exp.Case(ifs=[exp.If(this=missing, true=exp.Null())], default=done))
        pids.append("" if isinstance(bare, exp.Null) else bare.name)
    return copy.sql("postgres", comments=False), tuple(pids)


def filled(text: str, pid: int, cancelled: Sequence[bool]) -> str:
    """What :func:`marked` marked, with the values."""
    text = text.replace(f"'{PID}'", f"'{pid}'")
    for number, done in enumerate(cancelled):
        text = text.replace(f"'{_DONE}{number}'", "'t'" if done else "'f'")
    return text


def _is_call(node: exp.Anonymous) -> bool:
    return node.name.lower() in ("pg_backend_pid", _CANCEL)


def _put(call: exp.Expr, value: exp.Expr) -> None:
    """A value in the place of a call, which names its column as the call did."""
    outer = call.parent if isinstance(call.parent, exp.Dot) else call
    is_item = isinstance(outer.parent, exp.Select)
    outer.replace(exp.alias_(value, call.name.lower()) if is_item else value)
