"""The charts of a result: the drawing of its equity, and columns of plain numbers for the script.

Times are in minutes. A column of times has its first value since 1970, and each later value since
the one before: that keeps the page small, as whole numbers of paise do.
"""

from collections.abc import Sequence
from datetime import date
from itertools import accumulate
from math import ceil, isnan
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.backtests.analysis.report.drawings import (
    WIDTH,
    Drawing,
    Scale,
    area_between,
    box,
    frame,
    line,
    vertical_scale,
)
from apps.backtests.analysis.report.formats import (
    format_number,
    format_rupees,
    format_time,
    humanize,
)
from apps.engine.candles import DAY, TIMEFRAMES, Candles, Sessions, resample
from apps.engine.results import (
    EXIT_REASONS,
    Array,
    Bin,
    EquityCurve,
    Trades,
    buy_and_hold,
)
from apps.market.candles import read_adjusted
from apps.market.rulebook import calendars_of

Floats = NDArray[np.float64]
Columns = dict[str, Any]

# Points of the equity curve, and strips of it with their values.
MAX_POINTS: Final = 400
_STRIPS: Final = 80
# Names of dates below it.
_DATES: Final = 5
# Limits for one symbol, and for one page, shared by its symbols.
MAX_CANDLES_PER_SYMBOL: Final = 3_000
MAX_DRAWN_CANDLES: Final = 9_000
# Symbols with a price chart: those with the most trades.
MAX_DRAWN_SYMBOLS: Final = 20
# Trades on one page; of more, those with the largest results.
MAX_TRADES: Final = 20_000
_RETURNS_HEIGHT: Final = 180
# The panels of equity and of drawdown, from top to bottom.
_EQUITY: Final = (0, 210)
_DRAWDOWN: Final = (230, 300)


def curve_times(curve: Array) -> NDArray[np.int64]:
    """Return the times of the equity chart's points: the last row of each bucket of
    `EquityCurve.points`.
    """
    points = min(MAX_POINTS, len(curve))
    edges = np.arange(1, points + 1) * len(curve) // max(points, 1)
    times: NDArray[np.int64] = curve["time"][edges - 1]
    return times


def equity_drawing(curve: Array, benchmark: Floats | None, *, capital: float) -> Drawing | None:
    """Draw equity beside buying and holding, and the drawdown below them; None without a curve.

    `benchmark` is the value of one rupee at each of `curve_times`.
    """
    points, times = EquityCurve(curve).points(MAX_POINTS), curve_times(curve).tolist()
    if not points:
        return None
    equity = [float(point["equity"]) for point in points]
    falls = [0.0 - float(point["drawdown"]) for point in points]
    held = [] if benchmark is None else (benchmark * capital).tolist()
    drawing = Drawing("Equity, buy and hold, and drawdown", _DRAWDOWN[1])
    across = Scale(0, max(len(points) - 1, 1), 0, WIDTH)
    worth = vertical_scale([capital, *equity, *held], panel=_EQUITY)
    depth = vertical_scale([0.0, *falls], panel=_DRAWDOWN)

    def line_of(values: Sequence[float], scale: Scale) -> list[tuple[float, float]]:
        return [(across(number), scale(value)) for number, value in enumerate(values)]

    frame(drawing, worth, lambda value: format_rupees(value, 0))
    frame(drawing, depth, lambda value: f"{format_number(value, 1)}%", ticks=2)
    drawing.add("axis", line([(0, worth(capital)), (WIDTH, worth(capital))]))
    fallen = line_of(falls, depth)
    drawing.add("loss under", area_between([(0, depth(0)), (WIDTH, depth(0))], fallen))
    if held:
        drawing.add("line benchmark", line(line_of(held, worth)))
    drawing.add("line equity", line(line_of(equity, worth)))
    for first in range(0, len(points), ceil(len(points) / _STRIPS)):
        values = [f"equity {format_rupees(equity[first], 0)}"]
        if held:
            values.append(f"buy and hold {format_rupees(held[first], 0)}")
        values.append(f"drawdown {format_number(falls[first])}%")
        width = WIDTH * ceil(len(points) / _STRIPS) / len(points)
        x = first * WIDTH / len(points)
        title = f"{format_time(times[first], '%d %b %Y')}: {', '.join(values)}"
        drawing.add("strip", box(x, 0, min(width, WIDTH - x), drawing.height), title)
    named = np.linspace(0, len(points) - 1, min(_DATES, len(points))).astype(int).tolist()
    _name_dates(drawing, [(across(number), times[number]) for number in named])
    return drawing


