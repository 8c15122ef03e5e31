"""A strategy: the configuration steps of an algorithm, validated, with defaults applied.

The models of `steps`, `conditions` and `exits` are the only description of the steps: they parse
requests, the engine runs them, and their JSON schema is the documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Final, Literal, NamedTuple, get_args

from pydantic import ConfigDict, Field, ValidationError

from apps.engine.candles.candles import DAY, TIMEFRAME_SECONDS, TIMEFRAMES, WARMUP_BARS
from apps.engine.candles.symbols import Symbol
from apps.engine.errors import FieldError, IncompleteStrategy, InvalidStrategy
from apps.engine.hashes import hash_of
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.indicator import HIGHER_TIMEFRAMES, OVERSHOOTING, UNBOUNDED, Range
from apps.engine.indicators.patterns import PATTERNS
from apps.engine.indicators.series import OWN_CANDLES, CandleSource
from apps.engine.language.conditions import (
    AlertSignal,
    CandlePattern,
    EntryConditions,
    IndicatorIndicator,
    IndicatorValue,
    Side,
    Single,
    TimeWindow,
    condition_warmups,
    singles_by_path,
)
from apps.engine.language.exits import (
    AtrStop,
    AtrTarget,
    AtrTrail,
    ExitConditions,
    LevelStop,
    LevelTarget,
    LevelTrail,
    PercentageStop,
    PercentageTarget,
    PointsStop,
    PointsTarget,
    RiskRewardTarget,
)
from apps.engine.language.fields import StrictModel, seconds_of_day
from apps.engine.language.operands import Calc, IndicatorOperand, Operand, Warmups, indicators_in
from apps.engine.language.sides import entry_check
from apps.engine.language.steps import (
    AtrDistance,
    BasicInfo,
    ExecutionSettings,
    FixedAmount,
    FixedQuantity,
    PercentageOfEquity,
    PositionSizing,
    RiskBased,
    RiskParameters,
    VolatilityBased,
)
from apps.engine.language.validation_errors import MOST_ERRORS, field_errors
from apps.engine.units import rupees_text

# Keys of the steps that hold traded symbols and names.
_LABELS: Final = frozenset({"symbols", "exchange", "strategyType", "name"})
_DIGITS: Final = re.compile("[0-9]+")
BEFORE_THE_CLOSE: Final = 15 * 60
"""Seconds before the session's close at which positions are squared off, unless said (rule 9)."""

_SHARES_HOURS: Final = 6.25
_SESSION_HOURS: Final = {"MCX": 14.5, "NCDEX": 12.0}
"""The length of the longest session of an exchange, if it is not that of shares."""

MOST_OTHER_SYMBOLS: Final = 10
"""Symbols that conditions read beside the traded ones."""


