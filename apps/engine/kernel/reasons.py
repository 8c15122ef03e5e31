"""The reasons of closed positions and of refused entries, and the kinds of charges, under their
names on the wire.

The kernel counts them by number (`codes`): a reason's number is its index here, and
`tests/engine/test_reasons.py` checks that the two agree.
"""

EXIT_REASONS = (
    "",
    "stop_loss",
    "take_profit",
    "trailing_stop",
    "opposite_signal",
    "square_off",
    "max_holding",
    "daily_loss_limit",
    "end_of_data",
    "signal",
    "stopped",
    "expiry",
    "expiry_close",
    "daily_profit_limit",
    "step",
)
"""`step` is the reason of a fill that closes a part of a position, and of no trade."""
# Exit reasons that are not named after a setting.
EXIT_REASON_HELP = (
    "The setting that closed it; `signal`: exit conditions; `stopped`: a request; `expiry`: the"
    " contract settled; `expiry_close`: it is delivered after its last session; `end_of_data`: the"
    " range of the backtest ended."
)
REJECTIONS = (
    "position_limit",
    "insufficient_cash",
    "below_one_lot",
    "daily_loss_limit",
    "outside_session",
    "both_sides",
    "limit_not_reached",
    "kill_switch",
    "stale_data",
    "after_session",
    "circuit",
    "daily_profit_limit",
    "entry_limit",
    "cooldown",
    "level_beyond_entry",
)
OPTIONAL_REJECTIONS = frozenset(
    {"daily_profit_limit", "entry_limit", "cooldown", "level_beyond_entry"}
)
"""A result has them only if its strategy sets the field that causes them."""
REDUCTIONS = ("max_position_size", "cash", "volume")
"""What makes an entry smaller than its sizing asks for."""
WAITS = ("exits", "bars")
"""What is counted of exits that a locked price lets wait: how many, and their bars in all."""
CHARGE_KINDS = (
    "brokerage",
    "transactionTax",
    "exchangeFee",
    "ipft",
    "sebiFee",
    "stampDuty",
    "gst",
    "depositoryCharge",
)
