"""The messages of explained candles, for backtests and trading alike."""

from typing import Final

EXPLAINED_SIDES: Final = ("long", "short")

# The messages of the outcome at a candle, by its reason.
OUTCOME_MESSAGES: Final = {
    "entered": "Opened a position at the next open.",
    "no_signal": "No entry condition is met.",
    "not_ranked": "The symbol ranked below the top, or no ranking was made.",
    "both_sides": "Long and short are both signalled, so neither enters.",
    "unknown_ranges": "The ATR or level for its size or exits is not known yet.",
    "position_held": "A position in this symbol was open already. Whether it was added to is not"
    " recorded.",
    "daily_loss_limit": "The daily loss limit had been reached.",
    "daily_profit_limit": "The daily profit limit had been reached.",
    "entry_limit": "The limit of entries of the day had been reached.",
    "cooldown": "The symbol was in its cooldown after an exit.",
    "level_beyond_entry": "The entry price was already beyond its stop or target.",
    "outside_session": "The next candle starts at or after the square-off.",
    "after_session": "No candle was left in the session for an intraday entry.",
    "position_limit": "The limit of open positions or of position size had been reached.",
    "insufficient_cash": "Not enough cash for one lot and its charges.",
    "below_one_lot": "The size came to less than one lot.",
    "limit_not_reached": "The next candle did not reach the price of the order.",
    "circuit": "The next candle was locked at a circuit limit.",
    "end_of_data": "Last candle of the range.",
    "ruined": "The capital was lost, and the simulation had ended.",
    "not_traded": "The order was not filled.",
}

HELD: Final = "held"
# The message about a position, keyed by its event in the candle.
POSITION_MESSAGES: Final = {
    HELD: "Stayed open to the end of this candle.",
    "stop_loss": "The price hit the stop in this candle, or opened beyond it.",
    "take_profit": "The price hit the target in this candle, or opened beyond it.",
    "trailing_stop": "The price hit the trailing stop in this candle, or opened beyond it.",
    "opposite_signal": "The previous candle signalled the opposite side: closed at this open.",
    "signal": "Exit conditions were met at the previous candle, or the symbol lost its rank: closed"
    " at this open.",
    "square_off": "Squared off before the end of the session.",
    "max_holding": "Reached its longest holding time: closed at this open.",
    "daily_loss_limit": "Daily loss limit reached: closed at this open.",
    "daily_profit_limit": "Daily profit limit reached: closed at this open.",
    "stopped": "Closed on request at this open.",
    "expiry": "Settled at expiry: at the close of its index, or at its own last close.",
    "expiry_close": "Closed in the last session before delivery.",
    "end_of_data": "Closed at the last close, where the simulation ended.",
}
