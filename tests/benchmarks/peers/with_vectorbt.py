"""The work in vectorbt: averages by TA-Lib through its factory, trades, equity, no figures.

Its own averages (vbt.MA) are slower than TA-Lib's.
"""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import vectorbt as vbt
from serve import Work, serve
from vectorbt.portfolio.enums import StopEntryPrice

warnings.simplefilter("ignore")

Frame: TypeAlias = pd.Series | pd.DataFrame

AVERAGE = vbt.IndicatorFactory.from_talib("EMA")
PAIRS = list(product((5, 24), range(50, 175, 5)))
"""So few of a thousand sets, as each keeps about 5 MB while a portfolio lives."""


def traded(columns: dict[str, Frame], crossed: Frame, **shared: object) -> int:
    """Trade 100 shares long at the open after each crossing, stop 1 %, target 2 %."""
    portfolio = vbt.Portfolio.from_signals(
        columns["close"],
        entries=crossed.vbt.fshift(1),
        exits=False,
        price=columns["open"],
        open=columns["open"],
        high=columns["high"],
        low=columns["low"],
        sl_stop=0.01,
        tp_stop=0.02,
        stop_entry_price=StopEntryPrice.FillPrice,
        size=100,
        init_cash=1e7,
        freq="1min",
        **shared,
    )
    portfolio.value()  # equity at each close, as the others have it
    return len(portfolio.trades.records)


def candles_to_curve(path: str) -> Work:
    columns = series_of(path)
    close = columns["close"]

    def run() -> int:
        fast, slow = AVERAGE.run(close, 9), AVERAGE.run(close, 21)
        return traded(columns, fast.real_crossed_above(slow))

    return run


def shared_cash(folder: str) -> Work:
    """Trade all symbols on one account; their candles are in tables before timing."""
    columns = tables_of(folder)
    close = columns["close"]

    def run() -> int:
        fast, slow = AVERAGE.run(close, 9), AVERAGE.run(close, 21)
        crossed = fast.real_crossed_above(slow.real.to_numpy())
        crossed.columns = close.columns
        return traded(columns, crossed, cash_sharing=True, group_by=True)

    return run


def fifty_sets(path: str) -> Work:
    """Run pairs of averages as columns of one portfolio; each average is computed once for all its
    pairs.
    """
    columns = series_of(path)
    periods = dict(zip(("fast", "slow"), zip(*PAIRS, strict=True), strict=True))

    def run() -> int:
        fast, slow = (
            AVERAGE.run(columns["close"], list(lengths), run_unique=True, short_name=name)
            for name, lengths in periods.items()
        )
        return traded(columns, fast.real_crossed_above(slow))

    return run


def series_of(path: str | Path) -> dict[str, pd.Series]:
    """Return prices by name; the index is the time."""
    with np.load(path) as candles:
        index = pd.to_datetime(candles["time"], unit="s")
        return {
            name: pd.Series(candles[name], index=index) for name in ("open", "high", "low", "close")
        }


def tables_of(folder: str) -> dict[str, pd.DataFrame]:
    """Return prices by name, a column a symbol, row after row as they are simulated."""
    parts = [series_of(file) for file in sorted(Path(folder).glob("*.npz"))]
    index = parts[0]["close"].index
    return {
        name: pd.DataFrame(np.column_stack([part[name] for part in parts]), index)
        for name in parts[0]
    }


if __name__ == "__main__":
    serve({"curve": candles_to_curve, "portfolio": shared_cash, "sweep": fifty_sets})
