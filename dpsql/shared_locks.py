"""Locks on the bytes of a file, which several processes open: each byte is held by one of them.

The system gives back what a process holds when it ends, in whatever way. The description of the open file holds the
locks: two that one process has opened exclude each other too.
"""

from __future__ import annotations

import os
import struct

try:
    import fcntl
except ImportError:  # No such locks here: processes do not wait for each other.
    fcntl = None  # type: ignore[assignment]

SHARED = fcntl is not None and hasattr(fcntl, "F_OFD_SETLK")
"""Whether this system has such locks."""


class SharedLocks:
    """The locks that this process holds on a file. Each is for one thread at a time.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     one, other = SharedLocks(file.name), SharedLocks(file.name)
    ...     one.take(7), other.take(7), other.take(8), one.give_back(7), other.take(7)
    (True, False, True, None, True)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file, and make it if there is none. Raises OSError."""
        self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._pid = os.getpid()

    def take(self, byte: int) -> bool:
        """Whether this process now holds a byte. On a file system without locks everybody does."""
        return self._set(byte, fcntl.F_WRLCK)

    def give_back(self, byte: int) -> None:
        self._set(byte, fcntl.F_UNLCK)

    def close(self) -> None:
        if self._file >= 0 and os.getpid() == self._pid:
            os.close(self._file)
        self._file = -1

    def _set(self, byte: int, kind: int) -> bool:
        if self._file < 0 or os.getpid() != self._pid:
            return True
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, byte, 1, 0))
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True
