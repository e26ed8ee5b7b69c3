"""The process that workers are forked from: it has loaded the program, has one thread, and does nothing else.

Why a process of its own: a process with threads, such as the foreman or a worker, cannot be forked safely. And what is
loaded once is in memory once.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence

from dpsql.server.collector import settled

Work = Callable[[Sequence[int]], None]
"""What a forked process does, with the descriptors that it was given."""

_EVENT = struct.Struct("!ii")
"""A process, and how it ended, as ``os.waitpid`` says; or ``_BORN``."""
_BORN = -1
_NONE = -1
_MOST_DESCRIPTORS = 8
_PATIENCE = 30.0
_FAREWELL = 5.0
"""Seconds in which the nursery ends by itself; then it is killed."""
_LOOK = 0.005


class Nursery:
    """The foreman's end: forks processes, and is told of their ends."""

    def __init__(self, work: Work) -> None:
        """Fork the nursery. To be called before this process has any thread of ours."""
        self._end, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._born = threading.Semaphore(0)
        self._child = 0
        self._ended: Callable[[int, int], None] = lambda process, status: None
        self._lost: Callable[[], None] = lambda: None
        self._forking = threading.Lock()
        self._process = os.fork()
        if not self._process:
            self._end.close()
            _Inside(theirs, work).run()
        theirs.close()
        self._listener = threading.Thread(target=self._listen, name="dpsql nursery", daemon=True)

    def watch(self, ended: Callable[[int, int], None], lost: Callable[[], None]) -> None:
        """``ended`` is told each process that ended from now on, and how; ``lost``, that the nursery has."""
        self._ended, self._lost = ended, lost
        self._listener.start()

    def fork(self, descriptors: Sequence[int]) -> int:
        """The number of a new process, which has these descriptors. Raises OSError."""
        with self._forking:
            socket.send_fds(self._end, [b"fork"], list(descriptors))
            if not self._born.acquire(timeout=_PATIENCE):
                raise OSError("no process could be forked")
            if not self._child:
                raise OSError("no process could be forked")
            return self._child

    def close(self) -> None:
        """End the nursery; what it forked goes on."""
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        end = time.monotonic() + _FAREWELL
        while not os.waitpid(self._process, os.WNOHANG)[0]:
            if time.monotonic() > end:
                os.kill(self._process, signal.SIGKILL)
            time.sleep(_LOOK)
        self._end.close()

    def _listen(self) -> None:
        try:
            while data := self._end.recv(_EVENT.size):
                process, status = _EVENT.unpack(data)
                if status == _BORN:
                    self._child = process
                    self._born.release()
                else:
                    self._ended(process, status)
        except OSError:
            pass
        self._lost()


class _Inside:
    """The nursery itself. It never returns."""

    def __init__(self, end: socket.socket, work: Work) -> None:
        self._end = end
        self._work = work

    def run(self) -> None:
        try:
            # A terminal's signals are for the foreman; and it alone says when all of it ends.
            os.setpgid(0, 0)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            # What is loaded by now is not touched by collections: it stays shared with those who are forked.
            with settled():
                self._serve()
        finally:
            os._exit(0)

    def _serve(self) -> None:
        woken, wake = socket.socketpair()
        for one in (woken, wake):
            one.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        while True:
            ready, _, _ = select.select([self._end, woken], [], [])
            if woken in ready:
                woken.recv(4096)
                self._reap()
            if self._end in ready:
                data, descriptors, _, _ = socket.recv_fds(
                    self._end, 16, _MOST_DESCRIPTORS, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
                )
                if not data:
                    return
                self._fork(descriptors)

    def _fork(self, descriptors: Sequence[int]) -> None:
        try:
            process = os.fork()
        except OSError:
            process = _NONE
        if not process:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._end.close()
            status = 1
            try:
                self._work(descriptors)
                status = 0
            finally:
                os._exit(status)
        for one in descriptors:
            os.close(one)
        self._end.send(_EVENT.pack(max(process, 0), _BORN))

    def _reap(self) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not process:
                return
            self._end.send(_EVENT.pack(process, status))
