"""The work in backtesting.py: averages by TA-Lib, the crossings computed once for all bars."""

from __future__ import annotations

import warnings

import backtesting
import numpy as np
import pandas as pd
import talib
from backtesting import Backtest, Strategy
from serve import Work, serve

warnings.simplefilter("ignore")
backtesting.backtesting._tqdm = lambda bars, **_: bars  # no progress bar to pay for


def crossings(close: np.ndarray) -> np.ndarray:
    above = talib.EMA(close, 9) > talib.EMA(close, 21)
    crossed: np.ndarray = np.r_[False, above[1:] & ~above[:-1]].astype(float)
    return crossed


class Cross(Strategy):
    def init(self) -> None:
        self.crossed = self.I(crossings, self.data.Close)

    def next(self) -> None:
        if self.crossed[-1] and not self.position:
            price = self.data.Close[-1]
            self.buy(size=100, sl=price * 0.99, tp=price * 1.02)


def candles_to_curve(path: str) -> Work:
    with np.load(path) as candles:
        index = pd.to_datetime(candles["time"], unit="s")
        names = ("open", "high", "low", "close", "volume")
        frame = pd.DataFrame({name.title(): candles[name] for name in names}, index)

    def run() -> int:
        figures = Backtest(frame, Cross, cash=1e7, finalize_trades=True).run()
        return len(figures._trades)

    return run


if __name__ == "__main__":
    serve({"curve": candles_to_curve})