class Strategy(StrictModel):
    """The steps, by their names on the wire."""

    model_config = ConfigDict(defer_build=False)
    TYPES: ClassVar[tuple[str, ...]] = get_args(BasicInfo.model_fields["strategyType"].annotation)

    basicInfo: BasicInfo
    positionSizing: PositionSizing = Field(description="The size of each entry.")
    entryConditions: EntryConditions
    exitConditions: ExitConditions
    riskParameters: RiskParameters
    executionSettings: ExecutionSettings

    @classmethod
    def repaired(cls, steps: Mapping[str, object], **preferred: Mapping[str, object]) -> Strategy:
        """Return the strategy of steps; see `with_stand_ins`."""
        return with_stand_ins(steps, **preferred).strategy

    @property
    def exits_on_opposite_signal(self) -> bool:
        """Whether an opposite signal closes a position, with the default applied."""
        written = self.exitConditions.exitOnOppositeSignal
        return self.entryConditions.positionType == "both" if written is None else written

    @property
    def is_intraday(self) -> bool:
        """Whether positions are squared off every session, with the default applied."""
        product = self.executionSettings.productType
        below_a_day = TIMEFRAMES[self.basicInfo.timeframe] < DAY
        return below_a_day if product is None else product == "intraday"

    @property
    def product(self) -> Literal["intraday", "delivery", "carryforward"]:
        """The product of the orders, with the default applied; shares carried forward are
        delivered.
        """
        if self.is_intraday:
            return "intraday"
        return self.executionSettings.productType or "carryforward"

    @property
    def atr_periods(self) -> tuple[int, int, int, int, int]:
        """The periods of the average true ranges of size, stop, target, trail and the distance of
        adds; 0 for unused ones.
        """
        sizing, exits = self.positionSizing, self.exitConditions
        stop, target, trail = exits.stopLoss, exits.takeProfit, exits.trailingStop
        adds = sizing.pyramiding
        return (
            sizing.atrPeriod if isinstance(sizing, VolatilityBased) else 0,
            stop.atrPeriod if isinstance(stop, AtrStop) else 0,
            target.atrPeriod if isinstance(target, AtrTarget) else 0,
            trail.atrPeriod if isinstance(trail, AtrTrail) and trail.enabled else 0,
            adds.distance.atrPeriod
            if adds.enabled and isinstance(adds.distance, AtrDistance)
            else 0,
        )

    @property
    def hash(self) -> str:
        """The SHA-256, in hex, that identifies equal configurations."""
        return hash_of(self.model_dump(mode="json", exclude_none=True))

    @property
    def structure_hash(self) -> str:
        """The SHA-256, in hex, that identifies configurations that differ only in numbers, symbols
        and labels; times and timeframes count as numbers.
        """
        return hash_of(_without_numbers(self.model_dump(mode="json", exclude_none=True)))

    @property
    def level_operands(self) -> dict[str, Operand]:
        """The operands of stop, target, trail and size that are used, by their dotted paths."""
        exits, sizing = self.exitConditions, self.positionSizing
        operands: dict[str, Operand] = {}
        if isinstance(exits.stopLoss, LevelStop):
            operands["exitConditions.stopLoss.price"] = exits.stopLoss.price
        if isinstance(exits.takeProfit, LevelTarget):
            operands["exitConditions.takeProfit.price"] = exits.takeProfit.price
        trail = exits.trailingStop
        if isinstance(trail, LevelTrail) and trail.enabled and trail.price is not None:
            operands["exitConditions.trailingStop.price"] = trail.price
        if isinstance(sizing, PercentageOfEquity) and not isinstance(sizing.percentage, float):
            operands["positionSizing.percentage"] = sizing.percentage
        return operands

    @property
    def warmup_bars(self) -> int:
        """The bars before the first one with known values for everything the strategy reads from
        its own candles.
        """
        return self.candle_sources[OWN_CANDLES]

    @property
    def higher_timeframe_warmups(self) -> dict[str, int]:
        """The candles of each longer timeframe before the first one with known values."""
        return {
            source.timeframe: candles
            for source, candles in self.candle_sources.items()
            if source.timeframe and not source.symbol
        }

    @property
    def candle_sources(self) -> dict[CandleSource, int]:
        """All candles that the strategy reads, with the number of each before the first one with
        known values.
        """
        longest = dict[CandleSource, int]()
        for source, candles in needs(self):
            longest[source] = max(candles, longest.get(source, 0))
        return longest

    @property
    def aligned_sources(self) -> list[CandleSource]:
        """The candles that the strategy reads beside its own bars."""
        return [source for source in self.candle_sources if source != OWN_CANDLES]

    @property
    def read_symbols(self) -> dict[str, dict[str, int]]:
        """The other symbols that the strategy reads: the candles of each timeframe before the first
        one with known values.
        """
        read = dict[str, dict[str, int]]()
        for (symbol, timeframe), candles in self.candle_sources.items():
            if symbol:
                read.setdefault(symbol, {})[timeframe or self.basicInfo.timeframe] = candles
        return read

    @property
    def month_directions(self) -> list[bool]:
        """The directions in which conditions count the sessions of a month: False from its
        beginning, True from its end.
        """
        spans = (
            condition.sessionOfMonth
            for _, condition in _conditions_by_path(self)
            if isinstance(condition, TimeWindow) and condition.sessionOfMonth is not None
        )
        return sorted({low < 0 for low, *_ in spans})

    @property
    def alert_names(self) -> tuple[str, ...]:
        """The names of the alerts that conditions read, each once, in order."""
        return tuple(sorted({condition.name for _, condition in self.alert_signals()}))

    def alert_signals(self) -> Iterator[tuple[str, AlertSignal]]:
        """Yield every condition on alerts, with its dotted path."""
        for path, condition in _conditions_by_path(self):
            if isinstance(condition, AlertSignal):
                yield path, condition

    def entry_windows(self) -> Iterator[tuple[str, TimeWindow]]:
        """Yield every time window of the entry conditions, with its dotted path."""
        for path, condition in _conditions_by_path(self):
            if isinstance(condition, TimeWindow) and path.startswith("entryConditions"):
                yield path, condition

    def operands(self) -> Iterator[tuple[str, IndicatorOperand, CandleSource]]:
        """Yield every indicator of conditions, levels and the ranking, those inside of operands
        too, with the dotted path of its operand and the candles that it is computed from.
        """
        whole = [
            (f"{path}.{name}", operand)
            for path, condition in _conditions_by_path(self)
            for name, operand in condition.operands.items()
        ]
        whole += self.level_operands.items()
        if self.entryConditions.rank is not None:
            whole.append(("entryConditions.rank.by", self.entryConditions.rank.by))
        for path, operand in whole:
            for indicator, candles in indicators_in(operand):
                yield path, indicator, candles

    def volume_operands(self) -> Iterator[tuple[str, IndicatorOperand, CandleSource]]:
        """Yield those that read volume."""
        for path, indicator, candles in self.operands():
            if indicator.series.reads_volume:
                yield path, indicator, candles

    def last_entry(self, closes: int) -> int:
        """Return the end of entries in a session that closes at `closes`, both in seconds since
        midnight (rule 9).
        """
        square_off = self.exitConditions.squareOffTime
        if square_off is not None:
            return min(closes, seconds_of_day(square_off))
        return closes - BEFORE_THE_CLOSE if self.is_intraday else closes

    @property
    def warnings(self) -> tuple[FieldError, ...]:
        """The allowed settings that look like mistakes."""
        errors = (
            _low_reward(self),
            *_idle_steps(self),
            _adds_against(self),
            _idle_square_off(self),
            *_idle_sides(self),
            _idle_opposite(self),
            _same_sides(self),
            *_idle_conditions(self),
            *_values_out_of_range(self),
            *_out_of_reach(self),
            _other_exchange(self),
            _too_many_picked(self),
        )
        return tuple(error for error in errors if error is not None)

    @property
    def size_warning(self) -> FieldError | None:
        """The size, if the largest position cuts it from the first entry on (rule 6).

        With a stop in points or average ranges beside one in percent, the tighter stop applies, and
        the size is at least as large.
        """
        sizing, capital = self.positionSizing, self.executionSettings.initialCapital
        limit, stop = self.riskParameters.maxPositionSize, _tightest_percentage(self)
        share = f"of the initial capital of {rupees_text(capital)}"
        match sizing:
            case RiskBased(riskPercentage=percent) if stop is not None:
                field, value, wanted = "riskPercentage", percent, capital * percent / stop
                asked = f"A risk of {percent:g} % {share} at a stop of {stop:g} %"
                left = f"an entry risks {limit * stop / capital:.3g} % at most"
            case PercentageOfEquity(percentage=float(percent)):
                field, value, wanted = "percentage", percent, capital * percent / 100
                asked = f"An entry of {percent:g} % {share}"
                left = f"an entry is {limit / capital * 100:.3g} % at most"
            case FixedAmount(amount=wanted):
                field, value, asked, left = "amount", wanted, "An entry", "each is cut to that"
            case _:
                return None
        if round(wanted) <= round(limit):
            return None
        message = (
            f"{asked} asks for {rupees_text(wanted)}, and maxPositionSize allows"
            f" {rupees_text(limit)}: {left}. Lower {field} or raise maxPositionSize."
        )
        return FieldError(f"positionSizing.{field}", message, value)


