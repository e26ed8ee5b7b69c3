"""Off loopback: TLS and passwords, or an explicit word of the owner's."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dpsql.errors import Error, OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.policy.policy import Policy
from dpsql.server.certificate import Certificate
from dpsql.server.session.login import Gate, Peer
from dpsql.server.start import Serving, check_exposure
from dpsql.server.wire.scram import make_verifier
from tests.attacks.library import POLICY, duckdb_library
from tests.operations.operated import operated

TLS = Certificate(Path("cert.pem"), Path("key.pem"))
ANA = f"analysts: {{ana: {{password: '{make_verifier('sesame', iterations=4096)}'}}}}"
HEAD = "database: duckdb:x.duckdb\nledger: sqlite:x.ledger\n"


def policy(analysts: str) -> Policy:
    return Policy.parse(HEAD + POLICY.replace("analysts: {ana: {}, bob: {}}", analysts))


OPEN, CLOSED, HALF = policy(""), policy(ANA), policy(ANA.replace("}}", "}, bob: {}}"))
ELSEWHERE = ("0.0.0.0", "::", "192.0.2.7", "")  # noqa: S104


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    return Certificate(folder / "cert.pem", folder / "key.pem")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "localhost"])
@pytest.mark.parametrize("found", [OPEN, HALF, CLOSED])
def test_on_this_machine_nothing_is_asked_for(host: str, found: Policy) -> None:
    check_exposure(Serving(Path("p"), host), found)


@pytest.mark.parametrize("host", ELSEWHERE)
@pytest.mark.parametrize(
    ("found", "given", "refused"),
    [
        (CLOSED, {}, "in clear"),
        (CLOSED, {"without_passwords": True}, "in clear"),
        (CLOSED, {"without_tls": True}, ""),
        (CLOSED, {"certificate": TLS}, ""),
        (HALF, {"certificate": TLS}, "analysts without a password: bob"),
        (HALF, {"without_tls": True}, "analysts without a password: bob"),
        (HALF, {"certificate": TLS, "without_passwords": True}, ""),
        (OPEN, {"certificate": TLS}, "no analysts with passwords"),
        (OPEN, {"certificate": TLS, "without_passwords": True}, ""),
    ],
)
def test_elsewhere_both_are(host: str, found: Policy, given: dict[str, Any], refused: str) -> None:
    serving = replace(Serving(Path("p"), host), **given)
    if not refused:
        check_exposure(serving, found)
        return
    with pytest.raises(OperationalError, match=refused) as caught:
        check_exposure(serving, found)
    assert "--" in caught.value.hint


def test_the_command_does_not_start(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    library = duckdb_library(tmp_path / "library", with_person=False)
    assert main(["serve", str(library.policy), "--host", "0.0.0.0", "--port", "0"]) == 1  # noqa: S104
    said = capfd.readouterr().err
    assert "in clear" in said
    assert "--tls-certificate" in said


@pytest.mark.parametrize(
    ("peer", "user", "sqlstate"),
    [
        (Peer(loopback=False), "ana", "28000"),
        (Peer(loopback=False), "nobody", "28000"),
        (Peer(loopback=False, certificate=b"x"), "ana", ""),
        (Peer(loopback=False, certificate=b"x"), "bob", "28000"),
        (Peer(loopback=True), "ana", ""),
        (Peer(loopback=True), "bob", ""),
    ],
)
def test_who_is_let_in(peer: Peer, user: str, sqlstate: str) -> None:
    gate = Gate(HALF, encrypted=True)
    if not sqlstate:
        assert gate.admit(user, peer).asked is (user == "ana")
        return
    with pytest.raises(Error) as caught:
        gate.admit(user, peer)
    assert caught.value.sqlstate == sqlstate


def own_address() -> str:
    """An address of this machine that others could use, or one of loopback where there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # No packet is sent: this asks which address of ours would be used.
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


@pytest.mark.skipif(own_address().startswith("127."), reason="this machine has no other address")
def test_another_machine_has_to_encrypt(
    tmp_path: Path, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By this machine's own other address, which the server takes for another machine's."""
    monkeypatch.setenv("DPSQL_METRICS_PASSWORD", "of the metrics")
    library = duckdb_library(
        tmp_path / "library", with_person=False, policy=POLICY.replace("analysts: {ana: {}, bob: {}}", ANA)
    )
    with operated(library.policy, host="0.0.0.0", certificate=certificate) as server:  # noqa: S104
        dsn = server.dsn.replace("127.0.0.1", own_address()).replace(" sslmode=disable", " password=sesame")
        for mode, fine in (("disable", False), ("require", True)):
            try:
                with psycopg.connect(f"{dsn} sslmode={mode}") as connection:
                    found = connection.execute("SELECT COUNT(*) FROM branch").fetchone() == (3,)
            except psycopg.OperationalError as refused:
                assert "have to be encrypted" in str(refused)
                found = False
            assert found is fine, mode
        logins = [line for line in server.audited() if line["event"] == "login"]
        assert [(line["encrypted"], line["address"]) for line in logins] == [(True, own_address())]


def test_a_key_with_a_passphrase_asks_nobody(tmp_path: Path, certificate: Certificate) -> None:
    shutil.copy(certificate.certificate, tmp_path / "cert.pem")
    subprocess.run(
        ["openssl", "rsa", "-aes256", "-passout", "pass:secret", "-in", certificate.key, "-out", tmp_path / "key.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    program = (
        "from pathlib import Path; from dpsql.server.certificate import Certificate; "
        "Certificate(Path('cert.pem'), Path('key.pem')).context()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert "without a passphrase" in done.stderr
