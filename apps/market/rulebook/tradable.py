"""Symbols that can be neither simulated nor traded on paper, such as contracts without rules."""

from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime
from typing import Final

from apps.core.errors import Code, ServiceError
from apps.engine.candles import Symbol
from apps.engine.language import Strategy
from apps.market.rulebook.calendars import calendars_of
from apps.market.rulebook.charges import charge_basis_of, unknown_items
from apps.market.rulebook.contracts import contract_closes
from apps.market.rulebook.expiries import expiry_of
from apps.market.rulebook.files.rule_set import RuleSet
from apps.market.rulebook.instruments import kind_of, lot_at_expiry, other_market_of
from apps.market.rulebook.sessions import sessions_of
from apps.symbols.services import expiries_of

CONTRACT_EXPIRED: Final = "The contract has expired."


class SymbolNotTradable(ServiceError):
    """A symbol of the algorithm cannot be traded."""

    code = Code.INVALID_SYMBOL
    message = "{symbol} cannot be traded: {reason}"


def require_tradable(
    strategy: Strategy, *, rule_set: RuleSet, day: date, listed: Collection[str] | None = None
) -> None:
    """Require that all symbols of a strategy can be traded from a day on.

    `listed` are the symbols in a master, by default read from the database. Raises
    SymbolNotTradable.
    """
    for symbol, reason in untradable_symbols(strategy, rule_set=rule_set, day=day, listed=listed):
        raise SymbolNotTradable(symbol=symbol, reason=reason)


def untradable_symbols(
    strategy: Strategy, *, rule_set: RuleSet, day: date, listed: Collection[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the symbols of a strategy that cannot be traded from a day on, with the reasons.

    A contract with missing rules would be charged, timed or counted wrongly. Without charges
    (`charges` is none) only the contract's end matters.
    """
    contracts = [
        form
        for form in map(Symbol.parse, strategy.basicInfo.symbols)
        if form.type != "equity" or form.exchange in ("MCX", "NCDEX")
    ]
    if not contracts:
        return
    is_charged = strategy.executionSettings.charges != "none"
    for form in contracts:
        if form.exchange == "MCX" and form.type == "options":
            yield str(form), "Options on MCX end as futures, which is not simulated."
        elif is_charged and (missing := _missing(rule_set, form, day)):
            yield str(form), missing
    if is_charged:
        yield from _without_lots(rule_set, contracts, listed)


def _missing(rule_set: RuleSet, contract: Symbol, day: date) -> str | None:
    """Return the rules that a contract lacks on a day; None if it lacks none."""
    if (market := other_market_of(contract)) is not None:
        venue = f"{market} contracts of {contract.exchange}"
        return f"The rulebook has no hours, charges and margins of {venue}."
    basis = charge_basis_of(rule_set, str(contract), product="carryforward", broker=None)
    if "exchange_fee" in unknown_items(rule_set, basis, day):
        return f"The rulebook has no exchange fee for {day}."
    return None


def _without_lots(
    rule_set: RuleSet, contracts: Sequence[Symbol], listed: Collection[str] | None
) -> Iterator[tuple[str, str]]:
    """Yield contracts on indices without a lot in a master or the rule set."""
    on_index = {
        str(form): form
        for form in contracts
        if kind_of(form, on_index=False) in ("index_future", "index_option")
    }
    if on_index and listed is None:
        listed = expiries_of(on_index)
    for symbol, form in on_index.items():
        if symbol in (listed or ()):
            continue
        expiry = expiry_of(form, sessions_of(symbol, rule_set=rule_set))
        if expiry is not None and lot_at_expiry(rule_set, form, expiry) is None:
            yield (
                symbol,
                f"Its lot is not known: no master lists it, and no rule tells of {expiry}.",
            )


def expired_among(symbols: Sequence[str], *, rule_set: RuleSet, now: datetime) -> list[str]:
    """Return the contracts that ended before a moment, by their last session."""
    contracts = [symbol for symbol in symbols if Symbol.parse(symbol).type != "equity"]
    if not contracts:
        return []
    closes = contract_closes(calendars_of(contracts, rule_set=rule_set))
    return [symbol for symbol, close in closes.items() if close <= now.timestamp()]
