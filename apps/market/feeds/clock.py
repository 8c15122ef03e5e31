"""The market's time: the current time, or the moment of a replay of history."""

from collections.abc import Iterable
from datetime import UTC, datetime

from django.db import transaction

from apps.engine.candles import TIMEFRAMES
from apps.market.candles import buffer
from apps.market.models import Replay


def market_time(now: datetime) -> int:
    """Return the market's time in epoch seconds.

    A trader does not see bars that end later (`reading.read_closed`).
    """
    replayed = replayed_until()
    return replayed if replayed is not None else int(now.timestamp())


def market_moment(now: datetime) -> datetime:
    """Return the market's time as a datetime; its date decides about tradability."""
    replayed = replayed_until()
    return now if replayed is None else datetime.fromtimestamp(replayed, tz=UTC)


def replayed_until() -> int | None:
    """Return the moment of the replay; None without one."""
    return Replay.objects.values_list("moment", flat=True).first()


def replay_start() -> int | None:
    """Return the start of the first replayed bars; None without a replay."""
    return Replay.objects.values_list("start", flat=True).first()


@transaction.atomic
def move(moment: int, *, symbols: Iterable[str], timeframe: str, now: datetime) -> None:
    """Move the replay to a moment and announce new bars of these symbols.

    Without a replay, or for an earlier moment, a replay begins there.
    """
    start = moment - TIMEFRAMES[timeframe]
    replay, is_new = Replay.objects.select_for_update().get_or_create(
        id=Replay.SINGLETON_ID, defaults={"start": start, "moment": moment, "moved_at": now}
    )
    if not is_new:
        replay.start = start if moment < replay.moment else replay.start
        replay.moment, replay.moved_at = moment, now
        replay.save()
    buffer.notify(symbols, timeframe)


def end_replay() -> bool:
    """Return to the current time; return whether there was a replay."""
    return Replay.objects.all().delete()[0] > 0
