"""A trader of the service under test, and the pages that one sees."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from playwright.sync_api import Browser, Dialog, Page, StorageState, expect

PASSWORD = "a long and good password"
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Trader:
    """Somebody who is signed in; `pages` are the addresses of all pages, by name."""

    address: str
    cookies: StorageState
    pages: Mapping[str, str]

    @classmethod
    def sign_up(cls, browser: Browser, address: str) -> "Trader":
        """Make an account with an algorithm, a draft and a completed backtest."""
        window = browser.new_context(base_url=address)
        page = window.new_page()
        sign_up(page)
        page.goto("/app/gallery")
        page.get_by_role("button", name="Make from template: EMA cross").click()
        page.wait_for_url("**/app/algorithms/*")
        algorithm = page.url.removeprefix(address)
        backtest = run_backtest(page)
        draft = _make_draft(page)
        cookies = window.storage_state()
        window.close()
        return cls(address, cookies, _pages_of(algorithm, backtest, draft))


def sign_up(page: Page) -> str:
    """Make an account by its form; return its e-mail address."""
    email = f"trader-{next(_numbers)}@example.com"
    page.goto("/app/sign-up")
    page.get_by_label("Name").fill("Asha Rao")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Make an account").click()
    page.wait_for_url("**/app")
    return email


def run_backtest(page: Page) -> str:
    """Run the backtest that an algorithm's page offers; return the address of its result."""
    page.get_by_role("link", name="Backtest", exact=True).click()
    page.get_by_role("button", name="Run the backtest").click()
    page.wait_for_url("**/app/backtests/*")
    expect(page.locator(".status.completed")).to_be_visible(timeout=60_000)
    return str(page.evaluate("location.pathname"))


def _make_draft(page: Page) -> str:
    page.goto("/app/gallery")
    page.get_by_role("button", name="Make from template: RSI(2)").click()
    page.wait_for_url("**/app/algorithms/*")
    address = str(page.evaluate("location.pathname"))
    page.goto(f"{address}/json")
    text = page.get_by_label("The steps")
    text.fill(text.input_value().replace('"timeframe": "1d",', ""))
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(f"**{address}")
    return address


def _pages_of(algorithm: str, backtest: str, draft: str) -> dict[str, str]:
    backtest_id = backtest.rsplit("/", 1)[1]
    return {
        "home": "/app",
        "gallery": "/app/gallery",
        "algorithms": "/app/algorithms",
        "algorithm": algorithm,
        "draft": draft,
        "steps": f"{algorithm}/steps",
        "steps of a draft": f"{draft}/steps",
        "json": f"{algorithm}/json",
        "versions": f"{draft}/versions?version=2&since=1",
        "new backtest": f"{algorithm}/backtest",
        "new optimization": f"{algorithm}/backtest?kind=optimization",
        "new monte carlo": f"{algorithm}/backtest?kind=monte_carlo",
        "backtests": "/app/backtests",
        "backtest": backtest,
        "compare": f"/app/backtests/compare?id={backtest_id}&id={backtest_id}",
        "evidence": f"{backtest}/evidence",
        "explanation": f"{backtest}/explain?symbol=NSE:RELIANCE&at=2026-04-08T14:10",
        "live": "/app/live",
        "run": algorithm.replace("/algorithms/", "/live/"),
        "coverage": "/app/data",
        "symbol search": "/app/data/symbols?query=reliance",
        "symbol": "/app/data/symbols/NSE:RELIANCE?timeframe=1d",
        "sessions and charges": "/app/data/rules?date=2026-08-03",
        "upload": "/app/data/upload",
        "settings": "/app/settings",
        "new key": "/app/settings/keys",
        "new webhook": "/app/settings/webhooks",
        "notices": "/app/settings/notices",
        "second factor": "/app/settings/two-factor",
        "export": "/app/settings/export",
        "close account": "/app/settings/close",
        "unknown": "/app/nothing",
    }


PAGES = (*_pages_of("", "/", ""),)
PUBLIC_PAGES: Mapping[str, str] = {
    "sign in": "/app/sign-in",
    "sign up": "/app/sign-up",
    "reset": "/app/reset",
}


def complaints_of(page: Page) -> list[str]:
    """Return a list to which the page adds what its console complains of, and what it alerts."""
    complaints: list[str] = []

    def on_message(message: Any) -> None:
        # That a page was refused is told by its status; the browser repeats it.
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    def on_dialog(dialog: Dialog) -> None:
        complaints.append(dialog.message)
        dialog.dismiss()

    page.on("console", on_message)
    page.on("dialog", on_dialog)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints
