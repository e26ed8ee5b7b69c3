"""The console in a real browser: Chromium without a window, by pointer, by keyboard alone, narrow and wide, light and dark.

``DPSQL_SCREENSHOTS`` names a folder where what was seen is kept.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.console.conftest import ANALYST, OWNER, Watched

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium"),
]
SCREENSHOTS = os.environ.get("DPSQL_SCREENSHOTS")
BY_REGION = "SELECT region, COUNT(*) AS n FROM patient GROUP BY region"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser, console: Watched) -> Iterator[Page]:
    """A page that fails its test where a script fails, or where the policy on content stops something."""
    context = chromium.new_context(base_url=console.url, viewport={"width": 1200, "height": 900})
    context.set_default_timeout(8_000)
    found = context.new_page()
    wrong: list[str] = []

    def told(message: ConsoleMessage) -> None:
        if message.type == "error" and "40" not in message.text:
            wrong.append(message.text)

    found.on("console", told)
    found.on("pageerror", lambda problem: wrong.append(str(problem)))
    found.on("dialog", lambda dialog: wrong.append(f"a dialog said {dialog.message}"))
    yield found
    context.close()
    assert not wrong


def sign_in(page: Page, who: tuple[str, str]) -> None:
    page.goto("/")
    page.get_by_label("Name").fill(who[0])
    page.get_by_label("Password").fill(who[1])
    page.get_by_role("button", name="Sign in").click()


def kept(page: Page, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"), full_page=True)


def budget(page: Page) -> float:
    return float(page.locator("#budget strong").first.inner_text().removesuffix(" %"))


def test_from_sign_in_to_a_chart(page: Page) -> None:
    sign_in(page, (ANALYST[0], "not the password"))
    expect(page.get_by_role("alert")).to_contain_text("not right")
    kept(page, "refused")
    sign_in(page, ANALYST)
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()
    before = budget(page)
    page.get_by_label("Your question in SQL").fill("SELECT regio, COUNT(*) AS n FROM patient GROUP BY 1")
    expect(page.locator("#explained mark")).to_contain_text("regio")
    page.get_by_label("Your question in SQL").fill(BY_REGION)
    expect(page.locator("#explained")).to_contain_text("(ε = 0.25)")
    expect(page.locator("#explained")).to_contain_text("±")
    assert budget(page) == before
    page.get_by_role("button", name="Buy the answer").click()
    expect(page.locator("#answered svg:visible")).to_be_visible()
    assert page.locator("#answered .wide-place .whisker").count() == 18
    assert page.locator("#answered td .margin").count() == 6
    expect(page.locator("#explained")).to_contain_text("You have this answer")
    expect(page.locator("#answered .paid")).to_contain_text("Paid: ")
    for seen in ("#answered .paid", "#answered svg:visible"):
        expect(page.locator(seen).first).to_be_in_viewport()
    assert budget(page) < before
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0] == "region,n,n_low,n_high"
    assert len(lines) == 7
    for line in lines[1:]:
        _, n, low, high = line.split(",")
        assert float(low) <= float(n) <= float(high)
    kept(page, "answer")
    page.get_by_role("link", name="History").click()
    expect(page.locator("td code").first).to_contain_text("region")
    kept(page, "history")
    page.get_by_role("link", name="free").first.click()
    expect(page.locator("#explained")).to_contain_text("Free")
    page.get_by_role("link", name="Guide").click()
    page.get_by_role("navigation", name="Guide").get_by_role("link", name="glossary").click()
    expect(page.get_by_role("heading", name="Glossary")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_kind_of_a_chart_is_chosen_and_downloaded(page: Page) -> None:
    sign_in(page, ANALYST)
    sql = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visit GROUP BY 1"
    page.get_by_label("Your question in SQL").fill(sql)
    page.get_by_role("button", name="Buy the answer").click()
    line, bars = (page.locator(f"#answered .wide-place {shape}").first for shape in (".line", ".bar"))
    expect(line).to_be_visible()
    expect(bars).not_to_be_visible()
    page.get_by_role("button", name="See chart 1 as bars").press("Enter")
    expect(bars).to_be_visible()
    expect(line).not_to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download chart 1 as SVG").click()
    picture = ElementTree.parse(download.value.path()).getroot()  # noqa: S314 - the console wrote it
    assert "polyline" not in {part.tag.rpartition("}")[2] for part in picture.iter()}
    expect(page.get_by_role("button", name="See chart 1 as a line")).to_be_visible()
    page.get_by_role("button", name="See chart 1 as a line").click()
    expect(line).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("sql", "shapes", "colour"),
    [
        (BY_REGION, ("rect", "line", "text"), "--bar"),
        ("SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visit GROUP BY 1", ("polyline", "circle"), "--band"),
    ],
    ids=["bars", "line"],
)
def test_a_chart_is_a_file_that_looks_as_on_the_page(
    page: Page, scheme: str, sql: str, shapes: tuple[str, ...], colour: str
) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.image import imread

    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    sign_in(page, ANALYST)
    page.get_by_label("Your question in SQL").fill(sql)
    page.get_by_role("button", name="Buy the answer").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download chart 1 as SVG").click()
    assert download.value.suggested_filename == "n.svg"
    picture = ElementTree.parse(download.value.path()).getroot()  # noqa: S314 - the console wrote it
    kinds = {part.tag.rpartition("}")[2] for part in picture.iter()}
    assert kinds >= {"svg", "title", *shapes}
    hexadecimal = page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('{colour}').trim()")
    wanted = tuple(round(255 * part) for part in to_rgb(hexadecimal))
    assert any(part.get("fill") == f"rgb({', '.join(map(str, wanted))})" for part in picture.iter())
    assert not any(part.get("class") or part.get("style") for part in picture.iter())
    assert [part.text for part in picture][-1] == picture.get("aria-label")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download chart 1 as PNG").click()
    path = Path(download.value.path())
    pixels = imread(path, format="png")
    assert pixels.shape[:2] == (2 * int(picture.get("height", 0)), 2 * int(picture.get("width", 0)))
    same = (abs(pixels[:, :, :3] - to_rgb(hexadecimal)) < 0.01).all(axis=2).mean()
    assert same > 0.01, "the chart's own colour is in the picture"
    if SCREENSHOTS:
        shutil.copy(path, Path(SCREENSHOTS) / f"download-{shapes[0]}-{scheme}.png")


def test_a_question_is_saved_in_the_browser_for_its_analyst_alone(page: Page) -> None:
    sign_in(page, ANALYST)
    saved = page.get_by_role("heading", name="Saved questions").locator("..")
    evil = "<img src=x onerror=alert(1)>"
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    save = saved.get_by_role("button", name="Save the question")
    save.click()
    expect(saved.get_by_role("status")).to_contain_text("Write a question first")
    for name, sql in (
        (evil, BY_REGION),
        ("visits", "SELECT COUNT(*) FROM visit"),
        ("visits", "SELECT COUNT(*) AS n FROM visit"),
    ):
        page.get_by_label("Your question in SQL").fill(sql)
        page.get_by_label("Name of the question").fill(name)
        page.keyboard.press("Enter")
        expect(saved.get_by_role("status")).to_contain_text(f"Saved in this browser: {name}")
    assert not [url for url in asked if "answer" in url], "Enter in the name buys nothing"
    page.reload()
    assert saved.locator("li").count() == 2
    page.get_by_label("Price ε").fill("0.5")
    saved.get_by_role("button", name="visits", exact=True).click()
    expect(page.get_by_label("Your question in SQL")).to_have_value("SELECT COUNT(*) AS n FROM visit")
    expect(page.get_by_label("Price ε")).to_have_value("0.25")
    expect(page.locator("#explained")).to_contain_text("±")
    kept(page, "saved")
    keys = page.evaluate("Object.keys(localStorage)")
    assert keys == [f"dpsql questions of {ANALYST[0]}"]
    saved.get_by_role("button", name="Remove visits").click()
    expect(saved.locator("li")).to_have_count(1)
    page.evaluate("key => localStorage.setItem(key, '{\"broken')", keys[0])
    page.reload()
    expect(saved.locator("li")).to_have_count(0)


def test_by_keyboard_alone(page: Page) -> None:
    page.goto("/")
    page.keyboard.type(ANALYST[0])
    page.keyboard.press("Tab")
    page.keyboard.type(ANALYST[1])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()
    expect(page.get_by_label("Your question in SQL")).to_be_focused()
    page.get_by_role("link", name="Ask").focus()
    for _ in range(20):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.className") == "skip":
            break
    expect(page.get_by_role("link", name="Skip to the editor")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your question in SQL")).to_be_focused()
    page.keyboard.type("SELECT smo", delay=20)
    expect(page.get_by_role("option").first).to_contain_text("smoker")
    kept(page, "completion")
    page.keyboard.press("Tab")
    page.keyboard.type(", COUNT(*) AS n FROM pati", delay=20)
    expect(page.get_by_role("option").first).to_contain_text("patient")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.type(" GROUP BY smoker ", delay=20)
    assert page.get_by_label("Your question in SQL").input_value() == (
        "SELECT smoker, COUNT(*) AS n FROM patient GROUP BY smoker "
    )
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answered svg:visible")).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "epsilon", "Tab leaves the editor where no list is open"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "what has the focus is seen"


def test_an_owner_watches(page: Page) -> None:
    sign_in(page, OWNER)
    expect(page.get_by_role("heading", name="Budget")).to_be_visible()
    expect(page.get_by_role("heading", name="By analyst")).to_be_visible()
    kept(page, "owner")


def test_an_owner_slides_a_bound(page: Page) -> None:
    sign_in(page, OWNER)
    page.get_by_role("link", name="What if").click()
    questions = page.get_by_label("Questions in SQL")
    expect(questions).to_be_focused()
    questions.fill("SELECT COUNT(*) FROM visit; SELECT region, AVG(weight_kg) AS weight FROM patient GROUP BY region")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.locator("#tried")).to_contain_text("59,955", timeout=30_000)
    slider = page.get_by_role("slider", name="visit: max_rows")
    slider.press("ArrowRight")
    expect(page.locator("#tried")).to_contain_text("visit: max_rows: 24 → 29", timeout=30_000)
    expect(slider).to_be_focused()
    kept(page, "what-if")


def test_evil_names_run_nothing(page: Page) -> None:
    sign_in(page, ANALYST)
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    page.get_by_label("Your question in SQL").fill(
        f"""SELECT CASE WHEN sex = 'F' THEN '{evil}' ELSE 'x' END AS "{evil}", COUNT(*) FROM patient GROUP BY 1"""
    )
    page.get_by_role("button", name="Buy the answer").click()
    expect(page.locator("#answered table")).to_contain_text("<img")
    assert page.locator("#answered img, #answered script, #explained img").count() == 0
    page.goto(f"/?sql={evil}</textarea><script>alert(3)</script>")
    expect(page.get_by_label("Your question in SQL")).to_have_value(re.compile("</textarea><script>"))


def test_a_form_from_elsewhere_buys_nothing(page: Page, chromium: Browser, console: Watched) -> None:
    sign_in(page, ANALYST)
    before = budget(page)
    elsewhere = page.context.new_page()
    elsewhere.route("http://evil.test/", lambda route: route.fulfill(body=f"""
        <form method=post action="{console.url}answer"><input name=sql value="SELECT COUNT(*) AS x FROM visit">
        <input name=epsilon value=1></form><script>document.forms[0].submit()</script>""", content_type="text/html"))  # fmt: skip
    elsewhere.goto("http://evil.test/")
    elsewhere.wait_for_url(f"{console.url}answer")
    assert "page of the console" in elsewhere.content() or "sign in again" in elsewhere.content()
    page.reload()
    assert budget(page) == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 900, 1600])
def test_nothing_is_cut_off(chromium: Browser, console: Watched, width: int, scheme: str) -> None:
    context = chromium.new_context(
        base_url=console.url, viewport={"width": width, "height": 900}, color_scheme=scheme,  # type: ignore[arg-type]
    )  # fmt: skip
    context.set_default_timeout(8_000)
    page = context.new_page()
    sign_in(page, ANALYST)
    page.get_by_label("Your question in SQL").fill(
        "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS visits, AVG(cost) AS cost FROM visit GROUP BY 1"
    )
    page.get_by_role("button", name="Buy the answer").click()
    expect(page.locator("#answered svg:visible").first).to_be_visible()
    for path in ("/", "/history", "/guide/sql", "/sign-in"):
        if path != "/":
            page.goto(path)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{path} is {wide} wide"
        kept(page, f"{path.strip('/').replace('/', '-') or 'ask'}-{width}-{scheme}")
    contrast = page.evaluate(
        """() => { const f = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map((v) => { v /= 255;
        return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 }); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
        const s = getComputedStyle(document.body), a = f(s.color), b = f(s.backgroundColor);
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) }"""
    )
    assert contrast > 7
    context.close()
    owner = chromium.new_context(base_url=console.url, viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page = owner.new_page()
    sign_in(page, OWNER)
    expect(page.get_by_role("heading", name="Budget")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    hidden = (
        "[...document.querySelectorAll('.wide')].filter((t) => t.scrollWidth > t.clientWidth).map((t) => t.ariaLabel)"
    )
    assert page.evaluate(hidden) == [], "each column is seen without scrolling"
    kept(page, f"owner-{width}-{scheme}")
    owner.close()
