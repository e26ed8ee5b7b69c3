"""The console over TLS, beside several workers: who is asked for, what is encrypted, and that nobody reads along in clear."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.server.wire import make_verifier
from tests.console.conftest import ANALYST, Watched

pytestmark = pytest.mark.clients
QUESTION = "SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex"


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Watched, ssl.SSLContext]]:
    folder = tmp_path_factory.mktemp("encrypted")
    clinic.build(folder)
    path = folder / clinic.POLICY
    path.write_text(path.read_text().replace("  ana: {}", f"  ana: {{password: '{make_verifier(ANALYST[1])}'}}"))
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    command = [
        *(sys.executable, "-m", "dpsql", "serve", str(path), "--port", "0", "--console-port", "0"),
        *("--workers", "2", "--tls-certificate", str(certificate), "--tls-key", str(key)),
    ]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        told = ""
        while "is the console" not in told:
            line = server.stderr.readline()
            assert line, told
            told += line
        found = re.search(r"(https://\S+)", told)
        assert found is not None, told
        yield Watched(found[1], path), ssl.create_default_context(cafile=str(certificate))
    finally:
        server.terminate()
        server.wait(30)


def test_an_analyst_buys_over_tls_while_two_workers_answer(encrypted: tuple[Watched, ssl.SSLContext]) -> None:
    console, trusted = encrypted
    headers = {"Origin": console.url.rstrip("/")}
    with httpx.Client(base_url=console.url, headers=headers, timeout=60, verify=trusted) as browser:
        assert browser.post("/sign-in", data={"name": ANALYST[0], "password": "wrong"}).status_code == 403
        Watched._sign_in(browser, ANALYST)
        (cookie,) = browser.cookies.jar
        assert cookie.secure
        assert "max-age" in browser.get("/").headers["strict-transport-security"]
        answers = [browser.post("/answer", data={"sql": QUESTION, "epsilon": "0.25"}).text for _ in range(4)]
        assert "Paid" in answers[0]
        assert all("Free" in one for one in answers[1:]), "what one worker released is free at the others"
        assert "free" in browser.get("/history").text


def test_nothing_is_told_in_clear(encrypted: tuple[Watched, ssl.SSLContext]) -> None:
    console, _ = encrypted
    with pytest.raises(httpx.HTTPError):
        httpx.get(console.url.replace("https", "http"), timeout=20)
    with pytest.raises(httpx.ConnectError, match=r"(?i)certificate"):
        httpx.get(console.url, timeout=20)
