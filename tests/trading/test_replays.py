"""Replays from the console: rights, one feed at a time, and the end that pauses algorithms."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from procrastinate.contrib.django.models import ProcrastinateJob
from pytest_django import Settings

from apps.accounts.models import User
from apps.core import database
from apps.core.errors import Forbidden, InvalidInput
from apps.core.models import AuditRecord
from apps.market.feeds import active_feed, clock, replay
from apps.market.feeds.active_feed import FEED_LEASE, FeedEnded, FeedPlan, ReplayInProgress
from apps.market.feeds.requests import requeue_replay
from apps.market.models import Feed, FeedKind
from apps.market.services import FeedIsActive, begin_feed, read_feed
from apps.trading import services
from apps.trading.models import RunState
from apps.webhooks.models import Event
from tests import make
from tests.console.conftest import Browse, browse
from tests.market.bars import at, rising_minutes, store_candles
from tests.trading.algorithm_states import algorithm_in

__all__ = ["browse"]

SBIN, TCS = "NSE:SBIN", "NSE:TCS"
DAY = "2026-10-29"
LIVE = FeedPlan(kind=FeedKind.LIVE, symbols=[SBIN], timeframe="1m")
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def stored() -> None:
    for symbol in (SBIN, TCS):
        store_candles(symbol, "1m", rising_minutes(f"{DAY} 09:15", 10))


@pytest.fixture
def olga(alice: User) -> User:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    alice.refresh_from_db()
    return alice


def begin(user: User, *, speed: float | None = None, start: str | None = f"{DAY} 09:15") -> Feed:
    return services.start_replay(
        user=user,
        symbols=[SBIN],
        start=at(start) if start else None,
        until=None,
        speed=speed,
        now=database.now(),
    )


def play(steps: int = 10**6) -> None:
    """Play until this many steps have begun."""
    left = iter(range(steps))
    replay.play_requested(stopping=lambda: next(left, None) is None)


def test_a_worker_plays_the_stored_candles_to_their_end(olga: User) -> None:
    begin(olga)
    assert ProcrastinateJob.objects.get(queue_name="replays").task_name == "market.replay"
    play()
    assert clock.replayed_until() == at(f"{DAY} 09:25")
    assert read_feed(database.now()) is None
    assert AuditRecord.objects.get(action="replay_started").actor == olga.pk


def test_a_stopped_worker_leaves_the_replay_to_another_one(olga: User) -> None:
    begin(olga)
    play(3)
    assert clock.replayed_until() == at(f"{DAY} 09:18")
    ProcrastinateJob.objects.all().delete()
    assert requeue_replay(now=database.now()) == 1
    assert ProcrastinateJob.objects.filter(queue_name="replays").count() == 1
    play()
    assert clock.replayed_until() == at(f"{DAY} 09:25")
    assert requeue_replay(now=database.now()) == 0


def test_the_replay_of_a_killed_worker_continues_when_its_lease_is_over(olga: User) -> None:
    begin(olga)
    killed = active_feed.take_over(now=database.now())
    assert killed is not None
    assert requeue_replay(now=database.now()) == 0
    later = database.now() + FEED_LEASE
    assert requeue_replay(now=later) == 1
    assert active_feed.take_over(now=later) is not None
    with pytest.raises(FeedEnded):
        active_feed.renew_feed(killed.token)


def test_the_replay_of_a_killed_worker_can_be_ended_and_begun_again(olga: User) -> None:
    begin(olga)
    killed = active_feed.take_over(now=database.now())
    assert killed is not None
    assert services.stop_replay(user=olga, now=database.now())
    begin(olga, start=f"{DAY} 09:20")
    play()
    assert clock.replay_start() == at(f"{DAY} 09:20")
    with pytest.raises(FeedEnded):
        active_feed.renew_feed(killed.token)


def test_an_ended_replay_moves_the_clock_no_more(olga: User) -> None:
    begin(olga)
    feed = active_feed.take_over(now=database.now())
    assert feed is not None
    assert services.stop_replay(user=olga, now=database.now())
    step = next(replay.replay_steps({SBIN: rising_minutes(f"{DAY} 09:15", 1)}, "1m"))
    with pytest.raises(FeedEnded):
        replay.advance_when_possible(step, "1m", token=feed.token, stored=True, wait=print)
    assert clock.replayed_until() is None
    assert not services.stop_replay(user=olga, now=database.now())


def test_a_replay_continues_where_the_market_stands(olga: User) -> None:
    begin(olga)
    play(3)
    active_feed.end_feed()
    assert begin(olga, start=f"{DAY} 09:24").start == at(f"{DAY} 09:18")


def test_another_speed_is_taken_over_by_another_worker(olga: User) -> None:
    begin(olga, speed=60.0)
    first = active_feed.take_over(now=database.now())
    assert services.change_replay_speed(user=olga, speed=None, now=database.now())
    second = active_feed.take_over(now=database.now())
    assert first is not None
    assert second is not None
    assert (first.speed, second.speed) == (60.0, None)
    with pytest.raises(FeedEnded):
        active_feed.renew_feed(first.token)


def test_only_one_feed_is_active(olga: User, settings: Settings) -> None:
    begin(olga)
    with pytest.raises(FeedIsActive, match=f"a replay of {SBIN} already"):
        begin(olga)
    with pytest.raises(FeedIsActive):
        begin_feed(LIVE, now=database.now())
    with pytest.raises(CommandError, match="already"):
        call_command("feed", "--symbols", SBIN, "--from", DAY, "--speed", "max", stdout=StringIO())
    with pytest.raises(IntegrityError, match="one_feed_at_most"), transaction.atomic():
        Feed.objects.create(id=2)


def test_a_live_feed_and_a_replay_exclude_each_other(olga: User) -> None:
    now = database.now()
    begin_feed(LIVE, now=now)
    with pytest.raises(FeedIsActive, match="a live feed of NSE:SBIN"):
        begin(olga)
    Feed.objects.update(leased_until=now)  # its process was killed
    begin(olga)
    play(3)
    active_feed.end_feed()
    with pytest.raises(ReplayInProgress):
        begin_feed(LIVE, now=now)


def test_a_replay_without_candles_is_refused(olga: User) -> None:
    with pytest.raises(InvalidInput, match="the last stored candle is of 29 October 2026, 09:24"):
        begin(olga, start="2026-10-30 09:15")
    with pytest.raises(InvalidInput, match="have no stored candles"):
        services.start_replay(
            user=olga, symbols=["NSE:NONE"], start=None, until=None, speed=None, now=database.now()
        )


def test_only_operators_and_a_lone_trader_on_a_loopback_may_replay(
    alice: User, settings: Settings
) -> None:
    settings.EMBEDDED_DATABASE = settings.SERVES_LOOPBACK_ALONE = True
    assert services.may_replay(alice)
    settings.SERVES_LOOPBACK_ALONE = False
    assert not services.may_replay(alice)
    settings.SERVES_LOOPBACK_ALONE, settings.EMBEDDED_DATABASE = True, False
    assert not services.may_replay(alice)
    settings.EMBEDDED_DATABASE = True
    make.user("second")
    assert not services.may_replay(alice)
    with pytest.raises(Forbidden):
        begin(alice)
    alice.is_staff = True
    assert services.may_replay(alice)


def test_the_end_pauses_active_algorithms_with_an_event(olga: User, bob: User) -> None:
    active = algorithm_in(bob, "active")
    begin(olga)
    play()
    assert services.stop_replay(user=olga, now=database.now())
    active.refresh_from_db()
    assert active.status == "paused"
    assert active.status_changes.latest("id").reason == "the replay has ended"
    assert Event.objects.filter(owner=bob).latest("sequence").type == "algorithm.paused"
    assert clock.replayed_until() is None


def test_a_resumed_run_counts_missing_bars_from_then_on(bob: User) -> None:
    algorithm = algorithm_in(bob, "paused")
    now = database.now()
    services.resume(owner=bob, algorithm_id=algorithm.pk, now=now)
    assert RunState.objects.get().resumed_at == int(now.timestamp())


def test_the_page_begins_and_ends_a_replay(browse: Browse, olga: User) -> None:
    client = browse(olga)
    page = client.get("/app/data/replay").content.decode()
    assert 'value="2026-10-29"' in page
    assert f"{SBIN}, {TCS}" in page
    form = {"action": "start", "symbols": f"{SBIN} {TCS}", "from": DAY, "speed": "max"}
    assert client.post("/app/data/replay", form).status_code == 302
    assert "Waiting for a worker" in client.get("/app/data/replay").content.decode()
    play(3)
    part = client.get("/app/data/replay", headers={"HX-Request": "true"}).content.decode()
    assert "29 Oct 2026, 09:18 IST" in part
    assert "<html" not in part
    assert client.post("/app/data/replay", {"action": "end"}).status_code == 302
    assert clock.replayed_until() is None


def test_symbols_without_these_candles_are_left_out_and_named(browse: Browse, olga: User) -> None:
    store_candles("NSE:INFY", "1d", rising_minutes(f"{DAY} 00:00", 1))
    form = {"action": "start", "symbols": f"{SBIN} NSE:INFY NSE:NONE", "from": DAY, "speed": "max"}
    page = browse(olga).post("/app/data/replay", form, follow=True).content.decode()
    assert "Left out, as they have no 1m candles: NSE:INFY, NSE:NONE." in page
    feed = read_feed(database.now())
    assert feed is not None
    assert feed.symbols == [SBIN]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"symbols": "SBIN"}, "SBIN"),
        ({"symbols": SBIN, "from": "soon"}, "is not a time"),
        ({"symbols": SBIN, "from": "2026-11-01"}, "must be earlier"),
        ({"symbols": SBIN, "speed": "0"}, "must be one of"),
    ],
)
def test_the_page_says_which_field_is_wrong(
    browse: Browse, olga: User, form: dict[str, str], message: str
) -> None:
    answer = browse(olga).post("/app/data/replay", {"action": "start", "speed": "60", **form})
    assert answer.status_code == 400
    assert message in answer.content.decode()


def test_the_page_is_closed_to_traders(browse: Browse, alice: User, bob: User) -> None:
    client = browse(alice)
    assert client.get("/app/data/replay").status_code == 403
    assert client.post("/app/data/replay", {"action": "end"}).status_code == 403
    assert "/app/data/replay" not in client.get("/app/data").content.decode()


def test_a_start_says_that_no_feed_brings_prices(browse: Browse, olga: User) -> None:
    algorithm = algorithm_in(olga, "paused")
    client = browse(olga)
    page = client.get(f"/app/algorithms/{algorithm.pk}").content.decode()
    assert "No feed brings prices now." in page
    assert '<a href="/app/data/replay">Replay history</a>' in page
    began = services.resume(owner=olga, algorithm_id=algorithm.pk, now=database.now())
    assert began.warnings[-1].message.startswith("No feed brings prices now.")


def test_warnings_name_the_state_of_the_feed(olga: User) -> None:
    now = database.now()

    def warning() -> str:
        return active_feed.feed_warning([SBIN, TCS], now=now)

    assert "The last candle of NSE:SBIN is of 29 October 2026, 09:24 IST." in warning()
    assert "There are no candles of NSE:NONE." in active_feed.feed_warning(["NSE:NONE"], now=now)
    begin_feed(LIVE, now=now)
    assert warning() == "The live feed does not bring NSE:TCS."
    active_feed.end_feed()
    begin(olga)
    assert warning() == ""
    play(3)
    active_feed.end_feed()
    assert warning().startswith("The replay stands still at 29 October 2026, 09:18 IST.")


def test_waiting_ends_when_the_process_is_to_stop_or_the_feed_was_ended(olga: User) -> None:
    token = begin_feed(LIVE, now=database.now()).token
    slept: list[float] = []
    active_feed.renewing_wait(token, sleep=slept.append)(1.2)
    assert sum(slept) == pytest.approx(1.2)
    with pytest.raises(FeedEnded):
        active_feed.renewing_wait(token, sleep=slept.append, stopping=lambda: True)(1.0)
    assert list(active_feed.renewing([1, 2], token=token)) == [1, 2]


def test_a_lease_holds_longer_than_its_renewal() -> None:
    assert timedelta(seconds=3 * active_feed.RENEWAL_SECONDS) < FEED_LEASE
