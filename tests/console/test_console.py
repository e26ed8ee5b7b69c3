"""The console as a browser's requests meet it: who is let in, what is shown, and what an attacker gets."""

from __future__ import annotations

import base64
import re

import httpx
import pytest

from dpsql.console.charts import line_chart
from tests.console.conftest import ANALYST, OWNER, Watched

BY_REGION = "SELECT region, COUNT(*) AS n, AVG(weight_kg) AS w FROM patient GROUP BY region"


def asked(browser: httpx.Client, path: str, sql: str, epsilon: str = "0.25") -> str:
    reply = browser.post(path, data={"sql": sql, "epsilon": epsilon})
    assert reply.status_code == 200, reply.text
    return reply.text


def left(browser: httpx.Client) -> float:
    found = re.search(r"<strong>([\d.]+) %</strong> left", browser.get("/").text)
    assert found is not None
    return float(found[1])


# Who is let in


@pytest.mark.parametrize(
    ("name", "password"),
    [
        (ANALYST[0], "wrong"),
        (ANALYST[0], ""),
        (OWNER[0], ANALYST[1]),
        ("nobody", "x"),
        ("", ""),
        ("'\"<b>", "x" * 3000),
    ],
)
def test_a_wrong_password_lets_nobody_in(console: Watched, name: str, password: str) -> None:
    with console.browser() as browser:
        reply = browser.post("/sign-in", data={"name": name, "password": password})
        assert reply.status_code == 403
        assert "is not right" in reply.text or "wait" in reply.text or "no user" in reply.text
        assert "<b>" not in reply.text
        assert not browser.cookies
        assert browser.get("/").status_code == 303


def test_who_has_no_password_may_come_from_this_machine(console: Watched) -> None:
    with console.signed_in(("guest", "")) as browser:
        assert "Your share" in browser.get("/").text


def test_guessing_is_slowed_down(console: Watched) -> None:
    with console.browser() as browser:
        told = [browser.post("/sign-in", data={"name": "mallory", "password": str(at)}).text for at in range(12)]
    assert "wait a minute" in told[-1]
    assert "wait a minute" not in told[0]


def test_nothing_is_shown_to_who_is_not_signed_in(console: Watched) -> None:
    with console.browser() as browser:
        for path in ("/", "/history", "/owner", "/guide", "/guide/sql", "/words"):
            assert browser.get(path).headers["location"] == "/sign-in"
        for path in ("/answer", "/explain", "/sign-out"):
            assert browser.post(path, data={"sql": BY_REGION}).status_code == 401
        browser.cookies.set("dpsql-console", "x" * 43)
        assert browser.post("/answer", data={"sql": BY_REGION}).status_code == 401