def curves_drawing(curves: Sequence[tuple[Array, float]]) -> Drawing | None:
    """Draw curves over each other, each in percent of its capital, by time; None without any."""
    rows = []
    for curve, capital in curves:
        worth = [float(point["equity"]) for point in EquityCurve(curve).points(MAX_POINTS)]
        returns = [(value / capital - 1) * 100 for value in worth]
        rows.append(list(zip(curve_times(curve).tolist(), returns, strict=True)))
    times = sorted(time for row in rows for time, _ in row)
    if not times:
        return None
    drawing = Drawing("Equity of the backtests, in percent of their capital")
    across = Scale(times[0], max(times[-1], times[0] + 1), 0, WIDTH)
    up = vertical_scale([value for row in rows for _, value in row], zero=True)
    frame(drawing, up, lambda value: f"{format_number(value, 1)}%")
    for number, row in enumerate(rows, 1):
        if row:
            path = line([(across(time), up(value)) for time, value in row])
            drawing.add(f"line curve{number}", path)
    _name_dates(
        drawing, [(across(time), time) for time in np.linspace(times[0], times[-1], _DATES)]
    )
    return drawing


def account_drawing(days: Sequence[tuple[date, float]], *, equity: float) -> Drawing | None:
    """Draw the equity of a paper account at the end of each day, from the profits of the days in
    order and the present equity; None without a day.
    """
    if not days:
        return None
    profits = [profit for _, profit in days]
    values = list(accumulate(profits, initial=equity - sum(profits)))
    drawing = Drawing("Equity of the paper account by day", _RETURNS_HEIGHT)
    across, up = Scale(0, len(days), 0, WIDTH), vertical_scale(values, panel=(0, _RETURNS_HEIGHT))
    frame(drawing, up, lambda value: format_rupees(value, 0), ticks=4)
    drawing.add("line equity", line([(across(n), up(value)) for n, value in enumerate(values)]))
    for number, (day, profit) in enumerate(days, 1):
        worth, gain = format_rupees(values[number], 0), format_rupees(profit, 0)
        strip = box(across(number - 1), 0, WIDTH / len(days), drawing.height)
        drawing.add("strip", strip, f"{day:%d %b %Y}: {worth}, profit of the day {gain}")
    for number in np.linspace(1, len(days), min(_DATES, len(days))).astype(int).tolist():
        drawing.name_column(across(number), f"{days[number - 1][0]:%d %b}")
    return drawing


def returns_drawing(bins: Sequence[Bin]) -> Drawing | None:
    """Draw how many trades have which return, in percent; None without trades."""
    if not bins:
        return None
    drawing = Drawing("Number of trades by their return", _RETURNS_HEIGHT)
    up = Scale(0, max(row.trades for row in bins), drawing.height, 0)
    across = Scale(bins[0].low, bins[-1].high, 0, WIDTH)
    for low, high, trades in bins:
        edges = f"{format_number(low)}% to {format_number(high)}%"
        x, y = across(low), up(trades)
        shape = box(x, y, across(high) - x - 1, drawing.height - y)
        css = "loss" if low < 0 else "gain"
        drawing.add(css, shape, f"{edges}: {trades} trade{'' if trades == 1 else 's'}")
    for tick in across.ticks():
        drawing.name_column(across(tick), f"{format_number(tick)}%")
    return drawing


def _name_dates(drawing: Drawing, dates: Sequence[tuple[float, float]]) -> None:
    """Name days, or months over a long time, below the area."""
    form = "%b %Y" if dates[-1][1] - dates[0][1] > 300 * DAY else "%d %b"
    for x, time in dates:
        drawing.name_column(x, format_time(int(time), form))


class DrawnSymbol(NamedTuple):
    """A symbol with the candles of its chart.

    `symbol_index` is its index in the backtest's list.
    """

    symbol_index: int
    symbol: str
    timeframe: str
    candles: Candles


