"""What the market's rules and the masters say of the symbols that a strategy trades, as the engine
takes it: calendars, contracts, a schedule of charges, and what the reader of a result must know.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from apps.engine.charges import NO_CHARGES, Schedule
from apps.engine.plan import Contract
from apps.engine.sessions import Sessions
from apps.engine.strategy import Strategy
from apps.engine.symbols import parse
from apps.engine.timeline import Note
from apps.market import editions
from apps.market.rulebook.book import Rulebook, bundled
from apps.market.rulebook.charges import (
    Dealing,
    dealing_of,
    schedule_of,
    unknown_items,
)
from apps.market.rulebook.goods import goods_of
from apps.market.rulebook.rows import ContractKind
from apps.market.rulebook.sessions import sessions_of
from apps.market.rulebook.terms import kind_of, margin_of, tick_of
from apps.symbols.sample import instruments
from apps.symbols.services import derived_from, indices_among, terms_on
from apps.symbols.terms import Terms

_WORDS: Final[Mapping[str, str]] = {
    "brokerage": "brokerage",
    "transaction_tax": "transaction tax",
    "exchange_fee": "exchange fee",
    "sebi_fee": "SEBI fee",
    "stamp_duty": "stamp duty",
    "gst": "GST",
}


class Facts(NamedTuple):
    """What masters say of a symbol: its terms over the range, none if it is unknown."""

    terms: Sequence[Terms] = ()
    on_index: bool = False
    has_derivatives: bool = True


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of the market for the run of a strategy from `first` to `last`."""

    book: Rulebook
    strategy: Strategy
    facts: Mapping[str, Facts]
    first: date
    last: date

    def sessions(self, symbol: str) -> Sessions:
        has_derivatives = self.facts[symbol].has_derivatives
        return sessions_of(symbol, book=self.book, has_derivatives=has_derivatives)

    def contract(self, symbol: str, price: float) -> Contract:
        """Lot, value, tick and margin as of the first day; `price` is one of about that day, as
        ticks may depend on it. What no master describes has the engine's tick (engine rule 3).
        """
        facts, plain = self.facts[symbol], Contract()
        terms = facts.terms[0] if facts.terms else None
        lot, unit = self._lot(symbol, terms)
        tick = terms.tick_size if terms else None
        if terms and tick is None:
            near = Decimal(str(price))
            kind, exchange = self._kind(symbol), parse(symbol).exchange
            tick = tick_of(self.book, exchange, kind, price=near, day=self.first)
        margin = margin_of(self.book, parse(symbol).exchange, self._kind(symbol), self.first)
        return Contract(
            lot=lot,
            multiplier=unit,
            margin=float(margin.percent / 100) if margin else plain.margin,
            tick=float(tick) if tick else plain.tick,
            segment=self._dealing(symbol).key,
        )

    @property
    def schedule(self) -> Schedule:
        if self.strategy.executionSettings.charges == "none":
            return NO_CHARGES
        return schedule_of(self.book, map(self._dealing, self.facts))

    def notes(self, symbol: str) -> tuple[Note, ...]:
        """What the reader of a result must know of a symbol's contract and charges."""
        return (*self._on_charges(symbol), *self._on_contract(symbol))

    def _lot(self, symbol: str, terms: Terms | None) -> tuple[float, float]:
        """(units of a lot, rupees a unit gains per rupee): the master's, else the rulebook's."""
        goods = goods_of(self.book, parse(symbol))
        if terms and (terms.multiplier is not None or goods is None or goods.lot is None):
            return float(terms.lot_size), float(terms.unit_value)
        if goods is None or goods.lot is None or goods.multiplier is None:
            return Contract().lot, Contract().multiplier
        return float(goods.lot), float(goods.multiplier / goods.lot)

    def _kind(self, symbol: str) -> ContractKind:
        return kind_of(parse(symbol), on_index=self.facts[symbol].on_index)

    def _dealing(self, symbol: str) -> Dealing:
        broker = self.strategy.executionSettings.broker
        name = broker.strip().lower() if broker else None
        return dealing_of(self.book, symbol, product=self.strategy.product, broker=name)

    def _on_charges(self, symbol: str) -> Iterator[Note]:
        settings, dealing = self.strategy.executionSettings, self._dealing(symbol)
        if settings.charges == "none":
            return
        broker = settings.broker or dealing.broker
        if broker.strip().lower() != dealing.broker and symbol == next(iter(self.facts)):
            message = f"No prices of the broker {broker} are known: charged as {dealing.broker}."
            yield Note("unknown_broker", message)
        unknown = unknown_items(self.book, dealing, self.first)
        if unknown:
            words = ", ".join(_WORDS[item] for item in unknown)
            message = f"On {self.first} the rulebook has no rate for {words} of {symbol}."
            yield Note("incomplete_charges", message)

    def _on_contract(self, symbol: str) -> Iterator[Note]:
        kind, exchange = self._kind(symbol), parse(symbol).exchange
        margin = margin_of(self.book, exchange, kind, self.first)
        if margin:
            message = f"{symbol}: {margin.percent} % is locked, {margin.method}; a broker asks"
            yield Note("estimated_margin", f"{message} for another sum each day.")
        if kind.endswith("option") and self.strategy.entryConditions.positionType != "long":
            message = f"{symbol}: options are sold against their premium; a broker asks for"
            yield Note("option_shorts", f"{message} far more.")
        terms = {(terms.lot_size, terms.tick_size) for terms in self.facts[symbol].terms}
        if len(terms) > 1:
            message = f"{symbol}: lot or tick change within the range; those of {self.first}"
            yield Note("changing_terms", f"{message} hold throughout.")


def rules_of(strategy: Strategy, *, first: date, last: date) -> Rules:
    """By the edition and the masters that are loaded."""
    symbols = strategy.basicInfo.symbols
    indices, derived = indices_among(symbols), derived_from(symbols)
    facts = {
        symbol: Facts(
            terms_on(symbol=symbol, first=first, last=last), symbol in indices, symbol in derived
        )
        for symbol in symbols
    }
    return Rules(editions.current(), strategy, facts, first, last)


def rules_without_master(strategy: Strategy, *, first: date, last: date) -> Rules:
    """By the bundled edition alone, for a simulation without a database."""
    indices = {row.code for row in instruments() if row.type == "index"}
    facts = {
        symbol: Facts(on_index=parse(symbol).root in indices)
        for symbol in strategy.basicInfo.symbols
    }
    return Rules(bundled(), strategy, facts, first, last)
