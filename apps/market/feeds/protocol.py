"""What a feed is: a source of bars that have just closed."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from apps.market.intraday_buffer import CandleRow


class Feed(Protocol):
    """One connection to whoever knows the market's prices, in bars of one minute."""

    def closed(self, *, stopping: Callable[[], bool]) -> Iterator[Mapping[str, CandleRow]]:
        """By symbol, the bars of each minute that has ended, until it is to stop; and several times
        a second none, so that whoever takes them in can see to what is left to do.

        A minute that was not seen from beginning to end has no bar. Raises FeedLost.
        """


class FeedLost(Exception):
    """The source is gone for good: it refuses us, or has been tried often enough."""
