"""MCX: the bhavcopy of its web site, and files of contracts by the minute.

The bhavcopy's volume counts lots, its numbers are grouped by commas, its names padded. Contracts
by the minute are called by their day of expiry (CRUDEOIL17JUL255700CE); such a file holds rows
without a symbol where a file of another length was joined in, and those are left out.
"""

from typing import Final

from apps.market.importers.bar_columns import Instruments, Named
from apps.market.importers.file_format import CONTRACTS, Profile
from apps.market.importers.instrument_names import (
    Contract,
    apart,
    day_first_contract,
    groups,
    named_contracts,
    strike_of,
)
from apps.market.importers.layout import COMMON, Layout
from apps.market.importers.stamps import day_of
from apps.market.importers.tables import Table

_KEY: Final = ("symbol", "expirydate", "strikeprice", "optiontype")


def by_expiry(table: Table, layout: Layout) -> Instruments:
    of, keys = groups(table, _KEY)
    each = named_contracts(_contract(table, key) for key in keys)
    return Instruments(of, apart(each, [one.called for one in each]), "its contract")


def _contract(table: Table, key: tuple[str, ...]) -> Contract:
    root, expiry, strike, option_type = key
    day, called = day_of(table, expiry), " ".join(filter(None, key))
    if option_type not in ("CE", "PE"):
        return Contract(called, "MCX", root, day)
    return Contract(called, "MCX", root, day, strike_of(table, strike), option_type)


def by_name(table: Table, layout: Layout) -> Instruments:
    of, keys = groups(table, ["symbol"])
    each = [_by_name(name) for (name,) in keys]
    contracts = iter(named_contracts(one for one in each if isinstance(one, Contract)))
    done = [next(contracts) if isinstance(one, Contract) else one for one in each]
    return Instruments(of, apart(done, [name for (name,) in keys]), "column symbol")


def _by_name(name: str) -> Contract | Named:
    if not name:
        return Named(name, None, "rows without a symbol")
    why = "names that are no contract, such as CRUDEOIL17JUL255700CE"
    return day_first_contract(name, "MCX") or Named(name, None, why)


BHAVCOPY: Final = Profile(
    name="MCX bhavcopy",
    marks=frozenset({"symbol", "expirydate", "optiontype", "strikeprice", "volumelots"}),
    columns={**COMMON, "volume": ("volumelots",), "stamp": ("date",)},
    instruments=by_expiry,
    timeframe="1d",
    grouped=True,
    volume=CONTRACTS,
)
CONTRACT_MINUTES: Final = Profile(
    name="MCX contracts by the minute",
    marks=frozenset({"file", "timestamp", "symbol", "strike", "optiontype"}),
    instruments=by_name,
)
