"""A trader of the service under test, and the trader's pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from playwright.sync_api import Browser, Dialog, Page, StorageState, expect

from tests.console.addresses import addresses
from tests.faults.service import Service

HOLD = """
    INSERT INTO trading_position (run_id, symbol, quantity, entry_price, unrealised, opened_at)
    SELECT id, 'NSE:RELIANCE', 1, 100, 0, now() FROM trading_run WHERE algorithm_id = %s
"""
ORDER = """
    INSERT INTO trading_order (id, run_id, algorithm_id, symbol, side, intent, type, status, reason,
        bar_time, placed_at)
    SELECT left(md5(id::text), 24), id, algorithm_id, 'NSE:RELIANCE', 'buy', 'entry', 'market',
        'open', '', now(), now() FROM trading_run WHERE algorithm_id = %s
"""
PASSWORD = "a long and good password"
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Trader:
    """A signed-in trader; `pages` are the addresses of all pages, by name."""

    address: str
    cookies: StorageState
    pages: Mapping[str, str]

    @classmethod
    def sign_up(cls, browser: Browser, up: Service) -> "Trader":
        """Make an account, also an operator's, with content on every page."""
        address = f"http://127.0.0.1:{up.port}"
        window = browser.new_context(base_url=address)
        page = window.new_page()
        email = sign_up(page)
        with up.database() as database:
            database.execute("UPDATE accounts_user SET is_staff = true WHERE email = %s", [email])
        algorithm = make_from_template(page, "EMA cross")
        backtest = run_backtest(page)
        pages = addresses(
            algorithm=algorithm,
            draft=_make_draft(page),
            run=start_run(page, up),
            backtest=backtest,
            webhook=_make_webhook(page),
            hook=_make_alert_hook(page),
            export=_make_export(page),
            at="2026-04-08T14:10",
        )
        cookies = window.storage_state()
        window.close()
        return cls(address, cookies, pages)


def sign_up(page: Page) -> str:
    """Make an account by its form; return its e-mail address."""
    email = f"trader-{next(_numbers)}@example.com"
    page.goto("/app/sign-up")
    page.get_by_label("Name").fill("Asha Rao")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create an account").click()
    page.wait_for_url("**/app")
    return email


def make_from_template(page: Page, name: str) -> str:
    """Make an algorithm from a template of the gallery, and stay on its page; return its id."""
    page.goto("/app/gallery")
    page.get_by_role("button", name=f"Use this strategy: {name}").click()
    page.wait_for_url("**/app/algorithms/*")
    return id_in_address(page)


def id_in_address(page: Page) -> str:
    return page.url.rsplit("/", 1)[1]


def run_backtest(page: Page) -> str:
    """Run the backtest that an algorithm's page offers; return its id."""
    page.get_by_role("link", name="Backtest", exact=True).click()
    page.get_by_role("button", name="Run the backtest").click()
    page.wait_for_url("**/app/backtests/*")
    expect(page.get_by_role("region", name="Key metrics")).to_be_visible(timeout=60_000)
    return id_in_address(page)


def start_run(page: Page, up: Service) -> str:
    """Start an algorithm, and let it hold a position and an order; return its id."""
    algorithm = make_from_template(page, "EMA cross")
    page.get_by_role("button", name="Start on paper").click()
    expect(page.locator("h1 .status.active")).to_be_visible()
    with up.database() as database:
        database.execute(HOLD, [algorithm])
        database.execute(ORDER, [algorithm])
    return algorithm


def _make_draft(page: Page) -> str:
    algorithm = make_from_template(page, "RSI(2)")
    page.goto(f"/app/algorithms/{algorithm}/json")
    text = page.get_by_label("The steps")
    text.fill(text.input_value().replace('"timeframe": "1d",', ""))
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(f"**/app/algorithms/{algorithm}")
    return algorithm


def _make_webhook(page: Page) -> str:
    """Make a webhook, and send it a test, which stays in its deliveries."""
    page.goto("/app/settings/webhooks")
    page.get_by_label("Address").fill("https://hooks.example.com/")
    page.get_by_label("trade.executed").check()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("link", name="I saved it").click()
    page.get_by_role("link", name="https://hooks.example.com/").click()
    page.get_by_role("button", name="Send test").click()
    expect(page.get_by_role("rowheader", name="Test")).to_be_visible()
    return id_in_address(page)


def make_alert_hook(page: Page) -> str:
    """Make an alert hook; return its address, shown on the page."""
    page.goto("/app/alerts/new")
    page.get_by_label("Name").fill("Breakouts")
    page.get_by_label("Sender").select_option("JSON")
    page.get_by_label("Expected by").fill("15:00")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Make the hook").click()
    return page.locator(".copied code").first.inner_text()


def _make_alert_hook(page: Page) -> str:
    """Make an alert hook with a readable message and another one."""
    address = make_alert_hook(page)
    page.request.post(address, data="RELIANCE crossed")
    page.request.post(address, data='{"name": "Breakout", "symbol": "NSE:RELIANCE"}')
    page.get_by_role("link", name="I saved it").click()
    expect(page.get_by_text("Breakout NSE:RELIANCE")).to_be_visible()
    return id_in_address(page)


def _make_export(page: Page) -> str:
    page.goto("/app/settings/export")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Create archive").click()
    page.wait_for_url("**/app/settings/export/*")
    ready = page.get_by_role("button", name="Download archive")
    while not ready.is_visible():
        page.get_by_role("link", name="Reload").click()
    return id_in_address(page)


def complaints_of(page: Page) -> list[str]:
    """Return a list to which the page adds its console errors and alerts."""
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