STEP_NAMES = tuple(Strategy.model_fields)
"""The names of the steps, in the order users fill them in."""


STAND_INS: Final[dict[str, Mapping[str, object]]] = {
    "basicInfo": {"strategyType": "momentum", "timeframe": "1m", "symbols": ["NSE:SBIN"]},
    "positionSizing": {"method": "fixed_quantity", "quantity": 1},
    "entryConditions": {
        "positionType": "both",
        "conditions": [
            {
                "type": "indicator_value",
                "indicator": {"type": "PRICE"},
                "operator": "above",
                "value": 1,
            }
        ],
    },
    "exitConditions": {"stopLoss": {"type": "percentage", "percentage": 1}},
    "riskParameters": {"maxPositionSize": 1, "maxDailyLoss": 1, "maxOpenPositions": 1},
    "executionSettings": {"mode": "paper", "exchange": "NSE", "orderType": "market"},
}
"""Valid steps, for where the others are read and these are missing. Nothing is traded by them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of one pass over the steps.

    `errors` are the wrong fields; `missing` names the incomplete steps, in order, and `incomplete`
    has their missing parts. `strategy` is present if nothing is wrong or missing.
    """

    strategy: Strategy | None
    errors: tuple[FieldError, ...]
    missing: tuple[str, ...]
    incomplete: tuple[FieldError, ...]

    @property
    def problems(self) -> tuple[FieldError, ...]:
        """The errors, then the missing parts."""
        return self.errors + self.incomplete


