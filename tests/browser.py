"""Pages in a headless Chromium of this machine."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def program() -> str | None:
    """Return the browser of this machine, if it has one."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a new browser, closed at the end.

    Meanwhile this thread has a running event loop, in which Django refuses queries.
    """
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=options)
        yield browser
        browser.close()


@contextmanager
def tab(
    width: int, height: int, *, dark: bool = False, base_url: str | None = None
) -> Iterator[Page]:
    """Yield a page of a new browser, with this size in CSS pixels; a narrow one is a phone's."""
    phone = width < 600
    with chromium() as browser:
        context = browser.new_context(
            base_url=base_url,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            device_scale_factor=2 if phone else 1,
            has_touch=phone,
            is_mobile=phone,
        )
        yield context.new_page()


def console_of(page: Page) -> list[str]:
    """Return a list of every line on the console, and every error of a script."""
    lines: list[str] = []
    page.on("console", lambda line: lines.append(f"{line.text} ({line.location['url']})"))
    page.on("pageerror", lambda error: lines.append(str(error)))
    return lines


def requests_of(page: Page) -> list[str]:
    """Return a list of every address requested over a network."""
    requests: list[str] = []
    page.on(
        "request",
        lambda request: requests.append(request.url) if request.url.startswith("http") else None,
    )
    return requests
