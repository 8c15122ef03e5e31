"""By which calendars symbols trade, as the edition of the rulebook and the masters tell that are
loaded.
"""

from collections.abc import Collection, Mapping

from apps.engine.sessions import Sessions
from apps.market import rule_sets
from apps.market.rulebook.rule_set import RuleSet
from apps.market.rulebook.sessions import sessions_of
from apps.symbols.services import symbols_with_derivatives


def calendars_of(
    symbols: Collection[str], *, book: RuleSet | None = None
) -> Mapping[str, Sessions]:
    """By symbol, however many there are by two statements; by one if the edition is given."""
    book, derived = book or rule_sets.current_rule_set(), symbols_with_derivatives(symbols)
    return {
        symbol: sessions_of(symbol, book=book, has_derivatives=symbol in derived)
        for symbol in symbols
    }


def calendar_of(symbol: str) -> Sessions:
    """Of one symbol."""
    return calendars_of([symbol])[symbol]