def read_strategy(steps: Mapping[str, object]) -> Reading:
    """Validate steps that may be partial. A step that is absent, or `{}`, is only incomplete."""
    strategy: Strategy | None = None
    errors: tuple[FieldError, ...] = ()
    incomplete = _unmet_needs(steps)
    try:
        strategy = Strategy.model_validate(dict(steps))
    except ValidationError as error:
        errors, missing_fields = field_errors(error, Strategy)
        incomplete = missing_fields + incomplete
    errors = (*errors, *_errors_of_operands(steps), *_errors_of_ranking(steps))[:MOST_ERRORS]
    unfinished = {needed.field.partition(".")[0] for needed in incomplete}
    missing = tuple(step for step in STEP_NAMES if step in unfinished)
    return Reading(None if incomplete or errors else strategy, errors, missing, incomplete)


def parse(steps: Mapping[str, object]) -> Strategy:
    """Return the strategy of complete steps. Raises InvalidStrategy, then IncompleteStrategy."""
    reading = read_strategy(steps)
    if reading.errors:
        raise InvalidStrategy(reading.errors)
    if reading.strategy is None:
        raise IncompleteStrategy(reading.missing, reading.incomplete)
    return reading.strategy


class StandInStrategy(NamedTuple):
    """A strategy in place of steps, and the steps that were replaced."""

    strategy: Strategy
    replaced: frozenset[str]


def with_stand_ins(
    steps: Mapping[str, object], **preferred: Mapping[str, object]
) -> StandInStrategy:
    """Return the strategy of steps; incomplete and wrong steps are replaced, by `preferred` ones if
    they are given.
    """
    stand_ins = STAND_INS | preferred
    replaced: frozenset[str] = frozenset()
    while (reading := read_strategy(steps)).strategy is None:
        replaced |= {problem.field.partition(".")[0] for problem in reading.problems}
        steps = {**steps, **{step: stand_ins[step] for step in replaced}}
    return StandInStrategy(reading.strategy, replaced)


def _unmet_needs(steps: Mapping[str, object]) -> tuple[FieldError, ...]:
    """Return the unmet needs of steps: some need a stop loss, in exitConditions or in
    riskParameters.
    """
    if _at(steps, "exitConditions", "stopLoss") or _at(steps, "riskParameters", "stopLoss"):
        return ()
    needy = {
        "positionSizing.method risk_based": _at(steps, "positionSizing", "method") == "risk_based",
        "exitConditions.takeProfit risk_reward": (
            _at(steps, "exitConditions", "takeProfit", "type") == "risk_reward"
        ),
    }
    remedy = "set exitConditions.stopLoss or riskParameters.stopLoss"
    messages = [
        f"{setting} needs a stop loss: {remedy}." for setting, need in needy.items() if need
    ]
    exit_steps = _at(steps, "exitConditions", "steps")
    if isinstance(exit_steps, list) and any(_is_risk_reward(step) for step in exit_steps):
        needed = "exitConditions.stopLoss is needed by exitConditions.steps risk_reward"
        messages.append(f"{needed}: {remedy}.")
    return tuple(FieldError("exitConditions.stopLoss", message) for message in messages)


def _is_risk_reward(step: object) -> bool:
    return isinstance(step, Mapping) and _at(step, "at", "type") == "risk_reward"


def _errors_of_operands(steps: Mapping[str, object]) -> Iterator[FieldError]:
    """Yield errors of conditions and operands that other fields decide."""
    own = _at(steps, "basicInfo", "timeframe")
    symbols_read = set[str]()
    traded = _at(steps, "basicInfo", "symbols")
    for part in _placed_in(steps):
        if isinstance(own, str) and own in TIMEFRAMES:
            yield from _timeframe_errors(part, own)
        symbol = part.value.get("on")
        if isinstance(symbol, str) and not (isinstance(traded, list) and symbol in traded):
            if symbol not in symbols_read and len(symbols_read) >= MOST_OTHER_SYMBOLS:
                yield part.error("on", f"names more than {MOST_OTHER_SYMBOLS} other symbols")
            else:
                symbols_read.add(symbol)
        if "on" in part.value and part.source_of is not None and "on" in part.source_of:
            message = "is not allowed in the source of another symbol's indicator"
            yield part.error("on", message)
    yield from _missing_sides(steps)
    yield from _unmirrored_levels(steps)


_LEVEL_PATHS: Final = (
    ("exitConditions", "stopLoss", "price"),
    ("exitConditions", "takeProfit", "price"),
    ("exitConditions", "trailingStop", "price"),
    ("positionSizing", "percentage"),
)


def _unmirrored_levels(steps: Mapping[str, object]) -> Iterator[FieldError]:
    """Yield an error for every level of an algorithm of both sides that has no mirror."""
    if _at(steps, "entryConditions", "positionType") != "both":
        return
    for *path, field in _LEVEL_PATHS[:3]:
        written = _at(steps, *path, field)
        full_path = ".".join((*path, field))
        if _has_no_mirror(full_path, written):
            message = (
                f"{full_path} has no mirror, which an algorithm of both sides needs: use an"
                " indicator, or two algorithms."
            )
            yield FieldError(full_path, message, written)


