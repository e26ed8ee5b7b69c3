"""Conversations with :mod:`dpsql.server.session.protocol` itself, without sockets: most of a campaign's messages, quickly.

Guarantee that is tested: any bytes lead to answers, errors, or the end of that connection; never to an exception, and
never to "internal error", which says that an exception was caught. In which pieces bytes come makes no difference.
"""

from __future__ import annotations

import struct
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from dpsql.proxy import Proxy
from dpsql.server.session.backend import Backend
from dpsql.server.session.login import Gate, Peer
from dpsql.server.session.protocol import Protocol
from dpsql.server.shadow.shadow import Shadow
from dpsql.server.start import analysts
from tests.fuzz.conversations import LOCKED, PASSWORD, Conversation, conversation, proof, sasl_first
from tests.fuzz.frames import startup
from tests.fuzz.judged import is_fatal, problem_with


@dataclass(slots=True)
class Spoken:
    """What came of all conversations."""

    messages: int = 0
    conversations: int = 0
    ended: int = 0
    seconds: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Direct:
    """A backend, and protocols over it that nobody reads from but us."""

    def __init__(self, policy: Path) -> None:
        self.proxy = Proxy.open(policy)
        self.shadow = Shadow.start(self.proxy.catalog, analysts(self.proxy.policy), "clinic")
        self.backend = Backend(self.proxy, self.shadow)
        self.gate = Gate(self.proxy.policy)

    def close(self) -> None:
        self.shadow.close()
        self.proxy.close()

    def protocol(self) -> Protocol:
        return Protocol(self.backend, self.gate, Peer(True), tls=False)

    def hold(self, seed: int, found: Spoken) -> None:
        """One conversation, judged."""
        random = Random(seed)
        held = conversation(random, large_ones=random.random() < 0.02)
        if random.random() < 0.1:
            held = self._logged_in(random, held)
        protocol = self.protocol()
        said = bytearray()
        for message in held.messages:
            protocol.feed(message)
            try:
                for chunk in protocol.respond():
                    said += chunk
            except Exception as raised:
                found.problems.append(f"seed {seed}: {type(raised).__name__}: {raised}")
                return
            found.messages += 1
            if protocol.closed:
                found.ended += 1
                break
        protocol.abandon()
        found.conversations += 1
        found.kinds.update(held.names)
        if (wrong := problem_with(bytes(said))) is not None:
            found.problems.append(f"seed {seed}: {wrong}")
        elif is_fatal(bytes(said)) and not protocol.closed:
            found.problems.append(f"seed {seed}: a fatal error does not end the connection")

    def _logged_in(self, random: Random, held: Conversation) -> Conversation:
        """The messages after a login with a password, or with the wrong one."""
        nonce = "abc" * random.choice((1, 7))
        probe = self.protocol()
        probe.feed(startup(LOCKED))
        b"".join(probe.respond())
        probe.feed(sasl_first(random, nonce))
        reply = b"".join(probe.respond())
        fresh = Conversation()
        fresh.say("locked", startup(LOCKED))
        fresh.say("sasl", sasl_first(random, nonce))
        if reply[:1] == b"R" and struct.unpack_from("!i", reply, 5) == (11,):
            # The nonce is another one in the real exchange: this proof is well formed, and wrong.
            fresh.say("proof", proof(reply[9:], nonce, random.choice((PASSWORD, "wrong"))))
        fresh.messages += held.messages[1:]
        fresh.names += held.names[1:]
        return fresh

    def same_in_pieces(self, seed: int) -> str | None:
        """What a conversation says byte by byte, where it is not what it says in one piece."""
        random = Random(seed)
        data = b"".join(conversation(random, longest=12, large_ones=False).messages)[:20_000]
        whole, pieces = (self._said(data, step) for step in (len(data) or 1, 1))
        return None if whole == pieces else f"seed {seed}: {whole[:200]!r} is not {pieces[:200]!r}"

    def _said(self, data: bytes, step: int) -> list[tuple[int, int]]:
        """Kind and length of each message, but for keys that are drawn."""
        protocol = self.protocol()
        said = bytearray()
        for place in range(0, len(data), step):
            protocol.feed(data[place : place + step])
            said += b"".join(protocol.respond())
            if protocol.closed:
                break
        protocol.abandon()
        return [(said[place], length) for place, length in _places(bytes(said))]


def _places(said: bytes) -> list[tuple[int, int]]:
    found, place = [], 0
    while place < len(said) and said[place : place + 1] == b"N" and said[place + 1 : place + 2] != b"\0":
        found.append((place, 0))
        place += 1
    while place + 5 <= len(said):
        length = struct.unpack_from("!i", said, place + 1)[0]
        found.append((place, length))
        place += 1 + max(length, 4)
    return found


def speak(direct: Direct, messages: int, seed: int = 0, seconds: float = 1e9) -> Spoken:
    """Conversations until that many messages were answered, or the time is over."""
    found = Spoken()
    started = time.monotonic()
    while found.messages < messages and time.monotonic() - started < seconds:
        direct.hold(seed, found)
        seed += 1
    found.seconds = time.monotonic() - started
    return found
