"""The kind of an instrument by the rulebook, and ticks and margins of a kind of contract by date,
used when no master has them.
"""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final, TypeVar, cast

from apps.engine.candles import Symbol
from apps.market.rulebook.files.rows import (
    CommodityGroup,
    CommodityRow,
    ContractKind,
    EtfKind,
    MarginRow,
    TickRow,
)
from apps.market.rulebook.files.rule_set import RuleSet

# The group of most commodities of an exchange; commodities of other groups are listed.
_USUAL_GROUP: Final[Mapping[str, CommodityGroup]] = {"MCX": "non_agri", "NCDEX": "agri"}

Dated = TypeVar("Dated", TickRow, MarginRow)


# Indices with contracts, which masters need not mark.
_INDICES: Final[Mapping[str, frozenset[str]]] = {
    "NSE": frozenset(("NIFTY", "BANKNIFTY", "FINNIFTY", "MIDCPNIFTY", "NIFTYNXT50")),
    "BSE": frozenset(("SENSEX", "BANKEX", "SENSEX50")),
}


# Underlyings on NSE and BSE beside shares and indices: pairs of currencies, commodities.
_CURRENCIES: Final = frozenset(
    ("USDINR", "EURINR", "GBPINR", "JPYINR", "EURUSD", "GBPUSD", "USDJPY")
)
_COMMODITIES: Final = frozenset(
    (
        "GOLD",
        "GOLDM",
        "GOLD1G",
        "GOLDGUINEA",
        "GOLDPETAL",
        "GOLDTEN",
        "SILVER",
        "SILVERM",
        "SILVERMIC",
        "SILVER100",
        "CRUDEOIL",
        "CRUDEOILM",
        "BRCRUDEOIL",
        "NATURALGAS",
        "NATGASMINI",
        "NATURALGASM",
        "COPPER",
        "ALUMINIUM",
        "ALUMINI",
        "ZINC",
        "ZINCMINI",
        "LEAD",
        "LEADMINI",
        "NICKEL",
        "DEGUMSOYA",
        "COTTON",
        "GUARGUM",
        "GUARSEED",
    )
)


def other_market_of(contract: Symbol) -> str | None:
    """Return the market of a contract of NSE or BSE on neither shares nor indices."""
    if contract.exchange not in ("NSE", "BSE") or contract.type == "equity":
        return None
    if contract.root in _CURRENCIES:
        return "currency"
    return "commodity" if contract.root in _COMMODITIES else None


def kind_of(symbol: Symbol, *, on_index: bool) -> ContractKind:
    """Return the kind of a contract; `on_index` is True if a master lists its underlying as an
    index. The bare name of a commodity is its continuous future.
    """
    on_index = on_index or symbol.root in _INDICES.get(symbol.exchange, ())
    if symbol.exchange in ("MCX", "NCDEX"):
        return "goods_option" if symbol.type == "options" else "goods_future"
    if symbol.type == "equity":
        return "share"
    if symbol.type == "futures":
        return "index_future" if on_index else "stock_future"
    return "index_option" if on_index else "stock_option"


def etf_kind_of(rule_set: RuleSet, symbol: Symbol) -> EtfKind | None:
    """Return the kind of an exchange-traded fund; None for other instruments."""
    return _etf_kinds(rule_set).get((symbol.exchange, symbol.code))


@lru_cache(maxsize=8)
def _etf_kinds(rule_set: RuleSet) -> Mapping[tuple[str, str], EtfKind]:
    return {
        (exchange, row.root): cast(EtfKind, f"{row.kind}_etf")
        for row in rule_set.etfs
        for exchange in row.exchanges
    }


def commodity_of(rule_set: RuleSet, symbol: Symbol) -> CommodityRow | None:
    """Return the row of a symbol's underlying, if it is a listed commodity."""
    return _commodities(rule_set).get((symbol.exchange, symbol.root))


def commodity_group_of(rule_set: RuleSet, symbol: Symbol) -> CommodityGroup:
    """Return the group of a symbol of MCX or NCDEX."""
    commodity = commodity_of(rule_set, symbol)
    return _USUAL_GROUP[symbol.exchange] if commodity is None else commodity.group


@lru_cache(maxsize=8)
def _commodities(rule_set: RuleSet) -> Mapping[tuple[str, str], CommodityRow]:
    return {(row.exchange, row.root): row for row in rule_set.commodities}


def lot_at_expiry(rule_set: RuleSet, contract: Symbol, expiry: date) -> Decimal | None:
    """Return the units of a lot of a contract with an expiry; None without a row."""
    cycle = "monthly" if contract.day is None else "weekly"
    rows = [
        row
        for row in rule_set.lots
        if contract.exchange in row.exchanges
        and contract.root in row.roots
        and cycle in (row.cycles or (cycle,))
        and row.first_expiry <= expiry
    ]
    newest = max(rows, key=lambda row: row.first_expiry, default=None)
    return None if newest is None else newest.lot


def tick_of(
    rule_set: RuleSet, exchange: str, kind: ContractKind, *, price: Decimal, day: date
) -> Decimal | None:
    """Return the tick of prices around `price` rupees; None if it is unknown."""
    rows = _in_force(rule_set.ticks, exchange, kind, day)
    bands = [row for row in rows if row.below is None or price < row.below]
    lowest = min(bands, key=lambda row: row.below or Decimal("Infinity"), default=None)
    return None if lowest is None else lowest.tick


def margin_of(rule_set: RuleSet, exchange: str, kind: ContractKind, day: date) -> MarginRow | None:
    """Return the margin of a contract; None if exactly its whole value is locked."""
    return next(iter(_in_force(rule_set.margins, exchange, kind, day)), None)


def dates_of(rows: tuple[Dated, ...], exchange: str, kind: ContractKind) -> set[date]:
    """Return the dates when rows come into force."""
    return {row.first_date for row in rows if exchange in row.exchanges and kind in row.kinds}


def _in_force(rows: tuple[Dated, ...], exchange: str, kind: ContractKind, day: date) -> list[Dated]:
    """Return the rows of the newest date that has begun."""
    begun = [
        row
        for row in rows
        if exchange in row.exchanges and kind in row.kinds and row.first_date <= day
    ]
    newest = max((row.first_date for row in begun), default=day)
    return [row for row in begun if row.first_date == newest]
