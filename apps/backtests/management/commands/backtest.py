"""A backtest from two files, without server or database."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.backtests.coverage import coverage_of_histories, receipt_with
from apps.backtests.enough import TooLittleCoverage, require_least
from apps.backtests.histories import history_of, splits_missed
from apps.backtests.summary import summary_of
from apps.core.api import strict_json
from apps.core.errors import InvalidInput
from apps.engine.candles import TIMEFRAMES, Candles, resample
from apps.engine.errors import (
    LEAST_BARS,
    EngineError,
    IncompleteStrategy,
    InsufficientData,
    InvalidStrategy,
)
from apps.engine.figures.fields import round_for_wire
from apps.engine.language import strategy as engine
from apps.engine.sessions import Sessions
from apps.engine.simulation.results import curve_points, trade_dicts
from apps.engine.simulation.simulate import Result, simulate
from apps.market.contracts import bundled_market_rules
from apps.market.dates import day_in_india, day_number
from apps.market.importers import (
    BadCandleFile,
    CandleImport,
    ImportOptions,
    InstrumentBars,
    read_one_series,
)

CURVE_POINTS: Final = 500


class Command(BaseCommand):
    help = "Simulate the algorithm of CONFIG.json on the candles of a file; no server, no database."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("config", type=Path, help="the algorithm's steps as JSON")
        parser.add_argument("--candles", type=Path, required=True, help="CSV (also .gz) or Parquet")
        parser.add_argument("--symbol", help="EXCHANGE:SYMBOL that the candles are of")
        parser.add_argument("--json", action="store_true", help="print JSON, not a summary")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            steps = _steps(options["config"])
            loaded, part = read_one_series(
                options["candles"], ImportOptions(symbol=options["symbol"])
            )
            strategy = _strategy(steps, part.symbol)
            result = _simulated(strategy, loaded, part)
        except TooLittleCoverage as error:
            raise CommandError(str(error)) from error
        except (InvalidStrategy, IncompleteStrategy) as error:
            raise CommandError(_told(error)) from error
        except (BadCandleFile, InvalidInput, EngineError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(_json(result) if options["json"] else summary_of(result))


def _steps(path: Path) -> dict[str, Any]:
    """The steps of the file; what else an algorithm has does not matter here."""
    try:
        document = strict_json.read(path.read_bytes())
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    if not isinstance(document, dict):
        raise CommandError(f"{path}: the file must hold a JSON object")
    return {name: document[name] for name in engine.STEPS if name in document}


def _strategy(steps: Mapping[str, Any], symbol: str) -> engine.Strategy:
    """The steps for the one symbol that the candles are of, whatever symbols they list."""
    basic = steps.get("basicInfo")
    if isinstance(basic, dict):
        steps = {**steps, "basicInfo": {**basic, "symbols": [symbol]}}
    return engine.parse(steps)


def _simulated(strategy: engine.Strategy, loaded: CandleImport, part: InstrumentBars) -> Result:
    first, last = (day_in_india(int(part.candles.time[n])) for n in (0, -1))
    rules = bundled_market_rules(strategy, first=first, last=last)
    timeframe, sessions = strategy.basicInfo.timeframe, rules.sessions(part.symbol)
    candles = _finished(loaded.timeframe, part, timeframe, sessions)
    start, end = int(candles.time[0]), int(candles.time[-1]) + 1
    longer = {
        name: _finished(loaded.timeframe, part, name, sessions)
        for name in engine.longer_warmups(strategy)
    }
    history = history_of(rules, part.symbol, candles, start=start)
    notes = (*splits_missed(part.symbol, candles, timeframe), *history.notes)
    histories = [replace(history, longer=longer, notes=notes)]
    coverage = coverage_of_histories(
        histories,
        timeframe,
        start=start,
        end=end,
        now=timezone.now(),
        include_out_of_session=strategy.executionSettings.includeOutOfSession,
        since={part.symbol: day_number(first)},
    )
    require_least(coverage)
    result = simulate(
        strategy,
        histories,
        start=start,
        end=end,
        capital=strategy.executionSettings.initialCapital,
        schedule=rules.schedule,
    )
    return replace(result, receipt=receipt_with(result.receipt, coverage))


def _finished(source: str, part: InstrumentBars, timeframe: str, sessions: Sessions) -> Candles:
    """The bars in the strategy's timeframe, without a last one that the file does not finish."""
    known_until = int(part.candles.time[-1]) + TIMEFRAMES[source]
    candles = resample(part.candles, source, timeframe, sessions, until=known_until)
    if not len(candles):
        raise InsufficientData(part.symbol, held=0, needed=LEAST_BARS)
    return candles


def _told(error: InvalidStrategy | IncompleteStrategy) -> str:
    """What is wrong in one line, then each fault that this line is not."""
    lines = [f"  {fault.message}" for fault in error.faults if fault.message != str(error)]
    return "\n".join([str(error), *lines])


def _json(result: Result) -> str:
    return orjson.dumps(
        {
            "performance": round_for_wire(result.performance),
            "notes": result.receipt["notes"],
            "receipt": result.receipt,
            "trades": trade_dicts(result.trades, result.symbols, result.excursions, result.fills),
            "equity": curve_points(result.curve, CURVE_POINTS),
        }
    ).decode()
