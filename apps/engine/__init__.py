"""Pure simulation: no Django, no database.

Other apps import these names and those of `candles`, `language`, `results`, `studies` and
`evidence`. A module is imported on first use of one of its names.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from apps.engine.errors import EngineError, InsufficientBars
from apps.engine.lazy import lazy_names

# Numba reads both when it is imported.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parent / "__pycache__"))
os.environ.setdefault(
    "NUMBA_CACHE_LOCATOR_CLASSES", "apps.engine.kernel.kernel_cache.FolderCacheLocator"
)

if TYPE_CHECKING:
    from apps.engine.compilation import (
        Compilation,
    )
    from apps.engine.hashes import hash_of
    from apps.engine.kernel.records import ENGINE_VERSION, Settlement
    from apps.engine.simulation.charges import ChargeRow, Schedule
    from apps.engine.simulation.plan import Contract
    from apps.engine.simulation.receipt import notes_on_engine
    from apps.engine.simulation.simulate import SimulationResult
    from apps.engine.simulation.simulation_input import SimulationInput
    from apps.engine.simulation.strategy_at_bar import (
        BarExplanation,
        PositionExplanation,
        StrategyAtBar,
    )
    from apps.engine.simulation.timeline import (
        History,
        Note,
        OtherSymbol,
        Payout,
        SymbolSeries,
    )
    from apps.engine.simulation.verdict import EntryExplanation, StoredResult
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "compilation": [
                "Compilation",
            ],
            "hashes": ["hash_of"],
            "kernel.records": ["ENGINE_VERSION", "Settlement"],
            "simulation.charges": ["ChargeRow", "Schedule"],
            "simulation.plan": ["Contract"],
            "simulation.receipt": [
                "notes_on_engine",
            ],
            "simulation.simulate": ["SimulationResult"],
            "simulation.simulation_input": ["SimulationInput"],
            "simulation.strategy_at_bar": [
                "BarExplanation",
                "PositionExplanation",
                "StrategyAtBar",
            ],
            "simulation.timeline": [
                "History",
                "Note",
                "OtherSymbol",
                "Payout",
                "SymbolSeries",
            ],
            "simulation.verdict": ["EntryExplanation", "StoredResult"],
        },
    )

__all__ = [
    "ENGINE_VERSION",
    "BarExplanation",
    "ChargeRow",
    "Compilation",
    "Contract",
    "EngineError",
    "EntryExplanation",
    "History",
    "InsufficientBars",
    "Note",
    "OtherSymbol",
    "Payout",
    "PositionExplanation",
    "Schedule",
    "Settlement",
    "SimulationInput",
    "SimulationResult",
    "StoredResult",
    "StrategyAtBar",
    "SymbolSeries",
    "hash_of",
    "notes_on_engine",
]
