"""The wire form of a result's trades and curve, under their names on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.candles.candles import ist_day
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import Array
from apps.engine.results.drawdowns import drawdowns
from apps.engine.results.excursions import Excursions
from apps.engine.results.fill_quality import FillQuality, volume_shares
from apps.engine.results.trade_figures import net_profits, trade_returns
from apps.engine.units import Unit, all_rounded


def trade_dicts(
    trades: Array,
    symbols: Sequence[str],
    excursions: Excursions | None,
    fills: FillQuality | None = None,
) -> list[dict[str, object]]:
    """Return TRADE records in wire form; `symbols` are in the order of the simulation.

    Prices and money are in rupees; `profit` is net of charges, `returnPercentage` is of the entry's
    value; `bars` counts the bars of the position's life, from 1 for the entry bar. The excursions,
    MAE and MFE, are percent of the average entry price; null if unknown. The same holds for
    `fills`; the shares of volumes are percent.
    """
    adverse, favorable = excursions or (None, None)
    fills = fills or FillQuality.unknown(len(trades))
    entry_share = volume_shares(trades["quantity"], fills.entry_volume) * 100
    exit_share = volume_shares(trades["quantity"], fills.exit_volume) * 100
    columns = {
        "symbol": [symbols[index] for index in trades["symbol"]],
        "side": ["long" if side > 0 else "short" for side in trades["side"]],
        "quantity": [
            _whole(quantity) for quantity in all_rounded(trades["quantity"], Unit.QUANTITY)
        ],
        "entryTime": wire_times(trades["entry_time"]),
        "entryDate": wire_dates(trades["entry_time"]),
        "entryPrice": all_rounded(trades["entry_price"], Unit.PRICE),
        "exitTime": wire_times(trades["exit_time"]),
        "exitDate": wire_dates(trades["exit_time"]),
        "exitPrice": all_rounded(trades["exit_price"], Unit.PRICE),
        "exitReason": [EXIT_REASONS[code] for code in trades["reason"]],
        "grossProfit": all_rounded(trades["gross"], Unit.RUPEES),
        "charges": all_rounded(trades["charges"], Unit.RUPEES),
        "profit": all_rounded(net_profits(trades), Unit.RUPEES),
        "returnPercentage": all_rounded(trade_returns(trades) * 100, Unit.PERCENT),
        "bars": trades["bars"].tolist(),
        "maxAdverseExcursion": _percents(adverse, len(trades)),
        "maxFavorableExcursion": _percents(favorable, len(trades)),
        "entryDelayBars": _known(fills.entry_delay_bars),
        "entryDelayMinutes": _known(fills.entry_delay_minutes),
        "entryBarVolume": _known(fills.entry_volume),
        "entryVolumeShare": _known(entry_share),
        "exitDelayBars": _known(fills.exit_delay_bars),
        "exitDelayMinutes": _known(fills.exit_delay_minutes),
        "exitBarVolume": _known(fills.exit_volume),
        "exitVolumeShare": _known(exit_share),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _whole(quantity: float) -> float:
    return int(quantity) if quantity.is_integer() else quantity


def _percents(fractions: NDArray[np.float64] | None, count: int) -> list[float] | list[None]:
    if fractions is None:
        return [None] * count
    return all_rounded(fractions * 100, Unit.PERCENT)


def _known(values: NDArray[np.float64]) -> list[float | None]:
    """Return four decimals; None for NaN."""
    return [None if isnan(value) else _whole(round(value, 4)) for value in values.tolist()]


class EquityPoint(TypedDict):
    """The equity at the end of a bucket of bars, and its range within the bucket."""

    time: Annotated[
        str,
        Field(
            description="Start of the last bar of the bucket.",
            json_schema_extra={"format": "date-time"},
        ),
    ]
    equity: Annotated[float, Field(description="Rupees at the close of that bar.")]
    low: Annotated[float, Field(description="Rupees.")]
    high: Annotated[float, Field(description="Rupees.")]
    drawdown: Annotated[float, Field(description="Percent under the running peak.")]


def curve_points(curve: Array, points: int) -> list[EquityPoint]:
    """Return CURVE records in at most `points` buckets that keep extremes a thinner curve would
    lose.

    Of n rows bucket i holds rows floor(i n / points) to floor((i + 1) n / points) - 1: time and
    equity of its last row, its low and high, and its largest drawdown in percent of the running
    peak of the whole curve (rule 15).
    """
    n = len(curve)
    edges = np.arange(min(points, n) + 1) * n // max(min(points, n), 1)
    first, last = edges[:-1], edges[1:] - 1
    equity = curve["equity"]
    return _points(
        curve["time"][last],
        equity[last],
        np.minimum.reduceat(equity, first),
        np.maximum.reduceat(equity, first),
        np.maximum.reduceat(drawdowns(equity), first),
    )


def curve_blocks(curve: Array, size: int) -> Iterator[list[EquityPoint]]:
    """Yield the points of `curve_points` with a bucket for each row, `size` at a time."""
    under = drawdowns(curve["equity"])
    for first in range(0, len(curve), size):
        rows = slice(first, first + size)
        equity = curve["equity"][rows]
        yield _points(curve["time"][rows], equity, equity, equity, under[rows])


def _points(
    time: NDArray[np.int64],
    equity: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    under: NDArray[np.float64],
) -> list[EquityPoint]:
    columns = zip(
        wire_times(time),
        all_rounded(equity, Unit.RUPEES),
        all_rounded(low, Unit.RUPEES),
        all_rounded(high, Unit.RUPEES),
        all_rounded(under * 100, Unit.PERCENT),
        strict=True,
    )
    return [
        EquityPoint(time=at, equity=closes, low=least, high=most, drawdown=fallen)
        for at, closes, least, most, fallen in columns
    ]


def wire_times(time: NDArray[np.int64]) -> list[str]:
    """Return ISO 8601 in UTC with milliseconds and Z."""
    texts: list[str] = np.datetime_as_string(time.astype("M8[s]"), "ms", timezone="UTC").tolist()
    return texts


def wire_dates(time: NDArray[np.int64]) -> list[str]:
    """Return the dates in Asia/Kolkata, YYYY-MM-DD, of epoch seconds."""
    dates: list[str] = ist_day(time).astype("M8[D]").astype(str).tolist()
    return dates