def _has_no_mirror(path: str, operand: object) -> bool:
    return any(
        part.value.get("type") == "CALC" or "on" in part.value
        for part in _in_operand(path, operand)
    )


def _placed_in(steps: Mapping[str, object]) -> Iterator[_Placed]:
    """Yield every condition and operand of the steps, valid or not."""
    for step in ("entryConditions", "exitConditions"):
        yield from _in_conditions(f"{step}.conditions", _at(steps, step, "conditions"))
    for path in (*_LEVEL_PATHS, ("entryConditions", "rank", "by")):
        yield from _in_operand(".".join(path), _at(steps, *path))


def _errors_of_ranking(steps: Mapping[str, object]) -> Iterator[FieldError]:
    """Yield errors of the ranking that other fields decide."""
    path, rank = "entryConditions.rank", _at(steps, "entryConditions", "rank")
    if rank is None:
        if _at(steps, "entryConditions") and _at(steps, "exitConditions", "onRank") is not None:
            message = "exitConditions.onRank is not used without entryConditions.rank."
            yield FieldError(
                "exitConditions.onRank", message, _at(steps, "exitConditions", "onRank")
            )
        return
    if _at(steps, "entryConditions", "positionType") == "both":
        yield FieldError(path, f"{path} needs positionType long or short.", rank)
    symbols, own = _at(steps, "basicInfo", "symbols"), _at(steps, "basicInfo", "timeframe")
    if isinstance(symbols, list | tuple) and len(symbols) == 1:
        yield FieldError(path, f"{path} needs two symbols or more.", rank)
    every = _at(rank, "every") if isinstance(rank, Mapping) else None
    if every in ("week", "month") and own in TIMEFRAMES and own != "1d":
        message = f"{path}.every must be candle: week and month need basicInfo.timeframe 1d."
        yield FieldError(f"{path}.every", message, every, ("candle",))


class _Placed(NamedTuple):
    """A condition or an operand of the steps, valid or not, with its path; `source_of` is the
    outermost indicator in whose source it is.
    """

    path: str
    value: Mapping[str, object]
    source_of: Mapping[str, object] | None = None

    def error(self, field: str, message: str, allowed: tuple[str, ...] | None = None) -> FieldError:
        path = f"{self.path}.{field}"
        return FieldError(path, f"{path} {message}.", self.value[field], allowed)


def _timeframe_errors(part: _Placed, own: str) -> Iterator[FieldError]:
    """Yield the errors of a timeframe beside the algorithm's own, and of dates of weeks."""
    if own == "1w":
        for field in ("weekdays", "sessionOfMonth"):
            if field in part.value:
                yield part.error(field, "is not used on weekly candles")
    timeframe = part.value.get("timeframe")
    if not isinstance(timeframe, str) or timeframe not in HIGHER_TIMEFRAMES:
        return
    length = TIMEFRAME_SECONDS[own]
    longer = tuple(name for name in HIGHER_TIMEFRAMES if TIMEFRAME_SECONDS[name] > length)
    whole = tuple(name for name in longer if TIMEFRAME_SECONDS[name] % length == 0)
    if part.source_of is not None:
        message = "is not allowed in a source: write it at the indicator that reads the source"
        yield part.error("timeframe", message)
    elif timeframe not in longer:
        message = f"must be longer than basicInfo.timeframe, which is {own}"
        yield part.error("timeframe", message, whole)
    elif timeframe not in whole:
        message = f"must be a multiple of basicInfo.timeframe, which is {own}"
        yield part.error("timeframe", message, whole)
    elif any("on" in inner.value for inner in _in_source(part)):
        message = "is not allowed with a source that reads another symbol"
        yield part.error("timeframe", message)


def _in_conditions(path: str, conditions: object) -> Iterator[_Placed]:
    """Yield every condition, and every value in place of an operand, valid or not."""
    for i, condition in enumerate(conditions if isinstance(conditions, list) else ()):
        if isinstance(condition, Mapping):
            yield _Placed(f"{path}[{i}]", condition)
            for name in ("indicator", "indicator1", "indicator2"):
                yield from _in_operand(f"{path}[{i}].{name}", condition.get(name))
            yield from _in_conditions(f"{path}[{i}].conditions", condition.get("conditions"))


