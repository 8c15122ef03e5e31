"""Pure simulation: no Django, no database.

Other apps import these names and those of `candles`, `language`, `results`, `studies` and
`evidence`. A module is imported on first use of one of its names.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from apps.engine.errors import LEAST_BARS, EngineError, InsufficientBars
from apps.engine.lazy import lazy_names

# Numba reads both when it is imported.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parent / "__pycache__"))
os.environ.setdefault(
    "NUMBA_CACHE_LOCATOR_CLASSES", "apps.engine.kernel.kernel_cache.FolderCacheLocator"
)

if TYPE_CHECKING:
    from apps.engine.compilation import (
        Compilation,
        compilation_started,
        load_kernels,
        prepare_kernels,
    )
    from apps.engine.kernel.records import ENGINE_VERSION, LAST_CLOSE, Settlement
    from apps.engine.simulation.charges import NO_CHARGES, ChargeRow, Schedule
    from apps.engine.simulation.circuits import CLOSE_DAYS, may_be_locked
    from apps.engine.simulation.explain import Finding, SideFound
    from apps.engine.simulation.plan import NEVER, Contract
    from apps.engine.simulation.receipt import (
        UNTOLD_ENGINE_VERSION,
        CandleSeries,
        configuration_hash,
        hash_of,
        notes_on_engine,
        structure_hash,
    )
    from apps.engine.simulation.simulate import SimulationResult, simulate
    from apps.engine.simulation.simulation_input import SimulationInput
    from apps.engine.simulation.simulations import ignore_progress
    from apps.engine.simulation.strategy_at_bar import StrategyAtBar
    from apps.engine.simulation.timeline import (
        UNDERLYING_DAYS,
        History,
        Note,
        Payout,
        SymbolSeries,
        symbol_series_of,
    )
    from apps.engine.simulation.trade_levels import Levels
    from apps.engine.simulation.verdict import (
        CERTAIN,
        UNCERTAIN,
        SignalBar,
        StoredResult,
        Verdict,
        held_at,
        verdict,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "compilation": [
                "Compilation",
                "compilation_started",
                "load_kernels",
                "prepare_kernels",
            ],
            "kernel.records": ["ENGINE_VERSION", "LAST_CLOSE", "Settlement"],
            "simulation.charges": ["ChargeRow", "NO_CHARGES", "Schedule"],
            "simulation.circuits": ["CLOSE_DAYS", "may_be_locked"],
            "simulation.explain": ["Finding", "SideFound"],
            "simulation.trade_levels": ["Levels"],
            "simulation.plan": ["Contract", "NEVER"],
            "simulation.receipt": [
                "CandleSeries",
                "UNTOLD_ENGINE_VERSION",
                "configuration_hash",
                "hash_of",
                "notes_on_engine",
                "structure_hash",
            ],
            "simulation.simulate": ["SimulationResult", "simulate"],
            "simulation.simulation_input": ["SimulationInput"],
            "simulation.simulations": ["ignore_progress"],
            "simulation.strategy_at_bar": ["StrategyAtBar"],
            "simulation.timeline": [
                "History",
                "Note",
                "Payout",
                "SymbolSeries",
                "UNDERLYING_DAYS",
                "symbol_series_of",
            ],
            "simulation.verdict": [
                "CERTAIN",
                "SignalBar",
                "StoredResult",
                "UNCERTAIN",
                "Verdict",
                "held_at",
                "verdict",
            ],
        },
    )

__all__ = [
    "CERTAIN",
    "CLOSE_DAYS",
    "ENGINE_VERSION",
    "LAST_CLOSE",
    "LEAST_BARS",
    "NEVER",
    "NO_CHARGES",
    "UNCERTAIN",
    "UNDERLYING_DAYS",
    "UNTOLD_ENGINE_VERSION",
    "CandleSeries",
    "ChargeRow",
    "Compilation",
    "Contract",
    "EngineError",
    "Finding",
    "History",
    "InsufficientBars",
    "Levels",
    "Note",
    "Payout",
    "Schedule",
    "Settlement",
    "SideFound",
    "SignalBar",
    "SimulationInput",
    "SimulationResult",
    "StoredResult",
    "StrategyAtBar",
    "SymbolSeries",
    "Verdict",
    "compilation_started",
    "configuration_hash",
    "hash_of",
    "held_at",
    "ignore_progress",
    "load_kernels",
    "may_be_locked",
    "notes_on_engine",
    "prepare_kernels",
    "simulate",
    "structure_hash",
    "symbol_series_of",
    "verdict",
]
