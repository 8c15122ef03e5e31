"""Paper trading: accounts and their ledger, runs and their bar streams, orders and fills, and the
kill switches.
"""

from apps.trading.models.accounts import Account, Book, EntryKind, LedgerEntry, Posting
from apps.trading.models.notices import DaySummary, FeedOutage
from apps.trading.models.orders import (
    DailyLoss,
    Fill,
    Intent,
    Order,
    OrderStatus,
    PerformanceTotals,
    Position,
    Signal,
    Trade,
)
from apps.trading.models.runs import (
    BarRow,
    BarStream,
    DriftReport,
    EndReason,
    Run,
    RunState,
    SessionStart,
)
from apps.trading.models.switches import (
    MAX_REASON,
    BrokerHealth,
    BrokerState,
    GlobalSwitch,
    KillSwitch,
)

__all__ = [
    "MAX_REASON",
    "Account",
    "BarRow",
    "BarStream",
    "Book",
    "BrokerHealth",
    "BrokerState",
    "DailyLoss",
    "DaySummary",
    "DriftReport",
    "EndReason",
    "EntryKind",
    "FeedOutage",
    "Fill",
    "GlobalSwitch",
    "Intent",
    "KillSwitch",
    "LedgerEntry",
    "Order",
    "OrderStatus",
    "PerformanceTotals",
    "Position",
    "Posting",
    "Run",
    "RunState",
    "SessionStart",
    "Signal",
    "Trade",
]
