"""Kite Connect's WebSocket as a feed, by the public package `kiteconnect` (Zerodha).

Documented at https://kite.trade/docs/connect/v3/websocket/. The package reconnects by itself and
subscribes again; a minute that was cut by that makes no bar.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any, Final

from apps.market.feeds.protocol import FeedLost
from apps.market.feeds.ticks import MinuteBars, Tick
from apps.market.intraday_buffer import CandleRow

INSTALL: Final = "install it by .venv/bin/python -m pip install 'kiteconnect>=5.2.2'"
_LOOK: Final = 0.2
"""Seconds between two looks at the clock."""

News = Sequence[Tick] | int | None
"""Ticks; or that the connection is there, since when (epoch seconds); None: it is gone for good."""


class KiteFeed:
    """`tokens` are symbols by Kite's instrument tokens, as its list of instruments has them.

    An access token is of one day. `root` is the address of the server, Kite's own unless told
    otherwise; `clock` says when minutes are over (epoch seconds).
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
            from kiteconnect import KiteTicker  # brings a network stack that nobody else needs
        except ImportError as error:
            raise FeedLost(f"Kite's feed needs a package ({error}): {INSTALL}") from error
        self._tokens, self._clock, self._news = tokens, clock, SimpleQueue[News]()
        self._ticker = KiteTicker(api_key, access_token, root=root)
        self._ticker.on_connect = self._subscribe
        self._ticker.on_ticks = self._take
        self._ticker.on_noreconnect = lambda _: self._news.put(None)

    def closed(self, *, stopping: Callable[[], bool]) -> Iterator[Mapping[str, CandleRow]]:
        """As the protocol has it."""
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
            news = self._news.get(timeout=_LOOK)
        except Empty:
            return
        if news is None:
            raise FeedLost("Kite's WebSocket does not take the connection.")
        if isinstance(news, int):
            minutes.begin_anew(news)
            return
        for tick in news:
            minutes.add(tick)

    # Any: the package is untyped, and calls these from a thread of its own.
    def _subscribe(self, ticker: Any, response: Any) -> None:
        self._news.put(int(self._clock()))
        ticker.subscribe(list(self._tokens))
        ticker.set_mode(ticker.MODE_FULL, list(self._tokens))

    def _take(self, ticker: Any, ticks: Sequence[Mapping[str, Any]]) -> None:
        """Any: as above; a tick is a dictionary that the package describes."""
        told = [tick for each in ticks if (tick := self._tick(each)) is not None]
        if told:
            self._news.put(told)

    def _tick(self, told: Mapping[str, Any]) -> Tick | None:
        """None of one that tells no trade, or is of an instrument we did not ask for. Any: as
        above.
        """
        symbol = self._tokens.get(told["instrument_token"])
        moment = told.get("last_trade_time") or told.get("exchange_timestamp")
        if symbol is None or not isinstance(moment, datetime):
            return None
        volume = told.get("volume_traded")
        return Tick(
            symbol,
            int(moment.timestamp()),  # the package has it in the machine's own time zone
            float(told["last_price"]),
            None if volume is None else float(volume),
        )
