"""Taking in what a feed tells, as long as it is followed."""

from collections.abc import Callable, Iterator, Mapping

from django.db import transaction
from django.utils import timezone

from apps.market.feeds.protocol import Feed
from apps.market.feeds.services import receive
from apps.market.live import Row


def follow(feed: Feed, *, stopping: Callable[[], bool]) -> Iterator[Mapping[str, Row]]:
    """Each minute's bars when they are stored, in one transaction a minute. Raises FeedLost."""
    for bars in feed.closed(stopping=stopping):
        with transaction.atomic():
            for symbol, row in bars.items():
                receive(symbol=symbol, timeframe="1m", rows=[row], now=timezone.now())
        yield bars
