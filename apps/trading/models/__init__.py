"""What trades on paper: accounts and their ledger, runs and their lanes, orders and what became of
them, and the switches that stop them.
"""

from apps.trading.models.accounts import Account, Book, EntryKind, LedgerEntry, Posting
from apps.trading.models.brokers import BrokerHealth, BrokerState
from apps.trading.models.drift import DriftReport
from apps.trading.models.orders import (
    DailyLoss,
    Fill,
    Intent,
    Order,
    OrderStatus,
    Position,
    Signal,
    Tally,
    Trade,
)
from apps.trading.models.runs import EndReason, Lane, LaneRow, Run, RunState, SessionStart
from apps.trading.models.switches import MAX_REASON, GlobalSwitch, KillSwitch

__all__ = [
    "MAX_REASON",
    "Account",
    "Book",
    "BrokerHealth",
    "BrokerState",
    "DailyLoss",
    "DriftReport",
    "EndReason",
    "EntryKind",
    "Fill",
    "GlobalSwitch",
    "Intent",
    "KillSwitch",
    "Lane",
    "LaneRow",
    "LedgerEntry",
    "Order",
    "OrderStatus",
    "Position",
    "Posting",
    "Run",
    "RunState",
    "SessionStart",
    "Signal",
    "Tally",
    "Trade",
]
