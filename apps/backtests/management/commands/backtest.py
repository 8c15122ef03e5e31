"""The command `backtest`: a backtest from files, without server or database."""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.backtests.analysis.reproduction.receipt_comparison import ReceiptComparison
from apps.backtests.management.from_files import (
    FileOfSymbol,
    history_of_file,
    read_other_files,
    rules_of_candles,
)
from apps.backtests.management.repetition import repeat
from apps.backtests.models import BacktestKind
from apps.backtests.running.range_coverage import add_coverage, coverage_of_histories
from apps.backtests.running.simulating import BacktestOutput
from apps.backtests.running.sufficient_history import TooLittleCoverage, require_min_coverage
from apps.core import requests
from apps.core.errors import InvalidInput
from apps.core.times import day_in_india, day_number, moment, wire_time
from apps.engine import EngineError, SimulationInput, SimulationResult
from apps.engine.candles import InvalidSymbol, Symbol
from apps.engine.language import InvalidStrategy, Strategy, parse
from apps.engine.results import EquityCurve, Trades, round_for_wire
from apps.market.rulebook import SymbolNotTradable, require_tradable
from apps.market.services import (
    BadCandleFile,
    ImportOptions,
    read_one_series,
)

CURVE_POINTS: Final = 500
# The metrics of the summary: wire name, label and format.
_METRICS: Final = (
    ("totalTrades", "Trades", "{:,.0f}"),
    ("winRate", "Win rate", "{:.2f} %"),
    ("netProfit", "Net profit", "{:+,.2f}"),
    ("roi", "Return", "{:+.2f} %"),
    ("charges", "Charges", "{:,.2f}"),
    ("profitFactor", "Profit factor", "{:.2f}"),
    ("averageWin", "Average win", "{:,.2f}"),
    ("averageLoss", "Average loss", "{:,.2f}"),
    ("maxDrawdown", "Max drawdown", "{:.2f} %"),
    ("sharpeRatio", "Sharpe ratio, per trade", "{:.3f}"),
    ("sharpeRatioAnnualized", "Sharpe ratio, annualised", "{:.3f}"),
    ("finalEquity", "Final equity", "{:,.2f}"),
)
_LAST_TRADES: Final = 5


