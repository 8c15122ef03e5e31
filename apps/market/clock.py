"""What time it is on the market: the time, or where a replay of history stands."""

from collections.abc import Iterable
from datetime import UTC, datetime

from django.db import transaction

from apps.engine.candles import TIMEFRAMES
from apps.market import intraday_buffer
from apps.market.models import Replay


def market_time(now: datetime) -> int:
    """Epoch seconds. Bars that end later are not seen by whoever trades (`store.read_closed`)."""
    replayed = replayed_until()
    return replayed if replayed is not None else int(now.timestamp())


def market_moment(now: datetime) -> datetime:
    """The same as a moment: by its day one asks what may be traded."""
    replayed = replayed_until()
    return now if replayed is None else datetime.fromtimestamp(replayed, tz=UTC)


def replayed_until() -> int | None:
    """Where a replay stands; None without one."""
    return Replay.objects.values_list("moment", flat=True).first()


def replay_began() -> int | None:
    """The start of the first bars that are replayed; None without a replay."""
    return Replay.objects.values_list("began", flat=True).first()


@transaction.atomic
def move(moment: int, *, symbols: Iterable[str], timeframe: str, now: datetime) -> None:
    """Let the replay stand at a moment, and tell that these symbols have new bars. It begins there
    if there is none, and begins anew if that is earlier.
    """
    begins = moment - TIMEFRAMES[timeframe]
    replay, is_new = Replay.objects.select_for_update().get_or_create(
        id=Replay.SINGLETON_ID, defaults={"began": begins, "moment": moment, "moved_at": now}
    )
    if not is_new:
        replay.began = begins if moment < replay.moment else replay.began
        replay.moment, replay.moved_at = moment, now
        replay.save()
    intraday_buffer.notify(symbols, timeframe)


def end_replay() -> bool:
    """Back to the time as it is; whether there was a replay."""
    return Replay.objects.all().delete()[0] > 0
