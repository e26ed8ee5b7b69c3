"""Every page of the console as the guide shows it, light at the left and dark at the right.

    python -m tests.console.pictures [FOLDER]

It serves a new clinic, signs in as analyst and as owner in Chromium without a window, and writes a PNG for each page
into FOLDER, which is the guide's if none is named. Look at each before it is kept: numbers and noise are new each time.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.console.conftest import ANALYST, OWNER, Watched, served_console
from tests.console.test_browser import CHROMIUM, sign_in

GUIDE = Path(__file__).parents[2] / "dpsql" / "guide" / "pictures"
SIZE = {"width": 960, "height": 560}
SCHEMES = ("light", "dark")
COLOURS = (128, 96, 64, 32)
LARGEST = 110_000
"""Bytes of a picture: it has as many colours as that leaves."""

BY_REASON = "SELECT reason, COUNT(*) AS visits FROM visit GROUP BY reason ORDER BY reason"
BY_MONTH = "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS visits FROM visit GROUP BY 1"

Taken = Callable[[str], None]


def analyst_pages(page: Page, taken: Taken) -> None:
    page.goto("/sign-in")
    taken("console-sign-in")
    sign_in(page, ANALYST)
    page.get_by_label("Your question in SQL").fill(BY_MONTH)
    page.get_by_label("Name of the question").fill("visits by month")
    page.get_by_role("button", name="Save the question").click()
    page.get_by_label("Your question in SQL").fill(BY_REASON)
    expect(page.locator("#explained")).to_contain_text("±")
    taken("console-ask")
    for sql, chart in ((BY_MONTH, ".line"), (BY_REASON, ".bar")):
        page.get_by_label("Your question in SQL").fill(sql)
        page.get_by_role("button", name="Buy the answer").click()
        expect(page.locator(f"#answered .wide-place {chart}").first).to_be_attached()
    taken("console-answer")
    page.goto("/history")
    taken("console-history")


def owner_pages(page: Page, taken: Taken) -> None:
    sign_in(page, OWNER)
    expect(page.get_by_role("heading", name="By analyst")).to_be_visible()
    taken("console-owner")
    page.goto("/what-if")
    page.get_by_label("Questions in SQL").fill("SELECT COUNT(*) FROM visit")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.locator("#tried")).to_contain_text("within bounds", timeout=60_000)
    taken("console-what-if")
    page.goto("/guide/glossary")
    taken("console-guide")


def pictures(browser: Browser, console: Watched) -> Iterator[tuple[str, Image.Image]]:
    """Each page's name, and its two halves. The second scheme finds what the first has bought, at no price."""
    halves: dict[str, list[Image.Image]] = {}
    for scheme in SCHEMES:
        for visit in (analyst_pages, owner_pages):
            context = browser.new_context(base_url=console.url, viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()

            def taken(name: str, page: Page = page) -> None:
                page.wait_for_timeout(300)
                # The guide's own pages are long: one screen shows what they are like.
                seen = page.screenshot(full_page=name != "console-guide")
                halves.setdefault(name, []).append(Image.open(BytesIO(seen)))

            visit(page, taken)
            context.close()
    for name, (light, dark) in halves.items():
        both = Image.new("RGB", (light.width + dark.width, max(light.height, dark.height)), "white")
        both.paste(light, (0, 0))
        both.paste(dark, (light.width, 0))
        yield name, both


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as built,
        served_console(Path(built)) as console,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, picture in pictures(browser, console):
            path = folder / f"{name}.png"
            for colours in COLOURS:
                picture.quantize(colours).save(path, optimize=True)
                if path.stat().st_size <= LARGEST:
                    break
            print(f"{path}: {picture.width} × {picture.height}, {path.stat().st_size // 1024} KB")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else GUIDE)
