"""The work in vectorbt: averages by TA-Lib through its factory, trades, equity, no figures."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import vectorbt as vbt
from serve import Work, serve
from vectorbt.portfolio.enums import StopEntryPrice

warnings.simplefilter("ignore")


def candles_to_curve(path: str) -> Work:
    """Its own averages (vbt.MA) are slower than TA-Lib's, so it gets those."""
    time, *prices, _ = np.load(path)
    index = pd.to_datetime(time, unit="s")
    open_, high, low, close = (pd.Series(column, index=index) for column in prices)
    average = vbt.IndicatorFactory.from_talib("EMA")

    def run() -> int:
        fast, slow = average.run(close, 9), average.run(close, 21)
        portfolio = vbt.Portfolio.from_signals(
            close,
            entries=fast.real_crossed_above(slow).vbt.fshift(1),  # at the next bar's open
            exits=False,
            price=open_,
            open=open_,
            high=high,
            low=low,
            sl_stop=0.01,
            tp_stop=0.02,
            stop_entry_price=StopEntryPrice.FillPrice,
            size=100,
            init_cash=1e7,
            freq="1min",
        )
        portfolio.value()  # equity at each close, as the others have it
        return len(portfolio.trades.records)

    return run


if __name__ == "__main__":
    serve({"curve": candles_to_curve})
