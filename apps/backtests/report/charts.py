"""The charts of a report, as Plotly's JSON: their data and what they show.

How they look by day and by night, and on which screen, is the page's own script
(templates/backtests/report.js).
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.backtests.report.formats import format_time, humanize
from apps.engine.candles import DAY, TIMEFRAMES, Candles, ist_day
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import Array
from apps.engine.metrics.trades import net_profits
from apps.engine.simulation.results import curve_points
from apps.market import store

# `data` and `layout` of Plotly, and what the page's own script reads beside them.
Chart = dict[str, Any]

# Points of the equity curve: more than a screen is wide.
MAX_POINTS: Final = 1_000
# Trades on one page; of more, those with the largest results are drawn.
MAX_DRAWN_TRADES: Final = 8_000
# Symbols with a price chart: those with the most trades.
MAX_DRAWN_SYMBOLS: Final = 20
# Candles on one page, shared by its symbols, and candles of one symbol: more are a blur.
MAX_DRAWN_CANDLES: Final = 8_000
MAX_CANDLES_PER_SYMBOL: Final = 600

GAIN, LOSS, LINE = "#12a07a", "#dc4a5f", "#4f7cff"
_RUPEES: Final = "₹%{y:,.0f}"


# ------------------------------------------------------------------------------------------ equity


def equity_chart(curve: Array, capital: float) -> Chart:
    """Return a chart of equity above and drawdown below, over the same time."""
    points = curve_points(curve, MAX_POINTS)
    time = [
        format_time(int(seconds), form="%Y-%m-%d %H:%M")
        for seconds in _bucket_end_times(curve, len(points))
    ]
    equity = [point["equity"] for point in points]
    drawdown = [-float(str(point["drawdown"])) for point in points]
    line: Chart = {"type": "scatter", "mode": "lines", "x": time}
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
                "y": _rounded(drawdown, 3),
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


def _bucket_end_times(curve: Array, points: int) -> list[int]:
    """Return the time of the last row of each bucket, as `curve_points` cuts them."""
    edges = np.arange(1, points + 1) * len(curve) // max(points, 1)
    times: list[int] = curve["time"][edges - 1].tolist()
    return times


# ----------------------------------------------------------------------------------------- candles


class DrawnSymbol(NamedTuple):
    """A symbol with the candles of its chart: `symbol_index` is its index in the backtest's list,
    `is_longer` whether the candles are longer than those that the backtest read.
    """

    symbol_index: int
    symbol: str
    timeframe: str
    is_longer: bool
    candles: Candles


def load_drawn_symbols(
    symbols: Sequence[str], timeframe: str, *, trades: Array, curve: Array, start: int, end: int
) -> list[DrawnSymbol]:
    """Return the symbols with the most trades, most first, with the candles that are stored now."""
    counts = np.bincount(trades["symbol"], minlength=len(symbols))
    indices = np.argsort(-counts, kind="stable")[:MAX_DRAWN_SYMBOLS].tolist()
    legible = legible_timeframe(
        curve["time"],
        timeframe,
        max_candles=min(MAX_CANDLES_PER_SYMBOL, MAX_DRAWN_CANDLES // max(len(indices), 1)),
    )
    # A longer candle may begin before the range.
    early = TIMEFRAMES[legible] - TIMEFRAMES[timeframe]
    return [
        DrawnSymbol(
            index,
            symbols[index],
            legible,
            legible != timeframe,
            store.read_adjusted(
                symbols[index], legible, start=start - early, end=end, warmup=False
            ).candles,
        )
        for index in indices
    ]


def legible_timeframe(time: NDArray[np.int64], timeframe: str, *, max_candles: int) -> str:
    """Return the shortest timeframe, from the backtest's own on, that shows rows at these times in
    `max_candles` at most.
    """
    own = TIMEFRAMES[timeframe]
    longer = [name for name, seconds in TIMEFRAMES.items() if seconds >= own]
    return next((name for name in longer if _count_candles(time, name) <= max_candles), longer[-1])


def _count_candles(time: NDArray[np.int64], timeframe: str) -> int:
    """Count the candles that hold all these times; days begin with their first row."""
    if not len(time):
        return 0
    day = ist_day(time).astype(np.int64)
    if timeframe == "1w":
        return _count_runs((day + 3) // 7)
    if timeframe == "1d":
        return _count_runs(day)
    begins = np.flatnonzero(np.diff(day, prepend=day[0] - 1))
    opened = np.repeat(time[begins], np.diff(begins, append=len(day)))
    return _count_runs(day * DAY + (time - opened) // TIMEFRAMES[timeframe])


def _count_runs(values: NDArray[np.int64]) -> int:
    """Count the runs of equal values."""
    return 1 + int(np.count_nonzero(np.diff(values)))


# ------------------------------------------------------------------------------------------ prices


def price_charts(drawn_symbols: Sequence[DrawnSymbol], trades: Array) -> dict[str, Chart]:
    """Return the chart of each symbol: its candles without gaps, and the trades on them."""
    order = np.argsort(-np.abs(net_profits(trades)), kind="stable")[:MAX_DRAWN_TRADES]
    shown = trades[order]
    return {
        drawn.symbol: _price_chart(drawn, shown[shown["symbol"] == drawn.symbol_index])
        for drawn in drawn_symbols
    }


def _price_chart(drawn: DrawnSymbol, trades: Array) -> Chart:
    """Return the chart of a symbol.

    Candles stand at their index on the x axis, and `time` has their starts in epoch seconds.
    """
    candles = drawn.candles
    prices = {
        name: _rounded(getattr(candles, name), 4) for name in ("open", "high", "low", "close")
    }
    bars: Chart = {
        "type": "candlestick",
        "name": drawn.symbol,
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
        "trades": _trade_columns(drawn, trades) if len(candles) else {},
    }


def _trade_columns(drawn: DrawnSymbol, trades: Array) -> dict[str, list[Any]]:
    """Return the trades as columns, those with the largest results first.

    When more are in sight than can be distinguished, the page draws the first ones. `entryX` and
    `exitX` are positions on the x axis.
    """
    return {
        "entryX": _x_positions(drawn, trades["entry_time"]),
        "exitX": _x_positions(drawn, trades["exit_time"]),
        "entryTime": trades["entry_time"].tolist(),
        "exitTime": trades["exit_time"].tolist(),
        "entryPrice": _rounded(trades["entry_price"], 4),
        "exitPrice": _rounded(trades["exit_price"], 4),
        "side": trades["side"].tolist(),
        "quantity": _rounded(trades["quantity"], 4),
        "profit": _rounded(net_profits(trades), 2),
        "reason": [humanize(EXIT_REASONS[code]) for code in trades["reason"]],
    }


def _x_positions(drawn: DrawnSymbol, times: NDArray[np.int64]) -> list[float]:
    """Return the middle of the candle of each time; in a candle longer than the backtest's, as far
    inside as the time is.
    """
    starts = drawn.candles.time
    index = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
    if not drawn.is_longer:
        return _rounded(index, 0)
    inside = (times - starts[index]) / TIMEFRAMES[drawn.timeframe]
    return _rounded(index - 0.4 + 0.8 * np.clip(inside, 0, 1), 2)


def _rounded(values: Any, digits: int) -> list[float]:
    """Return the values as short decimals, which keeps the page small."""
    rounded: list[float] = np.round(np.asarray(values, dtype=np.float64), digits).tolist()
    return rounded
