"""The wire form of a result's trades and curve, under their names on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Annotated, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.candles.candles import ist_day
from apps.engine.kernel.reasons import EXIT_REASON_HELP, EXIT_REASONS
from apps.engine.kernel.records import Array
from apps.engine.results.drawdowns import drawdowns
from apps.engine.results.excursions import Excursions
from apps.engine.results.fill_quality import FillQuality, volume_shares
from apps.engine.results.trade_figures import net_profits, trade_returns
from apps.engine.units import Unit

Timestamp: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
_Date: TypeAlias = Annotated[
    str, Field(description="The date in Asia/Kolkata.", json_schema_extra={"format": "date"})
]
_Count: TypeAlias = Annotated[int, Field(ge=0)]


class ClosedTrade(TypedDict):
    """A closed trade.

    Delays, volumes and excursions are null in results of releases without them.
    """

    symbol: str
    side: Literal["long", "short"]
    quantity: Annotated[float, Field(description="Units, not lots.")]
    entryTime: Annotated[Timestamp, Field(description="Start of the bar of the first entry.")]
    entryDate: _Date
    entryPrice: Annotated[float, Field(description="Rupees; of several entries the average.")]
    exitTime: Annotated[Timestamp, Field(description="Start of the bar of the exit.")]
    exitDate: _Date
    exitPrice: float
    exitReason: Annotated[
        str,
        Field(
            description=EXIT_REASON_HELP,
            json_schema_extra={"enum": [reason for reason in EXIT_REASONS if reason]},
        ),
    ]
    grossProfit: Annotated[float, Field(description="Before charges.")]
    charges: float
    profit: Annotated[float, Field(description="Net of charges.")]
    returnPercentage: Annotated[
        float, Field(description="Percent of the value at entry, after charges.")
    ]
    bars: Annotated[
        _Count,
        Field(description="The number of bars in the position, including the bar of its entry."),
    ]
    maxAdverseExcursion: Annotated[
        float | None,
        Field(
            description="MAE: how far prices moved against it, in percent of the average entry"
            " price."
        ),
    ]
    maxFavorableExcursion: Annotated[
        float | None,
        Field(description="MFE: how far prices moved in its favour, likewise."),
    ]
    entryDelayBars: Annotated[
        _Count | None,
        Field(
            description="The session bars without a bar of the symbol between the signal and the"
            " first entry; 0 is the very next bar. Null if the sessions are unknown."
        ),
    ]
    entryDelayMinutes: Annotated[
        float | None,
        Field(description="The minutes of sessions of that delay, without nights."),
    ]
    entryBarVolume: Annotated[
        float | None,
        Field(description="The volume of that bar; null for a symbol without volumes."),
    ]
    entryVolumeShare: Annotated[
        float | None,
        Field(
            description="The trade's quantity, adds included, in percent of that volume; null if"
            " the volume is 0 or not known."
        ),
    ]
    exitDelayBars: Annotated[
        _Count | None,
        Field(
            description="The delay of an exit that a close decides: signal, opposite_signal,"
            " max_holding, daily_loss_limit, daily_profit_limit, stopped; null for others, and if"
            " the sessions are not known."
        ),
    ]
    exitDelayMinutes: Annotated[float | None, Field(description="The minutes of that delay.")]
    exitBarVolume: Annotated[
        float | None,
        Field(
            description="The volume of the exit's bar; null for end_of_data and expiry, and for a"
            " symbol without volumes."
        ),
    ]
    exitVolumeShare: Annotated[
        float | None,
        Field(
            description="The quantity in percent of that volume; null if the volume is 0 or not"
            " known."
        ),
    ]


def trade_dicts(
    trades: Array,
    symbols: Sequence[str],
    excursions: Excursions | None,
    fills: FillQuality | None = None,
) -> list[ClosedTrade]:
    """Return TRADE records in wire form; `symbols` are in the order of the simulation."""
    adverse, favorable = excursions or (None, None)
    fills = fills or FillQuality.unknown(len(trades))
    entry_share = volume_shares(trades["quantity"], fills.entry_volume) * 100
    exit_share = volume_shares(trades["quantity"], fills.exit_volume) * 100
    columns = {
        "symbol": [symbols[index] for index in trades["symbol"]],
        "side": ["long" if side > 0 else "short" for side in trades["side"]],
        "quantity": [_whole(quantity) for quantity in Unit.QUANTITY.round_all(trades["quantity"])],
        "entryTime": wire_times(trades["entry_time"]),
        "entryDate": wire_dates(trades["entry_time"]),
        "entryPrice": Unit.PRICE.round_all(trades["entry_price"]),
        "exitTime": wire_times(trades["exit_time"]),
        "exitDate": wire_dates(trades["exit_time"]),
        "exitPrice": Unit.PRICE.round_all(trades["exit_price"]),
        "exitReason": [EXIT_REASONS[code] for code in trades["reason"]],
        "grossProfit": Unit.RUPEES.round_all(trades["gross"]),
        "charges": Unit.RUPEES.round_all(trades["charges"]),
        "profit": Unit.RUPEES.round_all(net_profits(trades)),
        "returnPercentage": Unit.PERCENT.round_all(trade_returns(trades) * 100),
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
    rows = zip(*columns.values(), strict=True)
    return [cast(ClosedTrade, dict(zip(columns, row, strict=True))) for row in rows]


def _whole(quantity: float) -> float:
    return int(quantity) if quantity.is_integer() else quantity


def _percents(fractions: NDArray[np.float64] | None, count: int) -> list[float] | list[None]:
    if fractions is None:
        return [None] * count
    return Unit.PERCENT.round_all(fractions * 100)


def _known(values: NDArray[np.float64]) -> list[float | None]:
    """Return four decimals; None for NaN."""
    return [None if isnan(value) else _whole(round(value, 4)) for value in values.tolist()]


class EquityPoint(TypedDict):
    """The equity at the end of a bucket of bars, and its range within the bucket."""

    time: Annotated[Timestamp, Field(description="Start of the last bar of the bucket.")]
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
        Unit.RUPEES.round_all(equity),
        Unit.RUPEES.round_all(low),
        Unit.RUPEES.round_all(high),
        Unit.PERCENT.round_all(under * 100),
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
