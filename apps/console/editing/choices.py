"""Conditions and indicators to choose from: the most used first, the others by searching."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from apps.engine.language import CATALOGUE, PATTERNS, describe

Fragment = Mapping[str, Any]
_NUMBER_OF_FIRST: Final = 20
# Groups one inside the other, at most.
_GROUPS_DEEP: Final = 3


def _compare(left: Fragment, operator: str, right: Fragment | float) -> Fragment:
    """Return the comparison of an operand with an operand or a number."""
    if isinstance(right, Mapping):
        operands = {"indicator1": left, "operator": operator, "indicator2": right}
        return {"type": "indicator_indicator", **operands}
    return {"type": "indicator_value", "indicator": left, "operator": operator, "value": right}


def _above(left: Fragment, right: Fragment | float) -> Fragment:
    return _compare(left, "above", right)


def _crosses(left: Fragment, right: Fragment | float) -> Fragment:
    return _compare(left, "crosses_above", right)


_PRICE: Final = {"type": "PRICE"}
_VOLUME: Final = {"type": "VOLUME"}
_RSI: Final = {"type": "RSI", "period": 14}
_VWAP: Final = {"type": "VWAP"}
_SUPERTREND: Final = {"type": "SUPERTREND"}
_MACD: Final = {"type": "MACD"}
_MACD_SIGNAL: Final = {"type": "MACD", "output": "signal"}
_RANGE_HIGH: Final = {"type": "OPENING_RANGE", "minutes": 15, "output": "high"}
_RANGE_LOW: Final = {"type": "OPENING_RANGE", "minutes": 15, "output": "low"}
_UPPER_BAND: Final = {"type": "BBANDS", "output": "upper"}
_LOWER_BAND: Final = {"type": "BBANDS", "output": "lower"}
_YESTERDAYS_HIGH: Final = {"type": "PREVIOUS_DAY", "output": "high"}
_YESTERDAYS_LOW: Final = {"type": "PREVIOUS_DAY", "output": "low"}
_ADX: Final = {"type": "ADX", "period": 14}
_CHANNEL_HIGH: Final = {"type": "DONCHIAN", "period": 20, "output": "upper", "offset": 1}


def _average(period: int) -> Fragment:
    return {"type": "EMA", "period": period}


# The twenty most used of each place, each with the words of its use.
_FIRST_OPERANDS: Final[tuple[tuple[Fragment, str], ...]] = (
    (_PRICE, "ltp last candle"),
    (_average(20), "trend average"),
    ({"type": "SMA", "period": 200}, "trend average"),
    (_VWAP, "intraday average"),
    (_RSI, "momentum overbought oversold"),
    (_SUPERTREND, "trend stop"),
    (_RANGE_HIGH, "breakout orb level resistance"),
    (_RANGE_LOW, "breakdown orb level stop support"),
    (_YESTERDAYS_HIGH, "breakout level resistance pdh"),
    (_YESTERDAYS_LOW, "breakdown level support pdl"),
    ({"type": "PREVIOUS_DAY", "output": "close"}, "gap level"),
    (_MACD, "momentum trend"),
    (_MACD_SIGNAL, "momentum trend"),
    (_UPPER_BAND, "volatility overbought band"),
    (_LOWER_BAND, "volatility oversold band"),
    (_ADX, "trend strength"),
    ({"type": "ATR", "period": 14}, "volatility range"),
    (_VOLUME, "quantity activity"),
    ({"type": "SMA", "period": 20, "source": "volume"}, "average volume activity"),
    ({"type": "PIVOT_POINTS"}, "level support resistance cpr"),
)
_FIRST_CONDITIONS: Final[tuple[tuple[Fragment, str], ...]] = (
    (_crosses(_PRICE, _RANGE_HIGH), "breakout orb"),
    ({"type": "time_window", "from": "09:30", "to": "11:30"}, "time of day hours"),
    (_crosses(_average(9), _average(21)), "moving average crossover trend"),
    (_crosses(_RSI, 30), "oversold momentum"),
    (_above(_RSI, 60), "momentum strength"),
    (_above(_PRICE, _average(200)), "trend filter moving average"),
    (_crosses(_PRICE, _VWAP), "intraday average"),
    (_crosses(_PRICE, _SUPERTREND), "trend buy signal"),
    (_crosses(_MACD, _MACD_SIGNAL), "momentum crossover"),
    (_crosses(_PRICE, _YESTERDAYS_HIGH), "breakout pdh"),
    (_above(_PRICE, _YESTERDAYS_HIGH), "breakout trend pdh"),
    (_crosses(_PRICE, _UPPER_BAND), "breakout volatility band"),
    (_crosses(_PRICE, _LOWER_BAND), "mean reversion oversold band"),
    (_crosses(_PRICE, _CHANNEL_HIGH), "breakout turtle channel"),
    (_above(_ADX, 25), "trend strength filter"),
    (_above({"type": "RELATIVE_VOLUME"}, 1.5), "volume breakout activity"),
    ({"type": "candle_pattern", "pattern": "CDLENGULFING", "direction": "bullish"}, "reversal"),
    ({"type": "candle_pattern", "pattern": "CDLHAMMER", "direction": "bullish"}, "reversal"),
)
# Beside these are alerts and groups.
_WEEKDAY: Final = ({"type": "time_window", "weekdays": ["THU"]}, "day of the week expiry")


_GROUP: Final = {
    "type": "group",
    "logicalOperator": "OR",
    "conditions": [_above(_RSI, 60), _above(_ADX, 25)],
}


_ALERT: Final = {"type": "signal", "name": "Breakout"}


class Choice(NamedTuple):
    """A part of the steps in words; its button adds it, or puts it in its place."""

    text: str
    hint: str
    use: str  # what else one may type to find it
    fragment: Fragment


def find_choices(path: str, text: str = "") -> list[Choice]:
    """Return the conditions for the list at a path, or the operands for a place there.

    They match the text, the best first; without a text they are the most used.
    """
    if not path.endswith("conditions"):
        return _matching(_operands(), text)
    choices = _conditions()
    if path.count("conditions[") == _GROUPS_DEEP:
        choices = tuple(choice for choice in choices if choice.fragment is not _GROUP)
    return _matching(choices, text)


def verb_of(path: str) -> str:
    """Return what a button does at a path: add to a list, or put in a place."""
    return "add" if path.endswith(("conditions", "operands")) else "put"


def fragment_of(text: str) -> Fragment | None:
    """Return what the choice with this text stands for."""
    choices = (*_conditions(), *_operands())
    return next((choice.fragment for choice in choices if choice.text == text), None)


def _matching(choices: tuple[Choice, ...], text: str) -> list[Choice]:
    """Return the choices with all words: first in their own text, then in hint or use."""
    words = text.lower().split()
    if not words:
        return list(choices[:_NUMBER_OF_FIRST])

    def lacks_words(content: str) -> bool:
        return any(word not in content.lower() for word in words)

    matches = [row for row in choices if not lacks_words(f"{row.text} {row.hint} {row.use}")]
    return sorted(matches, key=lambda row: lacks_words(row.text))[:_NUMBER_OF_FIRST]


@cache
def _operands() -> tuple[Choice, ...]:
    rows = ((operand, "") for operand in _catalogue())
    hint = "add, subtract, greatest of several"
    calculation = Choice("a calculation", hint, "formula", {"type": "CALC"})
    return (*_choices((*_FIRST_OPERANDS, *rows)), calculation)


@cache
def _conditions() -> tuple[Choice, ...]:
    rows = ((_first_comparison(operand), "") for operand in _catalogue())
    patterns = (({"type": "candle_pattern", "pattern": code}, "") for code in PATTERNS)
    group = Choice("any of several conditions", "a group", "or all brackets", _GROUP)
    sender = "from TradingView, ChartInk or a program"
    alert = Choice("an alert arrives", sender, "signal webhook external scanner", _ALERT)
    first = tuple(_choices(_FIRST_CONDITIONS))
    unlisted = _choices((_WEEKDAY, *rows, *patterns), known={choice.text for choice in first})
    return (*first, alert, group, *unlisted)


def _catalogue() -> Iterator[Fragment]:
    """Return every line of every indicator, with its defaults."""
    for row in CATALOGUE.values():
        for index, output in enumerate(row.outputs):
            settings = {p.name: p.written(p.default) for p in row.parameters if not p.is_added}
            yield {"type": row.type, **settings} | ({"output": output.name} if index else {})


def _first_comparison(operand: Fragment) -> Fragment:
    """Return a comparison to begin with: a level with the price, another value with a number in the
    middle of its range.
    """
    row = CATALOGUE[operand["type"]]
    output = next(
        line for line in row.outputs if line.name == operand.get("output", row.outputs[0].name)
    )
    if row.type == "PRICE":
        return {"type": "indicator_value", "indicator": operand, "operator": "rising"}
    if output.inversion.value == "same":
        return _crosses(_PRICE, operand)
    middle = (output.range.low + output.range.high) / 2
    return _above(operand, middle if math.isfinite(middle) else 0)


def _choices(
    fragments: Iterable[tuple[Fragment, str]], known: Collection[str] = ()
) -> Iterator[Choice]:
    """Return each fragment once, in words."""
    texts = set(known)
    for part, use in fragments:
        text, row = describe(part), _row(part)
        if text and text not in texts:
            texts.add(text)
            hint = re.split("[:;,]", row.description)[0] if row else ""
            words = f"{use} {row.type} {row.description}" if row else use
            yield Choice(text, hint, words, part)


def _row(part: Fragment) -> Any:
    """Return the row of the catalogue that a fragment is about."""
    operand = part.get("indicator2") or part.get("indicator") or part
    return CATALOGUE.get(operand["type"])