def _in_operand(
    path: str, operand: object, source_of: Mapping[str, object] | None = None
) -> Iterator[_Placed]:
    if not isinstance(operand, Mapping):
        return
    part = _Placed(path, operand, source_of)
    yield part
    operands = operand.get("operands")
    for i, inner in enumerate(operands if isinstance(operands, list) else ()):
        yield from _in_operand(f"{path}.operands[{i}]", inner, source_of)
    yield from _in_source(part)


def _in_source(part: _Placed) -> Iterator[_Placed]:
    outermost = part.value if part.source_of is None else part.source_of
    return _in_operand(f"{part.path}.source", part.value.get("source"), outermost)


def _missing_sides(steps: Mapping[str, object]) -> Iterator[FieldError]:
    """Yield an error for every condition that is mirrored and has no mirror."""
    mirrored = []
    if _at(steps, "entryConditions", "positionType") == "both":
        mirrored = ["entryConditions", "exitConditions"]
    elif _at(steps, "exitConditions", "exitOnOppositeSignal") is True:
        mirrored = ["entryConditions"]
    for step in mirrored:
        yield from _without_side(f"{step}.conditions", _at(steps, step, "conditions"))


def _without_side(path: str, conditions: object) -> Iterator[FieldError]:
    for i, condition in enumerate(conditions if isinstance(conditions, list) else ()):
        if not isinstance(condition, Mapping) or "side" in condition:
            continue
        inside = condition.get("conditions")
        if inside is not None:
            yield from _without_side(f"{path}[{i}].conditions", inside)
        elif unmirrored := _unmirrored_in(condition):
            field = f"{path}[{i}].side"
            message = f"{field} is required: {unmirrored} have no mirror."
            yield FieldError(field, f"{message} Write long, short or both.")


def _unmirrored_in(condition: Mapping[str, object]) -> str:
    """Return the parts without a mirror of a condition in words, if it has any."""
    if condition.get("type") == "signal":
        return "alerts"
    operands = ("indicator", "indicator1", "indicator2")
    if any(_has_no_mirror(name, condition.get(name)) for name in operands):
        return "CALC and what is read of another symbol"
    return ""


def _at(steps: Mapping[str, object], *path: str) -> object:
    value: object = steps
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _without_numbers(value: object) -> object:
    """Return JSON without false and empty values either, so that a new field changes no hash."""
    match value:
        case dict():
            parts = {
                key: _without_numbers(part) for key, part in value.items() if key not in _LABELS
            }
            return {key: part for key, part in parts.items() if part}
        case list():
            return [part for part in map(_without_numbers, value) if part]
        case str():
            return _DIGITS.sub("0", value)
    return value is True


def needs(strategy: Strategy) -> Warmups:
    """Return the same separately for each value that is read."""
    entry, exits = strategy.entryConditions, strategy.exitConditions
    confirming = max(entry.confirmationCandles, 1) - 1
    own = [confirming, *strategy.atr_periods]
    read = (
        warmup
        for step, before in ((entry, confirming), (exits, 0))
        for warmup in condition_warmups(step.conditions, before)
    )
    ranked = () if entry.rank is None else entry.rank.by.warmups
    levels = (warmup for operand in strategy.level_operands.values() for warmup in operand.warmups)
    return (*((OWN_CANDLES, candles) for candles in own), *read, *levels, *ranked)


def _tightest_percentage(strategy: Strategy) -> float | None:
    """Return the nearest of the stops in percent of the entry price."""
    stop, percent = strategy.exitConditions.stopLoss, strategy.riskParameters.stopLoss
    if not isinstance(stop, PercentageStop):
        return percent
    return stop.percentage if percent is None else min(stop.percentage, percent)


def _low_reward(strategy: Strategy) -> FieldError | None:
    wanted, offered = strategy.riskParameters.riskRewardRatio, _offered_ratio(strategy)
    if wanted is None or offered is None or offered >= wanted * (1 - 1e-9):  # 0.15 / 0.1 is 1.5
        return None
    message = f"The exits offer {offered:g} times the risk, less than the {wanted:g} asked for."
    return FieldError("riskParameters.riskRewardRatio", message, wanted)


def _offered_ratio(strategy: Strategy) -> float | None:
    """Return reward over risk; None unless every distance is known and of one kind."""
    exits, risk = strategy.exitConditions, strategy.riskParameters
    if isinstance(exits.takeProfit, RiskRewardTarget):
        return exits.takeProfit.ratio
    stops = [_distance(exits.stopLoss), _distance(risk.stopLoss)]
    target = _distance(exits.takeProfit) or _distance(risk.takeProfit)
    set_stops = [stop for stop in stops if stop is not None]
    if target is None or not set_stops or any(kind != target[0] for kind, _ in set_stops):
        return None
    return target[1] / min(distance for _, distance in set_stops)