def test_a_session_ends_when_one_signs_out(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        cookie = browser.cookies["dpsql-console"]
        assert browser.post("/sign-out").headers["location"] == "/sign-in"
    with console.browser() as browser:
        browser.cookies.set("dpsql-console", cookie)
        assert browser.get("/").status_code == 303


def test_an_owner_asks_nothing_and_an_analyst_sees_nothing_of_others(console: Watched) -> None:
    with console.signed_in(OWNER) as owner, console.signed_in(ANALYST) as analyst:
        assert owner.post("/answer", data={"sql": BY_REGION}).status_code == 403
        assert owner.get("/history").headers["location"] == "/"
        assert analyst.get("/owner").headers["location"] == "/"
        assert "By analyst" in owner.get("/owner").text


# Asking


def test_the_price_is_told_before_and_the_answer_has_error_bars_and_charts(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        before = left(browser)
        told = asked(browser, "/explain", BY_REGION)
        assert "(ε = 0.25)" in told
        assert re.search(r'scope="row">n</th><td>bigint</td><td class="number">± \d', told)
        assert left(browser) == before, "explaining is free"
        answer = asked(browser, "/answer", BY_REGION)
        assert left(browser) < before
        assert answer.count("<svg") == 4, "two charts, each drawn for a wide and for a narrow place"
        assert answer.count('class="whisker"') >= 2 * 3 * 5
        assert len(re.findall(r'<span class="margin">± [\d.,]+</span>', answer)) >= 10
        assert "Paid: 2.1 % of the total budget" in answer
        assert "<details" not in answer, "what is to be known of an answer is not folded away"
        assert "Free" in asked(browser, "/explain", BY_REGION)
        history = browser.get("/history").text
        assert "AVG(weight_kg)" in history
        assert ">free</a>" in history
        assert re.search(r"<td>2\.1 % \(ρ = ", history), "what was paid is said as everywhere"


def test_a_number_without_an_interval_says_so(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        answer = asked(browser, "/answer", "SELECT MODE() WITHIN GROUP (ORDER BY birth_year) AS m FROM patient")
        sure = asked(browser, "/answer", "SELECT COUNT(*) AS n FROM patient")
    assert "± ? one that is not known" not in sure
    coded = re.findall(r'href="data:text/csv;base64,([^"]+)"', sure)
    header, row = base64.b64decode(coded[0]).decode().splitlines()
    n, low, high = map(int, row.split(","))
    assert header == "n,n_low,n_high"
    assert low <= n <= high
    assert "± ?</span>" in answer
    assert "± ? one that is not known" in answer


def test_what_a_price_cannot_show_is_told_before_it_is_bought(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        heavy = "SELECT region, COUNT(*) AS n FROM patient WHERE weight_kg > 61 GROUP BY region"
        assert "Look before you buy" not in asked(browser, "/explain", heavy, "1")
        told = asked(browser, "/explain", heavy, "0.001")
        assert re.search(r"Look before you buy:</strong> at this price, .* is ± .* cannot be told from nobody", told)


def test_a_line_breaks_where_a_group_is_missing() -> None:
    days = [(float(day), f"d{day}", 5.0, 4.0, 6.0) for day in (1, 2, 3, 6, 7, 8, 12, 20, 21)]
    drawn = line_chart("n", days)
    # Drawn twice, for a wide and for a narrow place: 1-3, 6-8, 20-21, and the 12th alone, which keeps its error bar.
    assert drawn.count("<polyline") == drawn.count("<polygon") == 2 * 3
    assert drawn.count('class="whisker"') == 2
    assert drawn.count("<circle") == 2 * 9
    whole = line_chart("n", [(float(day), "d", 5.0, 4.0, 6.0) for day in range(9)])
    assert whole.count("<polyline") == 2


def test_an_array_tells_the_error_of_each_item_before(console: Watched) -> None:
    regression = "SELECT LINREGR(weight_kg, ARRAY[1, height_cm]) AS line FROM patient"
    with console.signed_in(ANALYST) as browser:
        told = asked(browser, "/explain", regression, "1")
    (cell,) = re.findall(r'scope="row">line</th><td>.*?</td><td class="number">(.*?)</td>', told)
    assert re.fullmatch(r"± [\d.,]+, ± [\d.,]+", cell), "the intercept's and the slope's"


def test_a_line_with_a_band_along_time(console: Watched) -> None:
    by_month = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visit GROUP BY 1"
    with console.signed_in(ANALYST) as browser:
        answer = asked(browser, "/answer", by_month)
    line, bars = re.findall(r'<div class="drawn"( hidden)?>(.*?)</div>', answer, re.DOTALL)
    assert not line[0]
    assert 'class="band"' in line[1]
    assert 'class="line"' in line[1]
    assert bars[0], "bars are shown when they are asked for"
    assert 'class="line"' not in bars[1]
    months = re.findall(r"<title>(2025-\d\d-01):", bars[1])
    assert months == 2 * sorted(set(months))
    assert len(months) >= 2 * 10


def test_numbers_that_name_groups_can_be_a_line_and_texts_cannot(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        by_decade = asked(
            browser, "/answer", "SELECT birth_year / 10 * 10 AS decade, COUNT(*) AS n FROM patient GROUP BY 1"
        )
        by_reason = asked(browser, "/answer", "SELECT reason, COUNT(*) AS n FROM visit GROUP BY reason")
    bars, line = re.findall(r'<div class="drawn"( hidden)?>(.*?)</div>', by_decade, re.DOTALL)
    assert (bars[0], line[0]) == ("", " hidden")
    assert 'class="bar"' in bars[1]
    places = [float(place) for place in re.findall(r'cx="([\d.]+)"', line[1].partition("narrow-place")[0])]
    assert len(places) >= 8
    assert places == sorted(places)
    assert by_reason.count('class="drawn"') == 1
    assert "data-see" not in by_reason


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT * FROM patient", "rows of people"),
        ("SELECT sexx, COUNT(*) FROM patient GROUP BY 1", "<mark>sexx"),
        ("", "there is no statement"),
        ("   ;  ", "there is no statement"),
        ("SELECT 1; SELECT 2", "multiple commands"),
        ("DROP TABLE patient", "only reads"),
        ("SELECT '" + "x" * 70_000 + "'", "too long"),
        ("SELECT pg_sleep(60)", "pg_sleep"),
    ],
)
def test_refusals_say_what_would_work_and_cost_nothing(console: Watched, sql: str, said: str) -> None:
    with console.signed_in(ANALYST) as browser:
        before = left(browser)
        for path in ("/answer", "/explain"):
            told = asked(browser, path, sql)
            assert 'role="alert"' in told, told
            assert said in told, told
        assert left(browser) == before


@pytest.mark.parametrize("epsilon", ["7", "-1", "0", "x", "0.1'; SET dpsql.reuse = off --", ""])
def test_a_price_is_within_the_owners_cap(console: Watched, epsilon: str) -> None:
    with console.signed_in(ANALYST) as browser:
        told = asked(browser, "/explain", BY_REGION, epsilon)
        assert ('role="alert"' in told) == (epsilon != "")


def test_what_one_statement_sets_is_not_there_for_the_next(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        for sql in ("SET dpsql.intervals = off", "BEGIN", "SELECT nonsense FROM patient", "SET dpsql.epsilon = 1"):
            asked(browser, "/answer", sql)
        assert "±" in asked(browser, "/answer", BY_REGION)


# What an attacker gets


def test_every_text_is_escaped(console: Watched) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    quoted = evil.replace("'", "''")
    with console.signed_in(ANALYST) as browser:
        pages = [
            asked(browser, "/answer", f"""SELECT '{quoted}' AS "{evil}", COUNT(*) AS n FROM patient GROUP BY sex"""),
            asked(browser, "/explain", f"""SELECT COUNT(*) AS "{evil}" FROM patient"""),
            asked(browser, "/explain", f"""SELECT "{evil}" FROM patient"""),
            asked(
                browser,
                "/answer",
                f"""SELECT CASE WHEN sex = 'F' THEN '{quoted}' ELSE 'x' END AS k, COUNT(*)
                                          FROM patient GROUP BY 1""",
            ),
            asked(browser, "/explain", evil),
            browser.get("/history").text,
            browser.get("/", params={"sql": f"</textarea>{evil}"}).text,
            browser.get(f"/guide/{evil.replace('/', '')}").text,
        ]
    with console.signed_in(OWNER) as owner:
        pages.append(owner.get("/owner").text)
    for page in pages:
        assert not re.search(r"<script(?! src=\"/static/console.js\")|<img", page), page
        assert "</textarea><script" not in page
    assert any("&lt;script&gt;" in page for page in pages)


def test_a_page_from_elsewhere_asks_nothing(console: Watched) -> None:
    host = console.url.removeprefix("http://").rstrip("/")
    with console.signed_in(ANALYST) as browser:
        before = left(browser)
        own = browser.headers.pop("X-CSRF-Token")
        sent = {"sql": "SELECT COUNT(*) AS stolen FROM patient", "epsilon": "1"}
        tries: list[dict[str, str]] = [
            {},
            {"X-CSRF-Token": "guess"},
            {"X-CSRF-Token": own, "Origin": "http://evil.example"},
            {"X-CSRF-Token": own, "Origin": "null"},
            {"X-CSRF-Token": own, "Origin": f"http://evil.example@{host}.evil.example"},
            {"X-CSRF-Token": own, "Sec-Fetch-Site": "cross-site"},
            {"X-CSRF-Token": own, "Host": "evil.example", "Origin": "http://evil.example"},
            {"X-CSRF-Token": own, "Host": "127.0.0.1.evil.example"},
        ]
        for headers in tries:
            assert browser.post("/answer", data=sent, headers=headers).status_code == 403, headers
        for headers in tries[2:]:
            reply = browser.post("/sign-in", data={"name": ANALYST[0], "password": ANALYST[1]}, headers=headers)
            assert reply.status_code == 403, headers
        assert browser.get("/", headers={"Host": "evil.example"}).status_code == 403, "a name made to mean this machine"
        assert left(browser) == before
    with console.signed_in(ANALYST) as browser, console.signed_in(ANALYST) as other:
        theirs = {"X-CSRF-Token": other.headers["X-CSRF-Token"]}
        assert browser.post("/answer", data=sent, headers=theirs).status_code == 403, "a token is one session's"


def test_headers_keep_scripts_and_frames_out(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        for path in ("/", "/guide", "/static/console.js", "/nothing", "/sign-in"):
            headers = browser.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
        assert browser.get("/").headers["cache-control"] == "no-store"
        page = browser.get("/").text
    assert not re.search(r"\son\w+=|style=|javascript:", page)
    with console.browser() as browser:
        cookie = browser.post("/sign-in", data={"name": ANALYST[0], "password": ANALYST[1]}).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_files_of_the_machine_are_not_served(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        for path in ("/static/../pages.py", "/static/%2e%2e/pages.py", "/static/..%2f..%2fproxy.py", "/guide/../../x"):
            assert browser.get(path).status_code in (303, 404), path


def test_a_large_body_is_not_read(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        reply = browser.post("/answer", content=b"sql=" + b"x" * 5_000_000)
        assert reply.status_code == 200
        assert "there is no statement" in reply.text


def test_the_guide_is_there_with_links_that_lead_somewhere(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        first = browser.get("/guide").text
        links = set(re.findall(r'href="(/guide/[a-z-]+)', first))
        assert len(links) > 25
        for link in sorted(links):
            page = browser.get(link)
            assert page.status_code == 200, link
            inner = set(re.findall(r'href="(/guide/[^"#]+)', page.text))
            assert inner <= links | {"/guide/README"}, (link, inner - links)


# Owners


def test_an_owner_sees_the_budget_burning_down(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        asked(browser, "/answer", "SELECT smoker, COUNT(*) AS n FROM patient GROUP BY smoker")
    with console.signed_in(OWNER) as owner:
        page = owner.get("/owner").text
    assert "<svg" in page
    for said in (
        "By analyst",
        "By table",
        "By day",
        "SELECT smoker, COUNT(*)",
        "Analysts are answered",
        "guest",
        "1.25",
    ):
        assert said in page, said


def test_a_chart_names_groups_by_their_numbers(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        page = asked(browser, "/answer", "SELECT birth_year / 20 * 20 AS born, COUNT(*) AS n FROM patient GROUP BY 1")
    assert re.search(r'<text class="label"[^>]*>19[0-9]0</text>', page), page[:3000]
    assert not re.search(r'<text class="label"[^>]*>1</text>', page)


def test_the_guide_shows_its_pictures(console: Watched) -> None:
    with console.signed_in(ANALYST) as browser:
        (picture,) = set(re.findall(r'<img src="(/guide/pictures/answer.png)"', browser.get("/guide/first-chart").text))
        reply = browser.get(picture)
    assert reply.headers["content-type"] == "image/png"
    assert reply.content.startswith(b"\x89PNG")


def test_an_answer_of_older_numbers_is_marked(console: Watched) -> None:
    """What is released for a small price, where the share does not reach for the larger one that is asked."""
    smokers = "SELECT smoker, COUNT(*) AS n FROM patient WHERE weight_kg > 61.25 GROUP BY smoker"
    with console.signed_in(("guest", "")) as browser:
        assert 'class="stale"' not in asked(browser, "/answer", smokers, "0.05")
        told = asked(browser, "/answer", smokers, "1")
        assert re.search(r'<p class="stale" role="status">Stale: [^<]* released (at|from) \d{4}-', told)
        assert "Free." in told


def test_an_owner_pauses_an_analyst_and_changes_a_share(console: Watched) -> None:
    def order(owner: httpx.Client, act: str, share: str = "", name: str = "guest") -> httpx.Response:
        return owner.post("/owner/analyst", data={"name": name, "act": act, "share": share})

    bought = "SELECT COUNT(*) AS pauses FROM patient"
    with console.signed_in(OWNER) as owner, console.signed_in(("guest", "")) as guest:
        assert "pauses" in asked(guest, "/answer", bought, "0.01")
        counted = re.search(r"[0-9]+ charges?, accounting", owner.get("/owner").text)
        assert counted is not None
        assert order(owner, "pause").headers["location"] == "/owner"
        assert '<strong class="stopped">paused</strong>' in owner.get("/owner").text
        assert "owner olga: pause" in owner.get("/owner").text
        assert counted[0] in owner.get("/owner").text, "an order is no charge"
        assert "the owner has paused this analyst" in asked(guest, "/answer", bought, "0.01"), "what is free, too"
        assert "Your share" in guest.get("/").text
        assert order(owner, "resume").status_code == 303
        assert "Free." in asked(guest, "/answer", bought, "0.01")
        before = left(guest)
        assert order(owner, "share", "0.02").status_code == 303
        assert left(guest) < before
        refusal = asked(guest, "/answer", "SELECT SUM(cost) AS s FROM visit WHERE cost < 300", "0.25")
        assert "share of the privacy budget" in refusal
        assert order(owner, "share", "").status_code == 303
        assert left(guest) == before
        assert [order(owner, "share", wrong).status_code for wrong in ("-1", "99", "1e1", "x")] == [422] * 4
        assert order(owner, "x").status_code == order(owner, "pause", name="nobody").status_code == 422
        assert [order(guest, "resume").status_code, order(guest, "share", "3").status_code] == [403, 403]
