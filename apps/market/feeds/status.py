"""The state of the feed: where bars come from just now, and the last one."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from apps.core.times import moment
from apps.engine.candles import TIMEFRAMES
from apps.market.models import BufferedCandle, Replay
from apps.market.rulebook.rule_sets import current_rule_set
from apps.market.rulebook.sessions import is_open

# A replay of minutes at the speed of the market moves once a minute.
_REPLAY_PAUSE: Final = timedelta(seconds=90)
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
    """Return the state of the feed, in at most three statements."""
    replay = Replay.objects.first()
    if replay is not None:
        is_moving = now - replay.moved_at <= _REPLAY_PAUSE
        state = FeedState.REPLAYING if is_moving else FeedState.REPLAY_PAUSED
        return FeedStatus(state, moment(replay.moment), moment(replay.moment))
    newest = BufferedCandle.objects.order_by("-received_at").first()
    last_bar = None
    if newest is not None:
        length = TIMEFRAMES[newest.timeframe]
        last_bar = moment(newest.time + length)
        if now - newest.received_at <= max(_FEED_PAUSE, timedelta(seconds=2 * length)):
            return FeedStatus(FeedState.LIVE, now, last_bar)
    trades = is_open(current_rule_set(), "NSE", "shares_with_derivatives", now)
    return FeedStatus(FeedState.NO_FEED if trades else FeedState.MARKET_CLOSED, now, last_bar)
