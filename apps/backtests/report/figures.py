"""The charts, as Plotly's JSON: what they show. How they look by day and by night, and on which
screen, is the page's own script (templates/backtests/report.js).
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.backtests.report.candles import Drawn
from apps.backtests.report.words import moment, named
from apps.engine.candles import TIMEFRAMES
from apps.engine.figures.trades import net_profits
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import Array
from apps.engine.simulation.results import curve_points

Figure = dict[str, Any]
"""Any: `data` and `layout` of Plotly, JSON of many shapes."""

POINTS: Final = 1_000
"""Of the curve: more than a screen is wide."""
MOST_TRADES: Final = 8_000
"""On one page; of more, those with the largest results, either way."""

GAIN, LOSS, LINE = "#12a07a", "#dc4a5f", "#4f7cff"
_RUPEES: Final = "₹%{y:,.0f}"


def equity_figure(curve: Array, capital: float) -> Figure:
    """Equity above, and how far it lies under its running peak below, over the same time."""
    points = curve_points(curve, POINTS)
    time = [moment(int(at), form="%Y-%m-%d %H:%M") for at in _last_of_each(curve, len(points))]
    equity = [point["equity"] for point in points]
    under = [-float(str(point["drawdown"])) for point in points]
    line: Figure = {"type": "scatter", "mode": "lines", "x": time}
    return {
        "data": [
            line
            | {
                "name": "Equity",
                "y": _rounded(equity, 2),
                "line": {"color": LINE, "width": 1.6},
                "hovertemplate": _RUPEES,
            },
            line
            | {
                "name": "Drawdown",
                "y": _rounded(under, 3),
                "yaxis": "y2",
                "fill": "tozeroy",
                "line": {"color": LOSS, "width": 1},
                "hovertemplate": "%{y:.2f}%",
            },
        ],
        "layout": {
            "showlegend": False,
            "hovermode": "x unified",
            "xaxis": {"type": "date", "anchor": "y2", "hoverformat": "%d %b %Y, %H:%M"},
            "yaxis": {"domain": [0.36, 1], "tickprefix": "₹", "tickformat": ",~f"},
            "yaxis2": {"domain": [0, 0.28], "ticksuffix": "%", "rangemode": "tozero"},
            "shapes": [
                {
                    "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": capital,
                    "y1": capital, "line": {"width": 1, "dash": "dot", "color": "#8a94a6"},
                }
            ],
        },
    }  # fmt: skip


def _last_of_each(curve: Array, points: int) -> list[int]:
    """The time of each bucket's last row, as `curve_points` cuts them."""
    edges = np.arange(1, points + 1) * len(curve) // max(points, 1)
    times: list[int] = curve["time"][edges - 1].tolist()
    return times


def price_figures(drawn: Sequence[Drawn], trades: Array) -> dict[str, Figure]:
    """By symbol: its candles, one after the other without gaps, and the trades on them."""
    order = np.argsort(-np.abs(net_profits(trades)), kind="stable")[:MOST_TRADES]
    shown = trades[order]
    return {one.symbol: _price(one, shown[shown["symbol"] == one.place]) for one in drawn}


def _price(one: Drawn, trades: Array) -> Figure:
    """A candle's place on the axis is its number; `time` has their starts, epoch seconds."""
    candles = one.candles
    prices = {
        name: _rounded(getattr(candles, name), 4) for name in ("open", "high", "low", "close")
    }
    bars: Figure = {
        "type": "candlestick",
        "name": one.symbol,
        "x": list(range(len(candles))),
        **prices,
        "increasing": {"line": {"color": GAIN, "width": 1}},
        "decreasing": {"line": {"color": LOSS, "width": 1}},
        "showlegend": False,
    }
    return {
        "data": [bars],
        "layout": {
            "hovermode": "closest",
            "xaxis": {"rangeslider": {"visible": False}},
            "yaxis": {"tickprefix": "₹", "tickformat": ",~f", "fixedrange": True},
        },
        "time": candles.time.tolist(),
        "trades": _columns(one, trades) if len(candles) else {},
    }


def _columns(one: Drawn, trades: Array) -> dict[str, list[Any]]:
    """The trades as columns, those with the largest results first: of more than can be told apart
    the page draws the first ones in sight. `x` are places on the axis. Any: numbers and words.
    """
    return {
        "entryX": _places(one, trades["entry_time"]),
        "exitX": _places(one, trades["exit_time"]),
        "entryTime": trades["entry_time"].tolist(),
        "exitTime": trades["exit_time"].tolist(),
        "entryPrice": _rounded(trades["entry_price"], 4),
        "exitPrice": _rounded(trades["exit_price"], 4),
        "side": trades["side"].tolist(),
        "quantity": _rounded(trades["quantity"], 4),
        "profit": _rounded(net_profits(trades), 2),
        "reason": [named(EXIT_REASONS[code]) for code in trades["reason"]],
    }


def _places(one: Drawn, times: NDArray[np.int64]) -> list[float]:
    """In the middle of the candle of each moment; in a longer one than the backtest's, as far in as
    the moment is.
    """
    starts = one.candles.time
    number = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
    if not one.is_longer:
        return _rounded(number, 0)
    inside = (times - starts[number]) / TIMEFRAMES[one.timeframe]
    return _rounded(number - 0.4 + 0.8 * np.clip(inside, 0, 1), 2)


def _rounded(values: Any, digits: int) -> list[float]:
    """As short decimals, for the size of the page. Any: whatever NumPy takes for an array."""
    rounded: list[float] = np.round(np.asarray(values, dtype=np.float64), digits).tolist()
    return rounded
