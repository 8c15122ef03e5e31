"""A backtest again, from its receipt and files of candles."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from apps.backtests.analysis.reproduction.receipt_comparison import (
    ReceiptComparison,
    ReceiptWithCandles,
    compare_receipts,
)
from apps.backtests.management.from_files import history_of_file, read_other_files
from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.running.simulating import THREADS, BacktestOutput, study_of
from apps.core.times import day_in_india
from apps.engine import SimulationInput
from apps.engine.evidence import EvidenceInput, look_ahead_of
from apps.engine.language import parse
from apps.market.rulebook import bundled_market_rules
from apps.market.services import ImportOptions, read_one_series

# The fields that a receipt needs for a repetition, beside the compared fields.
_NEEDED = ("start", "end", "capital", "seed")


def repeat(
    document: Mapping[str, Any], candles: Path, paths: Mapping[str, Path]
) -> ReceiptComparison:
    """Run the backtest of a receipt again on the candles of a file, and compare the receipts.

    `paths` are the files of the symbols that its conditions read.
    Raises CommandError, BadCandleFile, InvalidInput, EngineError.
    """
    needed = {"receipt": dict, "configuration": dict, "candleSeries": list}
    if not all(isinstance(document.get(name), kind) for name, kind in needed.items()):
        raise CommandError(f"the file must hold an object with {', '.join(needed)}")
    receipt = document["receipt"]
    if not all(isinstance(receipt.get(name), int | float) for name in _NEEDED):
        raise CommandError(f"the receipt must have the numbers {', '.join(_NEEDED)}")
    original = ReceiptWithCandles(receipt, document["candleSeries"])
    return compare_receipts(original, _run_again(document, candles, paths))


def _run_again(
    document: Mapping[str, Any], candles: Path, paths: Mapping[str, Path]
) -> ReceiptWithCandles:
    """Simulate on the single series of each file.

    Raises BadCandleFile, InvalidInput, EngineError.
    """
    strategy, receipt = parse(document["configuration"]), document["receipt"]
    symbols = strategy.basicInfo.symbols
    if len(symbols) != 1:
        raise CommandError(
            f"A file holds the candles of one symbol, and the backtest has {len(symbols)}; the"
            " service reproduces it: POST /api/backtests/<id>/reproduce."
        )
    loaded, part = read_one_series(candles, ImportOptions(symbol=symbols[0]))
    read_files = read_other_files(strategy, part.symbol, paths)
    backtest = Backtest(
        kind=document.get("kind", BacktestKind.BACKTEST),
        configuration=document["configuration"],
        study=document.get("config"),
        start=int(receipt["start"]),
        end=int(receipt["end"]),
        initial_capital=receipt["capital"],
        seed=int(receipt["seed"]),
    )
    rules = bundled_market_rules(
        strategy, first=day_in_india(backtest.start), last=day_in_india(backtest.end)
    )
    history = history_of_file(rules, loaded, part, start=backtest.start, read_files=read_files)
    inputs = SimulationInput(
        backtest.configuration,
        [history],
        backtest.start,
        backtest.end,
        float(backtest.initial_capital),
        rules.schedule,
        backtest.seed,
    )
    if backtest.study is None:
        output = BacktestOutput(inputs.simulate(), None)
    else:
        study = study_of(backtest, inputs, report=lambda done: None)
        whole = study.run(threads=THREADS)
        output = BacktestOutput(whole.result, whole.findings)
    made: dict[str, object] = {**output.result.receipt, **output.hashes(backtest.study)}
    if backtest.study is None and "lookAhead" in receipt:
        evidence = EvidenceInput(inputs, output.result.trades, output.result.curve)
        made["lookAhead"] = look_ahead_of(evidence).certificate
    series = [series._asdict() for series in output.result.candle_series]
    return ReceiptWithCandles(made, series)
