"""The pages of the console, and what may be asked of them.

Guarantee: whatever is asked, the browser was named ours (``Host``); what changes anything comes from a page of ours
(``Origin``, and a token that only its pages have); no page runs a script but the one file of the package, and every
text is escaped. An owner asks nothing, and an analyst sees nothing of others.
"""

from __future__ import annotations

import ipaddress
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpsql.console.charts import charts
from dpsql.console.owner_figures import owner_figures
from dpsql.console.owner_orders import ordered
from dpsql.console.questions import AskingAnalyst, ServerAddress
from dpsql.console.sign_in import SignedIn, SignedInSessions
from dpsql.console.trials import ShownTrial, is_on_this_machine, tried_by_owner
from dpsql.display import FUNCTIONS, KEYWORDS
from dpsql.error_border import raised_at
from dpsql.errors import Error, error
from dpsql.guide import CONTENTS, names, page
from dpsql.ledger import Ledger
from dpsql.policy import Policy
from dpsql.price_text import part_left, percent
from dpsql.releases import bar
from dpsql.reply import STALE
from dpsql.server.wire import Verifier
from rewriter.front_door import MADE_UP

_LOG = logging.getLogger("dpsql.server")

COOKIE = "dpsql-console"
MOST_BYTES = 128 * 1024
MOST_FIELDS = 200
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class ConsoleFacts:
    """What the console is about: a policy that is served, its ledger, and the server's address.

    ``loopback``: nobody but this machine reaches the console, so that analysts without a password may sign in.
    ``problems`` are why no analyst is answered now, ``warnings`` what the owner should see to.
    """

    policy: Policy
    ledger: Ledger
    address: ServerAddress
    loopback: bool
    encrypted: bool
    problems: Callable[[], tuple[str, ...]]
    warnings: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()
    what_if: bool = False
    """Whether owners on this machine may try bounds, which shows them true numbers."""


Page = Callable[[Request, SignedIn], Awaitable[Response]]


