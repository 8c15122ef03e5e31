"""The command `reproduce`: run a backtest again from its receipt and a file of candles."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.backtests.analysis.reproduction.receipt_comparison import (
    ReceiptComparison,
    ReceiptWithCandles,
    compare_receipts,
)
from apps.backtests.management.from_files import history_of_file
from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.running.simulating import THREADS, BacktestOutput, study_of
from apps.core import requests
from apps.core.errors import InvalidInput
from apps.core.times import day_in_india
from apps.engine import EngineError, SimulationInput, ignore_progress
from apps.engine.evidence import EvidenceInput, look_ahead_of
from apps.engine.language import parse
from apps.engine.studies import run_whole
from apps.market.rulebook import bundled_market_rules
from apps.market.services import BadCandleFile, ImportOptions, read_one_series

# The fields that a receipt needs for a repetition, beside the compared fields.
_NEEDED = ("start", "end", "capital", "seed")


class Command(BaseCommand):
    help = (
        "Run the backtest of RECEIPT.json, which GET /api/backtests/<id>/receipt and `backtest"
        " --json` give, again on the candles of a file; exit with 1 if the result differs."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("receipt", type=Path, help="JSON with receipt and configuration")
        parser.add_argument("--candles", type=Path, required=True, help="CSV (also .gz) or Parquet")

    def handle(self, *args: Any, **options: Any) -> None:
        document = _read_document(options["receipt"])
        original = ReceiptWithCandles(document["receipt"], document["candleSeries"])
        try:
            reproduced = _run_again(document, options["candles"])
        except (BadCandleFile, InvalidInput, EngineError) as error:
            raise CommandError(str(error)) from error
        comparison = compare_receipts(original, reproduced)
        self.stdout.write("\n".join(_lines(comparison)))
        if not comparison.is_equal:
            raise CommandError("The result is not that of the receipt.")


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = requests.read_json(path.read_bytes())
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    except InvalidInput as error:
        raise CommandError(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise CommandError(f"{path}: the file must hold a JSON object")
    needed = {"receipt": dict, "configuration": dict, "candleSeries": list}
    if not all(isinstance(document.get(name), kind) for name, kind in needed.items()):
        raise CommandError(f"{path}: the file must hold an object with {', '.join(needed)}")
    receipt = document["receipt"]
    wrong = [name for name in _NEEDED if not isinstance(receipt.get(name), int | float)]
    if wrong:
        raise CommandError(f"{path}: the receipt must have the numbers {', '.join(wrong)}")
    return document


def _run_again(document: Mapping[str, Any], candles: Path) -> ReceiptWithCandles:
    """Simulate on the single series of the file.

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
    history = history_of_file(rules, loaded, part, start=backtest.start)
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
        study = study_of(backtest, inputs, report=ignore_progress)
        whole = run_whole(study, threads=THREADS)
        output = BacktestOutput(whole.result, whole.findings)
    hashes = output.hashes(backtest.study)
    if backtest.study is None and "lookAhead" in receipt:
        evidence = EvidenceInput(inputs, output.result.trades, output.result.curve)
        hashes["lookAhead"] = look_ahead_of(evidence).certificate
    series = [series._asdict() for series in output.result.candle_series]
    return ReceiptWithCandles({**output.result.receipt, **hashes}, series)


def _lines(comparison: ReceiptComparison) -> list[str]:
    """Return a line for each hash, then the differences."""
    words = {True: "equal", False: "differs", None: "not comparable"}
    return [
        *(f"  {pair.name:16}{words[pair.is_equal]}" for pair in comparison.hashes),
        *comparison.differences,
    ]
