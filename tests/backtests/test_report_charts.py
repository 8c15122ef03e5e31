"""The data of a report's charts, on results small enough to be checked by hand."""

import json
import re
from typing import Any

import numpy as np
import pytest

from apps.backtests.analysis.report import charts, page
from apps.backtests.analysis.report.charts import DrawnSymbol
from apps.backtests.analysis.report.drawings import Drawing
from apps.engine.candles import Candles
from apps.engine.kernel.records import CURVE, TRADE, Array
from apps.engine.results import Bin
from apps.engine.results.excursions import Excursions
from apps.engine.results.trades import Trades
from tests.backtests.price_series import wave_candles
from tests.backtests.small_results import curve, trade, trades
from tests.benchmarks.random_candles import session_bars
from tests.market.bars import at, rising_minutes, store_candles

MINUTE = 60


def daily_curve(equity: list[float]) -> Array:
    """Return a curve with one row a day."""
    first = at("2024-01-01 15:15")
    return np.array([(first + day * 86400, value) for day, value in enumerate(equity)], CURVE)


THREE = trades(
    trade("2024-01-01 09:15", "2024-01-01 10:00", 120.0, charges=20.0, quantity=5),
    trade("2024-01-02 09:15", "2024-01-02 10:00", -50.0, side=-1, symbol=1, quantity=2),
    trade("2024-01-01 14:00", "2024-01-09 10:00", -300.0, quantity=1),
)


def sums(differences: list[int]) -> list[int]:
    """Undo the differences of `charts`, as the page's script does."""
    return [int(total) for total in np.cumsum(differences)]


# Equity.


