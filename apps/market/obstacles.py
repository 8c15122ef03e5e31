"""Why a symbol can be neither simulated nor traded on paper, though its form is valid and no master
speaks against it.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Final

from apps.core.errors import Code, ServiceError
from apps.engine.language.strategy import Strategy
from apps.engine.symbols import parse_symbol
from apps.market.calendars import calendars_of
from apps.market.contracts import contract_closes
from apps.market.rulebook.rule_set import RuleSet

EXPIRED: Final = "The contract has expired."


class SymbolNotTradable(ServiceError):
    """One of the algorithm's symbols cannot be traded."""

    code = Code.INVALID_SYMBOL
    message = "{symbol} cannot be traded: {reason}"


def require_tradable(strategy: Strategy, *, rule_set: RuleSet, day: date) -> None:
    """Require that all symbols of a strategy can be traded from a day on. Raises
    SymbolNotTradable.
    """
    for symbol, reason in obstacles_of(strategy, rule_set=rule_set, day=day):
        raise SymbolNotTradable(symbol=symbol, reason=reason)


def obstacles_of(strategy: Strategy, *, rule_set: RuleSet, day: date) -> Iterator[tuple[str, str]]:
    """Yield the symbols of a strategy that cannot be traded from a day on, and why."""
    for symbol in strategy.basicInfo.symbols:
        form = parse_symbol(symbol)
        if form.exchange == "MCX" and form.type == "options":
            yield symbol, "Options on MCX end as futures, which is not simulated."


def expired_among(symbols: Sequence[str], *, rule_set: RuleSet, now: datetime) -> list[str]:
    """Return the contracts whose last session was over before a moment."""
    contracts = [symbol for symbol in symbols if parse_symbol(symbol).type != "equity"]
    if not contracts:
        return []
    closes = contract_closes(calendars_of(contracts, rule_set=rule_set))
    return [symbol for symbol, close in closes.items() if close <= now.timestamp()]
