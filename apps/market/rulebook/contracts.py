"""The market's rules for the symbols of a strategy, in the engine's terms: calendars, contracts, a
schedule of charges, and notes for the reader of a result.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from apps.core.times import day_in_india, day_number
from apps.engine import Contract, Note, Schedule
from apps.engine.candles import Sessions, Symbol
from apps.engine.language import Strategy
from apps.market.rulebook.charges import ChargeBasis, charge_basis_of, schedule_of, unknown_items
from apps.market.rulebook.expiries import close_of, expiry_of, monthly_expiries
from apps.market.rulebook.files.rows import ContractKind
from apps.market.rulebook.files.rule_set import RuleSet, bundled_rule_set
from apps.market.rulebook.instruments import (
    commodity_of,
    dates_of,
    kind_of,
    lot_at_expiry,
    margin_of,
    tick_of,
)
from apps.market.rulebook.sessions import sessions_of
from apps.market.rulebook.settlements import (
    ContractEnd,
    UnderlyingClose,
    contract_end_of,
    underlying_of,
)
from apps.symbols import services as symbols
from apps.symbols.importers import sample_instruments
from apps.symbols.services import DatedTerms

_ITEM_NAMES: Final[Mapping[str, str]] = {
    "brokerage": "brokerage",
    "transaction_tax": "transaction tax",
    "exchange_fee": "exchange fee",
    "sebi_fee": "SEBI fee",
    "stamp_duty": "stamp duty",
    "gst": "GST",
}


class InstrumentFacts(NamedTuple):
    """The masters' facts about a symbol: its terms over the range (empty if it is unknown), the
    date of its last session, and for an index the future on it that expires first after the range.
    `underlying` is the settlement price of a contract that ends in the range.
    """

    terms: Sequence[DatedTerms] = ()
    on_index: bool = False
    has_derivatives: bool = True
    expiry: date | None = None
    future: str = ""
    underlying: UnderlyingClose | None = None


@dataclass(frozen=True, slots=True)
class MarketRules:
    """The market's rules for the run of a strategy from `first` to `last`."""

    rule_set: RuleSet
    strategy: Strategy
    facts: Mapping[str, InstrumentFacts]
    first: date
    last: date

    def sessions(self, symbol: str) -> Sessions:
        has_derivatives = self.facts[symbol].has_derivatives
        return sessions_of(symbol, rule_set=self.rule_set, has_derivatives=has_derivatives)

    def contract(self, symbol: str, price_on: Callable[[date], float]) -> Contract:
        """Return lot, value, tick and margin of the first day, and their later changes.

        `price_on` returns a price around a day, because ticks may depend on it. A symbol without a
        master has the engine's tick (engine rule 3).
        """
        days = [self.first, *self._days_of_change(symbol)]
        terms = [self._on(symbol, day, Decimal(str(price_on(day)))) for day in days]
        changed = [n for n in range(1, len(days)) if terms[n] != terms[n - 1]]
        later = tuple((day_number(days[n]), terms[n]) for n in changed)
        return replace(terms[0], later=later)

    @property
    def schedule(self) -> Schedule:
        if self.strategy.executionSettings.charges == "none":
            return ()
        return schedule_of(self.rule_set, map(self._charge_basis, self.facts))

    def segment(self, symbol: str) -> str:
        """Return the key of the symbol's rates in the schedule."""
        return self._charge_basis(symbol).key

    def settling(self, until: int) -> Iterator[tuple[str, Symbol, int]]:
        """Yield the contracts that settle in cash in the range and by a moment, with their
        times.
        """
        for symbol in self.facts:
            end = self._end(symbol)
            if end is None or end.delivered or end.closes > until:
                continue
            if self.first <= day_in_india(end.closes - 1) <= self.last:
                yield symbol, Symbol.parse(symbol), end.closes

    def margin_underlying(self, symbol: str) -> str | None:
        """Return the symbol whose price decides the rupees locked by a sale of this one, if any."""
        form, kind = Symbol.parse(symbol), self._kind(symbol)
        if form.type != "options" or self.strategy.entryConditions.positionType == "long":
            return None
        rows = dates_of(self.rule_set.margins, form.exchange, kind)
        return underlying_of(form) if rows else None

    def notes(self, symbol: str) -> tuple[Note, ...]:
        """Return notes about a symbol's contract and charges for the reader of a result."""
        return (*self._on_charges(symbol), *self._on_contract(symbol))

    def expiry_notes(self, symbol: str) -> tuple[Note, ...]:
        """Return notes for a reader about a position held to the last session."""
        end = self._end(symbol)
        return () if end is None else end.notes

    def _end(self, symbol: str) -> ContractEnd | None:
        expiry = self._last_day(symbol)
        if expiry is None:
            return None
        is_charged = self.strategy.executionSettings.charges != "none"
        return contract_end_of(
            self.rule_set,
            Symbol.parse(symbol),
            kind=self._kind(symbol),
            closes=close_of(expiry, self.sessions(symbol)),
            underlying=self.facts[symbol].underlying,
            basis=self._charge_basis(symbol) if is_charged else None,
        )

    def _last_day(self, symbol: str) -> date | None:
        """Return the date of the symbol's last session."""
        listed = self.facts[symbol].expiry
        return expiry_of(Symbol.parse(symbol), self.sessions(symbol), listed=listed)

    def _days_of_change(self, symbol: str) -> list[date]:
        """Return the later days with new terms in the master, or a new tick or margin."""
        key = Symbol.parse(symbol).exchange, self._kind(symbol)
        days = {terms.valid_from for terms in self.facts[symbol].terms}
        days |= dates_of(self.rule_set.ticks, *key) | dates_of(self.rule_set.margins, *key)
        return sorted(day for day in days if self.first < day <= self.last)

    def _on(self, symbol: str, day: date, price: Decimal) -> Contract:
        plain, exchange, kind = Contract(), Symbol.parse(symbol).exchange, self._kind(symbol)
        begun = [terms for terms in self.facts[symbol].terms if terms.valid_from <= day]
        terms = begun[-1] if begun else None
        lot, unit = lot_of(self.rule_set, symbol, terms, self._last_day(symbol))
        tick = terms.tick_size if terms else None
        if terms and tick is None:
            tick = tick_of(self.rule_set, exchange, kind, price=price, day=day)
        margin, end = margin_of(self.rule_set, exchange, kind, day), self._end(symbol)
        fraction = float(margin.percent / 100) if margin else plain.margin
        contract = Contract(
            lot=lot,
            multiplier=unit,
            margin=fraction,
            tick=float(tick) if tick else plain.tick,
            segment=self.segment(symbol),
            has_bands=self._has_bands(symbol),
        )
        if margin and kind.endswith("option"):
            strike = float(Symbol.parse(symbol).strike or 0)
            contract = replace(contract, margin=1.0, short_margin=fraction, strike=strike)
        if end is None:
            return contract
        return replace(
            contract, ends=end.closes, delivered=end.delivered, settlement=end.settlement
        )

    def _has_bands(self, symbol: str) -> bool:
        """Return whether the exchange limits daily prices: it does for shares and funds."""
        known = Symbol.parse(symbol)
        is_cash = known.type == "equity" and known.exchange in {"NSE", "BSE"}
        return is_cash and not self.facts[symbol].on_index

    def _kind(self, symbol: str) -> ContractKind:
        return kind_of(Symbol.parse(symbol), on_index=self.facts[symbol].on_index)

    def _charge_basis(self, symbol: str) -> ChargeBasis:
        broker = self.strategy.executionSettings.broker
        name = broker.strip().lower() if broker else None
        return charge_basis_of(
            self.rule_set,
            symbol,
            product=self.strategy.product,
            broker=name,
            is_index=self.facts[symbol].on_index,
            expiry=self._last_day(symbol),
        )

    def _on_charges(self, symbol: str) -> Iterator[Note]:
        settings, basis = self.strategy.executionSettings, self._charge_basis(symbol)
        if settings.charges == "none":
            return
        broker = settings.broker or basis.broker
        if broker.strip().lower() != basis.broker and symbol == next(iter(self.facts)):
            message = f"No prices of the broker {broker} are known: charged as {basis.broker}."
            yield Note("unknown_broker", message)
        unknown = unknown_items(self.rule_set, basis, self.first)
        if unknown:
            items = ", ".join(_ITEM_NAMES[item] for item in unknown)
            message = f"On {self.first} the rulebook has no rate for {items} of {symbol}."
            yield Note("incomplete_charges", message)

    def _on_index(self, symbol: str) -> str:
        """Return the note that an index cannot be traded, with tradable alternatives."""
        message = (
            f"{symbol} is an index, which cannot be traded: the result follows its level, as if one"
            " unit were a share, and no charges are taken."
        )
        facts = self.facts[symbol]
        if not facts.has_derivatives:
            return f"{message} No future or option on it is listed."
        future = facts.future or f"{symbol}<YY><MMM>FUT"
        option = f"{symbol}<YY><MMM><STRIKE>CE"
        return f"{message} Trade a future on it, such as {future}, or an option ({option}) instead."

    def _on_contract(self, symbol: str) -> Iterator[Note]:
        kind, exchange = self._kind(symbol), Symbol.parse(symbol).exchange
        if self.facts[symbol].expiry is None and self._last_day(symbol):
            terms = self._on(symbol, self.first, Decimal(0))
            message = (
                f"No instrument master lists {symbol}: a lot of {terms.lot:g} and a tick of"
                f" {terms.tick:g} are assumed, and {self._last_day(symbol)} as its expiry, as its"
                " name tells."
            )
            yield Note("assumed_contract", message)
        if kind == "share" and self.facts[symbol].on_index:
            yield Note("index_traded", self._on_index(symbol))
        margin = margin_of(self.rule_set, exchange, kind, self.first)
        if margin and kind.endswith("option"):
            if self.strategy.entryConditions.positionType == "long":
                return
            underlying = underlying_of(Symbol.parse(symbol))
            message = (
                f"{symbol}: an option that is sold locks its premium and {margin.percent} % of the"
                f" last price of {underlying}, or of the strike where that is not stored,"
                f" {margin.method}; a broker asks for another sum each day."
            )
            yield Note("estimated_margin", message)
        elif margin:
            message = f"{symbol}: {margin.percent} % is locked, {margin.method}; a broker asks"
            yield Note("estimated_margin", f"{message} for another sum each day.")


