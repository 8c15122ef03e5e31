"""Well-known strategies to begin with, each in the language of the steps."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_Steps = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GalleryStrategy:
    """A bundled strategy: its name, its description, and its steps."""

    slug: str
    name: str
    sentence: str
    steps: _Steps

    @property
    def sides(self) -> str:
        """The sides that it trades, in words."""
        side = self.steps["entryConditions"]["positionType"]
        return "long and short" if side == "both" else f"{side} only"


def _compared(left: _Steps, operator: str, right: _Steps, side: str | None = None) -> _Steps:
    compared = {"type": "indicator_indicator", "indicator1": left, "operator": operator}
    return {**compared, "indicator2": right, **({"side": side} if side else {})}


def _level(indicator: _Steps, operator: str, value: float, side: str | None = None) -> _Steps:
    level = {"type": "indicator_value", "indicator": indicator, "operator": operator}
    return {**level, "value": value, **({"side": side} if side else {})}


def _hours(start: str, end: str) -> _Steps:
    return {"type": "time_window", "from": start, "to": end}


def _steps(
    symbol: str,
    label: str,
    timeframe: str,
    entries: list[_Steps],
    exits: _Steps,
    *,
    position_type: str = "both",
) -> _Steps:
    """Return the steps around some conditions: intraday ones close before the session does.

    The risk keeps a position within `maxPositionSize`, so that a stop loses exactly the risk.
    """
    is_intraday = timeframe != "1d"
    stop = exits["stopLoss"].get("percentage", math.inf)  # one by average range is far away
    risk = round(min(1.0, 0.4 * stop), 2)
    execution = {"mode": "paper", "exchange": "NSE", "orderType": "market", "slippage": 0.02}
    return {
        "basicInfo": {"strategyType": label, "timeframe": timeframe, "symbols": [symbol]},
        "positionSizing": {"method": "risk_based", "riskPercentage": risk},
        "entryConditions": {"positionType": position_type, "conditions": entries},
        "exitConditions": {**exits, **({"squareOffTime": "15:00"} if is_intraday else {})},
        "riskParameters": {
            "maxPositionSize": 500_000,
            "maxDailyLoss": 25_000,
            "maxOpenPositions": 1,
        },
        "executionSettings": {**execution, "initialCapital": 1_000_000},
    }


def _stop(percentage: float, ratio: float | None = None) -> dict[str, Any]:
    stop: dict[str, Any] = {"stopLoss": {"type": "percentage", "percentage": percentage}}
    return stop | ({"takeProfit": {"type": "risk_reward", "ratio": ratio}} if ratio else {})


_PRICE: Final = {"type": "PRICE"}
_TREND: Final = {"type": "SUPERTREND", "output": "trend"}
_DAY: Final = {"type": "PREVIOUS_DAY"}
_RANGE: Final = {"type": "OPENING_RANGE", "minutes": 15}
_FIRST: Final = {"type": "OPENING_RANGE", "minutes": 5}
_BANDS: Final = {"type": "BBANDS", "period": 20, "multiplier": 2}
_MORNING: Final = _hours("09:30", "14:30")

STRATEGIES: Final = (
    GalleryStrategy(
        "supertrend-adx",
        "Supertrend with ADX",
        "Follows Supertrend when it turns, but only while ADX says that there is a trend.",
        _steps(
            "NSE:RELIANCE",
            "momentum",
            "5m",
            [
                _level(_TREND, "crosses_above", 0),
                _level({"type": "ADX", "period": 14}, "above", 20),
                _MORNING,
            ],
            _stop(0.6, 2),
        ),
    ),
    GalleryStrategy(
        "opening-range",
        "Opening range breakout",
        "Enters when the price leaves the range of the first 15 minutes, on either side.",
        _steps(
            "NSE:HDFCBANK",
            "momentum",
            "5m",
            [
                _compared(_PRICE, "crosses_above", {**_RANGE, "output": "high"}),
                _hours("09:30", "11:30"),
            ],
            _stop(0.5, 2),
        ),
    ),
    GalleryStrategy(
        "rsi-2",
        "RSI(2)",
        "Buys a deep dip of a share that stands above its 200-day average, and sells the recovery.",
        _steps(
            "NSE:TCS",
            "mean_reversion",
            "1d",
            [
                _compared(_PRICE, "above", {"type": "SMA", "period": 200}),
                _level({"type": "RSI", "period": 2}, "below", 10),
            ],
            {
                **_stop(5),
                "conditions": [_level({"type": "RSI", "period": 2}, "above", 70)],
            },
            position_type="long",
        ),
    ),
    GalleryStrategy(
        "vwap-pullback",
        "VWAP pullback",
        "Joins a trend when the price comes back to the day's VWAP and turns away from it again.",
        _steps(
            "NSE:INFY",
            "momentum",
            "5m",
            [
                _compared(_PRICE, "crosses_above", {"type": "VWAP"}),
                _compared({"type": "EMA", "period": 20}, "above", {"type": "EMA", "period": 50}),
                _MORNING,
            ],
            _stop(0.5, 2),
        ),
    ),
    GalleryStrategy(
        "donchian-turtle",
        "Donchian turtle",
        "Buys a close at the high of 20 days and leaves at the low of 10, as the turtles did.",
        _steps(
            "NSE:RELIANCE",
            "position",
            "1d",
            [
                _compared(_PRICE, "above", {"type": "DONCHIAN", "output": "upper", "offset": 1}),
            ],
            {
                "stopLoss": {"type": "atr", "atrPeriod": 20, "atrMultiplier": 2},
                "conditions": [
                    _compared(
                        _PRICE,
                        "below",
                        {"type": "DONCHIAN", "period": 10, "output": "lower", "offset": 1},
                    )
                ],
            },
            position_type="long",
        ),
    ),
    GalleryStrategy(
        "bollinger",
        "Bollinger breakout",
        "Enters when the price leaves the Bollinger bands, and leaves when it is back at their"
        " middle.",
        _steps(
            "NSE:HDFCBANK",
            "momentum",
            "15m",
            [
                _compared(_PRICE, "crosses_above", {**_BANDS, "output": "upper"}),
                _MORNING,
            ],
            {
                **_stop(0.8),
                "conditions": [_compared(_PRICE, "crosses_below", {**_BANDS, "output": "middle"})],
            },
        ),
    ),
    GalleryStrategy(
        "macd-higher-timeframe",
        "MACD with a higher timeframe",
        "Takes crossings of MACD and its signal, if the hour's averages point the same way.",
        _steps(
            "NSE:TCS",
            "momentum",
            "5m",
            [
                _compared(
                    {"type": "MACD", "output": "macd"},
                    "crosses_above",
                    {"type": "MACD", "output": "signal"},
                ),
                _compared(
                    {"type": "EMA", "period": 10, "timeframe": "1h"},
                    "above",
                    {"type": "EMA", "period": 20, "timeframe": "1h"},
                ),
                _MORNING,
            ],
            _stop(0.5, 2),
        ),
    ),
    GalleryStrategy(
        "gap-and-go",
        "Gap and go",
        "Goes with a gap that holds: the first five minutes stay beyond yesterday's range, and the"
        " price leaves them in the direction of the gap.",
        _steps(
            "NSE:INFY",
            "momentum",
            "5m",
            [
                _compared({**_FIRST, "output": "low"}, "above", {**_DAY, "output": "high"}),
                _compared(_PRICE, "crosses_above", {**_FIRST, "output": "high"}),
                _hours("09:20", "11:00"),
            ],
            _stop(0.6, 2),
        ),
    ),
    GalleryStrategy(
        "previous-day",
        "Previous day's high and low",
        "Enters when the price breaks yesterday's high, or on the short side yesterday's low.",
        _steps(
            "NSE:HDFCBANK",
            "momentum",
            "5m",
            [
                _compared(_PRICE, "crosses_above", {**_DAY, "output": "high"}),
                _MORNING,
            ],
            _stop(0.5, 2),
        ),
    ),
    GalleryStrategy(
        "ema-cross",
        "EMA cross",
        "Enters when a fast average crosses a slow one, and turns round at the next cross.",
        _steps(
            "NSE:RELIANCE",
            "momentum",
            "5m",
            [
                _compared(
                    {"type": "EMA", "period": 9}, "crosses_above", {"type": "EMA", "period": 21}
                ),
            ],
            _stop(0.5, 2),
        ),
    ),
    GalleryStrategy(
        "ichimoku",
        "Ichimoku",
        "Buys when the conversion line crosses the base line above the cloud; sells when it falls"
        " back.",
        _steps(
            "NSE:INFY",
            "swing",
            "1d",
            [
                _compared(
                    {"type": "ICHIMOKU", "output": "conversion"},
                    "crosses_above",
                    {"type": "ICHIMOKU", "output": "base"},
                ),
                _compared(_PRICE, "above", {"type": "ICHIMOKU", "output": "spanA"}),
                _compared(_PRICE, "above", {"type": "ICHIMOKU", "output": "spanB"}),
            ],
            {
                **_stop(5),
                "conditions": [
                    _compared(
                        {"type": "ICHIMOKU", "output": "conversion"},
                        "crosses_below",
                        {"type": "ICHIMOKU", "output": "base"},
                    )
                ],
            },
            position_type="long",
        ),
    ),
    GalleryStrategy(
        "z-score",
        "Mean reversion by z-score",
        "Buys at two standard deviations below the mean of 20 candles, a z-score of minus two, and"
        " leaves at the mean.",
        _steps(
            "NSE:TCS",
            "mean_reversion",
            "15m",
            [
                _compared(_PRICE, "crosses_below", {**_BANDS, "output": "lower"}),
                _MORNING,
            ],
            {
                **_stop(1),
                "conditions": [_compared(_PRICE, "at_or_above", {**_BANDS, "output": "middle"})],
            },
        ),
    ),
)
BY_SLUG: Final = {strategy.slug: strategy for strategy in STRATEGIES}
