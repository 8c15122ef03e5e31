"""The services of the market for the apps above: writing candles and rule sets, and the rules for a
strategy.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Final

from django.db import connection, transaction

from apps.core.errors import Code, ServiceError
from apps.core.times import day_in_india, midnight
from apps.engine import Contract
from apps.engine.candles import DAY, TIMEFRAMES, Symbol
from apps.engine.language import Strategy
from apps.market.candles.bar_history import read_stored
from apps.market.candles.writing import SampleInTheWay, append, append_all
from apps.market.feeds.active_feed import (
    FeedEnded,
    FeedIsActive,
    FeedPlan,
    begin_feed,
    change_speed,
    end_feed,
    feed_warning,
    lock_feed,
    read_feed,
    renewing,
    renewing_wait,
)
from apps.market.feeds.clock import (
    end_replay,
    market_moment,
    market_time,
    replay_start,
    replayed_until,
)
from apps.market.feeds.follower import follow
from apps.market.feeds.kite import FeedLost, KiteFeed
from apps.market.feeds.replay import FASTEST, ReplayStep, advance_when_possible, pace, replay_steps
from apps.market.feeds.requests import enqueue_replay, requeue_replay
from apps.market.feeds.status import FeedState, FeedStatus, read_feed_status
from apps.market.importers.bar_times import StampSide
from apps.market.importers.candle_file import (
    CandleImport,
    ImportOptions,
    read_candle_files,
    read_one_series,
)
from apps.market.importers.cleaner import InstrumentBars
from apps.market.importers.tables.content import BadCandleFile
from apps.market.models import Feed, FeedKind, RuleSetVersion
from apps.market.rulebook.contracts import InstrumentFacts, MarketRules
from apps.market.rulebook.files.rule_set import FILES, read_rule_set
from apps.market.rulebook.rule_sets import LOCK_RULEBOOK, current_rule_set, files_of
from apps.market.rulebook.settlements import UnderlyingClose, underlying_of
from apps.market.uploads.services import upload_candles, upload_master
from apps.symbols.services import (
    expiries_of,
    indices_among,
    next_futures,
    symbols_with_derivatives,
    terms_on,
)

__all__ = [
    "FASTEST",
    "BadCandleFile",
    "CandleImport",
    "Feed",
    "FeedEnded",
    "FeedIsActive",
    "FeedKind",
    "FeedLost",
    "FeedPlan",
    "FeedState",
    "FeedStatus",
    "ImportOptions",
    "InstrumentBars",
    "KiteFeed",
    "ReplayStep",
    "SampleInTheWay",
    "StampSide",
    "UnknownRulebookFile",
    "advance_when_possible",
    "append",
    "append_all",
    "begin_feed",
    "change_speed",
    "end_feed",
    "end_replay",
    "enqueue_replay",
    "feed_warning",
    "follow",
    "load_rule_set",
    "lock_feed",
    "market_moment",
    "market_rules_of",
    "market_time",
    "pace",
    "read_candle_files",
    "read_feed",
    "read_feed_status",
    "read_one_series",
    "renewing",
    "renewing_wait",
    "replay_start",
    "replay_steps",
    "replayed_until",
    "requeue_replay",
    "upload_candles",
    "upload_master",
]

# An exchange takes the mean of an index over this time.
_MINUTES: Final = 30


class UnknownRulebookFile(ServiceError):
    """A file that is not part of the rulebook."""

    code = Code.VALIDATION_ERROR
    message = "The rulebook has no {unknown}; its files are {known}."


@transaction.atomic
def load_rule_set(*, files: Mapping[str, str], source: str, now: datetime) -> RuleSetVersion | None:
    """Replace files of the rule set in force by these; return None if nothing changes.

    Raises InvalidRulebook, UnknownRulebookFile.
    """
    unknown = sorted(files.keys() - set(FILES))
    if unknown:
        raise UnknownRulebookFile(unknown=unknown, known=list(FILES))
    with connection.cursor() as cursor:  # one load after the other: each builds on the last one
        cursor.execute(LOCK_RULEBOOK)
    current = files_of(RuleSetVersion.objects.first())
    whole = {**current, **files}
    rule_set = read_rule_set(whole)
    if whole == current:
        return None
    return RuleSetVersion.objects.create(
        files=whole, sha256=rule_set.sha256, source=source, loaded_at=now
    )


def market_rules_of(
    strategy: Strategy, *, first: date, last: date, until: int = Contract.NEVER
) -> MarketRules:
    """Return the rules for a strategy by the rule set in force and the loaded masters, as known at
    a moment: contracts settle by candles that are complete by then.
    """
    symbols = strategy.basicInfo.symbols
    indices, derived = indices_among(symbols), symbols_with_derivatives(symbols)
    expiries, futures = expiries_of(symbols), next_futures(indices, day=last)
    facts = {
        symbol: InstrumentFacts(
            terms_on(symbol=symbol, first=first, last=last),
            symbol in indices,
            symbol in derived,
            expiries.get(symbol),
            futures.get(symbol, ""),
        )
        for symbol in symbols
    }
    rules = MarketRules(current_rule_set(), strategy, facts, first, last)
    settled = {
        symbol: facts[symbol]._replace(underlying=_underlying_close(form, closes, until=until))
        for symbol, form, closes in rules.settling(until)
    }
    return replace(rules, facts=facts | settled)


def _underlying_close(contract: Symbol, closes: int, *, until: int) -> UnderlyingClose | None:
    """Return the price of the underlying when the last session of a contract `closes`, from candles
    that are complete by `until` (both epoch seconds): the stored candle of the day, else the mean
    of the last one-minute closes, else the last close.
    """
    symbol = underlying_of(contract)
    start = midnight(day_in_india(closes - 1))
    if until >= closes:
        official = read_stored(symbol, "1d", start=start, end=start + DAY)
        if len(official):
            price = float(official.close[0])
            return UnderlyingClose(price, f"the close of {symbol}", is_official=True)
    for timeframe, length in TIMEFRAMES.items():
        if length < DAY:
            last = min(until - length + 1, start + DAY)
            bars = read_stored(symbol, timeframe, start=start, end=last)
            if len(bars) and timeframe == "1m":
                mean = float(bars.close[-_MINUTES:].mean())
                found_as = f"the mean of the last {_MINUTES} one-minute closes of {symbol}"
                return UnderlyingClose(mean, found_as)
            if len(bars):
                return UnderlyingClose(float(bars.close[-1]), f"the last close of {symbol}")
    return None
