"""Make the evidence on a backtest from its result and a new simulation.

It compiles, so only workers import it.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.running import results, trial_ledger
from apps.backtests.running.sample_notices import notice_on_histories
from apps.backtests.running.simulating import load_inputs
from apps.core.times import day_in_india
from apps.engine.candles import TIMEFRAMES, Candles
from apps.engine.evidence import EvidenceInput, JoinedTests, evidence_document
from apps.engine.results import Array, ResultData
from apps.engine.studies import applied
from apps.market.candles import read_adjusted, stored_timeframes
from apps.market.rulebook import expiry_days


def make_evidence(backtest: Backtest) -> tuple[dict[str, object], Array]:
    """Return the document, and the fills as TRADED_FILL records. Raises EngineError."""
    evidence = evidence_input(backtest)
    notice = notice_on_histories(evidence.inputs.histories)
    document = evidence_document(evidence, not_judged=notice)
    return document, evidence.traded_fills


def evidence_input(backtest: Backtest) -> EvidenceInput:
    """Return the input of the sections. Raises EngineError."""
    *tested, steps = steps_of(backtest)
    inputs = load_inputs(backtest, steps)
    trades, curve = results.load_result(backtest)
    days = len(ResultData(trades.records, curve, float(backtest.initial_capital)).ends)
    joined = None
    if backtest.kind == BacktestKind.WALK_FORWARD:
        inputs = replace(inputs, start=int(curve["time"][0]))  # after the first training
        joined = JoinedTests([*tested, steps], (backtest.study or {})["windows"])
    return EvidenceInput(
        inputs,
        trades.records,
        curve,
        trials=trial_ledger.trials_of(backtest, days=days),
        finer=partial(_finer_candles, backtest),
        joined=joined,
        expiries={
            history.symbol: expiry_days(
                history.symbol,
                history.sessions,
                first=day_in_india(inputs.start),
                last=day_in_india(inputs.end),
            )
            for history in inputs.histories
            if history.sessions
        },
    )


def _finer_candles(backtest: Backtest, symbol: str, start: int, end: int) -> Candles | None:
    """Return the finest stored candles of a symbol, adjusted as in the backtest."""
    own = TIMEFRAMES[backtest.timeframe]
    names = (str(stored["timeframe"]) for stored in stored_timeframes(symbol))
    finest = min(names, key=TIMEFRAMES.__getitem__, default=backtest.timeframe)
    if TIMEFRAMES[finest] >= own:
        return None
    adjusted = read_adjusted(symbol, finest, start=start, end=backtest.end, warmup=False)
    return adjusted.candles.between(start, end)


def steps_of(backtest: Backtest) -> list[Mapping[str, Any]]:
    """Return the steps behind the trades of the result: for an optimization those of the best set,
    for a walk-forward those of each tested window.
    """
    steps, study = backtest.configuration, backtest.study_results or {}
    match backtest.kind:
        case BacktestKind.OPTIMIZATION:
            return [applied(steps, study["ranking"][0]["parameters"])]
        case BacktestKind.WALK_FORWARD:
            return [applied(steps, window["parameters"]) for window in study["windows"]]
    return [steps]
