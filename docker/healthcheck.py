"""Exit with 0 when the server on this machine asks a new connection who it is, with 1 when it does not.

That is what `pg_isready` finds out: no password is needed, nothing is asked of the database, and nothing is paid.
"""

from __future__ import annotations

import os
import socket
import struct
import sys

SECONDS = 4.0
NOBODY = b"user\0healthcheck\0application_name\0healthcheck\0\0"
STARTUP = struct.pack("!II", 8 + len(NOBODY), 3 << 16) + NOBODY


def healthy(host: str, port: int) -> bool:
    """Whether a server answers PostgreSQL's protocol: it asks for a password, or says that it does not know nobody."""
    try:
        with socket.create_connection((host, port), SECONDS) as connection:
            connection.settimeout(SECONDS)
            connection.sendall(STARTUP)
            answer = b""
            while not complete(answer):
                block = connection.recv(4096)
                if not block:
                    return False
                answer += block
    except OSError:
        return False
    return answer[:1] == b"R" or b"\0C28" in answer


def complete(answer: bytes) -> bool:
    """Whether the first message is there as a whole."""
    return len(answer) >= 5 and len(answer) > struct.unpack("!I", answer[1:5])[0]


if __name__ == "__main__":
    sys.exit(0 if healthy("127.0.0.1", int(os.environ.get("DPSQL_PORT", "5433"))) else 1)
