"""The charges of a fill by the rules of its date: the items of a contract note, and the same rates
as a schedule for the engine (engine rule 10).

Tax on transactions is called STT on NSE and BSE, CTT on MCX and NCDEX. Goods and services tax is
charged on brokerage, exchange fee, SEBI fee and depository charge, not on the contribution to the
investor protection fund (IPFT), as in Kite's virtual contract notes. Before 2017-07-01 it was
service tax. An index cannot be bought, so nothing is charged.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from apps.core.times import day_number
from apps.engine import ChargeRow, Schedule
from apps.engine.candles import Symbol
from apps.market.rulebook.files.rows import (
    BrokerRow,
    ChargeItem,
    ChargeRate,
    ChargeSegment,
    DepositoryRow,
    EtfKind,
    Exchange,
    OrderSide,
    Product,
)
from apps.market.rulebook.files.rule_set import RuleSet
from apps.market.rulebook.instruments import commodity_group_of, etf_kind_of

_PAISA: Final = Decimal("0.01")
# The broker whose prices apply without a named broker, or with a broker of unknown prices.
DEFAULT_BROKER: Final = "discount"
# From this day an exercised option is taxed by its intrinsic value; before, by the price of the
# underlying (Finance (No. 2) Act 2019; NSE's circular of 2019-08-20 as quoted by fyers.in; Zerodha
# bulletin 230019).
INTRINSIC_SINCE: Final = date(2019, 9, 1)

SIDES: Final[tuple[OrderSide, ...]] = get_args(OrderSide)
PRODUCTS: Final[tuple[Product, ...]] = get_args(Product)

# The items of a fill; a settlement has the other one.
_ITEMS: Final[tuple[ChargeItem, ...]] = tuple(
    item for item in get_args(ChargeItem) if item != "exercise_tax"
)
_OPTIONAL: Final[frozenset[ChargeItem]] = frozenset({"ipft"})
_TAXED: Final = frozenset({"brokerage", "exchange_fee", "sebi_fee", "depository_charge"})
_HUNDRED: Final = Decimal(100)


InstrumentKind: TypeAlias = Literal["share", "index", "future", "option"] | EtfKind
INSTRUMENT_KINDS: Final = ("share", "index", *get_args(EtfKind), "future", "option")


class ChargeBasis(NamedTuple):
    """The facts that decide the rates, apart from date and side.

    `product` is the order's product for tax, so shares are `intraday` or `delivery`. If the rates
    depend on the nearest expiry, `nearest_from` is the first day (YYYY-MM-DD) on which an option
    has it, else empty.
    """

    exchange: str
    segment: ChargeSegment
    root: str
    product: Product
    broker: str
    instrument: InstrumentKind
    nearest_from: str = ""

    @property
    def key(self) -> str:
        """The name of the rates in a schedule."""
        return " ".join(filter(None, self))


@dataclass(frozen=True, slots=True)
class Charge:
    """An item of a contract note in rupees; `rounded` half up to the paisa."""

    item: str
    amount: Decimal
    row: ChargeRate | BrokerRow | DepositoryRow

    @property
    def percent(self) -> Decimal:
        """The rate, in percent of the value; 0 for fixed sums."""
        return Decimal(0) if isinstance(self.row, DepositoryRow) else self.row.percent

    @property
    def rounded(self) -> Decimal:
        return self.amount.quantize(_PAISA, ROUND_HALF_UP)


@dataclass(frozen=True, slots=True)
class FillCharges:
    """The charges of one fill; `unknown` names items without a rate on its date."""

    charges: tuple[Charge, ...]
    unknown: tuple[str, ...]

    @property
    def total(self) -> Decimal:
        """The sum of the rounded items, as a fill pays them."""
        return sum((charge.rounded for charge in self.charges), Decimal(0))


def charge_basis_of(
    rule_set: RuleSet,
    symbol: str,
    *,
    product: Product,
    broker: str | None,
    is_index: bool = False,
    expiry: date | None = None,
) -> ChargeBasis:
    """Return the facts that decide the rates of a symbol's fills; a broker without prices counts as
    the default one.

    `is_index` comes from the instrument master, `expiry` is the last session of a contract. Raises
    InvalidSymbol.
    """
    known = Symbol.parse(symbol)
    name = broker if broker in broker_names(rule_set) else DEFAULT_BROKER
    segment = _segment(rule_set, known)
    if segment == "equity":
        product = "intraday" if product == "intraday" else "delivery"
    instrument = _instrument(rule_set, known, is_index=is_index)
    nearest_from = _nearest_from(rule_set, known, expiry)
    return ChargeBasis(
        known.exchange, segment, known.root, product, str(name), instrument, nearest_from
    )


def _instrument(rule_set: RuleSet, symbol: Symbol, *, is_index: bool) -> InstrumentKind:
    """Return the kind of a symbol; the bare name of a commodity is its continuous future."""
    if symbol.type == "options":
        return "option"
    if symbol.type == "futures" or symbol.exchange in ("MCX", "NCDEX"):
        return "future"
    return "index" if is_index else etf_kind_of(rule_set, symbol) or "share"


def _nearest_from(rule_set: RuleSet, symbol: Symbol, expiry: date | None) -> str:
    """Return the first day on which an option has the nearest expiry, if a rate depends on it.

    Weekly options of an underlying expire once in a calendar week, so that is the Saturday before
    the week of the expiry.
    """
    depends = (symbol.exchange, symbol.root) in _roots_by_expiry(rule_set)
    if expiry is None or symbol.type != "options" or not depends:
        return ""
    return (expiry - timedelta(days=expiry.weekday() + 2)).isoformat()


@lru_cache(maxsize=8)
def _roots_by_expiry(rule_set: RuleSet) -> frozenset[tuple[str, str]]:
    """Return (exchange, underlying) pairs with a rate that depends on the expiry."""
    rows = [row for row in rule_set.charges if "nearest_options" in row.segments]
    return frozenset(
        (exchange, root) for row in rows for exchange in row.exchanges for root in row.roots
    )


def _segment(rule_set: RuleSet, symbol: Symbol) -> ChargeSegment:
    """Return a symbol's segment; the bare name of a commodity is its continuous future."""
    if symbol.exchange in ("NSE", "BSE"):
        return symbol.type
    agricultural = commodity_group_of(rule_set, symbol) != "non_agri"
    if symbol.type == "options":
        return "agri_options" if agricultural else "options"
    return "agri_futures" if agricultural else "futures"


