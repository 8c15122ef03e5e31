"""Why a position was closed, why an entry was not traded, and what a fill is charged for, under
their names on the wire.

The kernel counts them by number: a reason's number is its place here. It states the numbers itself,
as compiled code does not notice a change in another file; `tests/engine/test_reasons.py` holds the
two together. Whoever only reads results needs the names and not the compiler.
"""

EXIT_REASONS = (
    "", "stop_loss", "take_profit", "trailing_stop", "opposite_signal",
    "square_off", "max_holding", "daily_loss_limit", "end_of_data", "signal",
)  # fmt: skip
REJECTIONS = (
    "position_limit", "insufficient_cash", "below_one_lot",
    "daily_loss_limit", "outside_session", "both_sides",
)  # fmt: skip
CHARGE_KINDS = (
    "brokerage", "transactionTax", "exchangeFee", "ipft", "sebiFee", "stampDuty", "gst",
)  # fmt: skip