def load_prices(
    symbols: Sequence[str], timeframe: str, *, trades: Array, curve: Array, start: int, end: int
) -> tuple[list[DrawnSymbol], Floats | None]:
    """Return the symbols with the most trades, most first, with the candles stored now, and the
    value of one rupee of buying and holding all symbols at each of `curve_times`: None if a symbol
    has no candles any more.
    """
    counts = np.bincount(trades["symbol"], minlength=len(symbols))
    indices = np.argsort(-counts, kind="stable")[:MAX_DRAWN_SYMBOLS].tolist()
    most = min(MAX_CANDLES_PER_SYMBOL, MAX_DRAWN_CANDLES // max(len(indices), 1))
    calendars, times = calendars_of(symbols), curve_times(curve)
    drawn, worth = {}, []
    for index, symbol in enumerate(symbols):  # one after the other: a year of minutes has 4 MB
        candles = read_adjusted(symbol, timeframe, start=start, end=end, warmup=False).candles
        if len(candles) and len(times):
            worth.append(buy_and_hold([candles], int(curve["time"][0]), times))
        if index in indices:
            legible = legible_candles(candles, timeframe, calendars[symbol], max_candles=most)
            drawn[index] = DrawnSymbol(index, symbol, *legible)
    benchmark = np.mean(worth, axis=0) if len(worth) == len(symbols) else None
    return [drawn[index] for index in indices], benchmark


def legible_candles(
    candles: Candles, timeframe: str, sessions: Sessions | None, *, max_candles: int
) -> tuple[str, Candles]:
    """Return the shortest timeframe, from the candles' own on, with at most `max_candles`, and its
    candles; else the longest timeframe.
    """
    drawn_in, own = timeframe, TIMEFRAMES[timeframe]
    for name in [name for name, seconds in TIMEFRAMES.items() if seconds > own]:
        if len(candles) <= max_candles:
            break
        candles, drawn_in = resample(candles, drawn_in, name, sessions), name
    return drawn_in, candles


def candle_columns(drawn: DrawnSymbol) -> Columns:
    """Return the candles of a symbol as whole numbers of the last of `decimals`: `close` as
    differences from one close to the next, the others as distances from the candle's own close.
    """
    candles = drawn.candles
    decimals = price_decimals(candles.low)
    open_, high, low, close = (
        np.round(column * 10**decimals).astype(np.int64)
        for column in (candles.open, candles.high, candles.low, candles.close)
    )
    return {
        "symbol": drawn.symbol_index,
        "timeframe": drawn.timeframe,
        "decimals": decimals,
        "time": _differences(candles.time // 60),
        "close": _differences(close),
        "open": (open_ - close).tolist(),
        "high": (high - close).tolist(),
        "low": (close - low).tolist(),
    }


def price_decimals(prices: Floats) -> int:
    """Return 2, for paise, or 4 for prices so low that ticks may be fractions of a paisa."""
    return 2 if not len(prices) or float(prices.min()) >= 100 else 4


def trade_columns(trades: Trades) -> Columns:
    """Return the trades in the order of their exits; `number` counts from 1 in this order.

    `entry` and `held` are minutes. MAE, MFE and `return` are percent, null if unknown.
    """
    profits = trades.net_profits
    number = np.sort(np.argsort(-np.abs(profits), kind="stable")[:MAX_TRADES])
    records, chosen = trades.records[number], trades.select(number)
    unknown = np.full(len(records), np.nan)
    mae, mfe = (unknown, unknown) if chosen.excursions is None else chosen.excursions
    entry, leave = records["entry_time"] // 60, records["exit_time"] // 60
    columns = {
        "number": _differences(number + 1),
        "symbol": records["symbol"].tolist(),
        "side": records["side"].tolist(),
        "quantity": _short(records["quantity"], 4),
        "entry": _differences(entry),
        "held": (leave - entry).tolist(),
        "entryPrice": _short(records["entry_price"], price_decimals(records["entry_price"])),
        "exitPrice": _short(records["exit_price"], price_decimals(records["exit_price"])),
        "reason": records["reason"].tolist(),
        "profit": _short(profits[number], 2),
        "return": _short(chosen.returns * 100, 3),
        "mae": _none_for_nan(mae * 100, 2),
        "mfe": _none_for_nan(mfe * 100, 2),
        "bars": records["bars"].tolist(),
        "charges": _short(records["charges"], 2),
    }
    return {**columns, "reasons": [humanize(reason) for reason in EXIT_REASONS]}


def _differences(values: NDArray[np.int64]) -> list[int]:
    """Return the first value, then the increase of each value over the one before it."""
    differences: list[int] = np.diff(values, prepend=0).tolist()
    return differences


def _short(values: Floats, decimals: int) -> list[float]:
    """Return the values with few decimals, as whole numbers if all are whole."""
    rounded = np.round(values, decimals) + 0.0
    whole = rounded.astype(np.int64)
    numbers: list[float] = (whole if (whole == rounded).all() else rounded).tolist()
    return numbers


def _none_for_nan(values: Floats, decimals: int) -> list[float | None]:
    numbers = np.round(values, decimals) + 0.0
    return [None if isnan(number) else number for number in numbers.tolist()]