@lru_cache(maxsize=8)
def broker_names(rule_set: RuleSet) -> tuple[str, ...]:
    """Return the brokers with known prices, in the order of the file."""
    return tuple(dict.fromkeys(row.broker for row in rule_set.brokers))


def charges_of(
    rule_set: RuleSet,
    basis: ChargeBasis,
    *,
    side: OrderSide,
    value: Decimal,
    day: date,
    from_demat: bool = True,
) -> FillCharges:
    """Return the charges of a fill worth `value` rupees (premium of options) on `day`.

    `from_demat` is True for a sale of shares bought on an earlier day, if the depository charge of
    that share and day is not yet paid.
    """
    rates = {item: _rate(rule_set, basis, item, side, day) for item in _ITEMS}
    broker = _price(rule_set, basis, day)
    charges = [] if broker is None else [Charge("brokerage", _brokerage(broker, value), broker)]
    depository = _depository(rule_set, basis, day)
    if depository is not None and side == "sell" and from_demat:
        charges.append(Charge("depository_charge", depository.amount, depository))
    for item, row in rates.items():
        if row is not None and item != "gst":
            charges.append(Charge(item, value * row.percent / _HUNDRED, row))
    gst = rates["gst"]
    if gst is not None:
        base = sum((c.amount for c in charges if c.item in _TAXED), Decimal(0))
        charges.append(Charge("gst", base * gst.percent / _HUNDRED, gst))
    return FillCharges(tuple(charges), tuple(unknown_items(rule_set, basis, day)))


def exercise_tax_of(rule_set: RuleSet, basis: ChargeBasis, day: date) -> Decimal:
    """Return the tax on exercising an option on `day`, as a fraction of its base (see
    INTRINSIC_SINCE).
    """
    row = _rate(rule_set, basis, "exercise_tax", "buy", day)
    return Decimal(0) if row is None else row.percent / _HUNDRED


def unknown_items(rule_set: RuleSet, basis: ChargeBasis, day: date) -> list[str]:
    """Return items of fills of either side that lack a rate on `day`."""
    if basis.instrument == "index":
        return []
    unknown: list[str] = [] if _price(rule_set, basis, day) else ["brokerage"]
    for item in _ITEMS:
        known = any(_rate(rule_set, basis, item, side, day) for side in SIDES)
        if not known and item not in _OPTIONAL:
            unknown.append(item)
    return unknown