def lot_of(
    rule_set: RuleSet, symbol: str, terms: DatedTerms | None, expiry: date | None
) -> tuple[float, float]:
    """Return the units of a lot and the rupees that a unit gains per rupee of price, from the
    master or else from the rule set, by its expiry.
    """
    if terms is None and expiry is not None:
        lot = lot_at_expiry(rule_set, Symbol.parse(symbol), expiry)
        if lot is not None:
            return float(lot), Contract().multiplier
    commodity = commodity_of(rule_set, Symbol.parse(symbol))
    if terms and (terms.multiplier is not None or commodity is None or commodity.lot is None):
        return float(terms.lot_size), float(terms.unit_value)
    if commodity is None or commodity.lot is None or commodity.multiplier is None:
        return Contract().lot, Contract().multiplier
    return float(commodity.lot), float(commodity.multiplier / commodity.lot)


def bundled_market_rules(strategy: Strategy, *, first: date, last: date) -> MarketRules:
    """Return the rules by the bundled rule set and sample of instruments, for a simulation without
    a database.
    """
    sample = {row.symbol: row for row in sample_instruments()}
    indices = {row.code for row in sample.values() if row.type == "index"}
    facts = {
        symbol: InstrumentFacts(
            [
                DatedTerms(first, row.lot_size, row.tick_size, None, None, row.source)
                for row in [sample.get(symbol)]
                if row
            ],
            on_index=Symbol.parse(symbol).root in indices,
        )
        for symbol in strategy.basicInfo.symbols
    }
    return MarketRules(bundled_rule_set(), strategy, facts, first, last)