def _distance(
    rule: PercentageStop
    | PointsStop
    | AtrStop
    | PercentageTarget
    | PointsTarget
    | AtrTarget
    | RiskRewardTarget
    | LevelStop
    | LevelTarget
    | float
    | None,
) -> tuple[object, float] | None:
    """Return (kind, amount) of a stop or target; a bare number is percent. A level has none."""
    match rule:
        case RiskRewardTarget(ratio=ratio):
            return "risk_reward", ratio
        case PercentageStop(percentage=percent) | PercentageTarget(percentage=percent):
            return "percentage", percent
        case PointsStop(points=points) | PointsTarget(points=points):
            return "points", points
        case AtrStop() | AtrTarget():
            return ("atr", rule.atrPeriod), rule.atrMultiplier
        case float():
            return "percentage", rule
    return None


def _idle_steps(strategy: Strategy) -> Iterator[FieldError]:
    """Warn of steps that are not nearer than a target of the same kind."""
    exits = strategy.exitConditions
    target = _distance(exits.takeProfit) or _distance(strategy.riskParameters.takeProfit)
    for number, step in enumerate(exits.steps or ()):
        reach = _distance(step.at)
        if target and reach and reach[0] == target[0] and reach[1] >= target[1]:
            message = "This step is at or beyond the target, which takes all before it."
            yield FieldError(f"exitConditions.steps[{number}]", message)


def _adds_against(strategy: Strategy) -> FieldError | None:
    adds = strategy.positionSizing.pyramiding
    if not adds.enabled or adds.distance is None or adds.distance.direction == "favour":
        return None
    entries = f"{adds.maxEntries} entries"
    match strategy.positionSizing:
        case FixedQuantity(quantity=quantity):
            entries += f" of {quantity} unit{'s' if quantity > 1 else ''}"
        case FixedAmount(amount=amount):
            entries += f" of {rupees_text(amount)}"
    message = (
        f"Adds against the position: at worst {entries} are held,"
        f" {adds.maxEntries} times the first."
    )
    return FieldError("positionSizing.pyramiding.distance", message)


def _idle_square_off(strategy: Strategy) -> FieldError | None:
    time = strategy.exitConditions.squareOffTime
    if time is None or strategy.is_intraday or TIMEFRAMES[strategy.basicInfo.timeframe] < DAY:
        return None
    message = "A square-off time has no effect on daily or weekly candles with this product."
    return FieldError("exitConditions.squareOffTime", message, time)


def _idle_sides(strategy: Strategy) -> tuple[FieldError, ...]:
    entry = strategy.entryConditions
    traded: tuple[Side, ...] = ("long", "short")
    if entry.positionType != "both":
        traded = (entry.positionType,)
    return tuple(
        FieldError("entryConditions.conditions", f"No condition can open a {side} position.")
        for side in traded
        if not entry_check(side, entry).checks
    )


def _idle_opposite(strategy: Strategy) -> FieldError | None:
    """Warn of an opposite signal that no condition can give."""
    position, written = strategy.entryConditions.positionType, strategy.exits_on_opposite_signal
    if position == "both" or not written:
        return None
    opposite: Side = "short" if position == "long" else "long"
    if entry_check(opposite, strategy.entryConditions).checks:
        return None
    message = f"No condition can give a {opposite} signal, so none closes a {position} position."
    return FieldError("exitConditions.exitOnOppositeSignal", message, True)


def _same_sides(strategy: Strategy) -> FieldError | None:
    """Warn of conditions that a mirror does not change: both sides at one close mean neither."""
    entry = strategy.entryConditions
    if entry.positionType != "both" and not strategy.exits_on_opposite_signal:
        return None
    long = entry_check("long", entry)
    if not long.checks or long != entry_check("short", entry):
        return None
    message = "These hold for long and short at once, and then neither is traded: choose one side."
    return FieldError("entryConditions.conditions", message)


def _other_exchange(strategy: Strategy) -> FieldError | None:
    """Warn of another exchange: orders go to the exchange of their symbols."""
    exchange, symbols = strategy.executionSettings.exchange, strategy.basicInfo.symbols
    if exchange in {Symbol.parse(symbol).exchange for symbol in symbols}:
        return None
    message = f"No symbol is on {exchange}. Each trades on its own exchange: choose that."
    return FieldError("executionSettings.exchange", message, exchange)


def _too_many_picked(strategy: Strategy) -> FieldError | None:
    """Warn of a ranking that picks more symbols than can be held."""
    rank, most = strategy.entryConditions.rank, strategy.riskParameters.maxOpenPositions
    if rank is None or rank.top <= most:
        return None
    message = (
        f"{rank.top} symbols are picked, and riskParameters.maxOpenPositions leaves room for"
        f" {most}."
    )
    return FieldError("entryConditions.rank.top", message, rank.top)