def _brokerage(row: BrokerRow, value: Decimal) -> Decimal:
    share = value * row.percent / _HUNDRED
    return row.flat + (share if row.cap is None else min(share, row.cap))


def _rate(
    rule_set: RuleSet, basis: ChargeBasis, item: ChargeItem, side: OrderSide, day: date
) -> ChargeRate | None:
    """Return the row in force.

    A row for the root beats one for all roots; a row for the kind of ETF, or for the nearest
    expiry, beats one for the whole segment.
    """
    is_nearest = bool(basis.nearest_from) and basis.nearest_from <= day.isoformat()
    special = {basis.instrument, "nearest_options"} if is_nearest else {basis.instrument}

    def rank(row: ChargeRate) -> tuple[bool, bool, date]:
        return bool(row.roots), not special.isdisjoint(row.segments), row.first_date

    rows = [
        row
        for row in _rows_of(rule_set, basis)
        if row.item == item
        and side in row.sides
        and row.first_date <= day
        and not {basis.segment, *special}.isdisjoint(row.segments)
    ]
    return max(rows, key=rank, default=None)


def _price(rule_set: RuleSet, basis: ChargeBasis, day: date) -> BrokerRow | None:
    rows = [row for row in _prices_of(rule_set, basis) if row.first_date <= day]
    return max(rows, key=lambda row: row.first_date, default=None)


def _depository(rule_set: RuleSet, basis: ChargeBasis, day: date) -> DepositoryRow | None:
    rows = [row for row in _depository_rows(rule_set, basis) if row.first_date <= day]
    return max(rows, key=lambda row: row.first_date, default=None)


@lru_cache(maxsize=256)
def _rows_of(rule_set: RuleSet, basis: ChargeBasis) -> tuple[ChargeRate, ...]:
    if basis.instrument == "index":
        return ()
    return tuple(
        row
        for row in rule_set.charges
        if basis.exchange in row.exchanges
        and not {basis.segment, basis.instrument, "nearest_options"}.isdisjoint(row.segments)
        and (not row.roots or basis.root in row.roots)
        and (not row.products or basis.product in row.products)
    )


@lru_cache(maxsize=256)
def _prices_of(rule_set: RuleSet, basis: ChargeBasis) -> tuple[BrokerRow, ...]:
    if basis.instrument == "index":
        return ()
    return tuple(
        row
        for row in rule_set.brokers
        if row.broker == basis.broker
        and basis.segment in row.segments
        and (not row.products or basis.product in row.products)
    )


def _depository_rows(rule_set: RuleSet, basis: ChargeBasis) -> tuple[DepositoryRow, ...]:
    delivers = (basis.segment, basis.product) == ("equity", "delivery")
    if not delivers or basis.instrument == "index":
        return ()
    return tuple(row for row in rule_set.depository if row.broker == basis.broker)


DatedRow: TypeAlias = ChargeRate | BrokerRow | DepositoryRow
# Products with different taxes for shares; contracts are taxed alike in all products.
_PRODUCTS_OF_SHARES: Final[tuple[Product, ...]] = ("intraday", "delivery")
RATE_SCOPES: Final = (*get_args(ChargeSegment), *get_args(EtfKind), "nearest_options")
_WIDER_SCOPES: Final[dict[ChargeSegment, frozenset[str]]] = {
    "equity": frozenset(("equity", *get_args(EtfKind))),
    "options": frozenset(("options", "nearest_options")),
}
SEGMENTS: Final[dict[Exchange, tuple[ChargeSegment, ...]]] = {
    "NSE": ("equity", "futures", "options"),
    "BSE": ("equity", "futures", "options"),
    "MCX": ("futures", "options", "agri_futures", "agri_options"),
    "NCDEX": ("agri_futures", "agri_options"),
}


class RateKey(NamedTuple):
    """The key of a rate; a later row with the same key replaces it."""

    item: str
    scope: str
    underlying: str
    product: Product
    side: OrderSide


