"""Every text field of every form, with markup that must stay text and with bad input."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Response

from tests.console.addresses import PUBLIC_PAGES
from tests.console.browser.trader import Trader, complaints_of
from tests.console.forms import HOSTILE_TEXTS
from tests.faults.service import Service

BAD = ["", "-1", "9" * 40, "2026-02-30", "\u202e💥\u0000", "a" * 3000, "' OR 1=1 --"]
FORMS = "main form:has(input:not([type=hidden]):not([type=checkbox]), textarea)"
# What a text has become if it did not stay one; a page's own data is JSON.
MARKUP = "img[src=x], main script:not([type='application/json']), svg[onload]"
# Types text that the form's own checks would refuse into all of its fields, and sends it.
FILL = """(form, text) => {
    form.noValidate = true;
    for (const field of form.querySelectorAll('input, textarea')) {
        if (['hidden', 'checkbox', 'radio'].includes(field.type)) continue;
        field.removeAttribute('maxlength');
        if (field.type !== 'password' && field.tagName === 'INPUT') field.type = 'text';
        field.value = text;
    }
    const buttons = form.querySelectorAll('button:not([value^="add:"]):not([value^="remove:"])');
    form.requestSubmit(buttons[buttons.length > 1 ? 1 : 0]);
}"""


@pytest.fixture(scope="module")
def account(browser: Browser, up: Service) -> Trader:
    """Return a trader whose rows may hold anything."""
    return Trader.sign_up(browser, up)


@pytest.fixture
def tab(
    browser: Browser, up: Service, account: Trader, request: pytest.FixtureRequest
) -> Iterator[Page]:
    """Yield a page; console errors and dialogs fail the test.

    Wrong passwords of earlier tests are reset: the tenth would end the session.
    """
    with up.database() as database:
        database.execute("UPDATE accounts_loginsession SET wrong_passwords = 0")
        database.execute("DELETE FROM core_counter")
    is_public = request.node.callspec.params["name"] in PUBLIC_PAGES
    window = browser.new_context(
        base_url=account.address, storage_state=None if is_public else account.cookies
    )
    page = window.new_page()
    complaints = complaints_of(page)
    yield page
    assert complaints == []
    window.close()


WITH_FORMS = (
    "home",
    "algorithm",
    "alerts",
    "draft",
    "steps",
    "steps of a draft",
    "json",
    "new backtest",
    "new optimization",
    "new monte carlo",
    "backtest",
    "explanation",
    "run",
    "explanation of a run",
    "new alert hook",
    "alert hook",
    "new address of a hook",
    "coverage",
    "symbol search",
    "sessions and charges",
    "upload",
    "settings",
    "new password",
    "new address",
    "new key",
    "new webhook",
    "new telegram",
    "webhook",
    "new secret",
    "second factor",
    "export",
    "export that is ready",
    "open the admin",
    "close account",
    "sign in",
    "sign up",
    "reset",
)


def test_every_form_is_tested(browser: Browser, account: Trader) -> None:
    with_forms = set()
    for pages, cookies in ((account.pages, account.cookies), (PUBLIC_PAGES, None)):
        window = browser.new_context(base_url=account.address, storage_state=cookies)
        page = window.new_page()
        for name, path in pages.items():
            page.goto(path)
            if page.locator(FORMS).count():
                with_forms.add(name)
        window.close()
    # The form of a replay moves the market of all tests of this service.
    assert with_forms == {*WITH_FORMS, "replay"}


@pytest.mark.parametrize("text", [*HOSTILE_TEXTS, *BAD])
@pytest.mark.parametrize("name", WITH_FORMS)
def test_a_form_takes_or_refuses_any_text(tab: Page, account: Trader, name: str, text: str) -> None:
    path = {**account.pages, **PUBLIC_PAGES}[name]
    tab.goto(path)
    assert urlsplit(tab.url).path == urlsplit(path).path
    count = tab.locator(FORMS).count()
    assert count > 0
    for index in range(count):
        tab.goto(path)
        form = tab.locator(FORMS).nth(index)
        with tab.expect_response(is_answer) as sent:
            form.evaluate(FILL, text)
        assert sent.value.status < 500, sent.value.url
        tab.wait_for_load_state()
        tab.locator("main").wait_for()
        assert tab.locator(MARKUP).count() == 0


def is_answer(response: Response) -> bool:
    """Return whether the response is a page or a part of one."""
    request = response.request
    return request.is_navigation_request() or "hx-request" in request.headers


def test_user_input_is_text_on_every_page(browser: Browser, account: Trader) -> None:
    window = browser.new_context(base_url=account.address, storage_state=account.cookies)
    page = window.new_page()
    complaints = complaints_of(page)
    for text in HOSTILE_TEXTS:
        page.goto(account.pages["algorithm"])
        page.get_by_label("Name", exact=True).fill(text)
        page.get_by_label("Description").fill(text)
        page.get_by_role("button", name="Save the name").click()
        page.goto(account.pages["settings"])
        page.get_by_label("Name", exact=True).fill(text)
        page.get_by_role("button", name="Save profile").click()
        for path in account.pages.values():
            page.goto(path)
            assert page.locator(MARKUP).count() == 0
        page.goto(account.pages["algorithm"])
        assert text in page.get_by_role("heading", level=1).inner_text()
    assert complaints == []
    window.close()


def test_a_problem_is_shown_beside_the_field_while_typing(page: Page, trader: Trader) -> None:
    page.goto(trader.pages["steps"])
    field = page.locator('[name="entryConditions.conditions[0].indicator1.period"]')
    field.fill("0")
    beside = page.locator(f"#{field.get_attribute('aria-describedby')}")
    beside.get_by_text("must be").wait_for()
    field.fill("9")
    beside.get_by_text("must be").wait_for(state="hidden")
