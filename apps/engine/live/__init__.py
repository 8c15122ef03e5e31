"""Live runs: a simulation that continues row by row.

Other apps use only these names. Names that load the compiler are imported on first use.
"""

from typing import TYPE_CHECKING

from apps.engine.kernel.codes import OPEN as OPENED
from apps.engine.kernel.records import State
from apps.engine.lazy import lazy_names
from apps.engine.live.rows import BarSnapshot, ContractTerms
from apps.engine.live.state import SignalBits, load_state, save_state

if TYPE_CHECKING:
    from apps.engine.live.signals import SignalEvaluator, SignalInput
    from apps.engine.live.step import LiveStrategy, RowRequests
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "signals": ["SignalEvaluator", "SignalInput"],
            "step": ["LiveStrategy", "RowRequests"],
        },
    )

__all__ = [
    "OPENED",
    "BarSnapshot",
    "ContractTerms",
    "LiveStrategy",
    "RowRequests",
    "SignalBits",
    "SignalEvaluator",
    "SignalInput",
    "State",
    "load_state",
    "save_state",
]
