"""Which algorithms wait for bars that a feed does not bring."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from apps.engine.candles import TIMEFRAMES
from apps.market import store
from apps.trading.models import Run


class UnfedAlgorithm(NamedTuple):
    """An algorithm that trades, and those of its symbols that get no bars."""

    algorithm_id: str
    name: str
    timeframe: str
    symbols: tuple[str, ...]


def find_unfed_algorithms(
    symbols: Collection[str], timeframe: str, *, stored_from: int | None = None
) -> Iterator[UnfedAlgorithm]:
    """Yield the algorithms that get no bars, or not of all their symbols, of a feed that brings
    bars of `timeframe` of these symbols.

    A replay from the moment `stored_from` (epoch seconds) on also shows what is stored of others.
    """
    live = Run.objects.live().select_related("algorithm").order_by("algorithm__name", "pk")
    for run in live:
        basics = run.configuration["basicInfo"]
        wanted: str = basics["timeframe"]
        fed = set(symbols) if TIMEFRAMES[wanted] >= TIMEFRAMES[timeframe] else set()
        missing = tuple(
            symbol
            for symbol in basics["symbols"]
            if symbol not in fed and not _is_stored(symbol, wanted, stored_from)
        )
        if missing:
            yield UnfedAlgorithm(run.algorithm_id, run.algorithm.name, wanted, missing)


def _is_stored(symbol: str, timeframe: str, since: int | None) -> bool:
    return since is not None and len(store.read(symbol, timeframe, start=since, end=2**62)) > 0
