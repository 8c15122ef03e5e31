"""Kite Connect's WebSocket (Zerodha) as a feed, by the public package `kiteconnect`.

Its documentation is https://kite.trade/docs/connect/v3/websocket/. The package reconnects and
subscribes again; an interrupted minute makes no bar.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any, Final

from apps.market.candles.buffer import CandleRow
from apps.market.feeds.ticks import MinuteBars, Tick

INSTALL: Final = "install it by .venv/bin/python -m pip install 'kiteconnect>=5.2.2'"
# Seconds between two checks of the clock.
_POLL: Final = 0.2

# Ticks; or the moment (epoch seconds) of a new connection; None if it is gone for good.
KiteUpdate = Sequence[Tick] | int | None


class FeedLost(Exception):
    """The source is gone for good: it refuses the connection, or has been tried often enough."""


class KiteFeed:
    """The feed of Kite; `tokens` are symbols by Kite's instrument tokens.

    An access token is valid for one day. `root` is the address of the server, by default Kite's
    own; `clock` returns the time that ends minutes (epoch seconds).
    """

    def __init__(
        self,
        *,
        api_key: str,
        access_token: str,
        tokens: Mapping[int, str],
        root: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        try:
            from kiteconnect import KiteTicker  # imports a network stack that nothing else needs
        except ImportError as error:
            raise FeedLost(f"Kite's feed needs a package ({error}): {INSTALL}") from error
        self._tokens, self._clock, self._updates = tokens, clock, SimpleQueue[KiteUpdate]()
        self._ticker = KiteTicker(api_key, access_token, root=root)
        self._ticker.on_connect = self._subscribe
        self._ticker.on_ticks = self._receive
        self._ticker.on_noreconnect = lambda _: self._updates.put(None)

    def closed(self, *, stopping: Callable[[], bool]) -> Iterator[Mapping[str, CandleRow]]:
        """Yield the bars of each minute that has ended by symbol, until `stopping`; several times a
        second yield none.

        A minute that was not observed from beginning to end has no bar. Raises FeedLost.
        """
        self._ticker.connect(threaded=True)
        minutes = MinuteBars(connected_at=int(self._clock()))
        try:
            while not stopping():
                self._follow(minutes)
                yield from minutes.ended(int(self._clock())) or [{}]
        finally:
            self._ticker.close()

    def _follow(self, minutes: MinuteBars) -> None:
        try:
            update = self._updates.get(timeout=_POLL)
        except Empty:
            return
        if update is None:
            raise FeedLost("Kite's WebSocket does not take the connection.")
        if isinstance(update, int):
            minutes.begin_anew(update)
            return
        for tick in update:
            minutes.add(tick)

    # Any: the package is untyped, and calls these from a thread of its own; a tick is a dictionary.
    def _subscribe(self, ticker: Any, response: Any) -> None:
        self._updates.put(int(self._clock()))
        ticker.subscribe(list(self._tokens))
        ticker.set_mode(ticker.MODE_FULL, list(self._tokens))

    def _receive(self, ticker: Any, ticks: Sequence[Mapping[str, Any]]) -> None:
        trades = [trade for tick in ticks if (trade := self._tick(tick)) is not None]
        if trades:
            self._updates.put(trades)

    def _tick(self, tick: Mapping[str, Any]) -> Tick | None:
        """Return a tick of the package, None without a trade or for an unknown instrument."""
        symbol = self._tokens.get(tick["instrument_token"])
        moment = tick.get("last_trade_time") or tick.get("exchange_timestamp")
        if symbol is None or not isinstance(moment, datetime):
            return None
        volume = tick.get("volume_traded")
        return Tick(
            symbol,
            int(moment.timestamp()),  # the package has it in the machine's own time zone
            float(tick["last_price"]),
            None if volume is None else float(volume),
        )
