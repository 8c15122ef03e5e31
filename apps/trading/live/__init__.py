"""Running algorithms bar by bar. The processes of the service import only these names."""

from apps.trading.live.liquidation import close_stranded_runs
from apps.trading.live.runner import Runner
from apps.trading.runs.bar_streams import assign_runs, wake, wake_all, wake_for_new_bars

__all__ = [
    "Runner",
    "assign_runs",
    "close_stranded_runs",
    "wake",
    "wake_all",
    "wake_for_new_bars",
]
