"""Superset's REST API with the standard library alone: log in, make things once, ask for data."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar
from typing import Any

Json = dict[str, Any]


class SupersetError(Exception):
    """What Superset answered instead of a result."""


@dataclass(frozen=True, slots=True)
class Superset:
    """A logged-in session. Every call returns Superset's JSON, or raises :class:`SupersetError`."""

    url: str
    opener: urllib.request.OpenerDirector
    headers: Mapping[str, str]

    @classmethod
    def log_in(cls, url: str, user: str, password: str) -> Superset:
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        plain = cls(url.rstrip("/"), opener, {"Referer": url})
        login = {"username": user, "password": password, "provider": "db", "refresh": True}
        token = plain.call("POST", "security/login", login)["access_token"]
        known = cls(plain.url, opener, {**plain.headers, "Authorization": f"Bearer {token}"})
        # A changing request needs this second token too, and the cookie that came with it.
        second = known.call("GET", "security/csrf_token/")["result"]
        return cls(plain.url, opener, {**known.headers, "X-CSRFToken": second})

    def call(self, method: str, path: str, body: Json | None = None) -> Json:
        data = None if body is None else json.dumps(body).encode()
        headers = dict(self.headers) if data is None else {**self.headers, "Content-Type": "application/json"}
        request = urllib.request.Request(  # noqa: S310  # the person who runs this names the URL
            f"{self.url}/api/v1/{path}", data=data, headers=headers, method=method
        )
        try:
            with self.opener.open(request, timeout=120) as response:
                return json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            raise SupersetError(f"{method} {path}: {error.code} {_message(said)}") from None
        except urllib.error.URLError as error:
            raise SupersetError(f"{self.url} cannot be reached: {error.reason}") from None

    def find(self, kind: str, **columns: object) -> int | None:
        """The id of the object of this kind with these values, or None."""
        filters = ",".join(
            f"(col:{name},opr:{'rel_o_m' if name == 'database' else 'eq'},value:{_rison(value)})"
            for name, value in columns.items()
        )
        query = urllib.parse.quote(f"(filters:!({filters}))", safe="():!,'")
        found = self.call("GET", f"{kind}/?q={query}")["result"]
        return int(found[0]["id"]) if found else None

    def make(self, kind: str, body: Json, **columns: object) -> int:
        """Make the object that has these values, or change it into ``body`` if it is there: returns its id."""
        known = self.find(kind, **columns)
        if known is None:
            return int(self.call("POST", f"{kind}/", body)["id"])
        self.call("PUT", f"{kind}/{known}", body)
        return known

    def run(self, database: int, sql: str, schema: str = "public") -> list[Json]:
        """The rows that SQL Lab shows for a statement."""
        body = {"database_id": database, "sql": sql, "schema": schema, "runAsync": False, "queryLimit": 1000}
        return list(self.call("POST", "sqllab/execute/", body)["data"])

    def rows(self, dataset: int, query: Json) -> list[Json]:
        """The rows of one chart query over a dataset, asked of the database and not of Superset's cache."""
        body = {"datasource": {"id": dataset, "type": "table"}, "queries": [query], "force": True}
        return _rows(self.call("POST", "chart/data", {**body, "result_format": "json", "result_type": "full"}))

    def drawn(self, chart: int) -> list[Json]:
        """The rows that a saved chart is drawn from."""
        return _rows(self.call("GET", f"chart/{chart}/data/?force=true"))


def _rows(answer: Json) -> list[Json]:
    (result,) = answer["result"]
    if result.get("error"):
        raise SupersetError(result["error"])
    return list(result["data"])


def _rison(value: object) -> str:
    """A value in Superset's query notation.

    >>> _rison("Ana's"), _rison(7)
    ("'Ana!'s'", '7')
    """
    if isinstance(value, int):
        return str(value)
    return "'" + str(value).replace("!", "!!").replace("'", "!'") + "'"


def _message(text: str) -> str:
    try:
        said = json.loads(text)
    except ValueError:
        return text[:500]
    errors = said.get("errors") or [said]
    return "; ".join(str(error.get("message", error)) for error in errors)
