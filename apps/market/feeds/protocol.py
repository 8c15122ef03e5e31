"""The protocol of a feed: a source of bars that have just closed."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from apps.market.candles.buffer import CandleRow


class Feed(Protocol):
    """A connection to a source of market prices, in bars of one minute."""

    def closed(self, *, stopping: Callable[[], bool]) -> Iterator[Mapping[str, CandleRow]]:
        """Yield the bars of each completed minute by symbol, until `stopping`; yield an empty
        result several times a second, so that the caller can do other work.

        A minute that was not observed from beginning to end has no bar. Raises FeedLost.
        """


class FeedLost(Exception):
    """The source is permanently lost: it refuses the connection, or all retries failed."""