def points_of(drawing: Drawing, css: str) -> list[tuple[float, float]]:
    (path,) = [shape.path for shape in drawing.shapes if shape.css == css]
    numbers = [float(number) for number in re.findall(r"[\d.]+", path)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def test_the_equity_drawing_has_the_benchmark_and_the_drawdown_at_the_same_points() -> None:
    rows = curve(("2024-01-01 09:15", 100), ("2024-01-01 09:20", 110), ("2024-01-02 09:15", 99))
    drawing = charts.equity_drawing(rows, np.array([1.0, 1.25, 0.5]), capital=100.0)
    assert drawing is not None
    equity, held = (points_of(drawing, f"line {name}") for name in ("equity", "benchmark"))
    assert [x for x, _ in equity] == [x for x, _ in held] == [0, 500, 1000]
    assert equity[0] == held[0]  # both begin with the capital
    assert held[1][1] < equity[1][1] < equity[0][1] < equity[2][1] < held[2][1]  # 125 to 50
    assert [shape.title for shape in drawing.shapes if shape.css == "strip"] == [
        "01 Jan 2024: equity ₹100, buy and hold ₹100, drawdown 0.00%",
        "01 Jan 2024: equity ₹110, buy and hold ₹125, drawdown 0.00%",
        "02 Jan 2024: equity ₹99, buy and hold ₹50, drawdown \N{MINUS SIGN}10.00%",
    ]
    assert [text.text for text in drawing.columns] == ["01 Jan", "01 Jan", "02 Jan"]


def test_equity_without_a_benchmark_is_drawn_alone() -> None:
    drawing = charts.equity_drawing(daily_curve([100.0, 90.0]), None, capital=100.0)
    assert drawing is not None
    assert "line benchmark" not in {shape.css for shape in drawing.shapes}
    assert charts.equity_drawing(daily_curve([]), None, capital=100.0) is None


def test_a_long_curve_has_as_many_points_as_a_drawing_needs() -> None:
    rows = daily_curve([100.0 + day % 7 for day in range(2_500)])
    drawing = charts.equity_drawing(rows, None, capital=100.0)
    assert drawing is not None
    assert len(points_of(drawing, "line equity")) == charts.MAX_POINTS
    assert drawing.columns[-1].text == "Nov 2030"


def test_returns_of_trades_are_counted_in_bars() -> None:
    drawing = charts.returns_drawing([Bin(-2, -1, 1), Bin(-1, 0, 4), Bin(0, 1, 2), Bin(1, 2, 0)])
    assert drawing is not None
    assert [(shape.css, shape.title.rsplit(": ")[1]) for shape in drawing.shapes] == [
        ("loss", "1 trade"),
        ("loss", "4 trades"),
        ("gain", "2 trades"),
        ("gain", "0 trades"),
    ]
    tops = [float(shape.path.split()[1].partition("h")[0]) for shape in drawing.shapes]
    assert tops == [135, 0, 90, 180]
    assert charts.returns_drawing([]) is None


def test_compared_curves_are_drawn_in_percent_of_their_capital() -> None:
    rows = curve(("2024-01-01 09:15", 100), ("2024-01-02 09:15", 110))
    half = curve(("2024-01-02 09:15", 55))
    drawing = charts.curves_drawing([(rows, 100.0), (half, 50.0), (rows[:0], 1.0)])
    assert drawing is not None
    first, second = (points_of(drawing, f"line curve{number}") for number in (1, 2))
    assert first[-1] == second[0]  # both have won 10 % on the second day
    assert first[0][0] == 0
    assert "line curve3" not in {shape.css for shape in drawing.shapes}
    assert charts.curves_drawing([(rows[:0], 1.0)]) is None


# Prices.


def decoded(columns: dict[str, Any]) -> dict[str, list[float]]:
    """Return the prices of `candle_columns` in rupees, as the page's script reads them."""
    close, unit = np.cumsum(columns["close"]), 10 ** columns["decimals"]
    return {
        "close": (close / unit).tolist(),
        "open": ((close + columns["open"]) / unit).tolist(),
        "high": ((close + columns["high"]) / unit).tolist(),
        "low": ((close - columns["low"]) / unit).tolist(),
    }


def test_candles_come_back_as_they_were() -> None:
    candles = wave_candles("2024-01-01", 2)
    columns = charts.candle_columns(DrawnSymbol(1, "NSE:A", "15m", candles))
    assert (columns["symbol"], columns["timeframe"], columns["decimals"]) == (1, "15m", 2)
    assert [minute * MINUTE for minute in sums(columns["time"])] == candles.time.tolist()
    for name, prices in decoded(columns).items():
        assert prices == getattr(candles, name).tolist()


def test_low_prices_keep_the_parts_of_a_paisa() -> None:
    candles = Candles.build(
        [60], open=[83.1225], high=[83.13], low=[83.12], close=[83.1275], volume=[0]
    )
    columns = charts.candle_columns(DrawnSymbol(0, "NSE:USDINR", "1m", candles))
    assert decoded(columns)["open"] == [83.1225]


@pytest.mark.parametrize(
    ("max_candles", "timeframe", "count"),
    [
        (2250, "1m", 2250),
        (2249, "5m", 450),
        (90, "30m", 78),
        (41, "4h", 12),
        (11, "1d", 6),
        (5, "1w", 1),
        (0, "1w", 1),
    ],
)
def test_candles_are_long_enough_to_be_few(max_candles: int, timeframe: str, count: int) -> None:
    """Six sessions of 375 minutes, Monday to Saturday, without a calendar."""
    days = [
        rising_minutes(f"2024-01-0{day} 09:15", 375, first_price=100 * day) for day in range(1, 7)
    ]
    candles = Candles.build(
        np.concatenate([day.time for day in days]),
        **{
            name: np.concatenate([getattr(day, name) for day in days])
            for name in ("open", "high", "low", "close", "volume")
        },
    )
    drawn_in, drawn = charts.legible_candles(candles, "1m", None, max_candles=max_candles)
    assert (drawn_in, len(drawn)) == (timeframe, count)
    assert drawn.high.max() == candles.high.max()
    assert (drawn.open[0], drawn.close[-1]) == (candles.open[0], candles.close[-1])


@pytest.mark.django_db
def test_prices_show_the_symbols_with_the_most_trades_first() -> None:
    for number, symbol in enumerate(("NSE:A", "NSE:B"), start=1):
        store_candles(
            symbol, "1m", rising_minutes("2024-01-01 09:15", 5, first_price=100.0 * number)
        )
    rows = curve(("2024-01-01 09:15", 1), ("2024-01-01 09:19", 1))
    records = trades(*[trade("2024-01-01 09:15", "2024-01-01 09:16", 1, symbol=1)])

    def load(symbols: list[str]) -> tuple[list[DrawnSymbol], Any]:
        return charts.load_prices(
            symbols,
            "1m",
            trades=records,
            curve=rows,
            start=at("2024-01-01 00:00"),
            end=at("2024-01-02 00:00"),
        )

    drawn, benchmark = load(["NSE:A", "NSE:B"])
    assert [(symbol.symbol_index, symbol.symbol, symbol.timeframe) for symbol in drawn] == [
        (1, "NSE:B", "1m"),
        (0, "NSE:A", "1m"),
    ]
    assert benchmark == pytest.approx([1, (100.2 / 100 + 200.2 / 200) / 2])
    drawn, benchmark = load(["NSE:A", "NSE:GONE"])
    assert [len(symbol.candles) for symbol in drawn] == [0, 5]
    assert benchmark is None


# Trades.


def test_trades_are_columns_in_the_order_of_their_exits() -> None:
    excursions = Excursions(np.array([0.01, 0.02, 0.03]), np.array([0.04, 0.05, 0.06]))
    columns = charts.trade_columns(Trades(THREE, excursions))
    assert sums(columns["number"]) == [1, 2, 3]
    assert columns["entry"][2] < 0  # entered before the trade that is listed before it
    entries = [minute * MINUTE for minute in sums(columns["entry"])]
    assert entries == THREE["entry_time"].tolist()
    assert [
        entry + held * MINUTE for entry, held in zip(entries, columns["held"], strict=True)
    ] == (THREE["exit_time"].tolist())
    assert (columns["profit"], columns["return"]) == ([100, -50, -300], [10, -5, -30])
    assert (columns["side"], columns["symbol"]) == ([1, -1, 1], [0, 1, 0])
    assert (columns["mae"], columns["mfe"]) == ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert {columns["reasons"][code] for code in columns["reason"]} == {"Signal"}
    assert columns["exitPrice"] == [101.5] * 3


def test_values_missing_in_earlier_releases_are_unknown() -> None:
    columns = charts.trade_columns(Trades(THREE, None))
    for name in ("mae", "mfe"):
        assert columns[name] == [None] * 3


def test_a_report_lists_the_trades_with_the_largest_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(charts, "MAX_TRADES", 2)
    columns = charts.trade_columns(Trades(THREE, None))
    assert sums(columns["number"]) == [1, 3]
    assert columns["profit"] == [100, -300]


def test_a_year_of_minutes_with_4000_trades_is_a_page_of_700_kilobytes() -> None:
    """The rest of the page is at most 100 kB: its text, tables, style and own script."""
    candles = session_bars(248)
    times = candles.time[np.arange(4_000) * len(candles) // 4_000]
    prices = candles.close[np.arange(4_000) * len(candles) // 4_000]
    records = np.zeros(4_000, TRADE)
    generator = np.random.default_rng(7)
    records["entry_time"], records["exit_time"] = (
        times,
        times + 60 * generator.integers(1, 90, 4_000),
    )
    records["entry_price"], records["exit_price"] = prices, prices + 1.25
    records["quantity"] = generator.integers(1, 2_000, 4_000)
    records["value"] = records["quantity"] * prices
    records["gross"] = np.round(generator.normal(0, 2_000, 4_000), 2)
    records["charges"] = np.round(generator.uniform(40, 300, 4_000), 2)
    excursions = Excursions(*generator.uniform(0, 0.02, (2, 4_000)))
    drawn_in, drawn = charts.legible_candles(
        candles, "1m", None, max_candles=charts.MAX_CANDLES_PER_SYMBOL
    )
    data = {
        "prices": [charts.candle_columns(DrawnSymbol(0, "NSE:A", drawn_in, drawn))],
        "trades": charts.trade_columns(Trades(records, excursions)),
    }
    assert len(candles) > 92_000
    size = (
        len(json.dumps(data, cls=page.CompactEncoder)) + (page.ASSETS / page.CHARTS).stat().st_size
    )
    print(f"{size:,}")
    assert size < 600_000
