"""The state of the feed: where bars come from just now, and the last one."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from apps.core.times import moment
from apps.engine.candles import TIMEFRAMES
from apps.market.feeds.active_feed import read_feed
from apps.market.models import BufferedCandle, FeedKind, Replay
from apps.market.rulebook.rule_sets import current_rule_set
from apps.market.rulebook.sessions import is_open

# Longest time between two minutes of a feed.
_FEED_PAUSE: Final = timedelta(minutes=3)


class FeedState(StrEnum):
    """The source of bars just now."""

    LIVE = "live"
    REPLAYING = "replaying"
    REPLAY_PAUSED = "replay_paused"
    MARKET_CLOSED = "market_closed"
    NO_FEED = "no_feed"


@dataclass(frozen=True, slots=True)
class FeedStatus:
    """The feed at a moment: `market_time` is the current time or that of a replay, `last_bar` the
    end of the newest bar that came, None without one since the last compaction.
    """

    state: FeedState
    market_time: datetime
    last_bar: datetime | None


def read_feed_status(*, now: datetime) -> FeedStatus:
    """Return the state of the feed, in at most four statements."""
    feed, replay = read_feed(now), Replay.objects.first()
    is_leased = feed is not None and feed.is_leased(now)
    is_replaying = feed is not None and feed.kind == FeedKind.REPLAY
    if replay is not None or is_replaying:
        state = FeedState.REPLAYING if is_replaying and is_leased else FeedState.REPLAY_PAUSED
        at = now if replay is None else moment(replay.moment)
        return FeedStatus(state, at, None if replay is None else at)
    newest = BufferedCandle.objects.order_by("-received_at").first()
    length = 0 if newest is None else TIMEFRAMES[newest.timeframe]
    last_bar = None if newest is None else moment(newest.time + length)
    pause = max(_FEED_PAUSE, timedelta(seconds=2 * length))
    if is_leased or (newest is not None and now - newest.received_at <= pause):
        return FeedStatus(FeedState.LIVE, now, last_bar)
    trades = is_open(current_rule_set(), "NSE", "shares_with_derivatives", now)
    return FeedStatus(FeedState.NO_FEED if trades else FeedState.MARKET_CLOSED, now, last_bar)