def _conditions_by_path(strategy: Strategy) -> Iterator[tuple[str, Single]]:
    """Yield every condition without groups, of entries and exits, with its dotted path."""
    entry, exits = strategy.entryConditions, strategy.exitConditions
    yield from singles_by_path("entryConditions.conditions", entry.conditions)
    yield from singles_by_path("exitConditions.conditions", exits.conditions)


def _idle_conditions(strategy: Strategy) -> Iterator[FieldError]:
    """Warn of conditions that are never true, or always."""
    for path, condition in _conditions_by_path(strategy):
        message = _why_idle(condition, strategy.basicInfo.timeframe)
        if message:
            yield FieldError(path.partition("[")[0], message)


def _why_idle(condition: Single, timeframe: str) -> str:
    match condition:
        case TimeWindow(from_=str(begin)) if begin != "00:00" and TIMEFRAMES[timeframe] >= DAY:
            return "Daily and weekly candles start at 00:00, so no such time window holds."
        case CandlePattern(pattern=name, direction=str(direction)):
            directions = PATTERNS[name].directions
            if directions and direction not in directions:
                return f"{name} is never {direction}."
        case IndicatorIndicator(indicator1=left, indicator2=right) if left == right:
            often = "always" if condition.operator.startswith("at_or") else "never"
            return f"{left.type} {condition.operator.replace('_', ' ')} itself is {often} true."
    return ""


def _values_out_of_range(strategy: Strategy) -> Iterator[FieldError]:
    """Warn of comparisons with a value that decides them for ever, such as an RSI above 160."""
    for path, condition in _conditions_by_path(strategy):
        if not isinstance(condition, IndicatorValue) or condition.value is None:
            continue
        values = _range_of(condition.indicator)
        truth = _constant_truth(condition.operator, condition.value, values)
        if truth:
            bounds = f"from {values.low:g} to {values.high:g}"
            if values.high == inf:
                bounds = f"never below {values.low:g}"
            comparison = f"{condition.operator.replace('_', ' ')} {condition.value:g}"
            message = f"{condition.indicator.type} is {bounds}: {comparison} is {truth} true."
            yield FieldError(f"{path}.value", message, condition.value)


def _out_of_reach(strategy: Strategy) -> Iterator[FieldError]:
    """Warn of indicators over more sessions than the array of rule 11 holds before a month."""
    symbols = map(Symbol.parse, strategy.basicInfo.symbols)
    hours = max(_SESSION_HOURS.get(symbol.exchange, _SHARES_HOURS) for symbol in symbols)
    for path, indicator, candles in strategy.operands():
        timeframe = candles.timeframe or strategy.basicInfo.timeframe
        seconds, sessions = TIMEFRAME_SECONDS[timeframe], _sessions_before(indicator)
        held = int(WARMUP_BARS * seconds / (hours * 3600))
        if seconds < DAY and sessions > held:
            message = (
                f"{indicator.type} needs {sessions} earlier sessions, and"
                f" {WARMUP_BARS} candles of {timeframe} hold {held}: it is often unknown."
                " Give it a longer timeframe."
            )
            yield FieldError(path, message)


def _sessions_before(operand: IndicatorOperand) -> int:
    """Return the sessions before its own that an operand needs at most."""
    match operand.type:
        case "PREVIOUS_WEEK":
            return 9
        case "PREVIOUS_MONTH":
            return 23
        case "RELATIVE_VOLUME":
            return int(operand.parameters["period"])
    return 0


def _range_of(operand: Operand) -> Range:
    """Return the range of the output; unbounded if a chosen average can leave it, and of
    arithmetic.
    """
    if isinstance(operand, Calc):
        return UNBOUNDED
    row = CATALOGUE[operand.type]
    averages = {getattr(operand, parameter.name) for parameter in row.parameters if parameter.names}
    return UNBOUNDED if averages & OVERSHOOTING else row.output(operand.output).range


def _constant_truth(operator: str, value: float, values: Range) -> str:
    """Return "never" or "always" if the comparison is so for all `values`, else ""."""
    low, high = values
    never, always = {
        "above": (value >= high, value < low),
        "at_or_above": (value > high, value <= low),
        "below": (value <= low, value > high),
        "at_or_below": (value < low, value >= high),
        "crosses_above": (value >= high or value < low, False),
        "crosses_below": (value <= low or value > high, False),
    }.get(operator, (False, False))
    return "never" if never else "always" if always else ""
