"""A line between two processes of one server: each of them asks, and answers what the other asks.

Guarantee: an answer is sent when the answering side has it, and no question waits for another. Where the other process
has ended, all that was asked of it fails, and ``lost`` is called once.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from dpsql.errors import Error, InternalError, OperationalError


@dataclass(frozen=True, slots=True)
class _Asked:
    """``number`` is that of the answer; 0: none is wanted."""

    number: int
    question: object


@dataclass(frozen=True, slots=True)
class _Answered:
    number: int
    answer: object = None
    problem: Error | None = None


class RemoteCalls:
    """One end. Thread-safe; no caller waits for the other process to listen."""

    def __init__(self, end: int) -> None:
        """``end`` is a connected stream socket's descriptor, which this line closes."""
        self._connection = Connection(end)
        self._answer: Callable[[Any], object] = lambda question: None
        self._lost: Callable[[], None] = lambda: None
        self._numbers = itertools.count(1)
        self._asked: dict[int, Future[Any]] = {}
        self._to_send: queue.SimpleQueue[_Asked | _Answered | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._over = False
        self._threads = [
            threading.Thread(target=work, name="dpsql line", daemon=True) for work in (self._listen, self._send)
        ]

    def open(self, answer: Callable[[Any], object], lost: Callable[[], None]) -> None:
        """Listen. ``answer`` is called by the thread that listens, and must not wait: what takes time is answered with
        a future.
        """
        self._answer, self._lost = answer, lost
        for thread in self._threads:
            thread.start()

    def ask(self, question: object) -> Future[Any]:
        answer: Future[Any] = Future()
        number = next(self._numbers)
        with self._lock:
            if self._over:
                raise _gone()
            self._asked[number] = answer
        self._to_send.put(_Asked(number, question))
        return answer

    def tell(self, news: object) -> None:
        """The same without an answer; nothing happens where nobody listens any more."""
        self._to_send.put(_Asked(0, news))

    def close(self) -> None:
        """Send what waits; where the other process has ended, that is the end of the line here, too."""
        self._to_send.put(None)
        self._threads[1].join(1)
        if self._over:
            self._connection.close()

    def _send(self) -> None:
        while (message := self._to_send.get()) is not None:
            try:
                self._connection.send(message)
            except OSError:
                # The thread that listens finds out as well.
                return

    def _listen(self) -> None:
        try:
            while True:
                self._on(self._connection.recv())
        except (EOFError, OSError):
            pass
        with self._lock:
            self._over = True
            left, self._asked = list(self._asked.values()), {}
        for answer in left:
            answer.set_exception(_gone())
        self._lost()

    def _on(self, message: _Asked | _Answered) -> None:
        if isinstance(message, _Answered):
            with self._lock:
                answer = self._asked.pop(message.number)
            if message.problem is None:
                answer.set_result(message.answer)
            else:
                answer.set_exception(message.problem)
            return
        try:
            found = self._answer(message.question)
        except Exception as problem:
            found = Future()
            found.set_exception(problem)
        if message.number and isinstance(found, Future):
            number = message.number
            found.add_done_callback(lambda done: self._to_send.put(_settled(number, done)))
        elif message.number:
            self._to_send.put(_Answered(message.number, found))


def _settled(number: int, done: Future[Any]) -> _Answered:
    problem = done.exception()
    if problem is None:
        return _Answered(number, done.result())
    return _Answered(number, problem=problem if isinstance(problem, Error) else InternalError(type(problem).__name__))


def _gone() -> Error:
    return OperationalError("another process of the server has ended", sqlstate="57P01", hint="try again")
