"""Nothing waits for ever: each wait in the code has a limit, or stands here with the reason why it needs none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.rooms.test_rooms import MODULES, ROOT

IDLE, ENDS = "a thread or a loop that waits for its next work, with nobody waiting for it", "the other end is killed"
WITHOUT_LIMIT = {
    "dpsql/audit/audited_server.py:running process.wait()": ENDS,
    "dpsql/ledger/group_commit.py:_write self._changed.wait()": IDLE,
    "dpsql/postgresql/process.py:close self._holder.wait()": ENDS,
    "dpsql/server/operations/logs.py:_write self._lines.get()": IDLE,
    "dpsql/server/serve.py:_farewell hurry.wait()": "within a wait that has a limit",
    "dpsql/server/serve.py:_run self._stopping.wait()": IDLE,
    "dpsql/server/workers/foreman.py:_farewell hand.gone.wait()": "within waits that have a limit",
    "dpsql/server/workers/foreman.py:_kept hand.gone.wait()": IDLE,
    "dpsql/server/workers/foreman.py:_run self._stopping.wait()": IDLE,
    "dpsql/server/workers/nursery.py:_serve select.select([self._end, woken], [], [])": IDLE,
    "dpsql/server/workers/remote_calls.py:_send self._to_send.get()": IDLE,
    "dpsql/server/workers/remote_calls.py:_settled done.result()": "it is done",
    "dpsql/server/workers/worker.py:_readable ready.wait()": IDLE,
    "dpsql/server/workers/worker.py:accepted asyncio.Event().wait()": IDLE,
    "dpsql/server/workers/worker.py:run self._calls.get()": IDLE,
}
WAITS = {"wait", "join", "get", "result", "exception", "acquire", "communicate"}
"""Methods of threads, processes, futures, events, queues and locks. Without an argument they wait for ever."""
OTHERS = ("durable.exception()", "done.exception()", "_KNOWN.get()", "_DISTRUST.get()", "_LISTED.get()")
"""Of futures that are done, and of variables."""
PROGRAMS = {"run", "call", "check_call", "check_output"}


def endless(call: ast.Call) -> bool:
    """Whether a call waits for another thread or process, for as long as that takes."""
    text, named = ast.unparse(call), {keyword.arg: keyword.value for keyword in call.keywords}
    if not isinstance(call.func, ast.Attribute) or text in OTHERS:
        return False
    of, does = ast.unparse(call.func.value), call.func.attr
    limit = named.get("timeout", call.args[0] if call.args else None)
    none = limit is None or (isinstance(limit, ast.Constant) and limit.value is None)
    if of == "fcntl":
        return does in ("flock", "lockf") and "LOCK_EX" in text and "LOCK_NB" not in text
    if of == "subprocess":
        return does in PROGRAMS and "timeout" not in named
    if of in ("os", "select"):
        return (does == "waitpid" and "WNOHANG" not in text) or (does == "select" and len(call.args) < 4)
    return does in WAITS and none and "blocking" not in named


def waits() -> Iterator[str]:
    for path in MODULES:
        stack: list[tuple[ast.AST, str]] = [(ast.parse(path.read_text()), "")]
        while stack:
            node, within = stack.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                within = node.name
            if isinstance(node, ast.Call) and endless(node):
                yield f"{path.relative_to(ROOT)}:{within} {ast.unparse(node)}"
            stack += [(child, within) for child in ast.iter_child_nodes(node)]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("future.result()", True),
        ("future.result(timeout=None)", True),
        ("future.result(3)", False),
        ("fcntl.flock(lock, fcntl.LOCK_EX)", True),
        ("fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)", False),
        ("os.waitpid(child, 0)", True),
        ("subprocess.run(command)", True),
        ("subprocess.run(command, timeout=3)", False),
        ("select.select([one], [], [])", True),
    ],
)
def test_a_wait_without_a_limit_is_seen(code: str, expected: bool) -> None:
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call)
    assert endless(call) is expected


@pytest.mark.quick
def test_each_wait_has_a_limit_or_a_reason() -> None:
    assert set(waits()) == set(WITHOUT_LIMIT)
