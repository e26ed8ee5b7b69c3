"""Requests that no browser sends: each is answered, and none is our own error."""

from __future__ import annotations

import http.client
from itertools import product
from random import Random
from urllib.parse import quote, urlsplit

import pytest

from tests.console.conftest import ANALYST, Watched

ODD = ("[", "]", "[::1", "[x]", "http://[", "//[", "http://[::1", "http://[v1.x]", "a:b:c", "127.0.0.1:x", "127.0.0.1:99999999",
       "", " ", "%00", "\x7f", "\xe9", "@", "http://a@[", "#", "?", "\\", "http://\u2100".encode().decode("latin-1"), "x" * 9000)  # fmt: skip
HEADERS = ("Host", "Origin", "Sec-Fetch-Site", "Cookie", "X-CSRF-Token", "Content-Type", "Accept", "Range",
           "If-Modified-Since", "If-None-Match", "Content-Length")  # fmt: skip
PATHS = ("/", "/sign-in", "/guide", "/guide/%00", "/guide/%ff", "/guide/..", "/guide/" + "x" * 5000, "/static/%00",
         "/static/console.js", "/static/%ff", "/static/" + "x" * 5000, "/guide/pictures/%00", "/guide/pictures/..",
         "/?sql=%00", "/?" + "&".join(["a=b"] * 3000), "/words", "/history", "/owner", "//[", "/%5B")  # fmt: skip
FORMS = (
    "&".join(f"a{at}=b" for at in range(11)),
    "&".join(f"a{at}=b" for at in range(5000)),
    "sql=%00&epsilon=%00&name=%00&password=%00",
    "sql=%ff&epsilon=%ff&name=%ff&password=%ff",
    "sql=%ed%a0%80&epsilon=nan&name=%ed%a0%80&password=a%00b",
    "sql=SELECT+1&epsilon=1e999999999&name=a%0ab&password=%",
    "&&&===;;;%%%",
    "sql&epsilon&name&password&csrf",
    f"name={quote(chr(39) + ' host=/etc')}&password={quote(chr(92) * 9)}",
    "sql=" + "(" * 4000,
    "\xff\xfe".encode("latin-1").decode("latin-1"),
)


def status(console: Watched, method: str, path: str, headers: dict[str, str], body: str = "") -> int:
    """Of one request, as it stands: http.client sends what a careful client would refuse to send."""
    address = urlsplit(console.url)
    own = {"Host": address.netloc, "Origin": console.url.rstrip("/"), "Content-Length": str(len(body))} | headers
    connection = http.client.HTTPConnection(address.netloc, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in own.items():
            connection.putheader(name, value.encode("latin-1"))
        connection.endheaders(body.encode("latin-1"))
        return connection.getresponse().status
    finally:
        connection.close()


def signed_in(console: Watched) -> dict[str, str]:
    """What a browser of an analyst sends, but for the token."""
    with console.signed_in(ANALYST) as browser:
        # The session outlives this browser.
        return {
            "Cookie": f"dpsql-console={browser.cookies['dpsql-console']}",
            "token": browser.headers["X-CSRF-Token"],
        }


def test_no_header_is_our_error(console: Watched) -> None:
    session = signed_in(console)
    del session["token"]
    bad = []
    for name, value, method in product(HEADERS, ODD, ("GET", "POST")):
        if name == "Content-Length":
            continue
        try:
            found = status(console, method, "/", {**session, name: value})
        except (ValueError, http.client.HTTPException, OSError):
            continue  # not sent, or the connection ended
        bad += [(name, value[:40], method, found)] if found >= 500 else []
    assert bad == []
    assert status(console, "GET", "/", {**session, "Host": "["}) == 403
    assert status(console, "POST", "/explain", {**session, "Origin": "http://["}) == 403


def test_no_path_is_our_error(console: Watched) -> None:
    session = signed_in(console)
    del session["token"]
    found = {path[:60]: status(console, "GET", path, session) for path in PATHS}
    assert {path: code for path, code in found.items() if code >= 500} == {}


@pytest.mark.parametrize("path", ["/explain", "/answer", "/sign-in"])
def test_no_form_is_our_error(console: Watched, path: str) -> None:
    session = signed_in(console)
    token = session.pop("token")
    random, kind = Random(7), {"Content-Type": "application/x-www-form-urlencoded"}
    drawn = ["".join(random.choice("ab=&%0f;+\xff[") for _ in range(random.choice((3, 30)))) for _ in range(40)]
    bad = []
    for form in (*FORMS, *drawn):
        found = [
            status(console, "POST", path, {**session, **kind, "X-CSRF-Token": token}, form),
            status(console, "POST", path, {**session, **kind}, f"{form}&csrf={token}"),
            status(console, "POST", path, {**session, **kind}, f"csrf={token}&{form}"),
        ]
        bad += [(form[:60], found)] if max(found) >= 500 else []
    assert bad == []


@pytest.mark.parametrize("path", ["/explain", "/answer"])
def test_the_token_may_be_a_field_of_the_form(console: Watched, path: str) -> None:
    with console.signed_in(ANALYST) as browser:
        token = browser.headers.pop("X-CSRF-Token")
        reply = browser.post(path, data={"sql": "SELECT 17 AS seventeen", "epsilon": "0.25", "csrf": token})
    assert reply.status_code == 200
    assert "seventeen" in reply.text
