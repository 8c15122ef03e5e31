"""The live board in Chromium: one stream for all tabs, through changes of tabs, networks and
logins.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from itertools import count

import numpy as np
import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect

from tests.console.browser.trader import sign_up, start_run
from tests.faults.service import Service

CHANGE = """
    UPDATE trading_position SET unrealised = %s
    FROM trading_run WHERE trading_run.id = run_id AND algorithm_id = %s
"""
COUNT_STREAMS = """
    SELECT count(*) FROM accounts_streamslot AS slot
    JOIN accounts_loginsession AS session ON session.id = slot.session_id
    JOIN algorithms_algorithm AS algorithm ON algorithm.owner_id = session.user_id
    WHERE algorithm.id = %s AND slot.kept_until > now()
"""
# Keeps when each text of the board was first seen.
OBSERVE = """() => {
    window.seen = {};
    const board = document.getElementById('live-table');
    new MutationObserver(() => {
        const texts = board.innerText.match(/₹[0-9,]+/g) ?? [];
        for (const text of texts) window.seen[text] ??= Date.now();
    }).observe(board, { childList: true, subtree: true, characterData: true });
}"""
FOLLOWS, WAITS = "Live", "Offline: trying again"
CROWDED = "Offline: this login has too many event streams. Trying again"
MOST_STREAMS, UPDATES = 4, 40
_amounts = count(1_001)


class Board:
    """The live board of a trader with an algorithm that trades, in tabs of one browser."""

    def __init__(self, context: BrowserContext, database: psycopg.Connection, up: Service) -> None:
        self.context = context
        self._database = database
        self._port = up.port
        page = context.new_page()
        sign_up(page)
        self.algorithm = start_run(page, up)
        page.close()

    def open(self) -> Page:
        """Open one more tab, and wait until it follows."""
        page = self.context.new_page()
        page.goto("/app/live")
        expect(page.locator("#stream")).to_have_text(FOLLOWS)
        return page

    def change(self) -> tuple[str, float]:
        """Commit another profit; return it in the board's form, and the time of the commit."""
        amount = next(_amounts)
        self._database.execute(CHANGE, [amount, self.algorithm])
        return f"₹{amount:,}", time.time()

    def count_streams(self) -> int:
        """Return the number of the trader's event streams."""
        row = self._database.execute(COUNT_STREAMS, [self.algorithm]).fetchone()
        assert row is not None
        return int(row[0])

    @contextmanager
    def stream(self) -> Iterator[HTTPResponse]:
        """Begin an event stream as another program with the browser's cookies."""
        cookies = [f"{cookie['name']}={cookie['value']}" for cookie in self.context.cookies()]
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=30)) as connection:
            connection.request("GET", "/api/events", headers={"Cookie": "; ".join(cookies)})
            response = connection.getresponse()
            assert response.status == 200
            yield response


@pytest.fixture
def board(browser: Browser, address: str, up: Service) -> Iterator[Board]:
    with up.database() as database, closing(browser.new_context(base_url=address)) as context:
        yield Board(context, database, up)


def test_an_update_is_seen_soon_after_its_commit(board: Board) -> None:
    page = board.open()
    page.evaluate(OBSERVE)
    seconds = []
    for _ in range(UPDATES):
        text, committed = board.change()
        expect(page.locator("#live-table")).to_contain_text(text)
        seconds.append(page.evaluate("text => window.seen[text]", text) / 1000 - committed)
        page.wait_for_timeout(600)  # longer than a page waits between two changes
    half, most = np.quantile(seconds, [0.5, 0.95])
    print(f"\nfrom a commit to the board: half within {half:.2f} s, 95 % within {most:.2f} s")


def test_another_tab_takes_over_when_the_reading_tab_is_closed(board: Board) -> None:
    reading, other = board.open(), board.open()
    assert board.count_streams() == 1
    reading.close()
    text, _ = board.change()
    expect(other.locator("#live-table")).to_contain_text(text)
    expect(other.locator("#stream")).to_have_text(FOLLOWS)
    text, _ = board.change()
    expect(other.locator("#live-table")).to_contain_text(text)


def test_another_tab_takes_over_when_the_reading_tab_crashes(board: Board) -> None:
    reading, other = board.open(), board.open()
    with reading.expect_event("crash"), suppress(Error):
        reading.goto("chrome://crash", timeout=5_000)
    text, _ = board.change()
    expect(other.locator("#live-table")).to_contain_text(text, timeout=15_000)


def test_a_login_with_all_streams_in_use_gets_a_notice_and_tries_again(board: Board) -> None:
    with ExitStack() as opened:
        for _ in range(MOST_STREAMS):
            opened.enter_context(board.stream())
        page = board.context.new_page()
        page.goto("/app/live")
        expect(page.locator("#stream")).to_have_text(CROWDED)
    expect(page.locator("#stream")).to_have_text(FOLLOWS, timeout=60_000)
    text, _ = board.change()
    expect(page.locator("#live-table")).to_contain_text(text)


def test_a_browser_reconnects_after_a_lost_network(board: Board) -> None:
    page = board.open()
    board.context.set_offline(True)
    expect(page.locator("#stream")).to_have_text(WAITS, timeout=60_000)
    text, _ = board.change()
    board.context.set_offline(False)
    expect(page.locator("#live-table")).to_contain_text(text, timeout=10_000)
    expect(page.locator("#stream")).to_have_text(FOLLOWS)


def test_the_header_says_that_the_service_is_out_of_reach(board: Board) -> None:
    page = board.open()
    board.context.set_offline(True)
    expect(page.locator("#market")).to_contain_text("Offline", timeout=30_000)
    board.context.set_offline(False)
    expect(page.locator("#market")).not_to_contain_text("Offline", timeout=30_000)


def test_a_sign_out_in_another_tab_ends_the_stream(board: Board) -> None:
    page, other = board.open(), board.open()
    other.get_by_role("button", name="Sign out").click()
    expect(page.locator("#stream")).to_have_text("Signed out", timeout=30_000)


def test_a_stream_ends_within_five_seconds_of_its_session(board: Board) -> None:
    page = board.open()
    with board.stream() as response:
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/app/sign-in")
        began = time.monotonic()
        response.read()
        seconds = time.monotonic() - began
    print(f"\nthe stream ended {seconds:.1f} s after its session")
    assert seconds < 5