@dataclass(frozen=True, slots=True)
class RateInForce:
    """A row of the rulebook that is in force on a day, and its keys."""

    row: DatedRow
    keys: tuple[RateKey, ...]

    @property
    def item(self) -> str:
        return self.keys[0].item

    @property
    def scopes(self) -> list[str]:
        """The segment, kinds of ETF, or options of the nearest expiry."""
        return sorted({key.scope for key in self.keys})

    @property
    def underlyings(self) -> list[str]:
        """The only underlyings it applies to; empty for all."""
        return sorted({key.underlying for key in self.keys if key.underlying})

    @property
    def products(self) -> list[Product]:
        return sorted({key.product for key in self.keys})

    @property
    def sides(self) -> list[OrderSide]:
        return sorted({key.side for key in self.keys})


def rates_in_force(
    rule_set: RuleSet, *, exchange: Exchange, segment: ChargeSegment, broker: str, day: date
) -> list[RateInForce]:
    """Return all rates of a segment on a day: of the whole segment, of kinds of ETF, of options of
    the nearest expiry and of single underlyings.
    """
    newest: dict[RateKey, DatedRow] = {}
    for key, row in _keyed_rows(rule_set, exchange, segment, broker):
        if row.first_date <= day and (
            key not in newest or newest[key].first_date <= row.first_date
        ):
            newest[key] = row
    keys_of_rows: dict[DatedRow, list[RateKey]] = {}
    for key, row in newest.items():
        keys_of_rows.setdefault(row, []).append(key)
    return [RateInForce(row, tuple(keys)) for row, keys in keys_of_rows.items()]


def _keyed_rows(
    rule_set: RuleSet, exchange: Exchange, segment: ChargeSegment, broker: str
) -> Iterator[tuple[RateKey, DatedRow]]:
    """Yield the rows of a segment of all dates, once for each of their keys."""
    products = _PRODUCTS_OF_SHARES if segment == "equity" else PRODUCTS
    for price in rule_set.brokers:
        if price.broker == broker and segment in price.segments:
            for product, side in itertools.product(price.products or products, SIDES):
                yield RateKey("brokerage", segment, "", product, side), price
    for fee in rule_set.depository:
        if fee.broker == broker and segment == "equity":
            yield RateKey("depository_charge", segment, "", "delivery", "sell"), fee
    wanted = _WIDER_SCOPES.get(segment, frozenset((segment,)))
    for rate in rule_set.charges:
        if exchange in rate.exchanges:
            for scope, underlying, product, side in itertools.product(
                wanted.intersection(rate.segments),
                rate.roots or ("",),
                rate.products or products,
                rate.sides,
            ):
                yield RateKey(rate.item, scope, underlying, product, side), rate


def schedule_of(rule_set: RuleSet, bases: Iterable[ChargeBasis]) -> Schedule:
    """Return the dated rates of these bases, each under its key."""
    return tuple(row for basis in sorted(set(bases)) for row in _schedule(rule_set, basis))


@lru_cache(maxsize=256)
def _schedule(rule_set: RuleSet, basis: ChargeBasis) -> Schedule:
    dates = {row.first_date for row in _rows_of(rule_set, basis)}
    dates |= {row.first_date for row in _prices_of(rule_set, basis)}
    dates |= {row.first_date for row in _depository_rows(rule_set, basis)}
    if basis.nearest_from:
        dates.add(date.fromisoformat(basis.nearest_from))
    return tuple(_engine_row(rule_set, basis, first) for first in sorted(dates))


def _engine_row(rule_set: RuleSet, basis: ChargeBasis, day: date) -> ChargeRow:
    def rate(item: ChargeItem, side: OrderSide) -> float:
        row = _rate(rule_set, basis, item, side, day)
        return 0.0 if row is None else float(row.percent / _HUNDRED)

    price, depository = _price(rule_set, basis, day), _depository(rule_set, basis, day)
    return ChargeRow(
        segment=basis.key,
        first_day=day_number(day),
        brokerage=0.0 if price is None else float(price.percent / _HUNDRED),
        brokerage_cap=float("inf") if price is None or price.cap is None else float(price.cap),
        tax_buy=rate("transaction_tax", "buy"),
        tax_sell=rate("transaction_tax", "sell"),
        exchange=rate("exchange_fee", "buy"),
        ipft=rate("ipft", "buy"),
        regulator=rate("sebi_fee", "buy"),
        stamp_buy=rate("stamp_duty", "buy"),
        gst=rate("gst", "buy"),
        brokerage_flat=0.0 if price is None else float(price.flat),
        depository=0.0 if depository is None else float(depository.amount),
    )
