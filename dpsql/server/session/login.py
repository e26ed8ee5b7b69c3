"""Who may connect: analysts of the policy, with SCRAM where they have a password, from loopback alone where not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpsql.errors import Error, error
from dpsql.policy import Policy
from dpsql.server.wire import ITERATIONS, Verifier, make_verifier


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end. ``certificate`` is the server's own, DER, where the connection is encrypted."""

    loopback: bool
    certificate: bytes | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """``analyst`` is the policy's name. ``verifier`` is what a password is checked against, None where none fits."""

    analyst: str | None
    verifier: Verifier | None = None
    asked: bool = False
    """Whether a password is asked."""
    known: bool = True


class Gate:
    """Guarantee: an unknown name and a wrong password are refused alike, after the same exchange."""

    def __init__(self, policy: Policy, *, encrypted: bool = False) -> None:
        """``encrypted`` asks everybody who is not on this machine for TLS."""
        self._encrypted = encrypted
        self._open = policy.analysts is None
        self._verifiers: Mapping[str, Verifier | None] = {
            name: None if analyst.password is None else _verifier(analyst.password)
            for name, analyst in (policy.analysts or {}).items()
        }
        counts = [verifier.iterations for verifier in self._verifiers.values() if verifier is not None]
        # What an unknown name is told is what a known one is told.
        self.iterations = counts[0] if counts else ITERATIONS

    def knows(self, user: str) -> bool:
        """Whether the policy names a user."""
        return user in self._verifiers

    def admit(self, user: str, peer: Peer) -> Admission:
        """How a user may come in. Raises :class:`dpsql.errors.Error` where there is no way."""
        if self._encrypted and not peer.loopback and peer.certificate is None:
            raise error(
                "connections from elsewhere have to be encrypted", sqlstate="28000", hint="connect with sslmode=require"
            )
        if self._open:
            if not peer.loopback:
                raise _elsewhere()
            return Admission(None)
        if user not in self._verifiers:
            if not any(self._verifiers.values()):
                raise error(
                    f'role "{user[:63]}" does not exist', sqlstate="28000", hint="the policy names the analysts"
                )
            return Admission(None, asked=True, known=False)
        verifier = self._verifiers[user]
        if verifier is None and not peer.loopback:
            raise _elsewhere()
        return Admission(user, verifier, asked=verifier is not None)


def _verifier(password: str) -> Verifier:
    """Raises :class:`dpsql.errors.Error`, for the owner, where a verifier is broken."""
    try:
        return Verifier.read(password if password.startswith("SCRAM-SHA-256$") else make_verifier(password))
    except ValueError:
        hint = "make one with dpsql passwd NAME"
        raise error("a password of the policy is a broken verifier", sqlstate="F0000", hint=hint) from None


def _elsewhere() -> Error:
    return error(
        "an analyst without a password may connect from this machine only",
        sqlstate="28000",
        hint="give the analyst a password: dpsql passwd NAME",
    )
