"""The trading calendars of symbols, by the rule set in force and the loaded masters."""

from collections.abc import Collection, Mapping

from apps.engine.candles import Sessions
from apps.market.rulebook import rule_sets
from apps.market.rulebook.files.rule_set import RuleSet
from apps.market.rulebook.sessions import sessions_of
from apps.symbols.services import symbols_with_derivatives


def calendars_of(
    symbols: Collection[str], *, rule_set: RuleSet | None = None
) -> Mapping[str, Sessions]:
    """Return calendars keyed by symbol, in two statements for any number of symbols; in one if the
    rule set is given.
    """
    rule_set = rule_set or rule_sets.current_rule_set()
    with_derivatives = symbols_with_derivatives(symbols)
    return {
        symbol: sessions_of(symbol, rule_set=rule_set, has_derivatives=symbol in with_derivatives)
        for symbol in symbols
    }


def calendar_of(symbol: str) -> Sessions:
    """Return the calendar of one symbol."""
    return calendars_of([symbol])[symbol]
