"""What can be told to those who listen."""

from enum import StrEnum


class EventType(StrEnum):
    """The types on the wire, a closed set."""

    ALGORITHM_STARTED = "algorithm.started"
    ALGORITHM_STOPPED = "algorithm.stopped"
    ALGORITHM_PAUSED = "algorithm.paused"
    ALGORITHM_ERROR = "algorithm.error"
    TRADE_EXECUTED = "trade.executed"
    BACKTEST_COMPLETED = "backtest.completed"
    BACKTEST_FAILED = "backtest.failed"
    DAILY_LOSS_LIMIT_REACHED = "risk.daily_loss_limit_reached"
    PERFORMANCE_ALERT = "performance.alert"
    WEBHOOK_TEST = "webhook.test"
