"""A search in vectorbt: 50 pairs of averages as columns of one portfolio, to trades and equity.

What it keeps of each call would fill memory with a thousand sets (about 5 MB a set), so fewer are
run at once, and its cache is emptied after each run.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import vectorbt as vbt
from serve import Work, serve
from vectorbt.portfolio.enums import StopEntryPrice

warnings.simplefilter("ignore")

PAIRS = list(product((5, 24), range(50, 175, 5)))


def fifty_sets(path: str) -> Work:
    """Each average is computed once for all pairs that it is in."""
    time, *prices, _ = np.load(path)
    index = pd.to_datetime(time, unit="s")
    open_, high, low, close = (pd.Series(column, index=index) for column in prices)
    average = vbt.IndicatorFactory.from_talib("EMA")

    def run() -> int:
        fast, slow = (
            average.run(close, list(periods), run_unique=True, short_name=name)
            for name, periods in zip(("fast", "slow"), zip(*PAIRS, strict=True), strict=True)
        )
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
        portfolio.value()  # equity at each close
        return len(portfolio.trades.records)

    return run


if __name__ == "__main__":
    serve({"sweep": fifty_sets})
