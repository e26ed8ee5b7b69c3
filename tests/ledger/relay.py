"""A wire between a ledger and its server that can be cut at the worst moment."""

from __future__ import annotations

import contextlib
import socket
import threading

ADDING = b"FOR NO KEY UPDATE"
"""In the message that charges, and in no other."""


class Relay:
    """Listens on a free port of this machine and passes on what comes. ``refuse`` takes no new connections."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.refuse = False
        self.done = False
        self._how = ""
        self._muted: socket.socket | None = None
        self._answered = threading.Event()
        self._late: tuple[socket.socket, bytes] | None = None
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def next_message(self, how: str) -> None:
        """What happens to the next message that charges: its answer is lost, it is lost itself, or it comes late."""
        self._how, self.done = how, False
        self._answered.clear()

    def deliver(self) -> None:
        """Bring the late message, and wait until the server has done what it says."""
        assert self._late is not None
        server, message = self._late
        self._answered.clear()
        server.sendall(message)
        assert self._answered.wait(60), "the server did not answer"
        server.close()

    def cut(self) -> bool:
        """End every connection."""
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        return True

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refuse:
                client.close()
                continue
            try:
                server = socket.create_connection(self.target)
            except OSError:
                client.close()
                continue
            self._open += [client, server]
            threading.Thread(target=self._to_server, args=(client, server), daemon=True).start()
            threading.Thread(target=self._to_client, args=(server, client), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while block := client.recv(1 << 20):
                if self._how and ADDING in block:
                    self._interfere(client, server, block)
                    return
                server.sendall(block)
            server.shutdown(socket.SHUT_WR)

    def _interfere(self, client: socket.socket, server: socket.socket, block: bytes) -> None:
        how, self._how = self._how, ""
        self._muted = server
        if how == "answer lost":
            server.sendall(block)
            self._answered.wait(60)  # the server has committed before the client knows that it is cut off
        elif how == "message late":
            self._open.remove(server)
            self._late = server, block
        else:
            server.shutdown(socket.SHUT_RDWR)
        self.done = True
        client.shutdown(socket.SHUT_RDWR)

    def _to_client(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while block := server.recv(1 << 20):
                if server is self._muted:
                    self._answered.set()
                else:
                    client.sendall(block)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
