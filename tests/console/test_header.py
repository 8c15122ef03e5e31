"""The header's second row: the market's clock, the feed, the last bar and the open profit."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import LoginSession, User
from apps.console.gate import market_row
from apps.core.database import server_clock
from apps.market.feeds import clock
from apps.market.feeds.active_feed import FeedPlan, begin_feed, take_over
from apps.market.feeds.status import FeedState, read_feed_status
from apps.market.models import BufferedCandle, FeedKind
from tests import make
from tests.console.conftest import Browse
from tests.trading.algorithm_states import hold, start, stopped_algorithm

pytestmark = pytest.mark.django_db

OPEN = datetime(2026, 11, 2, 5, 0, tzinfo=UTC)  # Monday, 10:30 in India
SUNDAY = datetime(2026, 11, 1, 5, 0, tzinfo=UTC)
MOST_STATEMENTS = 5


def receive_bar(*, at: datetime, timeframe: str = "1m", length: int = 60) -> None:
    """Store a bar that ends and comes at this moment."""
    BufferedCandle.objects.create(
        symbol="NSE:NIFTY",
        timeframe=timeframe,
        time=int(at.timestamp()) - length,
        **dict.fromkeys(("open", "high", "low", "close"), 100),
        volume=1,
        received_at=at,
    )


@pytest.mark.parametrize(
    ("now", "state"), [(OPEN, FeedState.NO_FEED), (SUNDAY, FeedState.MARKET_CLOSED)]
)
def test_without_bars_the_calendar_tells_a_lost_feed_from_a_closed_market(
    now: datetime, state: FeedState
) -> None:
    assert read_feed_status(now=now).state == state
    receive_bar(at=now - timedelta(hours=1))
    status = read_feed_status(now=now)
    assert (status.state, status.last_bar) == (state, now - timedelta(hours=1))


@pytest.mark.parametrize(("timeframe", "length"), [("1m", 60), ("15m", 900)])
def test_a_feed_is_live_while_bars_come(timeframe: str, length: int) -> None:
    receive_bar(at=OPEN, timeframe=timeframe, length=length)
    assert read_feed_status(now=OPEN + timedelta(seconds=length)).state == FeedState.LIVE
    later = OPEN + timedelta(seconds=2 * length + 200)
    assert read_feed_status(now=later).state == FeedState.NO_FEED


def test_a_replay_is_marked_and_has_its_own_clock(browse: Browse, alice: User) -> None:
    moment = datetime(2026, 4, 8, 5, 1, tzinfo=UTC)
    clock.move(int(moment.timestamp()), symbols=[], timeframe="1m", now=server_clock.now())
    page = browse(alice).get("/app").content.decode()
    assert "Wed 08 Apr 2026, 10:31 IST" in page
    assert "Last bar 10:31" in page
    assert "Replay paused" in page
    plan = FeedPlan(kind=FeedKind.REPLAY, symbols=["NSE:NIFTY"], timeframe="1m", by_worker=True)
    begin_feed(plan, now=server_clock.now())
    assert read_feed_status(now=server_clock.now()).state == FeedState.REPLAY_PAUSED
    take_over(now=server_clock.now())
    assert read_feed_status(now=server_clock.now()).state == FeedState.REPLAYING


def test_the_row_leads_those_who_may_to_the_replay(browse: Browse, alice: User, bob: User) -> None:
    client = browse(alice)
    assert b"Start a replay" not in client.get("/app").content
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    assert b"Start a replay" in client.get("/app").content


def test_the_row_asks_for_itself_until_the_session_ends(browse: Browse, alice: User) -> None:
    hold(start(stopped_algorithm(alice)), unrealised=1234)
    client = browse(alice)
    part = client.get("/app/market", headers={"HX-Request": "true"}).content.decode()
    assert "1,234" in part
    assert "<html" not in part
    LoginSession.objects.all().delete()
    assert client.get("/app/market").status_code == 286  # htmx stops polling


def test_a_page_that_polls_does_not_keep_an_idle_session(browse: Browse, alice: User) -> None:
    client = browse(alice)
    LoginSession.objects.update(last_used_at=make.NOW)
    client.get("/app/market")
    assert LoginSession.objects.get().last_used_at == make.NOW
    client.get("/app/live")
    assert LoginSession.objects.get().last_used_at > make.NOW


def test_the_row_costs_few_statements(alice: User) -> None:
    hold(start(stopped_algorithm(alice)))
    with CaptureQueriesContext(connection) as queries:
        market_row(alice)
    assert len(queries) <= MOST_STATEMENTS
