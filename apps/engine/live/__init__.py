"""Live runs: a simulation that continues row by row.

Other apps use only these names. Names that load the compiler are imported on first use.
"""

from typing import TYPE_CHECKING

from apps.engine.kernel.records import Plan, State
from apps.engine.lazy import lazy_names
from apps.engine.live.rows import BarSnapshot, ContractTerms
from apps.engine.live.state import (
    HALTED_BY_LOSS,
    HALTED_BY_PROFIT,
    OPENED,
    SignalBits,
    drop_pending_entry,
    first_state,
    is_ruined,
    load_state,
    save_state,
)
from apps.engine.simulation.plan import plan_of

if TYPE_CHECKING:
    from apps.engine.live.signals import SignalEvaluator, SignalInput, signal_settings
    from apps.engine.live.step import BlockReason, RowRequests, close_at_last, step_row
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "signals": ["SignalEvaluator", "SignalInput", "signal_settings"],
            "step": ["BlockReason", "RowRequests", "close_at_last", "step_row"],
        },
    )

__all__ = [
    "HALTED_BY_LOSS",
    "HALTED_BY_PROFIT",
    "OPENED",
    "BarSnapshot",
    "BlockReason",
    "ContractTerms",
    "Plan",
    "RowRequests",
    "SignalBits",
    "SignalEvaluator",
    "SignalInput",
    "State",
    "close_at_last",
    "drop_pending_entry",
    "first_state",
    "is_ruined",
    "load_state",
    "plan_of",
    "save_state",
    "signal_settings",
    "step_row",
]
