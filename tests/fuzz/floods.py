"""What a hostile machine does to a port, each for a while: the second process of a campaign.

``python -m tests.fuzz.floods NAME PORT SECONDS SEED`` does one of them until it hears a line, or for so long at most. It
says "ready" when it begins, and at its end what it did, as JSON.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from random import Random

from tests.fuzz.conversations import CANCEL, OPEN, SSL, conversation, large
from tests.fuzz.frames import framed, query, startup
from tests.fuzz.judged import problem_with

_PATIENCE = 30.0


@dataclass(slots=True)
class Done:
    """``answered`` are the bytes that came back."""

    messages: int = 0
    connections: int = 0
    refused: int = 0
    answered: int = 0
    problems: list[str] = field(default_factory=list)


class Flood:
    """One hostile client. ``until`` is when it stops."""

    def __init__(self, port: int, seconds: float, seed: int) -> None:
        self.port = port
        self.until = time.monotonic() + seconds
        self.random = Random(seed)
        self.done = Done()

    @property
    def goes_on(self) -> bool:
        heard, _, _ = select.select([sys.stdin], [], [], 0)
        return not heard and time.monotonic() < self.until

    def ready(self) -> None:
        print("ready", flush=True)

    def connect(self) -> socket.socket:
        found = socket.create_connection(("127.0.0.1", self.port), _PATIENCE)
        self.done.connections += 1
        return found

    def log_in(self) -> socket.socket:
        found = self.connect()
        found.sendall(startup(OPEN))
        said = bytearray()
        while not said.endswith(b"Z\0\0\0\5I"):
            block = found.recv(4096)
            if not block:
                raise ConnectionError(bytes(said))
            said += block
        return found

    def conversations(self) -> None:
        """Damaged messages of every kind; each connection is read to its end."""
        seed = self.random.randrange(1 << 30)
        self.ready()
        while self.goes_on:
            seed += 1
            held = conversation(Random(seed))
            try:
                said = self._told(b"".join(held.messages))
            except TimeoutError:
                self.done.problems.append(f"seed {seed}: no end after {_PATIENCE} s")
                continue
            self.done.messages += len(held.messages)
            self.done.answered += len(said)
            if (wrong := problem_with(said, whole=False)) is not None:
                self.done.problems.append(f"seed {seed}: {wrong}")

    def _told(self, data: bytes) -> bytes:
        said = bytearray()
        with self.connect() as line, suppress(ConnectionError):
            with suppress(OSError):
                line.sendall(data)
                line.shutdown(socket.SHUT_WR)
            while block := _received(line):
                said += block
        return bytes(said)

    def cancels(self) -> None:
        """Requests to end what others run, with keys that are guessed."""
        self.ready()
        while self.goes_on:
            body = struct.pack("!ii", CANCEL, self.random.randrange(1, 50)) + self.random.randbytes(4)
            said = self._told(struct.pack("!i", len(body) + 4) + body)
            self.done.messages += 1
            if said and b"53300" not in said:
                self.done.problems.append(f"a cancel request is answered: {said[:80]!r}")

    def half_open(self) -> None:
        """Connections that are dropped without a goodbye, before, within and after the login."""
        self.ready()
        while self.goes_on:
            with self.connect() as line, suppress(ConnectionError, BrokenPipeError):
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                whole = startup(OPEN) + query("SELECT name FROM region") * 3
                line.sendall(whole[: self.random.randrange(len(whole))])
                self.done.messages += 1

    def slow_senders(self) -> None:
        """Strangers who send a byte now and then, as many as there is room for, and analysts who do the same."""
        strangers: list[socket.socket] = []
        analysts = [self.log_in() for _ in range(50)]
        data = startup(OPEN)
        self.ready()
        while self.goes_on:
            while len(strangers) < 150:
                strangers.append(self.connect())
            for number, line in enumerate(strangers):
                try:
                    line.sendall(data[number % len(data) : number % len(data) + 1])
                    self.done.messages += 1
                except OSError:
                    line.close()
            strangers = [line for line in strangers if line.fileno() >= 0]
            for line in analysts:
                line.sendall(b"Q"[:1] if self.random.random() < 0.02 else b"\0")
                self.done.messages += 1
            analysts = [line for line in analysts if not _is_over(line)]
            time.sleep(0.25)
        for line in (*strangers, *analysts):
            line.close()

    def idle(self) -> None:
        """A thousand analysts who say nothing."""
        lines = []
        for _ in range(1_000):
            lines.append(self.log_in())
            time.sleep(0.002)
        self.done.messages = len(lines)
        self.ready()
        while self.goes_on:
            time.sleep(0.05)
        for line in lines:
            line.sendall(framed(b"X"))
            line.close()

    def deaf(self) -> None:
        """Analysts who ask and do not read."""
        lines = [self.log_in() for _ in range(30)]
        asked = query("SHOW all") * 40
        for line in lines:
            line.setblocking(False)
        self.ready()
        while self.goes_on:
            for line in lines:
                with suppress(BlockingIOError):
                    self.done.messages += line.send(asked) // len(query("SHOW all"))
            time.sleep(0.05)
        for line in lines:
            line.close()

    def large(self) -> None:
        """Messages as long as can be, before and after the login; and longer."""
        self.ready()
        while self.goes_on:
            with suppress(ConnectionError, BrokenPipeError):
                with self.connect() as line:
                    line.sendall(struct.pack("!i", self.random.choice((10_240, 10_241, 1 << 30))) + b"x" * 200_000)
                with self.log_in() as line:
                    line.sendall(large(b"", self.random) + framed(b"S"))
                    self.done.answered += len(line.recv(4096))
            self.done.messages += 2
            time.sleep(0.05)

    def requests(self) -> None:
        """Requests for encryption without end, on connections that never log in."""
        self.ready()
        while self.goes_on:
            with suppress(ConnectionError, BrokenPipeError, TimeoutError), self.connect() as line:
                line.settimeout(2)
                while self.goes_on:
                    line.sendall(struct.pack("!ii", 8, SSL) * 500)
                    self.done.messages += 500
                    if not line.recv(1 << 16):
                        break


def _received(line: socket.socket) -> bytes:
    """The next bytes; none where the connection was reset. Raises TimeoutError where nothing comes."""
    try:
        return line.recv(1 << 16)
    except ConnectionError:
        return b""


def _is_over(line: socket.socket) -> bool:
    """Whether the server ended it."""
    line.setblocking(False)
    try:
        return any(not line.recv(1 << 16) for _ in range(4))
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        line.setblocking(True)


FLOODS: Mapping[str, Callable[[Flood], None]] = {
    "conversations": Flood.conversations,
    "cancels": Flood.cancels,
    "half open": Flood.half_open,
    "slow senders": Flood.slow_senders,
    "idle": Flood.idle,
    "deaf": Flood.deaf,
    "large": Flood.large,
    "requests": Flood.requests,
}


def main(arguments: list[str]) -> int:
    name, port, seconds, seed = arguments
    with suppress(OSError):
        os.nice(10)
    flood = Flood(int(port), float(seconds), int(seed))
    try:
        FLOODS[name](flood)
    except Exception as raised:
        flood.done.problems.append(f"{name}: {type(raised).__name__}: {raised}")
    print(json.dumps(asdict(flood.done)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
