"""The verbs of trading, as other apps call them."""

from apps.trading.activity.alert_effects import AlertEffect, effects_of, running_since
from apps.trading.activity.drift.services import (
    drifted,
    latest_sessions,
    read_band,
    read_drift,
)
from apps.trading.activity.event_stream.services import CHANNELS
from apps.trading.activity.live_summary import live_summaries
from apps.trading.activity.profits import open_profit, profits_by_day, total_profit
from apps.trading.activity.retention import purge
from apps.trading.activity.run_explanation.services import explain_run
from apps.trading.activity.services import (
    cancel_order,
    orders,
    positions,
    request_position_close,
    signals,
    trades,
)
from apps.trading.runs.failures import RunFailure, find_failures
from apps.trading.runs.kill_switches import (
    engage_global_switch,
    engage_kill_switch,
    read_global_switch,
    read_switch,
    release_global_switch,
    release_kill_switch,
)
from apps.trading.runs.replays import (
    ReplayRange,
    change_replay_speed,
    find_range,
    may_replay,
    propose_symbols,
    start_replay,
    stop_replay,
)
from apps.trading.runs.services import fail, pause, resume, start, stop, stop_all
from apps.trading.runs.statements import read_account, reset_account

__all__ = [
    "CHANNELS",
    "AlertEffect",
    "ReplayRange",
    "RunFailure",
    "cancel_order",
    "change_replay_speed",
    "drifted",
    "effects_of",
    "engage_global_switch",
    "engage_kill_switch",
    "explain_run",
    "fail",
    "find_failures",
    "find_range",
    "latest_sessions",
    "live_summaries",
    "may_replay",
    "open_profit",
    "orders",
    "pause",
    "positions",
    "profits_by_day",
    "propose_symbols",
    "purge",
    "read_account",
    "read_band",
    "read_drift",
    "read_global_switch",
    "read_switch",
    "release_global_switch",
    "release_kill_switch",
    "request_position_close",
    "reset_account",
    "resume",
    "running_since",
    "signals",
    "start",
    "start_replay",
    "stop",
    "stop_all",
    "stop_replay",
    "total_profit",
    "trades",
]