def expiry_days(symbol: str, calendar: Sessions, *, first: date, last: date) -> list[int]:
    """Return the days, as numbers, on which derivatives of the underlying of a symbol expire: days
    listed by a master, and monthly ones by the rules of the exchange.
    """
    listed = symbols.expiries_on(symbol, first=first, last=last)
    monthly = monthly_expiries(Symbol.parse(symbol), calendar, first=first, last=last)
    return sorted(map(day_number, listed | monthly))


def contract_closes(calendars: Mapping[str, Sessions]) -> dict[str, int]:
    """Return the close of the last session (epoch seconds) of symbols that expire, by one
    statement; `calendars` are the symbols with their calendars.
    """
    days = expiry_dates(calendars)
    return {symbol: close_of(day, calendars[symbol]) for symbol, day in days.items()}


def expiry_dates(calendars: Mapping[str, Sessions]) -> dict[str, date]:
    """Return the date of the last session of symbols that expire, by one statement.

    `calendars` are the symbols with their calendars.
    """
    listed = symbols.expiries_of(calendars)
    days = {
        symbol: expiry_of(Symbol.parse(symbol), calendar, listed=listed.get(symbol))
        for symbol, calendar in calendars.items()
    }
    return {symbol: day for symbol, day in days.items() if day is not None}
