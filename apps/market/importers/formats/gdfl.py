"""Global Datafeeds: one file a day, all contracts by the minute.

Tickers end in their segment: `RELIANCE.NSE`, `BANKNIFTY26MAY2643000PE.NFO`. Continuous futures
(`NIFTY-I.NFO`) are no contract and have no symbol. Its stamps mark the end of a minute, most of
them as its last second (09:15:59).
"""

from typing import Final

from apps.market.importers.bar_columns import Instruments, Named
from apps.market.importers.file_format import Profile, Side
from apps.market.importers.instrument_names import (
    Contract,
    apart,
    day_first_contract,
    groups,
    named,
    named_contracts,
    share,
)
from apps.market.importers.layout import COMMON, Layout
from apps.market.importers.tables import Table

_SEGMENTS: Final = {
    "NSE": "NSE", "NFO": "NSE", "NSE_IDX": "NSE", "BSE": "BSE", "BFO": "BSE", "BSE_IDX": "BSE",
    "MCX": "MCX", "NCX": "NCDEX",
}  # fmt: skip
_CASH: Final = frozenset({"NSE", "NSE_IDX", "BSE", "BSE_IDX"})


def by_ticker(table: Table, layout: Layout) -> Instruments:
    of, keys = groups(table, ["ticker"])
    each = [_by_ticker(name) for (name,) in keys]
    contracts = iter(named_contracts(one for one in each if isinstance(one, Contract)))
    done = [next(contracts) if isinstance(one, Contract) else one for one in each]
    return Instruments(of, apart(done, [name for (name,) in keys]), "column Ticker")


def _by_ticker(ticker: str) -> Contract | Named:
    name, _, segment = ticker.rpartition(".")
    exchange = _SEGMENTS.get(segment)
    if exchange is None:
        return Named(ticker, None, f"segment {segment!r}")
    if segment in _CASH:
        return named(ticker, share(exchange, name))
    contract = day_first_contract(name, exchange)
    return contract or Named(ticker, None, "continuous futures and other names of no one contract")


PROFILE: Final = Profile(
    name="Global Datafeeds",
    marks=frozenset({"ticker", "date", "time", "open", "openinterest"}),
    columns={**COMMON, "symbol": ("ticker",)},
    instruments=by_ticker,
    stamps=Side.END,
)
