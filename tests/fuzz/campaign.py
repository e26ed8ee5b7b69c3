"""The whole programme: conversations without sockets, then every flood against a server, beside a client who measures.

A flood passes when the server lives and says nothing of its inside, its memory returns, the ledger is what it was, and
the other client's slowest hundredth took less than twice what it took while the flood was held. Why held: a computer
that does other things too is slow now and fast then, so that flood and quiet take turns of a second.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.floods import FLOODS, Done
from tests.fuzz.in_process import Direct, Spoken, speak
from tests.fuzz.judged import INSIDE
from tests.fuzz.place import built, copied
from tests.fuzz.server import Server, serving
from tests.fuzz.witness import Seen, Watch, watching

MOST_SLOWER = 2.0
STAYS = frozenset({"idle", "slow senders"})
"""Floods that are there although they are held: quiet is before and after them."""
MOST_MEMORY = 64 << 20
"""Bytes that may remain in memory after all: caches of texts, and what an allocator keeps."""
TURN = 1.0
"""Seconds of flood, and of quiet."""
SETTLING = 0.25
"""Seconds between them that are not measured: what has arrived is still being answered."""


@dataclass(slots=True)
class Measured:
    """One flood. ``memory`` is what is left of it when it is over, ``most`` the most that there was."""

    name: str
    done: Done
    seen: Seen
    quiet: Seen
    memory: int
    most: int
    problems: list[str]

    @property
    def slower(self) -> float:
        """How many times as slow as in quiet the other client's slowest hundredth was."""
        return self.seen.p99 / self.quiet.p99 if self.quiet.p99 else 0.0


@dataclass(slots=True)
class Results:
    """What :func:`run` found; ``problems`` is empty where every promise is kept."""

    spoken: Spoken
    floods: list[Measured] = field(default_factory=list)
    memory: tuple[int, int] = (0, 0)
    problems: list[str] = field(default_factory=list)

    @property
    def messages(self) -> int:
        return self.spoken.messages + sum(flood.done.messages for flood in self.floods)


def run(
    messages: int = 200_000,
    *,
    seconds: float = 10.0,
    seed: int = 0,
    floods: Sequence[str] = tuple(FLOODS),
    slower: float = MOST_SLOWER,
    turn: float = TURN,
) -> Results:
    """``messages`` are those without sockets, which may be none; each flood takes ``seconds``. Memory is judged over all floods."""
    with tempfile.TemporaryDirectory() as folder:
        policy = built(Path(folder) / "first")
        results = Results(_without_sockets(policy, messages, seed) if messages else Spoken())
        results.problems += results.spoken.problems
        with serving(copied(policy, Path(folder) / "second")) as server:
            _flooded(server, results, floods, seconds, seed, turn)
            _judge(server, results, slower)
    return results


def _without_sockets(policy: Path, messages: int, seed: int) -> Spoken:
    direct = Direct(policy)
    try:
        return speak(direct, messages, seed)
    finally:
        direct.close()


def _flooded(server: Server, results: Results, floods: Sequence[str], seconds: float, seed: int, turn: float) -> None:
    with watching(server.port) as watch:
        # What is asked is paid for by now, and all that is made once is made.
        time.sleep(turn)
        before, ledger = server.memory(), server.ledger()
        for number, name in enumerate(floods):
            results.floods.append(_flood(server, watch, name, seconds, seed + number, turn))
            if server.ledger() != ledger:
                results.problems.append(f"{name} changed the ledger")
            if not server.lives or watch.problems:
                break
        results.problems += watch.problems
    results.memory = before, server.memory()


def _flood(server: Server, watch: Watch, name: str, seconds: float, seed: int, turn: float) -> Measured:
    memory, connections = server.memory(), server.connections()
    most, seen, quiet = memory, Seen(), Seen()
    _measure(watch, quiet, 2 * turn)
    command = [sys.executable, "-m", "tests.fuzz.floods", name, str(server.port), str(3 * seconds), str(seed)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if process.stdout is None:
        raise AssertionError("its words are read")
    process.stdout.readline()
    flooded = 0.0
    while flooded < seconds and process.poll() is None and server.lives:
        _measure(watch, seen, turn)
        flooded += turn
        most = max(most, server.memory())
        if name not in STAYS:
            process.send_signal(signal.SIGSTOP)
            _measure(watch, quiet, turn)
            process.send_signal(signal.SIGCONT)
    said = process.communicate("over\n", timeout=120)[0].strip().splitlines()
    done = Done(**json.loads(said[-1])) if said else Done(problems=[f"{name} said nothing"])
    deadline = time.monotonic() + 60
    while server.connections() > connections and time.monotonic() < deadline:
        time.sleep(0.1)
    _measure(watch, quiet, 2 * turn)
    problems = list(done.problems)
    if (left := server.connections() - connections) > 0:
        problems.append(f"{name}: {left} connections are left")
    return Measured(name, done, seen, quiet, server.memory() - memory, most, problems)


def _measure(watch: Watch, into: Seen, seconds: float) -> None:
    time.sleep(SETTLING)
    watch.into = into
    time.sleep(seconds)
    watch.into = None


def _judge(server: Server, results: Results, slower: float) -> None:
    problems = results.problems
    for flood in results.floods:
        problems += flood.problems
        if flood.slower > slower:
            problems.append(f"{flood.name}: the other client's p99 is {flood.slower:.1f} times as slow")
    if not server.lives:
        problems.append("the server ended")
    said = server.stderr.read_bytes()
    if (found := INSIDE.search(said)) is not None:
        problems.append(f"the server's own words: {said[max(found.start() - 200, 0) : found.end() + 200]!r}")
    before, after = results.memory
    if after - before > MOST_MEMORY:
        problems.append(f"memory grew from {before >> 20} to {after >> 20} MiB")


def shown(results: Results) -> str:
    """The table, for people."""
    spoken = results.spoken
    rate = spoken.messages / spoken.seconds if spoken.seconds else 0
    lines = [
        f"without sockets: {spoken.messages:,} messages in {spoken.conversations:,} conversations, {rate:,.0f} a second,"
        f" {len(spoken.problems)} problems",
        "",
        f"{'flood':15}{'messages':>10}{'connections':>13}{'quiet p99':>11}{'p99 ms':>9}{'times':>7}{'median ms':>11}"
        f"{'peak MiB':>10}{'left MiB':>10}",
    ]
    for flood in results.floods:
        lines.append(
            f"{flood.name:15}{flood.done.messages:>10,}{flood.done.connections:>13,}{flood.quiet.p99 * 1000:>11.1f}"
            f"{flood.seen.p99 * 1000:>9.1f}{flood.slower:>7.2f}{flood.seen.median * 1000:>11.1f}{flood.most >> 20:>10}{flood.memory / (1 << 20):>10.1f}"
        )
    before, after = results.memory
    lines += ["", f"memory {before >> 20} MiB before, {after >> 20} MiB after; {len(results.problems)} problems"]
    return "\n".join([*lines, *(f"  {problem[:300]}" for problem in results.problems[:20])])
