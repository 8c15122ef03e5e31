"""NSE's old bhavcopy of futures and options.

Its volume counts contracts, and it does not say how many units one is.
"""

from typing import Final

from apps.market.importers.bar_columns import Instruments
from apps.market.importers.file_format import CONTRACTS, Profile
from apps.market.importers.instrument_names import (
    Contract,
    apart,
    groups,
    named_contracts,
    strike_of,
)
from apps.market.importers.layout import Layout
from apps.market.importers.stamps import day_of
from apps.market.importers.tables import Table

_KEY: Final = ("symbol", "expirydt", "strikepr", "optiontyp")
_FUTURE: Final = "XX"


def by_contract(table: Table, layout: Layout) -> Instruments:
    of, keys = groups(table, _KEY)
    each = named_contracts(_contract(table, key) for key in keys)
    return Instruments(of, apart(each, [one.called for one in each]), "its contract")


def _contract(table: Table, key: tuple[str, ...]) -> Contract:
    root, expiry, strike, option_type = key
    day, called = day_of(table, expiry), " ".join(key)
    if option_type == _FUTURE:
        return Contract(called, "NSE", root, day)
    return Contract(called, "NSE", root, day, strike_of(table, strike), option_type)


PROFILE: Final = Profile(
    name="NSE F&O bhavcopy",
    marks=frozenset({"symbol", "expirydt", "strikepr", "optiontyp", "contracts"}),
    columns={
        "open": ("open",),
        "high": ("high",),
        "low": ("low",),
        "close": ("close",),
        "volume": ("contracts",),
        "stamp": ("timestamp",),
    },
    instruments=by_contract,
    timeframe="1d",
    volume=CONTRACTS,
)