class Pages:
    """The application. ``sessions`` are those who are signed in."""

    def __init__(self, facts: ConsoleFacts) -> None:
        self._facts = facts
        self.sessions = SignedInSessions()
        self._templates = Environment(
            loader=PackageLoader("dpsql.console"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self._templates.globals |= {"bar": bar, "percent": percent, "part_left": part_left, "tries": facts.what_if}
        analyst, owner, either = (partial(self._for, owner=who) for who in (False, True, None))
        self.app = Starlette(
            routes=[
                Route("/sign-in", self._sign_in_page),
                Route("/sign-in", self._sign_in, methods=["POST"]),
                Route("/sign-out", either(self._sign_out), methods=["POST"]),
                Route("/", either(self._home)),
                Route("/words", analyst(self._words)),
                Route("/explain", analyst(self._explain), methods=["POST"]),
                Route("/answer", analyst(self._answer), methods=["POST"]),
                Route("/history", analyst(self._history)),
                Route("/owner", owner(self._owner)),
                Route("/owner/analyst", owner(self._order), methods=["POST"]),
                Route("/what-if", owner(self._what_if)),
                Route("/what-if", owner(self._what_if), methods=["POST"]),
                Route("/guide", either(self._guide)),
                Mount("/guide/pictures", StaticFiles(packages=[("dpsql.guide", "pictures")])),
                Route("/guide/{name}", either(self._guide)),
                Mount("/static", StaticFiles(packages=[("dpsql.console", "static")])),
            ],
            middleware=[Middleware(_Guarded, hosts=facts.hosts, loopback=facts.loopback, encrypted=facts.encrypted)],
        )

    # Who asks

    def _for(self, ask: Page, *, owner: bool | None) -> Callable[[Request], Awaitable[Response]]:
        """A page for those who are signed in: for owners, for analysts, or for both."""

        @wraps(ask)
        async def asked(request: Request) -> Response:
            session = self.sessions.get(request.cookies.get(COOKIE, ""))
            if session is None:
                return RedirectResponse("/sign-in", 303) if request.method == "GET" else _refused("sign in again", 401)
            if owner is not None and session.is_owner != owner:
                return RedirectResponse("/", 303) if request.method == "GET" else _refused("not for you", 403)
            if request.method != "GET":
                given = request.headers.get("x-csrf-token") or (await _form(request)).get("csrf", "")
                if not _same(given, session.csrf):
                    return _refused("this page is out of date: load it again", 403)
            return await ask(request, session)

        return asked

    async def _sign_in_page(self, request: Request) -> Response:
        return self._page("sign_in.html", None, problem="", name="")

    async def _sign_in(self, request: Request) -> Response:
        form = await _form(request)
        name, password = form.get("name", "")[:64].strip(), form.get("password", "")[:1024]
        try:
            session = await run_in_threadpool(self._signed_in, name, password)
        except Error as problem:
            return self._page("sign_in.html", None, status=403, problem=problem.message, name=name)
        self.sessions.add(session)
        response = RedirectResponse("/", 303)
        response.set_cookie(
            COOKIE, session.token, httponly=True, samesite="strict", secure=self._facts.encrypted, path="/"
        )
        return response

    def _signed_in(self, name: str, password: str) -> SignedIn:
        facts = self._facts
        wrong = error("the name or the password is not right", sqlstate="28P01")
        if not self.sessions.may_try(name):
            raise error("too many wrong passwords: wait a minute", sqlstate="28000")
        owners = facts.policy.owners or {}
        if name in owners:
            if Verifier.read(owners[name].password).fits(password):
                return SignedIn(name, True, close=lambda: None)
            self.sessions.failed(name)
            raise wrong
        declared = facts.policy.analysts or {}
        known = declared.get(name)
        if not name:
            raise wrong
        try:
            if not facts.loopback and (known is None or known.password is None):
                # Who needs no password may come from the server's own machine alone, and a browser may be elsewhere.
                Verifier.mock(name).fits(password)
                raise wrong
            analyst = AskingAnalyst(facts.address, name, password)
        except Error as problem:
            if problem.sqlstate.startswith("28"):
                self.sessions.failed(name)
                raise wrong from None
            raise
        return SignedIn(name, False, analyst.close, analyst)

    async def _sign_out(self, request: Request, session: SignedIn) -> Response:
        await run_in_threadpool(self.sessions.remove, session)
        response = RedirectResponse("/sign-in", 303)
        response.delete_cookie(COOKIE, path="/")
        return response

    # Analysts

    async def _home(self, request: Request, session: SignedIn) -> Response:
        if session.is_owner:
            return RedirectResponse("/owner", 303)
        tables, budget = await run_in_threadpool(_overview, _analyst(session))
        statement = self._facts.policy.statement
        return self._page(
            "ask.html", session, tables=tables, budget=budget, epsilon=f"{float(statement.epsilon):g}",
            most=f"{float(statement.max_epsilon):g}", asked=request.query_params.get("sql", ""),
        )  # fmt: skip

    async def _words(self, request: Request, session: SignedIn) -> Response:
        tables, _ = await run_in_threadpool(_overview, _analyst(session))
        found = {
            "tables": {table["name"]: [column["name"] for column in table["columns"]] for table in tables},
            "functions": FUNCTIONS,
            "keywords": KEYWORDS,
        }
        return JSONResponse(found)

    async def _explain(self, request: Request, session: SignedIn) -> Response:
        form = await _form(request)
        try:
            told = await run_in_threadpool(_analyst(session).explain, form.get("sql", ""), form.get("epsilon", ""))
        except Error as problem:
            return self._page("problem.html", None, problem=problem, near=_near(form.get("sql", ""), problem))
        shown = [column for column in told["columns"] if not column["name"].endswith(("_low", "_high"))]
        kept = [at for at, column in enumerate(told["columns"]) if column in shown]
        better = [
            {**one, "errors": [(told["columns"][at]["name"], one["expected_errors"][at]) for at in kept]}
            for one in told["better"]
        ]
        return self._page("explained.html", None, told={**told, "columns": shown}, better=better)

    async def _answer(self, request: Request, session: SignedIn) -> Response:
        form = await _form(request)
        analyst = _analyst(session)
        try:
            result = await run_in_threadpool(analyst.answer, form.get("sql", ""), form.get("epsilon", ""))
        except Error as problem:
            return self._page("problem.html", None, problem=problem, near=_near(form.get("sql", ""), problem))
        paid = [one for one in result.notices if one.startswith(("Paid:", "Free."))]
        stale = [one for one in result.notices if one.startswith(STALE)]
        made_up = [one for one in result.notices if one.startswith(MADE_UP)]
        told = [one for one in result.notices if one not in (*paid, *stale, *made_up)]
        # A chart of rows of nobody would be taken for an answer about people.
        shown = () if made_up else charts(result)
        # charts() escapes every text.
        drawn = [{kind: Markup(one) for kind, one in kinds.items()} for kinds in shown]  # noqa: S704
        budget = await run_in_threadpool(_budget, analyst)
        return self._page(
            "answered.html",
            None,
            result=result,
            paid=paid or ["Free."],
            stale=stale,
            made_up=made_up,
            told=told,
            charts=drawn,
            budget=budget,
        )

    async def _history(self, request: Request, session: SignedIn) -> Response:
        charges = await run_in_threadpool(_charges, _analyst(session))
        return self._page("history.html", session, charges=charges)

    # Owners

    async def _owner(self, request: Request, session: SignedIn) -> Response:
        return await self._budget_page(session)

    async def _order(self, request: Request, session: SignedIn) -> Response:
        """Pause or resume an analyst, or change the share; written into the ledger before the page is shown again."""
        form, facts = await _form(request), self._facts
        try:
            await run_in_threadpool(ordered, facts.policy, facts.ledger, session.name, form)
        except Error as problem:
            return await self._budget_page(session, problem)
        return RedirectResponse("/owner", 303)

    async def _budget_page(self, session: SignedIn, refused: Error | None = None) -> Response:
        facts = self._facts

        def read() -> Mapping[str, Any]:
            found = owner_figures(facts.policy, facts.ledger)
            burning = Markup(found.burning)  # noqa: S704  # burn_down() escapes every text
            return {"figures": found, "burning": burning, "problems": facts.problems(),
                    "warnings": facts.warnings, "refused": refused}  # fmt: skip

        status = 200 if refused is None else 422
        return self._page("owner.html", session, status=status, **await run_in_threadpool(read))

    async def _what_if(self, request: Request, session: SignedIn) -> Response:
        facts = self._facts
        if not (session.is_owner and facts.what_if and facts.loopback and is_on_this_machine(request)):
            return self._page("what_if.html", session, status=403, allowed=False, **_untried(facts.policy, {}))
        form = await _form(request) if request.method == "POST" else {}
        values = _untried(facts.policy, form)
        if form:
            try:
                values["trial"] = await run_in_threadpool(tried_by_owner, facts.policy, form)
            except Error as problem:
                values["problem"] = problem
        return self._page("what_if.html", session, allowed=True, **values)

    # Both

    async def _guide(self, request: Request, session: SignedIn) -> Response:
        name = request.path_params.get("name", CONTENTS)
        try:
            text = page(name)
        except Error as problem:
            return self._page("guide.html", session, status=404, name=name, text=problem.message, names=names())
        html = MarkdownIt("commonmark", {"html": False}).enable("table").render(_links(text))
        return self._page(
            "guide.html", session, name=name, text=Markup(html), names=names()  # noqa: S704  # no HTML passes Markdown
        )  # fmt: skip

    def _page(self, template: str, session: SignedIn | None, *, status: int = 200, **values: object) -> Response:
        text = self._templates.get_template(template).render(session=session, **values)
        return Response(text, status, media_type="text/html")


def _untried(policy: Policy, form: Mapping[str, str]) -> dict[str, Any]:
    """The page of trials before one was made: what was written into its form."""
    none: ShownTrial | None = None
    usual = f"{float(policy.statement.epsilon):g}"
    return {"trial": none, "problem": None, "questions": form.get("questions", ""), "usual": usual,
            "epsilon": form.get("epsilon", usual)}  # fmt: skip


def _analyst(session: SignedIn) -> AskingAnalyst:
    if not isinstance(session.held, AskingAnalyst):
        raise TypeError("an analyst's session holds a connection")
    return session.held


def _overview(analyst: AskingAnalyst) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """The tables and columns as the owner declared them, and the budget."""
    rows = analyst.rows(
        "SELECT table_name, column_name, data_type, public, low, high, key_set FROM dpsql.columns ORDER BY 1"
    )
    tables: dict[str, dict[str, Any]] = {}
    for table, column, kind, public, low, high, listed in rows:
        said = "listed values" if listed else "" if low is None else f"{low} to {high}"
        known = tables.setdefault(table, {"name": table, "public": public, "columns": []})
        known["columns"].append({"name": column, "type": kind, "said": said})
    return list(tables.values()), _budget(analyst)


def _budget(analyst: AskingAnalyst) -> Mapping[str, Any]:
    """Of the scope that has the fewest statements left."""
    rows = analyst.rows("SELECT analyst, used, statements_left, per, renews FROM dpsql.budget")
    own, used, statements, per, renews = min(rows, key=lambda row: row[2])
    return {
        "own": own is not None, "left": part_left(used), "statements": statements,
        "part": max(0, min(100, math.floor(100 * (1 - used)))), "per": per, "renews": renews,
    }  # fmt: skip


def _charges(analyst: AskingAnalyst) -> list[dict[str, Any]]:
    """What was paid for, the latest first, and whether it would be free to ask it again."""
    rows = analyst.rows("SELECT * FROM dpsql.charges")
    found = []
    for at, (time, _, epsilon, rho, delta, tables, statement, used) in enumerate(sorted(rows, reverse=True)[:100]):
        told = [f"{letter} = {part:.4g}" for letter, part in zip("ερδ", (epsilon, rho, delta), strict=True) if part]
        paid = f"{percent(used)} ({', '.join(told)})" if told else "nothing"
        found.append({"time": f"{time:%Y-%m-%d %H:%M}", "paid": paid, "tables": tables, "sql": statement,
                      "free": at < 20 and _is_free(analyst, statement)})  # fmt: skip
    return found


def _is_free(analyst: AskingAnalyst, statement: str) -> bool:
    try:
        return not any(analyst.explain(statement, "")["price"]["loss"].values())
    except Error:
        return False


def _near(text: str, problem: Error) -> tuple[str, str]:
    """The text around the place of an error: before it, and from it on."""
    place = (problem.position or 0) - 1
    if not 0 <= place < len(text):
        return "", ""
    return text[max(0, place - 40) : place], text[place : place + 30]


def _links(text: str) -> str:
    """A page's links to other pages, as this console has them."""
    return text.replace(".md)", ")").replace(".md#", "#").replace("](", "](/guide/").replace("](/guide/http", "](http")


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; none where it is larger, or has more fields, than a page of ours sends.

    It may be read again: a body is a stream that ends once.
    """
    form: dict[str, str] | None = getattr(request.state, "form", None)
    if form is None:
        form = request.state.form = await _read_form(request)
    return form


async def _read_form(request: Request) -> dict[str, str]:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return {}
    try:
        found = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return {}
    return {name: values[0] for name, values in found.items()}


def _same(one: str, other: str) -> bool:
    from secrets import compare_digest

    return compare_digest(one.encode(), other.encode())


def _refused(why: str, status: int) -> Response:
    return Response(why, status, media_type="text/plain")


class _Guarded:
    """What holds of every request and every response, and the border that a bug of ours does not cross unseen."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], loopback: bool, encrypted: bool) -> None:
        self._app, self._hosts, self._loopback, self._encrypted = app, hosts, loopback, encrypted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        told = [
            (b"content-security-policy", CSP.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"same-origin"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]
        if self._encrypted:
            told.append((b"strict-transport-security", b"max-age=31536000"))
        is_file = scope["path"].startswith("/static/")
        told.append((b"cache-control", b"max-age=3600" if is_file else b"no-store"))

        begun: list[Message] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.append(message)
                message = {**message, "headers": [*message["headers"], *told]}
            await send(message)

        try:
            why = self._not_ours(request)
            await (self._app if not why else _refused(why, 403))(scope, receive, sent)
        except Exception as unforeseen:
            _LOG.error("internal error of the console: %s at %s", type(unforeseen).__name__, raised_at(unforeseen))
            if not begun:
                await _refused("internal error; the owner's log names the place", 500)(scope, receive, sent)

    def _not_ours(self, request: Request) -> str:
        """Why a request is not from a page of ours; nothing where it is."""
        host = request.headers.get("host", "")
        if not (_is_loopback_name(host) if self._loopback else not self._hosts or _name_of(host) in self._hosts):
            return "ask by the name of this server"
        if request.method in ("GET", "HEAD"):
            return ""
        origin = request.headers.get("origin", "")
        if _place_of(origin) != host or request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return "this was not sent from a page of the console"
        return ""


def _place_of(address: str) -> str | None:
    """The host and port of an address; None where it is not an address."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return None


def _name_of(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_loopback_name(host: str) -> bool:
    name = _name_of(host)
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