class Command(BaseCommand):
    help = (
        "Simulate the algorithm of CONFIG.json on the candles of a file; no server, no database."
        " With a receipt, which GET /api/backtests/<id>/receipt and --json give, run its backtest"
        " again and exit with 1 if the result differs."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("config", type=Path, help="the algorithm's steps, or a receipt")
        parser.add_argument("--candles", type=Path, required=True, help="CSV (also .gz) or Parquet")
        parser.add_argument("--symbol", help="EXCHANGE:SYMBOL that the candles are of")
        parser.add_argument(
            "--other",
            action="append",
            type=_file_of_symbol,
            default=[],
            metavar="SYMBOL=FILE",
            help="the candles of a symbol that conditions read with `on`; once for each",
        )
        parser.add_argument("--json", action="store_true", help="print JSON, not a summary")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            document = _read_document(options["config"])
            if "receipt" in document:
                if options["symbol"] or options["json"]:
                    raise CommandError(
                        "a receipt names its symbol, and its check prints no JSON: leave out"
                        " --symbol and --json"
                    )
                self._show(repeat(document, options["candles"], dict(options["other"])))
                return
            loaded, part = read_one_series(
                options["candles"], ImportOptions(symbol=options["symbol"])
            )
            steps = {name: document[name] for name in Strategy.model_fields if name in document}
            steps = _of_symbol(steps, part.symbol)
            strategy = parse(steps)
            read_files = read_other_files(strategy, part.symbol, dict(options["other"]))
            result = _simulate(steps, (loaded, part), read_files)
        except (TooLittleCoverage, SymbolNotTradable) as error:
            raise CommandError(str(error)) from error
        except InvalidStrategy as error:
            raise CommandError(_describe(error)) from error
        except (BadCandleFile, InvalidInput, EngineError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            _to_json(strategy, result) if options["json"] else "\n".join(_summary_lines(result))
        )

    def _show(self, comparison: ReceiptComparison) -> None:
        """Write a line for each hash, then the differences."""
        words = {True: "equal", False: "differs", None: "not comparable"}
        for pair in comparison.hashes:
            self.stdout.write(f"  {pair.name:16}{words[pair.is_equal]}")
        for difference in comparison.differences:
            self.stdout.write(difference)
        if not comparison.is_equal:
            raise CommandError("The result differs from the receipt.")


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = requests.read_json(path.read_bytes())
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    if not isinstance(document, dict):
        raise CommandError(f"{path}: the file must hold a JSON object")
    return document


def _of_symbol(steps: dict[str, Any], symbol: str) -> dict[str, Any]:
    """Return the steps for the symbol of the candles, in place of the symbols they list."""
    basic = steps.get("basicInfo")
    if isinstance(basic, dict):
        return {**steps, "basicInfo": {**basic, "symbols": [symbol]}}
    return steps


def _file_of_symbol(text: str) -> tuple[str, Path]:
    name, separator, path = text.partition("=")
    try:
        symbol = str(Symbol.parse(name))
    except InvalidSymbol as error:
        raise argparse.ArgumentTypeError(f"{name!r}: {error.reason}") from None
    if not (separator and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form SYMBOL=FILE")
    return symbol, Path(path)


def _simulate(
    steps: Mapping[str, Any], traded: FileOfSymbol, read_files: Mapping[str, FileOfSymbol]
) -> SimulationResult:
    strategy, part = parse(steps), traded[1]
    rules = rules_of_candles(strategy, part.candles)
    require_tradable(strategy, rule_set=rules.rule_set, day=rules.first, listed=())
    history = history_of_file(rules, *traded, read_files=read_files)
    start, end = int(history.candles.time[0]), int(history.candles.time[-1]) + 1
    coverages = list(
        coverage_of_histories(
            [history],
            strategy.basicInfo.timeframe,
            start=start,
            end=end,
            now=timezone.now(),
            include_out_of_session=strategy.executionSettings.includeOutOfSession,
            since={
                bars.symbol: day_number(day_in_india(int(bars.candles.time[0])))
                for _, bars in (traded, *read_files.values())
            },
        )
    )
    require_min_coverage(coverages)
    capital = strategy.executionSettings.initialCapital
    inputs = SimulationInput(steps, [history], start, end, capital, rules.schedule)
    result = inputs.simulate()
    return replace(result, receipt=add_coverage(result.receipt, coverages))


def _describe(error: InvalidStrategy) -> str:
    """Return the message of the error, then the message of each other fault."""
    lines = [f"  {fault.message}" for fault in error.errors if fault.message != str(error)]
    return "\n".join([str(error), *lines])


def _to_json(strategy: Strategy, result: SimulationResult) -> str:
    return orjson.dumps(
        {
            "performance": round_for_wire(result.performance),
            "notes": result.receipt["notes"],
            "receipt": {**result.receipt, **BacktestOutput(result, None).hashes(None)},
            "kind": BacktestKind.BACKTEST,
            "configuration": strategy.model_dump(mode="json", by_alias=True, exclude_none=True),
            "config": None,
            "candleSeries": [series._asdict() for series in result.candle_series],
            "trades": Trades(result.trades, result.excursions, result.fills).to_wire(
                result.symbols
            ),
            "equity": EquityCurve(result.curve).points(CURVE_POINTS),
        }
    ).decode()


def _summary_lines(result: SimulationResult) -> Iterator[str]:
    """Yield the lines of a summary: metrics, the last trades, and notes."""
    first, last = (wire_time(moment(int(time))) for time in result.curve["time"][[0, -1]])
    yield f"{', '.join(result.symbols)}: {len(result.curve):,} bars, {first} to {last}"
    yield ""
    for name, label, form in _METRICS:
        value: Any = result.performance[name]
        text = "none" if value is None else form.format(value)
        yield f"  {label:26}{text:>20}"
    yield ""
    yield from _trade_lines(result)
    notes: Any = result.receipt["notes"]
    for note in notes:
        yield f"Note: {note['message']}"


def _trade_lines(result: SimulationResult) -> Iterator[str]:
    trades = Trades(result.trades[-_LAST_TRADES:]).to_wire(result.symbols)
    if not trades:
        yield "  No trades."
        return
    yield f"  The last {len(trades)} of {len(result.trades):,} trades"
    for trade in trades:
        yield (
            f"  {trade['exitTime']}  {trade['symbol']}  {trade['side']:5}"
            f" {trade['quantity']:>10,.0f}  {trade['entryPrice']:>12,.2f} -> "
            f"{trade['exitPrice']:>12,.2f}  {trade['profit']:>+14,.2f}  {trade['exitReason']}"
        )
