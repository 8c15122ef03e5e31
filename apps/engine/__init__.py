"""Pure simulation: no Django, no database.

Other apps enter by these names and by those of `candles`, `language`, `results`, `studies` and
`evidence`. A module is imported when one of its names is first used.
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
    from apps.engine.kernel.records import ENGINE_VERSION, LAST_CLOSE, Settlement
    from apps.engine.simulation.charges import NO_CHARGES, ChargeRow, Schedule
    from apps.engine.simulation.circuits import (
        CLOSE_DAYS,
        circuit_flags,
        may_be_locked,
        with_circuits,
    )
    from apps.engine.simulation.explain import (
        Finding,
        SideFound,
        exits_at,
        opposite_at,
        ranges_known,
        sides_at,
        signals_at,
    )
    from apps.engine.simulation.levels import Levels, levels_of, orders_reached
    from apps.engine.simulation.plan import BEFORE_THE_CLOSE, NEVER, Contract
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
    from apps.engine.simulation.timeline import (
        UNDERLYING_DAYS,
        History,
        Note,
        Payout,
        SymbolSeries,
        short_margins_of,
        signals_at_bars,
        symbol_series_of,
    )
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
            "kernel.records": ["ENGINE_VERSION", "LAST_CLOSE", "Settlement"],
            "simulation.charges": ["ChargeRow", "NO_CHARGES", "Schedule"],
            "simulation.circuits": [
                "CLOSE_DAYS",
                "circuit_flags",
                "may_be_locked",
                "with_circuits",
            ],
            "simulation.explain": [
                "Finding",
                "SideFound",
                "exits_at",
                "opposite_at",
                "ranges_known",
                "sides_at",
                "signals_at",
            ],
            "simulation.levels": ["Levels", "levels_of", "orders_reached"],
            "simulation.plan": ["BEFORE_THE_CLOSE", "Contract", "NEVER"],
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
            "simulation.timeline": [
                "History",
                "Note",
                "Payout",
                "SymbolSeries",
                "UNDERLYING_DAYS",
                "short_margins_of",
                "signals_at_bars",
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
    "BEFORE_THE_CLOSE",
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
    "SymbolSeries",
    "Verdict",
    "circuit_flags",
    "configuration_hash",
    "exits_at",
    "hash_of",
    "held_at",
    "ignore_progress",
    "levels_of",
    "may_be_locked",
    "notes_on_engine",
    "opposite_at",
    "orders_reached",
    "ranges_known",
    "short_margins_of",
    "sides_at",
    "signals_at",
    "signals_at_bars",
    "simulate",
    "structure_hash",
    "symbol_series_of",
    "verdict",
    "with_circuits",
]
