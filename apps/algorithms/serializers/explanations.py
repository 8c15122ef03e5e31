"""The messages of explained candles, for backtests and trading alike."""

from typing import Final

EXPLAINED_SIDES: Final = ("long", "short")

# The messages of the outcome at a candle, by its reason.
OUTCOME_MESSAGES: Final = {
    "entered": "A position was opened at the open of the next candle.",
    "no_signal": "The conditions of no side are true.",
    "not_ranked": "Its symbol had no place up to entryConditions.rank.top at this candle, or no"
    " ranking was made.",
    "both_sides": "The conditions of both sides are true, so no side enters (engine rule 12).",
    "unknown_ranges": "An average true range or a level that size or exits need is not known.",
    "position_held": "A position of this symbol was held; whether it was added to is not recorded.",
    "daily_loss_limit": "The loss of the day had reached maxDailyLoss.",
    "daily_profit_limit": "The profit of the day had reached maxDailyProfit.",
    "entry_limit": "As many positions as maxEntriesPerDay or maxEntriesPerSymbol allows had been"
    " opened on that day.",
    "cooldown": "The symbol was in the cooldown after an exit.",
    "level_beyond_entry": "The fill was at or beyond the level of the stop or of the target.",
    "outside_session": "The next candle starts at or after the square-off.",
    "after_session": "Its session had no candle left to enter an intraday position in.",
    "position_limit": "maxOpenPositions were held, or maxPositionSize left less than a lot.",
    "insufficient_cash": "Free cash did not pay for one lot and its charges.",
    "below_one_lot": "Its size came to less than one lot.",
    "limit_not_reached": "The next candle did not reach the price of the order.",
    "circuit": "The next candle was locked at a limit of the day, where nobody trades against it.",
    "end_of_data": "It is the last candle of the range.",
    "ruined": "Equity had fallen to zero and the simulation had ended.",
    "not_traded": "The order was not filled, for one of the possible reasons.",
}

HELD: Final = "held"
# The message about a position, keyed by its event in the candle.
POSITION_MESSAGES: Final = {
    HELD: "It was held to the end of this candle.",
    "stop_loss": "Prices reached its stop in this candle, or opened beyond it.",
    "take_profit": "Prices reached its target in this candle, or opened beyond it.",
    "trailing_stop": "Prices reached its trailing stop in this candle, or opened beyond it.",
    "opposite_signal": "The opposite signal at the last candle before closed it at this open.",
    "signal": "The conditions of exits were true at the last candle before, or the ranking did not"
    " keep it: closed at this open.",
    "square_off": "It was squared off, for the session was to end.",
    "max_holding": "It had lived through maxHoldingCandles, and was closed at this open.",
    "daily_loss_limit": "The loss of the day had reached maxDailyLoss: closed at this open.",
    "daily_profit_limit": "The profit of the day had reached maxDailyProfit: closed at this open.",
    "stopped": "It was asked to be closed, and was at this open.",
    "expiry": "The contract settled: by the close of its index, or at its own last close.",
    "expiry_close": "It was closed in the last session of a contract that is then delivered.",
    "end_of_data": "The simulation ended, and it was closed at its last close.",
}
