"""Single trades, made into bars of one minute."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from apps.market.candles.buffer import CandleRow

MINUTE: Final = 60
# The time after a minute in which its last trades may still arrive.
LATE_TRADE_SECONDS: Final = 2


class Tick(NamedTuple):
    """The last trade of a symbol: its moment (epoch seconds), its price, and the units traded that
    day (None for an index).
    """

    symbol: str
    time: int
    price: float
    volume: float | None


@dataclass(slots=True)
class _Bar:
    """A bar under construction; `traded` counts the units of the day."""

    open: float
    high: float
    low: float
    close: float
    traded_before: float
    traded: float

    def row(self, time: int) -> CandleRow:
        volume = self.traded - self.traded_before
        return time, self.open, self.high, self.low, self.close, volume


class MinuteBars:
    """Makes bars of trades.

    A minute in which the connection began or was lost makes no bar, because trades may be missing;
    a minute without a trade makes none either.
    """

    def __init__(self, *, connected_at: int) -> None:
        self._open: dict[int, dict[str, _Bar]] = {}
        self._traded: dict[str, float | None] = {}
        self._whole_from = 0
        self._done_until = 0
        self.begin_anew(connected_at)

    def begin_anew(self, now: int) -> None:
        """Record a new connection: the next minute is the first complete one."""
        self._whole_from = now - now % MINUTE + MINUTE
        self._open.clear()

    def add(self, tick: Tick) -> None:
        """Add a trade; a trade of an already returned minute is too late."""
        minute = tick.time - tick.time % MINUTE
        before = self._traded.get(tick.symbol, tick.volume)
        is_new = tick.volume is None or tick.symbol not in self._traded or tick.volume != before
        self._traded[tick.symbol] = tick.volume
        if minute < max(self._whole_from, self._done_until) or not is_new:
            return
        bars = self._open.setdefault(minute, {})
        bar = bars.get(tick.symbol)
        if bar is None:
            price, traded = tick.price, tick.volume or 0.0
            bar = _Bar(price, price, price, price, _units(before, tick.volume), traded)
            bars[tick.symbol] = bar
        bar.high, bar.low = max(bar.high, tick.price), min(bar.low, tick.price)
        bar.close, bar.traded = tick.price, tick.volume or 0.0

    def ended(self, now: int) -> list[Mapping[str, CandleRow]]:
        """Return the bars of each completed minute, in order, each once."""
        due = sorted(minute for minute in self._open if minute + MINUTE + LATE_TRADE_SECONDS <= now)
        if due:
            self._done_until = due[-1] + MINUTE
        return [
            {symbol: bar.row(minute) for symbol, bar in self._open.pop(minute).items()}
            for minute in due
        ]


def _units(before: float | None, now: float | None) -> float:
    """Return the units traded before; a count that restarts belongs to another day."""
    return before if before is not None and now is not None and before <= now else 0.0
